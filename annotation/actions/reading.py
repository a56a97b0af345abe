"""Lines of the audit log about who read single answers of rounds under way."""

from collections.abc import Iterable

from django.utils import timezone

from annotation.access import ADJUDICATOR, OWNER, RATER, Seat
from annotation.actions.studies import record
from annotation.models import AuditEvent, Round
from annotation.queries.giving import READ

PAGE, REST, FILE = "page", "REST", "file"
"""The doors that answers are read through."""


def note_reading(seat: Seat, rounds: Iterable[Round], what: str, door: str) -> None:
    """Records that somebody reads single answers of open rounds, or, as a rater alone, of rounds that are resolved.

    Raters who only rate and have such a line are not blind any more where a third one is asked. Nothing is recorded of
    rounds that they don't read, or that are closed. There is one line for each person, round, door and hour, and
    `what` was read first. The operator's shell leaves none. No query where no round is under way, else one and one for
    each new line.
    """
    if seat.user.pk is None or seat.link is not None:
        return
    only_rates = seat.has_role(RATER) and not seat.has_role(OWNER, ADJUDICATOR)
    states = (Round.State.OPEN, Round.State.RESOLVING) if only_rates else (Round.State.OPEN,)
    numbers = [each.number for each in rounds if each.state in states and each.pk not in seat.sealed_round_ids]
    if not numbers:
        return
    hour = timezone.now().replace(minute=0, second=0, microsecond=0)
    lines = AuditEvent.objects.filter(study=seat.study, user=seat.user, verb=READ, at__gte=hour, detail__door=door)
    recorded = set(lines.order_by().values_list("detail__round", flat=True))
    for number in numbers:
        if number not in recorded:
            record(study=seat.study, user=seat.user, verb=READ, round=number, what=what, door=door)
