"""Database requirements: version, turns for migrations, and limits of statements."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, connection, connections

LEAST_VERSION = 15
TRY_SECONDS = 0.1
MIGRATING = 0x0C0C07D  # any number, as long as it is the same everywhere
CREATE = "CREATE DATABASE concord OWNER concord TEMPLATE template0 ENCODING 'UTF8' LOCALE 'C.UTF-8'"
_LOOK = """
    SELECT pg_encoding_to_char(encoding), 'B' < 'a' AND 'a.b' < 'ab' AND 'z' < 'ä', lower('ÄЖ') = 'äж'
    FROM pg_database WHERE datname = current_database()"""


class UnfitDatabase(Exception):
    """Concord can't work on this database; the message says why and how to mend it."""


class TablesInUse(UnfitDatabase):
    """A migration did not get its table."""

    def __init__(self) -> None:
        super().__init__(
            "The tables were not migrated: a long statement or transaction holds one of them, and a migration does not "
            "make everybody wait behind it. What was migrated before stays. Try again when it is over; `SELECT pid, "
            "state, query FROM pg_stat_activity` lists what runs."
        )


def refuse_unfit() -> None:
    """Raises UnfitDatabase where the server is too old, or orders or folds texts otherwise; one query."""
    if connection.vendor != "postgresql":
        return
    connection.ensure_connection()
    with connection.cursor() as cursor:
        found = cursor.connection.server_version
        refuse_version(found)
        cursor.execute(_LOOK)
        refuse_texts(*cursor.fetchone())


def refuse_version(found: int) -> None:
    """Raises UnfitDatabase for a number as libpq tells it, 150004 for 15.4, below LEAST_VERSION."""
    if found < LEAST_VERSION * 10_000:
        raise UnfitDatabase(
            f"DATABASE_URL leads to PostgreSQL {found // 10_000}, and Concord needs PostgreSQL {LEAST_VERSION} or "
            "later; upgrade the server (pg_upgrade, or a dump that is restored in a newer one)."
        )


def refuse_texts(encoding: str, by_code_point: bool, folds_all: bool) -> None:
    """Raises UnfitDatabase unless texts are Unicode, ordered by code point, and small and large letters known."""
    if encoding == "UTF8" and by_code_point and folds_all:
        return
    wrong = (
        f"keeps texts as {encoding}"
        if encoding != "UTF8"
        else "orders texts by the rules of a language"
        if not by_code_point
        else "knows small and large letters of English only"
    )
    raise UnfitDatabase(
        f"The database of DATABASE_URL {wrong}; pages, files and scripts would disagree with it. Make it with "
        f"{CREATE}; what is in this one moves there by a dump of its tables (pg_dump, psql)."
    )


@contextmanager
def turn_at_tables(*, shared: bool = False) -> Iterator[None]:
    """Waits until nobody makes tables (shared), or nobody makes or looks at them, and holds that until the block ends.

    The lock belongs to a transaction on a connection of its own: behind PgBouncer one of a session would stay
    with a connection that is someone else's by then. It is tried again and again: a statement that waits would keep
    its snapshot, and a migration that makes an index concurrently waits for the end of every older snapshot.
    """
    side = connections.create_connection(DEFAULT_DB_ALIAS)
    try:
        side.set_autocommit(False)
        with side.cursor() as cursor:
            while True:
                cursor.execute(f"SELECT pg_try_advisory_xact_lock{'_shared' if shared else ''}(%s)", [MIGRATING])
                if cursor.fetchone()[0]:
                    break
                side.rollback()
                time.sleep(TRY_SECONDS)
        yield
    finally:
        side.close()


@dataclass(frozen=True)
class Limits:
    """How long PostgreSQL lets a connection work, wait for a lock, and hold a transaction without a statement."""

    statement_seconds: int
    lock_seconds: int
    idle_in_transaction_seconds: int

    def settings(self) -> dict[str, str]:
        """As PostgreSQL names them; it also looks every few seconds whether the client is still there."""
        return {
            "statement_timeout": f"{self.statement_seconds}s",
            "lock_timeout": f"{self.lock_seconds}s",
            "idle_in_transaction_session_timeout": f"{self.idle_in_transaction_seconds}s",
            "client_connection_check_interval": "5s",
        }


WEB = Limits(statement_seconds=18, lock_seconds=10, idle_in_transaction_seconds=120)
JOBS = Limits(statement_seconds=1800, lock_seconds=600, idle_in_transaction_seconds=1800)
MIGRATIONS = Limits(statement_seconds=0, lock_seconds=10, idle_in_transaction_seconds=0)
CONNECT_SECONDS = 4
TCP = {"keepalives_idle": "15", "keepalives_interval": "5", "keepalives_count": "3"}


def limit(limits: Limits) -> None:
    """Gives all connections that this process makes from now on these limits, as options of their start.

    Behind PgBouncer the entry of its pool sets them (deploy/pgbouncer.ini): what a client sets would stay with a
    connection that serves another client next.
    """
    place = connections.settings[DEFAULT_DB_ALIAS]
    options = place["OPTIONS"]
    for name, value in {"connect_timeout": str(CONNECT_SECONDS), **TCP}.items():
        options.setdefault(name, value)
    if not settings.PGBOUNCER:
        given = [options["options"]] if options.get("options") else []
        options["options"] = " ".join([*(f"-c {name}={value}" for name, value in limits.settings().items()), *given])
    elif limits is WEB and settings.WEB_DATABASE:
        place.update(settings.WEB_DATABASE | {"OPTIONS": options | settings.WEB_DATABASE["OPTIONS"]})


@contextmanager
def with_limits(limits: Limits) -> Iterator[None]:
    """Works with these limits in the block, on a connection that begins and ends with it."""
    place = connections.settings[DEFAULT_DB_ALIAS]
    before = place["OPTIONS"]
    connection.close()
    place["OPTIONS"] = dict(before)
    limit(limits)
    try:
        yield
    finally:
        connection.close()
        place["OPTIONS"] = before
