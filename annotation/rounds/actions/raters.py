"""Raters of an open round: they leave, join, return, and take more or fewer items."""

from array import array
from collections import Counter
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from django.db import transaction
from django.db.models import F, OuterRef, Subquery
from django.utils import timezone

from accounts.models import User
from annotation.assignments.actions import states_and_leases as assignment_states
from annotation.assignments.actions.finishing import finish_if_done, finish_left
from annotation.assignments.actions.reading_locks import held_unblinded
from annotation.assignments.actions.third_raters import withdraw_third_raters
from annotation.assignments.planning import new_holders, own_order
from annotation.assignments.queries import (
    DepartureOutcome,
    UnfinishedAssignment,
    counted_third,
    free_slots,
    leaving,
    left_by,
    n_taken,
    needs_job,
    raters_by_name,
    training_of,
)
from annotation.calibration.queries.training import seen_answers
from annotation.choosing.actions import batches
from annotation.core.access import OWNER, Seat, get_round, get_round_rater
from annotation.core.audit import record
from annotation.core.bulk_jobs import job_of
from annotation.core.database_planner import tell_planner
from annotation.core.errors import Conflict, Invalid, WrongState
from annotation.core.locks import hold_any_round, hold_round, hold_study, require_prepared
from annotation.core.member_lists import code_order
from annotation.models import Assignment, BulkJob, InboxLine, Membership, Round, RoundItem, RoundRater, Study
from annotation.rounds.actions.rounds import is_whole, quotas_short
from shared.wording import plural


def withdraw_rater(*, seat: Seat, number: int, rater: str) -> DepartureOutcome:
    """Takes a rater (code or user name) out of an open round: what they answered stays, the rest goes to others.

    In a planned round each unfinished slot goes to the end of the order of a rater who never had the item and has room,
    or waits for one; a pool gets its leases back; a worklist, whose items ask for this very rater's answers, gives
    them up. Asked again, nothing happens. Raises WrongState where the round is not open.

    Many items are moved by a job (`n_later`), after which the rater has left.
    """
    seat.require(OWNER)
    seat.require_queue(get_round(seat, number))
    ((round_, found),) = _withdraw(seat, [number], rater)
    if found.moves:
        finish_if_done(round_.pk)
    return found


def withdraw_from_study(*, seat: Seat, member: Membership) -> list[tuple[Round, DepartureOutcome]]:
    """Takes a rater out of every open round of the study, in one transaction; the rounds that they were in.

    What they are asked as a third rater in rounds that are being resolved is withdrawn, so that others can be asked.
    """
    seat.require(OWNER)
    found = take_out(seat, member)
    finish_left(round_.pk for round_, _ in found)
    return found


@transaction.atomic
def take_out(seat: Seat, member: Membership) -> list[tuple[Round, DepartureOutcome]]:
    """What withdrawing from a study does, for anyone who may; `finish_left` is for after the commit.

    Relabeling queues of which something is withheld from this person are not among the rounds: that they were would
    show that the member had items there.
    """
    withheld_queues = seat.withheld_queues  # before: who left a round is blind there no more
    rows = RoundRater.objects.filter(
        round__study=seat.study, round__state=Round.State.OPEN, rater=member, left_at__isnull=True
    )
    numbers = list(rows.order_by("round__number").values_list("round__number", flat=True))
    found = _withdraw(seat, numbers, member, leaves_study=True)
    asked = Assignment.objects.filter(round__study=seat.study, rater=member, round__state=Round.State.RESOLVING)
    withdraw_third_raters(asked)
    return [(round_, each) for round_, each in found if round_.pk not in withheld_queues]


@transaction.atomic
def _withdraw(
    seat: Seat, numbers: Sequence[int], rater: str | Membership, *, leaves_study: bool = False
) -> list[tuple[Round, DepartureOutcome]]:
    """Withdraws a rater from some rounds; one job does so in those where it is to move many items.

    Relabeling queues come last there and are not counted, because the progress would show how much they hold.
    """
    study = hold_study(seat)
    found = [_withdraw_from(seat, hold_any_round(seat, number), rater) for number in numbers]
    large = [(round_, each) for round_, each in found if each.n_later]
    if large:
        require_prepared(study)
        large.sort(key=lambda row: row[0].kind == Round.Kind.RELABEL)
        first, member = large[0][0], large[0][1].rater
        pks = [round_.pk for round_, _ in large]
        finish = [round_.pk for round_, _ in large if not leaves_study or round_.kind != Round.Kind.RELABEL]
        asked = {"rounds": pks, "finish": finish, "rater": member.pk, "code": member.code}
        counted = [each.n_later for round_, each in large if round_.kind != Round.Kind.RELABEL or round_ == first]
        kind = BulkJob.Kind.LEAVING
        batches.start_job(study=study, user=seat.user, kind=kind, n_total=sum(counted), round=first, asked=asked)
    return found


def _withdraw_from(seat: Seat, round_: Round, rater: str | Membership) -> tuple[Round, DepartureOutcome]:
    rows = RoundRater.objects.select_related("rater__user", "rater__invited_user")
    leaver = get_round_rater(round_, rater) if isinstance(rater, str) else rows.get(round=round_, rater=rater)
    if leaver.left_at is not None:
        return round_, DepartureOutcome(leaver.rater, [])
    _require_open(round_, "lets raters leave")
    found = leaving(round_, leaver)
    if not found.n_later:
        _hand_over(round_, found.moves, is_given_up=found.is_given_up)
        _leave(round_, leaver, seat.user, found.n, found.given, found.n_waiting)
    return round_, found


Moves = Sequence[tuple[UnfinishedAssignment, Membership | None]]


def _hand_over(round_: Round, moves: Moves, *, is_given_up: bool) -> int:
    """Withdraws assignments, and gives their slots to others or frees them; how many wait for a rater."""
    assignment_states.withdraw(Assignment.objects.filter(pk__in=[each.pk for each, _ in moves]))
    free = [each.item_id for each, to in moves if each.kind == Assignment.Kind.RATER and to is None]
    places = RoundItem.objects.filter(round=round_, item__in=[each.item_id for each, _ in moves], known__isnull=True)
    aside = set(places.filter(excluded=True).values_list("item", flat=True))
    n_waiting = 0
    if free and not is_given_up:
        n_waiting = places.counting().filter(item__in=free).update(n_free=F("n_free") + 1) + len(aside & set(free))
    _append(round_, [(each.item_id, each.slot or 0, to.pk) for each, to in moves if to is not None], aside)
    return n_waiting


def _leave(
    round_: Round, leaver: RoundRater, by: User, n: int, given: Sequence[tuple[Membership, int]], n_waiting: int
) -> None:
    """Notes that a rater left a round, whose items went to others, and tells these."""
    leaver.left_at = timezone.now()
    if round_.mode == Round.Mode.PLANNED or leaver.rater.is_machine:
        leaver.n_assigned = leaver.n_finished
    leaver.save(update_fields=["left_at", "n_assigned"])
    _tell_given(round_, {to.pk: n_given for to, n_given in given})
    record(
        study=round_.study,
        user=by,
        verb="rater withdrawn",
        round=round_.number,
        rater=leaver.rater.code,
        withdrawn=n,
        given={str(to): n_given for to, n_given in given},
        waiting=n_waiting,
    )


class LeavingByJob:
    """The leaving of large rounds, batch by batch.

    A worker that takes over plans again what is unfinished: what was moved is no longer the rater's. They have
    left a round with its last batch.
    """

    def __init__(self, job: BulkJob) -> None:
        self.rounds: list[int] = job.asked["rounds"]
        self.moves: dict[int, list[tuple[UnfinishedAssignment, Membership | None]]] = {}
        self.given_up: set[int] = set()
        rows = RoundRater.objects.filter(rater=job.asked["rater"], round__in=self._left(job))
        for row in rows.select_related("round__study", "rater"):
            found = leaving(row.round, row, for_job=True)
            self.moves[row.round_id] = sorted(found.moves, key=lambda move: move[0].kind != Assignment.Kind.THIRD)
            if found.is_given_up:
                self.given_up.add(row.round_id)

    def _left(self, job: BulkJob) -> list[int]:
        return self.rounds[job.cursor.get("n_rounds", 0) :]

    def step(self, job: BulkJob) -> bool:
        """Moves the next batch; whether there is more."""
        pk = self._left(job)[0]
        round_ = Round.objects.select_for_update(of=("self",)).select_related("study").get(pk=pk)
        leaver = RoundRater.objects.select_related("rater").get(round=round_, rater=job.asked["rater"])
        n_third = sum(each.kind == Assignment.Kind.THIRD for each, _ in self.moves[pk])
        n = batches.BATCH_OF_OPEN + n_third  # all of these with the first batch: the progress does not tell of them
        batch, self.moves[pk] = self.moves[pk][:n], self.moves[pk][n:]
        moves = self._still(round_, leaver, batch)
        n_waiting = _hand_over(round_, moves, is_given_up=pk in self.given_up)
        n = sum(each.kind != Assignment.Kind.THIRD for each, _ in moves)
        done = job.cursor.setdefault("done", {"n": 0, "waiting": 0, "given": {}})
        done["n"], done["waiting"] = done["n"] + n, done["waiting"] + n_waiting
        done["given"] = Counter(done["given"]) + Counter(str(to.pk) for _, to in moves if to is not None)
        job.n_done = min(job.n_done + n, job.n_total)
        if self.moves[pk]:
            return True
        members = {str(each.pk): each for each in Membership.objects.filter(pk__in=done["given"])}
        given = sorted(((members[to], n) for to, n in done["given"].items()), key=lambda each: code_order(each[0].code))
        _leave(round_, leaver, job.created_by, done["n"], given, done["waiting"])
        tell_planner(done["n"], batches.GIVEN)
        job.cursor = {"n_rounds": job.cursor.get("n_rounds", 0) + 1}
        return bool(self._left(job))

    def _still(self, round_: Round, leaver: RoundRater, batch: Moves) -> Moves:
        """Those that are still unfinished; a slot waits if its new rater got the item in another way since."""
        pks = [each.pk for each, _ in batch]
        unfinished = set(left_by(round_, leaver.rater_id).filter(pk__in=pks).values_list("pk", flat=True))
        rows = Assignment.objects.filter(round=round_, item__in=[each.item_id for each, to in batch if to is not None])
        held = rows.exclude(state=Assignment.State.WITHDRAWN).exclude(rater=leaver.rater_id).order_by()
        has = set(held.values_list("item_id", "rater_id"))
        return [
            (each, None if to is None or (each.item_id, to.pk) in has else to)
            for each, to in batch
            if each.pk in unfinished
        ]


def _require_open(round_: Round, does: str) -> None:
    if round_.state != Round.State.OPEN:
        raise WrongState(f"Round {round_.number} is {round_.state}. Only an open round {does}.")


def _append(round_: Round, given: Sequence[tuple[int, int, int]], aside: AbstractSet[int] = frozenset()) -> None:
    """Gives slots (item, slot, rater) of a planned round, each at the end of its rater's order; four statements.

    A rater who had the item before and was withdrawn gets the same assignment again, with what they had typed. The
    items (ids) that are `aside`, screened out, are theirs as soon as they are screened in again.
    """
    raters = {rater for _, _, rater in given}
    own = Assignment.objects.filter(round=round_, rater=OuterRef("rater")).order_by("-position").values("position")[:1]
    ends = RoundRater.objects.filter(round=round_, rater__in=raters).order_by().annotate(last=Subquery(own))
    last: dict[int, int] = {rater: position or 0 for rater, position in ends.values_list("rater", "last")}
    withdrawn = Assignment.objects.filter(round=round_, rater__in=raters, state=Assignment.State.WITHDRAWN).order_by()
    withdrawn = withdrawn.filter(item__in=[item for item, _, _ in given])
    had = {(item, rater): pk for item, rater, pk in withdrawn.values_list("item_id", "rater_id", "pk")}
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
    if aside:
        rows = Assignment.objects.filter(round=round_, item__in=aside, rater__in=raters)
        assignment_states.withdraw(rows.filter(state__in=Assignment.UNFINISHED))
    for rater, n in Counter(rater for item, _, rater in given if item not in aside).items():
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
    """A rater who came into an open round, or came back, and how many waiting items they took; or the job for many."""

    round_rater: RoundRater
    n_given: int
    is_new: bool
    job: BulkJob | None = None


@transaction.atomic
def add_rater(*, seat: Seat, number: int, user: str, quota: int | None = None, unblinded: bool = False) -> AddedRater:
    """Puts a rater (user name or code) into an open round; in a planned one they get slots that wait, up to `quota`.

    Someone who could read answers of the round since the first was given is rejected, or, with `unblinded`, marked:
    then none of their answers there counts as before discussion. For others `unblinded` changes nothing. Asked again,
    nothing happens, unless a job that was to give them many items failed: it is run again. Raises Invalid, Conflict,
    WrongState.
    """
    seat.require(OWNER)
    study = hold_study(seat)
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
        return AddedRater(row, 0, is_new=False, job=_give_rest(study, round_, row, seat.user))
    is_unblinded = member.pk in held_unblinded(round_, [member])
    if is_unblinded and not unblinded:
        raise Conflict(
            f"{member} is no longer blind in round {number}: their role let them read its labels. Choose "
            "another rater, or add them as an unblinded rater, whose labels never count as before discussion.",
            code="not_blind_any_more",
        )
    if row is None:
        row = RoundRater.objects.create(round=round_, rater=member, quota=quota, unblinded=is_unblinded)
        row.n_assigned, row.n_finished = counted_third(round_).get(member.pk, (0, 0))
        row.save(update_fields=["n_assigned", "n_finished"])
    else:
        row.left_at, row.quota, row.unblinded = None, quota, is_unblinded
        row.save(update_fields=["left_at", "quota", "unblinded"])
    n_trained = 0 if member.is_machine else _train(round_, row)
    job = _give_by_job(study, round_, row, seat.user, ADDED, n_trained)
    n_given = n_trained
    if job is None:
        n_given += give_everything(round_, row) if member.is_machine else _fill(round_, row)
        _note_given(round_, row, seat.user, ADDED, n_given)
    return AddedRater(row, n_given, is_new=True, job=job)


@transaction.atomic
def change_quota(*, seat: Seat, number: int, rater: str, quota: int | None) -> RoundRater:
    """How many items a rater takes at most in a draft or open round (None: no limit); never fewer than they have.

    Where slots of a planned round wait, a higher quota takes of them at once, or by a job. Raises Invalid, WrongState.
    """
    seat.require(OWNER)
    study = hold_study(seat)
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
        _give_rest(study, round_, row, seat.user)
        return row
    row.quota = quota
    row.save(update_fields=["quota"])
    if round_.state == Round.State.DRAFT and (short := quotas_short(round_)):
        raise _wrong_quota(short)
    is_open = round_.state == Round.State.OPEN
    if not is_open or _give_by_job(study, round_, row, seat.user, QUOTA_CHANGED) is None:
        n_given = _fill(round_, row) if is_open else 0
        _note_given(round_, row, seat.user, QUOTA_CHANGED, n_given)
        row.refresh_from_db(fields=["n_assigned"])
    return row


ADDED, QUOTA_CHANGED = "rater added", "quota changed"


def _note_given(round_: Round, row: RoundRater, by: User, verb: str, n_given: int) -> None:
    """Records that a rater was added to an open round, or has another quota, and tells them what they were given."""
    if verb == QUOTA_CHANGED:
        _tell_given(round_, {row.rater_id: n_given})
    elif not row.rater.is_machine:
        told = InboxLine(member=row.rater, kind=InboxLine.Kind.ROUND, round=round_, n_items=n_given or None)
        InboxLine.objects.bulk_create([told], ignore_conflicts=True)
    said = {"unblinded": True} if verb == ADDED and row.unblinded else {}
    code = row.rater.code
    record(
        study=round_.study, user=by, verb=verb, round=round_.number, rater=code, quota=row.quota, given=n_given, **said
    )


def _give_by_job(
    study: Study, round_: Round, row: RoundRater, by: User, verb: str, n_trained: int = 0
) -> BulkJob | None:
    """Starts the job that gives a rater what they can take, if that is much; call it with the study locked."""
    n = _n_to_give(round_, row)
    if not needs_job(n):
        return None
    require_prepared(study)
    asked = {"round_rater": row.pk, "code": row.rater.code, "verb": verb, "n_trained": n_trained}
    return batches.start_job(study=study, user=by, kind=BulkJob.Kind.GIVING, n_total=n, round=round_, asked=asked)


def _give_rest(study: Study, round_: Round, row: RoundRater, by: User) -> BulkJob | None:
    """Runs the job again that was to give a rater many items, if it failed."""
    job = job_of(round_)
    if job is None or job.kind != BulkJob.Kind.GIVING or job.asked["round_rater"] != row.pk:
        return None
    require_prepared(study)
    asked = job.asked | {"n_trained": job.asked["n_trained"] + job.cursor.get("given", 0)}
    n = max(_n_to_give(round_, row), 1)
    return batches.start_job(study=study, user=by, kind=BulkJob.Kind.GIVING, n_total=n, round=round_, asked=asked)


def _n_to_give(round_: Round, row: RoundRater) -> int:
    """How many items a rater of an open round can take, at most."""
    if row.rater.is_machine:
        had = Assignment.objects.filter(round=round_, rater=row.rater_id).exclude(state=Assignment.State.WITHDRAWN)
        return RoundItem.objects.counting().filter(round=round_).count() - had.count()
    if round_.mode != Round.Mode.PLANNED:
        return 0
    n_free = RoundItem.objects.filter(round=round_, n_free__gt=0).count()
    if row.quota is None or not needs_job(n_free):
        return n_free
    return min(n_free, max(row.quota - n_taken(round_, row.rater_id).get(row.rater_id, 0), 0))


class GivingByJob:
    """The giving of many items to a rater of an open round, batch by batch.

    A worker that takes over sees what the rater has, and goes on with the rest.
    """

    def __init__(self, job: BulkJob) -> None:
        assert job.round is not None
        self.rows = RoundRater.objects.filter(pk=job.asked["round_rater"]).select_related("rater")
        row = self.rows.get()
        self.round_id = job.round.pk
        self.missing = missing_of_machine(job.round, row) if row.rater.is_machine else None

    def step(self, job: BulkJob) -> bool:
        """Gives the next batch; whether there is more."""
        round_ = Round.objects.select_for_update(of=("self",)).select_related("study").get(pk=self.round_id)
        row, is_open = self.rows.get(), round_.state == Round.State.OPEN
        given = job.cursor.get("given", 0)
        is_over = not is_open
        if is_open and self.missing is None:
            n, position = _fill_next(round_, row, job.cursor.get("position", 0))
            job.cursor["position"], given, is_over = position, given + n, position is None
        elif is_open and self.missing is not None:
            batch, self.missing = self.missing[: batches.BATCH_OF_OPEN], self.missing[batches.BATCH_OF_OPEN :]
            given, is_over = given + give_to_machine(round_, row, batch), not self.missing
        job.cursor["given"], job.n_done = given, min(given, job.n_total)
        if not is_over:
            return True
        if row.rater.is_machine:
            _count_everything(round_, row)
        _note_given(round_, row, job.created_by, job.asked["verb"], job.asked["n_trained"] + given)
        tell_planner(given, batches.GIVEN)
        return False


def give_everything(round_: Round, machine: RoundRater) -> int:
    """Gives a model rater every item of an open round that it has not had; how many items it has then.

    A machine holds no slot: it answers beside the raters of an item, and nobody waits for it. Nor is it trained.
    """
    give_to_machine(round_, machine, missing_of_machine(round_, machine))
    return _count_everything(round_, machine)


def missing_of_machine(round_: Round, machine: RoundRater) -> list[tuple[int, int]]:
    """The items (ids) that a model rater does not have, each with its place in an order of its own."""
    places = RoundItem.objects.counting().filter(round=round_).order_by("position")
    items = array("q", places.values_list("item", flat=True))
    had = Assignment.objects.filter(round=round_, rater=machine.rater_id).exclude(state=Assignment.State.WITHDRAWN)
    has = set(had.order_by().values_list("item_id", flat=True))
    order = own_order(len(items), round_.seed, machine.rater_id)
    return [(items[place], n) for n, place in enumerate(order, start=1) if items[place] not in has]


def give_to_machine(round_: Round, machine: RoundRater, places: Sequence[tuple[int, int]]) -> int:
    """Gives items to a model rater, those again that were withdrawn from it; how many."""
    rows = Assignment.objects.filter(round=round_, rater=machine.rater_id, item__in=[item for item, _ in places])
    had = set(rows.values_list("item_id", flat=True))
    n_again = assignment_states.give_again(rows)
    new = [(item, machine.rater_id, None, n) for item, n in places if item not in had]
    assignment_states.give(round_, new)
    return n_again + len(new)


def _count_everything(round_: Round, machine: RoundRater) -> int:
    machine.n_assigned = RoundItem.objects.counting().filter(round=round_).count()
    machine.save(update_fields=["n_assigned"])
    return machine.n_assigned


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
    n_given, position = _fill_next(round_, row, 0)
    while position is not None:
        n, position = _fill_next(round_, row, position)
        n_given += n
    return n_given


def _fill_next(round_: Round, row: RoundRater, after: int) -> tuple[int, int | None]:
    """Gives the free slots that a rater can take of the next items that have one.

    How many, and the place in the round's order that was looked at last; None: there is no more.
    """
    free = free_slots(round_, after, batches.BATCH_OF_OPEN)
    rater = row.rater_id
    own = Assignment.objects.filter(round=round_, rater=rater, item__in=[each.item for each in free])
    own = own.exclude(state=Assignment.State.WITHDRAWN).order_by()
    had = {item: {rater} for item in own.values_list("item_id", flat=True)}
    n_had = n_taken(round_, rater).get(rater, 0)
    room = None if row.quota is None else max(row.quota - n_had, 0)
    found = new_holders([each.item for each in free], had, {rater: n_had}, {rater: room}, f"came {round_.seed} {rater}")
    took = [each for each, (_, to) in zip(free, found, strict=True) if to is not None]
    _append(round_, [(each.item, each.slot, rater) for each in took])
    RoundItem.objects.filter(round=round_, item__in=[each.item for each in took]).update(n_free=F("n_free") - 1)
    is_over = len({each.item for each in free}) < batches.BATCH_OF_OPEN or (room is not None and len(took) >= room)
    return len(took), None if is_over else free[-1].position
