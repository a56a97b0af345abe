"""Reading of earlier labels: which raters of a round could read labels of its items in other rounds beforehand.

It follows from roles and dates alone, so it depends on no answer. Members read labels of a round once its labeling has
ended. Owners and adjudicators who do not rate in it read them before, too. Raters of an open round read nothing of its
items elsewhere (`Seat.withheld`), so only what they could read until then counts.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from django.db.models import Exists, Min, OuterRef, Q, QuerySet
from django.utils import timezone

from accounts.models import User
from annotation.core.access import ADJUDICATOR, OWNER, Seat
from annotation.core.imported import STUDY_CREATED, STUDY_IMPORTED
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
from annotation.models.studies import ACCOUNTS
from shared.names import folded
from shared.wording import plural, series

CAME_IN = ("member accepted", "invitation accepted")
"""The lines of the audit log by which an account that was invited came into a study."""
INVITED = "member invited"
LEFT = ("member left", "member removed")
OF_MEMBERS = (INVITED, "member joined", "member set", *CAME_IN, *LEFT)
BEGAN = (STUDY_CREATED, STUDY_IMPORTED)
FIRST_LINE = timedelta(minutes=1)
"""The first line of a membership is written at most this long after it was created, if there is one of that time."""
CAME_INTO_ROUND = "rater added"
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
    """When someone is in a study, and when they decide in it: then they read labels of open rounds."""

    there: Sequence["_Span"]
    deciding: Sequence["_Span"]


class _Span(NamedTuple):
    start: datetime
    end: datetime


class _Line(NamedTuple):
    """A line of the audit log about a member."""

    verb: str
    at: datetime
    user: int | None
    elsewhere: str | None
    account: int | None
    detail: Any

    @property
    def about(self) -> int | None:
        """The account that it is about; None for who was invited, and for lines of earlier versions."""
        return self.user if self.verb in CAME_IN else self.account

    @property
    def roles(self) -> Sequence[str]:
        if self.verb in BEGAN:
            return (OWNER,)
        return () if self.verb in LEFT else self.detail.get("roles") or ()


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
        for line in lines.select_related(*(f"member__{account}" for account in ACCOUNTS)):
            asked[line.round_id, line.member_id] = line.created_at
            members[line.member_id] = line.member
        if not asked:
            return []
    rounds = {each.pk: each for each in (*later, *earlier)}
    rows = RoundRater.objects.filter(round__in=rounds, rater__kind=Membership.Kind.PERSON)
    left: dict[tuple[int, int], datetime | None] = {}
    for row in rows.select_related(*(f"rater__{account}" for account in ACCOUNTS)):
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
    for span in presence.there if other.resolving_at is not None else ():
        first, last = max(other.resolving_at or span.start, span.start), min(until, span.end)
        if first < last:
            yield _Span(first, last), None
    for span in presence.deciding if other.opened_at is not None else ():
        first = max(other.opened_at or span.start, span.start)
        last = min(until, span.end, other.resolving_at or until)
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
    """By membership (id) what dates are known of it, by the audit log; one query, two after a move."""
    lines = _lines(AuditEvent.objects.filter(study=study, verb__in=(*BEGAN, *OF_MEMBERS)))
    everybody = list(members)
    if all(line.about is not None for line in lines if line.verb != INVITED):
        return {each.pk: _presence(each, _of_accounts(each, lines)) for each in everybody}
    lines = [line for line in lines if line.verb not in BEGAN]
    unclear: set[tuple[bool, str]] = set()
    creator = 0
    if any(account.elsewhere for each in everybody for account in each.all_accounts):
        there = Membership.objects.filter(study=study).select_related("formerly").order_by("pk")
        creator = min(each.pk for each in there)  # where the study comes from
        unclear = {
            name for name, n in Counter(_first_name(each.formerly) for each in there if each.formerly).items() if n > 1
        }
    return {each.pk: _presence(each, _of_names(study, each, lines, unclear, creator)) for each in everybody}


def _lines(rows: QuerySet[AuditEvent]) -> list[_Line]:
    columns = ("verb", "at", "user_id", "user__elsewhere", "account_id", "detail")
    return [_Line(*row) for row in rows.order_by("pk").values_list(*columns)]


def _first_name(user: User) -> tuple[bool, str]:
    return bool(user.elsewhere), folded(user.first_home_name)


@dataclass(frozen=True)
class _Log:
    """The lines about a member, the oldest first; `is_whole` if each change of their roles has one.

    One of an earlier version may have no line of how someone came in: of who created the study, and of copies.
    """

    lines: Sequence[_Line]
    is_whole: bool
    is_of_one_server: bool
    is_of_creator: bool = False


def _of_accounts(member: Membership, lines: Sequence[_Line]) -> _Log:
    """Where each line, also that of how the study began, names its account; none does of who was only invited."""
    ids = {each.pk for each in member.all_accounts}
    own = [line for line in lines if line.about in ids]
    return _Log(own, bool(own), len({line.about for line in own}) == 1)


def _of_names(
    study: Study, member: Membership, lines: Sequence[_Line], unclear: Collection[tuple[bool, str]], creator: int
) -> _Log:
    """Where lines of earlier versions name people by their user names alone.

    Those that came with a study's file name them as they were called on the server that it came from. Someone here can
    have such a name: these lines are about accounts of that server, and others about those here. Those about `unclear`
    names tell nothing: of two people of a study that was moved twice. `creator` is the membership of who created a
    study that was moved.
    """
    accounts = member.all_accounts
    ids, called = {each.pk for each in accounts}, {_first_name(each) for each in accounts}
    names = called.difference(unclear)
    own = [line for line in lines if (line.about in ids if line.about is not None else _named(study, line) in names)]
    stayed = [line for line in own if line.verb not in LEFT]
    was_name = member.formerly_id is None and any("was" in line.detail for line in stayed)
    is_creator = member.pk == creator or (member.formerly_id is None and study.created_by_id in ids)
    is_whole = was_name or (bool(stayed) and stayed[0].at - member.created_at < FIRST_LINE and not is_creator)
    # After two moves the log can have their roles under another name that they had.
    is_whole = is_whole and names == called and (member.formerly_id is None or member.could_read_until is None)
    kept = [line for line in own if line.verb != INVITED]
    return _Log(kept, is_whole, member.formerly_id is None, is_creator)


def _presence(member: Membership, log: _Log) -> _Presence:
    """When someone is in the study and decides; since their membership was created where the log is not whole.

    Then they count as deciding if they decide now, or could read open rounds once.
    """
    came_in = [line for line in log.lines if line.verb not in LEFT]
    since = min((line.at for line in came_in), default=member.created_at) if log.is_whole else member.created_at
    decides = [line.at for line in came_in if OWNER in line.roles or ADJUDICATOR in line.roles]
    is_in = member.user is not None or (member.formerly_id is not None and member.left_at is None)
    is_now = is_in and member.has_role(OWNER, ADJUDICATOR)
    # Of who decided and then reads results the database notes no end of a role that reads labels.
    could_decide = is_now or member.could_read_until is not None or log.is_of_creator or bool(decides)
    decides_from = min(decides, default=None) if log.is_whole else None
    if is_now or (could_decide and not log.is_whole):
        decides_from = decides_from or since
    there: Sequence[_Span] = [_Span(since, _ENDLESS)]
    until = _ENDLESS if is_now else member.could_read_until or _ENDLESS
    deciding: Sequence[_Span] = [] if decides_from is None else [_Span(decides_from, until)]
    if log.is_whole and log.is_of_one_server:
        told = _by_lines(log.lines)
        if (_is_open(told.there), _is_open(told.deciding)) == (is_in, is_now):
            there, deciding = told.there, [_until_seen(each, member.could_read_until) for each in told.deciding]
    if member.user is not None and member.user.is_staff:  # who reads every study
        there = [_Span(min(since, member.user.date_joined), _ENDLESS)]
    return _Presence(there, deciding)


def _until_seen(span: _Span, could_read_until: datetime | None) -> _Span:
    """A span until others see its end, a moment after the line of the audit log."""
    if could_read_until is not None and span.end < could_read_until < span.end + FIRST_LINE:
        return _Span(span.start, could_read_until)
    return span


def _is_open(spans: Sequence[_Span]) -> bool:
    return bool(spans) and spans[-1].end == _ENDLESS


def _by_lines(lines: Sequence[_Line]) -> _Presence:
    there: list[_Span] = []
    deciding: list[_Span] = []
    for line in lines:
        decides = OWNER in line.roles or ADJUDICATOR in line.roles
        for spans, holds in ((there, line.verb not in LEFT), (deciding, decides)):
            if holds and not _is_open(spans):
                spans.append(_Span(line.at, _ENDLESS))
            elif not holds and _is_open(spans):
                spans[-1] = _Span(spans[-1].start, line.at)
    return _Presence(there, deciding)


def _named(study: Study, line: _Line) -> tuple[bool, str]:
    """Whom a line names: whether it came with a study's file, so that it is someone of that server, and the name."""
    is_of_file = bool(line.elsewhere) or (line.user is None and line.at < study.created_at)
    return is_of_file, folded(str(line.detail.get("member", "")).strip())


def owners_since(study: Study, users: Collection[int]) -> dict[int, datetime]:
    """Since when users were owners of a study, by id, whether they are now or not; three queries, none for no users.

    Who created it, and who is an owner now and is in no line, since its creation or earlier.
    """
    found: dict[int, datetime] = {}
    if not users:
        return found
    owners = Membership.objects.filter(study=study, roles__contains=[OWNER])
    now = {user for pair in owners.values_list("user", "formerly") for user in pair if user} | {study.created_by_id}
    found = dict.fromkeys(now, datetime.min.replace(tzinfo=UTC))
    by_name: dict[tuple[bool, str], list[int]] = {}
    for each in User.objects.filter(pk__in=users):
        by_name.setdefault(_first_name(each), []).append(each.pk)
    as_owner = Q(verb__in=OF_MEMBERS, detail__roles__contains=OWNER) & ~Q(verb=INVITED)
    began = Q(verb__in=BEGAN, account__isnull=False)
    for line in _lines(AuditEvent.objects.filter(as_owner | began, study=study)):
        for who in [line.about] if line.about is not None else by_name.get(_named(study, line), ()):
            found.setdefault(who, line.at)
    return found


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

    Calibration items of other rounds are among them: raters there labeled them, too.
    None for rounds that show earlier labels, ask nothing of these, or came from a sheet. One query for a round whose
    items are in no other one, else six or seven.
    """
    if round_.kind not in CODING or round_.is_from_sheet:
        return None
    own = RoundItem.objects.counting().filter(round=round_).order_by().values("item")
    shared = RoundItem.objects.present().filter(item__in=own, round__kind__in=CODING, round__opened_at__isnull=False)
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
    others = RoundItem.objects.present().filter(item=OuterRef("item"), round__in=opened)
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
