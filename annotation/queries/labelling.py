"""What a rater has to do, has done, and how far they are."""

from dataclasses import dataclass

from django.db.models import QuerySet

from annotation.models import Assignment, Draft, Membership, Round, RoundItem, RoundRater
from ingest.models import Comment, Issue

FULL = ("item__issue__repository", "item__issue__current_snapshot", "rater")


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
        .select_related("item__issue__repository", "item__issue__current_snapshot")
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


def comments_of(issue: Issue | None) -> list[Comment]:
    """The comments of an issue's newest snapshot, in order."""
    if issue is None or issue.current_snapshot_id is None:
        return []
    return list(
        Comment.objects.filter(snapshotcomment__snapshot=issue.current_snapshot_id).order_by(
            "snapshotcomment__position"
        )
    )


def own_assignments(round_: Round, rater: Membership) -> QuerySet[Assignment]:
    """Everything the rater was given in a round, in their order."""
    return (
        Assignment.objects.filter(round=round_, rater=rater)
        .exclude(state=Assignment.State.WITHDRAWN)
        .select_related("item", "current")
        .order_by("position")
    )
