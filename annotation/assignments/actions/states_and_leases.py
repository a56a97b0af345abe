"""Assignment states: leased, renewed, released, submitted or skipped, withdrawn, assigned again.

No other module moves an assignment from one state to another. In a planned round it waits for its rater, in a pool it
is leased to the rater who takes it. A submitted or skipped assignment is finished. A withdrawn one frees its slot, and
its draft is kept for the rater who gets it again.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from django.db import connection
from django.db.models import QuerySet
from django.utils import timezone

from annotation.assignments.queries import could_read
from annotation.core.access import Seat
from annotation.models import Annotation, Assignment, Round, RoundItem, RoundRater
from annotation.models.assignment_kinds import is_rater_sql
from ingest.upsert.copying import copy
from shared.compiled_queries import CompiledQuery

LEASE = timedelta(hours=2)
RENEWED = timedelta(minutes=1)
"""A lease is lengthened at most so often."""

State = Assignment.State


def lease(place: RoundItem, walker: RoundRater, slot: int, is_new: bool) -> Assignment | None:
    """Leases a slot of a pool to a rater; None where they get an assignment again that was withdrawn from them.

    `is_new`: they never had the item. A new assignment is counted in `walker`, which the caller stores.
    """
    leased = {"slot": slot, "state": State.LEASED, "lease_until": timezone.now() + LEASE}
    had = Assignment.objects.filter(round=walker.round_id, item=place.item_id, rater=walker.rater_id)
    if not is_new and had.update(**leased):
        return None
    walker.n_assigned += 1
    taken = Assignment.objects.create(
        round=walker.round, item=place.item, rater=walker.rater, position=walker.n_assigned, **leased
    )
    Assignment._meta.get_field("draft").set_cached_value(taken, None)  # none can have been typed yet
    return taken


def renew(assignment: Assignment) -> bool:
    """Lengthens a lease, at most once a minute; False where it ran out and was given back meanwhile."""
    until = timezone.now() + LEASE
    if assignment.lease_until is not None and until - assignment.lease_until <= RENEWED:
        return True
    assignment.lease_until = until
    return bool(Assignment.objects.filter(pk=assignment.pk, state__in=Assignment.UNFINISHED).update(lease_until=until))


def renew_all(held: QuerySet[Assignment]) -> None:
    """Lengthens the leases among assignments that a rater holds."""
    held.filter(state=State.LEASED).update(lease_until=timezone.now() + LEASE)


def _run_out(round_id: int, now: datetime) -> QuerySet[Assignment, tuple[int]]:
    leased = Assignment.objects.filter(round=round_id, state=State.LEASED, lease_until__lt=now)
    return leased.order_by("lease_until").values_list("pk")[:1]


_any_run_out = CompiledQuery(_run_out, int, datetime)


def has_expired(round_id: int) -> bool:
    """Whether a lease of a round ran out; one index probe."""
    return _any_run_out.first(round_id, timezone.now()) is not None


def release_expired(round_id: int) -> None:
    """Gives back the slots of leases that ran out, a hundred at a time; call it while the round's state is held."""
    states = {"leased": State.LEASED, "withdrawn": State.WITHDRAWN}
    with connection.cursor() as cursor:
        cursor.execute(_RELEASE_EXPIRED, {"round": round_id, "now": timezone.now(), **states})


# Items are held in their order, so that two who free leases never wait for each other in a ring.
_RELEASE_EXPIRED = """
    WITH expired AS (
        SELECT id FROM annotation_assignment
        WHERE round_id = %(round)s AND state = %(leased)s AND lease_until < %(now)s
        ORDER BY lease_until LIMIT 100 FOR UPDATE SKIP LOCKED
    ), freed AS (
        UPDATE annotation_assignment SET state = %(withdrawn)s, lease_until = NULL
        WHERE id IN (SELECT id FROM expired) RETURNING item_id
    ), held AS (
        SELECT p.id, f.n FROM annotation_rounditem p JOIN (SELECT item_id, count(*) AS n FROM freed GROUP BY 1) f
            ON f.item_id = p.item_id
        WHERE p.round_id = %(round)s ORDER BY p.item_id FOR UPDATE OF p
    )
    UPDATE annotation_rounditem p SET n_free = p.n_free + h.n FROM held h WHERE p.id = h.id
"""


def submit(assignment: Assignment, annotation: Annotation, seat: Seat) -> None:
    """Submits an assignment, or skips it where the annotation has a reason, and counts it when it is done first.

    Its pointer to the blind revision moves only while its round is open and the rater sees nothing of it. Third raters,
    and model raters that left, see nothing of an item until their first answer, so that one is blind, also later; after
    it another role can show them the answers of an open round. No answer of an unblinded rater is blind, so none counts
    as before discussion. Drafts go.
    """
    round_ = assignment.round
    is_first = assignment.state in Assignment.UNFINISHED
    assignment.current = annotation
    is_extra = assignment.kind != Assignment.Kind.RATER
    is_blind = is_extra and is_first
    if round_.state == Round.State.OPEN and not is_blind:
        is_blind = not is_extra or round_.pk in seat.blind_round_ids or not could_read(assignment)
    if is_blind and not assignment.has_no_blind:  # type: ignore[attr-defined]
        assignment.blind = annotation
    assignment.state = State.SKIPPED if annotation.skip_reason else State.SUBMITTED
    assignment.lease_until = None
    with connection.cursor() as cursor:  # one trip to the database instead of three, in what is done most
        cursor.execute(
            """
            WITH pointed AS (
                UPDATE annotation_assignment SET current_id = %(current)s, blind_id = %(blind)s, state = %(state)s,
                    lease_until = NULL WHERE id = %(id)s
            ), counted AS (
                UPDATE annotation_roundrater SET n_finished = n_finished + 1
                WHERE %(is_first)s AND round_id = %(round)s AND rater_id = %(rater)s
            )
            DELETE FROM annotation_draft WHERE assignment_id = %(id)s
            """,
            {
                "id": assignment.pk,
                "current": assignment.current_id,
                "blind": assignment.blind_id,
                "state": assignment.state,
                "round": round_.pk,
                "rater": assignment.rater_id,
                "is_first": is_first,
            },
        )


def submit_imported(assignment: Assignment, slot: int | None) -> bool:
    """Submits an assignment whose answer comes from a file, with this slot if it has one; whether it was withdrawn."""
    is_back = assignment.state == State.WITHDRAWN
    assignment.slot = slot if is_back or slot is not None else assignment.slot
    assignment.state, assignment.lease_until = State.SUBMITTED, None
    assignment.save(update_fields=["slot", "state", "lease_until"])
    return is_back


def withdraw(rows: QuerySet[Assignment]) -> int:
    """Withdraws assignments; how many. Free slots are counted by the caller."""
    return rows.update(state=State.WITHDRAWN, lease_until=None)


def give_again(rows: QuerySet[Assignment]) -> int:
    """Has withdrawn ones among these assignments wait for their raters again; how many."""
    return rows.filter(state=State.WITHDRAWN).update(state=State.WAITING)


def give(round_: Round, rows: Iterable[tuple[int, int, int | None, int]]) -> None:
    """Gives slots of a planned round: (item, rater, slot, place in the rater's order) of each; one statement.

    A model rater has no slot.
    """
    columns = ["round_id", "item_id", "rater_id", "slot", "position", "state"]
    copy("annotation_assignment", columns, ((round_.pk, *row, str(State.WAITING)) for row in rows))


def give_slots_again(rows: Sequence[tuple[int, int, int]]) -> None:
    """Has withdrawn assignments wait again: (id, slot, place in the rater's order) of each; one statement."""
    if rows:
        with connection.cursor() as cursor:
            cursor.execute(_GIVE_SLOTS_AGAIN, [str(State.WAITING), *map(list, zip(*rows, strict=True))])


_GIVE_SLOTS_AGAIN = """
    UPDATE annotation_assignment a SET state = %s, slot = g.slot, position = g.position
    FROM unnest(%s::bigint[], %s::int[], %s::int[]) AS g (id, slot, position) WHERE a.id = g.id
"""


def all_is_in(round_id: int) -> bool:
    """Whether a round is open with nothing left to do; one query, so that a slot just taken is not missed.

    An arbiter, who has no slot, is not waited for. Written as SQL because it is asked after every submit.
    """
    with connection.cursor() as cursor:
        cursor.execute(_ALL_IS_IN, {"round": round_id, "unfinished": list(Assignment.UNFINISHED)})
        return bool(cursor.fetchone()[0])


_ALL_IS_IN = f"""
    SELECT EXISTS (
        SELECT FROM annotation_round r WHERE r.id = %(round)s AND r.state = 'open'
        AND NOT EXISTS (
            SELECT FROM annotation_assignment a
            WHERE a.round_id = r.id AND {is_rater_sql("a")} AND a.state = ANY(%(unfinished)s))
        AND NOT EXISTS (SELECT FROM annotation_rounditem i WHERE i.round_id = r.id AND i.n_free > 0))
"""  # noqa: S608
