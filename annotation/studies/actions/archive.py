"""Archive: archiving and unarchiving a study."""

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from accounts.permissions import require_private_account
from annotation.core.access import OWNER, Seat
from annotation.core.audit import record
from annotation.core.errors import WrongState
from annotation.core.locks import hold_study, require_prepared
from annotation.models import Plan, Round, Study


@transaction.atomic
def archive_study(*, seat: Seat) -> Study:
    """From now on the study is only read. Raises WrongState while a round is open or a plan is being run.

    Raises Conflict while a bulk job of the study is at work, such as one that opens a round.

    Raises Forbidden for the people of an open demo, who would end it for the next visitor.
    """
    seat.require(OWNER)
    if settings.DEMO_OPEN:
        require_private_account(seat.user, "don't archive it")
    study = hold_study(seat)
    if study.archived_at is not None:
        return study
    require_prepared(study)
    is_open = Round.objects.filter(study=study, state=Round.State.OPEN).order_by("number").first()
    if is_open is not None:
        raise WrongState(
            f"Round {is_open.number} is open, and its raters could not finish it. Move it to resolving first, "
            "then archive the study."
        )
    if Plan.objects.filter(study=study, state__in=Plan.AT_WORK).exists():
        raise WrongState("A migration is running. Archive the study when it has finished.")
    study.archived_at = timezone.now()
    study.save(update_fields=["archived_at"])
    record(study=study, user=seat.user, verb="study archived")
    seat.study.archived_at = study.archived_at
    return study


@transaction.atomic
def take_out_of_archive(*, seat: Seat) -> Study:
    """The study is worked on again."""
    seat.require(OWNER)
    study = hold_study(seat)
    if study.archived_at is None:
        return study
    study.archived_at = None
    study.save(update_fields=["archived_at"])
    record(study=study, user=seat.user, verb="study taken out of the archive")
    seat.study.archived_at = None
    return study
