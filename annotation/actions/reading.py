"""Lines of the audit log about who read answers, or results that show them, of rounds under way."""

from collections.abc import Iterable, Sequence

from django.utils import timezone

from accounts.models import User
from annotation.access import ADJUDICATOR, OWNER, RATER, Seat
from annotation.actions.studies import record
from annotation.models import AuditEvent, InboxLine, Round
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
    _note(seat, numbers, what, door)


def note_results(seat: Seat, what: str, door: str, number: int | None = None) -> None:
    """Records that somebody reads results (labels, agreement) of the rounds under way that they see, or of one of them.

    Results of few items show single answers. Owners and adjudicators leave a line where they read the answers
    themselves; everyone else leaves it here, as `note_reading` does. Two queries where a round is under way.
    """
    if seat.user.pk is None or seat.link is not None or seat.has_role(OWNER, ADJUDICATOR):
        return
    rounds = Round.objects.filter(study=seat.study, state__in=(Round.State.OPEN, Round.State.RESOLVING))
    rows = rounds.order_by("number").values_list("pk", "number")
    found = [each for pk, each in rows if pk not in seat.hidden_round_ids and number in (None, each)]
    _note(seat, found, what, door)


def note_inbox(user: User, lines: Iterable[InboxLine], door: str) -> None:
    """Records whose remarks somebody reads in the inbox: each counts as reading the discussion of its round."""
    told = [line for line in lines if line.remark is not None]
    for member in {line.member_id: line.member for line in told}.values():
        of_member = {line.round_id: line.round for line in told if line.member_id == member.pk}
        study = next(iter(of_member.values())).study
        note_reading(Seat(user, study, member), of_member.values(), "inbox", door)


def _note(seat: Seat, numbers: Sequence[int], what: str, door: str) -> None:
    if not numbers:
        return
    hour = timezone.now().replace(minute=0, second=0, microsecond=0)
    lines = AuditEvent.objects.filter(study=seat.study, user=seat.user, verb=READ, at__gte=hour, detail__door=door)
    recorded = set(lines.order_by().values_list("detail__round", flat=True))
    for number in numbers:
        if number not in recorded:
            record(study=seat.study, user=seat.user, verb=READ, round=number, what=what, door=door)
