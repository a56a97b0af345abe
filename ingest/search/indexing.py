"""Indexing of issues for search: takes stored issues from a queue in batches, in any number of processes."""

import logging
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from django.db import OperationalError, connection, transaction

from ingest.models import Issue, SearchText, Snapshot, SnapshotComment, Unsearchable
from ingest.search.matching import (
    COMMENT,
    OF_COMMENT,
    OF_TITLE,
    as_tsvector,
    fit_into_tsvector,
    fold,
    lexemes,
    mark_boundaries,
)
from ingest.upsert.copying import copy
from ingest.upsert.spellings import store_spellings
from shared import disk_space
from shared.jobs import BAD_ROW

logger = logging.getLogger(__name__)

BATCH_ISSUES = 1000
READ_AT_ONCE = 100
"""Issues whose texts and comments are in memory together."""
WRITTEN = ("issue_id", "snapshot_id", "lexemes", "has_all_lexemes", "title", "body", "comments")
PAUSE_SECONDS = 0.3
PENDING_KILOBYTES = 64 << 10
MEMORY = "256MB"
ANALYZED_SHARE, ANALYZED_ISSUES = 0.1, 100


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
    if disk_space.is_short():
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
        for n in range(0, len(ids), READ_AT_ONCE):
            _write_all(ids[n : n + READ_AT_ONCE])
    return len(ids)


def _write_all(ids: Sequence[int]) -> None:
    """Writes what searches compare of these issues; one of which that can't be told is logged and left out."""
    try:
        with transaction.atomic():
            _write(ids)
    except BAD_ROW:
        if len(ids) == 1:
            logger.exception("Issue %s could not be indexed", ids[0])
            return
        for pk in ids:
            _write_all([pk])


def _write(ids: Sequence[int]) -> None:
    """Writes what searches compare of these issues; four statements."""
    rows = list(
        Snapshot.objects.filter(pk__in=Issue.objects.filter(pk__in=ids).values("current_snapshot")).values_list(
            "issue_id", "pk", "title", "body", "github_labels", "author_login"
        )
    )
    threads: dict[int, list[str]] = {}
    comments = SnapshotComment.objects.filter(snapshot__in=[row[1] for row in rows]).order_by("snapshot", "position")
    for snapshot, body in comments.values_list("snapshot", "comment__body"):
        threads.setdefault(snapshot, []).append(fold(body))
    SearchText.objects.filter(pk__in=ids).delete()
    copy("ingest_searchtext", WRITTEN, (_row(row[:4], threads.get(row[1], ())) for row in rows))
    store_spellings({label for row in rows for label in row[4]}, {row[5] for row in rows})


def _row(told: tuple[int, int, str, str], comments: Sequence[str]) -> tuple[object, ...]:
    issue_id, snapshot_id, title, body = *told[:2], fold(told[2]), fold(told[3])
    of_title = lexemes(title)
    found = of_title | {OF_TITLE + each for each in of_title} | lexemes(body)
    for comment in comments:
        found |= {OF_COMMENT + each for each in lexemes(comment)}
    thread = COMMENT.join(map(mark_boundaries, comments))
    texts = mark_boundaries(title), mark_boundaries(body), thread
    return issue_id, snapshot_id, as_tsvector(found), fit_into_tsvector(found), *texts


def queue_what_is_missing() -> int:
    """Queues issues whose current state is not indexed, however that came about; how many.

    A version of Concord that ran beside this one, or a restored database, may have left some.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            """
            INSERT INTO ingest_unsearchable (issue_id)
            SELECT issue.id FROM ingest_issue AS issue
            WHERE current_snapshot_id IS NOT NULL AND NOT EXISTS (
                SELECT FROM ingest_searchtext AS text
                WHERE text.issue_id = issue.id AND text.snapshot_id = issue.current_snapshot_id)
            ORDER BY 1
            ON CONFLICT DO NOTHING
            """
        )
        return int(cursor.rowcount)


def _tidy(n_indexed: int) -> None:
    """Puts away what the index holds unsorted, and lets the planner learn where much is new."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT gin_clean_pending_list('search_texts_by_lexeme')")
        cursor.execute("SELECT reltuples FROM pg_class WHERE oid = %s::regclass", [SearchText._meta.db_table])
        if n_indexed > max(ANALYZED_ISSUES, ANALYZED_SHARE * cursor.fetchone()[0]):
            cursor.execute("ANALYZE ingest_searchtext, ingest_issue, ingest_snapshot")
