"""Waiting work of a person in all studies: items, third ratings, disagreements, and study overviews."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from django.db.models import Count, Exists, OuterRef, Q, QuerySet, Subquery

from accounts.models import User
from annotation.assignments.queries import below_quota
from annotation.calibration.queries.training import is_held
from annotation.core.access import ADJUDICATOR, OWNER, Seat
from annotation.models import Assignment, Membership, Round, RoundItem, RoundRater, Study
from annotation.models.assignment_kinds import THIRD_RATERS
from annotation.rounds.queries import RoundLine, n_skipped, round_lines


@dataclass(frozen=True)
class WaitingRound:
    """A round that waits for a rater; in a pool nobody knows how many of its items will be theirs.

    `is_third`: they are asked as a third rater where others differ. `is_held`: they are below the round's minimum on
    training items, so it has nothing for them before its owner acts.
    """

    round: Round
    n_finished: int
    n_left: int | None
    is_third: bool = False
    away_until: date | None = None
    n_skipped: int = 0
    is_held: bool = False

    @property
    def n_total(self) -> int | None:
        return None if self.n_left is None else self.n_finished + self.n_left


def waiting_for(user: User) -> list[WaitingRound]:
    """The open rounds in which something is left for this person to label.

    One query, and some more for each round below whose minimum they are.
    """
    unfinished = Assignment.objects.filter(
        round=OuterRef("round"), rater=OuterRef("rater"), state__in=Assignment.UNFINISHED
    )
    had = Assignment.objects.filter(
        round=OuterRef("round"), item=OuterRef("item"), rater=OuterRef(OuterRef("rater"))
    ).exclude(state=Assignment.State.WITHDRAWN)
    free = RoundItem.objects.filter(~Exists(had), round=OuterRef("round"), n_free__gt=0)
    rows = (
        RoundRater.objects.filter(rater__user=user, round__state=Round.State.OPEN)
        .filter(Exists(unfinished) | Q(round__mode=Round.Mode.POOL, left_at=None) & Exists(free) & below_quota())
        .select_related("round__study", "round__taxonomy_version", "rater")
        .annotate(n_skipped=n_skipped(round=OuterRef("round"), rater=OuterRef("rater")))
        .order_by("round__opened_at", "pk")
    )
    return [
        WaitingRound(
            row.round,
            row.n_finished,
            None if row.round.mode == Round.Mode.POOL else max(row.n_assigned - row.n_finished, 0),
            away_until=row.rater.away_until if row.rater.is_away else None,
            n_skipped=row.n_skipped,
            is_held=is_held(row.round, row.rater),
        )
        for row in rows
    ]


def third_ratings_for(user: User) -> list[WaitingRound]:
    """The rounds in which this person still has to answer items as a third rater; one query.

    Those of an open round that they rate in anyway are among the items left there (`waiting_for`).
    """
    rates = RoundRater.objects.filter(round=OuterRef("round"), rater=OuterRef("rater"))
    asked = Assignment.objects.filter(THIRD_RATERS, rater__user=user, state__in=Assignment.UNFINISHED)
    asked = asked.filter(
        Q(round__state=Round.State.RESOLVING) | Q(round__state=Round.State.OPEN) & ~Exists(rates),
        round__study__archived_at=None,
    )
    counted = dict(asked.order_by().values_list("round").annotate(n=Count("pk")))
    rounds = Round.objects.filter(pk__in=counted).select_related("study") if counted else Round.objects.none()
    return [WaitingRound(each, 0, counted[each.pk], is_third=True) for each in rounds.order_by("opened_at", "pk")]


def rounds_to_resolve(user: User) -> QuerySet[Round]:
    """Rounds in which this person decides and decisions may be taken now, those they are blind in left out."""
    deciding = Membership.objects.filter(study=OuterRef("study"), user=user, roles__overlap=[OWNER, ADJUDICATOR])
    own = Assignment.objects.filter(round=OuterRef("pk"), rater__user=user).exclude(state=Assignment.State.WITHDRAWN)
    present = RoundRater.objects.filter(round=OuterRef("pk"), rater__user=user, left_at__isnull=True)
    is_blind = Exists(own) | Exists(present)
    item_by_item = Q(state=Round.State.OPEN, study__resolve_when=Study.ResolveWhen.ITEM) & ~is_blind
    return (
        Round.objects.filter(Exists(deciding), study__archived_at__isnull=True)
        .filter(Q(state=Round.State.RESOLVING) | item_by_item)
        .select_related("study", "taxonomy_version")
        .order_by("opened_at", "pk")
    )


@dataclass(frozen=True)
class StudyLine:
    """A study with the person's place in it, and the rounds that tell where it stands: those under way, or the last."""

    study: Study
    membership: Membership | None
    rounds: Sequence[RoundLine]


def study_lines(user: User, studies: Sequence[Study]) -> list[StudyLine]:
    """One line for each study; two queries, a few more for each queue, and round with items that are screened out."""
    mine = {row.study_id: row for row in Membership.objects.filter(user=user, study__in=[each.pk for each in studies])}
    counting = Round.objects.exclude(state=Round.State.UNDONE)
    newest = counting.filter(study=OuterRef("study")).order_by("-number").values("pk")[:1]
    version_mapping = ~Q(state=Round.State.CLOSED) | Q(pk=Subquery(newest))
    by_study: dict[int, list[RoundLine]] = defaultdict(list)
    for line in reversed(round_lines(counting.filter(version_mapping, study__in=[each.pk for each in studies]))):
        if line.round.kind == Round.Kind.RELABEL or (line.n_out and line.round.state != Round.State.CLOSED):
            # Without the items whose labels are withheld from this person, and as if none were screened out.
            seat = Seat(user, line.round.study, mine.get(line.round.study_id))
            (line,) = round_lines(Round.objects.filter(pk=line.round.pk), seat=seat)
        by_study[line.round.study_id].append(line)
    return [StudyLine(each, mine.get(each.pk), _telling(by_study[each.pk])) for each in studies]


def _telling(lines: Sequence[RoundLine]) -> Sequence[RoundLine]:
    """The rounds under way, else the newest."""
    return [line for line in lines if line.round.state != Round.State.CLOSED] or lines[-1:]
