"""Next item of a rater: a waiting assignment, or a free slot of the pool."""

from django.db import connection, transaction
from django.db.models import Exists, OuterRef, QuerySet

from annotation.assignments.actions import states_and_leases as assignment_states
from annotation.assignments.actions.finishing import finish_if_done
from annotation.assignments.queries import has_everything, has_left, n_taken
from annotation.calibration.actions.training import require_admission
from annotation.core.access import RATER, Seat, get_own_assignment, hold_state
from annotation.core.errors import Conflict, Forbidden, MinimumNotReached, OpenedElsewhere
from annotation.core.locks import require_prepared
from annotation.labeling.queries.assignments import (
    ITEM_TO_READ,
    has_part_in,
    is_third_of_pool,
    peek,
    waiting_assignment,
)
from annotation.models import Assignment, Round, RoundItem, RoundRater
from annotation.models.assignment_kinds import RATERS
from shared.compiled_queries import CompiledQuery
from shared.foreign_requests import is_opened_elsewhere


def take_next(*, seat: Seat, round_: Round, after: str | None = None) -> Assignment | None:
    """The assignment to work on now, or None; asked again, the same one until it is submitted or skipped.

    Someone who is away gets None until they return (`require_here` says so). In a pool this takes or renews a lease.
    `after` looks ahead of that assignment and takes none; then the assignment handed back may be one that does not
    exist yet (without an id).

    Raises Held where the rater has not reached the round's minimum on training items and only other items are left.
    """
    seat.require(RATER)
    assert seat.membership is not None
    if seat.membership.is_away and has_part_in(round_, seat.membership):
        return None
    if round_.state == Round.State.RESOLVING and (found := waiting_assignment(round_, seat.membership)):
        return found
    if round_.state != Round.State.OPEN:
        if round_.state == Round.State.DRAFT:
            require_prepared(seat.study)
        if has_part_in(round_, seat.membership):
            return None
        raise Forbidden(f"You are not a rater of round {round_.number}.")
    if after is not None:
        ahead = peek(round_, get_own_assignment(seat, after))
        if ahead is not None:
            require_admission(round_, seat.membership, ahead)
        return ahead
    found = waiting_assignment(round_, seat.membership)
    if found is not None and is_third_of_pool(round_, found):
        return _before_third(seat, round_) or found
    if found is not None or round_.mode == Round.Mode.POOL:
        require_admission(round_, seat.membership, found)
    is_from_pool = round_.mode == Round.Mode.POOL and not (
        seat.membership.is_machine and has_everything(round_, seat.membership)
    )
    if is_from_pool and (found is None or not assignment_states.renew(found)):
        _free_expired(round_)
        found = _take_from_pool(seat, round_)
    if found is None:
        if not has_part_in(round_, seat.membership):
            raise Forbidden(f"You are not a rater of round {round_.number}.")
        if has_left(round_, seat.membership):
            raise Forbidden(f"You left round {round_.number}, so you get no items in it. Your labels stay and count.")
        finish_if_done(round_.pk)
    return found


def _before_third(seat: Seat, round_: Round) -> Assignment | None:
    """What the pool still has for someone who is asked for items as a third rater, too."""
    assert seat.membership is not None
    try:
        require_admission(round_, seat.membership, None)
    except MinimumNotReached:
        return None
    _free_expired(round_)
    return _take_from_pool(seat, round_)


def require_present(seat: Seat) -> None:
    """Raises Conflict for a rater who is away, with the day of their return."""
    member = seat.membership
    if member is not None and member.is_away:
        assert member.away_until is not None
        raise Conflict(
            f"You are away until {member.away_until:%-d %B %Y}, so you get no items. Your assignments are "
            "kept for you. End your absence to continue now.",
            code="away",
        )


def take_following(*, seat: Seat, round_: Round) -> tuple[Assignment | None, MinimumNotReached | None]:
    """What comes after a submit, or why nothing does although something is left."""
    try:
        return take_next(seat=seat, round_=round_), None
    except MinimumNotReached as error:
        return None, error


def take_beside_maybes(*, seat: Seat, round_: Round) -> None:
    """In a pool, takes the next item for a rater who put off all that they hold as a maybe.

    Renews their leases, so a maybe goes back to the pool two hours after its rater last looked at the list. Who is
    asked as a third rater takes the same items as if they were not (`is_third_of_pool`).
    """
    assert seat.membership is not None
    if round_.mode != Round.Mode.POOL or round_.state != Round.State.OPEN or seat.membership.is_away:
        return
    held = Assignment.objects.filter(round=round_, rater=seat.membership, state__in=Assignment.UNFINISHED)
    assignment_states.renew_all(held)
    if held.filter(RATERS, maybe=False).exists():
        return
    assignment_states.release_expired(round_.pk)
    _take_from_pool(seat, round_, past_maybes=True)


@transaction.atomic
def _take_from_pool(seat: Seat, round_: Round, *, past_maybes: bool = False) -> Assignment | None:
    """Takes the next free slot in the round's order that this rater has not had.

    Who holds an item gets that one; with `past_maybes` another one, if all that they hold are maybes.

    The rater walks through the order once, so the cost does not grow with what lies behind; slots that came free
    behind them are looked for at the end. Nothing is taken for a page of another site: OpenedElsewhere.
    """
    if hold_state(round_.pk) != Round.State.OPEN:
        return None
    assert seat.membership is not None
    walker = _walker.first(round_.pk, seat.membership.pk)
    if walker is None:  # a third rater at most
        return None
    walker.round, walker.rater = round_, seat.membership
    found = waiting_assignment(round_, walker.rater)
    if found is not None and not is_third_of_pool(round_, found) and not past_maybes:
        return found
    if past_maybes and _has_open(walker):
        return None
    if walker.left_at is not None or _is_at_quota(walker):
        return None
    place = _free_ahead.first(round_.pk, walker.walked, walker.rater_id)
    is_new = place is not None
    if place is None:
        had = Assignment.objects.filter(round=round_, rater=walker.rater).exclude(state=Assignment.State.WITHDRAWN)
        place = _free(round_.pk).select_for_update(of=("self",)).exclude(item__in=had.values("item")).first()
    if place is None:
        return None
    if is_opened_elsewhere():
        raise OpenedElsewhere("A page of another site opened this. If you open it, you are assigned the next item.")
    held = {slot for (slot,) in _slots_held.all(round_.pk, place.item_id)}
    slot = next(n for n in range(1, place.n_raters + 1) if n not in held)
    taken = assignment_states.lease(place, walker, slot, is_new)
    walker.walked = max(walker.walked, place.position)
    with connection.cursor() as cursor:  # one trip for what is done with every item of a pool
        cursor.execute(
            """
            WITH taken AS (UPDATE annotation_rounditem SET n_free = n_free - 1 WHERE id = %s)
            UPDATE annotation_roundrater SET walked = %s, n_assigned = %s WHERE id = %s
            """,
            [place.pk, walker.walked, walker.n_assigned, walker.pk],
        )
    return taken or waiting_assignment(round_, walker.rater)


def _has_open(walker: RoundRater) -> bool:
    """Whether a rater of a pool holds an item that is not a maybe."""
    held = Assignment.objects.filter(RATERS, round=walker.round_id, rater=walker.rater_id)
    return held.filter(state=Assignment.State.LEASED, maybe=False).exists()


def _free(round_id: int) -> QuerySet[RoundItem]:
    return RoundItem.objects.filter(round=round_id, n_free__gt=0).order_by("position").select_related(ITEM_TO_READ)


def _ahead(round_id: int, walked: int, rater: int) -> QuerySet[RoundItem]:
    """What the rater never had: a sheet, or a request for a third answer, may have given them items further on."""
    had = Assignment.objects.filter(round=round_id, item=OuterRef("item"), rater=rater)
    free = _free(round_id).select_for_update(of=("self",), skip_locked=True)
    return free.filter(~Exists(had), position__gt=walked)[:1]


def _held(round_id: int, item: int) -> QuerySet[Assignment, tuple[int | None]]:
    given = Assignment.objects.filter(round=round_id, item=item).exclude(state=Assignment.State.WITHDRAWN)
    return given.order_by().values_list("slot")


_walker = CompiledQuery(
    lambda round_id, rater: RoundRater.objects.select_for_update().filter(round=round_id, rater=rater).order_by(),
    int,
    int,
)
_free_ahead = CompiledQuery(_ahead, int, int, int)
_slots_held = CompiledQuery(_held, int, int)


def _is_at_quota(walker: RoundRater) -> bool:
    """Whether a rater without unfinished items has had their share, of which training and arbitrating are no part."""
    if walker.quota is None or walker.n_finished < walker.quota:
        return False
    return n_taken(walker.round, walker.rater_id).get(walker.rater_id, 0) >= walker.quota


def _free_expired(round_: Round) -> None:
    """Gives back the slots of leases that ran out; in a transaction of its own, so takers do not wait in a ring."""
    if not assignment_states.has_expired(round_.pk):
        return
    with transaction.atomic():
        if hold_state(round_.pk) == Round.State.OPEN:
            assignment_states.release_expired(round_.pk)
