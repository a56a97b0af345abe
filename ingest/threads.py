"""Threads: the comments of a snapshot in parts, and the changes from snapshot to snapshot."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from django.contrib.postgres.aggregates import ArrayAgg
from django.db.models import QuerySet
from django.db.models.functions import MD5

from ingest.differences import change_words, metadata_differences, state_words
from ingest.models import Comment, Issue, Snapshot, SnapshotComment, Viewer
from shared.compiled_queries import CompiledQuery

PART_COMMENTS = 50
SNAPSHOTS_SHOWN = 30


@dataclass(frozen=True)
class ThreadPart:
    """Some comments that follow each other. `after`: how many stand before them; `n_all`: of the whole thread."""

    comments: Sequence[Comment] = ()
    after: int = 0
    n_all: int = 0

    @property
    def until(self) -> int:
        return self.after + len(self.comments)

    @property
    def n_next(self) -> int:
        """How many the next part has."""
        return min(PART_COMMENTS, self.n_all - self.until)

    @property
    def before(self) -> int | None:
        """After how many the part before begins; None at the beginning."""
        return max(0, self.after - PART_COMMENTS) if self.after else None

    @property
    def last(self) -> int:
        """After how many the last part begins."""
        return max(0, self.n_all - PART_COMMENTS)


def thread_part(snapshot: Snapshot, after: int = 0) -> ThreadPart:
    """At most PART_COMMENTS comments from place `after` + 1; two queries at most, whatever the length."""
    if not snapshot.comments_known:
        return ThreadPart()
    places = SnapshotComment.objects.filter(snapshot=snapshot)
    n_all = places.order_by("-position").values_list("position", flat=True).first() or 0
    if not n_all:
        return ThreadPart()
    after = min(after, n_all - 1)
    rows = places.filter(position__gt=after).order_by("position").select_related("comment")[:PART_COMMENTS]
    return ThreadPart([row.comment for row in rows], after, n_all)


def first_part(snapshot: Snapshot) -> tuple[Sequence[Comment], ThreadPart | None]:
    """The comments that a thread begins with, and them as a part where it has more; one query, two for a long one."""
    comments = _first_comments.all(snapshot.pk)
    if len(comments) <= PART_COMMENTS:
        return comments, None
    part = ThreadPart(comments[:PART_COMMENTS], 0, SnapshotComment.objects.filter(snapshot=snapshot).count())
    return part.comments, part


def _thread(snapshot: int) -> QuerySet[Comment]:
    return Comment.objects.filter(snapshotcomment__snapshot=snapshot).order_by("snapshotcomment__position")


_first_comments = CompiledQuery(lambda snapshot: _thread(snapshot)[: PART_COMMENTS + 1], int)


@dataclass(frozen=True)
class SnapshotChange:
    """A snapshot and what became of the one before; no words for the first, and where none is shown before it."""

    snapshot: Snapshot
    earlier: Snapshot | None = None
    words: Sequence[str] = field(default_factory=list)


def snapshot_lines(user: Viewer, issue: Issue, *, before: int | None = None) -> tuple[list[SnapshotChange], bool]:
    """Snapshots that the user may read, newest first, and whether there are older ones; two queries.

    SNAPSHOTS_SHOWN at most. `before` is a snapshot's key: only older ones. No body leaves the database.
    """
    found: QuerySet[Snapshot] = issue.snapshots.visible_to(user).annotate(of_body=MD5("body")).select_related("run")
    found = found.defer("body", "run__cursor", "run__requested", "run__error")
    if before is not None:
        found = found.filter(pk__lt=before)
    rows = list(found.order_by("-pk")[: SNAPSHOTS_SHOWN + 1])
    threads = _threads(rows) if len(rows) > 1 else {}
    lines = [
        SnapshotChange(row, earlier, _words(earlier, row, threads) if earlier else [])
        for row, earlier in zip(rows, [*rows[1:], None], strict=True)
    ]
    return lines[:SNAPSHOTS_SHOWN], len(rows) > SNAPSHOTS_SHOWN


Thread = dict[tuple[str, int], int]


def _threads(snapshots: Sequence[Snapshot]) -> dict[int, Thread]:
    """Of each snapshot its comments: what each is known by, and its key."""
    rows = SnapshotComment.objects.filter(snapshot__in=[row.pk for row in snapshots if row.comments_known])
    grouped = rows.order_by().values("snapshot_id")
    grouped = grouped.annotate(keys=ArrayAgg("comment_id"), marks=ArrayAgg("comment__github_id"))
    return {
        row["snapshot_id"]: {
            ("key", key) if mark is None else ("mark", mark): key
            for key, mark in zip(row["keys"], row["marks"], strict=True)
        }
        for row in grouped
    }


def _words(old: Snapshot, new: Snapshot, threads: dict[int, Thread]) -> list[str]:
    comments: Counter[str] = Counter()
    if old.comments_known and new.comments_known:
        earlier, later = threads.get(old.pk, {}), threads.get(new.pk, {})
        comments["added"] = sum(known_by not in earlier for known_by in later)
        comments["removed"] = sum(known_by not in later for known_by in earlier)
        comments["edited"] = sum(earlier.get(known_by, key) != key for known_by, key in later.items())
    body = old.of_body != new.of_body  # type: ignore[attr-defined]  # annotated
    return words_between(old, new, body=body, comments=comments)


def words_between(old: Snapshot, new: Snapshot, *, body: bool, comments: Counter[str]) -> list[str]:
    """What changed from one snapshot to another, in words; no query.

    `body` says whether the body did, `comments` how many were added, edited and removed; they count only where both
    snapshots know their comments or neither does.
    """
    before, after = state_words(old.state, old.state_reason), state_words(new.state, new.state_reason)
    became = ""
    if old.comments_known != new.comments_known:
        became, comments = "known" if new.comments_known else "unknown", Counter()
    return change_words(
        title=old.title != new.title,
        body=body,
        state=after if before != after else None,
        n_labels=len(set(old.github_labels) ^ set(new.github_labels)),
        author=old.author_login != new.author_login,
        n_added=comments["added"],
        n_edited=comments["edited"],
        n_removed=comments["removed"],
        comments_became=became,
        metadata=[each.name for each in metadata_differences(old, new)],
    )
