"""Contents of issues: snapshots, comments, and threads, each stored once."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db import connection
from django.utils import timezone

from ingest.models import Comment, FetchRun, Snapshot
from ingest.records import OF_SNAPSHOT, CommentRecord, IssueRecord
from ingest.upsert.copying import copy, stage

SNAPSHOT = (
    "id", "issue_id", "sha256", "title", "body", "state", "state_reason", "github_labels", "author_login", "author_id",
    "locked", "created_at", "updated_at", "closed_at", "html_url", "n_comments", "comments_known", "fetched_at",
    "run_id",
)  # fmt: skip
COMMENT = {
    "sha256": "text",
    "github_id": "bigint",
    "author_login": "text",
    "author_id": "bigint",
    "body": "text",
    "created_at": "timestamptz",
}


@dataclass(slots=True)
class PendingSnapshot:
    """A state to be stored: `snapshot_id` is the id kept free for it, None where it may be there already."""

    issue_id: int
    record: IssueRecord
    sha256: str
    snapshot_id: int | None = None


def store_contents(run: FetchRun, pending: Sequence[PendingSnapshot]) -> None:
    """Makes the snapshots that are not there yet, with their comments; each then has its `snapshot_id`."""
    if not pending:
        return
    fresh = [part for part in pending if part.snapshot_id is not None]
    if maybe := [part for part in pending if part.snapshot_id is None]:
        fresh += _not_stored(maybe)
    now = timezone.now()
    copy("ingest_snapshot", SNAPSHOT, (_snapshot(run, part, now) for part in fresh))
    _store_threads([part for part in fresh if part.record.comments])


def _not_stored(pending: Sequence[PendingSnapshot]) -> list[PendingSnapshot]:
    """Those whose state the issue did not have before, with fresh ids; the others get the id of that state.

    The same content with other dates or counts is another state: an issue that was closed twice was so on two days.
    """
    found = Snapshot.objects.filter(
        issue__in=[part.issue_id for part in pending], sha256__in=[part.sha256 for part in pending]
    ).values_list("issue_id", "sha256", *OF_SNAPSHOT, "pk")
    earlier = {tuple(state): pk for *state, pk in found}
    fresh = []
    for part in pending:
        told = tuple(getattr(part.record, name) for name in OF_SNAPSHOT)
        part.snapshot_id = earlier.get((part.issue_id, part.sha256, *told))
        if part.snapshot_id is None:
            fresh.append(part)
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT nextval(pg_get_serial_sequence('ingest_snapshot', 'id')) FROM generate_series(1, %s)", [len(fresh)]
        )
        for part, (snapshot_id,) in zip(fresh, cursor.fetchall(), strict=True):
            part.snapshot_id = snapshot_id
    return fresh


def _snapshot(run: FetchRun, part: PendingSnapshot, now: datetime) -> tuple[object, ...]:
    record = part.record
    return (
        part.snapshot_id,
        part.issue_id,
        part.sha256,
        record.title,
        record.body or "",
        record.state or "",
        record.state_reason or "",
        tuple(record.github_labels or ()),
        record.author_login or "",
        record.author_id,
        bool(record.locked),
        record.created_at,
        record.updated_at,
        record.closed_at,
        record.html_url,
        record.n_comments,
        record.comments is not None,
        now,
        run.pk,
    )


def _store_threads(pending: Sequence[PendingSnapshot]) -> None:
    threads = [[(comment.sha256, comment) for comment in part.record.comments or ()] for part in pending]
    comments = {sha256: comment for thread in threads for sha256, comment in thread}
    if not comments:
        return
    ids = _comment_ids(list(comments))
    if missing := sorted(set(comments) - set(ids)):
        ids |= _store_comments({sha256: comments[sha256] for sha256 in missing})
    places = (
        (part.snapshot_id, ids[sha256], position)
        for part, thread in zip(pending, threads, strict=True)
        for position, (sha256, _) in enumerate(thread, start=1)
    )
    copy("ingest_snapshotcomment", ("snapshot_id", "comment_id", "position"), places)


def _store_comments(comments: dict[str, CommentRecord]) -> dict[str, int]:
    """The ids of comments that were not stored a moment ago."""
    rows = ((sha256, c.github_id, c.author_login, c.author_id, c.body, c.created_at) for sha256, c in comments.items())
    stage("staged_comments", COMMENT, rows)
    names = ", ".join(COMMENT)
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO ingest_comment ({names}) SELECT {names} FROM staged_comments ORDER BY sha256 "  # noqa: S608
            "ON CONFLICT DO NOTHING RETURNING sha256, id"
        )
        ids = dict(cursor.fetchall())
    if len(ids) < len(comments):
        ids |= _comment_ids([sha256 for sha256 in comments if sha256 not in ids])
    return ids


def _comment_ids(hashes: Sequence[str]) -> dict[str, int]:
    return dict(Comment.objects.filter(sha256__in=hashes).values_list("sha256", "pk"))
