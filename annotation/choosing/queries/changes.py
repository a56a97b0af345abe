"""Changed issues: items whose issue changed, moved, or was deleted since it was pinned."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from django.db import connection
from django.db.models import Count, F, Q, QuerySet

from accounts.models import User
from annotation.core.access import Seat
from annotation.core.errors import Forbidden
from annotation.core.issue_states import readable_states, states_of_members
from annotation.labels.queries.item_history import IS_READ_OTHERWISE, countable_answers
from annotation.models import AuditEvent, Item, Study
from ingest.differences import Difference
from ingest.models import FetchRun, Issue, Repository, Snapshot
from ingest.queries import snapshot_difference
from ingest.threads import words_between

COUNTED_MOST = 1_000
ASKED = "GitHub asked"
RUNS_SHOWN = 10
NEWEST_HIDDEN = (
    "{} is an issue of a private repository that you can’t read, so only the pinned snapshot is shown. "
    "Someone who may fetch the repository can pin the newest one."
)


def _moved(one: str, other: str) -> Q:
    return Q(**{f"{one}__lt": F(other)}) | Q(**{f"{one}__gt": F(other)})


def _may_read(seat: Seat) -> Q:
    """The condition that this person may read what is newest of an item's issue: its repository, not only its pin."""
    own = Repository.objects.visible_to(seat.user).values("pk")
    return Q(issue__repository__private=False) | Q(issue__repository__in=own)


def may_read_newest(seat: Seat, item: Item) -> bool:
    """Whether the newest state of an item's issue is for this person: the pinned one is; a query for private ones."""
    issue = item.issue
    if issue is None or issue.current_snapshot_id == item.snapshot_id or not issue.repository.private:
        return True
    return bool(Repository.objects.visible_to(seat.user).filter(pk=issue.repository_id).exists())


def with_new_states(seat: Seat) -> QuerySet[Item]:
    """Items whose issue has a newer state than the pinned one, which this person may read."""
    is_first = Q(snapshot__isnull=True, issue__current_snapshot__isnull=False)
    return Item.objects.filter(
        is_first | _moved("issue__current_snapshot", "snapshot"), _may_read(seat), study=seat.study
    )


def changed_items(seat: Seat) -> QuerySet[Item]:
    """Items with a newer state, those that are not where they were, and those that were answered on another state.

    Answers that are hidden from the person list no item. A join on ids; ordered by nothing, so that a page can follow
    its key.
    """
    study = seat.study
    read_otherwise = countable_answers(seat).filter(IS_READ_OTHERWISE)
    is_first = Q(snapshot__isnull=True, issue__current_snapshot__isnull=False)
    return Item.objects.filter(
        is_first
        | _moved("issue__current_snapshot", "snapshot")
        | ~Q(issue__presence=Issue.Presence.HERE)
        | Q(pk__in=read_otherwise.values("item")),
        _may_read(seat) | Q(snapshot=F("issue__current_snapshot")),
        study=study,
        issue__isnull=False,
    ).order_by()


def n_changed(seat: Seat) -> int:
    """How many items `changed_items` has, up to COUNTED_MOST + 1."""
    return changed_items(seat).values("pk")[: COUNTED_MOST + 1].count()


@dataclass(frozen=True)
class ChangeCounts:
    """How many items changed, and how many of them could be pinned to a newer state, up to COUNTED_MOST + 1."""

    n: int
    n_new_states: int


def counted_changes(seat: Seat) -> tuple[QuerySet[Item], ChangeCounts]:
    """The rows of `changed_items`, counted; three queries with the one that reads them.

    All items of the study are compared once: where few changed, the rows are found again by their ids.
    """
    rows, newer = changed_items(seat), with_new_states(seat).order_by()
    keys = list(rows.values_list("pk", flat=True)[: COUNTED_MOST + 1])
    if len(keys) <= COUNTED_MOST:
        rows, newer = Item.objects.filter(pk__in=keys).order_by(), newer.filter(pk__in=keys)
    return rows, ChangeCounts(len(keys), newer.values("pk")[: COUNTED_MOST + 1].count())


def for_list(rows: QuerySet[Item]) -> QuerySet[Item]:
    """With what `change_lines` needs: both states without their bodies."""
    return rows.select_related("issue__repository", "issue__current_snapshot", "snapshot").defer(
        "issue__current_snapshot__body", "snapshot__body"
    )


@dataclass(frozen=True)
class ItemChangeLine:
    """An item and what became of it. `words` is empty where the pinned state is the newest."""

    item: Item
    words: Sequence[str]
    n_answers: int
    n_answers_on_other_states: int

    @property
    def issue(self) -> Issue:
        assert self.item.issue is not None
        return self.item.issue

    @property
    def has_new_state(self) -> bool:
        return self.issue.current_snapshot_id not in (None, self.item.snapshot_id)

    @property
    def title(self) -> str:
        return self.item.snapshot.title if self.item.snapshot else ""

    @property
    def where(self) -> str:
        """Where it is, in words, if it is not where it was."""
        return "" if self.issue.presence == Issue.Presence.HERE else Issue.Presence(self.issue.presence).label


def change_lines(seat: Seat, items: Sequence[Item]) -> list[ItemChangeLine]:
    """What became of items read by `for_list`; three queries, whatever their number.

    Of rounds and items that are hidden from the person only their own answers are counted.
    """
    wanted = [item.pk for item in items]
    moved = [item for item in items if item.issue and item.snapshot and item.issue.current_snapshot]
    bodies = set(
        Item.objects.filter(pk__in=wanted)
        .exclude(snapshot__body=F("issue__current_snapshot__body"))
        .order_by()
        .values_list("pk", flat=True)
    )
    comments = _changed_comments(moved)
    answers = {
        row["item"]: (row["n"], row["n_otherwise"])
        for row in countable_answers(seat)
        .filter(item__in=wanted)
        .values("item")
        .annotate(n=Count("pk"), n_otherwise=Count("pk", filter=IS_READ_OTHERWISE))
    }
    return [
        ItemChangeLine(item, _words(item, item.pk in bodies, comments[item.pk]), *answers.get(item.pk, (0, 0)))
        for item in items
    ]


def _words(item: Item, body: bool, comments: Counter[str]) -> list[str]:
    old, new = item.snapshot, item.issue.current_snapshot if item.issue else None
    if new is None or old == new:
        return []
    if old is None:
        return ["first stored snapshot"]
    found = words_between(old, new, body=body, comments=comments)
    return found or ["a change that pages do not show"]


CHANGED_COMMENTS = """
SELECT changed.item, comment.github_id, comment.sha256, changed.is_new
FROM (
    SELECT pair.item, thread.comment_id, bool_or(thread.snapshot_id = pair.new) AS is_new
    FROM unnest(%s::bigint[], %s::bigint[], %s::bigint[]) AS pair(item, old, new)
    JOIN ingest_snapshotcomment AS thread ON thread.snapshot_id IN (pair.old, pair.new)
    WHERE pair.old <> pair.new
    GROUP BY pair.item, thread.comment_id
    HAVING bool_and(thread.snapshot_id = pair.new) = bool_or(thread.snapshot_id = pair.new)
) AS changed JOIN ingest_comment AS comment ON comment.id = changed.comment_id
"""


def _changed_comments(items: Sequence[Item]) -> dict[int, Counter[str]]:
    """Item → how many comments were added, edited, removed: only the comments that differ are read; one query."""
    pairs = [(item.pk, item.snapshot_id, item.issue.current_snapshot_id) for item in items if item.issue]
    with connection.cursor() as cursor:
        cursor.execute(CHANGED_COMMENTS, [list(column) for column in zip(*pairs, strict=True)] or [[], [], []])
        rows = cursor.fetchall()
    sides: dict[int, dict[object, set[bool]]] = defaultdict(lambda: defaultdict(set))
    for item, github_id, sha256, is_new in rows:
        sides[item][github_id or sha256].add(is_new)
    found: dict[int, Counter[str]] = defaultdict(Counter)
    for item, marks in sides.items():
        found[item] = Counter(
            "edited" if len(side) == 2 else "added" if True in side else "removed" for side in marks.values()
        )
    return found


@dataclass(frozen=True)
class StateRead:
    """A state of an issue that matters to an item, with the answers that stand on it."""

    snapshot: Snapshot
    n_answers: int
    is_pinned: bool
    is_current: bool


@dataclass(frozen=True)
class ItemChange:
    """What is on an item's page of changes: two states, what differs, and the states that were read."""

    line: ItemChangeLine
    old: Snapshot | None
    new: Snapshot | None
    difference: Difference | None
    states: Sequence[StateRead] = field(default=())


def item_change(seat: Seat, item: Item, since: str = "") -> ItemChange:
    """What differs between the pinned (or the state whose SHA-256 begins with `since`) and the newest state.

    Where the pinned one is the newest, it is compared with the newest other state that someone answered on. Answers
    that are hidden from the person bring in no state, nor do states that were never pinned and that they may not read
    otherwise. Ten queries at most, beside those of the seat. Raises Forbidden
    where the newest state is hidden.
    """
    assert item.issue is not None
    if not may_read_newest(seat, item):
        raise Forbidden(NEWEST_HIDDEN.format(item.identifier))
    (line,) = change_lines(seat, [item])
    answered = Counter(
        {
            row["current__snapshot"]: row["n"]
            for row in countable_answers(seat)
            .filter(item=item, current__snapshot__isnull=False)
            .values("current__snapshot")
            .annotate(n=Count("pk"))
        }
    )
    wanted = {pk for pk in (*answered, item.snapshot_id, item.issue.current_snapshot_id) if pk is not None}
    shown = Q(pk__in=states_of_members(item).values("pk")) | Q(pk__in=readable_states(seat).values("pk"))
    snapshots = {each.pk: each for each in Snapshot.objects.filter(shown, pk__in=wanted)}
    current = snapshots.get(item.issue.current_snapshot_id or 0)
    others = sorted((pk for pk in snapshots if current and pk != current.pk), reverse=True)
    chosen = [pk for pk in others if since and since in (snapshots[pk].key, snapshots[pk].sha256[: len(since)])]
    pinned = [pk for pk in others if pk == item.snapshot_id]
    old = next((snapshots[pk] for pk in [*chosen, *pinned, *others]), None)
    states = [
        StateRead(snapshots[pk], answered[pk], pk == item.snapshot_id, current is not None and pk == current.pk)
        for pk in sorted(snapshots, reverse=True)
    ]
    difference = snapshot_difference(old, current) if old and current else None
    return ItemChange(line, old, current, difference, states)


def runs_of(study: Study, user: User) -> list[FetchRun]:
    """The runs that the study's last questions to GitHub started and that this person may see; two queries."""
    asked = AuditEvent.objects.filter(study=study, verb=ASKED).order_by("-pk").values_list("detail", flat=True)
    wanted = [pk for detail in asked[:RUNS_SHOWN] for pk in detail.get("fetches", [])][:RUNS_SHOWN]
    found: QuerySet[FetchRun] = FetchRun.objects.visible_to(user).filter(pk__in=wanted)
    return list(found.select_related("repository").order_by("-pk"))
