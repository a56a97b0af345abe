"""Job holds: advisory locks that show which jobs have a living worker.

A hold is an advisory lock of a transaction on a connection of its own. A killed process loses its connections and the
hold, so its job is resumed at once, while a busy machine keeps its jobs. A hold excludes nobody: the claim in the row
decides who may write.
"""

from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from enum import IntEnum

from django.db import DEFAULT_DB_ALIAS, Error, connection, connections


class JobLockKind(IntEnum):
    """Kinds of jobs, by the first number of their locks."""

    WORKBOOK = 7_301
    ARRIVAL = 7_302
    RULES = 7_303
    EXPORT = 7_304
    DELETION = 7_305
    FETCH = 7_306
    PLAN = 7_307
    BULK = 7_309


def place(pk: int) -> int:
    """The second number of the lock of a row."""
    return pk % 2**31


@contextmanager
def hold_job(kind: JobLockKind, pk: int) -> Iterator[None]:
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


def are_held(kind: JobLockKind) -> set[int]:
    """The places of the rows of a kind that someone works on; one query."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT objid::bigint FROM pg_locks JOIN pg_database d ON d.oid = database "
            "WHERE locktype = 'advisory' AND granted AND classid = %s AND objsubid = 2 "
            "AND d.datname = current_database()",
            [kind],
        )
        return {found for (found,) in cursor.fetchall()}
