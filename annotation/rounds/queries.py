"""Rounds as pages list them: progress of raters, double coding, and plans."""

from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from functools import cache
from typing import Any

from django.db.models import Case, Count, Exists, F, IntegerField, Max, OuterRef, Q, QuerySet, Subquery, Sum, When
from django.db.models.functions import Coalesce
from django.utils import timezone

from annotation.assignments.planning import raters_planned, slots_short
from annotation.assignments.queries import (
    ASKED_MEANWHILE,
    DepartureOutcome,
    leaving,
    n_free_aside,
    third_from_outside,
    uncounted,
)
from annotation.core.access import ADJUDICATOR, OWNER, Seat
from annotation.core.bulk_jobs import job_of
from annotation.core.imported import MARK
from annotation.core.member_lists import code_order
from annotation.labels.registration import not_registered
from annotation.models import Annotation, Assignment, BulkJob, Item, Membership, Round, RoundItem, RoundRater
from annotation.models.assignment_kinds import RATERS, THIRD_RATERS
from annotation.studies.queries.studies import labeling_has_begun
from shared.compiled_queries import CompiledQuery
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
    holds and someone is to take; they are planned, too. `n_out` are items of a coding round that are screened out.
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


def asked_in_all(row: RoundRater, n_unfinished: int) -> int:
    """How many items a rater of a round was to answer; once it is over without those that were withdrawn.

    In a pool it counts all that the rater ever took.
    """
    return row.n_finished + n_unfinished if _counts_unfinished(row.round) else row.n_assigned


def _counts_unfinished(round_: Round) -> bool:
    return round_.state in Round.OVER and round_.mode == Round.Mode.PLANNED


def unfinished_by_rater(round_: Round) -> dict[int, int]:
    """How many items raters of a planned round that is over still have to answer; one query at most."""
    if not _counts_unfinished(round_):
        return {}
    waiting = Assignment.objects.filter(round=round_, state__in=Assignment.UNFINISHED).order_by()
    return dict(waiting.values_list("rater").annotate(n=Count("pk")))


def _number(rows: QuerySet[Any], column: str) -> Coalesce:
    return Coalesce(Subquery(rows.order_by().values(column)[:1], output_field=IntegerField()), 0)


def _out(places: QuerySet[Any]) -> QuerySet[Any]:
    """How many places of coding rounds have an item that is screened out."""
    out = places.filter(item__screening=Item.Screening.OUT).exclude(round__kind=Round.Kind.SCREENING)
    found: QuerySet[Any] = out.annotate(n=Count("pk"))
    return found


def n_skipped(**rater: Any) -> Coalesce:
    """How many items were skipped in a round, by one `rater` or by all people; what third raters skip, once it is over.

    A skip is an answer: it is shown as far as answers are (`_tells_skipped`).
    """
    skipped = Assignment.objects.filter(state=Assignment.State.SKIPPED, **rater).exclude(ASKED_MEANWHILE)
    return _number(skipped.order_by().values("round").annotate(n=Count("pk")), "n")


def n_unfinished(**rater: Any) -> Coalesce:
    """How many assignments of a round its raters still have to answer; those of one `rater`, or of all people."""
    present = RoundRater.objects.filter(round=OuterRef("round"), rater=OuterRef("rater"))
    waiting = Assignment.objects.filter(Exists(present), state__in=Assignment.UNFINISHED, **rater)
    return _number(waiting.order_by().values("round").annotate(n=Count("pk")), "n")


def _tells_skipped(seat: Seat | None, round_: Round) -> bool:
    """Whether the skips of others are shown; while a round is resolved only where the role tells that they are read.

    Raters can still be asked there as third raters, and a page that counts skips leaves no line.
    """
    if seat is None or not seat.sees_all_answers(round_.pk) or seat.hides_undone(round_):
        return False
    return round_.state != Round.State.RESOLVING or seat.has_role(OWNER, ADJUDICATOR)


@cache
def _counts_of_rounds() -> dict[str, Any]:
    """The annotations of `round_lines`; made once, for it takes longer than reading a round."""
    people = RoundRater.objects.filter(round=OuterRef("pk"), rater__kind=Membership.Kind.PERSON)
    raters = people.order_by().values("round")
    items = RoundItem.objects.filter(round=OuterRef("pk")).order_by().values("round")
    return {
        "n_items": _number(items.annotate(n=Max("position")), "n"),
        "n_done": _number(raters.annotate(n=Sum("n_finished")), "n"),
        "n_out": _number(_out(items), "n"),
        "n_skipped": n_skipped(round=OuterRef("pk"), rater__kind=Membership.Kind.PERSON),
        "n_free": _number(items.filter(n_free__gt=0).annotate(n=Sum("n_free")), "n"),
        "n_total": Case(  # what was withdrawn when a round went to resolving is still in `n_assigned`
            When(
                state__in=Round.OVER,
                mode=Round.Mode.PLANNED,
                then=F("n_done") + n_unfinished(round=OuterRef("pk"), rater__kind=Membership.Kind.PERSON),
            ),
            When(state__in=Round.OVER, then=F("n_done")),
            When(mode=Round.Mode.POOL, then=_number(items.annotate(n=Sum("n_raters")), "n")),
            default=_number(raters.annotate(n=Sum("n_assigned")), "n") + F("n_free"),
            output_field=IntegerField(),
        ),
    }


@cache
def _counts_of_raters() -> dict[str, Any]:
    own = {"round": OuterRef("round"), "rater": OuterRef("rater")}
    return {"n_skipped": n_skipped(**own), "n_unfinished": n_unfinished(**own)}


def round_lines(
    rounds: QuerySet[Round], *, seat: Seat | None = None, with_raters: bool = False, with_days: bool = False
) -> list[RoundLine]:
    """The rounds, newest first, with their counts; one query, two with raters, one more where one is open, and over.

    What people from outside a round are asked there as third raters counts as soon as the round is over. With a `seat`
    nothing counts that is withheld there.

    `with_days` adds the day of each rater's last answer, by one query for each round.
    """
    rows: Any = rounds.select_related("taxonomy_version", "study").annotate(**_counts_of_rounds()).order_by("-number")
    found: list[Any] = [seat.as_shown(row) for row in rows] if seat else list(rows)
    is_open = {row.pk for row in found if row.n_out and row.state == Round.State.OPEN}
    screened = is_open & seat.sealed_round_ids if seat else set()
    n_aside = n_free_aside(screened) if screened else Counter[int]()
    unsettled = seat.unsettled_round_ids if seat else frozenset()
    meanwhile = uncounted(found, seat)
    queued = _n_queued(seat) if seat else {}
    more: dict[int, tuple[int, int]] = defaultdict(lambda: (0, 0))
    machines = _machines_among({rater for _, rater in meanwhile}) if queued or screened else frozenset()
    for (round_id, rater), (n, n_done) in meanwhile.items():
        if rater in machines:
            continue  # rounds count people
        more[round_id] = (more[round_id][0] + n, more[round_id][1] + n_done)
    for (round_id, _), (n, n_done) in third_from_outside(found, unsettled).items():
        more[round_id] = (more[round_id][0] - n, more[round_id][1] - n_done)
    for round_id, n in n_aside.items():
        more[round_id] = (more[round_id][0] - n, more[round_id][1])
    told = {row.pk for row in found if row.n_skipped and _tells_skipped(seat, row)}
    days = {row.pk: last_days(row, seat) for row in found} if with_days else {}
    by_round: dict[int, list[RaterLine]] = defaultdict(list)
    if with_raters:
        wanted: Any = RoundRater.objects.filter(round__in=[row.pk for row in found]).select_related(
            "rater__user", "round"
        )
        wanted = wanted.annotate(**_counts_of_raters())
        own = seat.membership.pk if seat and seat.membership else None
        for row in sorted(wanted, key=lambda each: code_order(each.rater.code)):
            if seat and (row.round_id, row.rater_id) in seat.unseen_queue_raters:
                continue
            n, n_done = meanwhile.get((row.round_id, row.rater_id), (0, 0))
            is_told = row.round_id in told or row.rater_id == own
            n_assigned = asked_in_all(row, row.n_unfinished)
            so_far = (row.n_finished - n_done, n_assigned - n, row.n_skipped if is_told else None)
            last_day = days.get(row.round_id, {}).get(row.rater_id)
            by_round[row.round_id].append(
                RaterLine(row.rater, *so_far, row.quota, row.left_at, row.unblinded, last_day)
            )
    return [
        RoundLine(
            row,
            row.n_items - queued.get(row.pk, 0),
            row.n_done - more[row.pk][1],
            row.n_total - (more[row.pk][0] if row.mode == Round.Mode.PLANNED else more[row.pk][1] if is_over else 0),
            by_round[row.pk],
            row.n_free + n_aside[row.pk],
            0 if row.pk in queued else row.n_out,
            row.n_skipped if row.pk in told else None,
        )
        for row in found
        for is_over in (row.state in Round.OVER,)
    ]


def _n_queued(seat: Seat) -> dict[int, int]:
    """How many places of each relabeling round are withheld from this person; one query, none where nothing can be."""
    if not seat.withheld_queues:
        return {}
    places = RoundItem.objects.filter(~seat.not_queued(), round__in=seat.withheld_queues).order_by()
    return dict.fromkeys(seat.withheld_queues, 0) | dict(places.values_list("round").annotate(n=Count("pk")))


def _machines_among(raters: Collection[int]) -> frozenset[int]:
    """Which of these raters (ids of members) are machines; one query."""
    machines = Membership.objects.filter(pk__in=raters, kind=Membership.Kind.MACHINE)
    return frozenset(machines.values_list("pk", flat=True))


def leaves(seat: Seat, member: Membership) -> list[tuple[Round, RoundRater, DepartureOutcome]]:
    """Each open round that a member rates in, and what becomes of their items there.

    Without relabeling queues of which something is withheld from this person.
    """
    rows = RoundRater.objects.filter(round__study=seat.study, round__state=Round.State.OPEN, rater=member)
    rows = rows.exclude(round__in=seat.withheld_queues)
    rows = rows.filter(left_at__isnull=True).select_related("round", "rater").order_by("round__number")
    return [(row.round, row, leaving(row.round, row)) for row in rows]


def shown_job(seat: Seat, round_: Round) -> BulkJob | None:
    """The job of a round, none of a relabeling queue of which something is withheld: its progress counts the items."""
    return None if round_.pk in seat.withheld_queues else job_of(round_)


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


def rater_counts(round_: Round) -> list[tuple[int, int]]:
    """How many items have so many raters, the most raters first, without training items; one query."""
    places = RoundItem.objects.present().filter(round=round_, known__isnull=True).order_by()
    return list(places.values_list("n_raters").annotate(n=Count("pk")).order_by("-n_raters"))


def double_coded(round_: Round) -> dict[int, tuple[int, int]]:
    """How many items each rater of a round has that another rater has, too, and how many in all, by membership's id.

    Training items are none of them. One query, none where every item has all raters.
    """
    if round_.double_share >= 1 or round_.raters_per_item < 2:
        return {}
    place = RoundItem.objects.counting().filter(round=OuterRef("round"), item=OuterRef("item"))
    given = Assignment.objects.filter(RATERS, Exists(place), round=round_)
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


def last_days(round_: Round, seat: Seat | None = None) -> dict[int, date]:
    """The day (UTC) of each rater's last answer in a round, by the membership's id; one pass over its answers.

    Imported answers are left out: their day is not known. The day and not the time: a time would tell an owner who
    rates, too, how long each answer took. Third answers of an open round, or one that is unsettled for who reads, are
    left out, as they are from every count, and so is every answer of a queue of which something is withheld.
    """
    if seat and round_.pk in seat.withheld_queues:
        return {}
    is_unsettled = seat is not None and round_.pk in seat.unsettled_round_ids
    rows = (_last_answers_unsettled if is_unsettled else _last_answers).all(round_.pk)
    return {rater: at.astimezone(UTC).date() for rater, at in rows}


def _newest_answers(round_: int, third: Q) -> QuerySet[Any, Any]:
    answers = Annotation.objects.filter(assignment__round=round_)
    answers = answers.exclude(assignment__in=Assignment.objects.filter(third, round=round_))
    answers = answers.exclude(idempotency_key__startswith=MARK)
    return answers.order_by().values_list("rater").annotate(at=Max("created_at"))


_last_answers: CompiledQuery[Any] = CompiledQuery(lambda round_: _newest_answers(round_, ASKED_MEANWHILE), int)
_last_answers_unsettled: CompiledQuery[Any] = CompiledQuery(lambda round_: _newest_answers(round_, THIRD_RATERS), int)


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


def lacking_registration(round_: Round) -> list[TreeDimension]:
    """The dimensions without a registered coefficient that opening this draft would begin labeling with.

    Empty for screening, and where labeling has begun: then nothing can be registered beforehand any more. One query.
    """
    if round_.kind == Round.Kind.SCREENING or labeling_has_begun(round_.study):
        return []
    return not_registered(round_.study.primary, published_version(round_.taxonomy_version_id).dimensions)
