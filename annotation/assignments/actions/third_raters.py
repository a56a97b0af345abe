"""Third raters: candidates, assignment to disputed items, and withdrawal."""

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence

from django.db.models import Exists, F, Max, OuterRef, QuerySet
from django.utils import timezone

from annotation.assignments.actions.reading_locks import held_unblinded_by_item
from annotation.assignments.actions.states_and_leases import withdraw
from annotation.assignments.rules import Candidate, third_raters
from annotation.core.access import ADJUDICATOR, OWNER, RATER
from annotation.labels.queries.verdicts import round_verdicts
from annotation.models import Assignment, InboxLine, Membership, Round, RoundRater
from annotation.models.assignment_kinds import THIRD_RATERS


def candidates(round_: Round, items: Sequence[int]) -> tuple[list[Membership], dict[int, set[int]]]:
    """Who could be asked as a third rater at all, and per item who had it; three queries.

    Candidates have the role rater, can sign in, and did not leave the round. Nobody is asked again about an item
    they had. `held_unblinded_by_item` finds those of them who could read the answers.
    """
    left = RoundRater.objects.filter(round=round_, rater=OuterRef("pk"), left_at__isnull=False)
    members = Membership.objects.filter(
        ~Exists(left), study=round_.study_id, roles__contains=[RATER], kind=Membership.Kind.PERSON, user__is_active=True
    )
    had: dict[int, set[int]] = defaultdict(set)
    for item, rater in Assignment.objects.filter(round=round_, item__in=items).values_list("item_id", "rater_id"):
        had[item].add(rater)
    return list(members.select_related("user").order_by("pk")), had


def ask_third_raters(
    round_: Round, items: Sequence[int], by_hand: Collection[Membership] | None = None
) -> dict[int, int]:
    """Gives items to third raters, by hand to one of those named, and tells them; item → member.

    Raters of the round come first. A rule never asks a person whose role let them read the answers, a rater who read
    answers while the round, or another one with the item, was being resolved, or one who can have the item in a
    relabeling queue; by hand they are asked, and their assignment is marked. Where nobody is left nothing happens, and
    the place stays for people to decide. Call it while the items are held.
    """
    if not items:
        return {}
    members, had = candidates(round_, items)
    of_round = {row.rater_id: row for row in RoundRater.objects.filter(round=round_)}
    unblinded = held_unblinded_by_item(round_, items, members if by_hand is None else by_hand, of_round)
    if by_hand is None:
        members = [each for each in members if not each.is_away]
        for item in items:
            had[item] |= unblinded[item]
    ranked = [
        Candidate(each.pk, 2 * each.has_role(ADJUDICATOR, OWNER) + (each.pk not in of_round))
        for each in (members if by_hand is None else by_hand)
    ]
    chosen = third_raters(items, ranked, had, round_.seed)
    _give(round_, chosen, of_round, unblinded)
    _tell(round_, chosen, by_hand is not None)
    return chosen


def withdraw_third_raters(asked: QuerySet[Assignment]) -> int:
    """Withdraws third raters who have not answered; how many assignments that were."""
    waiting = asked.filter(THIRD_RATERS, state__in=Assignment.UNFINISHED).order_by("pk")
    rows = list(waiting.select_for_update(of=("self",)).values_list("pk", "round_id", "rater_id"))
    if rows:
        withdraw(Assignment.objects.filter(pk__in=[pk for pk, *_ in rows]))
    # In a pool the count includes every item ever taken, because it gives their order.
    planned = RoundRater.objects.filter(round__mode=Round.Mode.PLANNED)
    for (round_id, rater), n in sorted(Counter((round_id, rater) for _, round_id, rater in rows).items()):
        planned.filter(round=round_id, rater=rater).update(n_assigned=F("n_assigned") - n)
    return len(rows)


def withdraw_where_settled(round_: Round, items: Sequence[int]) -> int:
    """Withdraws third raters of items on which nothing is open any more; one query, and more where any waits.

    Call it while the items are held.
    """
    waiting = Assignment.objects.filter(THIRD_RATERS, round=round_, item__in=items, state__in=Assignment.UNFINISHED)
    asked = set(waiting.order_by().values_list("item_id", flat=True))
    if not asked:
        return 0
    settled = [
        each.round_item.item_id
        for each in round_verdicts(round_, items=asked)
        if each.is_complete and not any(verdict.state == "open" for verdict in each.verdicts)
    ]
    return withdraw_third_raters(waiting.filter(item__in=settled)) if settled else 0


def _give(
    round_: Round,
    chosen: Mapping[int, int],
    of_round: Mapping[int, RoundRater],
    unblinded: Mapping[int, Collection[int]],
) -> None:
    counted = Counter(chosen.values())
    rows = Assignment.objects.filter(round=round_, rater__in=list(counted)).order_by().values("rater")
    last = {row["rater"]: row["last"] for row in rows.annotate(last=Max("position"))}
    given = []
    for item, rater in chosen.items():
        last[rater] = last.get(rater, 0) + 1
        is_unblinded = rater in unblinded[item]
        given.append(
            Assignment(round=round_, item_id=item, rater_id=rater, position=last[rater], unblinded=is_unblinded)
        )
    Assignment.objects.bulk_create(given)
    for rater, n in sorted(counted.items()):
        if rater in of_round:
            RoundRater.objects.filter(pk=of_round[rater].pk).update(n_assigned=F("n_assigned") + n)


def _tell(round_: Round, chosen: Mapping[int, int], by_hand: bool) -> None:
    """One line of the inbox per rater and round, counting on; by hand one per item."""
    if by_hand:
        for item, rater in chosen.items():
            InboxLine.objects.get_or_create(
                member_id=rater, kind=InboxLine.Kind.ARBITER, round=round_, item_id=item, remark=None
            )
        return
    for rater, n in sorted(Counter(chosen.values()).items()):
        line, is_new = InboxLine.objects.get_or_create(
            member_id=rater,
            kind=InboxLine.Kind.ARBITER,
            round=round_,
            item=None,
            remark=None,
            defaults={"n_items": n},
        )
        if not is_new:
            InboxLine.objects.filter(pk=line.pk).update(
                n_items=F("n_items") + n, read_at=None, created_at=timezone.now()
            )
