"""Guesses about the sheets of an upload, by names, headers, and values; a person confirms them."""

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import IO

from annotation.core.errors import Invalid
from annotation.imports.sheets.books import Sheet, SheetBook, open_book
from annotation.imports.sheets.columns import OWN_FINAL, ROLES, SINGLE, TEXTS, own_dimension
from annotation.imports.sheets.gathered_rows import item_name
from annotation.imports.sheets.mapping import (
    BY_DIMENSION,
    BY_RATER,
    LONG,
    NAMED_IN,
    BookMapping,
    ColumnMapping,
    SheetMapping,
    check_mapping,
    is_list,
)
from annotation.imports.sheets.other_tools import LABEL_STUDIO
from annotation.imports.sheets.rounds import is_trial
from annotation.imports.sheets.values import loose

BY = "@"
"""In what is mapped: dimension@rater."""
HEAD_LINES = 25
HEAD_CHARACTERS_MAX = 80
ROWS_LOOKED_AT = 2_000
VALUES_MOST, VALUE_CHARACTERS_MOST = 200, 120
ALIKE_LEAST = 0.5

NAMES = {role: each.heads.split("|") for role, each in ROLES.items() if each.heads}
HEADS = frozenset(name for names in NAMES.values() for name in names)
FINAL = frozenset(
    {"final", "agreed", "agreement", "consensus", "gold", "resolved", "adjudicated", "merged", "result", "decision"}
)
CHOSEN = frozenset({"selected", "chosen", "picked", "decided"})
"""As FINAL, beside columns of raters that are told apart by letters or numbers."""
RATER_WORDS = frozenset({*NAMES["rater"], "evaluator", "assessor", "expert", "participant", "author", "person"})
SUFFIX = re.compile(r"[a-e]|[1-9]")
NUMBERED = re.compile(r"(.*[^\W\d])(\d)")
RATER = re.compile(r"(?:r|rater|coder|annotator|label|labeler|labeller|reviewer|author|person|user)[\s_-]*\d{1,3}")
ROUND = re.compile(r"(?:round|iteration|iter|phase|batch)[\s_-]*(\d{1,3})", re.IGNORECASE)
TOOL_COLUMNS = frozenset({"created at", "updated at", "annotation id", "agreement", "id"})
APART = re.compile(r"[\s_\-.:/()\[\]]+")


@dataclass(frozen=True)
class _ColumnTexts:
    """The texts of one column: how many cells are filled, and how often each text stands there."""

    n: int
    counts: Counter[str]

    @property
    def different_share(self) -> float:
        return len(self.counts) / self.n if self.n else 0.0

    @property
    def longest(self) -> int:
        return max(map(len, self.counts), default=0)

    @property
    def issue_share(self) -> float:
        found = sum(n for text, n in self.counts.items() if item_name(text).issue or text.startswith("http"))
        return found / self.n if self.n else 0.0


def guess_book(book: SheetBook, round_: str = "1") -> BookMapping:
    """A guess for every sheet; `round_` is the round of rows that nothing places otherwise."""
    sheets = [guess_sheet(sheet) for sheet in book.sheets]
    _guess_raters_and_rounds(book, sheets, round_)
    return BookMapping(sheets)


def guessed_book(
    file: IO[bytes],
    name: str,
    mapping: Mapping[str, str],
    dimensions: Sequence[str],
    attributes: Sequence[str] = (),
    final: str = "final",
) -> tuple[SheetBook, BookMapping]:
    """A whole upload and what its sheets and columns are, as they are guessed.

    `mapping`, `dimensions` and `attributes` correct the guess where they name columns; `DIMENSION@RATER=COLUMN` names
    the answers of a rater, and then only such columns are answers. Raises Unreadable, and Invalid with what is missing.
    """
    book = open_book(file, name)
    guessed = guess_book(book, "")
    for each in guessed.sheets:
        _correct(each, mapping, dimensions, attributes)
    for sheet, each in zip(book.sheets, guessed.sheets, strict=True):
        if each.form == BY_RATER and not any(column.rater for column in each.columns):
            each.form = BY_DIMENSION
            each.rater = each.rater or _rater(sheet.name or PurePath(sheet.file).stem)
    _check_attributes(guessed, mapping, attributes)
    guessed.final = final
    check_mapping(guessed, book)
    return book, guessed


def _check_attributes(guessed: BookMapping, mapping: Mapping[str, str], attributes: Sequence[str]) -> None:
    """Each attribute that was named has to be a column of a sheet. Raises Invalid."""
    found = {column.dimension for sheet in guessed.sheets for column in sheet.columns if column.role == "attribute"}
    if missing := [name for each in attributes if (name := each.strip()) and name not in found]:
        there = ", ".join(
            dict.fromkeys(column.name for sheet in guessed.sheets for column in sheet.columns if column.name)
        )
        wanted = mapping.get(missing[0], missing[0])
        raise Invalid(f"Column “{wanted}” not found. The columns are: {there}.", code="columns")


def _correct(
    sheet: SheetMapping, mapping: Mapping[str, str], dimensions: Sequence[str], attributes: Sequence[str]
) -> None:
    named = {mapping.get(name, name).strip().casefold(): name for each in attributes if (name := each.strip())}
    for each in sheet.columns:
        if each.name.casefold() in named:
            each.role, each.dimension, each.rater = "attribute", named[each.name.casefold()], ""
    sheet.is_used = sheet.is_used or is_list(sheet)
    mapping = {role: name for role, name in mapping.items() if role not in named.values()}
    by_name = {column.name.casefold(): column for column in reversed(sheet.columns)}
    by_name |= {f"#{n}": column for n, column in enumerate(sheet.columns, start=1)}
    if any(BY in role for role in mapping):
        for each in sheet.columns:
            each.role = "" if each.role == "answer" else each.role
        sheet.form = BY_RATER
    for role, name in mapping.items():
        column = by_name.get(name.strip().casefold())
        if BY in role:
            _map_answer(sheet, column, role, name)
            continue
        if role in (*SINGLE, *TEXTS):
            if column is None:
                raise _no_column(sheet, name)
            for place in sheet.places(role) if role not in TEXTS else ():
                sheet.columns[place].role = ""
            column.role, column.dimension, column.rater = role, "", ""
        elif column is not None:
            for each in sheet.columns:
                if each.role == "answer" and (loose(each.dimension), each.rater) == (loose(role), column.rater):
                    each.role = ""
            column.role, column.dimension = "answer", role
            column.rater = column.rater if split_rater(column.name)[1] else ""
    wanted = {name.strip().casefold() for name in dimensions if name.strip()}
    if wanted and not any(BY in role for role in mapping) and sheet.form != LONG:
        for column in sheet.columns:
            if column.role == "answer" and wanted.isdisjoint({column.name.casefold(), column.dimension.casefold()}):
                column.role = ""
            elif not column.role and column.name.casefold() in wanted:
                column.role, column.dimension = "answer", column.name


def _map_answer(sheet: SheetMapping, column: ColumnMapping | None, role: str, name: str) -> None:
    """`symptom@R1=COLUMN`: the column holds answers of R1, or of whom the column R1 names. Raises Invalid."""
    if column is None:
        raise _no_column(sheet, name)
    dimension, _, rater = (part.strip() for part in role.rpartition(BY))
    other = next(
        (each for each in sheet.columns if each.name.casefold() == rater.casefold() and each is not column), None
    )
    column.role, column.dimension = "answer", dimension or "label"
    column.rater = rater if other is None else NAMED_IN + other.name
    if other is not None:
        other.role, sheet.parts = "", False


def _no_column(sheet: SheetMapping, name: str) -> Invalid:
    there = ", ".join(each.name for each in sheet.columns if each.name)
    return Invalid(f"Column “{name}” not found. The columns are: {there}.", code="columns")


def guess_sheet(sheet: Sheet, form: str = "", head: int = 0) -> SheetMapping:
    """The head line, the form and the columns of one sheet, as far as they are not given."""
    place = next((n for n, line in enumerate(sheet.lines) if line.line == head and not line.fault), -1) if head else -1
    place = _head(sheet) if place < 0 else place
    if place < 0:
        return SheetMapping(is_used=False, form=form or BY_DIMENSION)
    line = sheet.lines[place]
    width = min(max(sheet.width, len(line.cells)), 2_000)
    names = [" ".join(cell.split()) for cell in line.cells] + [""] * (width - len(line.cells))
    rows = [each.cells for each in sheet.lines[place + 1 :][:ROWS_LOOKED_AT] if not each.fault]
    values = [_values(rows, column) for column in range(width)]
    while names and not names[-1] and not values[len(names) - 1].n:
        names.pop()
    mapping = SheetMapping(
        is_used=bool(rows) and not sheet.is_hidden,
        head=line.line,
        columns=[ColumnMapping(name) for name in names],
        several=sorted(sheet.several),
    )
    if len(sheet.roles) == len(names):
        mapping.form = LONG if "value" in sheet.roles else BY_DIMENSION
        mapping.fills = mapping.parts = False
        for column, role in zip(mapping.columns, sheet.roles, strict=True):
            column.role = role
            column.dimension = own_dimension(column.name) if role == "answer" else ""
        if "rater" not in sheet.roles:
            mapping.rater = OWN_FINAL
        return mapping
    _guess_columns(mapping, values, form, is_tool=sheet.kind == LABEL_STUDIO)
    if not mapping.places("answer") and mapping.form != LONG:
        mapping.is_used = False
    return mapping


def _head(sheet: Sheet) -> int:
    """The first line that is about as wide as the widest of the first ones and holds short, different words."""
    first = [(n, line.cells) for n, line in enumerate(sheet.lines[:HEAD_LINES]) if not line.fault]
    widest = max((sum(bool(cell.strip()) for cell in cells) for _, cells in first), default=0)
    for n, cells in first:
        texts = [" ".join(cell.split()) for cell in cells if cell.strip()]
        if (
            len(texts) >= max(min(2, widest), 0.6 * widest)
            and (len({text.casefold() for text in texts}) == len(texts) or any(_plain(text) in HEADS for text in texts))
            and all(len(text) <= HEAD_CHARACTERS_MAX and not _is_datum(text) for text in texts)
        ):
            return n
    return first[0][0] if first else -1


def _is_datum(text: str) -> bool:
    """Whether a text is rather an item or a figure than the name of a column."""
    return text.startswith(("http://", "https://")) or bool(item_name(text).issue) or _is_number(text)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _values(rows: Sequence[Sequence[str]], column: int) -> _ColumnTexts:
    counts = Counter(
        text.casefold() for cells in rows if column < len(cells) and (text := " ".join(cells[column].split()))
    )
    return _ColumnTexts(counts.total(), counts)


def _plain(name: str) -> str:
    return " ".join(APART.sub(" ", name.casefold()).split())


def _guess_columns(mapping: SheetMapping, values: Sequence[_ColumnTexts], form: str, *, is_tool: bool) -> None:
    plain = [_plain(column.name) for column in mapping.columns]
    for role in ("rater", "round", "part", "seconds", "dimension", "value"):
        _take(mapping, [n for n, name in enumerate(plain) if name in NAMES[role]][:1], role)
    is_long = bool(mapping.places("dimension")) and bool(mapping.places("value"))
    mapping.form = form or (LONG if is_long else BY_DIMENSION)
    if mapping.form != LONG:
        for place in (*mapping.places("dimension"), *mapping.places("value")):
            mapping.columns[place].role = ""
    for role in TEXTS:
        _take(mapping, [n for n, name in enumerate(plain) if not mapping.columns[n].role and name in NAMES[role]], role)
    _take(mapping, _item(mapping, plain, values), "item")
    free = [
        n
        for n, column in enumerate(mapping.columns)
        if not column.role and column.name and _is_answer(values[n]) and not (is_tool and plain[n] in TOOL_COLUMNS)
    ]
    if mapping.form == LONG:
        return
    if form != BY_DIMENSION and mapping.place("rater") < 0:
        if pairs := pairs_of(mapping):
            take_pairs(mapping, pairs)
            return
        taken = {n for n, column in enumerate(mapping.columns) if column.role}
        by_rater = _by_rater(plain, free, values, taken)
        if not by_rater and (groups := suffixes_of([mapping.columns[n].name for n in free])):
            take_suffixes(mapping, groups)
            free = [n for n in free if not mapping.columns[n].role]
    else:
        by_rater = {}
    if form == BY_RATER and not by_rater:
        by_rater = {n: ("", mapping.columns[n].name) for n in free}
    for n in by_rater or free:
        dimension, rater = by_rater.get(n, (mapping.columns[n].name, ""))
        mapping.columns[n].role = "answer"
        mapping.columns[n].dimension = dimension if not by_rater or dimension else "label"
        mapping.columns[n].rater = rater
    if by_rater:
        mapping.form = BY_RATER


def pairs_of(mapping: SheetMapping) -> list[tuple[str, str]]:
    """Heads of columns that name a rater, each with that of the answer: (evaluator1, tag1), (evaluator2, tag2)."""
    by_number: dict[str, list[tuple[str, str]]] = {}
    for column in mapping.columns:
        stem, suffix = split_suffix(column.name)
        if suffix.isdecimal():
            by_number.setdefault(suffix, []).append((stem, column.name))
    stems = [{stem for stem, _ in each} for each in by_number.values()]
    raters = [stem for stem in (set.intersection(*stems) if stems else ()) if stem in RATER_WORDS]
    if len(by_number) < 2 or len(raters) != 1 or any(len(each) != len(stems[0]) or len(each) < 2 for each in stems):
        return []
    return [
        (next(name for stem, name in each if stem == raters[0]), name)
        for each in by_number.values()
        for stem, name in each
        if stem != raters[0]
    ]


def take_pairs(mapping: SheetMapping, pairs: Sequence[tuple[str, str]]) -> None:
    """Columns of answers whose raters other columns name; rows of an item belong together."""
    raters = {answer: rater for rater, answer in pairs}
    for column in mapping.columns:
        if column.name in raters:
            column.role, column.dimension = "answer", split_suffix(column.name)[0]
            column.rater = NAMED_IN + raters[column.name]
        elif column.name in raters.values():
            column.role = ""
    mapping.form, mapping.parts = BY_RATER, False


def as_dimensions(mapping: SheetMapping) -> None:
    """Every column of answers as a dimension of its own."""
    raters = {column.rater.removeprefix(NAMED_IN) for column in mapping.columns if column.rater.startswith(NAMED_IN)}
    for column in mapping.columns:
        if column.role == "answer" or column.name in raters:
            column.role, column.dimension, column.rater = "answer", column.name, ""
    mapping.form, mapping.parts = BY_DIMENSION, True
    mapping.rater = mapping.rater or "rater"


def suffixes_of(heads: Sequence[str]) -> dict[str, dict[str, str]]:
    """Stem → head → rater ("" for none) of columns that seem to hold one dimension by several raters: type A, type B,
    type selected.
    """
    found: dict[str, dict[str, str]] = {}
    plain = {_plain(head): head for head in heads}
    for head in heads:
        stem, suffix = split_suffix(head)
        if suffix:
            found.setdefault(stem, {})[head] = "final" if suffix in FINAL | CHOSEN else suffix.upper()
    for stem, group in found.items():
        if stem in plain and "final" in group.values():
            found[stem] = {plain[stem]: ""} | group
    return {stem: group for stem, group in found.items() if len(set(group.values())) > 1}


def split_suffix(head: str) -> tuple[str, str]:
    """Stem and suffix of a head such as "task_type_A", "tag1" or "label (selected)"; no suffix where it has none."""
    *words, last = _plain(head).split() or [""]
    if words and (SUFFIX.fullmatch(last) or last in FINAL | CHOSEN):
        return " ".join(words), last
    if numbered := NUMBERED.fullmatch(last):
        return " ".join([*words, numbered[1]]), numbered[2]
    return " ".join([*words, last]), ""


def take_suffixes(mapping: SheetMapping, groups: Mapping[str, Mapping[str, str]]) -> None:
    """Columns that are told apart by suffixes, as answers of raters."""
    raters = {head: (stem, rater) for stem, group in groups.items() for head, rater in group.items()}
    for column in mapping.columns:
        if column.name in raters:
            column.role, (column.dimension, column.rater) = "answer", raters[column.name]
    if all(rater for _, rater in raters.values()):
        mapping.form = BY_RATER


def _take(mapping: SheetMapping, places: Sequence[int], role: str) -> None:
    for place in places:
        if not mapping.columns[place].role:
            mapping.columns[place].role = role


def _item(mapping: SheetMapping, plain: Sequence[str], values: Sequence[_ColumnTexts]) -> list[int]:
    """The column of the item: addresses of issues first, then by its name, then the first that hardly repeats."""
    free = [n for n, column in enumerate(mapping.columns) if not column.role and values[n].n]
    found = [n for n in free if values[n].issue_share > 0.5]
    order = ["item", "issue", "issue url", "item url", "url", "link"]
    found.sort(key=lambda n: (order.index(plain[n]) if plain[n] in order else len(order), n))
    named = sorted(
        (n for n in free if plain[n] in NAMES["item"]),
        key=lambda n: (plain[n] in ("title", "name"), n),
    )
    distinct = [n for n in free if values[n].different_share > 0.8 and values[n].longest <= 300]
    return (found or named or distinct)[:1]


def _is_answer(values: _ColumnTexts) -> bool:
    """A vocabulary rather than free text, addresses or running numbers."""
    if not values.n or values.issue_share > 0.3:
        return False
    few = len(values.counts) <= max(5, 0.6 * values.n) and len(values.counts) <= VALUES_MOST
    return few and values.longest <= VALUE_CHARACTERS_MOST


def _by_rater(
    plain: Sequence[str], free: Sequence[int], values: Sequence[_ColumnTexts], taken: Collection[int]
) -> dict[int, tuple[str, str]]:
    """Columns that name a rater, with dimension and rater; of a column named "final" also those with its vocabulary.

    Columns that hold a dimension of others come with them, whatever their values: one long text does not lose a rater.
    """
    found: dict[int, tuple[str, str]] = {}
    for n in free:
        dimension, rater = split_rater(plain[n])
        if rater:
            found[n] = dimension, rater
    raters = {rater for _, rater in found.values()}
    bare = [n for n, (dimension, _) in found.items() if not dimension]
    if len(bare) == 1 and is_final(plain[bare[0]]) and len(found) == 1:
        own = set(values[bare[0]].counts)
        alike = [n for n in free if n not in found and _alike(set(values[n].counts), own) >= ALIKE_LEAST]
        if not alike:
            return {}
        return found | {n: ("", plain[n]) for n in alike}
    if len(raters) < 2:
        return {}
    dimensions = {dimension for dimension, _ in found.values()}
    for n, name in enumerate(plain):
        if n not in found and n not in taken and values[n].n and split_rater(name)[1]:
            dimension, rater = split_rater(name)
            if dimension in dimensions:
                found[n] = dimension, rater
    return dict(sorted(found.items()))


def _alike(one: set[str], other: set[str]) -> float:
    return len(one & other) / min(len(one), len(other)) if one and other else 0.0


def split_rater(name: str) -> tuple[str, str]:
    """Dimension and rater of a head such as "symptom R1" or "final stage"; no rater where none is named."""
    words = _plain(name).split()
    for size in (2, 1):
        for of_rater, rest in ((words[-size:], words[:-size]), (words[:size], words[size:])):
            text = " ".join(of_rater)
            if len(of_rater) == size and (RATER.fullmatch(text) or (size == 1 and text in FINAL)):
                return " ".join(rest), "final" if text in FINAL else text
    return " ".join(words), ""


def guess_heads(mapping: SheetMapping) -> list[str]:
    """What each head says by itself: a dimension, and a rater where it names one."""
    return [BY.join(split_rater(column.name)) for column in mapping.columns]


def is_final(name: str) -> bool:
    """Whether a sheet or column is called like what was decided in the end."""
    return bool(FINAL & set(_plain(name).split()))


def _guess_raters_and_rounds(book: SheetBook, sheets: Sequence[SheetMapping], usual: str) -> None:
    """Sheets without a column for rater or round: both by the names of sheet and file; and heads without "final"."""
    for sheet, mapping in zip(book.sheets, sheets, strict=True):
        if mapping.place("round") < 0:
            mapping.round = _round(sheet) or usual
        bare = mapping.form == BY_DIMENSION and mapping.place("rater") < 0
        if not bare:
            continue
        name = sheet.name or PurePath(sheet.file).stem
        of_file = is_final(PurePath(sheet.file).stem) and not RATER.fullmatch(_plain(name))
        mapping.rater = "final" if is_final(name) or of_file else _rater(name)
    heads = Counter(
        loose(column.dimension)
        for mapping in sheets
        if mapping.is_used
        for column in mapping.columns
        if column.role == "answer"
    )
    for mapping in sheets:
        for column in mapping.columns:
            if column.role != "answer" or column.rater:
                continue
            words = [word for word in column.dimension.split() if _plain(word) not in FINAL]
            short = " ".join(words)
            if short and short != column.dimension and heads[loose(short)]:
                column.dimension = short


def _rater(name: str) -> str:
    text = ROUND.sub(" ", name)
    return " ".join(text.split()).strip(" -_") or "rater"


def _round(sheet: Sheet) -> str:
    names = (sheet.name, PurePath(sheet.file).stem)
    for name in names:
        if words := [word for word in APART.split(name) if is_trial(word)]:
            return words[0].casefold()
        if found := ROUND.search(name):
            return str(int(found[1]))
    return ""
