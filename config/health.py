"""Whether the parts that Concord rests on answer: the database, Redis, the tables' migrations, the storage of files."""

import logging
import secrets
import time
from collections.abc import Callable
from functools import cache as once
from typing import Any

import psycopg2
from django.conf import settings
from django.core.files.base import ContentFile
from django.core.files.storage import FileSystemStorage, Storage, default_storage
from django.db import connection
from django.db.migrations.loader import MigrationLoader
from redis import Redis

logger = logging.getLogger(__name__)
OK = "ok"
WAIT_SECONDS = 2
STORAGE_SECONDS = 30  # how long an answer of the storage holds: it costs a write

_storage_said: dict[str, tuple[float, str]] = {}


def states() -> dict[str, str]:
    """Each part with `ok`, or with what is wrong in words that tell nothing of the machine. Seconds at the most."""
    found = {"database": _tried("database", _database), "redis": _tried("redis", _redis)}
    found["migrations"] = _tried("migrations", _migrations) if found["database"] == OK else "not known"
    found["storage"] = storage_state()
    return found


def storage_state() -> str:
    """Whether files can be written; asked anew every half a minute by each process."""
    said = _storage_said.get("storage")
    if said is None or said[1] != OK or time.monotonic() - said[0] > STORAGE_SECONDS:
        said = (time.monotonic(), _tried("storage", lambda: _write_to(default_storage)))
        _storage_said["storage"] = said
    return said[1]


def forget() -> None:
    """Has the storage asked anew."""
    _storage_said.clear()


def missing_migrations() -> list[str]:
    """The migrations of this version that the database has not had, as `app.name`. One query."""
    with _connected() as link, link.cursor() as cursor:
        cursor.execute("SELECT app, name FROM django_migrations")
        applied = set(cursor.fetchall())
    return sorted(f"{app}.{name}" for app, name in _own_migrations() - applied)


def _tried(part: str, ask: Callable[[], str]) -> str:
    try:
        return ask()
    except Exception as error:
        logger.warning("%s does not answer: %s", part, type(error).__name__)
        return "can't be written" if part == "storage" else "does not answer"


def _database() -> str:
    with _connected() as link, link.cursor() as cursor:
        cursor.execute("SELECT 1")
    return OK


def _redis() -> str:
    with asking_redis() as redis:
        redis.ping()
    return OK


def _migrations() -> str:
    n_missing = len(missing_migrations())
    return OK if not n_missing else f"{n_missing} {'is' if n_missing == 1 else 'are'} not applied"


def asking_redis() -> "Redis":
    """A connection of its own to Redis that waits two seconds at the most; to be closed by `with`."""
    address = settings.REDIS_URL.replace("redis+socket://", "unix://")
    return Redis.from_url(address, socket_timeout=WAIT_SECONDS, socket_connect_timeout=WAIT_SECONDS)


class _connected:  # noqa: N801 - used like a function
    """A connection of its own to the database, closed afterwards: one at hand may hang for long."""

    def __enter__(self) -> Any:
        asked = connection.get_connection_params() | {"connect_timeout": WAIT_SECONDS}
        asked.pop("cursor_factory", None)
        self._link = psycopg2.connect(**asked)
        return self._link

    def __exit__(self, *error: object) -> None:
        self._link.close()


@once
def _own_migrations() -> frozenset[tuple[str, str]]:
    loader = MigrationLoader(None)
    return frozenset(loader.disk_migrations or {})


def _write_to(storage: Storage) -> str:
    if isinstance(storage, FileSystemStorage) or isinstance(getattr(storage, "_wrapped", None), FileSystemStorage):
        name = f".health-{secrets.token_hex(4)}"
        storage.delete(storage.save(name, ContentFile(b"health" * 1000)))
        return OK
    storage.exists("health")
    return OK
