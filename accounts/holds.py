"""Holds on jobs: which rows processes work on, as the database sees it the moment such a process ends.

A hold is an advisory lock of a transaction on a connection of its own. A process that is killed loses its connections
and the hold with them, so its job is taken up again at once, while a machine that is only busy keeps its jobs. A hold
keeps nobody out: who may write to a row is decided by the claim in the row.
"""

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from datetime import datetime, timedelta
from enum import IntEnum

from django.db import DEFAULT_DB_ALIAS, Error, connection, connections
from django.utils import timezone

GRACE_SECONDS = 3
"""How long ago a job was heard of before a missing hold counts: one that is just ending lets go of it, too."""


class Kind(IntEnum):
    """Kinds of jobs, by the first number of their locks."""

    WORKBOOK = 7_301
    ARRIVAL = 7_302
    RULES = 7_303
    EXPORT = 7_304
    DELETION = 7_305
    FETCH = 7_306
    PLAN = 7_307
    DELETION_BATCH = 7_308
    BULK = 7_309
    BULK_BATCH = 7_310


def place(pk: int) -> int:
    """The second number of the lock of a row."""
    return pk % 2**31


@contextmanager
def held(kind: Kind, pk: int) -> Iterator[None]:
    """Lets everybody see, for as long as this process is in the block, that someone works on this row."""
    with closing(connections.create_connection(DEFAULT_DB_ALIAS)) as side:
        side.set_autocommit(False)
        with side.cursor() as cursor:
            cursor.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
            cursor.execute("SELECT pg_advisory_xact_lock_shared(%s, %s)", [kind, place(pk)])
        try:
            yield
        finally:
            with suppress(Error):  # the server notices that a connection was closed only some time later
                side.rollback()


def are_held(kind: Kind) -> set[int]:
    """The places of the rows of a kind that someone works on; one query."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT objid::bigint FROM pg_locks JOIN pg_database d ON d.oid = database "
            "WHERE locktype = 'advisory' AND granted AND classid = %s AND objsubid = 2 "
            "AND d.datname = current_database()",
            [kind],
        )
        return {found for (found,) in cursor.fetchall()}


def without_worker(kind: Kind, rows: Sequence[tuple[int, str, datetime | None]], before_seconds: float) -> list[int]:
    """Of jobs at work (id, state, when they last reported), those to be sent again, in order; one query at most.

    They are queued for so long, or running with no process that holds them. One that never reported counts as old.
    """
    at_work = are_held(kind) if rows else set()
    now = timezone.now()
    found = []
    for pk, state, at in rows:
        seconds = min(before_seconds, GRACE_SECONDS) if state == "running" else before_seconds
        if place(pk) not in at_work and (at is None or at < now - timedelta(seconds=seconds)):
            found.append(pk)
    return found
