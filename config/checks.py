"""System checks of an installation, for `manage.py check --deploy`."""

from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core import checks
from redis.exceptions import RedisError

from config.env import LOOPBACK
from config.health import asking_redis
from shared.file_modes import openings


@checks.register(checks.Tags.security, deploy=True)
def stored_files_are_private(app_configs: Any, **_: Any) -> list[checks.CheckMessage]:
    """A warning where other users of this machine can read or list what is stored."""
    found = openings(settings.DATA_DIR)
    if not found:
        return []
    hint = (
        "The web server closes these files at each start if it owns them. To close files of another user, run as root: "
        + "; ".join(found.commands(settings.DATA_DIR))
    )
    return [checks.Warning(found.sentence(), hint=hint, id="concord.W001")]


@checks.register(checks.Tags.security, deploy=True)
def links_lead_to_the_site(app_configs: Any, **_: Any) -> list[checks.CheckMessage]:
    """Warnings about the address that links begin with; an error where the site has no name at all."""
    found: list[checks.CheckMessage] = []
    hint = "Set SITE_URL to the address that people open, as https://concord.example.org."
    if not settings.ALLOWED_HOSTS:
        sentence = "The site has no name, so it answers every request with 400."
        found.append(checks.Error(sentence, hint=hint, id="concord.E001"))
    if not settings.LOOPBACK_ONLY and not settings.SITE_URL_GIVEN:
        sentence = f"SITE_URL is not set. Links in e-mail and links that people hand on begin with {settings.SITE_URL}."
        found.append(checks.Warning(sentence, hint=hint, id="concord.W002"))
    elif settings.HTTPS and not settings.SITE_URL.startswith("https://"):
        sentence = f"HTTPS is set, but SITE_URL is {settings.SITE_URL}."
        found.append(checks.Warning(sentence, hint="Write SITE_URL with https://.", id="concord.W003"))
    return found


@checks.register(checks.Tags.security, deploy=True)
def pages_have_time_limits(app_configs: Any, **_: Any) -> list[checks.CheckMessage]:
    """A warning where statements of pages have no time limit, because a pool passes none on."""
    if not settings.PGBOUNCER or settings.WEB_DATABASE:
        return []
    sentence = "PGBOUNCER is set and WEB_DATABASE_URL is not, so pages have no time limits in PostgreSQL."
    hint = "Add the entry for web processes of deploy/pgbouncer.ini to yours, and set WEB_DATABASE_URL to it."
    return [checks.Warning(sentence, hint=hint, id="concord.W004")]


@checks.register(checks.Tags.security, deploy=True)
def redis_has_a_password(app_configs: Any, **_: Any) -> list[checks.CheckMessage]:
    """A warning where others reach Redis, who could read links in it and change jobs.

    A name without a dot is that of a container, which only those of its network reach.
    """
    parts = urlsplit(settings.REDIS_URL)
    host = parts.hostname or ""
    is_reached = parts.scheme in ("redis", "rediss") and ("." in host or ":" in host or host in LOOPBACK)
    if not is_reached or parts.password:
        return []
    sentence = (
        f"REDIS_URL has no password. Everyone who reaches {host}, as all users of that machine do, can change jobs."
    )
    hint = "Set requirepass in redis.conf, and write it into REDIS_URL: redis://:PASSWORD@HOST:6379/0."
    return [checks.Warning(sentence, hint=hint, id="concord.W005")]


@checks.register(checks.Tags.security, deploy=True)
def redis_evicts_nothing(app_configs: Any, **_: Any) -> list[checks.CheckMessage]:
    """A warning where Redis throws entries away when it is full, the counts of wrong passwords among them.

    Nothing where Redis does not answer or does not say: `/readyz` tells of that.
    """
    try:
        with asking_redis() as redis:
            found = redis.info("memory")
    except RedisError:
        return []
    policy = found.get("maxmemory_policy", "noeviction")
    if not found.get("maxmemory") or policy == "noeviction":
        return []
    sentence = f"Redis has the policy {policy}: when it is full, it throws away counts of wrong passwords, and jobs."
    hint = "Set maxmemory-policy noeviction in redis.conf, and give Redis more memory if it is ever full."
    return [checks.Warning(sentence, hint=hint, id="concord.W006")]
