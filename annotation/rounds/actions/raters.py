"""Raters of an open round: they leave, join, return, and take more or fewer items."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from django.db import transaction
from django.db.models import F, Max
from django.utils import timezone

from annotation.assignments.actions import states_and_leases as assignment_states
from annotation.assignments.actions.finishing import finish_if_done
from annotation.assignments.actions.third_raters import withdraw_third_raters
from annotation.assignments.planning import new_holders
from annotation.assignments.queries import (
    DepartureOutcome,
    asked_meanwhile,
    free_slots,
    leaving,
    n_taken,
    raters_by_name,
    room_of,
    training_of,
    unblinded_among,
    unfinished_of,
)
from annotation.calibration.queries.training import seen_answers
from annotation.core.access import OWNER, Seat, get_round_rater
from annotation.core.audit import record
from annotation.core.errors import Conflict, Invalid, WrongState
from annotation.core.locks import hold_round
from annotation.models import Assignment, InboxLine, Membership, Round, RoundItem, RoundRater
from annotation.rounds.actions.rounds import give_everything, is_whole, quotas_short
from shared.wording import plural


def withdraw_rater(*, seat: Seat, number: int, rater: str) -> DepartureOutcome:
    """Takes a rater (code or user name) out of an open round: what they answered stays, the rest goes to others.

    In a planned round each unfinished slot goes to the end of the order of a rater who never had the item and has room,
    or waits for one; a pool gets its leases back; a worklist, whose items ask for this very rater's answers, gives
    them up. Asked again, nothing happens. Raises WrongState where the round is not open.
    """
    seat.require(OWNER)
    found = _withdraw(seat, number, rater)
    if found.moves:
        finish_if_done(_round_of(found))
    return found


def withdraw_from_study(*, seat: Seat, member: Membership) -> list[tuple[Round, DepartureOutcome]]:
    """Takes a rater out of every open round of the study, in one transaction; the rounds that they were in.

    What they are asked as a third rater in rounds that are being resolved is withdrawn, so that others can be asked.
    """
    seat.require(OWNER)
    found = take_out(seat, member)
    for round_, _ in found:
        finish_if_done(round_.pk)
    return found


@transaction.atomic
def take_out(seat: Seat, member: Membership) -> list[tuple[Round, DepartureOutcome]]:
    """What withdrawing from a study does, for whoever may; `finish_if_done` is for after the commit."""
    rows = RoundRater.objects.filter(
        round__study=seat.study, round__state=Round.State.OPEN, rater=member, left_at__isnull=True
    )
    rounds = [row.round for row in rows.select_related("round").order_by("round__number")]
    found = [(each, _withdraw(seat, each.number, member.code or "")) for each in rounds]
    asked = Assignment.objects.filter(round__study=seat.study, rater=member, round__state=Round.State.RESOLVING)
    withdraw_third_raters(asked)
    return found


def _round_of(found: DepartureOutcome) -> int:
    return found.moves[0][0].round_id


@transaction.atomic
def _withdraw(seat: Seat, number: int, rater: str) -> DepartureOutcome:
    round_ = hold_round(seat, number)
    leaver = get_round_rater(round_, rater)
    if leaver.left_at is not None:
        return DepartureOutcome(leaver.rater, [])
    _require_open(round_, "lets raters leave")
    found = leaving(round_, leaver)
    assignment_states.withdraw(unfinished_of(round_, leaver.rater_id))
    if found.n_waiting:
        free = [each.item_id for each, to in found.moves if each.kind == Assignment.Kind.RATER and to is None]
        RoundItem.objects.counting().filter(round=round_, item__in=free).update(n_free=F("n_free") + 1)
    _append(round_, [(each.item_id, each.slot or 0, to.pk) for each, to in found.moves if to is not None])
    leaver.left_at = timezone.now()
    if round_.mode == Round.Mode.PLANNED or leaver.rater.is_machine:
        leaver.n_assigned = leaver.n_finished
    leaver.save(update_fields=["left_at", "n_assigned"])
    _tell_given(round_, {to.pk: n for to, n in found.given})
    record(
        study=seat.study,
        user=seat.user,
        verb="rater withdrawn",
        round=number,
        rater=leaver.rater.code,
        withdrawn=found.n,
        given={str(to): n for to, n in found.given},
        waiting=found.n_waiting,
    )
    return found


def _require_open(round_: Round, does: str) -> None:
    if round_.state != Round.State.OPEN:
        raise WrongState(f"Round {round_.number} is {round_.state}. Only an open round {does}.")


def _append(round_: Round, given: Sequence[tuple[int, int, int]]) -> None:
    """Gives slots (item, slot, rater) of a planned round, each at the end of its rater's order; four statements.

    Whoever had the item before and was withdrawn gets the same assignment again, with what they had typed.
    """
    raters = {rater for _, _, rater in given}
    rows = Assignment.objects.filter(round=round_, rater__in=raters).order_by()
    last: dict[int, int] = dict(rows.values_list("rater").annotate(last=Max("position")))
    withdrawn = rows.filter(state=Assignment.State.WITHDRAWN).values_list("item_id", "rater_id", "pk")
    had = {(item, rater): pk for item, rater, pk in withdrawn}
    made: list[tuple[int, int, int, int]] = []
    again: list[tuple[int, int, int]] = []
    for item, slot, rater in given:
        last[rater] = last.get(rater, 0) + 1
        if (pk := had.get((item, rater))) is not None:
            again.append((pk, slot, last[rater]))
        else:
            made.append((item, rater, slot, last[rater]))
    assignment_states.give(round_, made)
    assignment_states.give_slots_again(again)
    for rater, n in Counter(rater for _, _, rater in given).items():
        RoundRater.objects.filter(round=round_, rater=rater).update(n_assigned=F("n_assigned") + n)


def _tell_given(round_: Round, given: dict[int, int]) -> None:
    InboxLine.objects.bulk_create(
        [
            InboxLine(member_id=member, kind=InboxLine.Kind.GIVEN, round=round_, n_items=n)
            for member, n in given.items()
            if n
        ]
    )


@dataclass(frozen=True)
class AddedRater:
    """A rater who came into an open round, or came back, and how many waiting items they took."""

    round_rater: RoundRater
    n_given: int
    is_new: bool


@transaction.atomic
def add_rater(*, seat: Seat, number: int, user: str, quota: int | None = None, unblinded: bool = False) -> AddedRater:
    """Puts a rater (user name or code) into an open round; in a planned one they get slots that wait, up to `quota`.

    Somebody who could read answers of the round since the first was given is rejected, or, with `unblinded`, marked:
    then none of their answers there counts as before discussion. For others `unblinded` changes nothing. Asked again,
    nothing happens. Raises Invalid, Conflict, WrongState.
    """
    seat.require(OWNER)
    round_ = hold_round(seat, number)
    _require_open(round_, "takes raters")
    if round_.kind == Round.Kind.RELABEL:
        raise Conflict("A relabeling queue is for the raters who labeled before. Nobody can be added to it.")
    fields: dict[str, list[str]] = {}
    members = raters_by_name(seat.study, [user], fields, field="user")
    if quota is not None and not is_whole(quota, 0, 2**31 - 1):
        fields["quota"] = ["Enter a whole number from 0, or null for no limit."]
    if members and members[0].is_machine and quota is not None:
        fields["quota"] = [f"{members[0]} is a model rater, which labels every item. Omit this field."]
    if fields:
        raise Invalid("Rater not added.", fields=fields)
    member = members[0]
    row = RoundRater.objects.select_related("rater").filter(round=round_, rater=member).first()
    if row is not None and row.left_at is None:
        return AddedRater(row, 0, is_new=False)
    is_unblinded = member.pk in unblinded_among(round_, [member])
    if is_unblinded and not unblinded:
        raise Conflict(
            f"{member} is no longer blind in round {number}: their role let them read its labels. Choose "
            "another rater, or add them as an unblinded rater, whose labels never count as before discussion.",
            code="not_blind_any_more",
        )
    if row is None:
        row = RoundRater.objects.create(round=round_, rater=member, quota=quota, unblinded=is_unblinded)
        row.n_assigned, row.n_finished = asked_meanwhile([round_]).get((round_.pk, member.pk), (0, 0))
        row.save(update_fields=["n_assigned", "n_finished"])
    else:
        row.left_at, row.quota, row.unblinded = None, quota, is_unblinded
        row.save(update_fields=["left_at", "quota", "unblinded"])
    n_given = give_everything(round_, [row]) if member.is_machine else _train(round_, row) + _fill(round_, row)
    if not member.is_machine:
        told = InboxLine(member=member, kind=InboxLine.Kind.ROUND, round=round_, n_items=n_given or None)
        InboxLine.objects.bulk_create([told], ignore_conflicts=True)
    record(
        study=seat.study,
        user=seat.user,
        verb="rater added",
        round=number,
        rater=member.code,
        quota=quota,
        given=n_given,
        **({"unblinded": True} if is_unblinded else {}),
    )
    return AddedRater(row, n_given, is_new=True)


@transaction.atomic
def change_quota(*, seat: Seat, number: int, rater: str, quota: int | None) -> RoundRater:
    """How many items a rater takes at most in a draft or open round (None: no limit); never fewer than they have.

    Where slots of a planned round wait, a higher quota takes of them at once. Raises Invalid, WrongState.
    """
    seat.require(OWNER)
    round_ = hold_round(seat, number)
    if round_.state not in (Round.State.DRAFT, Round.State.OPEN):
        raise WrongState(f"Round {number} is {round_.state}. Quotas can be changed before and while it is open.")
    row = get_round_rater(round_, rater)
    if quota is not None and not is_whole(quota, 0, 2**31 - 1):
        raise _wrong_quota("Enter a whole number from 0, or null for no limit.")
    if row.rater.is_machine:
        raise _wrong_quota(f"{row.rater} is a model rater, which labels every item.")
    if row.left_at is not None:
        raise WrongState(f"{row.rater} left round {number}. Add them again first.")
    taken = n_taken(round_).get(row.rater_id, 0)
    if quota is not None and quota < taken:
        raise _wrong_quota(f"{row.rater} already has {plural(taken, 'item')}. Enter {taken} or more.")
    if quota == row.quota:
        return row
    row.quota = quota
    row.save(update_fields=["quota"])
    if round_.state == Round.State.DRAFT and (short := quotas_short(round_)):
        raise _wrong_quota(short)
    n_given = 0
    if round_.state == Round.State.OPEN and (n_given := _fill(round_, row)):
        _tell_given(round_, {row.rater_id: n_given})
        row.refresh_from_db(fields=["n_assigned"])
    record(
        study=seat.study,
        user=seat.user,
        verb="quota changed",
        round=number,
        rater=row.rater.code,
        quota=quota,
        given=n_given,
    )
    return row


def _wrong_quota(sentence: str) -> Invalid:
    return Invalid("Quota not changed.", fields={"quota": [sentence]})


def _train(round_: Round, row: RoundRater) -> int:
    """Gives a rater who comes later, or again, the training items that they have not answered; how many.

    Not those of which they may know what is right.
    """
    mine = Assignment.objects.filter(round=round_, rater=row.rater_id, item__in=training_of(round_))
    again = assignment_states.give_again(mine)
    had = set(mine.values_list("item_id", flat=True))
    of_training = list(training_of(round_).values_list("item", flat=True))
    had |= {item for item, _ in seen_answers(round_, [row.rater_id], of_training)}
    training = RoundItem.objects.filter(round=round_, known__isnull=False).order_by("position")
    places = [(n, each) for n, each in enumerate(training, start=1) if each.item_id not in had]
    RoundItem.objects.filter(pk__in=[each.pk for _, each in places]).update(n_raters=F("n_raters") + 1)
    Assignment.objects.bulk_create(
        [
            Assignment(round=round_, item_id=each.item_id, rater_id=row.rater_id, slot=each.n_raters + 1, position=n)
            for n, each in places
        ]
    )
    RoundRater.objects.filter(pk=row.pk).update(n_assigned=F("n_assigned") + again + len(places))
    return again + len(places)


def _fill(round_: Round, row: RoundRater) -> int:
    """Gives a rater of a planned round the free slots that they can take; how many."""
    if round_.mode != Round.Mode.PLANNED:
        return 0
    free = free_slots(round_)
    rater = row.rater_id
    own = Assignment.objects.filter(round=round_, rater=rater).exclude(state=Assignment.State.WITHDRAWN)
    had = {item: {rater} for item in own.order_by().values_list("item_id", flat=True)}
    taken = n_taken(round_)
    load, room = {rater: taken.get(rater, 0)}, room_of([row], taken)
    found = new_holders([each.item for each in free], had, load, room, f"came {round_.seed} {rater}")
    took = [each for each, (_, to) in zip(free, found, strict=True) if to is not None]
    _append(round_, [(each.item, each.slot, rater) for each in took])
    RoundItem.objects.filter(round=round_, item__in=[each.item for each in took]).update(n_free=F("n_free") - 1)
    return len(took)
