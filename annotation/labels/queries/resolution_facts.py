"""Resolution methods as the facts show them: comments, meetings, third answers."""

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from itertools import groupby
from typing import Any

from django.db.models import Count, Exists, F, Max, OuterRef, Q, QuerySet, Subquery, Value
from django.db.models.functions import Coalesce

from annotation.core.access import Seat
from annotation.labels.queries.read_before import owners_since
from annotation.labels.queries.verdicts import newest_of_each_place, resolution_values, round_verdicts
from annotation.labels.resolution_methods import ADJUDICATOR, MAJORITY, THIRD_RATER, contradiction, reported_method
from annotation.labels.resolution_methods import OWNER as BY_OWNER
from annotation.models import Assignment, Meeting, MeetingResolution, Remark, Resolution, Round
from annotation.models.assignment_kinds import THIRD_RATERS
from taxonomy.queries import published_version

LEAST_PEOPLE = 2


def arbiters_of(round_: Round, items: Collection[int]) -> dict[int, set[str]]:
    """Per item the codes of those who answered, or are asked, as third raters; one query."""
    rows = Assignment.objects.filter(THIRD_RATERS, round=round_, item__in=items)
    return _codes_by_item(rows.exclude(state=Assignment.State.WITHDRAWN))


def changed_arbiters_of(round_: Round, items: Collection[int]) -> dict[int, set[str]]:
    """Per item the codes of third raters whose answer is not their first: they may have read the others' before.

    One query.
    """
    rows = Assignment.objects.filter(THIRD_RATERS, round=round_, item__in=items, current__isnull=False)
    return _codes_by_item(rows.exclude(current=F("blind")))


def _codes_by_item(rows: QuerySet[Assignment]) -> dict[int, set[str]]:
    found: dict[int, set[str]] = {}
    for item, code in rows.values_list("item_id", "rater__code"):
        found.setdefault(item, set()).add(code or "")
    return found


def is_discussed(round_: Round, item: int, part: int, dimension: int, before: datetime) -> bool:
    """Whether two people, one of them a rater of the item, wrote remarks on a place before a moment; two queries."""
    said = _remarks(round=round_, item=item, part=part, dimension=dimension, before=before)
    people = set(said.values_list("author", flat=True))
    if len(people) < LEAST_PEOPLE:
        return False
    return Assignment.objects.filter(round=round_, item=item, rater__in=people, current__isnull=False).exists()


def newest_by_hand(seat: Seat, round_: Round) -> QuerySet[Resolution]:
    """The resolutions of a round that people took and that count, as far as the person may know of them."""
    rows = Resolution.objects.filter(seat.not_withheld(), round=round_, decided_by__isnull=False)
    return newest_of_each_place(rows).exclude(method__in=[Resolution.Method.REOPENED, Resolution.Method.IMPORTED])


def without_discussion(seat: Seat, round_: Round) -> list[int]:
    """The resolutions of a round that are reported as taken by the adjudicator; one query, and those of `ways`."""
    found = list(with_facts(newest_by_hand(seat, round_)))
    told = ways(found)
    return [each.pk for each in found if told[each.pk] == ADJUDICATOR]


def meetings_of(resolutions: Iterable[Any]) -> dict[int, Meeting]:
    """The newest meeting that was stated for each of these resolutions, by id; one query."""
    rows = MeetingResolution.objects.filter(resolution__in=[each.pk for each in resolutions])
    return {each.resolution_id: each.meeting for each in rows.select_related("meeting__stated_by").order_by("pk")}


def with_facts(resolutions: QuerySet[Resolution]) -> QuerySet[Resolution]:
    """Resolutions with `has_meeting` and `was_discussed`, the latter at the time of each."""
    said = _remarks(
        round=OuterRef("round"),
        item=OuterRef("item"),
        part=OuterRef("part"),
        dimension=OuterRef("dimension"),
        before=OuterRef("created_at"),
    )
    people = said.order_by().values("round").annotate(n=Count("author", distinct=True)).values("n")
    answers = Assignment.objects.filter(
        round=OuterRef("round"), item=OuterRef("item"), rater=OuterRef("author"), current__isnull=False
    )
    return resolutions.annotate(
        has_meeting=Exists(MeetingResolution.objects.filter(resolution=OuterRef("pk"))),
        n_people=Coalesce(Subquery(people), Value(0)),
        has_rater=Exists(said.filter(Exists(answers))),
    )


def _remarks(*, round: Any, item: Any, part: Any, dimension: Any, before: Any) -> QuerySet[Remark]:
    """The remarks about a place, or about its item as a whole, before a moment."""
    about = Q(dimension__isnull=True) | Q(dimension=dimension, part=part)
    return Remark.objects.filter(about, round=round, item=item, created_at__lt=before)


def ways(resolutions: Sequence[Any]) -> dict[int, str]:
    """How each of these resolutions is reported, by id; they come from `with_facts`.

    What a person stated of raters or of their own role, before Concord looked at it, is held against the answers,
    unless these were changed since, and against the roles that they ever had before. Cost: nothing where nobody did,
    else the judging of those items by round, and seven queries.
    """
    claims = [each for each in resolutions if each.method in (BY_OWNER, MAJORITY, THIRD_RATER) and each.decided_by_id]
    doubtful = _not_borne_out(claims) if claims else frozenset()
    return {
        each.pk: reported_method(
            each.method,
            has_meeting=each.has_meeting,
            is_discussed=each.n_people >= LEAST_PEOPLE and each.has_rater,
            is_borne_out=each.pk not in doubtful,
        )
        for each in resolutions
    }


def _not_borne_out(claims: Sequence[Any]) -> frozenset[int]:
    found = set()
    for round_id, several in groupby(sorted(claims, key=lambda each: each.round_id), key=lambda each: each.round_id):
        rows = list(several)
        round_ = Round.objects.select_related("taxonomy_version", "study").get(pk=round_id)
        tree = published_version(round_.taxonomy_version_id)
        items = {row.item_id for row in rows}
        arbiters, values = arbiters_of(round_, items), resolution_values(tree, rows)
        owners = owners_since(round_.study, {row.decided_by_id for row in rows if row.method == BY_OWNER})
        newest = Assignment.objects.filter(round=round_, item__in=items, current__isnull=False).order_by()
        changed_at = dict(newest.values_list("item").annotate(at=Max("current__created_at")))
        judged = {
            (each.round_item.item_id, verdict.part, verdict.dimension): verdict
            for each in round_verdicts(round_, items=list(items))
            for verdict in each.verdicts
        }
        for row in rows:
            if row.method != BY_OWNER and changed_at.get(row.item_id, row.created_at) > row.created_at:
                continue
            verdict = judged.get((row.item_id, row.part, tree.by_id[row.dimension_id].key))
            ratings = verdict.ratings if verdict else ()
            if contradiction(
                row.method,
                values.get(row.pk, ()),
                ratings,
                arbiters.get(row.item_id, ()),
                is_owner=row.decided_by_id in owners and owners[row.decided_by_id] <= row.created_at,
                is_discussed=False,
            ):
                found.add(row.pk)
    return frozenset(found)
