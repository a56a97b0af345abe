"""Issue texts of a study as they are pinned, row by row; chunks are smaller where texts are longer."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from operator import itemgetter
from typing import Any

from django.db.models import Exists, OuterRef

from annotation.models import Item, Study
from ingest.files.export_rows import change_row
from ingest.models import ClosingChange, Repository, SnapshotComment
from ingest.text_lengths import text_chunks

CHUNK_ITEMS = 200


@dataclass(frozen=True)
class IssueRow:
    """One item with what its pinned snapshot says; all but `item` is null for an identifier without an issue."""

    item: str
    repository: str | None = None
    number: int | None = None
    title: str | None = None
    body: str | None = None
    state: str | None = None
    state_reason: str | None = None
    github_labels: list[str] | None = None
    author: str | None = None
    created_at: datetime | None = None
    closed_at: datetime | None = None
    n_comments: int | None = None
    comments: list[dict[str, Any]] | None = None
    closed_by: list[str] | None = None
    merged_at: datetime | None = None
    additions: int | None = None
    deletions: int | None = None
    files: int | None = None
    presence: str | None = None
    screening: str = ""
    screening_reason: str = ""
    snapshot: str | None = None
    n_answers_on_other_states: int = 0


def issue_rows(study: Study, *, after: int = 0) -> Iterator[tuple[int, IssueRow]]:
    """(item's key, row) for each item after that key, in order.

    Two or three queries for each CHUNK_ITEMS items, and up to four for each chunk of them (one, unless texts are long).
    """
    for items in _chunks(study, after):
        names = {
            row.pk: row for row in Repository.objects.filter(pk__in={i.issue.repository_id for i in items if i.issue})
        }
        threads = _threads([item.snapshot_id for item in items if item.snapshot_id])
        changes = closing_changes([item.issue_id for item in items if item.issue_id])
        for item in items:
            yield item.pk, _row(item, names, threads, changes.get(item.issue_id or 0, []))


def _chunks(study: Study, after: int) -> Iterator[list[Item]]:
    found = Item.objects.filter(study=study).order_by("pk")
    while keys := list(found.filter(pk__gt=after).values_list("pk", "snapshot")[:CHUNK_ITEMS]):
        for some in text_chunks(keys, itemgetter(1)):
            yield list(found.filter(pk__in=[pk for pk, _ in some]).select_related("snapshot", "issue"))
        after = keys[-1][0]


def _threads(snapshots: Sequence[int]) -> dict[int, list[dict[str, Any]]]:
    threads: dict[int, list[dict[str, Any]]] = {}
    links = SnapshotComment.objects.filter(snapshot__in=snapshots).order_by("snapshot", "position")
    for snapshot, author, created_at, body in links.values_list(
        "snapshot", "comment__author_login", "comment__created_at", "comment__body"
    ):
        threads.setdefault(snapshot, []).append({"author": author, "created_at": created_at, "body": body})
    return threads


def closing_changes(issues: Sequence[int]) -> dict[int, list[ClosingChange]]:
    """Of issues (by key) what closed them; one query."""
    found: dict[int, list[ClosingChange]] = {}
    for change in ClosingChange.objects.filter(issue__in=issues).order_by("issue", "identifier"):
        found.setdefault(change.issue_id, []).append(change)
    return found


def _row(
    item: Item,
    names: dict[int, Repository],
    threads: dict[int, list[dict[str, Any]]],
    changes: list[ClosingChange],
) -> IssueRow:
    issue, snapshot = item.issue, item.snapshot
    if issue is None or snapshot is None:
        return IssueRow(item.identifier, screening=item.screening, screening_reason=item.screening_reason)
    # Under the name of the item in all other files, whatever the repository is called at GitHub by now.
    home = item.identifier.rpartition("#")[0] or names[issue.repository_id].full_name
    merged = counted(changes)
    return IssueRow(
        item=item.identifier,
        repository=home,
        number=issue.number,
        title=snapshot.title,
        body=snapshot.body,
        state=snapshot.state,
        state_reason=snapshot.state_reason,
        github_labels=list(snapshot.github_labels),
        author=snapshot.author_login,
        created_at=snapshot.created_at,
        closed_at=snapshot.closed_at,
        n_comments=snapshot.n_comments,
        comments=threads.get(snapshot.pk, []) if snapshot.comments_known else None,
        closed_by=[change.identifier for change in changes if change.closes] if issue.changes_known else None,
        merged_at=min((change.merged_at for change in merged if change.merged_at), default=None),
        additions=total(merged, "additions"),
        deletions=total(merged, "deletions"),
        files=total(merged, "n_files"),
        presence=issue.presence,
        screening=item.screening,
        screening_reason=item.screening_reason,
        snapshot=snapshot.sha256,
    )


def change_rows(study: Study, *, after: int = 0) -> Iterator[tuple[int, list[dict[str, Any]]]]:
    """(item's key, a row for each change) for each item that has one after that key, in order; two queries a chunk."""
    has_changes = Exists(ClosingChange.objects.filter(issue=OuterRef("issue")))
    rows = Item.objects.filter(has_changes, study=study).order_by("pk").only("identifier", "issue")
    while items := list(rows.filter(pk__gt=after)[:CHUNK_ITEMS]):
        changes = closing_changes([item.issue_id for item in items if item.issue_id])
        for item in items:
            yield item.pk, [change_row(change, item.identifier) for change in changes.get(item.issue_id or 0, [])]
        after = items[-1].pk


def counted(changes: Sequence[ClosingChange]) -> list[ClosingChange]:
    """What counts of the changes of an issue: the merged pull requests, or where there is none the commits."""
    merged = [change for change in changes if change.merged_at]
    pulls = [change for change in merged if change.kind == ClosingChange.Kind.PULL_REQUEST]
    return pulls or merged


def total(changes: Sequence[ClosingChange], name: str) -> int | None:
    """The sum over changes; None where there is none, or one does not say."""
    values = [getattr(change, name) for change in changes]
    return sum(values) if values and None not in values else None
