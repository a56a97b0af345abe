"""Export rows of issues, comments, and changes, read in chunks, each with its newest contents."""

from collections.abc import Iterator
from operator import itemgetter
from typing import Any

from django.db.models import Q, QuerySet

from ingest.models import ClosingChange, Issue, SnapshotComment
from ingest.queries import activity, issue_as_line
from ingest.text_lengths import bytes_of
from shared.chunks import chunks

ISSUES_AT_ONCE = 200
COMMENTS_AT_ONCE = 500
ROWS_WITH_TEXTS = 200
"""How many rows with texts are written at once, so that none waits long after it was read."""


def rows_of(what: str, issues: QuerySet[Issue], readable: QuerySet[Issue] | None = None) -> Iterator[dict[str, Any]]:
    """The issues, or their comments or changes, in the order in which the issues came in.

    Each query looks again at which issues are `readable` (by default `issues`): rows are read while a file is sent. One
    to three queries for each ISSUES_AT_ONCE issues, and two for each COMMENTS_AT_ONCE comments, more where texts are
    long. Raises KeyError for another word.
    """
    read = {"issues": _issues, "comments": _comments, "changes": _changes}[what]
    last = 0
    keys = issues.order_by("pk").values_list("pk", flat=True)
    while chunk := list(keys.filter(pk__gt=last)[:ISSUES_AT_ONCE]):
        last = chunk[-1]
        chosen = issues if readable is None else readable
        yield from read(chosen.filter(pk__in=chunk, current_snapshot__isnull=False).order_by("pk"))


def issue_row(issue: Issue) -> dict[str, Any]:
    """An issue with its text; no query where repository, snapshot and activity were selected along."""
    snapshot = issue.current_snapshot
    assert snapshot is not None
    told = activity(issue)
    return issue_as_line(issue) | {
        "body": snapshot.body,
        "comments_known": snapshot.comments_known,
        "changes_known": issue.changes_known,
        "locked": snapshot.locked if issue.locked is None else issue.locked,
        "presence": issue.presence,
        "moved_to": issue.moved_to or None,
        "type": told["type"],
        "reactions": sum(told["reactions"].values()) if told["reactions"] is not None else None,
        "events": told["events"],
    }


def comment_row(place: SnapshotComment) -> dict[str, Any]:
    """A comment of the newest state of an issue; no query where issue, repository and comment were selected along."""
    said = place.comment
    return {
        "item": place.snapshot.issue.identifier,
        "position": place.position,
        "id": None if said.github_id is None else str(said.github_id),
        "author": said.author_login,
        "created_at": said.created_at,
        "body": said.body,
    }


def change_row(change: ClosingChange, item: str) -> dict[str, Any]:
    """A change with the item it belongs to. No query."""
    counts = zip(change.path_additions, change.path_deletions, strict=True)
    counted = list(counts) if len(change.path_additions) == len(change.paths) else [(None, None)] * len(change.paths)
    is_commit = change.kind == ClosingChange.Kind.COMMIT
    return {
        "item": item,
        "kind": change.kind,
        "change": change.identifier,
        "number": change.number,
        "sha": change.identifier.rpartition("@")[2] if is_commit else None,
        "title": change.title,
        "author": change.author_login,
        "created_at": change.created_at,
        "merged_at": change.merged_at,
        "merged": change.merged_at is not None,
        "closes": change.closes,
        "additions": change.additions,
        "deletions": change.deletions,
        "files": change.n_files,
        "paths": [
            {"path": path, "additions": added, "deletions": deleted}
            for path, (added, deleted) in zip(change.paths, counted, strict=True)
        ],
        "html_url": change.html_url,
    }


def places_of(issues: QuerySet[Issue]) -> QuerySet[SnapshotComment]:
    """The comments of the newest states of issues."""
    newest = issues.order_by().values("current_snapshot")
    found = SnapshotComment.objects.filter(snapshot__in=newest)
    return found.select_related("comment", "snapshot__issue__repository").defer("snapshot__body").order_by()


def changes_of(issues: QuerySet[Issue]) -> QuerySet[ClosingChange]:
    """What closed issues, or is linked to them."""
    found = ClosingChange.objects.filter(issue__in=issues.order_by().values("pk"))
    return found.select_related("issue__repository").order_by()


def _issues(issues: QuerySet[Issue]) -> Iterator[dict[str, Any]]:
    lengths = issues.values_list("pk", bytes_of("current_snapshot__body"))
    for some in chunks(lengths, ISSUES_AT_ONCE, itemgetter(1)):
        wanted = issues.filter(pk__in=[pk for pk, _ in some])
        yield from map(issue_row, wanted.select_related("repository", "current_snapshot", "activity"))


def _comments(issues: QuerySet[Issue]) -> Iterator[dict[str, Any]]:
    found = places_of(issues).order_by("snapshot_id", "position")
    after = Q()
    while True:
        keys = found.filter(after).values_list("pk", bytes_of("comment__body"), "snapshot", "position")
        chunk = list(keys[:COMMENTS_AT_ONCE])
        for some in chunks(chunk, COMMENTS_AT_ONCE, itemgetter(1)):
            yield from map(comment_row, found.filter(pk__in=[pk for pk, *_ in some]))
        if len(chunk) < COMMENTS_AT_ONCE:
            return
        *_, snapshot, position = chunk[-1]
        after = Q(snapshot=snapshot, position__gt=position) | Q(snapshot__gt=snapshot)


def _changes(issues: QuerySet[Issue]) -> Iterator[dict[str, Any]]:
    for change in changes_of(issues).order_by("issue", "pk"):
        yield change_row(change, change.issue.identifier)
