"""Import plan: how a file is read, by which columns, and which questions are open. Pure."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, BinaryIO

from annotation.core.errors import Invalid
from annotation.core.sheet_tables import open_table
from annotation.imports.sheets.books import SheetBook, is_book
from annotation.imports.sheets.columns import SheetLayout, SheetRow, lay_out, rows_of
from annotation.imports.sheets.gathered_rows import GatheredSheet, gather
from annotation.imports.sheets.guesses import BY, guessed_book
from annotation.imports.sheets.mapping import BY_DIMENSION, LONG, BookMapping, BookReader, ColumnMapping, SheetMapping
from annotation.imports.sheets.missing_values import MissingValues, answers_of
from annotation.imports.sheets.questions import (
    BLANK_OPTION,
    DUPLICATES_OPTION,
    EMPTY,
    MAP_OPTION,
    SCALE,
    RowTally,
    SheetQuestion,
    answer,
    column_questions,
    conflicts,
    open_ones,
    row_questions,
    scale_questions,
)
from annotation.imports.sheets.spellings import Meanings, apply_spellings
from annotation.imports.sheets.values import ValueReader, is_empty_set, loose
from ingest.tables.files import TableRow

ROWS_SHOWN = 6


@dataclass(frozen=True)
class SheetOptions:
    """What was said of a file: which column holds what, and the answers to questions."""

    mapping: Mapping[str, str] = field(default_factory=dict)
    dimensions: Sequence[str] = ()
    attributes: Sequence[str] = ()
    several: Sequence[str] = ()
    final: str = "final"
    guess: bool = False
    duplicates: str = ""
    blank: str = ""
    ordinal: Sequence[str] = ()
    number: Sequence[str] = ()
    missing: Sequence[str] = ()
    not_missing: Sequence[str] = ()
    decimal: str = ""


@dataclass
class SheetPlan:
    """A file as it is read; `titles` are those of its sheets, `first` the first rows, `offers` need no answer."""

    mapping: BookMapping
    titles: Sequence[str]
    sheet: GatheredSheet
    several: Sequence[str]
    questions: list[SheetQuestion]
    first: Sequence[SheetRow]
    offers: Sequence[SheetQuestion] = ()

    def as_document(self) -> dict[str, Any]:
        return {
            "sheets": [
                _sheet_document(sheet, title) for sheet, title in zip(self.mapping.sheets, self.titles, strict=True)
            ],
            "rows": [_row_document(row) for row in self.first],
            "questions": [{"option": each.option, "question": each.in_full} for each in self.questions],
            "offers": [{"option": each.option, "question": each.text, "chosen": each.chosen} for each in self.offers],
        }


def plan_sheet(file: BinaryIO, name: str, asked: SheetOptions, reader: ValueReader | None) -> SheetPlan:
    """Reads a file by what was said of it; `reader` is None for a new study.

    Raises Unreadable, and Invalid with what is missing, and what the page would ask about the columns.
    """
    if asked.guess or is_book(file) or any(BY in key for key in asked.mapping):
        return _guessed(file, name, asked, reader)
    table = open_table(file)
    try:
        layout = lay_out(table.columns, asked.mapping, asked.dimensions, asked.attributes)
    except Invalid as error:
        raise _with_questions(error, file, name, asked) from error
    mapping = BookMapping([_as_mapping(layout, table.columns)], asked.final)
    wide = {""} if layout.dimensions else set[str]()
    named = {"rater", *asked.mapping}
    rows = rows_of(layout, table.rows)
    return _planned(mapping, [""], rows, wide, asked, reader, [], named, has_parts=layout.places["part"] >= 0)


def guessed_plan(
    file: BinaryIO, name: str, asked: SheetOptions, reader: ValueReader | None, missing: Invalid
) -> SheetPlan:
    """The plan of a file whose columns are not all known: as they would be guessed, with what is missing."""
    file.seek(0)
    found = _guessed(file, name, asked, reader)
    return replace(found, questions=[SheetQuestion("columns", missing.message, (), MAP_OPTION), *found.questions])


def _with_questions(error: Invalid, file: BinaryIO, name: str, asked: SheetOptions) -> Invalid:
    file.seek(0)
    try:
        book, mapping = guessed_book(file, name, asked.mapping, asked.dimensions, asked.attributes, asked.final)
    except Invalid:
        return error
    titles = [book.title_of(number) for number in range(len(book.sheets))]
    found = [each.in_full for each in column_questions(mapping, titles, _named_columns(asked))]
    return Invalid(" ".join([error.message, *found]), code=error.code, fields=error.fields) if found else error


def _named_columns(asked: SheetOptions) -> set[str]:
    return {name.strip() for name in (*asked.mapping.values(), *asked.dimensions) if name.strip()}


def _guessed(file: BinaryIO, name: str, asked: SheetOptions, reader: ValueReader | None) -> SheetPlan:
    book, mapping = guessed_book(file, name, asked.mapping, asked.dimensions, asked.attributes, asked.final)
    titles = [book.title_of(number) for number in range(len(book.sheets))]
    questions = column_questions(mapping, titles, _named_columns(asked))
    if asked.duplicates:
        for each in questions:
            if each.option == DUPLICATES_OPTION:
                answer(mapping, each.key, "twice")
        questions = column_questions(mapping, titles, _named_columns(asked))
    used = [(sheet, title) for sheet, title in zip(mapping.sheets, titles, strict=True) if sheet.is_used]
    wide = {title for sheet, title in used if sheet.form != LONG}
    named = {"rater" for key in asked.mapping if BY in key} | {*asked.mapping}
    named |= _certain(sheet for sheet, _ in used)
    has_parts = any(sheet.place("part") >= 0 for sheet, _ in used)
    rows = BookReader(book, mapping).rows()
    return _planned(mapping, titles, rows, wide, asked, reader, questions, named, has_parts=has_parts)


def _certain(sheets: Iterable[SheetMapping]) -> set[str]:
    """The roles of columns that are called just so."""
    places = [(sheet, sheet.place("rater")) for sheet in sheets]
    return {"rater"} if all(at >= 0 and each.columns[at].name.casefold() == "rater" for each, at in places) else set()


def read_book(
    book: SheetBook,
    mapping: BookMapping,
    reader: ValueReader | None,
    several: Sequence[str],
    meanings: Meanings | None = None,
) -> tuple[GatheredSheet, list[SheetQuestion]]:
    """All rows of an upload as they are mapped, and all questions about it, with their answers.

    `reader` is None for a taxonomy that is made from the values; then `meanings` say what they stand for.
    """
    titles = [book.title_of(number) for number in range(len(book.sheets))]
    used = [(sheet, title) for sheet, title in zip(mapping.sheets, titles, strict=True) if sheet.is_used]
    wide = {title for sheet, title in used if sheet.form != LONG}
    has_parts = any(sheet.place("part") >= 0 for sheet, _ in used)
    tally = RowTally(wide, multi_dimensions(reader, several), reader, has_parts=has_parts)
    missing = MissingValues(mapping.answers, reader, tally.multi, meanings or ())
    rows: Iterable[TableRow | SheetRow] = BookReader(book, mapping).rows()
    if meanings:
        rows = apply_spellings(rows, meanings, several)
    fills = mapping.answers.get(BLANK_OPTION) == EMPTY
    sheet = gather(missing.read(tally.counted(rows, final=mapping.final, fills=fills)), mapping.final)
    how = mapping.answers.get(DUPLICATES_OPTION, "")
    twice = conflicts(sheet, reader, {*tally.multi, *with_empty_sets(sheet)}, how)
    found = row_questions(mapping, tally, sheet, twice, _certain(each for each, _ in used))
    if reader is None:
        found += scale_questions(mapping, sheet, {*tally.multi, *with_empty_sets(sheet)})
    return sheet, [*column_questions(mapping, titles), *missing.questions(), *found]


def _planned(
    mapping: BookMapping,
    titles: Sequence[str],
    rows: Iterable[TableRow | SheetRow],
    wide: set[str],
    asked: SheetOptions,
    reader: ValueReader | None,
    questions: Sequence[SheetQuestion],
    named: set[str],
    *,
    has_parts: bool,
) -> SheetPlan:
    several = sorted({*asked.several} | {name for each in mapping.sheets if each.is_used for name in each.several})
    mapping.answers |= {
        key: said for key, said in ((DUPLICATES_OPTION, asked.duplicates), (BLANK_OPTION, asked.blank)) if said
    }
    mapping.answers |= answers_of(asked.missing, asked.not_missing, asked.decimal)
    for kind, names in (("ordinal", asked.ordinal), ("number", asked.number)):
        mapping.answers |= {SCALE + loose(name): kind for name in names}
    tally = RowTally(wide, multi_dimensions(reader, several), reader, has_parts=has_parts)
    first: list[SheetRow] = []
    missing = MissingValues(mapping.answers, reader, tally.multi)
    counted = tally.counted(_kept(rows, first), final=asked.final, fills=asked.blank == EMPTY)
    sheet = gather(missing.read(counted), asked.final)
    twice = conflicts(sheet, reader, {*tally.multi, *with_empty_sets(sheet)}, asked.duplicates)
    found = [*questions, *missing.questions(), *row_questions(mapping, tally, sheet, twice, named)]
    multi = {*tally.multi, *with_empty_sets(sheet)}
    offers = scale_questions(mapping, sheet, multi) if reader is None else []
    return SheetPlan(mapping, titles, sheet, several, open_ones(found), first, offers)


def _kept(rows: Iterable[TableRow | SheetRow], first: list[SheetRow]) -> Iterator[TableRow | SheetRow]:
    for row in rows:
        if isinstance(row, SheetRow) and len(first) < ROWS_SHOWN:
            first.append(row)
        yield row


def multi_dimensions(reader: ValueReader | None, several: Sequence[str]) -> set[str]:
    """The dimensions that take several values, as `loose` gives their names: of a version, else those named."""
    if reader is None:
        return {loose(name) for name in several}
    multi = [each for each in reader.tree.dimensions if each.is_set]
    return {loose(name) for each in multi for name in (each.key, each.title)}


def with_empty_sets(sheet: GatheredSheet) -> set[str]:
    """The dimensions of which some row has the empty set: they take several values."""
    answers = (rows for rows in (*sheet.answers.values(), *sheet.finals.values()))
    return {loose(name) for rows in answers for row in rows for name, text in row.values if is_empty_set(text)}


def _as_mapping(layout: SheetLayout, columns: Sequence[str]) -> SheetMapping:
    """The layout as the page has it."""
    found = [ColumnMapping(name) for name in columns]
    for role, place in layout.places.items():
        if place >= 0 and not (layout.dimensions and role in ("dimension", "value")):
            found[place].role = role
    for role, named in (("answer", layout.dimensions), ("attribute", layout.attributes)):
        for name, place in named:
            if place >= 0:
                found[place].role, found[place].dimension = role, name
    form = BY_DIMENSION if layout.dimensions else LONG
    return SheetMapping(form=form, columns=found, fills=False, parts=False)


def _sheet_document(sheet: SheetMapping, title: str) -> dict[str, Any]:
    return {
        "sheet": title,
        "used": sheet.is_used,
        "form": sheet.form,
        "head": sheet.head,
        "rater": sheet.rater or None,
        "round": sheet.round or None,
        "columns": [
            {
                "column": column.name,
                "role": column.role or None,
                "dimension": column.dimension or None,
                "rater": column.rater or None,
            }
            for column in sheet.columns
        ],
    }


def _row_document(row: SheetRow) -> dict[str, Any]:
    return {
        "line": row.line,
        "sheet": row.sheet,
        "item": row.item,
        "rater": row.rater,
        "round": row.round,
        "part": row.part,
        "values": {name: text for name, text in row.values if text},
    }
