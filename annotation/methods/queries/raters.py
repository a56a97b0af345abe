"""Raters for the methods text: third raters, turnover, training, and the texts that they read."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from django.db.models import Count, OuterRef, Q

from annotation.calibration.queries.training import TrainingResult, tries_of_people
from annotation.core.access import Seat
from annotation.core.constant_lookups import LookupExists
from annotation.core.imported import MARK
from annotation.core.member_lists import code_order
from annotation.labels.queries.item_history import IS_READ_OTHERWISE
from annotation.methods import JOINED, LEFT, REJOINED, TryFacts, Turnover
from annotation.methods.queries.counted_answers import COUNTS_HERE, HAS_LABEL, assigned_answers, labeled_answers
from annotation.models import Assignment, AuditEvent, Membership, Round, RoundItem
from annotation.models.assignment_kinds import THIRD_RATERS


def third_raters(seat: Seat, rounds: Sequence[Round]) -> tuple[list[tuple[str, int]], int, bool]:
    """Third raters by code with how many items each labeled; how many assignments they skipped; if any was asked.

    One query.
    """
    asked = Assignment.objects.filter(seat.not_withheld(), COUNTS_HERE, THIRD_RATERS, round__in=rounds)
    is_labeled = Q(HAS_LABEL, state=Assignment.State.SUBMITTED)
    counted = (
        asked.order_by()
        .values_list("rater__code")
        .annotate(
            n=Count("item", distinct=True, filter=is_labeled),
            n_skipped=Count("pk", filter=Q(state=Assignment.State.SKIPPED)),
        )
    )
    rows = sorted(((code or "", n, skipped) for code, n, skipped in counted), key=lambda each: code_order(each[0]))
    return [(code, n) for code, n, _ in rows if n], sum(skipped for *_, skipped in rows), bool(rows)


def third_requests(seat: Seat, rounds: Sequence[Round]) -> dict[str, Any]:
    """How many requests third raters got in Concord, how many of a person, and how many were withdrawn unanswered.

    A request is an assignment: nobody gets an item twice in a round. Two queries.
    """
    asked = Assignment.objects.filter(seat.not_withheld(), COUNTS_HERE, THIRD_RATERS, round__in=rounds)
    asked = asked.exclude(current__idempotency_key__startswith=MARK)
    requests = list(asked.order_by().values_list("round__number", "item__identifier", "state"))
    if not requests:
        return {}
    places = Counter((number, item) for number, item, _ in requests)
    lines = AuditEvent.objects.filter(study=seat.study, verb="third rater asked").values_list("detail", flat=True)
    by_hand = Counter((detail.get("round"), detail.get("item")) for detail in lines)
    return {
        "n_third_asked": len(requests),
        "n_third_by_hand": sum(min(by_hand[place], n) for place, n in places.items()),
        "n_third_withdrawn": sum(state == Assignment.State.WITHDRAWN for *_, state in requests),
    }


def by_rater(seat: Seat, rounds: Sequence[Round]) -> list[tuple[str, int]]:
    """Raters by code with how many items each labeled, once over all rounds; one query."""
    rows = labeled_answers(seat, rounds).values_list("rater__code").annotate(n=Count("item", distinct=True))
    return sorted(((code or "", n) for code, n in rows), key=lambda each: code_order(each[0]))


def turnover(seat: Seat, rounds: Sequence[Round]) -> list[Turnover]:
    """Who left or joined these rounds while they were open, as the audit log has it; one query."""
    opened = {each.number: each.opened_at for each in rounds if each.opened_at is not None}
    verbs = ("rater withdrawn", "rater added")
    lines = AuditEvent.objects.filter(study=seat.study, verb__in=verbs, detail__round__in=list(opened)).order_by("pk")
    found, gone = [], set()
    for verb, detail, at in lines.values_list("verb", "detail", "at"):
        if at < opened[detail["round"]]:  # an opening that an owner undid
            continue
        place = (detail["round"], detail["rater"])
        if verb == "rater added":
            found.append(Turnover(REJOINED if place in gone else JOINED, *place))
            continue
        gone.add(place)
        given = sorted(detail.get("given", {}).items(), key=lambda each: code_order(each[0]))
        found.append(Turnover(LEFT, *place, detail.get("withdrawn", 0), given, detail.get("waiting", 0)))
    return found


def read_otherwise(seat: Seat, rounds: Sequence[Round]) -> dict[str, Any]:
    """How many submissions were made on other texts than the pinned ones; a query, and one more where there are some.

    What raters read whose labels are from a sheet is not known.
    """
    told = assigned_answers(seat, rounds).filter(state=Assignment.State.SUBMITTED)
    told = told.exclude(current__idempotency_key__startswith=MARK)
    places = list(told.filter(IS_READ_OTHERWISE).values_list("round", "item"))
    if not places:
        return {}
    items = {item for _, item in places}
    read: dict[tuple[int, int], set[str | None]] = {}
    for round_id, item, sha256 in told.filter(item__in=items).values_list("round", "item", "current__snapshot__sha256"):
        read.setdefault((round_id, item), set()).add(sha256)
    apart = {item for (_, item), states in read.items() if len(states) > 1}
    return {"n_otherwise": len(places), "n_items_otherwise": len(items), "n_items_apart": len(apart)}


def n_training(seat: Seat, rounds: Sequence[Round]) -> int:
    """How many items with known labels a person labeled; one query."""
    training = RoundItem.objects.filter(round=OuterRef("round"), item=OuterRef("item"), known__isnull=False)
    labeled = Assignment.objects.filter(
        seat.not_withheld(),
        LookupExists(training),
        round__in=rounds,
        state=Assignment.State.SUBMITTED,
        rater__kind=Membership.Kind.PERSON,
    )
    return labeled.aggregate(n=Count("item", distinct=True))["n"] or 0


def tries(seat: Seat, rounds: Sequence[Round]) -> list[TryFacts]:
    """What came of first tries on items with known labels, of second ones, and so on; a try is a rater's in a round."""
    found: dict[int, list[TrainingResult]] = {}
    n_had: Counter[int] = Counter()
    for each in tries_of_people(rounds, seat.not_withheld()):
        n_had[each.rater.pk] += 1
        found.setdefault(n_had[each.rater.pk], []).append(each)
    return [
        TryFacts(
            len(those),
            sum(each.n_right for each in those),
            sum(each.n_items for each in those),
            sum(each.n_skipped for each in those),
        )
        for _, those in sorted(found.items())
    ]
