"""Assertions that many tests share."""

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
