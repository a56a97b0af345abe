"""Environment variables as settings; a value that is not valid is rejected with a sentence."""

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from django.core.exceptions import ImproperlyConfigured

from shared.names import folded

TRUE = {"1", "true", "yes", "on"}
FALSE = {"0", "false", "no", "off", ""}
LOOPBACK = {"127.0.0.1", "localhost", "::1", "[::1]"}
LOOPBACK_HOSTS = ("localhost", "127.0.0.1", "[::1]")


_LINE = re.compile(
    r"""(?:export\s+)?(?P<name>[A-Za-z_]\w*)=
    (?: (?P<plain>[\w./:@%+,=?*^{}\[\]-]*) | '(?P<single>[^'\\]*)' | "(?P<double>[^"$`\\]*)" )""",
    re.VERBOSE,
)
"""A setting that a shell, systemd and docker compose all read as the same value."""


def read_file() -> None:
    """Take settings from the file that SETTINGS_FILE names; what the environment has already stays.

    Raises ImproperlyConfigured for a file that cannot be read, and for a line that a shell, systemd or docker compose
    would read as another value.
    """
    name = text("SETTINGS_FILE")
    if not name:
        return
    try:
        lines = Path(name).read_text().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        said = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise ImproperlyConfigured(f"The settings in {name} cannot be read: {said}.") from error
    for n, line in enumerate(lines, start=1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        found = _LINE.fullmatch(line.strip())
        if not found:
            raise ImproperlyConfigured(
                f"Line {n} of {name} is not clear: a shell and docker compose would read it in different ways. Write "
                "NAME='value', with single quotes around a value that contains blanks or any of & < > ; | ( ) $ # ~. "
                "Around a value that contains a single quote write double quotes; it cannot contain $ or ` then. "
                "No value can contain a backslash."
            )
        value = found["plain"] or found["single"] or found["double"] or ""
        os.environ.setdefault(found["name"], value)


def text(name: str, default: str = "") -> str:
    return os.environ.get(name, default).strip()


def flag(name: str, default: bool = False) -> bool:
    """A yes/no setting; raises ImproperlyConfigured for anything else."""
    value = os.environ.get(name)
    if value is None:
        return default
    word = value.strip().lower()
    if word in TRUE:
        return True
    if word in FALSE:
        return False
    raise ImproperlyConfigured(f"{name} is {value!r}; write 1 for yes or 0 for no.")


def whole_number(name: str, default: int, *, least: int = 0, most: int = 2**31) -> int:
    """A whole number between least and most; raises ImproperlyConfigured."""
    value = os.environ.get(name, "").strip()
    if not value:
        return default
    if not re.fullmatch(r"-?[0-9]{1,12}", value) or not least <= int(value) <= most:
        raise ImproperlyConfigured(f"{name} is {value!r}; enter a whole number from {least} to {most}.")
    return int(value)


def secret(name: str, *, least: int) -> str:
    """A text that nobody guesses, or none; raises ImproperlyConfigured where it is short."""
    value = text(name)
    if value and len(value) < least:
        raise ImproperlyConfigured(f"{name} is shorter than {least} characters; make one with `openssl rand -hex 16`.")
    return value


def choice(name: str, default: str, choices: Sequence[str]) -> str:
    """One of some words, whatever its case; raises ImproperlyConfigured for anything else."""
    value = os.environ.get(name, "").strip() or default
    for word in choices:
        if word.lower() == value.lower():
            return word
    raise ImproperlyConfigured(f"{name} is {value!r}; use one of {', '.join(choices)}.")


def words(name: str) -> list[str]:
    """A list separated by commas or blanks."""
    return [word for word in os.environ.get(name, "").replace(",", " ").split() if word]


def hosts(name: str) -> list[str]:
    """The names of the site; raises ImproperlyConfigured for *, because nothing is then known to be a name of ours."""
    found = words(name)
    if "*" in found:
        raise ImproperlyConfigured(
            f"{name} can't be *. Write the names by which people open the site, as concord.example.org, or "
            ".example.org for all of a domain."
        )
    return found


@dataclass(frozen=True)
class PeopleSetting:
    """A setting that names people: everyone, the staff, or the staff and some user names."""

    everyone: bool = False
    names: frozenset[str] = frozenset()

    def includes(self, user: Any) -> bool:
        return self.everyone or user.is_staff or folded(user.username) in self.names


def people(name: str, default: str) -> PeopleSetting:
    """`everyone`, `staff`, or user names; staff are always included. Raises ImproperlyConfigured for a mixture."""
    given = words(name) or [default]
    names = frozenset(map(folded, given))
    if "everyone" in names and len(names) > 1:
        raise ImproperlyConfigured(f"{name} is {' '.join(given)!r}; write everyone alone, staff, or user names.")
    return PeopleSetting("everyone" in names, names - {"everyone", "staff"})


def folder(name: str, default: Path) -> Path:
    value = os.environ.get(name, "").strip()
    return Path(value).expanduser().resolve() if value else default


def database(url: str) -> dict[str, object]:
    """Django's settings for a `postgresql://user:password@host:port/name` address (host may be a folder, `?host=`)."""
    parts = urlsplit(url)
    try:
        port = str(parts.port or "")
    except ValueError:
        port = None
    if parts.scheme not in {"postgres", "postgresql"} or not parts.path.strip("/") or port is None:
        shown = url.replace(f":{parts.password}@", ":…@") if parts.password else url
        raise ImproperlyConfigured(f"DATABASE_URL must read postgresql://user:password@host:port/name, not {shown!r}.")
    options = dict(pair.split("=", 1) for pair in parts.query.split("&") if "=" in pair)
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": unquote(parts.path.lstrip("/")),
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": unquote(options.pop("host", "") or parts.hostname or ""),
        "PORT": port,
        "OPTIONS": {name: unquote(value) for name, value in options.items()},
    }


def all_or_none(*names: str) -> dict[str, str] | None:
    """Settings that mean something only together; raises ImproperlyConfigured where one of them is missing."""
    found = {name: text(name) for name in names}
    missing = [name for name, value in found.items() if not value]
    if missing and len(missing) < len(names):
        raise ImproperlyConfigured(
            f"{' and '.join(missing)} must be given, too: {', '.join(names)} mean something only together."
        )
    return None if missing else found


def site(name: str) -> str:
    """The address that people open, as https://concord.example.org; raises ImproperlyConfigured for anything else.

    Its host is in ASCII, as browsers send it, or nothing would compare it with theirs.
    """
    value = text(name).rstrip("/")
    parts = urlsplit(value)
    try:
        is_whole = (
            parts.scheme in {"http", "https"} and bool(parts.hostname) and (parts.port or 1) > 0 and value.isascii()
        )
    except ValueError:
        is_whole = False
    if value and (not is_whole or value != f"{parts.scheme}://{parts.netloc}" or parts.username is not None):
        raise ImproperlyConfigured(
            f"{name} is {value!r}; write it as https://concord.example.org, without a path, "
            "and a host of other letters as xn--…"
        )
    return value


def host_of(site_url: str) -> list[str]:
    """The host in the address of the site, as ALLOWED_HOSTS has it; nothing where there is none."""
    host = urlsplit(site_url).hostname
    return [f"[{host}]" if ":" in host else host] if host else []


def site_without_setting(names: Sequence[str], *, https: bool, is_proxied: bool, port: int) -> str:
    """The address of the site where SITE_URL is empty: the first name of ALLOWED_HOSTS, else the loopback address."""
    host = next((name.lstrip(".") for name in names if name.strip("*.")), "127.0.0.1")
    is_usual = (https or is_proxied) and host not in LOOPBACK
    return f"http{'s' * https}://{host}" + ("" if is_usual else f":{port}")


def provider(name: str) -> str:
    """The address of a provider of sign-in: HTTPS, but on this machine; raises ImproperlyConfigured."""
    value = text(name).rstrip("/")
    parts = urlsplit(value)
    is_here = parts.scheme == "http" and parts.hostname in LOOPBACK
    if value and not (is_here or (parts.scheme == "https" and parts.hostname)):
        raise ImproperlyConfigured(f"{name} is {value!r}; write an address that begins with https://.")
    return value


def sign_in_providers(github_api_url: str) -> tuple[dict[str, str], dict[str, dict[str, object]]]:
    """The providers of sign-in by the word in their addresses, with their names, and as allauth is told of them."""
    names: dict[str, str] = {}
    told: dict[str, dict[str, object]] = {}
    if given := all_or_none("GITHUB_SIGN_IN_ID", "GITHUB_SIGN_IN_SECRET"):
        names["github"] = "GitHub"
        app = {"client_id": given["GITHUB_SIGN_IN_ID"], "secret": given["GITHUB_SIGN_IN_SECRET"]}
        told["github"] = {"APPS": [app], "OAUTH_PKCE_ENABLED": True}
        if github_api_url.endswith("/api/v3"):
            told["github"]["GITHUB_URL"] = github_api_url.removesuffix("/api/v3")
    if given := all_or_none("OIDC_SERVER_URL", "OIDC_CLIENT_ID", "OIDC_CLIENT_SECRET"):
        names["oidc"] = text("OIDC_NAME", "OpenID Connect")
        client: dict[str, object] = {
            "provider_id": "oidc",
            "name": names["oidc"],
            "client_id": given["OIDC_CLIENT_ID"],
            "secret": given["OIDC_CLIENT_SECRET"],
            "settings": {"server_url": provider("OIDC_SERVER_URL"), "oauth_pkce_enabled": True},
        }
        told["openid_connect"] = {"APPS": [client]}
    return names, told


def email(name: str) -> dict[str, object]:
    """Django's settings for `smtp://user:password@host:port` (STARTTLS), `smtps://` (TLS) or `smtp+plain://`."""
    value = text(name)
    if not value:
        return {}
    parts = urlsplit(value)
    ports = {"smtp": 587, "smtps": 465, "smtp+plain": 25}
    try:
        port = parts.port or ports.get(parts.scheme, 0)
    except ValueError:
        port = 0
    if not (port and parts.hostname):
        raise ImproperlyConfigured(f"{name} must read smtp://user:password@host:port, smtps://… or smtp+plain://….")
    return {
        "EMAIL_HOST": parts.hostname,
        "EMAIL_PORT": port,
        "EMAIL_HOST_USER": unquote(parts.username or ""),
        "EMAIL_HOST_PASSWORD": unquote(parts.password or ""),
        "EMAIL_USE_TLS": parts.scheme == "smtp",
        "EMAIL_USE_SSL": parts.scheme == "smtps",
    }


def files(location: Path) -> dict[str, object]:
    """Django's settings of the storage of files: a bucket where S3_BUCKET names one, else the folder."""
    bucket, endpoint = text("S3_BUCKET"), text("S3_ENDPOINT")
    keys = text("S3_ACCESS_KEY"), text("S3_SECRET_KEY")
    if not bucket:
        if endpoint or any(keys):
            raise ImproperlyConfigured("S3_BUCKET is empty, but other settings of S3 are there; name the bucket.")
        return {"BACKEND": "shared.storage_folder.Folder", "OPTIONS": {"location": location}}
    if endpoint and urlsplit(endpoint).scheme not in {"http", "https"}:
        raise ImproperlyConfigured(
            f"S3_ENDPOINT is {endpoint!r}; write an address that begins with https:// or http://."
        )
    if any(keys) and not all(keys):
        raise ImproperlyConfigured("Of S3_ACCESS_KEY and S3_SECRET_KEY one is missing; give both, or none.")
    options = {
        "bucket_name": bucket,
        "endpoint_url": endpoint or None,
        "region_name": text("S3_REGION") or None,
        "addressing_style": "path" if endpoint else "auto",
        "file_overwrite": False,
        "querystring_auth": False,
        "max_memory_size": 4 * 1024 * 1024,
    }
    if all(keys):
        options |= {"access_key": keys[0], "secret_key": keys[1]}
    return {"BACKEND": "shared.storage_bucket.Bucket", "OPTIONS": options}
