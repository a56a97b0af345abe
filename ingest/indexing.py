"""Makes issues searchable after they are stored: takes them from a queue, in batches, in any number of processes."""

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from django.db import OperationalError, connection, transaction

from accounts import room
from ingest.models import SEARCHED_CHARACTERS, SearchEntry, Unsearchable

logger = logging.getLogger(__name__)

BATCH_ISSUES = 1000
PAUSE_SECONDS = 0.3
PENDING_KILOBYTES = 64 << 10
MEMORY = "256MB"
ANALYZED_SHARE = 0.1


def index(n_most: int | None = None) -> int:
    """Indexes what waits, up to `n_most` issues; how many were indexed.

    Whatever another process has in its hands is left to it. A batch is one transaction: killed, it is done again.
    """
    n_indexed = _index_all(n_most)
    if n_indexed:
        _tidy(n_indexed)
    return n_indexed


def anything_waits() -> bool:
    return Unsearchable.objects.exists()


@contextmanager
def alongside() -> Iterator[None]:
    """Indexes in a thread, on a connection of its own, while the block stores; afterwards nothing waits."""
    over = threading.Event()
    counts: list[int] = []

    def work() -> None:
        try:
            while not over.is_set() or counts[-1] == BATCH_ISSUES:
                counts.append(_index_batch())
                if counts[-1] < BATCH_ISSUES:
                    over.wait(PAUSE_SECONDS)
        except OperationalError:
            logger.exception("what is left is indexed when the block is over")
        finally:
            connection.close()

    counts.append(0)
    thread = threading.Thread(target=work, name="indexes", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        n_indexed = _index_all(None)
        thread.join()
        # What the thread could not see before the block's last commit, or left behind when its connection broke.
        n_indexed += _index_all(None)
        if n_indexed + sum(counts):
            _tidy(n_indexed + sum(counts))


def _index_all(n_most: int | None) -> int:
    n_indexed = 0
    while n_most is None or n_indexed < n_most:
        n = _index_batch()
        n_indexed += n
        if n < BATCH_ISSUES:
            break
    return n_indexed


def _index_batch() -> int:
    """Takes the newest arrivals first, as a list shows them; none while the disk has only its reserve left.

    They are taken and read in two statements: what a store wrote before it let go of its place in the queue is seen
    only by a statement that begins after that.
    """
    if room.is_short():
        return 0
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL gin_pending_list_limit = %s", [PENDING_KILOBYTES])
        cursor.execute("SET LOCAL work_mem = %s", [MEMORY])
        cursor.execute(
            """
            DELETE FROM ingest_unsearchable WHERE issue_id = ANY(ARRAY(
                SELECT issue_id FROM ingest_unsearchable ORDER BY issue_id DESC LIMIT %s FOR UPDATE SKIP LOCKED))
            RETURNING issue_id
            """,
            [BATCH_ISSUES],
        )
        ids = [issue_id for (issue_id,) in cursor.fetchall()]
        if ids:
            cursor.execute(
                """
                INSERT INTO ingest_searchentry (issue_id, words)
                SELECT issue.id, to_tsvector('english', snapshot.title || ' ' || left(snapshot.body, %s))
                FROM ingest_issue AS issue JOIN ingest_snapshot AS snapshot ON snapshot.id = issue.current_snapshot_id
                WHERE issue.id = ANY(%s)
                ON CONFLICT (issue_id) DO UPDATE SET words = excluded.words
                """,
                [SEARCHED_CHARACTERS, ids],
            )
    return len(ids)


def _tidy(n_indexed: int) -> None:
    """Puts away what the index holds unsorted, and lets the planner learn where much is new."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT gin_clean_pending_list('search_entries_by_words')")
        cursor.execute("SELECT reltuples FROM pg_class WHERE oid = %s::regclass", [SearchEntry._meta.db_table])
        if n_indexed > max(BATCH_ISSUES, ANALYZED_SHARE * cursor.fetchone()[0]):
            cursor.execute("ANALYZE ingest_searchentry, ingest_issue, ingest_snapshot")
