"""Heartbeats of web processes, workers, and beat in Redis, and counts of what was done."""

import json
import os
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache as once

from django.conf import settings
from redis import Redis
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import RedisError

from config.patient_cache import absence

WEB, WORKER, CLOCK = KINDS = ("web", "worker", "clock")
KEY, TASKS = "concord-pulse", "concord-tasks"
EVERY_SECONDS = 15
GONE = timedelta(minutes=2)
FORGOTTEN = timedelta(days=1)


@dataclass(frozen=True)
class Heartbeat:
    """When a process was last heard of."""

    kind: str
    name: str
    at: datetime
    version: str

    @property
    def is_alive(self) -> bool:
        return datetime.now(UTC) - self.at < GONE


class _OwnHeartbeat:
    """When this process last said that it lives."""

    at = -1e9


def beat(kind: str, name: str = "", *, every: float = EVERY_SECONDS) -> None:
    """Says that this process lives, if it did not say so just now. A Redis that is away is passed over."""
    if time.monotonic() - _OwnHeartbeat.at < every:
        return
    _OwnHeartbeat.at = time.monotonic()
    said = json.dumps({"at": datetime.now(UTC).timestamp(), "version": settings.CONCORD_VERSION})
    with _redis() as redis:
        redis.hset(KEY, f"{kind} {name or own_name()}", said)


def keep_beating(kind: str) -> None:
    """Says so from a thread of its own, as long as this process lives."""
    never = threading.Event()

    def run() -> None:
        while not never.wait(EVERY_SECONDS):
            beat(kind, every=0)

    beat(kind, every=0)
    threading.Thread(target=run, daemon=True, name="pulse").start()


def own_name() -> str:
    return f"{socket.gethostname()}:{os.getpid()}"


def pulses() -> list[Heartbeat] | None:
    """All that were heard of within a day, by kind and name; None where Redis does not answer. One or two calls."""
    found: dict[bytes, bytes] | None = None
    with _redis() as redis:
        found = redis.hgetall(KEY)  # type: ignore[assignment]
    if found is None:
        return None
    known: list[Heartbeat] = []
    old: list[Heartbeat] = []
    for place, said in found.items():
        kind, _, name = place.decode().partition(" ")
        told = json.loads(said)
        pulse = Heartbeat(kind, name, datetime.fromtimestamp(told["at"], UTC), told["version"])
        (old if datetime.now(UTC) - pulse.at > FORGOTTEN else known).append(pulse)
    if old:
        with _redis() as redis:
            redis.hdel(KEY, *(f"{each.kind} {each.name}" for each in old))
    return sorted(known, key=lambda each: (KINDS.index(each.kind) if each.kind in KINDS else 9, each.name))


def count_task(name: str, state: str, seconds: float) -> None:
    """Counts a task that is over, for metrics."""
    with _redis() as redis:
        pipe = redis.pipeline(transaction=False)
        pipe.hincrby(TASKS, f"n {state.lower()} {name}", 1)
        pipe.hincrbyfloat(TASKS, f"seconds {state.lower()} {name}", seconds)
        pipe.execute()


def task_counts() -> dict[tuple[str, str, str], float]:
    """(n or seconds, state, task) → sum since Redis was emptied; nothing where it does not answer."""
    found: dict[bytes, bytes] = {}
    with _redis() as redis:
        found = redis.hgetall(TASKS)  # type: ignore[assignment]
    return {tuple(place.decode().split(" ", 2)): float(value) for place, value in found.items()}  # type: ignore[misc]


def queue_length() -> int | None:
    """How many messages wait for a worker; None where Redis does not answer."""
    length: int | None = None
    with _redis() as redis:
        length = redis.llen("celery")
    return length


def memory_bytes() -> int | None:
    """What Redis holds; None where it does not answer."""
    used: int | None = None
    with _redis() as redis:
        used = int(redis.info("memory")["used_memory"])
    return used


@contextmanager
def _redis() -> Iterator[Redis]:
    """Redis; the rest of the block is left out where it does not answer."""
    try:
        yield _UnreachableRedis() if absence.is_on() else _client(settings.REDIS_URL, os.getpid())  # type: ignore[misc]
    except (RedisError, OSError) as error:
        if not absence.is_on():
            absence.begin(error)


class _UnreachableRedis:
    """Redis while it is left alone: whatever is asked, it does not answer."""

    def __getattr__(self, name: str) -> object:
        raise RedisConnectionError


@once
def _client(address: str, pid: int) -> Redis:
    return Redis.from_url(address.replace("redis+socket://", "unix://"), socket_timeout=1, socket_connect_timeout=1)
