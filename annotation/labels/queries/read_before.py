"""Reading of earlier labels: which raters of a round could read labels of its items in other rounds beforehand.

It follows from roles and dates alone, so it depends on no answer. Members read labels of a round once its labeling has
ended. Owners and adjudicators who do not rate in it read them before, too. Raters of an open round read nothing of its
items elsewhere (`Seat.withheld`), so only what they could read until then counts.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from django.db.models import Exists, Min, OuterRef, Q
from django.utils import timezone

from annotation.core.access import ADJUDICATOR, OWNER, Seat
from annotation.core.member_lists import code_order
from annotation.models import (
    Annotation,
    Assignment,
    AuditEvent,
    InboxLine,
    Membership,
    Round,
    RoundItem,
    RoundRater,
    Study,
)
from annotation.models.assignment_kinds import RATERS
from shared.names import folded
from shared.wording import plural, series

CAME_IN = ("member accepted", "invitation accepted")
"""The lines of the audit log by which an account that was invited came into a study."""
INVITED = "member invited"
OF_MEMBERS = (INVITED, "member joined", "member set", *CAME_IN)
FIRST_LINE = timedelta(minutes=1)
"""The first line of a membership is written at most this long after it was created, if there is one of that time."""
CAME_INTO_ROUND = "rater added"
_ACCOUNTS = ("user", "former_user", "invited_user", "formerly")
CODING = (Round.Kind.PILOT, Round.Kind.MAIN)


class Reach(NamedTuple):
    """That a rater could read labels of an earlier round before they could label in a later one; ids.

    They could until `blind_from`. `before`: only labels that were given until then, as an owner or adjudicator; None:
    all of them. Items of the rounds `covered`, in which the rater rated at that time, were hidden from them.
    """

    later: int
    rater: int
    earlier: int
    blind_from: datetime
    before: datetime | None
    covered: tuple[int, ...]


@dataclass(frozen=True)
class _Presence:
    """Since when someone is in a study, and from when until when they decide in it: they read labels of open rounds.

    `decides_from` None: never. `decides_until` None: still.
    """

    since: datetime
    decides_from: datetime | None
    decides_until: datetime | None


class _Span(NamedTuple):
    start: datetime
    end: datetime


_ENDLESS = datetime.max.replace(tzinfo=UTC)


def reaches(
    study: Study, later: Sequence[Round], earlier: Sequence[Round], *, of_third_raters: bool = False
) -> list[Reach]:
    """Who of the people who rate in `later` rounds could read labels of which `earlier` ones; three queries.

    One more where someone came into an open round, or left it. `of_third_raters`: instead who was asked there as a
    third rater, until the last time; four queries, one where there is none.
    """
    asked: dict[tuple[int, int], datetime] = {}
    members: dict[int, Membership] = {}
    if of_third_raters:
        lines = InboxLine.objects.filter(kind=InboxLine.Kind.ARBITER, round__in=later).order_by("created_at")
        for line in lines.select_related(*(f"member__{account}" for account in _ACCOUNTS)):
            asked[line.round_id, line.member_id] = line.created_at
            members[line.member_id] = line.member
        if not asked:
            return []
    rounds = {each.pk: each for each in (*later, *earlier)}
    rows = RoundRater.objects.filter(round__in=rounds, rater__kind=Membership.Kind.PERSON)
    left: dict[tuple[int, int], datetime | None] = {}
    for row in rows.select_related(*(f"rater__{account}" for account in _ACCOUNTS)):
        members[row.rater_id] = row.rater
        left[row.round_id, row.rater_id] = row.left_at
    blind = _blind_spans(study, rounds, left, members)
    presences = _presences(study, members.values())
    starts = asked or {(one.pk, pk): blind[one.pk, pk].start for one in later for of, pk in left if of == one.pk}
    found = []
    for (one, rater), until in starts.items():
        for other in earlier:
            if other.pk == one or other.opened_at is None:
                continue
            for span, before in _spans(presences[rater], other, until, blind.get((other.pk, rater))):
                covered = tuple(
                    pk
                    for pk in rounds
                    if pk != other.pk
                    and (pk != one or of_third_raters)
                    and (hidden := blind.get((pk, rater))) is not None
                    and hidden.start <= span.start
                    and hidden.end >= span.end
                )
                found.append(Reach(one, rater, other.pk, until, before, covered))
    return found


def _spans(
    presence: _Presence, other: Round, until: datetime, blind: _Span | None
) -> Iterator[tuple[_Span, datetime | None]]:
    """When someone could read labels of a round before `until`, and which ones as `Reach.before` has it.

    While it was open, as an owner or adjudicator, outside the time in which they rated there (`blind`).
    """
    if other.resolving_at is not None and max(other.resolving_at, presence.since) < until:
        yield _Span(max(other.resolving_at, presence.since), until), None
    if presence.decides_from is None or other.opened_at is None:
        return
    first = max(other.opened_at, presence.decides_from)
    last = min(until, presence.decides_until or until, other.resolving_at or until)
    own = blind or _Span(last, last)
    for start, end in ((first, min(last, own.start)), (max(first, own.end), last)):
        if start < end:
            yield _Span(start, end), end


def _blind_spans(
    study: Study,
    rounds: Mapping[int, Round],
    left: Mapping[tuple[int, int], datetime | None],
    members: Mapping[int, Membership],
) -> dict[tuple[int, int], _Span]:
    """From when until when the raters of rounds were blind there; a draft begins now.

    From its newest opening, or when they came into it, until it is resolved. Without an answer people are blind until
    they leave (`left`), and not before they come back. Lines of before the opening are of another one, or of a draft
    that had the same number.
    """
    numbers, codes = {each.number: each.pk for each in rounds.values()}, {each.code: pk for pk, each in members.items()}
    now = timezone.now()
    lines = AuditEvent.objects.filter(study=study, verb=CAME_INTO_ROUND, detail__round__in=list(numbers)).order_by("pk")
    came = [
        (place, at)
        for at, detail in lines.values_list("at", "detail")
        if (place := (numbers[detail["round"]], codes.get(detail["rater"], 0))) in left
        and (opened_at := rounds[place[0]].opened_at) is not None
        and at >= opened_at
    ]
    first: dict[tuple[int, int], datetime] = {}
    if places := {place for place, _ in came} | {place for place, at in left.items() if at is not None}:
        rated = Assignment.objects.filter(  # a third answer makes nobody blind who left
            RATERS, round__in={round_id for round_id, _ in places}, rater__in={rater for _, rater in places}
        )
        given = Annotation.objects.filter(assignment__in=rated)
        firsts = given.order_by().values_list("assignment__round", "rater").annotate(at=Min("created_at"))
        first = {(round_id, rater): at for round_id, rater, at in firsts}
    starts = {place: rounds[place[0]].opened_at or now for place in left}
    starts |= {place: at for place, at in came if place not in first or first[place] > at}
    ends = {
        place: (at if place not in first else None) or rounds[place[0]].resolving_at or _ENDLESS
        for place, at in left.items()
    }
    return {place: _Span(start, ends[place]) for place, start in starts.items()}


def _presences(study: Study, members: Iterable[Membership]) -> dict[int, _Presence]:
    """By membership (id) what dates are known of it, by the audit log; one query."""
    lines = list(
        AuditEvent.objects.filter(study=study, verb__in=OF_MEMBERS)
        .order_by("pk")
        .values_list("verb", "at", "user_id", "detail")
    )
    return {each.pk: _presence(study, each, lines) for each in members}


def _presence(study: Study, member: Membership, lines: Sequence[tuple[str, datetime, int | None, Any]]) -> _Presence:
    """Lines that came with a study's file name people by their user names on the server that it came from.

    The log may have no line of how someone came in: of who created the study, and of copies that earlier versions made.
    If they decide now, or could read open rounds once, they count as deciding since their membership was created.
    """
    accounts = [*member.accounts, *([member.invited_user] if member.invited_user else [])]
    ids, names = {each.pk for each in accounts}, {folded(each.home_name) for each in accounts}
    own = [
        (verb, at, detail)
        for verb, at, user, detail in lines
        if (user in ids if verb in CAME_IN else folded(str(detail.get("member", "")).strip()) in names)
    ]
    was_name = member.formerly_id is None and any("was" in detail for *_, detail in own)
    is_creator = member.formerly_id is None and study.created_by_id in ids
    is_known = was_name or (bool(own) and own[0][1] - member.created_at < FIRST_LINE and not is_creator)
    came_in = [(at, detail.get("roles") or ()) for verb, at, detail in own if verb != INVITED]
    since = min((at for at, _ in came_in), default=member.created_at) if is_known else member.created_at
    decides = [at for at, roles in came_in if OWNER in roles or ADJUDICATOR in roles]
    is_in = member.user is not None or (member.formerly_id is not None and member.left_at is None)
    is_now = is_in and member.has_role(OWNER, ADJUDICATOR)
    decides_from = None
    if is_now or member.could_read_until is not None:
        decides_from = min(decides, default=since if is_now else None) if is_known else since
    if member.user is not None and member.user.is_staff:  # who reads every study
        since = min(since, member.user.date_joined)
    return _Presence(since, decides_from, None if is_now else member.could_read_until)


@dataclass(frozen=True)
class ReadersBefore:
    """How many items of a round are in others, too, and who of its raters (by code) could read labels there before."""

    round: int
    n_items: int
    codes: Sequence[str]

    def __bool__(self) -> bool:
        return bool(self.codes)

    @property
    def sentence(self) -> str:
        """Of a round that was opened."""
        items, them = plural(self.n_items, "item"), "it" if self.n_items == 1 else "them"
        return (
            f"Before labeling {items} in round {self.round}, {series(self.codes)} could read labels of {them} in other "
            "rounds."
        )

    @property
    def warning(self) -> str:
        """Of a draft."""
        if not self:
            return "None of its raters can read labels of them now."
        items = plural(self.n_items, "item")
        return f"Until this round opens, {series(self.codes)} can read labels of {items} of it in other rounds."


def readers_before(round_: Round) -> ReadersBefore | None:
    """Who of a round's raters could read labels of its items elsewhere; whether there are any does not matter.

    None for rounds that show earlier labels, ask nothing of these, or came from a sheet. One query for a round whose
    items are in no other one, else six or seven.
    """
    if round_.kind not in CODING or round_.is_from_sheet:
        return None
    own = RoundItem.objects.counting().filter(round=round_).order_by().values("item")
    shared = RoundItem.objects.counting().filter(item__in=own, round__kind__in=CODING, round__opened_at__isnull=False)
    shared = shared.exclude(round=round_).order_by()
    others = list(Round.objects.filter(pk__in=shared.values("round")))
    found = reaches(round_.study, [round_], others) if others else []
    if not found:
        return ReadersBefore(round_.number, 0, ())
    readable = shared.filter(round__in={each.earlier for each in found}).values("item").distinct().count()
    codes = RoundRater.objects.filter(round=round_, rater__in={each.rater for each in found})
    names = sorted((code or "" for code in codes.values_list("rater__code", flat=True)), key=code_order)
    return ReadersBefore(round_.number, readable, names)


def readers_before_each(rounds: Sequence[Round], every: Sequence[Round]) -> list[ReadersBefore]:
    """The same of some of `every` round of a study, where someone could; one query, and more where items recur.

    No query where fewer than two rounds of the study were opened.
    """
    opened = [each.pk for each in every if each.kind in CODING and each.opened_at is not None]
    if len(opened) < 2:
        return []
    others = RoundItem.objects.counting().filter(item=OuterRef("item"), round__in=opened)
    places = RoundItem.objects.counting().filter(
        Exists(others.exclude(round=OuterRef("round"))), round__in=[each.pk for each in rounds]
    )
    recur = set(places.order_by().values_list("round", flat=True).distinct())
    found = [readers_before(each) for each in rounds if each.pk in recur]
    return [each for each in found if each]


MOST_SOURCES = 20
"""So many studies back a copy is followed."""
LINES_BETWEEN = 100
"""So many lines of other studies may come between the two of a duplication."""


def sources_of(study: Study) -> list[Study]:
    """The study that this one was duplicated from, the one that this was, and so on, as far as they are here.

    Both audit logs have a line of it, one shortly after the other: lines that came with a file can be forged, and are
    younger than what they would have to precede.
    """
    found: list[Study] = []
    at = study
    for _ in range(MOST_SOURCES):
        line = AuditEvent.objects.filter(study=at, verb="duplicated from a study").order_by("pk").first()
        if line is None:
            break
        noted = AuditEvent.objects.filter(study=OuterRef("pk"), verb="study duplicated", detail__to=at.slug)
        noted = noted.filter(pk__gt=line.pk, pk__lte=line.pk + LINES_BETWEEN)
        source = Study.objects.filter(Exists(noted), slug=line.detail.get("of") or "", deleted_at=None).first()
        if source is None or source in (study, *found):
            break
        found.append(source)
        at = source
    return found


def labeled_in_source(seat: Seat, round_: Round) -> str:
    """How many items of a round its raters got in a study that this one is a copy of, and who: whatever they answered.

    Empty for none, for people who don't see that study, and of accounts that have not accepted. One query; for a copy
    three or more.
    """
    found = sources_of(round_.study) if round_.kind in CODING and not round_.is_from_sheet else []
    if not found:
        return ""
    sources = Study.objects.filter(pk__in=[each.pk for each in found])
    if not seat.user.is_staff:
        sources = sources.filter(memberships__user=seat.user)
    raters = {
        account: row.rater.code or ""
        for row in RoundRater.objects.filter(round=round_).select_related("rater")
        for account in (row.rater.user_id, row.rater.former_user_id)
        if account is not None
    }
    own = RoundItem.objects.counting().filter(round=round_, item__issue__isnull=False).order_by()
    opened = {"round__study__in": sources, "round__kind__in": CODING, "round__opened_at__isnull": False}
    there = RoundItem.objects.filter(**opened, item__issue=OuterRef("item__issue"))
    shared = RoundItem.objects.filter(round=OuterRef("round"), item__issue__in=own.values("item__issue"))
    theirs = Q(rater__user__in=raters) | Q(rater__former_user__in=raters)
    rated = RoundRater.objects.filter(theirs, Exists(shared), **opened)
    accounts = {account for pair in rated.values_list("rater__user", "rater__former_user") for account in pair}
    codes = sorted({raters[each] for each in accounts if each in raters}, key=code_order)
    n = own.filter(Exists(there.filter(round__in=rated.values("round")))).count()
    if not codes or not n:
        return ""
    was = "was" if n == 1 else "were"
    return (
        f"{plural(n, 'item')} of this round {was} in rounds of {series(codes)} in a study that this one was duplicated "
        "from."
    )
