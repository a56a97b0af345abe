"""Assertions that many tests share."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection
from django.test.utils import CaptureQueriesContext


@contextmanager
def assert_queries(n: int) -> Iterator[None]:
    """The block makes exactly n database queries; a failure lists them."""
    with CaptureQueriesContext(connection) as captured:
        yield
    listed = "\n".join(f"{number}. {query['sql']}" for number, query in enumerate(captured, start=1))
    assert len(captured) == n, f"{len(captured)} queries instead of {n}:\n{listed}"


def wait_until_someone_waits_for_a_lock(seconds: float = 20) -> None:
    """Returns as soon as another connection stands before a lock; fails when none does in time."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        with connection.cursor() as cursor:
            cursor.execute("SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted)")
            if cursor.fetchone()[0]:
                return
    raise AssertionError("Nobody waits for a lock.")
