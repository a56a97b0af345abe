"""What a rater has to do, has done, and how far they are."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from statistics import median
from typing import Any

from django.db.models import QuerySet

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
from ingest.models import Comment, Snapshot
from taxonomy.tree import VersionTree

FULL = ("item__snapshot__issue__repository", "rater")


def waiting_assignment(round_: Round, rater: Membership) -> Assignment | None:
    """The first unfinished assignment in the rater's own order; one probe of a partial index."""
    return (
        Assignment.objects.filter(round=round_, rater=rater, state__in=Assignment.UNFINISHED)
        .select_related(*FULL)
        .order_by("position")
        .first()
    )


def peek(round_: Round, after: Assignment) -> Assignment | None:
    """What comes after an assignment, without taking it; in a pool a guess that holds no id."""
    found = (
        Assignment.objects.filter(
            round=round_, rater=after.rater_id, state__in=Assignment.UNFINISHED, position__gt=after.position
        )
        .select_related(*FULL)
        .order_by("position")
        .first()
    )
    if found or round_.mode == Round.Mode.PLANNED:
        return found
    walked = RoundRater.objects.filter(round=round_, rater=after.rater_id).values_list("walked", flat=True).first()
    place = (
        RoundItem.objects.filter(round=round_, n_free__gt=0, position__gt=walked or 0)
        .select_related("item__snapshot__issue__repository")
        .order_by("position")
        .first()
    )
    if place is None:
        return None
    return Assignment(round=round_, item=place.item, rater=after.rater, position=after.position + 1)


@dataclass(frozen=True)
class Progress:
    """How far a rater is in a round; in a pool `n_total` is the number of its items."""

    n_finished: int
    n_total: int

    @property
    def n_left(self) -> int:
        return max(self.n_total - self.n_finished, 0)


def progress(round_: Round, rater: Membership) -> Progress:
    """Two indexed reads at most, whatever the size of the round."""
    row = RoundRater.objects.filter(round=round_, rater=rater).first()
    if row is None:
        return Progress(0, 0)
    if round_.mode == Round.Mode.POOL:
        last = RoundItem.objects.filter(round=round_).order_by("-position").values_list("position", flat=True).first()
        return Progress(row.n_finished, last or 0)
    return Progress(row.n_finished, row.n_assigned)


def draft_of(assignment: Assignment) -> dict[str, object] | None:
    """What the rater typed so far, or None."""
    if assignment.pk is None:
        return None
    return Draft.objects.filter(assignment=assignment).values_list("body", flat=True).first()


def comments_of(snapshot: Snapshot | None) -> list[Comment]:
    """The comments of a snapshot, in order; one query."""
    return [] if snapshot is None else list(snapshot.thread())


def own_assignments(round_: Round, rater: Membership) -> QuerySet[Assignment]:
    """Everything the rater was given in a round, in their order."""
    return (
        Assignment.objects.filter(round=round_, rater=rater)
        .exclude(state=Assignment.State.WITHDRAWN)
        .select_related("item", "current")
        .order_by("position")
    )


BEHIND, AHEAD = 60, 10


def around(round_: Round, rater: Membership, place: int | None) -> list[Assignment]:
    """The rater's own assignments near a place in their order (None: the end of it), in order; one bounded read."""
    found = own_assignments(round_, rater)
    if place is None:
        return list(found.filter(state__in=Assignment.FINISHED).order_by("-position", "-pk")[:BEHIND])[::-1]
    near = found.filter(position__gt=place - BEHIND, position__lte=place + AHEAD)
    return list(near.order_by("position", "pk")[: 2 * (BEHIND + AHEAD)])


def before(round_: Round, rater: Membership, place: int) -> list[Assignment]:
    """The rater's finished assignments that come before a place, the nearest BEHIND of them, in order."""
    found = own_assignments(round_, rater).filter(position__lt=place, state__in=Assignment.FINISHED)
    return list(found.order_by("-position", "-pk")[:BEHIND])[::-1]


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


def answer_of(assignment: Assignment, tree: VersionTree) -> dict[str, object] | None:
    """The rater's own current answer in the shape of a draft, or None; three queries at most.

    {"parts": [{"labels", "proposals", "memo"}, …], "memo", "confidence", "skip", "revision"}; the memo of an answer
    that was not given in parts is that of its only part.
    """
    annotation = assignment.current
    if annotation is None:
        return None
    ratings = Rating.objects.filter(annotation=annotation).order_by("pk")
    asked = {row.pk: row for row in Proposal.objects.filter(annotation=annotation)} if annotation.n_proposals else {}
    parts = parts_said(annotation, tree, ratings, asked)
    for part in parts:
        part["proposals"] = {key: {"name": row.name, "memo": row.memo} for key, row in part["proposals"].items()}
    memos = annotation.part_memos or [annotation.memo]
    return {
        "parts": [{**part, "memo": memos[number] if number < len(memos) else ""} for number, part in enumerate(parts)],
        "memo": annotation.memo if annotation.part_memos else "",
        "confidence": annotation.confidence,
        "skip": annotation.skip_reason,
        "revision": annotation.revision,
    }


def parts_said(
    annotation: Annotation, tree: VersionTree, ratings: Iterable[Rating], asked: Mapping[int, Proposal]
) -> list[dict[str, dict[str, Any]]]:
    """The labels and proposals of each part of an answer by dimension, as in a request; proposals as their rows.

    `tree` is the version that it was given under, `ratings` are its rows in order, `asked` its proposals by id.
    """
    parts: list[dict[str, dict[str, Any]]] = [{"labels": {}, "proposals": {}} for _ in range(annotation.n_parts)]
    for rating in ratings:
        dimension = tree.by_id[rating.dimension_id]
        labels, proposals = parts[rating.part - 1]["labels"], parts[rating.part - 1]["proposals"]
        if not dimension.has_categories:
            labels[dimension.key] = getattr(rating, dimension.kind)
            continue
        keys = labels.setdefault(dimension.key, [])
        if rating.category_id is not None:
            keys.append(dimension.by_id[rating.category_id].key)
        elif rating.proposal_id is not None:
            proposals[dimension.key] = asked[rating.proposal_id]
    return parts
