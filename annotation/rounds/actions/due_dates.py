"""Due date of a round: a day that its raters see; nothing else depends on it."""

from datetime import date

from django.db import transaction
from django.utils import timezone

from annotation.core.access import OWNER, Seat, get_round
from annotation.core.audit import record
from annotation.core.errors import Invalid, WrongState
from annotation.models import Round

NO_DATE = "Enter a day as 2027-05-31, or null for none."


def read_due(given: object, fields: dict[str, list[str]]) -> date | None:
    """The day of a request; what is wrong goes into `fields`."""
    if given is None or given == "":
        return None
    try:
        due = given if isinstance(given, date) else date.fromisoformat(given if isinstance(given, str) else "")
    except ValueError:
        fields["due_on"] = [NO_DATE]
        return None
    if due < timezone.now().date():
        fields["due_on"] = [f"{due.isoformat()} is over. Choose today or a later day."]
    return due


@transaction.atomic
def set_due(*, seat: Seat, number: int, due_on: object) -> Round:
    """Sets or removes the due date of a draft or open round. Raises Invalid, WrongState for a round that is over."""
    seat.require(OWNER)
    round_ = Round.objects.select_for_update(of=("self",)).get(pk=get_round(seat, number).pk)
    seat.require_again()
    if round_.state not in (Round.State.DRAFT, Round.State.OPEN):
        raise WrongState(f"Round {number} is {round_.state}; only a draft or an open round has a due date to change.")
    fields: dict[str, list[str]] = {}
    due = read_due(due_on, fields)
    if fields:
        raise Invalid(f"The due date was not changed. {fields['due_on'][0]}", fields=fields)
    if due != round_.due_on:
        round_.due_on = due
        round_.save(update_fields=["due_on"])
        record(study=seat.study, user=seat.user, verb="due date set", round=number, due_on=due and due.isoformat())
    return round_
