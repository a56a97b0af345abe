"""Grammar of searches: words, quoted phrases, and GitHub's qualifiers, read from typed text. Pure.

    search    = { term } | "#" number
    term      = [ "-" ] ( qualifier | phrase | word )          "-" excludes
    qualifier = name ":" value { "," value }                   value: quoted, or without blanks and commas
    phrase    = quotation mark, text, quotation mark           a quotation mark inside is written \\"
    word      = anything else up to the next blank

All terms must hold. A word that begins with two hyphens (`--verbose`), and one with a colon where no qualifier can be
(`std::vector`, `https://…`, `engine.py:12`), is a word. A qualifier that is not known is rejected, never searched for.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta

from ingest.errors import Invalid
from ingest.identifiers import parse_repository
from ingest.search.matching import Term, fold
from shared.wording import nearest

LONGEST_SEARCH = 2_000
TERMS_MOST = 50
NUMBER_MOST = 2**31 - 1
PLACES = ("title", "body", "comments")
USUAL_PLACES = ("title", "body")
ORDERS = ("created", "updated", "comments")
NOT_STORED = {
    "assignee": "Concord stores when an issue was assigned, but not to whom it is assigned now.",
    "milestone": "Concord stores when an issue got or lost a milestone, but not which one it has.",
    "project": "Concord does not store projects.",
}
"""Values and qualifiers of GitHub that ask for what is not stored."""

_NUMBER = re.compile(r"#(\d{1,10})", re.ASCII)
_NAME = re.compile(r"([A-Za-z][A-Za-z-]*):(?!:|//)")
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"', re.DOTALL)
_VALUE = re.compile(r"[^\s,]*")
_DAY = re.compile(r"(\d{4})(?:-(\d\d)(?:-(\d\d))?)?", re.ASCII)
_COUNT = re.compile(r"\d{1,9}", re.ASCII)


class SearchError(ValueError):
    """What can't be read in a search, in a sentence."""


@dataclass(frozen=True)
class Range:
    """From `since` to before `until`; None leaves that side open. Of days (UTC) or of whole numbers."""

    since: datetime | int | None = None
    until: datetime | int | None = None


@dataclass(frozen=True)
class Condition:
    """A qualifier with one of its values at least to hold, or none where it is negated.

    Of `label` and `author` the values are as they were typed, of `repo` host, owner and name, of dates and `comments`
    ranges.
    """

    name: str
    values: tuple[object, ...]
    is_negated: bool = False


@dataclass(frozen=True)
class Search:
    """A search that was read.

    `number`: the issue with this number alone; `sort`: `created`, or `-created` for the newest first.
    """

    number: int | None = None
    terms: tuple[Term, ...] = ()
    without: tuple[Term, ...] = ()
    places: tuple[str, ...] = USUAL_PLACES
    conditions: tuple[Condition, ...] = ()
    sort: str = ""

    @property
    def has_text(self) -> bool:
        """Whether anything has to be looked up in texts."""
        return bool(self.terms or self.without)

    def is_in(self, texts: Mapping[str, list[str]]) -> bool:
        """Whether texts by place, folded, hold every term and none of those excluded."""

        def has(term: Term) -> bool:
            return any(term.is_in(text) for place in self.places for text in texts[place])

        return all(map(has, self.terms)) and not any(map(has, self.without))


@dataclass
class _SearchReader:
    """What was read so far."""

    terms: list[Term] = field(default_factory=list)
    without: list[Term] = field(default_factory=list)
    places: list[str] = field(default_factory=list)
    conditions: list[Condition] = field(default_factory=list)
    sort: str = ""


def read_search(text: str) -> Search:
    """Reads what a person typed. Raises SearchError."""
    if len(text) > LONGEST_SEARCH:
        raise SearchError(f"Enter at most {LONGEST_SEARCH:,} characters.")
    if number := _NUMBER.fullmatch(text.strip()):
        return Search(number=min(int(number[1]), NUMBER_MOST))
    found = _SearchReader()
    at, n_terms = 0, 0
    while at < len(text):
        if text[at].isspace():
            at += 1
            continue
        n_terms += 1
        if n_terms > TERMS_MOST:
            raise SearchError(f"Write at most {TERMS_MOST} words, phrases and qualifiers.")
        at = _read_term(text, at, found)
    if found.places and not (found.terms or found.without):
        raise SearchError("“in:” limits where words are searched. Add a word or a quoted phrase.")
    return Search(
        terms=tuple(found.terms),
        without=tuple(found.without),
        places=tuple(place for place in PLACES if place in found.places) or USUAL_PLACES,
        conditions=_merged(found.conditions),
        sort=found.sort,
    )


def _merged(conditions: list[Condition]) -> tuple[Condition, ...]:
    """Repositories and authors of several qualifiers as one: an issue has one of each, so any of them is meant."""
    merged: dict[str, Condition] = {}
    others = []
    for each in conditions:
        if each.name in ("repo", "author") and not each.is_negated:
            before = merged.get(each.name)
            merged[each.name] = Condition(each.name, (*before.values, *each.values) if before else each.values)
        else:
            others.append(each)
    return (*merged.values(), *others)


def _read_term(text: str, at: int, found: _SearchReader) -> int:
    """Reads the term that begins at a place; where the next one may begin."""
    is_negated = text[at] == "-" and at + 1 < len(text) and not (text[at + 1] == "-" or text[at + 1].isspace())
    at += is_negated
    if text[at] == '"':
        phrase, at = _quoted(text, at)
        if not phrase:
            raise SearchError(f"The quotation marks before character {at + 1} are empty. Enter text between them.")
        (found.without if is_negated else found.terms).append(Term(fold(phrase), is_phrase=True))
        return at
    end = at
    while end < len(text) and not text[end].isspace():
        end += 1
    if name := _NAME.match(text, at, end):
        written = name[1].lower()
        is_known = written in QUALIFIERS or written in NOT_STORED
        if is_known or name.end() < end:
            if not is_known:
                raise SearchError(_unknown(name[1], text[at:end]))
            return _read_qualifier(text, name.end(), written, is_negated, found)
    (found.without if is_negated else found.terms).append(Term(fold(text[at:end])))
    return end


def _quoted(text: str, at: int) -> tuple[str, int]:
    """The text between quotation marks, of which the first is at a place, and where it ends."""
    if not (closed := _QUOTED.match(text, at)):
        raise SearchError(f"The quotation mark at character {at + 1} is not closed. Add one at the end of the phrase.")
    return closed[1].replace('\\"', '"'), closed.end()


def _unknown(name: str, term: str) -> str:
    names = [*QUALIFIERS, *NOT_STORED]
    near = nearest(name.lower(), names)
    hint = f"Did you mean “{near}:”?" if near else f"Use one of {', '.join(f'{each}:' for each in QUALIFIERS)}."
    quoted = term.replace('"', '\\"')
    return f'Unknown qualifier “{name[:40]}:”. {hint} To search for this text, quote it: "{quoted[:80]}".'


def _read_qualifier(text: str, at: int, name: str, is_negated: bool, found: _SearchReader) -> int:
    """Reads the values of a qualifier; where the next term may begin."""
    if name in NOT_STORED:
        raise SearchError(f"“{name}:” can't be searched. {NOT_STORED[name]}")
    values: list[str] = []
    while True:
        if at < len(text) and text[at] == '"':
            value, at = _quoted(text, at)
        else:
            value = _VALUE.match(text, at)[0]  # type: ignore[index]
            at += len(value)
        if not value.strip():
            raise SearchError(f"“{name}:” has no value. {QUALIFIERS[name].help}")
        values.append(value)
        if at >= len(text) or text[at] != ",":
            break
        at += 1
    try:
        QUALIFIERS[name].take(found, name, values, is_negated)
    except ValueError as error:
        raise SearchError(f"“{name}:{','.join(values)[:60]}” is not valid. {error}") from None
    return at


Take = Callable[[_SearchReader, str, list[str], bool], None]


@dataclass(frozen=True)
class Qualifier:
    """A qualifier: how its values are taken (raising ValueError with a sentence), its meaning and an example.

    `values` are those that can be suggested.
    """

    take: Take
    means: str
    help: str
    values: tuple[str, ...] = ()


def _reads(read: Callable[[str], object]) -> Take:
    def take(found: _SearchReader, name: str, values: list[str], is_negated: bool) -> None:
        found.conditions.append(Condition(name, tuple(map(read, values)), is_negated))

    return take


def _one_of(choices: Mapping[str, str]) -> Callable[[str], str]:
    def read(value: str) -> str:
        word = value.lower()
        if word in ("pr", "pull-request", "merged", "unmerged", "draft"):
            raise ValueError("Concord stores issues, not pull requests.")
        if word in NOT_STORED:
            raise ValueError(NOT_STORED[word])
        if word not in choices:
            raise ValueError(f"Write {_listed(tuple(choices))}.")
        return choices[word]

    return read


def _listed(choices: tuple[str, ...]) -> str:
    return f"{', '.join(choices[:-1])} or {choices[-1]}" if len(choices) > 1 else choices[0]


def _author(value: str) -> str:
    if value.lower() == "@me":
        raise ValueError("Concord does not store your GitHub login. Enter a login.")
    return f"{value[4:]}[bot]" if value.lower().startswith("app/") else value


def _repository(value: str) -> tuple[str, str, str]:
    try:
        return parse_repository(value)
    except Invalid:
        raise ValueError("Write owner/name.") from None


def _day(value: str) -> tuple[datetime, datetime]:
    """The first moment of a year, month, day or second, and the first after it."""
    if found := _DAY.fullmatch(value):
        year, month, day = (int(part) if part else None for part in found.groups())
        try:
            first = date(year or 0, month or 1, day or 1)
            if day:
                after = first + timedelta(days=1)
            elif month:
                after = date(first.year + month // 12, month % 12 + 1, 1)
            else:
                after = date(first.year + 1, 1, 1)
        except (ValueError, OverflowError):
            raise ValueError("This day does not exist.") from None
        return _midnight(first), _midnight(after)
    try:
        if "T" not in value:
            raise ValueError
        moment = datetime.fromisoformat(value)
        moment = moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
        return moment, moment + timedelta(seconds=1)
    except (ValueError, OverflowError):
        raise ValueError(
            "Enter a day such as 2024-05-31, or >2024-05-31, <=2024-05-31, 2024-01-01..2024-05-31."
        ) from None


def _midnight(day: date) -> datetime:
    return datetime(day.year, day.month, day.day, tzinfo=UTC)


def _count(value: str) -> tuple[int, int]:
    if not _COUNT.fullmatch(value):
        raise ValueError("Enter a whole number such as 5, or >5, <=5, 2..5.")
    return int(value), int(value) + 1


def _range(bounds: Callable[[str], tuple[datetime, datetime] | tuple[int, int]]) -> Callable[[str], Range]:
    """Reads `x`, `>x`, `>=x`, `<x`, `<=x`, `x..y`, `x..*`, `*..y`; `bounds` gives where x begins and is over."""

    def read(value: str) -> Range:
        if ".." in value:
            low, _, high = value.partition("..")
            if low == high == "*":
                raise ValueError("Give at least one end of the range.")
            since = None if low == "*" else bounds(low)[0]
            until = None if high == "*" else bounds(high)[1]
            return Range(since, until)
        for sign, ends in ((">=", (0, None)), ("<=", (None, 1)), (">", (1, None)), ("<", (None, 0))):
            if value.startswith(sign):
                found = bounds(value.removeprefix(sign))
                return Range(*(None if end is None else found[end] for end in ends))
        return Range(*bounds(value))

    return read


def _take_places(found: _SearchReader, name: str, values: list[str], is_negated: bool) -> None:
    if is_negated:
        raise ValueError("It can't be negated. Name the places to look in.")
    for value in values:
        if value.lower() not in PLACES:
            raise ValueError(f"Write {_listed(PLACES)}.")
        found.places.append(value.lower())


def _take_sort(found: _SearchReader, name: str, values: list[str], is_negated: bool) -> None:
    by, _, direction = values[0].lower().partition("-")
    if is_negated or len(values) > 1 or found.sort or by not in ORDERS or direction not in ("", "asc", "desc"):
        raise ValueError(f"Use one of {', '.join(SORTS)}, once.")
    found.sort = by if direction == "asc" else f"-{by}"


SORTS = tuple(f"{by}-{direction}" for by in ORDERS for direction in ("desc", "asc"))
IS = {name: name for name in ("open", "closed", "locked", "unlocked", "public", "private", "issue")}
STATES = {"open": "open", "closed": "closed"}
_DAYS = "2024-05-31, >2024-05-31, <=2024-05-31, 2024-01-01..2024-05-31, 2024 or 2024-05"

QUALIFIERS: Mapping[str, Qualifier] = {
    "is": Qualifier(
        _reads(_one_of(IS)), "open, closed, locked, unlocked, public or private", "Write is:open.", tuple(IS)
    ),
    "state": Qualifier(_reads(_one_of(STATES)), "open or closed", "Write state:open.", tuple(STATES)),
    "label": Qualifier(
        _reads(str), "has this GitHub label, in any case", 'Write label:bug or label:"good first issue".'
    ),
    "author": Qualifier(_reads(_author), "was opened by this login, in any case", "Write author:octocat."),
    "created": Qualifier(_reads(_range(_day)), f"opened then (UTC): {_DAYS}", "Write created:>2024-05-31."),
    "closed": Qualifier(_reads(_range(_day)), "closed then, written like created:", "Write closed:>2024-05-31."),
    "updated": Qualifier(
        _reads(_range(_day)), "changed last then, written like created:", "Write updated:>2024-05-31."
    ),
    "comments": Qualifier(_reads(_range(_count)), "has so many comments: 5, >5, <=5, 2..5", "Write comments:>5."),
    "no": Qualifier(_reads(_one_of({"label": "label"})), "no:label: has no label", "Write no:label.", ("label",)),
    "in": Qualifier(
        _take_places, "looks for words in the title, body or comments, not in title and body", "Write in:title.", PLACES
    ),
    "repo": Qualifier(_reads(_repository), "is in this repository", "Write repo:owner/name."),
    "sort": Qualifier(_take_sort, f"the order of the list: {', '.join(SORTS)}", "Write sort:created-desc.", SORTS),
}
