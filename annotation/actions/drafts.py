"""Rounds that nobody labels yet: a draft is removed where it was made by mistake."""

from django.db import transaction

from annotation.access import OWNER, Seat
from annotation.actions.headline import require_not_in_headline
from annotation.actions.rounds import hold_round
from annotation.actions.studies import record
from annotation.errors import WrongState
from annotation.models import Assignment, Round, RoundItem, RoundRater


@transaction.atomic
def remove_draft(*, seat: Seat, number: int) -> None:
    """Removes a draft round with its places; its items stay in the study. Raises WrongState for any other round.

    The audit keeps that there was one. Its number is used again where no later round was made. A worklist belongs to
    its plan, which makes, opens and undoes it.
    """
    seat.require(OWNER)
    round_ = hold_round(seat, number)
    if round_.state != Round.State.DRAFT:
        raise WrongState(
            f"Round {number} is {round_.state}; only a draft can be removed, for nobody labelled in it yet."
        )
    if round_.kind == Round.Kind.RELABEL:
        raise WrongState(f"Round {number} is the worklist of a plan; undo the plan instead.")
    require_not_in_headline(seat, round_)
    Assignment.objects.filter(round=round_).delete()  # of an opening that failed
    n_items, _ = RoundItem.objects.filter(round=round_).delete()
    RoundRater.objects.filter(round=round_).delete()
    kind = round_.kind
    Round.objects.filter(pk=round_.pk).delete()
    record(study=seat.study, user=seat.user, verb="draft round removed", round=number, kind=kind, items=n_items)
