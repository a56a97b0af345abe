"""Resolution queue of a round, item by item, with what is needed to resolve each."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
from django.db.models import Count, F, OuterRef, Q, Subquery
from django.utils import timezone

from annotation.core.access import Seat
from annotation.core.issue_states import states_of_members
from annotation.core.member_lists import code_order
from annotation.labels.consensus import Decision, Values, Verdict
from annotation.labels.queries.batches.batch_consensus import BatchConsensus
from annotation.labels.queries.batches.chunks import stretches as chunks_of
from annotation.labels.queries.changed_items import LONGEST_TRANSACTION, cache_key, decided_or_answered_since
from annotation.labels.queries.evidence import QuoteLine, evidence_lines
from annotation.labels.queries.part_matches import matches_of
from annotation.labels.queries.resolution_facts import meetings_of, ways, with_facts
from annotation.labels.queries.verdicts import (
    ItemVerdicts,
    decision_of,
    disputed_items,
    resolution_values,
    round_verdicts,
)
from annotation.labels.queries.version_mapping import VersionMapping
from annotation.models import Annotation, Assignment, Item, Meeting, Resolution, Round, RoundItem
from annotation.models.assignment_kinds import OPENING_RATERS, RATERS, THIRD_RATERS
from ingest.models import Comment, Snapshot
from shared import cached_values
from shared.wording import plural
from taxonomy.queries import published_version
from taxonomy.tree import TreeDimension, VersionTree

KEPT_SECONDS = 3600
MANY = 20
"""With so many changes the queue is kept anew."""


def short_name(identifier: str) -> str:
    """An identifier without the owner, for a narrow list."""
    return identifier.rpartition("/")[2] or identifier


class Disagreement(NamedTuple):
    """One part and dimension of an item on which its raters differ; `clashes` says between what."""

    part: int
    dimension: str
    state: str
    reason: str
    clashes: tuple[str, ...]

    @property
    def is_open(self) -> bool:
        return self.state == "open"

    @property
    def is_unanswered(self) -> bool:
        """The question arose from a resolution, and nobody labeled it: nobody disagrees either."""
        return NOBODY in self.clashes


class QueueLine(NamedTuple):
    """An item with the places on which its raters differ; without any: all of them skipped it."""

    item: int
    position: int
    identifier: str
    places: tuple[Disagreement, ...]

    @property
    def n_open(self) -> int:
        return sum(place.is_open for place in self.places)

    @property
    def short_name(self) -> str:
        """The identifier without the owner, for a narrow list."""
        return short_name(self.identifier)


@dataclass(frozen=True)
class QueueFilter:
    """Which places are looked at; empty: all."""

    dimension: str = ""
    clash: str = ""

    def holds(self, place: Disagreement) -> bool:
        return self.dimension in ("", place.dimension) and (not self.clash or self.clash in place.clashes)

    def __bool__(self) -> bool:
        return bool(self.dimension or self.clash)


@dataclass(frozen=True)
class Queue:
    """The items of a round on which raters differ; `everything` is in the round's order."""

    round: Round
    everything: Sequence[QueueLine] = field(repr=False)
    hidden: Collection[int] = ()

    def without(self, hidden: Collection[int]) -> "Queue":
        """The same without items that must not be seen yet."""
        if not hidden:
            return self
        return Queue(self.round, [line for line in self.everything if line.item not in hidden], hidden)

    @cached_property
    def lines(self) -> list[QueueLine]:
        """Those with a place, the most confused pair first; within a pair, and where none is, in the round's order.

        Decided places count, too, so that the order stays while one goes through it.
        """
        differing = [line for line in self.everything if line.places]
        pairs = {
            line.item: [(each.dimension, clash) for each in line.places for clash in each.clashes] for line in differing
        }
        counted = Counter(pair for each in pairs.values() for pair in each)
        most = {item: max(each, key=counted.__getitem__) for item, each in pairs.items()}
        first: dict[tuple[str, str], int] = {}
        for line in differing:
            first.setdefault(most[line.item], line.position)
        return sorted(
            differing,
            key=lambda line: (-counted[most[line.item]], first[most[line.item]], line.position),
        )

    @cached_property
    def _order(self) -> dict[int, int]:
        return {line.item: place for place, line in enumerate(self.lines)}

    @cached_property
    def n_skipped(self) -> int:
        """Items that all raters skipped."""
        return len(self.everything) - len(self.lines)

    @cached_property
    def n_open(self) -> int:
        return sum(line.n_open for line in self.lines)

    @cached_property
    def n_open_items(self) -> int:
        return sum(line.n_open > 0 for line in self.lines)

    @cached_property
    def open_words(self) -> str:
        """What waits for a decision, in words: disagreements, and questions that nobody answered."""
        found = [plural(self.n_unresolved, "disagreement")] if self.n_unresolved else []
        return " and ".join(
            [*found, *([plural(self.n_unanswered, "unanswered question")] if self.n_unanswered else [])]
        )

    @cached_property
    def n_places(self) -> int:
        return sum(len(line.places) for line in self.lines)

    @cached_property
    def n_disagreements(self) -> int:
        return sum(not place.is_unanswered for place in self._places("all"))

    @cached_property
    def n_unresolved(self) -> int:
        """Disagreements that are open."""
        return self.n_open - self.n_unanswered

    @cached_property
    def n_unanswered(self) -> int:
        """Open questions that nobody answered."""
        return sum(place.is_unanswered for place in self._places("open"))

    @property
    def n_resolved(self) -> int:
        return self.n_disagreements - self.n_unresolved

    @property
    def n_unanimous(self) -> int:
        """Items on which all of two raters or more agree, so that nobody had to resolve anything."""
        return self._n_settled[0]

    @property
    def n_single(self) -> int:
        """Items that one rater alone labeled, so that nobody could disagree."""
        return self._n_settled[1]

    @cached_property
    def _n_settled(self) -> tuple[int, int]:
        """Items that are done and not in the queue: those of several raters, and those of one; one query."""
        planned = RoundItem.objects.counting().filter(round=OuterRef("round"), item=OuterRef("item")).values("n_raters")
        done = (
            Assignment.objects.filter(RATERS, round=self.round, state__in=Assignment.FINISHED)
            .exclude(item__in=[*self.hidden, *(line.item for line in self.everything)])
            .order_by()
            .values("item")
            .annotate(n=Count("pk"), n_planned=Subquery(planned))
            .filter(n_planned__isnull=False)
        )
        if self.round.state == Round.State.OPEN:
            done = done.filter(n__gte=F("n_planned"))
        found = done.aggregate(n_all=Count("item"), n_single=Count("item", filter=Q(n=1)))
        return found["n_all"] - found["n_single"], found["n_single"]

    def selected(self, narrowed: QueueFilter, state: str = "all") -> list[QueueLine]:
        """The lines with a place that fits; `state` is open, resolved or all."""
        return [
            line
            for line in self.lines
            if any(narrowed.holds(place) and state in ("all", place.state) for place in line.places)
        ]

    def by_dimension(self, state: str = "open") -> Counter[str]:
        return Counter(place.dimension for place in self._places(state))

    def by_clash(self, narrowed: QueueFilter, state: str = "open") -> Counter[tuple[str, str]]:
        """How often each pair of values, or each other reason, stands in each dimension."""
        return Counter(
            (place.dimension, clash)
            for place in self._places(state)
            if narrowed.dimension in ("", place.dimension)
            for clash in place.clashes
        )

    def _places(self, state: str) -> Iterator[Disagreement]:
        return (place for line in self.lines for place in line.places if state in ("all", place.state))

    def around(self, item: int, narrowed: QueueFilter) -> tuple[list[QueueLine], list[QueueLine]]:
        """The lines that fit before an item and from it on; an item that is not in the queue stands before all."""
        lines, place = self.selected(narrowed), self._order.get(item, -1)
        return (
            [line for line in lines if self._order[line.item] < place],
            [line for line in lines if self._order[line.item] >= place],
        )

    def next_open(self, item: int | None, narrowed: QueueFilter) -> QueueLine | None:
        """The first line behind an item with an open place that fits, else the first of all."""
        waiting = self.selected(narrowed, "open")
        place = self._order.get(item, -1) if item else -1
        behind = (line for line in waiting if self._order[line.item] > place)
        return next(behind, waiting[0] if waiting else None)


def queue_of(round_: Round) -> Queue:
    """The queue of a round, from the cache, with the items that changed since read anew.

    Reads all disputed items once, in chunks of ITEMS with eight queries each; after that three queries and the changed
    items. In an open round an item comes into it with its last answer.
    """
    name = cache_key(round_, round_.state)
    started = timezone.now()
    kept = cached_values.find(name, (QueueLine, Disagreement))
    if kept is None:
        lines = {line.item: line for line in _every_line(round_)}
        cached_values.keep(name, (started, lines), KEPT_SECONDS, (QueueLine, Disagreement))
        return Queue(round_, list(lines.values()))
    since, lines = kept
    if changed := decided_or_answered_since(round_, since - LONGEST_TRANSACTION):
        lines = {item: line for item, line in lines.items() if item not in changed}
        lines |= {line.item: line for line in lines_of(round_, round_verdicts(round_, items=changed))}
    if len(changed) > MANY:
        cached_values.keep(name, (started, lines), KEPT_SECONDS, (QueueLine, Disagreement))
    return Queue(round_, sorted(lines.values(), key=lambda line: line.position))


def _every_line(round_: Round) -> Iterator[QueueLine]:
    """The lines of all disputed items, judged once for each different set of answers."""
    if round_.kind == Round.Kind.RELABEL:  # its items are judged one by one
        yield from lines_of(round_, round_verdicts(round_))
        return
    found = _DisagreementSets(published_version(round_.taxonomy_version_id))
    judge = BatchConsensus(round_, VersionMapping(round_.taxonomy_version), found)
    disputed = list(disputed_items(round_).values_list("item", flat=True))
    for chunk in chunks_of(round_, among=disputed):
        judged = judge.judged(chunk)
        is_answered = np.array(found.n_verdicts)[judged.which].any(axis=0)
        rows, _, at = judged.cells(found.starts, found.sizes)
        places: dict[int, list[Disagreement]] = {}
        for row, place in zip(rows.tolist(), at.tolist(), strict=True):
            places.setdefault(row, []).append(found.places[place])
        shown = sorted({*places, *np.flatnonzero(judged.is_complete & ~is_answered).tolist()})
        items, positions = chunk.items.tolist(), chunk.places["position"].tolist()
        names = chunk.names["identifier"].to_pylist()
        for row in shown:
            here = sorted(places.get(row, ()), key=lambda place: (place.part, found.order[place.dimension]))
            yield QueueLine(items[row], positions[row], names[row], tuple(here))


class _DisagreementSets:
    """The disagreements that sets of answers come to, where those of each begin, and how many verdicts it has."""

    def __init__(self, tree: VersionTree) -> None:
        self.tree = tree
        self.order = {dimension.key: place for place, dimension in enumerate(tree.dimensions)}
        self.forget()

    def forget(self) -> None:
        self.places: list[Disagreement] = []
        self.starts, self.sizes, self.n_verdicts = [0], [0], [0]

    def add(self, key: str | None, each: ItemVerdicts) -> int:
        about = [verdict for verdict in each.verdicts if key in (None, verdict.dimension)]
        found = _disagreements(self.tree, about)
        self.starts.append(len(self.places))
        self.sizes.append(len(found))
        self.n_verdicts.append(len(about))
        self.places += found
        return len(self.starts) - 1


def _disagreements(tree: VersionTree, standing: Iterable[Verdict]) -> list[Disagreement]:
    return [
        Disagreement(verdict.part, verdict.dimension, verdict.state, verdict.reason, clashes(tree, verdict))
        for verdict in standing
        if verdict.reason is not None
    ]


def lines_of(round_: Round, standing: Iterable[ItemVerdicts]) -> Iterator[QueueLine]:
    """The lines of items whose verdicts are read."""
    tree = published_version(round_.taxonomy_version_id)
    answered: set[int] = set()
    if round_.kind == Round.Kind.RELABEL:  # Its verdicts may all be those of the rounds before.
        done = Assignment.objects.filter(round=round_, state=Assignment.State.SUBMITTED)
        answered = set(done.order_by().values_list("item_id", flat=True))
    for each in standing:
        places = tuple(_disagreements(tree, each.verdicts))
        is_answered = each.round_item.item_id in answered or any(verdict.origin is None for verdict in each.verdicts)
        skipped_by_all = each.is_complete and not is_answered
        if places or skipped_by_all:
            yield QueueLine(each.round_item.item_id, each.round_item.position, each.identifier, places)


def clashes(tree: VersionTree, verdict: Verdict) -> tuple[str, ...]:
    """The pairs of values that stand against each other (`crash~hang`), or the reason alone."""
    dimension = tree.by_key[verdict.dimension]
    if verdict.reason == "one_sided" and all(rating.values is None for rating in verdict.ratings):
        return (NOBODY,)
    if verdict.reason != "differ" or dimension.is_open:
        return (verdict.reason or "",)
    before = verdict.replaces.values if verdict.replaces else None
    given = [rating.values for rating in verdict.ratings]
    return clash_names(dimension, [values for values in (*given, before) if values is not None])


def clash_names(dimension: TreeDimension, given: Iterable[Values]) -> tuple[str, ...]:
    """Every pair of different answers, as `crash~hang`."""
    distinct = {_clash_name(values): values for values in given}
    names = [name for name, _ in sorted(distinct.items(), key=lambda each: _rank(dimension, each))]
    return tuple(f"{one}~{other}" for place, one in enumerate(names) for other in names[place + 1 :])


def _clash_name(values: Values) -> str:
    if values and isinstance(values[0], bool):
        return "yes" if values[0] else "no"
    return "+".join(sorted(map(str, values)))


def _rank(dimension: TreeDimension, each: tuple[str, Values]) -> tuple[list[int], str]:
    name, values = each
    if name in ("yes", "no"):
        return [name == "no"], name
    return [dimension.by_key[str(value)].position for value in values if str(value) in dimension.by_key], name


NOBODY = "nobody"
"""In place of a clash: the question arises from a resolution, and nobody labeled it."""
REASONS = {
    NOBODY: "Nobody labeled it",
    "differ": "Values differ",
    "parts": "Different numbers of parts",
    "one_sided": "Not every rater labeled it",
    "skipped": "A rater skipped it",
    "pending": "A category was proposed",
}


def clash_words(dimension: TreeDimension, clash: str) -> str:
    """`Crash ↔ Hang` of crash~hang; the reason in words for any other."""
    if "~" not in clash:
        return REASONS.get(clash, clash)
    return " ↔ ".join(_side_words(dimension, side) for side in clash.split("~"))


def differing_words(dimension: TreeDimension, clashes: Sequence[str]) -> str:
    """`Crash ↔ Hang ↔ Slow` of all pairs of a place; the reason in words where there is none."""
    if not all("~" in clash for clash in clashes):
        return "; ".join(clash_words(dimension, clash) for clash in clashes)
    sides = dict.fromkeys(side for clash in clashes for side in clash.split("~"))
    return " ↔ ".join(_side_words(dimension, side) for side in sides)


def _side_words(dimension: TreeDimension, side: str) -> str:
    if not side:
        return "none"
    if not dimension.has_categories:
        return side.capitalize()
    return " + ".join(dimension.by_key[key].name if key in dimension.by_key else key for key in side.split("+"))


def titles(items: Sequence[int]) -> dict[int, str]:
    """Item id → title of its issue, for those that have one; one query."""
    rows = Item.objects.filter(pk__in=items, snapshot__isnull=False)
    return dict(rows.values_list("pk", "snapshot__title"))


@dataclass(frozen=True)
class RaterContext:
    """What stands around a rater's answer to an item."""

    code: str
    confidence: int | None
    n_parts: int
    is_arbiter: bool
    snapshot: int | None
    parts: frozenset[int]
    quotes: Mapping[tuple[int, str], Sequence[QuoteLine]]


def voices(round_: Round, item: Item) -> dict[str, RaterContext]:
    """By code the raters of an item who are done, with what they quoted; three queries, or four."""
    assignments = list(
        Assignment.objects.filter(round=round_, item=item, state__in=Assignment.FINISHED, current__isnull=False)
        .select_related("rater", "current")
        .order_by("pk")
    )
    tree = published_version(round_.taxonomy_version_id)
    given = [each.current_id for each in assignments if each.current_id]
    moved, quoted = matches_of(given), evidence_lines(given, tree)
    found: dict[str, RaterContext] = {}
    for each in sorted(assignments, key=lambda each: code_order(each.rater.code)):
        current = each.current
        assert current is not None
        found[each.rater.code or ""] = RaterContext(
            code=each.rater.code or "",
            confidence=current.confidence,
            n_parts=0 if current.skip_reason else current.n_parts,
            is_arbiter=each.is_arbiter,
            snapshot=current.snapshot_id,
            parts=_parts_of(current, moved.get(current.pk, {})),
            quotes=quoted.get(current.pk, {}),
        )
    return found


def _parts_of(current: Annotation, moved: Mapping[int, int]) -> frozenset[int]:
    """The numbers of the agreed bugs that an answer holds."""
    if current.skip_reason:
        return frozenset()
    return frozenset(moved.get(part, part) for part in range(1, current.n_parts + 1))


def history(round_: Round, item: Item) -> tuple[dict[tuple[int, str], list[Decision]], dict[int, Meeting]]:
    """All decisions on an item by part and dimension, newest first, and by their ids the meetings stated for them.

    Each has the method as it is reported. Three queries, and those of `ways`.
    """
    tree = published_version(round_.taxonomy_version_id)
    rows = list(
        with_facts(Resolution.objects.filter(round=round_, item=item))
        .select_related("decided_by")
        .order_by("part", "dimension", "-revision")
    )
    values, told = resolution_values(tree, rows), ways(rows)
    found: dict[tuple[int, str], list[Decision]] = {}
    for row in rows:
        place = row.part, tree.by_id[row.dimension_id].key
        found.setdefault(place, []).append(decision_of(row, values, told[row.pk]))
    return found, meetings_of(rows)


def what_was_read(item: Item, heard: Mapping[str, RaterContext]) -> tuple[Snapshot | None, list[Comment]]:
    """The pinned state if a rater read that, else the newest that one read, with its comments; three queries at most.

    States that were never pinned are not for everybody who resolves.
    """
    if item.issue_id is None:
        return None, []
    read = {voice.snapshot for voice in heard.values() if voice.snapshot is not None}
    if read - {item.snapshot_id}:
        read = set(states_of_members(item).filter(pk__in=read).values_list("pk", flat=True))
    shown = item.snapshot_id if item.snapshot_id in read or not read else max(read)
    if shown is None:
        return None, []
    snapshot = Snapshot.objects.get(pk=shown)
    return snapshot, list(snapshot.thread())


def waiting_third_raters(round_: Round, item: Item) -> list[str]:
    """Codes of those who were asked as third raters for an item and have not answered; one query."""
    rows = Assignment.objects.filter(THIRD_RATERS, round=round_, item=item, state__in=Assignment.UNFINISHED)
    return [code or "" for code in rows.order_by("pk").values_list("rater__code", flat=True)]


def unfinished_by_rater(round_: Round) -> list[tuple[str, int]]:
    """How many answers of an open round each rater still owes; counts alone, without those of third raters.

    That someone is asked as one tells that others differ, also an owner who is blind for the item.
    """
    rows = (
        Assignment.objects.filter(OPENING_RATERS, round=round_, state__in=Assignment.UNFINISHED)
        .order_by()
        .values("rater__code")
        .annotate(n=Count("pk"))
    )
    counted = [(row["rater__code"] or "", row["n"]) for row in rows]
    return sorted(counted, key=lambda each: code_order(each[0]))


@dataclass(frozen=True)
class DisagreementCounts:
    """How many decisions wait in a round."""

    n: int
    words: str

    def __str__(self) -> str:
        return self.words or "0 disagreements"


def open_disagreements(seat: Seat, round_: Round) -> DisagreementCounts:
    """Counts what waits for a decision, without items that this person still has to answer as a third rater.

    As dear as the queue of the round, which is kept while it is being resolved.
    """
    queue = queue_of(round_).without(seat.withheld_in(round_))
    return DisagreementCounts(queue.n_open, queue.open_words)
