"""Reads settings from the environment and refuses nonsense in a sentence."""

import os
import re
from pathlib import Path
from urllib.parse import unquote, urlsplit

from django.core.exceptions import ImproperlyConfigured

TRUE = {"1", "true", "yes", "on"}
FALSE = {"0", "false", "no", "off", ""}


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


def whole(name: str, default: int, *, least: int = 0, most: int = 2**31) -> int:
    """A whole number between least and most; raises ImproperlyConfigured."""
    value = os.environ.get(name, "").strip()
    if not value:
        return default
    if not re.fullmatch(r"-?[0-9]{1,12}", value) or not least <= int(value) <= most:
        raise ImproperlyConfigured(f"{name} is {value!r}; write a whole number from {least} to {most}.")
    return int(value)


def words(name: str) -> list[str]:
    """A list separated by commas or blanks."""
    return [word for word in os.environ.get(name, "").replace(",", " ").split() if word]


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
