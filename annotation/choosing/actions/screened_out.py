"""Screened-out items: their unfinished assignments are withdrawn, and restored with the item."""

from collections import Counter, defaultdict
from collections.abc import Sequence

from django.db import transaction
from django.db.models import F

from annotation.assignments.actions import states_and_leases as assignment_states
from annotation.assignments.actions.finishing import finish_if_done
from annotation.assignments.actions.third_raters import withdraw_third_raters
from annotation.assignments.queries import slots
from annotation.models import Assignment, Membership, Round, RoundItem, RoundRater, Study
from annotation.models.assignment_kinds import OPENING_RATERS


def hold_coding_rounds(study: Study) -> list[Round]:
    """The coding rounds of a study that are not closed, held until the commit; before items are screened in or out."""
    rounds = Round.objects.filter(study=study, state__in=[Round.State.OPEN, Round.State.RESOLVING])
    return list(rounds.exclude(kind=Round.Kind.SCREENING).select_for_update().order_by("pk"))


def follow_screening(rounds: Sequence[Round], items: Sequence[int] | None = None) -> int:
    """Has lists of raters follow which items (ids; all where None) are excluded; how many are out in open rounds.

    How many assignments were withdrawn is for nobody: it would show who has answered an item, and who differs. Give the
    rounds that `hold_coding_rounds` holds. What was answered or typed stays. An item that is excluded no more comes
    back to the raters who had it and are still in the open round; other slots of it are free. Third raters are asked
    again by rules or people. Rounds in which nothing else is left to answer are resolved after the commit, except for
    relabeling queues, which are not counted either: whether an item is in one can be withheld from who screens it.
    """
    out: set[int] = set()
    for round_ in rounds:
        places = RoundItem.objects.filter(round=round_)
        places = places if items is None else places.filter(item__in=list(items))
        aside = list(places.filter(excluded=True).order_by("item"))
        _set_aside(round_, aside)
        _give_back(round_, list(places.filter(excluded=False, n_aside__gt=0).order_by("item")))
        if round_.state == Round.State.OPEN and round_.kind != Round.Kind.RELABEL:
            out |= {each.item_id for each in aside}
            _finish_later(round_.pk)
    return len(out)


def _finish_later(round_id: int) -> None:
    transaction.on_commit(lambda: finish_if_done(round_id), robust=True)


def _set_aside(round_: Round, places: Sequence[RoundItem]) -> None:
    if not places:
        return
    unfinished = Assignment.objects.filter(
        round=round_, item__in=[each.item_id for each in places], state__in=Assignment.UNFINISHED
    )
    withdraw_third_raters(unfinished)
    rows = list(unfinished.filter(OPENING_RATERS).order_by("pk").select_related("rater"))
    assignment_states.withdraw(Assignment.objects.filter(pk__in=[each.pk for each in rows]))
    _count(round_, Counter(each.rater_id for each in rows), -1)
    n_slots = Counter(each.item_id for each in rows if each.kind == Assignment.Kind.RATER)
    changed = [each for each in places if each.n_free or n_slots[each.item_id]]
    for each in changed:
        each.n_aside += each.n_free + n_slots[each.item_id]
        each.n_free = 0
    RoundItem.objects.bulk_update(changed, ["n_aside", "n_free"])


def _give_back(round_: Round, places: Sequence[RoundItem]) -> None:
    """Of a round that is open the assignments, or free slots; of one that is resolved nothing, as it asks no more."""
    if not places:
        return
    back: list[Assignment] = []
    if round_.state == Round.State.OPEN:
        items = [each.item_id for each in places]
        had = Assignment.objects.filter(OPENING_RATERS, round=round_, item__in=items, state=Assignment.State.WITHDRAWN)
        here = RoundRater.objects.filter(round=round_, left_at__isnull=True).values("rater")
        held: dict[int, set[int | None]] = defaultdict(set)
        for item, slot in slots(round_).filter(item__in=items).values_list("item", "slot"):
            held[item].add(slot)
        had = had.filter(rater__in=here).select_related("rater").order_by("pk")
        for each in had if round_.mode == Round.Mode.PLANNED else ():
            if each.kind == Assignment.Kind.RATER:
                if each.slot in held[each.item_id]:
                    continue
                held[each.item_id].add(each.slot)
            back.append(each)
        assignment_states.give_again(Assignment.objects.filter(pk__in=[each.pk for each in back]))
        _count(round_, Counter(each.rater_id for each in back), 1)
    n_back = Counter(each.item_id for each in back if each.kind == Assignment.Kind.RATER)
    for place in places:
        is_free = round_.state == Round.State.OPEN and place.known is None
        place.n_free += max(place.n_aside - n_back[place.item_id], 0) if is_free else 0
        place.n_aside = 0
    RoundItem.objects.bulk_update(places, ["n_aside", "n_free"])


def _count(round_: Round, n_by_rater: Counter[int], sign: int) -> None:
    """Counts what raters were given; in a pool it is all that a person ever took, in whose order it stands."""
    rows = RoundRater.objects.filter(round=round_)
    if round_.mode == Round.Mode.POOL:
        rows = rows.filter(rater__kind=Membership.Kind.MACHINE)
    for rater, n in sorted(n_by_rater.items()):
        rows.filter(rater=rater).update(n_assigned=F("n_assigned") + sign * n)
