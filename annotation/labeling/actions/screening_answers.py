"""Screening answers of raters: in, out, maybe, and the keywords to highlight."""

from django.db import transaction

from annotation.calibration.actions.training import require_admission
from annotation.core.access import RATER, Seat, get_own_assignment
from annotation.core.errors import Conflict, Invalid, WrongState
from annotation.labeling.actions.answers import SubmitResult, submit_annotation
from annotation.labeling.queries.assignments import answer_of, draft_of
from annotation.labels.screening import answer_to_screen, read_keywords
from annotation.models import Assignment, Membership, Round
from taxonomy.queries import published_version


def answer_screening(
    *,
    seat: Seat,
    assignment: object,
    round_number: int,
    side: str,
    reason: str = "",
    expected: int | None = None,
    seconds: int | None = None,
) -> SubmitResult:
    """Appends a rater's in or out of the reading pane, out with the key of its reason, like any other answer.

    Memo, flag, confidence and fitting quotes of what the rater gave or typed before stay. Raises Conflict for an issue
    that the rater split, whose parts have answers of their own, and whatever `submit_annotation` raises.
    """
    found = get_own_assignment(seat, assignment, round_number=round_number)
    _require_screening(found.round)
    if expected is not None and found.current is not None and found.current.revision != expected:
        raise Conflict("You answered this issue in another tab or on another device. Reload the page.", code="stale")
    before = draft_of(found) or answer_of(found, published_version(found.round.taxonomy_version_id))
    parts = before.get("parts") if before else None
    if isinstance(parts, list) and len(parts) > 1:
        raise Conflict("You split this issue into parts. Answer it on the labeling page, part by part.")
    body = answer_to_screen(side, reason, before)
    return submit_annotation(
        seat=seat, assignment=assignment, round_number=round_number, body={**body, "seconds": seconds}
    )


@transaction.atomic
def set_maybe(*, seat: Seat, assignment: object, maybe: bool, round_number: int | None = None) -> Assignment:
    """Puts an issue off as a maybe, or takes that back; it stays to be answered. Raises Invalid, Conflict, WrongState.

    Nobody else learns of it, and it is no answer.
    """
    found = get_own_assignment(seat, assignment, lock=True, round_number=round_number)
    _require_screening(found.round)
    require_admission(found.round, found.rater, found)
    if found.state in Assignment.FINISHED:
        raise Conflict(
            "You already answered this issue, so it can’t be a maybe. Choose In or Out to change your answer."
        )
    is_asked = found.is_arbiter and found.round.state == Round.State.RESOLVING
    if found.state == Assignment.State.WITHDRAWN or not (found.round.state == Round.State.OPEN or is_asked):
        raise WrongState("This issue is no longer assigned to you. Reload your list.")
    found.maybe = maybe
    Assignment.objects.filter(pk=found.pk).update(maybe=maybe)
    return found


def _require_screening(round_: Round) -> None:
    if round_.kind != Round.Kind.SCREENING:
        raise Conflict(f"Round {round_.number} is not a screening round. Label its items on the labeling page.")


def set_own_keywords(*, seat: Seat, keywords: object) -> Membership:
    """Sets the words that are highlighted for a rater while screening, beside the study's. Raises Invalid."""
    seat.require(RATER)
    assert seat.membership is not None
    fields: dict[str, list[str]] = {}
    seat.membership.screening_keywords = read_keywords(keywords, fields, "keywords")
    if fields:
        raise Invalid("The keywords were not saved.", fields=fields)
    seat.membership.save(update_fields=["screening_keywords"])
    return seat.membership
