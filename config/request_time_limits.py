"""Time limits of web requests: a watch ends the wait for a database that accepts and never answers.

No limit of the server applies there, so the client sets one. The watch checks every request under way once a second. A
request whose connection was busy for longer than its limit loses it: the socket is shut, the driver raises, and the
answer is 503. If the database does not answer the watch either, all requests that wait for it end, and new ones are
answered 503 until it does. A request that got no connection makes the watch ask as well, because it waited in the
driver, where the watch does not see it.
"""

import logging
import os
import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import psycopg2
from django.db import DEFAULT_DB_ALIAS, connections
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from psycopg2.extensions import TRANSACTION_STATUS_ACTIVE

from config import health
from config.middleware import PROBES, unavailable
from config.outages import DATABASE, TOO_SLOW

logger = logging.getLogger(__name__)
REQUEST_SECONDS = 20.0
"""How long a request, or one piece of an answer that is streamed, may wait for the database in all."""
PROBE_SECONDS = 2.0
EVERY_SECONDS = 0.5


class WaitingRequest:
    """A request under way: how long it has waited for its connection so far, as far as the watch has seen."""

    def __init__(self, limit_seconds: float) -> None:
        self.limit_seconds = limit_seconds
        self.waited_seconds = 0.0
        self.is_cut = False
        self.is_slow = False
        """Whether it lost its connection while the database answered others."""
        self._wrapper = connections[DEFAULT_DB_ALIAS]
        self._seen: tuple[Any, int] | None = None

    def look(self, seconds: float) -> None:
        """Adds the time since the last look if the connection is busy."""
        link = self._wrapper.connection
        if link is None or link.closed:
            return
        with suppress(psycopg2.Error, OSError):
            if self._seen is None or self._seen[0] is not link:
                self._seen = link, os.fstat(link.fileno()).st_ino
            if link.get_transaction_status() == TRANSACTION_STATUS_ACTIVE:
                self.waited_seconds += seconds

    def is_waiting(self) -> bool:
        link = self._wrapper.connection
        with suppress(psycopg2.Error):
            return link is not None and not link.closed and link.get_transaction_status() == TRANSACTION_STATUS_ACTIVE
        return False

    def cut(self) -> None:
        """Shuts the socket of the connection, unless another one has its number by now."""
        if self._seen is None or self.is_cut:
            return
        link, inode = self._seen
        self.is_cut = True
        with suppress(psycopg2.Error, OSError), socket.socket(fileno=os.dup(link.fileno())) as twin:
            if os.fstat(twin.fileno()).st_ino == inode:
                twin.shutdown(socket.SHUT_RDWR)


class Watch:
    """The requests under way in this process, and whether the database is taken for silent."""

    def __init__(self) -> None:
        self.is_silent = False
        self.is_doubted = False
        """Whether a request was answered 503 since the last look."""
        self._waiting: set[WaitingRequest] = set()
        self._lock = threading.Lock()

    @contextmanager
    def over(self, limit_seconds: float) -> Iterator[WaitingRequest]:
        """Watches over what this thread does in the block."""
        waiting = WaitingRequest(limit_seconds)
        with self._lock:
            self._waiting.add(waiting)
        try:
            yield waiting
        finally:
            with self._lock:
                self._waiting.discard(waiting)

    def begin(self) -> None:
        """Looks on from a thread of its own for as long as this process runs."""
        threading.Thread(target=self._run, daemon=True, name="deadlines").start()

    def _run(self) -> None:
        last = time.monotonic()
        while True:
            time.sleep(EVERY_SECONDS)
            now = time.monotonic()
            try:
                self.look(now - last)
            except Exception:
                logger.exception("the watch over requests")
            last = now

    def look(self, seconds: float) -> None:
        """One look at all requests under way, `seconds` after the last one."""
        with self._lock:
            under_way = list(self._waiting)
        for each in under_way:
            each.look(seconds)
        late = [each for each in under_way if each.waited_seconds > each.limit_seconds and not each.is_cut]
        if not late and not self.is_silent and not self.is_doubted:
            return
        self.is_doubted = False
        was_silent, self.is_silent = self.is_silent, not health.database_answers(PROBE_SECONDS)
        if self.is_silent:
            if not was_silent:
                logger.warning("the database accepts connections and does not answer; requests are answered 503")
            with self._lock:
                late = [each for each in self._waiting if each.is_waiting()]
        elif was_silent:
            logger.warning("the database answers again")
        for each in late:
            each.is_slow = not self.is_silent
            each.cut()


watch = Watch()


class Deadlines:
    """Gives every request its limit of waiting for the database; while that is silent, answers 503 at once."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        is_probe = request.path in PROBES
        if watch.is_silent and not is_probe:
            return unavailable(request, DATABASE)
        with watch.over(PROBE_SECONDS if is_probe else REQUEST_SECONDS) as waiting:
            response = self.get_response(request)
        if response.status_code == 503 and not is_probe:
            watch.is_doubted = True
        if waiting.is_slow and response.status_code == 503:
            return unavailable(request, TOO_SLOW)
        if response.streaming and getattr(response, "file_to_stream", None) is None and not response.is_async:  # type: ignore[attr-defined]
            response.streaming_content = _watched(response.streaming_content)  # type: ignore[attr-defined]
        return response


def _watched(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Each piece of an answer has a limit of its own: a large file may take long, its database may not."""
    following = iter(pieces)
    while True:
        with watch.over(REQUEST_SECONDS):
            piece = next(following, None)
        if piece is None:
            return
        yield piece
