"""Values of a sheet, read against a version: values, proposals, and rejections with the nearest category."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from annotation.imports.sheets.columns import SheetRow
from annotation.labels.answers import AnswerPart, applies
from annotation.labels.consensus import PENDING, ProposalRequest, Values
from annotation.labels.resolution_notes import NO_NOTES, ResolutionNotes
from shared.names import clean_name, visible
from shared.wording import nearest
from taxonomy.kinds import Value, WrongValue
from taxonomy.tree import TreeCategory, TreeDimension, VersionTree

NAME_MAX = 200
OFTEN_SEEN = 100
"""Texts of at most so many characters are kept in memory as they are compared: most cells say the same."""
LIKENESS = 50.0
PATHS_SHOWN = 10
SCALE_VALUE = re.compile(r"-?\d{1,6}")
"""A whole number of a scale."""
ASKS = re.compile(r"pending(?:\s*:\s*(?P<name>.*))?", re.IGNORECASE | re.DOTALL)
NOTHING_PENDING = "Proposals can't be pending while screening. Use the closest reason, and explain it in the memo."
EMPTY_SET = "[]"
"""The cell of an answer that chooses none of the categories; a blank one is no answer."""
SEPARATORS = re.compile(r"[;|\n]")

Refuse = Callable[[SheetRow, str], None]


SUGGESTED_MAX = 1_000
"""So many unknown values are shown with the nearest category: to find it among many takes milliseconds."""


class RejectedValue(Exception):
    """A value that can't be taken; its text is the reason. `unknown` is the text that is no category."""

    def __init__(self, reason: str, unknown: str = "") -> None:
        super().__init__(reason)
        self.unknown = unknown


@dataclass
class ValueReader:
    """Reads texts of one version; each different text of a dimension is looked up once.

    `spellings` says what a text stands for that is no category: dimension key and text, as `folded` gives it → another
    text, empty for no rating.
    """

    tree: VersionTree
    takes_proposals: bool = True
    spellings: Mapping[tuple[str, str], str] = field(default_factory=dict)
    _dimensions: dict[str, TreeDimension | None] = field(default_factory=dict)
    _values: dict[tuple[str, str], tuple[Value | ProposalRequest, ...] | RejectedValue] = field(default_factory=dict)
    _n_suggested: int = 0

    def dimension(self, name: str) -> TreeDimension | None:
        """The dimension of this key or title, whatever its case and whether it has hyphens, underscores or blanks."""
        if name not in self._dimensions:
            alike = [each for each in self.tree.dimensions if loose(name) in {loose(each.key), loose(each.title)}]
            self._dimensions[name] = self.tree.by_key.get(name) or (alike[0] if len(alike) == 1 else None)
        return self._dimensions[name]

    def no_dimension(self, name: str) -> str:
        known = [dimension.key for dimension in self.tree.dimensions]
        return f"The taxonomy has no dimension “{name[:NAME_MAX]}”.{_nearest(name, {key: key for key in known})}"

    def read(self, dimension: TreeDimension, text: str) -> tuple[Value | ProposalRequest, ...]:
        """What a text means, several values only for a dimension that takes several. Raises Refused."""
        text = text if dimension.is_free_text else visible(text).strip()
        place = dimension.key, text
        if place not in self._values:
            try:
                found = self._read(dimension, text)
                if not self.takes_proposals and any(isinstance(each, ProposalRequest) for each in found):
                    raise RejectedValue(NOTHING_PENDING)
                self._values[place] = found
            except RejectedValue as refused:
                self._values[place] = self._with_nearest(dimension, refused)
        known = self._values[place]
        if isinstance(known, RejectedValue):
            raise known.with_traceback(None)
        return known

    def _with_nearest(self, dimension: TreeDimension, refused: RejectedValue) -> RejectedValue:
        if not refused.unknown or self._n_suggested >= SUGGESTED_MAX:
            return refused
        self._n_suggested += 1
        return RejectedValue(f"{refused}{_nearest(refused.unknown, _spellings(dimension))}", refused.unknown)

    def _read(self, dimension: TreeDimension, text: str) -> tuple[Value | ProposalRequest, ...]:
        try:
            return _read(dimension, text)
        except RejectedValue:
            instead = self.spellings.get((dimension.key, fold_value(text)))
            words = words_of(text) if instead is None and dimension.is_set else []
            if instead is None and not any((dimension.key, fold_value(word)) in self.spellings for word in words):
                raise
        if instead is None:
            found = [value for word in words for value in self._read(dimension, word)]
            return tuple(dict.fromkeys(found))
        return _read(dimension, instead) if instead else ()


def fold_value(text: str) -> str:
    """A value as it is compared: trimmed, inner blanks collapsed, without case and what can't be seen."""
    return _folded(text) if len(text) <= OFTEN_SEEN else clean_name(text).casefold()


@lru_cache(10_000)
def _folded(text: str) -> str:
    return clean_name(text).casefold()


def is_empty_set(text: str) -> bool:
    return "[" in text and "".join(text.split()) == EMPTY_SET


def words_of(text: str) -> list[str]:
    """The values of a cell that holds several."""
    return [word.strip() for word in SEPARATORS.split(text) if word.strip()]


@lru_cache(10_000)
def loose(name: str) -> str:
    """A dimension's name as it is compared: without case, hyphens and underscores as blanks."""
    return " ".join(re.split(r"[\s_-]+", name.casefold().strip()))


def _read(dimension: TreeDimension, text: str) -> tuple[Value | ProposalRequest, ...]:
    if is_empty_set(text) and not dimension.is_free_text:
        if dimension.is_set:
            return ()
        raise RejectedValue(
            f"“{EMPTY_SET}” is an empty set, but “{dimension.title}” takes one value. Leave the cell empty for no "
            "rating."
        )
    if not dimension.is_free_text and (asked := ASKS.fullmatch(text)):
        return (_proposal(dimension, asked["name"] or ""),)
    if dimension.is_set:
        return _several(dimension, text)
    if dimension.has_categories:
        return (_category(dimension, text).key,)
    try:
        return dimension.question_kind.read_cell(dimension, text)
    except WrongValue as wrong:
        raise RejectedValue(str(wrong)) from None


def _proposal(dimension: TreeDimension, name: str) -> ProposalRequest:
    name = " ".join(name.split())
    if not dimension.has_categories:
        raise RejectedValue(f"“{dimension.title}” has no categories, so none can be pending.")
    if len(name) > NAME_MAX:
        raise RejectedValue(f"A proposed name has at most {NAME_MAX} characters.")
    return ProposalRequest(name or PENDING)


def _several(dimension: TreeDimension, text: str) -> tuple[Value | ProposalRequest, ...]:
    """One category, or several in one cell with semicolons, bars or line breaks between them."""
    try:
        return (_category(dimension, text).key,)
    except RejectedValue:
        words = words_of(text)
        if len(words) < 2:
            raise
    return tuple(
        _proposal(dimension, asked["name"] or "") if (asked := ASKS.fullmatch(word)) else _category(dimension, word).key
        for word in words
    )


def _category(dimension: TreeDimension, text: str) -> TreeCategory:
    if len(text) > NAME_MAX * 4:
        raise RejectedValue(f"“{text[:50]}…” is too long to be a category of “{dimension.title}”.")
    found = dimension.find(text)
    if not found:
        raise RejectedValue(f"“{text[:NAME_MAX]}” is not a category of “{dimension.title}”.", text)
    if len(found) > 1:
        paths = ", ".join(f"“{category.path}”" for category in found[:PATHS_SHOWN])
        raise RejectedValue(f"“{text}” can mean {len(found)} categories of “{dimension.title}”: {paths}. Use the path.")
    if not found[0].selectable:
        raise RejectedValue(f"“{found[0].name}” only groups others. Use one of its subcategories.")
    return found[0]


def _spellings(dimension: TreeDimension) -> dict[str, str]:
    found: dict[str, str] = {}
    for category in dimension.categories:
        if category.selectable:
            for spelling in (category.name, category.path, category.key):
                found.setdefault(spelling.casefold(), category.path)
    return found


def nearest_category(dimension: TreeDimension, text: str) -> TreeCategory | None:
    """The category whose key, name or path is spelled most like a text; None where none is."""
    spellings = _spellings(dimension)
    close = closest(text, list(spellings))
    return next((each for each in dimension.categories if close and each.path == spellings[close]), None)


def closest(text: str, words: Sequence[str], likeness: float = LIKENESS) -> str:
    """The word most like a text, both without case; "" where none is at least so like it (0–100)."""
    return nearest(fold_value(text)[:NAME_MAX], words, likeness_min=likeness, processor=_bare)


def _bare(text: str) -> str:
    return text.replace("&", " and ").replace("  ", " ")


def _nearest(word: str, spellings: Mapping[str, str]) -> str:
    close = closest(word, list(spellings))
    return f" The nearest is “{spellings[close]}”." if close else ""


@dataclass(frozen=True)
class ReadAnswer:
    """What one rater said of one item: its parts from 1, and the time spent."""

    parts: Sequence[AnswerPart]
    seconds: int | None = None

    @property
    def is_blank(self) -> bool:
        """Whether nothing is in it: its cells are empty, or were all rejected."""
        return self.seconds is None and not any(part.values or part.proposals or part.memo for part in self.parts)


def read_answer(
    reader: ValueReader, rows: Sequence[SheetRow], numbers: Mapping[str, int], refuse: Refuse
) -> ReadAnswer:
    """The answer of one rater from its rows; `refuse(row, reason)` is called for each value that can't be taken.

    The same value twice counts once. The memos of a part's rows are put together; `seconds` is the largest figure, as
    sheets repeat it on every row of an answer.
    """
    parts = [_Part() for _ in range(max(numbers[row.part] for row in rows))]
    for row in rows:
        part = parts[numbers[row.part] - 1]
        if row.memo and row.memo not in part.memos:
            part.memos.append(row.memo)
        for name, text in row.values:
            part.take(reader, row, name, text, refuse)
    seconds = [round(float(row.seconds)) for row in rows if row.seconds]
    return ReadAnswer([part.finished(reader.tree, refuse) for part in parts], max(seconds, default=None))


@dataclass
class _Part:
    """One part while its rows come in."""

    values: dict[str, list[Value]] = field(default_factory=dict)
    proposals: dict[str, ProposalRequest] = field(default_factory=dict)
    rows: dict[str, SheetRow] = field(default_factory=dict)
    memos: list[str] = field(default_factory=list)
    empty: set[str] = field(default_factory=set)

    def take(self, reader: ValueReader, row: SheetRow, name: str, text: str, refuse: Refuse) -> None:
        dimension = reader.dimension(name)
        if dimension is None:
            refuse(row, reader.no_dimension(name))
            return
        if not text:
            return
        try:
            found = reader.read(dimension, text)
            for value in found:
                self._add(dimension, value, row)
            if not found and is_empty_set(text):
                self._add_none(dimension, row)
        except RejectedValue as refused:
            refuse(row, str(refused))

    def _add_none(self, dimension: TreeDimension, row: SheetRow) -> None:
        if dimension.key in self.rows and dimension.key not in self.empty:
            raise RejectedValue(
                f"“{dimension.title}” is “{EMPTY_SET}” here, but has a value in {self.rows[dimension.key].where}."
            )
        self.rows.setdefault(dimension.key, row)
        self.empty.add(dimension.key)

    def _add(self, dimension: TreeDimension, value: Value | ProposalRequest, row: SheetRow) -> None:
        key = dimension.key
        if key in self.empty:
            raise RejectedValue(
                f"“{dimension.title}” has a value here, but is “{EMPTY_SET}” in {self.rows[key].where}."
            )
        asked = self.proposals.get(key)
        if isinstance(value, ProposalRequest):
            if asked is not None and asked.name.casefold() == value.name.casefold():
                return
            if asked is not None:
                raise RejectedValue(f"“{dimension.title}” has a proposal in {self.rows[key].where} already.")
        if not dimension.is_set and key in self.rows:
            if not isinstance(value, ProposalRequest) and self.values.get(key) == [value]:
                return
            raise RejectedValue(f"“{dimension.title}” takes one value. It already has one in {self.rows[key].where}.")
        self.rows.setdefault(key, row)
        if isinstance(value, ProposalRequest):
            self.proposals[key] = ProposalRequest(value.name, row.memo)
        elif value not in self.values.setdefault(key, []):
            self.values[key].append(value)

    def finished(self, tree: VersionTree, refuse: Refuse) -> AnswerPart:
        """The part without the values of dimensions that its other answers rule out."""
        found: dict[str, Values] = {}
        for dimension in tree.dimensions:
            key = dimension.key
            if key not in self.rows:
                continue
            if reason := exclusion_reason(tree, dimension, found):
                refuse(self.rows[key], reason)
                self.proposals.pop(key, None)
                continue
            asked = (PENDING,) if key in self.proposals else ()
            values = (*self.values.get(key, ()), *asked)
            found[key] = tuple(sorted(map(str, values))) if dimension.has_categories else values
        return AnswerPart(found, self.proposals, "\n".join(self.memos))


def exclusion_reason(tree: VersionTree, dimension: TreeDimension, values: Mapping[str, Values]) -> str:
    """Why a dimension can't have a value under these; a blank or pending answer before it rules nothing out."""
    condition = dimension.applies_when
    if condition is None:
        return ""
    before = values.get(condition.dimension)
    if before is None:
        return exclusion_reason(tree, tree.by_key[condition.dimension], values)
    if PENDING in before or applies(tree, dimension.key, values):
        return ""
    other = tree.by_key[condition.dimension]
    if reason := exclusion_reason(tree, other, values):
        return reason
    said = ", ".join(str(value).lower() if isinstance(value, bool) else str(value) for value in before)
    return f"“{dimension.title}” does not apply where “{other.title}” is {said or 'empty'}."


@dataclass(frozen=True, slots=True)
class ReadDecision:
    """One decision of the final rater; no values: left blank."""

    part: int
    dimension: str
    values: Values
    notes: ResolutionNotes
    row: SheetRow


@dataclass(frozen=True, slots=True)
class Blank:
    """A cell that the final rater left empty."""

    part: int
    dimension: str
    notes: ResolutionNotes
    row: SheetRow


def read_decisions(
    reader: ValueReader, rows: Sequence[SheetRow], numbers: Mapping[str, int], refuse: Refuse
) -> tuple[list[ReadDecision], list[Blank]]:
    """What the final rater decided of one item, and what they left blank; a pending decision is refused."""
    parts: dict[int, _Part] = {}
    memos: dict[tuple[int, str], list[str]] = {}
    blanks: dict[tuple[int, str], Blank] = {}
    empty: list[ReadDecision] = []
    for row in rows:
        number = numbers[row.part]
        part = parts.setdefault(number, _Part())
        for name, text in row.values:
            dimension = reader.dimension(name)
            if dimension is None:
                refuse(row, reader.no_dimension(name))
                continue
            if not dimension.is_free_text and _is_pending(text):
                refuse(row, "A final value can't be pending. Use the agreed category.")
                blanks[number, dimension.key] = Blank(number, "", NO_NOTES, row)
                continue
            if row.memo and row.memo not in memos.setdefault((number, dimension.key), []):
                memos[number, dimension.key].append(row.memo)
            if is_empty_set(text) and not dimension.is_set and not dimension.is_free_text:
                blanks[number, dimension.key] = Blank(number, "", NO_NOTES, row)
                empty.append(ReadDecision(number, dimension.key, (), ResolutionNotes(row.memo), row))
            elif text:
                part.take(reader, row, name, text, refuse)
                blanks[number, dimension.key] = Blank(number, "", NO_NOTES, row)
            else:
                blanks.setdefault((number, dimension.key), Blank(number, dimension.key, ResolutionNotes(row.memo), row))
    decided = [
        ReadDecision(
            number, key, values, ResolutionNotes("\n".join(memos.get((number, key), ()))), parts[number].rows[key]
        )
        for number in sorted(parts)
        for key, values in parts[number].finished(reader.tree, refuse).values.items()
    ]
    taken = {(each.part, each.dimension) for each in decided}
    decided += [each for each in empty if (each.part, each.dimension) not in taken]
    taken |= {(each.part, each.dimension) for each in empty}
    return decided, [each for place, each in blanks.items() if each.dimension and place not in taken]


def _is_pending(text: str) -> bool:
    return any(ASKS.fullmatch(word.strip()) for word in SEPARATORS.split(text)) or bool(ASKS.fullmatch(text))
