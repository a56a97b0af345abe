"""E-mail contents: waiting work of a person, and the progress of the studies that they own.

An e-mail to a rater never depends on others' answers. For rounds in which they are blind it counts their own
assignments, without third ratings, because others' answers cause those.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date, datetime

from django.db.models import Count

from accounts.models import User
from annotation.core.access import ADJUDICATOR, OWNER, Seat, get_seat
from annotation.labels.queries.verdicts import n_open_proposals
from annotation.models import Assignment, Membership, Round, Study
from annotation.models.assignment_kinds import RATERS
from annotation.proposals.queries import came_back
from annotation.resolving.queries.queue import open_disagreements
from annotation.rounds.queries import round_lines

MAIL = User.Mail


@dataclass(frozen=True)
class MailLine:
    """A sentence about one study, and the path of the page that it leads to."""

    study: Study
    words: str
    round: Round


@dataclass
class StudySummary:
    """Who waits for whom in one study."""

    study: Study
    lines: list[str] = field(default_factory=list)


def waiting_lines(user: User) -> list[MailLine]:
    """What waits for a person of the kinds that they want; empty where nothing does."""
    found: list[MailLine] = []
    if user.wants(MAIL.ITEMS):
        found += _items(user)
    if user.wants(MAIL.PROPOSALS):
        for back in came_back(user):
            if back.n:
                words = f"{_n(back.n, 'item')} returned to you, because your proposal was answered"
                found.append(MailLine(back.round.study, words, back.round))
    for seat, rounds in _decided_by(user):
        for round_ in rounds:
            if user.wants(MAIL.DISAGREEMENTS) and _is_decided(round_) and (n := open_disagreements(seat, round_).n):
                found.append(MailLine(seat.study, f"{_n(n, 'disagreement')} to resolve", round_))
            n = n_open_proposals(round_, without=seat.withheld_in(round_)) if user.wants(MAIL.PROPOSALS) else 0
            if n and seat.has_role(OWNER):
                found.append(
                    MailLine(seat.study, f"{_n(n, 'proposed category', 'proposed categories')} to answer", round_)
                )
    return found


def _items(user: User) -> list[MailLine]:
    """Own assignments in open rounds; nothing of studies in which the person is away. Two queries."""
    own = Assignment.objects.filter(
        RATERS,
        rater__user=user,
        state__in=Assignment.UNFINISHED,
        round__state=Round.State.OPEN,
        round__study__archived_at=None,
    )
    counts = dict(own.order_by().values_list("round").annotate(n=Count("pk")))
    rounds = Round.objects.filter(pk__in=counts).select_related("study").order_by("opened_at", "pk")
    away = {each.study_id for each in Membership.objects.filter(user=user) if each.is_away}
    return [
        MailLine(each.study, f"{_n(counts[each.pk], 'item')} to label{_due(each.due_on)}", each)
        for each in rounds
        if each.study_id not in away
    ]


def _decided_by(user: User) -> list[tuple[Seat, list[Round]]]:
    """The studies in which someone resolves, with the rounds under way of which nothing is hidden from them."""
    studies = Study.objects.filter(
        memberships__user=user, memberships__roles__overlap=[OWNER, ADJUDICATOR], archived_at=None
    )
    found = []
    for study in studies.distinct().order_by("pk"):
        seat = get_seat(user, study.slug)
        rounds = study.rounds.filter(state__in=(Round.State.OPEN, Round.State.RESOLVING)).order_by("number")
        seen = [each for each in rounds.select_related("taxonomy_version") if each.pk not in seat.hidden_round_ids]
        for each in seen:
            each.study = seat.study
        found.append((seat, seen))
    return found


def _is_decided(round_: Round) -> bool:
    is_open = round_.state == Round.State.OPEN and round_.study.is_resolved_by_item
    return is_open or round_.state == Round.State.RESOLVING


def summaries_of(user: User) -> list[StudySummary]:
    """Who waits for whom since when, of each study that this person owns and in which someone waits."""
    found = []
    for seat, rounds in _decided_by(user):
        if not seat.has_role(OWNER):
            continue
        summary = StudySummary(seat.study)
        waiting = Round.objects.filter(pk__in=[each.pk for each in rounds])
        for line in round_lines(waiting, seat=seat, with_raters=True):
            round_ = line.round
            if round_.state == Round.State.OPEN:
                for each in line.unfinished_raters:
                    since = _since(round_.opened_at)
                    words = (
                        f"{each.rater.signed_name} has {_n(each.n_left, 'item')} left in round {round_.number}{since}"
                    )
                    summary.lines.append(words + _due(round_.due_on))
        for round_ in rounds:
            if _is_decided(round_) and (n := open_disagreements(seat, round_).n):
                who = _names(seat.study, ADJUDICATOR) or "you"
                since = _since(round_.decided_since)
                summary.lines.append(f"{_n(n, 'disagreement')} of round {round_.number} {_wait(n)} for {who}{since}")
            if n := n_open_proposals(round_, without=seat.withheld_in(round_)):
                words = _n(n, "proposed category", "proposed categories")
                summary.lines.append(
                    f"{words} of round {round_.number} {_wait(n)} for an owner{_since(round_.opened_at)}"
                )
        if summary.lines:
            found.append(summary)
    return found


def _names(study: Study, role: str) -> str:
    members: Sequence[Membership] = [
        each
        for each in Membership.objects.filter(study=study).select_related("user")
        if each.user and each.has_role(role)
    ]
    return ", ".join(each.signed_name for each in members)


def _n(n: int, one: str, many: str = "") -> str:
    return f"{n:,} {one if n == 1 else many or one + 's'}"


def _wait(n: int) -> str:
    return "waits" if n == 1 else "wait"


def _since(when: datetime | None) -> str:
    return f", since {when:%-d %B %Y}" if when else ""


def _due(day: date | None) -> str:
    return f", due on {day:%-d %B %Y}" if day else ""
