"""Stored snapshots of issues as records."""

from collections.abc import Iterable, Sequence

from ingest.models import Issue, Snapshot, SnapshotComment
from ingest.records import CommentRecord, IssueRecord


def known_records(issue_ids: Iterable[int]) -> dict[int, IssueRecord]:
    """The current state of stored issues as records, by the issue's id; three queries."""
    snapshots = dict(
        Issue.objects.filter(pk__in=list(issue_ids), current_snapshot__isnull=False).values_list(
            "current_snapshot_id", "pk"
        )
    )
    return {snapshots[snapshot_id]: record for snapshot_id, record in records_of_snapshots(snapshots).items()}


def records_of_snapshots(snapshot_ids: Iterable[int | None]) -> dict[int, IssueRecord]:
    """Stored snapshots as records, by their id; two queries, none for none."""
    wanted = [pk for pk in snapshot_ids if pk is not None]
    if not wanted:
        return {}
    snapshots = Snapshot.objects.filter(pk__in=wanted).select_related("issue__repository")
    threads: dict[int, list[CommentRecord]] = {pk: [] for pk in wanted}
    links = (
        SnapshotComment.objects.filter(snapshot__in=wanted).select_related("comment").order_by("snapshot", "position")
    )
    for link in links:
        c = link.comment
        threads[link.snapshot_id].append(CommentRecord(c.author_login, c.author_id, c.body, c.created_at, c.github_id))
    return {row.pk: _record(row, threads[row.pk]) for row in snapshots}


def _record(row: Snapshot, thread: Sequence[CommentRecord]) -> IssueRecord:
    repository = row.issue.repository
    return IssueRecord(
        host=repository.host,
        owner=repository.owner,
        name=repository.name,
        number=row.issue.number,
        title=row.title,
        body=row.body,
        state=row.state,
        state_reason=row.state_reason,
        github_labels=tuple(row.github_labels),
        author_login=row.author_login,
        author_id=row.author_id,
        locked=row.locked,
        created_at=row.created_at,
        updated_at=row.updated_at,
        closed_at=row.closed_at,
        html_url=row.issue.address_of(row),
        author_association=row.issue.author_association,
        n_comments=row.n_comments,
        comments=tuple(thread) if row.comments_known else None,
    )
