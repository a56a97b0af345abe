"""Assignments of a rater: waiting, finished, and progress."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, NotRequired, TypedDict

from django.db.models import Count, Exists, IntegerField, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce

from annotation.labels.consensus import PENDING
from annotation.labels.queries.evidence import as_sent, with_evidence
from annotation.models import (
    Annotation,
    Assignment,
    Draft,
    Item,
    Membership,
    Proposal,
    Rating,
    Round,
    RoundItem,
    RoundRater,
)
from annotation.models.assignment_kinds import EXTRA_RATERS_LAST
from ingest.models import Comment, Snapshot
from shared.compiled_queries import CompiledQuery
from taxonomy.tree import VersionTree

ITEM_TO_READ = "item__snapshot__issue__repository"
FULL = (ITEM_TO_READ, "draft")


def waiting_assignment(round_: Round, rater: Membership) -> Assignment | None:
    """The first unfinished assignment in the rater's own order; one probe of a partial index.

    In a pool those with a slot come first (`is_third_of_pool`). It comes with what is read (FULL), the rater's draft
    among it.
    """
    is_by_slot = round_.mode == Round.Mode.POOL and not rater.is_machine
    found = (_first_with_slot if is_by_slot else _first_unfinished).first(round_.pk, rater.pk)
    if found is not None:
        found.round, found.rater = round_, rater
    return found


def is_third_of_pool(round_: Round, assignment: Assignment) -> bool:
    """Whether someone is asked for an item of a pool as a third rater.

    Such items come after everything that the pool has for them. Otherwise whoever sees that they take no slot, by
    numbers or by what is left for others, would learn that answers to an item differ.
    """
    return round_.mode == Round.Mode.POOL and assignment.is_arbiter


def _unfinished(round_id: int, rater: int) -> QuerySet[Assignment]:
    waiting = Assignment.objects.filter(round=round_id, rater=rater, state__in=Assignment.UNFINISHED)
    return waiting.select_related(*FULL).order_by("position")


_first_unfinished = CompiledQuery(lambda round_id, rater: _unfinished(round_id, rater)[:1], int, int)
_first_with_slot = CompiledQuery(
    lambda round_id, rater: _unfinished(round_id, rater).order_by(EXTRA_RATERS_LAST, "position")[:1],
    int,
    int,
)
_next_unfinished = CompiledQuery(
    lambda round_id, rater, position: _unfinished(round_id, rater).filter(position__gt=position)[:1], int, int, int
)


def _items_for(round_id: int, rater: int) -> QuerySet[RoundItem, tuple[int, int]]:
    """How many items a round has, and how many of its training items are not given to a rater."""
    had = Assignment.objects.filter(round=OuterRef("round"), item=OuterRef("item"), rater=rater)
    others = RoundItem.objects.filter(~Exists(had), round=OuterRef("round"), known__isnull=False)
    counted = others.order_by().values("round").annotate(n=Count("pk")).values("n")
    n_others = Coalesce(Subquery(counted, output_field=IntegerField()), 0)
    return RoundItem.objects.filter(round=round_id).order_by("-position").values_list("position", n_others)[:1]


_places = CompiledQuery(_items_for, int, int)


def _with_skipped(round_id: int, rater: int) -> QuerySet[Any]:
    skipped = Assignment.objects.filter(
        round=OuterRef("round"), rater=OuterRef("rater"), state=Assignment.State.SKIPPED
    )
    counted = skipped.order_by().values("round").annotate(n=Count("pk")).values("n")
    n_skipped = Coalesce(Subquery(counted, output_field=IntegerField()), 0)
    return RoundRater.objects.filter(round=round_id, rater=rater).order_by().annotate(n_skipped=n_skipped)


_round_rater = CompiledQuery(_with_skipped, int, int)


def has_part_in(round_: Round, rater: Membership) -> bool:
    """Whether someone rates in a round, as one of its raters or asked as a third one; two queries at most."""
    return (
        RoundRater.objects.filter(round=round_, rater=rater).exists()
        or Assignment.objects.filter(round=round_, rater=rater).exists()
    )


def peek(round_: Round, after: Assignment) -> Assignment | None:
    """What comes after an assignment, without taking it; in a pool a guess that holds no id."""
    found = _next_unfinished.first(round_.pk, after.rater_id, after.position)
    if found is not None:
        found.rater = after.rater
    if round_.mode == Round.Mode.PLANNED or (found is not None and not is_third_of_pool(round_, found)):
        return found
    walked = RoundRater.objects.filter(round=round_, rater=after.rater_id).values_list("walked", flat=True).first()
    had = Assignment.objects.filter(round=round_, item=OuterRef("item"), rater=after.rater_id)
    place = (
        RoundItem.objects.filter(~Exists(had), round=round_, n_free__gt=0, position__gt=walked or 0)
        .select_related(ITEM_TO_READ)
        .order_by("position")
        .first()
    )
    if place is None:
        return found
    return Assignment(round=round_, item=place.item, rater=after.rater, position=after.position + 1)


@dataclass(frozen=True)
class RaterProgress:
    """How far a rater is in a round; in a pool `n_total` is the number of its items, or the rater's share of them.

    Finished is what was submitted or skipped.
    """

    n_finished: int
    n_total: int
    n_skipped: int = 0
    is_share: bool = False

    @property
    def n_labeled(self) -> int:
        return self.n_finished - self.n_skipped

    @property
    def n_left(self) -> int:
        return max(self.n_total - self.n_finished, 0)


def progress(round_: Round, rater: Membership) -> RaterProgress:
    """Two indexed reads at most, whatever the size of the round."""
    row: Any = _round_rater.first(round_.pk, rater.pk)
    if row is None:  # asked as a third rater
        own = own_assignments(round_, rater)
        skipped, finished = Count("pk", filter=Q(state="skipped")), Count("pk", filter=Q(state__in=Assignment.FINISHED))
        n_skipped, n_finished, n_total = own.order_by().aggregate(s=skipped, f=finished, n=Count("pk")).values()
        return RaterProgress(n_finished, n_total, n_skipped)
    if round_.mode == Round.Mode.POOL:
        n_items, n_others = _places.first(round_.pk, rater.pk) or (0, 0)
        last = n_items - n_others
        if row.quota is not None and row.quota < last:
            return RaterProgress(row.n_finished, row.quota, row.n_skipped, is_share=True)
        return RaterProgress(row.n_finished, last, row.n_skipped)
    return RaterProgress(row.n_finished, row.n_assigned, row.n_skipped)


def draft_of(assignment: Assignment) -> dict[str, object] | None:
    """What the rater typed so far, or None; one query, or none where the assignment was read with FULL."""
    if assignment.pk is None:
        return None
    try:
        found: dict[str, object] | None = assignment.draft.body
        return found
    except Draft.DoesNotExist:
        return None


def comments_of(snapshot: Snapshot | None) -> list[Comment]:
    """The comments of a snapshot, in order; one query."""
    return [] if snapshot is None else list(snapshot.thread())


TOLD_IN_THE_LIST = ("confidence", "is_flagged", "n_proposals", "seconds")


def own_assignments(round_: Round | int, rater: Membership | int) -> QuerySet[Assignment]:
    """Everything the rater was given in a round, in their order."""
    return (
        Assignment.objects.filter(round=round_, rater=rater)
        .exclude(state=Assignment.State.WITHDRAWN)
        .select_related("item", "current")
        .only("position", "state", "item__identifier", *(f"current__{name}" for name in TOLD_IN_THE_LIST))
        .order_by("position")
    )


NEAR, AHEAD = 30, 20
"""So many of a rater's items before and after the one at hand come with every issue, and one more if there is one."""
BEHIND = 60
"""So many come at once where someone asks for more of them."""


def nearby_assignments(round_: Round, rater: Membership, place: int | None) -> list[Assignment]:
    """The rater's own assignments near a place in their order (None: the end of it), in order; one bounded read.

    They are the `NEAR` positions before the place and at least `AHEAD` items after it, if there are so many.
    """
    if place is None:
        found = own_assignments(round_, rater)
        return list(found.filter(state__in=Assignment.FINISHED).order_by("-position", "-pk")[:NEAR])[::-1]
    return _near.all(round_.pk, rater.pk, place - NEAR)


def _from(round_id: int, rater: int, after: int) -> QuerySet[Assignment]:
    near = own_assignments(round_id, rater).filter(position__gt=after)
    return near.order_by("position", "pk")[: NEAR + AHEAD + 1]


_near = CompiledQuery(_from, int, int, int)


def later(round_: Round, rater: Membership, place: int) -> list[Assignment]:
    """The rater's assignments after a place in their order, BEHIND of them at most and one more if there is one."""
    found = own_assignments(round_, rater).filter(position__gt=place)
    return list(found.order_by("position", "pk")[: BEHIND + 1])


SHOWN = ("all", "skipped", "flagged", "back")
"""The parts of one's own list: everything finished, what was skipped, flagged, what came back."""
MOST_COUNTED = 99


def earlier_assignments(
    round_: Round, rater: Membership, place: int | None, show: str = "all", back: Sequence[int] = ()
) -> list[Assignment]:
    """The rater's finished assignments that come before a place (None: the end), the nearest BEHIND of them, in order.

    `show` is one of SHOWN; `back` are the ids of those that came back.
    """
    found = _of_kind(own_assignments(round_, rater).filter(state__in=Assignment.FINISHED), show, back)
    if place is not None:
        found = found.filter(position__lt=place)
    return list(found.order_by("-position", "-pk")[:BEHIND])[::-1]


def _of_kind(found: QuerySet[Assignment], show: str, back: Sequence[int]) -> QuerySet[Assignment]:
    match show:
        case "skipped":
            return found.filter(state=Assignment.State.SKIPPED)
        case "flagged":
            return found.filter(current__is_flagged=True)
        case "back":
            return found.filter(pk__in=back)
    return found


@dataclass(frozen=True)
class OwnCounts:
    """How many items a rater skipped, flagged, and got back; counted no further than one above MOST_COUNTED."""

    skipped: int
    flagged: int
    back: int

    @property
    def words(self) -> dict[str, str]:
        """The counts as they are shown; `99+` for more."""
        counts = {"skipped": self.skipped, "flagged": self.flagged, "back": self.back}
        return {name: f"{MOST_COUNTED}+" if n > MOST_COUNTED else str(n) for name, n in counts.items()}


def own_counts(round_: Round, rater: Membership, back: Sequence[int]) -> OwnCounts:
    """Two bounded reads; for a request of its own, as rare ones are looked for in all of the rater's list."""
    found = Assignment.objects.filter(round=round_, rater=rater, state__in=Assignment.FINISHED)
    skipped, flagged = (
        _of_kind(found, show, ()).values("pk")[: MOST_COUNTED + 1].count() for show in ("skipped", "flagged")
    )
    return OwnCounts(skipped, flagged, len(back))


def usual_seconds(assignments: list[Assignment]) -> float | None:
    """What an item usually takes this rater: the median over assignments read with `current`; None for fewer than 3."""
    spent = [each.current.seconds for each in assignments if each.current and each.current.seconds]
    return median(spent) if len(spent) >= 3 else None


def snapshot_to_read(item: Item) -> Snapshot | None:
    """The pinned state of the item's issue with issue and repository; None for an imported identifier.

    One query, or none where the item was read with FULL.
    """
    if item.snapshot_id is None or Item.snapshot.is_cached(item):
        return item.snapshot
    return Snapshot.objects.select_related("issue__repository").get(pk=item.snapshot_id)


class PartLabels(TypedDict):
    """The labels and proposals of a part of an answer by dimension, as in a request."""

    labels: dict[str, Any]
    proposals: dict[str, Any]


class AnsweredPart(PartLabels):
    """A part of an answer with its memo, and with its quotes where there are some."""

    memo: str
    evidence: NotRequired[list[dict[str, object]]]


class CurrentAnswer(TypedDict):
    """A rater's answer in the shape of a draft; one that was not given in parts has its memo in its only part."""

    parts: list[AnsweredPart]
    memo: str
    confidence: int | None
    flag: bool
    skip: str
    revision: int


def answer_of(assignment: Assignment, tree: VersionTree) -> CurrentAnswer | None:
    """The rater's own current answer, or None; three queries at most."""
    annotation = assignment.current
    if annotation is None:
        return None
    ratings = list(with_evidence(Rating.objects.filter(annotation=annotation).order_by("pk")))
    asked = {row.pk: row for row in Proposal.objects.filter(annotation=annotation)} if annotation.n_proposals else {}
    parts = answer_parts(annotation, tree, ratings, asked)
    for part in parts:
        part["proposals"] = {key: {"name": row.name, "memo": row.memo} for key, row in part["proposals"].items()}
    memos = annotation.part_memos or [annotation.memo]
    quotes: dict[int, list[dict[str, object]]] = {}
    for rating in ratings:
        if said := getattr(rating, "quotes", ()):
            dimension = tree.by_id[rating.dimension_id]
            category = dimension.by_id[rating.category_id].key if rating.category_id else ""
            found = as_sent(said, dimension.key, PENDING if rating.proposal_id else category)
            quotes.setdefault(rating.part, []).extend(found)
    answered: list[AnsweredPart] = []
    for number, part in enumerate(parts):
        memo = memos[number] if number < len(memos) else ""
        answered.append({"labels": part["labels"], "proposals": part["proposals"], "memo": memo})
        if number + 1 in quotes:
            answered[-1]["evidence"] = quotes[number + 1]
    return {
        "parts": answered,
        "memo": annotation.memo if annotation.part_memos else "",
        "confidence": annotation.confidence,
        "flag": annotation.is_flagged,
        "skip": annotation.skip_reason,
        "revision": annotation.revision,
    }


def answer_parts(
    annotation: Annotation, tree: VersionTree, ratings: Iterable[Rating], asked: Mapping[int, Proposal]
) -> list[PartLabels]:
    """The labels and proposals of each part of an answer by dimension, as in a request; proposals as their rows.

    `tree` is the version that it was given under, `ratings` are its rows in order, `asked` its proposals by id.
    """
    parts: list[PartLabels] = [{"labels": {}, "proposals": {}} for _ in range(annotation.n_parts)]
    for rating in ratings:
        dimension = tree.by_id[rating.dimension_id]
        labels, proposals = parts[rating.part - 1]["labels"], parts[rating.part - 1]["proposals"]
        if not dimension.has_categories:
            labels[dimension.key] = getattr(rating, dimension.column)
            continue
        keys = labels.setdefault(dimension.key, [])
        if rating.category_id is not None:
            keys.append(dimension.by_id[rating.category_id].key)
        elif rating.proposal_id is not None:
            proposals[dimension.key] = asked[rating.proposal_id]
    return parts
