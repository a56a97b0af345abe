"""Snapshots that a person may read in a study, pin, or label, and the newest of them."""

from datetime import datetime
from typing import Any

from django.db.models import BigIntegerField, Case, F, Func, IntegerField, OuterRef, Q, QuerySet, Subquery, Value, When

from annotation.core.access import Seat
from annotation.models import EarlierPin, Item, Sample
from ingest.models import Repository, Snapshot


def readable_states(seat: Seat) -> QuerySet[Snapshot]:
    """The states of issues that this person may read here: those that are visible to them, and those that they drew.

    The frames of their samples of this study hold what they could read then, and nothing that came later.
    """
    visible: QuerySet[Snapshot] = Snapshot.objects.visible_to(seat.user)
    return visible if seat.user.is_staff else visible | _drawn(seat)


def takeable_states(seat: Seat) -> QuerySet[Snapshot]:
    """The states that this person may pin here, or take along into a study of theirs.

    They are those of repositories that they may see, and those that they drew. What they read only because a study pins
    it is not theirs to pass on.
    """
    takeable: QuerySet[Snapshot] = Snapshot.objects.takeable_by(seat.user)
    return takeable if seat.user.is_staff else takeable | _drawn(seat)


def _drawn(seat: Seat) -> QuerySet[Snapshot]:
    return _framed(Sample.objects.filter(study=seat.study, created_by=seat.user))


def _framed(samples: QuerySet[Sample]) -> QuerySet[Snapshot]:
    """The states of the frames of some samples."""
    states = samples.order_by().values_list(Func(F("frame"), function="unnest", output_field=BigIntegerField()))
    return Snapshot.objects.filter(pk__in=states)


def may_read_frame(seat: Seat, sample: Sample) -> bool:
    """Whether this person may read every state of a sample's frame; one query, two where it has private issues."""
    others = _framed(Sample.objects.filter(pk=sample.pk)).filter(issue__repository__private=True)
    own = Repository.objects.visible_to(seat.user).values("pk")
    hidden = list(others.exclude(issue__repository__in=own).values_list("pk", flat=True))
    return not hidden or readable_states(seat).filter(pk__in=hidden).count() == len(hidden)


def reads_all_frames(seat: Seat) -> bool:
    """The same of all samples of the study, at once; one query for a seat."""
    if (known := seat.found.get(reads_all_frames.__name__)) is not None:
        return known
    others = _framed(Sample.objects.filter(study=seat.study).exclude(created_by=seat.user))
    own = Repository.objects.visible_to(seat.user).values("pk")
    hidden = others.filter(issue__repository__private=True).exclude(issue__repository__in=own)
    seat.found[reads_all_frames.__name__] = known = not hidden.exclude(pk__in=readable_states(seat)).exists()
    return known


def states_of_members(item: Item, since: datetime | None = None) -> QuerySet[Snapshot]:
    """The states of an item's issue that every member may read: those of public repositories, and what was pinned.

    With `since` only what is pinned, or was at that time or later. A hash alone leads to no other state: an
    answer on it would put it before everybody in the study.
    """
    earlier = EarlierPin.objects.filter(item=item)
    if since is not None:
        earlier = earlier.filter(until__gte=since)
    pinned = Q(pk=item.snapshot_id) | Q(pk__in=earlier.order_by().values("snapshot"))
    return Snapshot.objects.filter(pinned | Q(issue__repository__private=False), issue=item.issue_id)


def newest_readable(seat: Seat, issue: str = "pk", column: str = "pk") -> Subquery:
    """A column of the newest state that this person may read of an issue (`OuterRef(issue)`); null where there is none.

    The newest is the current one, or else the one that was stored last.
    """
    return _newest(readable_states(seat), issue, column)


def newest_takeable(seat: Seat) -> Subquery:
    """The newest state of an issue (`OuterRef("pk")`) that this person may pin; null where there is none."""
    return _newest(takeable_states(seat), "pk", "pk")


def _newest(states: QuerySet[Snapshot], issue: str, column: str) -> Subquery:
    is_current = Case(
        When(issue__current_snapshot=F("pk"), then=Value(1)), default=Value(0), output_field=IntegerField()
    )
    rows: Any = states.filter(issue=OuterRef(issue)).order_by(is_current.desc(), "-pk")
    return Subquery(rows.values(column)[:1])
