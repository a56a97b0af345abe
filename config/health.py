"""Health of the parts that Concord needs: database, Redis, migrations, file storage.

A thread of its own checks each part, one check at a time, and a request waits for it two seconds at most. So neither a
probe nor a page hangs with a part that accepts connections and never answers.
"""

import logging
import secrets
import select
import threading
import time
from collections.abc import Callable
from contextlib import closing
from functools import cache as once
from typing import Any

import psycopg2
from django.conf import settings
from django.core.files.base import ContentFile
from django.core.files.storage import FileSystemStorage, Storage, default_storage
from django.db import connection
from django.db.migrations.loader import MigrationLoader
from psycopg2.extensions import POLL_OK, POLL_READ
from redis import Redis
from redis.exceptions import OutOfMemoryError

from shared import disk_space

logger = logging.getLogger(__name__)
OK = "ok"
WAIT_SECONDS = 2
STORAGE_SECONDS = 30  # how long an answer of the storage holds: it costs a write


class Silent(psycopg2.OperationalError):
    """The database accepted a connection and did not answer in time."""


class HealthCheck:
    """What was found when a part was looked at last; one thread at a time looks, however many ask."""

    def __init__(self, part: str, ask: Callable[[], str], *, silent: str, kept_seconds: float = 0) -> None:
        self._part, self._ask, self._silent, self._kept_seconds = part, ask, silent, kept_seconds
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._found, self._found_at = "", -1e9

    def begin(self) -> None:
        """Has a thread look, unless one does or what was found still holds."""
        with self._lock:
            holds = self._found == OK and time.monotonic() - self._found_at < self._kept_seconds
            if holds or (self._thread is not None and self._thread.is_alive()):
                return
            self._thread = threading.Thread(target=self._run, daemon=True, name=f"look at {self._part}")
            self._thread.start()

    def found(self, until: float) -> str:
        """`ok`, or what is wrong in words; waits until then at the most. Call `begin` first."""
        with self._lock:
            thread = self._thread
        if thread is not None:
            thread.join(max(0.0, until - time.monotonic()))
            if thread.is_alive():
                return self._silent
        return self._found

    def forget(self) -> None:
        """Has it looked at again at the next time."""
        self._found_at = -1e9

    def _run(self) -> None:
        try:
            found = self._ask()
        except Exception as error:
            logger.warning("%s does not answer: %s", self._part, type(error).__name__)
            found = self._silent
        self._found, self._found_at = found, time.monotonic()


def states() -> dict[str, str]:
    """Each part with `ok`, or with what is wrong in words that tell nothing of the machine. Waits two seconds."""
    _own_migrations()  # read from files once, which is no wait for anybody
    until = time.monotonic() + WAIT_SECONDS
    for look in LOOKS.values():
        look.begin()
    found = {part: look.found(until) for part, look in LOOKS.items()}
    return found | ({} if found["database"] == OK else {"migrations": "not known"})


def forget() -> None:
    """Has the storage looked at again."""
    LOOKS["storage"].forget()


def database_answers(seconds: float) -> bool:
    """Whether the database answers a new connection within so long, if only by refusing it."""
    try:
        _asked("SELECT 1", seconds)
    except Silent:
        return False
    except psycopg2.Error:
        return True
    return True


def missing_migrations() -> list[str]:
    """The migrations of this version that the database has not had, as `app.name`. One query."""
    applied = set(_asked("SELECT app, name FROM django_migrations", WAIT_SECONDS))
    return sorted(f"{app}.{name}" for app, name in _own_migrations() - applied)


def _asked(sql: str, seconds: float) -> list[tuple[Any, ...]]:
    """What the database answers on a connection of its own; raises Silent where it does not answer for so long.

    Asked without blocking, because libpq itself waits without end for a server that accepts and never answers.
    """
    until = time.monotonic() + seconds
    asked = connection.get_connection_params()
    asked.pop("cursor_factory", None)
    with closing(psycopg2.connect(**asked, async_=1)) as link:
        _wait(link, until)
        cursor = link.cursor()
        cursor.execute(sql)
        _wait(link, until)
        return list(cursor.fetchall())


def _wait(link: Any, until: float) -> None:
    while (state := link.poll()) != POLL_OK:
        poller = select.poll()
        poller.register(link.fileno(), select.POLLIN if state == POLL_READ else select.POLLOUT)
        left = until - time.monotonic()
        if left <= 0 or not poller.poll(left * 1000):
            raise Silent("the database does not answer")


def _database() -> str:
    _asked("SELECT 1", WAIT_SECONDS)
    return OK


def _redis() -> str:
    with asking_redis() as redis:
        try:
            redis.set("concord-has-room", "1", ex=WAIT_SECONDS)
        except OutOfMemoryError:
            return "is full"
    return OK


def _migrations() -> str:
    n_missing = len(missing_migrations())
    return OK if not n_missing else f"{n_missing} {'is' if n_missing == 1 else 'are'} not applied"


def asking_redis() -> "Redis":
    """A connection of its own to Redis that waits two seconds at the most; to be closed by `with`."""
    address = settings.REDIS_URL.replace("redis+socket://", "unix://")
    return Redis.from_url(address, socket_timeout=WAIT_SECONDS, socket_connect_timeout=WAIT_SECONDS)


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


def _disk() -> str:
    return "almost full" if disk_space.is_short() else OK


LOOKS = {
    "database": HealthCheck("database", _database, silent="does not answer"),
    "redis": HealthCheck("redis", _redis, silent="does not answer"),
    "migrations": HealthCheck("migrations", _migrations, silent="not known"),
    "disk": HealthCheck("disk", _disk, silent="does not answer"),
    "storage": HealthCheck(
        "storage", lambda: _write_to(default_storage), silent="can't be written", kept_seconds=STORAGE_SECONDS
    ),
}
