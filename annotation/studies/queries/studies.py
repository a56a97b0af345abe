"""Where studies, rounds and items stand, for lists and overviews; every list costs a fixed number of queries."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from typing import Any

from django.db.models import (
    Case,
    Count,
    Exists,
    F,
    IntegerField,
    Max,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    Sum,
    When,
)
from django.db.models.functions import Coalesce
from django.utils import timezone

from accounts.models import User
from annotation.assignments.planning import raters_planned, slots_short
from annotation.assignments.queries import ASKED_MEANWHILE, READ, below_quota, third_from_outside, uncounted
from annotation.calibration.queries.training import is_held
from annotation.core.access import ADJUDICATOR, OWNER, Seat
from annotation.exports.queries.made import why_hidden
from annotation.imports.queries.ratings import MARK
from annotation.labels.queries.verdicts import ARBITERS, code_order
from annotation.labels.registration import not_registered
from annotation.models import (
    Annotation,
    Assignment,
    AuditEvent,
    Export,
    Item,
    Membership,
    Round,
    RoundItem,
    RoundRater,
    Study,
)
from annotation.resolving.queries.queue import queue_of
from taxonomy.models import Taxonomy, TaxonomyVersion
from taxonomy.queries import published_version
from taxonomy.tree import TreeDimension


@dataclass(frozen=True)
class RaterLine:
    """How far one rater of a round is; counts only.

    `n_skipped` of the finished ones were skipped; None where the person who reads is not to know.
    """

    rater: Membership
    n_finished: int
    n_total: int
    n_skipped: int | None = None
    quota: int | None = None
    left_at: datetime | None = None
    unblinded: bool = False
    last_day: date | None = None
    lease_until: datetime | None = None
    n_double: int | None = None
    n_held: int = 0

    @property
    def double_share(self) -> float | None:
        """Of the items that they were assigned, how many have another rater, too; None where that is not known."""
        return self.n_double / self.n_held if self.n_double is not None and self.n_held else None

    @property
    def n_left(self) -> int:
        return 0 if self.left_at else max(self.n_total - self.n_finished, 0)

    @property
    def may_take_more(self) -> bool:
        """Of a pool: whether the next free item may be theirs."""
        is_at_quota = self.quota is not None and self.n_finished >= self.quota
        return not (self.left_at or self.rater.is_machine or is_at_quota)


@dataclass(frozen=True)
class RoundLine:
    """A round with how far it is: `n_total` answers of people are planned, `n_done` were submitted or skipped.

    `n_skipped` of these were skipped; None where the person who reads is not to know. `n_free` are slots that nobody
    holds and somebody is to take; they are planned, too. `n_out` are items of a coding round that are screened out.
    """

    round: Round
    n_items: int
    n_done: int
    n_total: int
    raters: Sequence[RaterLine] = ()
    n_free: int = 0
    n_out: int = 0
    n_skipped: int | None = None

    @property
    def n_left(self) -> int:
        return max(self.n_total - self.n_done, 0)

    @property
    def unfinished_raters(self) -> list[RaterLine]:
        return [line for line in self.raters if line.n_left and not line.rater.is_machine]

    @property
    def sentence(self) -> str:
        """Where the round stands, in a few words."""
        number, state = self.round.number, self.round.state
        if state == Round.State.OPEN:
            skipped = f", {self.n_skipped} skipped" if self.n_skipped else ""
            return f"Round {number} is open: {self.n_done} of {self.n_total} finished{skipped}"
        return {
            Round.State.DRAFT: f"Round {number} is a draft",
            Round.State.RESOLVING: f"Round {number} is being resolved",
            Round.State.CLOSED: f"Round {number} is closed",
            Round.State.UNDONE: f"Round {number} was undone",
        }[Round.State(state)]


def _number(rows: QuerySet[Any], column: str) -> Coalesce:
    return Coalesce(Subquery(rows.order_by().values(column)[:1], output_field=IntegerField()), 0)


def _out(places: QuerySet[Any]) -> QuerySet[Any]:
    """How many places of coding rounds have an item that is screened out."""
    out = places.filter(item__screening=Item.Screening.OUT).exclude(round__kind=Round.Kind.SCREENING)
    return out.annotate(n=Count("pk"))


def _n_skipped(**rater: Any) -> Coalesce:
    """How many items were skipped in a round, by one `rater` or by all people; what third raters skip, once it is over.

    A skip is an answer: it is shown as far as answers are (`_tells_skipped`).
    """
    skipped = Assignment.objects.filter(state=Assignment.State.SKIPPED, **rater).exclude(ASKED_MEANWHILE)
    return _number(skipped.order_by().values("round").annotate(n=Count("pk")), "n")


def _tells_skipped(seat: Seat | None, round_: Round) -> bool:
    return seat is not None and seat.sees_all_answers(round_.pk)


def round_lines(
    rounds: QuerySet[Round], *, seat: Seat | None = None, with_raters: bool = False, with_days: bool = False
) -> list[RoundLine]:
    """The rounds, newest first, with their counts; one query, two with raters, one more where one is open, and over.

    What people from outside a round are asked there as third raters counts as soon as the round is over. With a `seat`
    nothing counts that is withheld there.

    `with_days` adds the day of each rater's last answer, by one query for each round.
    """
    people = RoundRater.objects.filter(round=OuterRef("pk"), rater__kind=Membership.Kind.PERSON)
    raters = people.order_by().values("round")
    items = RoundItem.objects.filter(round=OuterRef("pk")).order_by().values("round")
    rows = (
        rounds.select_related("taxonomy_version", "study")
        .annotate(
            n_items=_number(items.annotate(n=Max("position")), "n"),
            n_done=_number(raters.annotate(n=Sum("n_finished")), "n"),
            n_out=_number(_out(items), "n"),
            n_skipped=_n_skipped(round=OuterRef("pk"), rater__kind=Membership.Kind.PERSON),
            n_free=_number(items.filter(n_free__gt=0).annotate(n=Sum("n_free")), "n"),
            n_total=Case(
                When(mode=Round.Mode.POOL, then=_number(items.annotate(n=Sum("n_raters")), "n")),
                default=_number(raters.annotate(n=Sum("n_assigned")), "n") + F("n_free"),
                output_field=IntegerField(),
            ),
        )
        .order_by("-number")
    )
    found = list(rows)
    unsettled = seat.unsettled_round_ids if seat else frozenset()
    meanwhile = uncounted(found, seat)
    queues = seat.withheld_queues if seat else {}
    more: dict[int, tuple[int, int]] = defaultdict(lambda: (0, 0))
    for (round_id, _), (n, n_done) in meanwhile.items():
        more[round_id] = (more[round_id][0] + n, more[round_id][1] + n_done)
    for (round_id, _), (n, n_done) in third_from_outside(found, unsettled).items():
        more[round_id] = (more[round_id][0] - n, more[round_id][1] - n_done)
    told = {row.pk for row in found if row.n_skipped and _tells_skipped(seat, row)}
    days = {row.pk: last_days(row, is_unsettled=row.pk in unsettled) for row in found} if with_days else {}
    by_round: dict[int, list[RaterLine]] = defaultdict(list)
    if with_raters:
        wanted = RoundRater.objects.filter(round__in=[row.pk for row in found]).select_related("rater__user", "round")
        wanted = wanted.annotate(n_skipped=_n_skipped(round=OuterRef("round"), rater=OuterRef("rater")))
        own = seat.membership.pk if seat and seat.membership else None
        for row in sorted(wanted, key=lambda each: code_order(each.rater.code)):
            n, n_done = meanwhile.get((row.round_id, row.rater_id), (0, 0))
            is_told = row.round_id in told or row.rater_id == own
            so_far = (row.n_finished - n_done, row.n_assigned - n, row.n_skipped if is_told else None)
            last_day = days.get(row.round_id, {}).get(row.rater_id)
            by_round[row.round_id].append(
                RaterLine(row.rater, *so_far, row.quota, row.left_at, row.unblinded, last_day)
            )
    return [
        RoundLine(
            row,
            row.n_items - len(queues.get(row.pk, ())),
            row.n_done - more[row.pk][1],
            row.n_total - (0 if row.mode == Round.Mode.POOL else more[row.pk][0]),
            by_round[row.pk],
            row.n_free,
            row.n_out,
            row.n_skipped if row.pk in told else None,
        )
        for row in found
    ]


def leases(round_: Round) -> dict[int, datetime]:
    """Until when raters of an open pool hold an item at most, by the membership's id; one query, none elsewhere.

    The full hour and not the minute: a lease is renewed when its rater asks for items, which would tell an owner who
    rates, too, how long each answer took.
    """
    if round_.mode != Round.Mode.POOL or round_.state != Round.State.OPEN:
        return {}
    held = Assignment.objects.filter(round=round_, state=Assignment.State.LEASED, lease_until__gt=timezone.now())
    ends = held.order_by().values_list("rater").annotate(until=Max("lease_until"))
    hour = timedelta(hours=1)
    return {rater: until.replace(minute=0, second=0, microsecond=0) + hour for rater, until in ends}


def double_coded(round_: Round) -> dict[int, tuple[int, int]]:
    """How many items each rater of a round has that another rater has, too, and how many in all, by membership's id.

    Training items are none of them. One query, none where every item has all raters.
    """
    if round_.double_share >= 1 or round_.raters_per_item < 2:
        return {}
    place = RoundItem.objects.counting().filter(round=OuterRef("round"), item=OuterRef("item"))
    given = Assignment.objects.filter(Exists(place), round=round_, slot__isnull=False)
    by_rater = given.exclude(state=Assignment.State.WITHDRAWN).order_by().values("rater")
    rows = by_rater.annotate(n=Count("pk", filter=Exists(place.filter(n_raters__gt=1))), n_all=Count("pk"))
    return {row["rater"]: (row["n"], row["n_all"]) for row in rows}


def with_shares(line: RoundLine) -> RoundLine:
    """A round with the leases of its raters and their shares of double-coded items; two queries at most."""
    until, double = leases(line.round), double_coded(line.round)
    raters = [
        replace(
            each,
            lease_until=until.get(each.rater.pk),
            n_double=double.get(each.rater.pk, (0, 0))[0] if double else None,
            n_held=double.get(each.rater.pk, (0, 0))[1],
        )
        for each in line.raters
    ]
    return replace(line, raters=raters)


def last_days(round_: Round, *, is_unsettled: bool = False) -> dict[int, date]:
    """The day (UTC) of each rater's last answer in a round, by the membership's id; one pass over its answers.

    Imported answers are left out: their day is not known. The day and not the time: a time would tell an owner who
    rates, too, how long each answer took. Third answers of an open round, or one that `is_unsettled` for who reads, are
    left out, as they are from every count.
    """
    third = Assignment.objects.filter(ARBITERS if is_unsettled else ASKED_MEANWHILE, round=round_)
    answers = Annotation.objects.filter(assignment__round=round_).exclude(assignment__in=third)
    answers = answers.exclude(idempotency_key__startswith=MARK)
    rows = answers.order_by().values_list("rater")
    return {rater: at.astimezone(UTC).date() for rater, at in rows.annotate(at=Max("created_at"))}


@dataclass(frozen=True)
class Disagreements:
    """How many decisions wait in a round."""

    n: int

    def __str__(self) -> str:
        return f"{self.n} disagreement" if self.n == 1 else f"{self.n} disagreements"


def open_disagreements(seat: Seat, round_: Round) -> Disagreements:
    """Counts what waits for a decision, without items that this person still has to answer as a third rater.

    As dear as the queue of the round, which is kept while it is being resolved.
    """
    return Disagreements(queue_of(round_).without(seat.withheld_in(round_)).n_open)


@dataclass(frozen=True)
class Waiting:
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


def waiting_for(user: User) -> list[Waiting]:
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
        .annotate(n_skipped=_n_skipped(round=OuterRef("round"), rater=OuterRef("rater")))
        .order_by("round__opened_at", "pk")
    )
    return [
        Waiting(
            row.round,
            row.n_finished,
            None if row.round.mode == Round.Mode.POOL else max(row.n_assigned - row.n_finished, 0),
            away_until=row.rater.away_until if row.rater.is_away else None,
            n_skipped=row.n_skipped,
            is_held=is_held(row.round, row.rater),
        )
        for row in rows
    ]


def third_ratings_for(user: User) -> list[Waiting]:
    """The rounds in which this person still has to answer items as a third rater; one query.

    Those of an open round that they rate in anyway are among the items left there (`waiting_for`).
    """
    rates = RoundRater.objects.filter(round=OuterRef("round"), rater=OuterRef("rater"))
    asked = Assignment.objects.filter(ARBITERS, rater__user=user, state__in=Assignment.UNFINISHED)
    asked = asked.filter(
        Q(round__state=Round.State.RESOLVING) | Q(round__state=Round.State.OPEN) & ~Exists(rates),
        round__study__archived_at=None,
    )
    counted = dict(asked.order_by().values_list("round").annotate(n=Count("pk")))
    rounds = Round.objects.filter(pk__in=counted).select_related("study") if counted else Round.objects.none()
    return [Waiting(each, 0, counted[each.pk], is_third=True) for each in rounds.order_by("opened_at", "pk")]


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
        .order_by("resolving_at", "pk")
    )


def studies_of(user: User, *, archived: bool = False) -> QuerySet[Study]:
    """The studies a person is a member of, newest first: those that are worked on, or the archived ones."""
    own = Study.objects.filter(memberships__user=user, archived_at__isnull=not archived)
    return own.select_related("taxonomy").order_by("-pk")


def words_of_studies(user: User) -> list[str]:
    """What the studies of a person are called, in titles and IDs."""
    found = Study.objects.filter(memberships__user=user).values_list("title", "slug")
    return [word for both in found for word in both]


def visible_studies(user: User, *, archived: bool = False) -> QuerySet[Study]:
    """The studies a person may open, worked on or archived: their own; staff, all."""
    if not user.is_staff:
        return studies_of(user, archived=archived)
    return Study.objects.filter(deleted_at=None, archived_at__isnull=not archived).select_related("taxonomy")


@dataclass(frozen=True)
class StudyLine:
    """A study with the person's place in it, and the rounds that tell where it stands: those under way, or the last."""

    study: Study
    membership: Membership | None
    rounds: Sequence[RoundLine]


def study_lines(user: User, studies: Sequence[Study]) -> list[StudyLine]:
    """One line for each study; two queries, a few more for each relabeling queue under way."""
    mine = {row.study_id: row for row in Membership.objects.filter(user=user, study__in=[each.pk for each in studies])}
    counting = Round.objects.exclude(state=Round.State.UNDONE)
    newest = counting.filter(study=OuterRef("study")).order_by("-number").values("pk")[:1]
    telling = ~Q(state=Round.State.CLOSED) | Q(pk=Subquery(newest))
    by_study: dict[int, list[RoundLine]] = defaultdict(list)
    for line in reversed(round_lines(counting.filter(telling, study__in=[each.pk for each in studies]))):
        if line.round.kind == Round.Kind.RELABEL:  # without the items whose labels are withheld from this person
            seat = Seat(user, line.round.study, mine.get(line.round.study_id))
            (line,) = round_lines(Round.objects.filter(pk=line.round.pk), seat=seat)
        by_study[line.round.study_id].append(line)
    return [StudyLine(each, mine.get(each.pk), _telling(by_study[each.pk])) for each in studies]


def _telling(lines: Sequence[RoundLine]) -> Sequence[RoundLine]:
    """The rounds under way, else the newest."""
    return [line for line in lines if line.round.state != Round.State.CLOSED] or lines[-1:]


def usable_taxonomies(user: User) -> QuerySet[Taxonomy]:
    """Taxonomies this person may make a study with: readable, published, and not what another study screens by."""
    published = TaxonomyVersion.objects.filter(taxonomy=OuterRef("pk"), state=TaxonomyVersion.State.PUBLISHED)
    screening = Study.objects.filter(screening_taxonomy=OuterRef("pk"))
    return Taxonomy.objects.readable_by(user).filter(Exists(published), ~Exists(screening)).order_by("title", "slug")


def members_of(study: Study) -> list[Membership]:
    """Everybody in the study: raters in the order of their codes, then the others by name; one query."""
    rows = Membership.objects.filter(study=study).select_related("user")
    return sorted(rows, key=lambda row: (row.code is None, *code_order(row.code), row.display_name.lower()))


@dataclass(frozen=True)
class RoundPlan:
    """What a round would hold, before it is made."""

    n_items: int
    n_raters: int
    n_double: int
    n_assignments: int
    n_short: int = 0


def round_plan(
    *, n_items: int, quotas: Sequence[int | None], raters_per_item: int, double_share: float, seed: int
) -> RoundPlan:
    """Counts items and assignments as making and opening the round would; `quotas` has one entry for each rater."""
    planned = raters_planned(n_items, raters_per_item, double_share, seed)
    n_short = slots_short(planned, quotas) if raters_per_item <= len(quotas) else 0
    return RoundPlan(n_items, len(quotas), sum(n > 1 for n in planned), sum(planned), n_short)


def labelling_has_begun(study: Study) -> bool:
    """Whether a round was opened that labels by the study's taxonomy; one that screens asks something else."""
    return Round.objects.filter(study=study).exclude(Q(state=Round.State.DRAFT) | Q(kind=Round.Kind.SCREENING)).exists()


def lacking_registration(round_: Round) -> list[TreeDimension]:
    """The dimensions without a registered coefficient that opening this draft would begin labeling with.

    Empty for screening, and where labeling has begun: then nothing can be registered beforehand any more. One query.
    """
    if round_.kind == Round.Kind.SCREENING or labelling_has_begun(round_.study):
        return []
    return not_registered(round_.study.primary, published_version(round_.taxonomy_version_id).dimensions)


STUDY_IMPORTED = "study imported"
"""What the audit log calls it that a study came with its file from another server."""
TELLS_NOTHING = (
    "round made",
    "round opened",
    "round moved to resolving",
    "round closed",
    "rater withdrawn",
    "rater added",
    "quota changed",
)
"""What is recorded of a round without telling what anybody answered there."""
THIRD_WITHDRAWN = "third_raters_withdrawn"
"""Earlier versions told so, in the line about the closing of a round, that its raters had differed."""
WITHDRAWN_BY_SCREENING = "unanswered_withdrawn"
"""Earlier versions told so, in the line about an item that was screened out, how many raters had not answered it."""


def audit_of(seat: Seat) -> QuerySet[AuditEvent]:
    """The study's audit log, newest first.

    Of rounds of which anything is hidden from this person only entries that reveal nobody's answers, and no entry that
    quotes their agreement or the hash of a file that holds such answers. Who read answers is not shown to who is blind
    there, because a line more means an answer more.
    """
    rows = AuditEvent.objects.filter(study=seat.study).select_related("user").order_by("-pk")
    blind = seat.blind_round_ids | {round_id for round_id, _ in seat.withheld}
    hidden = seat.hidden_round_ids | blind
    if not hidden:
        return rows
    rounds = dict(Round.objects.filter(pk__in=hidden).values_list("pk", "number"))
    numbers, for_others = list(rounds.values()), [number for pk, number in rounds.items() if pk not in blind]
    rows = rows.exclude(detail__has_key="pilot", detail__pilot__in=numbers)
    rows = rows.exclude(detail__has_key=WITHDRAWN_BY_SCREENING)
    removed = Export.objects.filter(study=seat.study, state=Export.State.REMOVED)
    closed = [export.number for export in removed if why_hidden(seat, export)]
    rows = rows.exclude(detail__has_key="sha256", detail__export__in=closed)
    told = Q(verb__in=TELLS_NOTHING) & ~Q(detail__has_key=THIRD_WITHDRAWN) | Q(verb=READ, detail__round__in=for_others)
    return rows.filter(told | ~Q(detail__has_key="round") | ~Q(detail__round__in=numbers))


def rounds_imported(study: Study) -> set[int] | None:
    """The numbers of rounds that came with the study's file from another server; None: all, as far as is known.

    Older imports did not record them. What the file itself brought into the audit log is older than the import.
    """
    lines = AuditEvent.objects.filter(study=study, verb=STUDY_IMPORTED).order_by("-pk")
    found = lines.values_list("detail", flat=True).first()
    if found is None:
        return set()
    return set(found["rounds"]) if "rounds" in found else None


def people_of_audit(study: Study) -> list[str]:
    """User names of its members, to choose from; one query."""
    names = study.memberships.exclude(user=None).order_by("user__username").values_list("user__username", flat=True)
    return [str(name) for name in names]
