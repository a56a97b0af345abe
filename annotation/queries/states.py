"""Which states of issues a person may read in a study, and which of them is the newest."""

from typing import Any

from django.db.models import BigIntegerField, Case, F, Func, IntegerField, OuterRef, QuerySet, Subquery, Value, When

from annotation.access import Seat
from annotation.models import Sample
from ingest.models import Snapshot


def readable_states(seat: Seat) -> QuerySet[Snapshot]:
    """The states of issues that this person may read here: those that are visible to them, and those that they drew.

    The frames of their samples of this study hold what they could read then, and nothing that came later.
    """
    visible: QuerySet[Snapshot] = Snapshot.objects.visible_to(seat.user)
    if seat.user.is_staff:
        return visible
    drawn = Sample.objects.filter(study=seat.study, created_by=seat.user).order_by()
    states = drawn.values_list(Func(F("frame"), function="unnest", output_field=BigIntegerField()))
    return visible | Snapshot.objects.filter(pk__in=states)


def newest_readable(seat: Seat, issue: str = "pk", column: str = "pk") -> Subquery:
    """A column of the newest state that this person may read of an issue (`OuterRef(issue)`); null where there is none.

    The newest is the current one, or else the one that was stored last.
    """
    is_current = Case(
        When(issue__current_snapshot=F("pk"), then=Value(1)), default=Value(0), output_field=IntegerField()
    )
    rows: Any = readable_states(seat).filter(issue=OuterRef(issue)).order_by(is_current.desc(), "-pk")
    return Subquery(rows.values(column)[:1])
