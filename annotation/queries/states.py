"""Which states of issues a person may read in a study, and which of them is the newest."""

from typing import Any

from django.db.models import BigIntegerField, Case, F, Func, IntegerField, OuterRef, Q, QuerySet, Subquery, Value, When

from annotation.access import Seat, snapshots_of_own_studies
from annotation.models import Sample
from ingest.models import Repository, Snapshot


def readable_states(seat: Seat) -> QuerySet[Snapshot]:
    """The states of issues that this person may read here.

    Those of repositories open to them, those that their studies pinned, and those that they drew in samples of this
    study, when they could read them: nothing that came later.
    """
    user = seat.user
    allowed = Q(issue__repository__private=False) | Q(
        issue__repository__in=Repository.objects.visible_to(user).values("pk")
    )
    if user.pk is not None:
        drawn = Sample.objects.filter(study=seat.study, created_by=user).order_by()
        allowed |= Q(pk__in=snapshots_of_own_studies(user)) | Q(
            pk__in=drawn.values_list(Func(F("frame"), function="unnest", output_field=BigIntegerField()))
        )
    return Snapshot.objects.filter(allowed)


def newest_readable(seat: Seat, issue: str = "pk", column: str = "pk") -> Subquery:
    """A column of the newest state that this person may read of an issue (`OuterRef(issue)`); null where there is none.

    The newest is the current one, or else the one that was stored last.
    """
    is_current = Case(
        When(issue__current_snapshot=F("pk"), then=Value(1)), default=Value(0), output_field=IntegerField()
    )
    rows: Any = readable_states(seat).filter(issue=OuterRef(issue)).order_by(is_current.desc(), "-pk")
    return Subquery(rows.values(column)[:1])
