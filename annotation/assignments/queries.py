"""Queries on assignments: who holds which items, the effect of leaving, free slots."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from django.db.models import Count, Exists, F, IntegerField, Max, Min, OuterRef, Q, QuerySet, Subquery, Sum
from django.db.models.functions import Coalesce
from django.utils import timezone

from accounts.models import User
from annotation.assignments.planning import new_holders
from annotation.core.access import ADJUDICATOR, OWNER, RATER, READER, Seat
from annotation.core.member_lists import code_order, members_named
from annotation.models import (
    Annotation,
    Assignment,
    AuditEvent,
    Membership,
    Plan,
    ProposalOutcome,
    Round,
    RoundItem,
    RoundRater,
    Study,
)
from annotation.models.assignment_kinds import EXTRA_RATERS, RATERS, THIRD_RATERS, kind_of
from shared.compiled_queries import CompiledQuery
from shared.names import folded
from taxonomy.models import TaxonomyVersion

JOB_FROM = 20_000
"""Above so many items a job assigns them again: what a rater who leaves did not finish, or what one who comes gets."""
RATERS_MOST = 10_000
"""So many raters a request names."""
READ = "open answers read"
"""What the audit log calls it that someone read single answers of a round under way."""
DRAFT_READ = "draft of the taxonomy"
"""What such a line names as read where someone who could read drafts with proposals of the round maintains no more."""


def needs_job(n: int) -> bool:
    """Whether a job is to assign so many items again."""
    return n > JOB_FROM


def slots(round_: Round) -> QuerySet[Assignment]:
    """What is held of a round's slots: an arbiter and a machine hold none, nor does whoever was withdrawn.

    Training items are left out: every rater has them all.
    """
    held = Assignment.objects.filter(RATERS, round=round_).exclude(state=Assignment.State.WITHDRAWN)
    return held.exclude(item__in=training_of(round_)).order_by()


def training_of(round_: Round) -> QuerySet[Any]:
    """The items of a round whose answer is known."""
    return RoundItem.objects.filter(round=round_, known__isnull=False).order_by().values("item")


def n_taken(round_: Round, rater: int | None = None) -> dict[int, int]:
    """How many slots each rater (by the membership's id), or one of them, holds, finished ones too; one query.

    In a planned round also those that come back to them if an item is screened in again: which ones a rater has
    answered is for nobody.
    """
    held = slots(round_)
    if round_.mode == Round.Mode.PLANNED:
        aside = n_set_aside([round_.pk]).exclude(item__in=training_of(round_))
        held = Assignment.objects.filter(Q(pk__in=held.values("pk")) | Q(pk__in=aside.values("pk"))).order_by()
    held = held if rater is None else held.filter(rater=rater)
    return dict(held.values_list("rater").annotate(n=Count("pk")))


def has_left(round_: Round, rater: Membership) -> bool:
    return RoundRater.objects.filter(round=round_, rater=rater, left_at__isnull=False).exists()


ASKED_MEANWHILE = THIRD_RATERS & Q(round__state=Round.State.OPEN)
"""What third raters are asked while a round is open: where it is counted, its raters learn that others differ."""


def asked_meanwhile(rounds: Iterable[Round], unsettled: Collection[int] = ()) -> dict[tuple[int, int], tuple[int, int]]:
    """(round, rater) → how many items the rater is asked as a third one while the round is open, and answered of them.

    So are rounds (ids) that are `unsettled` for who reads.

    What a round tells of its progress is less by these. In a pool `n_assigned` still holds what was withdrawn, so those
    count, too. One query, none where no round is open; an owner may have changed when disagreements are resolved.
    """
    live = [each.pk for each in rounds if each.state == Round.State.OPEN or each.pk in unsettled]
    if not live:
        return {}
    return {(round_id, rater): (n, n_done) for round_id, rater, n, n_done in _meanwhile.all(live)}


def counted_third(round_: Round) -> dict[int, tuple[int, int]]:
    """Rater → how many items of a round they are asked as a third rater, and answered of them, where it is counted.

    Who becomes a rater of the round begins with these. One query.
    """
    return {rater: (n, n_done) for _, rater, n, n_done in _counted(_counted_third(round=round_))}


def _counted_third(**of_rounds: Any) -> QuerySet[Assignment]:
    rows = Assignment.objects.filter(THIRD_RATERS, **of_rounds)
    return rows.exclude(state=Assignment.State.WITHDRAWN, round__mode=Round.Mode.PLANNED)


def _asked_in(rounds: Any) -> QuerySet[Any, Any]:
    return _counted(_counted_third(round__any_of=rounds).filter(Exists(_RATES)))


def _counted(rows: QuerySet[Assignment]) -> QuerySet[Any, Any]:
    """Of each round and rater: how many, and how many of them are finished."""
    is_done = Q(state__in=Assignment.FINISHED)
    of_raters = rows.order_by().values_list("round_id", "rater_id")
    return of_raters.annotate(n=Count("pk"), n_done=Count("pk", filter=is_done))


_RATES = RoundRater.objects.filter(round=OuterRef("round"), rater=OuterRef("rater"))
_meanwhile: CompiledQuery[Any] = CompiledQuery(_asked_in, list)


@dataclass(frozen=True)
class ThirdRater:
    """How many items of a round someone was asked about as a third rater, and how many of them they answered."""

    rater: Membership
    n_finished: int
    n_total: int

    @property
    def n_left(self) -> int:
        return self.n_total - self.n_finished


def third_raters(round_: Round) -> list[ThirdRater]:
    """The third raters of a round, in the order of their codes; two queries.

    Who is blind in an open round learns from it that others differ.
    """
    counted = _of_third_raters(_third, [round_.pk])
    members = Membership.objects.filter(pk__in=[rater for _, rater in counted]).select_related("user")
    found = [ThirdRater(each, *reversed(counted[round_.pk, each.pk])) for each in members]
    return sorted(found, key=lambda each: code_order(each.rater.code))


def uncounted(rounds: Sequence[Round], seat: Seat | None) -> dict[tuple[int, int], tuple[int, int]]:
    """(round, rater) → how many items, and answers of them, are in no count that this person sees.

    Third answers of rounds that are open or unsettled for them, and their withheld places in relabeling queues. Fewer
    than none are items that were screened out before they were answered, in a round whose answers the person does not
    read: these count on, or else the difference would show who has answered one. One query, one more for each of the
    latter two.
    """
    found = asked_meanwhile(rounds, seat.unsettled_round_ids if seat else ())
    if seat is not None and (sealed := [each.pk for each in rounds if each.pk in seat.sealed_round_ids]):
        aside = n_set_aside(sealed).filter(seat.not_queued()).order_by().values_list("round_id", "rater_id")
        for round_id, rater, n in aside.annotate(n=Count("pk")):
            before = found.get((round_id, rater), (0, 0))
            found[round_id, rater] = (before[0] - n, before[1])
    queues = [each.pk for each in rounds if seat and each.pk in seat.withheld_queues]
    if seat is None or not queues:
        return found
    held = Assignment.objects.filter(RATERS, ~seat.not_queued(), round__in=queues)
    counted = held.exclude(state=Assignment.State.WITHDRAWN).order_by().values_list("round_id", "rater_id")
    is_done = Q(state__in=Assignment.FINISHED)
    for round_id, rater, n, n_done in counted.annotate(n=Count("pk"), n_done=Count("pk", filter=is_done)):
        before = found.get((round_id, rater), (0, 0))
        found[round_id, rater] = (before[0] + n, before[1] + n_done)
    return found


def n_set_aside(rounds: Collection[int]) -> QuerySet[Assignment]:
    """What raters of these rounds (ids) would have to answer if its items were not screened out."""
    places = RoundItem.objects.filter(round=OuterRef("round"), item=OuterRef("item"), excluded=True)
    present = RoundRater.objects.filter(round=OuterRef("round"), rater=OuterRef("rater"), left_at__isnull=True)
    again = Assignment.objects.filter(round=OuterRef("round"), item=OuterRef("item"), slot=OuterRef("slot"))
    return Assignment.objects.filter(
        RATERS, Exists(places), Exists(present), ~Exists(again.exclude(state=Assignment.State.WITHDRAWN)),
        round__in=rounds, round__mode=Round.Mode.PLANNED, state=Assignment.State.WITHDRAWN,
    )  # fmt: skip


def free_aside(rounds: Collection[int]) -> tuple[QuerySet[RoundItem], QuerySet[Assignment]]:
    """The places of open rounds (ids) that have slots aside, and what raters hold of these; the others are free."""
    is_open = Q(round__in=rounds, round__state=Round.State.OPEN)
    places = RoundItem.objects.filter(is_open, excluded=True, known__isnull=True).order_by()
    training = RoundItem.objects.filter(round=OuterRef("round"), item=OuterRef("item"), known__isnull=False)
    return places, n_set_aside(rounds).filter(is_open, ~Exists(training)).order_by()


def n_free_aside(rounds: Collection[int]) -> Counter[int]:
    """How many free slots each of these rounds (ids) would have more if no item were screened out; two queries."""
    places, held = free_aside(rounds)
    found = Counter(dict(places.values_list("round").annotate(n=Sum("n_aside"))))
    found.subtract(dict(held.values_list("round").annotate(n=Count("pk"))))
    return found


def third_from_outside(
    rounds: Iterable[Round], unsettled: Collection[int] = ()
) -> dict[tuple[int, int], tuple[int, int]]:
    """(round, rater) → how many items people who are no raters of the round are asked, and answered of them.

    They are of rounds that are over and not `unsettled`; one query, none without such a round.
    """
    over = [each.pk for each in rounds if each.state in Round.OVER and each.pk not in unsettled]
    return _of_third_raters(_third_outside, over)


def _answering_third(rounds: Any, *more: Any) -> QuerySet[Any, Any]:
    rows = Assignment.objects.filter(THIRD_RATERS, *more, round__any_of=rounds)
    return _counted(rows.exclude(state=Assignment.State.WITHDRAWN))


_third: CompiledQuery[Any] = CompiledQuery(_answering_third, list)
_third_outside: CompiledQuery[Any] = CompiledQuery(lambda rounds: _answering_third(rounds, ~Exists(_RATES)), list)


def _of_third_raters(query: CompiledQuery[Any], rounds: Sequence[int]) -> dict[tuple[int, int], tuple[int, int]]:
    rows = query.all(list(rounds)) if rounds else []
    return {(round_id, rater): (n, n_done) for round_id, rater, n, n_done in rows}


def has_everything(round_: Round, machine: Membership) -> bool:
    """Whether a machine was given all items beside the slots; in a pool opened by an older release it takes slots."""
    return Assignment.objects.filter(EXTRA_RATERS, round=round_, rater=machine).exists()


def takers(round_: Round) -> list[RoundRater]:
    """The raters of a round who may be given items: people who rate in the study or were invited to, and are not away.

    One query.
    """
    rows = RoundRater.objects.filter(round=round_, left_at__isnull=True, rater__kind=Membership.Kind.PERSON)
    here = Q(rater__user__isnull=False) | Q(rater__invitation_key__isnull=False)
    rows = rows.filter(here, rater__roles__contains=[RATER])
    return [each for each in rows.select_related("rater__user").order_by("pk") if not each.rater.is_away]


def room_of(raters: Iterable[RoundRater], taken: Mapping[int, int]) -> dict[int, int | None]:
    """How many more items each takes; None: any number."""
    return {
        each.rater_id: None if each.quota is None else max(each.quota - taken.get(each.rater_id, 0), 0)
        for each in raters
    }


class UnfinishedAssignment(NamedTuple):
    """An assignment that its rater did not answer."""

    pk: int
    round_id: int
    item_id: int
    slot: int | None
    kind: Assignment.Kind


def unfinished_of(round_: Round, rater: int) -> QuerySet[Assignment]:
    """What a rater (by the membership's id) of a round did not answer."""
    return Assignment.objects.filter(round=round_, rater=rater, state__in=Assignment.UNFINISHED).order_by()


def left_by(round_: Round, rater: int) -> QuerySet[Assignment]:
    """What a rater who leaves a round leaves to others: what they did not answer, also of items that are screened out.

    Else the number of these would show anyone who screens an item out whether the rater answered it.
    """
    return unfinished_of(round_, rater) | n_set_aside([round_.pk]).filter(rater=rater).order_by()


@dataclass(frozen=True)
class DepartureOutcome:
    """What becomes of the unfinished items of a rater who leaves: each with its new rater, or None.

    `n_slots` of them are to be taken by others: training items, and what an arbiter or a machine is asked, are not.
    `is_pool`: they go back to the pool. `is_given_up`: nobody else is asked, as in a worklist. `n_answers` are in.
    No number counts what the rater is asked as a third one, because raters would learn from it that others differ.
    `n_later` items are so many that a job moves them; who gets them is not known before.
    """

    rater: Membership
    moves: Sequence[tuple[UnfinishedAssignment, Membership | None]]
    n_slots: int = 0
    is_pool: bool = False
    is_given_up: bool = False
    n_answers: int = 0
    n_later: int = 0

    @property
    def n(self) -> int:
        return self.n_later + sum(each.kind != Assignment.Kind.THIRD for each, _ in self.moves)

    @property
    def given(self) -> list[tuple[Membership, int]]:
        """Who gets how many, in the order of their codes."""
        found = Counter(to for _, to in self.moves if to is not None)
        return sorted(found.items(), key=lambda each: code_order(each[0].code))

    @property
    def n_given(self) -> int:
        return sum(n for _, n in self.given)

    @property
    def n_waiting(self) -> int:
        """How many slots wait for someone who can take them."""
        return 0 if self.is_given_up else self.n_slots - self.n_given

    @property
    def sentence(self) -> str:
        """Where the items go, in one sentence: “12 items go to R2 (5) and R3 (4); 3 find nobody”."""
        if not self.n:
            return f"{self.rater} has no unfinished item"
        if self.n_later:
            does = "withdraws" if self.is_given_up or self.rater.is_machine else "reassigns"
            return f"A job {does} {self.n_later:,} items of {self.rater}"
        if not self.n_slots or self.is_given_up:
            return f"{_items(self.n)} of {self.rater} {_are(self.n)} unassigned"
        if self.is_pool:
            return f"{_items(self.n_slots)} {'goes' if self.n_slots == 1 else 'go'} back to the pool"
        if not self.n_given:
            return f"{_items(self.n_slots)} {'finds' if self.n_slots == 1 else 'find'} nobody"
        who = [f"{to} ({n})" for to, n in self.given]
        named = who[0] if len(who) == 1 else f"{', '.join(who[:-1])} and {who[-1]}"
        words = f"{_items(self.n_given)} {'goes' if self.n_given == 1 else 'go'} to {named}"
        return words + (
            f"; {self.n_waiting} {'has' if self.n_waiting == 1 else 'have'} no rater" if self.n_waiting else ""
        )


def _items(n: int) -> str:
    return f"{n} item" if n == 1 else f"{n} items"


def _are(n: int) -> str:
    return "is" if n == 1 else "are"


def leaving(round_: Round, leaver: RoundRater, *, for_job: bool = False) -> DepartureOutcome:
    """What a rater's leaving would do now: the very moves that `withdraw_rater` makes; seven queries at most.

    In a planned round each slot goes to a rater who never had the item and has room, whoever has least coming first.
    What is unfinished is only counted where it is so much that a job moves it, unless it is `for_job`.
    """
    own = left_by(round_, leaver.rater_id)
    counted = own if leaver.rater.is_machine else own.filter(RATERS)
    _, n_third = asked_meanwhile([round_]).get((round_.pk, leaver.rater_id), (0, 0))
    n_answers = leaver.n_finished - n_third
    if not for_job and needs_job(counted[: JOB_FROM + 1].count()):  # nothing hangs on what third raters are asked
        is_given_up = round_.kind == Round.Kind.RELABEL
        return DepartureOutcome(leaver.rater, [], is_given_up=is_given_up, n_answers=n_answers, n_later=counted.count())
    rows = own.order_by("position", "pk").values_list("pk", "round_id", "item_id", "slot")
    unfinished = [UnfinishedAssignment(*row, kind_of(row[-1], leaver.rater.kind)) for row in rows]
    nobody: list[tuple[UnfinishedAssignment, Membership | None]] = [(each, None) for each in unfinished]
    if round_.kind == Round.Kind.RELABEL:
        return DepartureOutcome(leaver.rater, nobody, is_given_up=True, n_answers=n_answers)
    training = set(training_of(round_).values_list("item", flat=True))
    held = [each for each in unfinished if each.kind == Assignment.Kind.RATER and each.item_id not in training]
    if round_.mode == Round.Mode.POOL:
        return DepartureOutcome(leaver.rater, nobody, len(held), is_pool=True, n_answers=n_answers)
    others = {each.rater_id: each for each in takers(round_) if each.rater_id != leaver.rater_id}
    if not others or not held:
        return DepartureOutcome(leaver.rater, nobody, len(held), n_answers=n_answers)
    had: dict[int, frozenset[int]] = {}
    groups: dict[frozenset[int], frozenset[int]] = {}  # many items have the same raters, and share one set of them
    theirs = Assignment.objects.filter(round=round_, item__in=own.values("item"), rater__in=list(others))
    for item, rater in theirs.order_by().values_list("item_id", "rater_id"):
        group = had.get(item, frozenset()) | {rater}
        had[item] = groups.setdefault(group, group)
    taken = n_taken(round_)
    found = new_holders(
        [each.item_id for each in held],
        had,
        {rater: taken.get(rater, 0) for rater in others},
        room_of(others.values(), taken),
        f"left {round_.seed} {leaver.rater_id}",
    )
    to = {each.pk: None if rater is None else others[rater].rater for each, (_, rater) in zip(held, found, strict=True)}
    return DepartureOutcome(
        leaver.rater, [(each, to.get(each.pk)) for each in unfinished], len(held), n_answers=n_answers
    )


@dataclass(frozen=True)
class FreeSlot:
    """A slot that nobody holds and someone is to take."""

    item: int
    slot: int
    position: int


def free_slots(round_: Round, after: int = 0, most: int | None = None) -> list[FreeSlot]:
    """The free slots of a round in its order, of `most` items behind a place at most; two queries."""
    free = RoundItem.objects.filter(round=round_, n_free__gt=0, position__gt=after).order_by("position")
    places = list(free.values_list("item_id", "n_raters", "n_free", "position")[:most])
    held: dict[int, set[int | None]] = {}
    of_items = slots(round_).filter(item__in=[item for item, *_ in places])
    for item, slot in of_items.values_list("item_id", "slot"):
        held.setdefault(item, set()).add(slot)
    found: list[FreeSlot] = []
    for item, n_raters, n_free, position in places:
        numbers = [n for n in range(1, n_raters + 1) if n not in held.get(item, ())]
        found.extend(FreeSlot(item, slot, position) for slot in numbers[:n_free])
    return found


@dataclass(frozen=True)
class StuckSlots:
    """Free slots that none of a round's raters can take, and who is at their quota."""

    n_slots: int
    at_quota: Sequence[Membership]


def stuck(round_: Round, n_slots: int | None = None) -> StuckSlots | None:
    """The free slots of an open round, if no rater can take any of them; None where someone can, or none is free.

    `n_slots`: how many the person who reads counts. In a planned round, those who could take a slot hold it already.
    Three queries at most.
    """
    if round_.state != Round.State.OPEN:
        return None
    free = RoundItem.objects.filter(round=round_, n_free__gt=0)
    if n_slots is None:
        n_slots = free.aggregate(n=Sum("n_free"))["n"] or 0
    if not n_slots:
        return None
    present = RoundRater.objects.filter(round=round_, left_at__isnull=True, rater__kind=Membership.Kind.PERSON)
    if round_.mode == Round.Mode.POOL:
        had = Assignment.objects.filter(round=round_, rater=OuterRef(OuterRef("rater")), item=OuterRef("item"))
        for_them = free.filter(~Exists(had.exclude(state=Assignment.State.WITHDRAWN)))
        if present.filter(below_quota()).filter(Exists(for_them)).exists():
            return None
    taken = n_taken(round_)
    limited = present.filter(quota__isnull=False).select_related("rater__user")
    at_quota = [each for each in limited if room_of([each], taken)[each.rater_id] == 0]
    return StuckSlots(n_slots, [each.rater for each in at_quota])


def below_quota() -> Q:
    """Raters of a pool who may take one more item.

    Outside of their quota are training items, which they answer first, and what they answered as third raters.
    """
    training = RoundItem.objects.filter(round=OuterRef("round"), item=OuterRef("item"), known__isnull=False)
    given = Assignment.objects.filter(round=OuterRef("round"), rater=OuterRef("rater"))
    given = given.filter(Exists(training) | THIRD_RATERS & Q(state__in=Assignment.FINISHED))
    counted = given.order_by().values("rater").annotate(n=Count("pk")).values("n")
    n_outside = Coalesce(Subquery(counted, output_field=IntegerField()), 0)
    return Q(quota__isnull=True) | Q(n_finished__lt=F("quota") + n_outside)


def candidates(round_: Round) -> list[Membership]:
    """Who may be added to an open round: raters of the study, or invited as such, who are not in it now."""
    present = RoundRater.objects.filter(round=round_, left_at__isnull=True)
    here = Q(user__isnull=False) | Q(invitation_key__isnull=False)
    rows = Membership.objects.filter(here, study=round_.study_id, roles__contains=[RATER])
    rows = rows.exclude(pk__in=present.values("rater")).select_related("user")
    return sorted(rows, key=lambda each: code_order(each.code))


def unblinded_among(
    round_: Round, members: Iterable[Membership], in_round: Mapping[int, RoundRater] | None = None
) -> set[int]:
    """The ids of those who could read the round's answers, at a time when others had answered.

    Whoever has a line in the audit log that they read answers or results of it (`note_reading`, `note_results`) is
    among them, by any of their accounts: the one that is invited, and the one on the server that the study came from.

    Owners and adjudicators read them, readers and staff the labels agreed on, except while they rate in the round: from
    when they joined until they left it without an answer (with one they stay blind), or until it is over. A third
    answer of an open round counts as none there, because whether someone can come back would tell it. Whoever was
    marked before stays so. `in_round` are the raters of the round, where they were read. Six queries at most.

    Maintainers of the taxonomy are among them once a proposal of the round was accepted into a draft, also their own.

    After a plan was run on a round that is being resolved, everyone is among them: the items and raters of its queue,
    which all members see, follow from the labels, and stand-ins read the labels themselves.
    """
    everybody = list(members)
    if _is_told_by_a_plan(round_):
        return {each.pk for each in everybody}
    if in_round is None:
        in_round = {row.rater_id: row for row in RoundRater.objects.filter(round=round_, rater__in=everybody)}
    found = {each.pk for each in everybody if each.pk in in_round and in_round[each.pk].unblinded}
    accounts = {pk for each in everybody for pk in each.account_ids}
    lines = AuditEvent.objects.filter(study=round_.study_id, verb=READ, detail__round=round_.number, user__in=accounts)
    read_at = dict(lines.order_by().values_list("user_id").annotate(at=Max("at")))
    readers = [each for each in everybody if not each.account_ids.isdisjoint(read_at)]
    found |= _maintain_what_was_proposed(round_, everybody)
    suspects = [each for each in everybody if _reads_open_answers(each) or each.could_read_until is not None]
    if not suspects and not readers:
        return found
    with_answer = _with_answer([round_], suspects)
    answers = Annotation.objects.filter(assignment__round=round_).order_by().values_list("rater_id")
    first = dict(answers.annotate(at=Min("created_at")))

    def answered_at(member: Membership) -> datetime | None:
        return min((at for rater, at in first.items() if rater != member.pk), default=None)

    for member in readers:
        since = answered_at(member)
        if since is not None and max(read_at[pk] for pk in member.account_ids if pk in read_at) >= since:
            found.add(member.pk)
    for member in suspects:
        since = answered_at(member)
        row = in_round.get(member.pk)
        has_answer = (round_.pk, member.pk) in with_answer
        if since is not None and _role_reads_since(round_, member, since, row, has_answer):
            found.add(member.pk)
    return found


def _with_answer(rounds: Iterable[Round], members: Iterable[Membership]) -> set[tuple[int, int]]:
    """Round and member (ids) where the member has an answer that is no third one; one query."""
    given = Assignment.objects.filter(
        round__in=rounds, rater__in=[each.pk for each in members if each.pk], state__in=Assignment.FINISHED
    )
    return set(given.exclude(EXTRA_RATERS).order_by().values_list("round_id", "rater_id").distinct())


def _role_reads_since(
    round_: Round, member: Membership, since: datetime, row: RoundRater | None, has_answer: bool
) -> bool:
    """Whether a member could read the round's answers by a role after `since`, outside the time of rating there."""
    if row is not None and row.left_at is not None and not has_answer:
        since = max(since, row.left_at)
    elif row is not None:
        if round_.resolving_at is None:
            return False
        since = round_.resolving_at
    return _reads_open_answers(member) or (member.could_read_until is not None and member.could_read_until > since)


def _moment(round_: Round) -> datetime:
    return round_.opened_at or timezone.now()


def rounds_elsewhere(round_: Round, items: Collection[int]) -> dict[Round, set[int]]:
    """The other opened rounds under the same taxonomy that hold some of these items, and which of them; two queries.

    Of a relabeling queue those that it can hold, which were in a round before it: what it holds follows from labels.
    """
    opened = Round.objects.filter(study=round_.study_id, opened_at__isnull=False)
    opened = opened.filter(taxonomy_version__taxonomy__versions=round_.taxonomy_version_id)
    coding = opened.exclude(kind=Round.Kind.RELABEL)
    found: dict[Round, set[int]] = {}
    places = RoundItem.objects.filter(item__in=items, round__in=coding).select_related("round")
    for place in places.order_by("round", "pk"):
        found.setdefault(place.round, set()).add(place.item_id)
    labeled = [(each, there) for each, there in found.items() if each.kind != Round.Kind.SCREENING]
    for queue in opened.filter(kind=Round.Kind.RELABEL).order_by("number"):
        before = [there for each, there in labeled if _moment(each) < _moment(queue)]
        if before:
            found[queue] = set().union(*before)
    found.pop(round_, None)
    return found


def read_elsewhere(
    round_: Round, others: Mapping[Round, set[int]], items: Collection[int], members: Iterable[Membership]
) -> dict[int, set[int]]:
    """By item the ids of those who read in `rounds_elsewhere` what others answered for it, or could by a role.

    It follows from lines, roles and the items of rounds, never from answers. A line counts for each item of its round,
    and so does a proposal that was accepted, for maintainers. What every member can read, as labels of
    closed rounds, makes no one unblinded: the methods paragraph names who could read it. A relabeling queue tells all
    members labels of a round that is being resolved, so it does. No query where no other round holds an item, else five
    at most, and one for each other round that is being resolved.
    """
    found: dict[int, set[int]] = {item: set() for item in items}
    everybody = list(members)
    if not others or not everybody:
        return found
    for told in filter(_is_told_by_a_plan, others):
        for item in others[told]:
            found[item].update(each.pk for each in everybody)
    accounts = {account: each for each in everybody for account in each.account_ids}
    rounds = {each.number: each for each in others}
    lines = AuditEvent.objects.filter(study=round_.study_id, verb=READ, detail__round__in=list(rounds))
    read = lines.filter(user__in=accounts).order_by().values_list("user", "detail__round").annotate(at=Max("at"))
    for account, number, at in read:
        other = rounds[number]
        if other.opened_at is not None and at >= other.opened_at:  # earlier lines are of a draft with that number
            for item in others[other]:
                found[item].add(accounts[account].pk)
    for item, reader in _maintain_proposals_elsewhere(round_, others, accounts):
        found[item].add(reader)
    suspects = [each for each in everybody if _reads_open_answers(each) or each.could_read_until is not None]
    if not suspects:
        return found
    rows = RoundRater.objects.filter(round__in=others, rater__in=[each.pk for each in suspects if each.pk])
    in_rounds = {(row.round_id, row.rater_id): row for row in rows}
    with_answer = _with_answer(others, suspects)
    for other, held in others.items():
        for member in suspects:
            place = (other.pk, member.pk)
            since, row = other.opened_at, in_rounds.get(place)
            if since is not None and _role_reads_since(other, member, since, row, place in with_answer):
                for item in held:
                    found[item].add(member.pk)
    return found


def may_have_it_queued(round_: Round, items: Collection[int]) -> dict[int, set[int]]:
    """By item the ids of those who can have it in a relabeling queue of the study, whether it is there or not.

    Its raters in rounds before the newest queue, and the substitutes of migrations: in a queue labels of others are
    seen, and what it holds follows from labels. So everyone who can have the item there counts as one who could read
    them, and neither who is drawn as a third rater nor who is marked tells what it holds. No migration gives an item to
    its third raters. Three queries, one where the study has no queue.
    """
    found: dict[int, set[int]] = {item: set() for item in items}
    queues = Round.objects.filter(study=round_.study_id, kind=Round.Kind.RELABEL, opened_at__isnull=False)
    newest = queues.order_by("-opened_at").first()
    if newest is None:
        return found
    before = Round.objects.filter(study=round_.study_id, opened_at__lt=newest.opened_at).exclude(pk=round_.pk)
    before = before.exclude(kind__in=(Round.Kind.RELABEL, Round.Kind.SCREENING)).order_by()
    rated = Assignment.objects.filter(RATERS, round__in=before.values("pk"), item__in=items).order_by()
    for item, rater in rated.values_list("item_id", "rater_id"):
        found[item].add(rater)
    for stand_ins in Plan.objects.filter(study=round_.study_id, worklist__isnull=False).values_list(
        "stand_ins", flat=True
    ):
        for item in items:
            found[item].update(stand_ins)
    return found


def unblinded_by_item(
    round_: Round,
    others: Mapping[Round, set[int]],
    items: Collection[int],
    members: Sequence[Membership],
    in_round: Mapping[int, RoundRater] | None = None,
) -> dict[int, set[int]]:
    """By item the ids of those who could read what others answered for it, in the round or in `rounds_elsewhere`."""
    found = unblinded_among(round_, members, in_round)
    elsewhere, queued = read_elsewhere(round_, others, items, members), may_have_it_queued(round_, items)
    return {item: found | elsewhere[item] | queued[item] for item in items}


def could_read(assignment: Assignment) -> bool:
    """Whether the rater of an assignment without a slot could read what others answered for its item."""
    round_, item, member = assignment.round, assignment.item_id, assignment.rater
    others = rounds_elsewhere(round_, [item])
    return member.pk in unblinded_by_item(round_, others, [item], [member])[item]


def _maintain_proposals_elsewhere(
    round_: Round, others: Mapping[Round, set[int]], accounts: Mapping[int, Membership]
) -> list[tuple[int, int]]:
    """Item and member who maintains the taxonomy, where drafts show what was proposed in its round; two queries.

    A proposal counts for each item of its round, and for who made it: who is drawn as a third rater must tell neither.
    """
    accepted = ProposalOutcome.objects.filter(outcome=ProposalOutcome.Outcome.ACCEPTED)
    accepted = accepted.filter(proposal__round__in=list(others)).order_by()
    of_rounds = set(accepted.values_list("proposal__round", flat=True))
    if not of_rounds:
        return []
    maintained = User.objects.filter(pk__in=accounts, taxonomies__versions=round_.taxonomy_version_id)
    maintainers = {accounts[pk].pk for pk in maintained.order_by().values_list("pk", flat=True)}
    proposed = {item for each, items in others.items() if each.pk in of_rounds for item in items}
    return [(item, pk) for item in proposed for pk in maintainers]


def _maintain_what_was_proposed(round_: Round, members: Iterable[Membership]) -> set[int]:
    """Which members maintain the round's taxonomy, where drafts show what was proposed in the round; one query.

    Also if they proposed it themselves: whether they count would tell whose it was.
    """
    accounts = {account: each.pk for each in members for account in each.account_ids}
    accepted = ProposalOutcome.objects.filter(outcome=ProposalOutcome.Outcome.ACCEPTED, proposal__round=round_)
    maintained = User.objects.filter(Exists(accepted), pk__in=accounts, taxonomies__versions=round_.taxonomy_version_id)
    return {accounts[pk] for pk in maintained.order_by().values_list("pk", flat=True)}


def _is_told_by_a_plan(round_: Round) -> bool:
    """Whether a plan was run, or is at work, on the labels of a round that is being resolved; one query for such.

    Also one that was begun before the round came with a sheet, and done later.
    """
    if round_.state != Round.State.RESOLVING or round_.kind == Round.Kind.SCREENING:
        return False
    since = round_.resolving_at or round_.opened_at
    number = TaxonomyVersion.objects.filter(pk=round_.taxonomy_version_id).values("number")
    plans = Plan.objects.filter(study=round_.study_id, run_at__isnull=False, to_version__number__gt=Subquery(number))
    if since is not None:
        plans = plans.filter(Q(run_at__gte=since) | Q(done_at__gte=since) | Q(state__in=Plan.AT_WORK))
    return plans.exists()


def open_rounds_rated(member: Membership) -> QuerySet[Round]:
    """The open rounds in which a member rates, or which they left with an answer that they can still change."""
    present = RoundRater.objects.filter(rater=member, left_at__isnull=True).order_by()
    given = Assignment.objects.filter(RATERS, rater=member).exclude(state=Assignment.State.WITHDRAWN).order_by()
    rated = Q(pk__in=present.values("round")) | Q(pk__in=given.values("round"))
    return Round.objects.filter(rated, state=Round.State.OPEN, study=member.study_id)


def rounds_to_rate_blind(member: Membership) -> list[Round]:
    """The rounds in which a member answers without seeing others: open ones, and asked as a third rater."""
    marked = RoundRater.objects.filter(rater=member, unblinded=True).order_by()
    blind = open_rounds_rated(member).exclude(pk__in=marked.values("round")).order_by()
    asked = Assignment.objects.filter(
        EXTRA_RATERS, rater=member, state__in=Assignment.UNFINISHED, unblinded=False
    ).order_by()
    is_to_answer = Q(pk__in=blind.values("pk")) | Q(pk__in=asked.values("round"))
    return list(Round.objects.filter(is_to_answer, study=member.study_id).order_by("number"))


def _reads_open_answers(member: Membership) -> bool:
    """Whether a role shows it, or the account is one of staff, who read every study.

    Of invited people nothing shows whether they are staff until they accept; then they are marked.
    """
    if member.user is None:
        return False
    return member.has_role(OWNER, ADJUDICATOR, READER) or member.user.is_staff


def is_absent(member: Membership) -> bool:
    """Whether nobody can answer as this rater: a name from a sheet, or a former rater.

    Invited people can be named in any round, and nothing of their account is visible before they accept.
    """
    can_sign_in = member.user.is_active if member.user is not None else member.is_invited
    return not can_sign_in or not member.has_role(Membership.Role.RATER)


def raters_by_name(
    study: Study, raters: object, fields: dict[str, list[str]], field: str = "raters"
) -> list[Membership]:
    """The members who can sign in and rate, or were invited to, by user names or codes.

    What is wrong goes into `fields` under `field`.
    """
    if not isinstance(raters, list | tuple) or not raters:
        fields[field] = ["Name at least one rater."]
        return []
    if len(raters) > RATERS_MOST:
        fields[field] = [f"Name at most {RATERS_MOST:,} raters. You sent {len(raters):,}."]
        return []
    by_name = members_named(study)
    found: list[Membership] = []
    for name in raters:
        member = by_name.get(folded(str(name)))
        if member is None or not member.has_role(RATER) or not (member.user or member.is_invited):
            fields.setdefault(field, []).append(
                f"“{str(name)[:100]}” is not a rater of this study. Add them as a member first."
            )
        elif member not in found:
            found.append(member)
    return found


def newest_annotation() -> int:
    """The largest id of an annotation; one index probe."""
    return Annotation.objects.order_by("-pk").values_list("pk", flat=True).first() or 0
