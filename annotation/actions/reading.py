"""Lines of the audit log about who read single answers of open rounds."""

from collections.abc import Iterable

from django.utils import timezone

from annotation.access import Seat
from annotation.actions.studies import record
from annotation.models import AuditEvent, Round

READ = "open answers read"
PAGE, REST, FILE = "page", "REST", "file"
"""The doors that answers are read through."""


def note_reading(seat: Seat, rounds: Iterable[Round], what: str, door: str) -> None:
    """Records that somebody reads single answers of open rounds; nothing of rounds that they don't read, or are over.

    There is one line for each person, round, door and hour, and `what` was read first. The operator's shell leaves
    none. No query where no round is open, else one and one for each new line.
    """
    if seat.user.pk is None or seat.link is not None:
        return
    numbers = [
        each.number for each in rounds if each.state == Round.State.OPEN and each.pk not in seat.sealed_round_ids
    ]
    if not numbers:
        return
    hour = timezone.now().replace(minute=0, second=0, microsecond=0)
    lines = AuditEvent.objects.filter(study=seat.study, user=seat.user, verb=READ, at__gte=hour, detail__door=door)
    recorded = set(lines.order_by().values_list("detail__round", flat=True))
    for number in numbers:
        if number not in recorded:
            record(study=seat.study, user=seat.user, verb=READ, round=number, what=what, door=door)
