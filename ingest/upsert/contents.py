"""Contents of issues: snapshots, comments, and threads, each stored once."""

from collections.abc import Iterable, Sequence
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
CommentKey = tuple[str, str]
"""A comment's SHA-256 and its author's name, which is not in the hash where the author's number is known."""
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
    """A state to be stored: `snapshot_id` is the id kept free for it, None where it may be there already.

    `is_renamed`: a file stored it with other names of its people.
    """

    issue_id: int
    record: IssueRecord
    sha256: str
    snapshot_id: int | None = None
    is_renamed: bool = False


def store_contents(run: FetchRun, pending: Sequence[PendingSnapshot]) -> None:
    """Makes the snapshots that are not there yet, with their comments; each then has its `snapshot_id`."""
    if not pending:
        return
    fresh = [part for part in pending if part.snapshot_id is not None]
    if maybe := [part for part in pending if part.snapshot_id is None]:
        fresh += _not_stored(run, maybe)
    now = timezone.now()
    copy("ingest_snapshot", SNAPSHOT, (_snapshot(run, part, now) for part in fresh))
    _store_threads([part for part in fresh if part.record.comments])


def _not_stored(run: FetchRun, pending: Sequence[PendingSnapshot]) -> list[PendingSnapshot]:
    """Those whose state the issue did not have before, with fresh ids; the others get the id of that state.

    The same content with other dates or counts is another state: an issue that was closed twice was so on two days.
    What GitHub tells is no state that a file brought, and what an upload tells none that the file of a study brought:
    names of people there are in no hash.
    """
    states = Snapshot.objects.filter(
        issue__in=[part.issue_id for part in pending], sha256__in=[part.sha256 for part in pending], run__isnull=False
    )
    if run.kind != FetchRun.Kind.FILE:
        states = states.filter(run__kind__in=FetchRun.FROM_GITHUB)
    found = states.values_list("issue_id", "sha256", *OF_SNAPSHOT, "pk")
    earlier = {tuple(state): pk for *state, pk in found}
    fresh = []
    for part in pending:
        told = tuple(getattr(part.record, name) for name in OF_SNAPSHOT)
        part.snapshot_id = None if part.is_renamed else earlier.get((part.issue_id, part.sha256, *told))
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
    threads = [[(_key(comment), comment) for comment in part.record.comments or ()] for part in pending]
    comments = {key: comment for thread in threads for key, comment in thread}
    if not comments:
        return
    ids = _comment_ids(comments)
    if missing := sorted(set(comments) - set(ids)):
        ids |= _store_comments({key: comments[key] for key in missing})
    places = (
        (part.snapshot_id, ids[key], position)
        for part, thread in zip(pending, threads, strict=True)
        for position, (key, _) in enumerate(thread, start=1)
    )
    copy("ingest_snapshotcomment", ("snapshot_id", "comment_id", "position"), places)


def _key(comment: CommentRecord) -> CommentKey:
    return comment.sha256, comment.author_login


def _store_comments(comments: dict[CommentKey, CommentRecord]) -> dict[CommentKey, int]:
    """The ids of comments that were not stored a moment ago."""
    rows = (
        (sha256, c.github_id, c.author_login, c.author_id, c.body, c.created_at) for (sha256, _), c in comments.items()
    )
    stage("staged_comments", COMMENT, rows)
    names = ", ".join(COMMENT)
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO ingest_comment ({names}) SELECT {names} FROM staged_comments "  # noqa: S608
            "ORDER BY sha256, author_login ON CONFLICT DO NOTHING RETURNING sha256, author_login, id"
        )
        ids = {(sha256, login): pk for sha256, login, pk in cursor.fetchall()}
    if len(ids) < len(comments):
        ids |= _comment_ids([key for key in comments if key not in ids])
    return ids


def _comment_ids(keys: Iterable[CommentKey]) -> dict[CommentKey, int]:
    wanted = set(keys)
    found = Comment.objects.filter(sha256__in=[sha256 for sha256, _ in wanted])
    rows = found.values_list("sha256", "author_login", "pk")
    return {(sha256, login): pk for sha256, login, pk in rows if (sha256, login) in wanted}
