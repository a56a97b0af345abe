"""Draft rounds: one is deleted, and a round opened by mistake becomes a draft again."""

from django.db import transaction

from annotation.agreement_report.actions import require_not_in_headline
from annotation.core.access import OWNER, Seat
from annotation.core.audit import record
from annotation.core.errors import WrongState
from annotation.core.locks import hold_round
from annotation.core.numbers import ROUND_REMOVED
from annotation.models import (
    Annotation,
    Assignment,
    BulkJob,
    Draft,
    InboxLine,
    Proposal,
    Remark,
    Resolution,
    Round,
    RoundItem,
    RoundRater,
)


@transaction.atomic
def remove_draft(*, seat: Seat, number: int) -> None:
    """Removes a draft round with its places; its items stay in the study. Raises WrongState for any other round.

    The audit log keeps that there was one. Its number is not used again. A relabeling queue is part of its plan, which
    makes, opens and undoes it.
    """
    seat.require(OWNER)
    round_ = hold_round(seat, number)
    if round_.state != Round.State.DRAFT:
        raise WrongState(
            f"Round {number} is {round_.state}. Only a draft can be deleted, because nobody has labeled it."
        )
    if round_.kind == Round.Kind.RELABEL:
        raise WrongState(f"Round {number} is the relabeling queue of a migration. Undo the migration instead.")
    if said := _said_in(round_):
        raise WrongState(
            f"{said} in round {number} while it was open, so it can't be deleted. Open it again, and close it."
        )
    require_not_in_headline(seat, round_)
    Assignment.objects.filter(round=round_).delete()  # of an opening that failed
    n_items, _ = RoundItem.objects.filter(round=round_).delete()
    RoundRater.objects.filter(round=round_).delete()
    kind = round_.kind
    Round.objects.filter(pk=round_.pk).delete()
    record(study=seat.study, user=seat.user, verb=ROUND_REMOVED, round=number, kind=kind, items=n_items)


def _said_in(round_: Round) -> str:
    """What owners and adjudicators did in a round without an answer, the beginning of a sentence; or nothing."""
    if Proposal.objects.filter(round=round_).exists():
        return "A category was proposed"
    if Remark.objects.filter(round=round_).exists():
        return "An item was discussed"
    return "An item was resolved" if Resolution.objects.filter(round=round_).exists() else ""


@transaction.atomic
def return_to_draft(*, seat: Seat, number: int) -> Round:
    """Makes an open round a draft again, as it was before it was opened; its assignments and its inbox lines go.

    Raises WrongState for a round that is not open, for a worklist, and where someone has answered or begun to, or
    an adjudicator has proposed a category. Raters who left the round meanwhile are not in the draft.
    """
    seat.require(OWNER)
    round_ = hold_round(seat, number)
    if round_.state != Round.State.OPEN:
        raise WrongState(f"Round {number} is {round_.state}; only an open round can return to a draft.")
    if round_.kind == Round.Kind.RELABEL:
        raise WrongState(f"Round {number} is the relabeling queue of a migration. Undo the migration instead.")
    given = Assignment.objects.filter(round=round_)
    list(given.select_for_update(no_key=True).order_by("pk").values_list("pk", flat=True))
    if Annotation.objects.filter(assignment__in=given).exists():
        raise WrongState(f"Someone has answered in round {number}, so it can't return to a draft.")
    if Draft.objects.filter(assignment__in=given).exists():
        raise WrongState(f"Someone has begun to answer in round {number}, so it can't return to a draft.")
    if said := _said_in(round_):
        raise WrongState(f"{said} in round {number}, so it can't return to a draft.")
    n_given, _ = given.delete()
    InboxLine.objects.filter(round=round_).delete()
    BulkJob.objects.filter(round=round_).exclude(kind=BulkJob.Kind.ROUND).delete()
    RoundItem.objects.filter(round=round_).update(n_free=0)
    raters = RoundRater.objects.filter(round=round_)
    raters.filter(left_at__isnull=False).delete()
    raters.update(n_assigned=0, n_finished=0, walked=0, admission=None)
    round_.state, round_.opened_at, round_.gate = Round.State.DRAFT, None, None
    round_.save(update_fields=["state", "opened_at", "gate"])
    record(study=seat.study, user=seat.user, verb="round returned to draft", round=number, assignments=n_given)
    return round_
