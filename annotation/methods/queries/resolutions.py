"""Resolutions and proposals for the methods text."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from django.db.models import Count, Exists, OuterRef

from annotation.core.access import Seat
from annotation.core.constant_lookups import LookupExists
from annotation.core.member_lists import code_order
from annotation.labels.queries.proposal_states import SAME_WORDS
from annotation.labels.queries.resolution_facts import meetings_of, ways, with_facts
from annotation.labels.queries.verdicts import newest_of_each_place, round_verdicts
from annotation.methods import (
    ALONE,
    MEETING,
    NO_DISAGREEMENT,
    OTHER_MEETING,
    OVERRULED,
    OtherResolutions,
    ResolutionFacts,
)
from annotation.methods.queries.counted_answers import COUNTS_HERE
from annotation.models import Annotation, Assignment, Membership, Proposal, Resolution, Round
from annotation.resolving.queries.queue import queue_of
from taxonomy.queries import published_version


class Decided(NamedTuple):
    """The resolutions that count, by the way in which they are reported, and how many people without a code took them.

    `n_reopened` places were resolved, reopened, and not resolved again; `n_moot` resolutions are of questions that no
    longer apply, or wait for one that was reopened.
    """

    ways: list[ResolutionFacts]
    n_others: int
    n_reopened: int
    n_moot: int


def resolutions_by_way(seat: Seat, rounds: Sequence[Round]) -> Decided:
    """How disagreements were resolved, as the queue of each round counts them: only resolutions in force.

    Those of places on which raters agreed are no disagreements: `overruled`, or not counted where they are what raters
    agreed on; `alone` are those of places where fewer than two raters gave a label. Two queries, those of `ways`, and
    where there are resolutions those of the queue of their round, and of verdicts where some are of no disagreement.
    """
    rows = newest_of_each_place(Resolution.objects.filter(seat.not_withheld(), COUNTS_HERE, round__in=rounds))
    every = list(with_facts(rows.order_by("round")))
    resolutions = [row for row in every if row.method != Resolution.Method.REOPENED]
    told = ways(resolutions)
    codes = {account: each.code for each in seat.study.memberships.all() for account in each.account_ids}
    resolved = {row.round_id for row in resolutions}
    disputed = _disputed([each for each in rounds if each.pk in resolved])
    standing = _standing(
        rounds,
        [row for row in resolutions if row.method != Resolution.Method.IMPORTED and place_of(row) not in disputed],
    )
    n_moot = sum(way == MOOT for way in standing.values())
    present = _present([row for row in resolutions if told[row.pk] == MEETING])
    counted: Counter[str] = Counter()
    by: dict[str, set[str]] = {}
    others: set[int] = set()
    apart: set[str] = set()
    for row in resolutions:
        if standing.get(row.pk) in (MOOT, CONFIRMED):
            continue
        way = told[row.pk]
        if way != Resolution.Method.IMPORTED:
            if row.pk in present and not present[row.pk].is_of_item:
                way = OTHER_MEETING
            if row.pk in standing:
                way = standing[row.pk]
            elif way == OTHER_MEETING:
                apart.update(present[row.pk].people)
            if row.decided_by_id and codes.get(row.decided_by_id):
                by.setdefault(way, set()).add(codes[row.decided_by_id] or "")
            elif row.decided_by_id:
                others.add(row.decided_by_id)
        counted[way] += 1
    who = sorted(apart & {code or "" for code in codes.values()}, key=code_order)
    found = [ResolutionFacts(way, n, sorted(by.get(way, ()), key=code_order)) for way, n in counted.most_common()]
    found = [
        replace(each, present=who, n_others=len(apart) - len(who)) if each.method == OTHER_MEETING else each
        for each in found
    ]
    return Decided(found, len(others), len(every) - len(resolutions), n_moot)


def other_resolutions(seat: Seat) -> list[OtherResolutions]:
    """What was resolved in screening and relabeling rounds; one query, and those of `resolutions_by_way`."""
    kinds = (Round.Kind.SCREENING, Round.Kind.RELABEL)
    rounds = seat.study.rounds.filter(Exists(Resolution.objects.filter(round=OuterRef("pk"))), kind__in=kinds)
    rounds = rounds.exclude(state=Round.State.UNDONE).exclude(pk__in=seat.hidden_round_ids)
    seen = list(rounds.select_related("taxonomy_version").order_by("number"))
    found = []
    for kind in kinds:
        those = [each for each in seen if each.kind == kind]
        decided = resolutions_by_way(seat, those).ways if those else []
        resolved = [each for each in decided if each.method not in NO_DISAGREEMENT]
        if resolved:
            found.append(OtherResolutions(kind, [each.number for each in those], resolved))
    return found


def n_models_shown(seat: Seat, rounds: Sequence[Round]) -> int:
    """Of how many items a person resolved something after a model had labeled them, and so could see it; one query."""
    before = Annotation.objects.filter(
        assignment__round=OuterRef("round"),
        assignment__item=OuterRef("item"),
        rater__kind=Membership.Kind.MACHINE,
        created_at__lt=OuterRef("created_at"),
    )
    rows = Resolution.objects.filter(
        seat.not_withheld(), COUNTS_HERE, LookupExists(before), round__in=rounds, decided_by__isnull=False
    )
    rows = rows.exclude(method__in=[Resolution.Method.REOPENED, Resolution.Method.IMPORTED])
    return rows.aggregate(n=Count("item", distinct=True))["n"] or 0


class Present(NamedTuple):
    """Who took part in the meeting of a resolution, and whether one of them answered its item in its round."""

    people: Sequence[str]
    is_of_item: bool


def _present(resolutions: Sequence[Resolution]) -> dict[int, Present]:
    """Of each of these resolutions who took part in the meeting that was stated for it last; two queries, or none."""
    if not resolutions:
        return {}
    meetings = meetings_of(resolutions)
    rows = Assignment.objects.filter(
        round__in={row.round_id for row in resolutions},
        item__in={row.item_id for row in resolutions},
        current__isnull=False,
    )
    answered = set(rows.order_by().values_list("round_id", "item_id", "rater__code"))
    return {
        row.pk: Present(
            meetings[row.pk].participants,
            any((row.round_id, row.item_id, each) in answered for each in meetings[row.pk].participants),
        )
        for row in resolutions
    }


def place_of(row: Resolution) -> tuple[int, int, int, int]:
    return row.round_id, row.item_id, row.part, row.dimension_id


MOOT, CONFIRMED = "moot", "confirmed"
"""Resolutions of places that have no verdict now, and those that are what all raters gave."""


def _standing(rounds: Sequence[Round], rows: Sequence[Resolution]) -> dict[int, str]:
    """By id of the resolutions of places that are no disagreement what they are: moot, confirmed, overruled or alone.

    The queries of the verdicts on their items.
    """
    found = {row.pk: MOOT for row in rows}
    for round_ in rounds:
        items = {row.item_id for row in rows if row.round_id == round_.pk}
        for each in (verdict for those in round_verdicts(round_, items=items) for verdict in those.verdicts):
            if each.decision is None or each.decision.id not in found:
                continue
            given = [set(rating.values) for rating in each.ratings if rating.values is not None]
            is_same = all(values == set(each.decision.values) for values in given)
            if is_same and (given or not each.decision.values):
                found[each.decision.id] = CONFIRMED
            else:
                found[each.decision.id] = OVERRULED if len(given) > 1 else ALONE
    return found


def disputed_counts(seat: Seat, rounds: Sequence[Round]) -> dict[str, Any]:
    """How many places raters disagreed on in rounds that are no longer open, and how many closed ones left unresolved.

    Questions that arose from a resolution, and that nobody answered, are apart. Cost: the queue of each of these
    rounds.
    """
    n_disputed = n_unresolved = n_unanswered = 0
    for round_ in rounds:
        if round_.state in Round.OVER:
            queue = queue_of(round_).without(seat.withheld_in(round_))
            n_disputed += queue.n_disagreements
            n_unresolved += queue.n_unresolved if round_.state == Round.State.CLOSED else 0
            n_unanswered += queue.n_unanswered if round_.state == Round.State.CLOSED else 0
    return {"n_disputed": n_disputed, "n_unresolved": n_unresolved, "n_unanswered": n_unanswered}


def _disputed(rounds: Sequence[Round]) -> set[tuple[int, int, int, int]]:
    """Round, item, part and dimension of every disagreement, resolved or not, without questions nobody answered."""
    found = set()
    for round_ in rounds:
        tree = published_version(round_.taxonomy_version_id)
        for line in queue_of(round_).lines:
            found |= {
                (round_.pk, line.item, each.part, tree.by_key[each.dimension].id)
                for each in line.places
                if not each.is_unanswered
            }
    return found


def n_proposals(seat: Seat, rounds: Sequence[Round]) -> int:
    """How many proposals people made; what they said again in the same words counts once. One query."""
    made = Proposal.objects.filter(
        seat.not_withheld(),
        COUNTS_HERE,
        round__in=rounds,
        annotation__isnull=False,
        proposed_by__kind=Membership.Kind.PERSON,
    )
    n: int = made.order_by().values("part", *SAME_WORDS).distinct().count()
    return n
