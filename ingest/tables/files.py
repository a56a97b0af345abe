"""Table files (CSV, XLSX): a header and rows of text with their line numbers."""

import codecs
import csv
import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import IO, BinaryIO

from ingest.errors import Unreadable
from ingest.tables.workbooks import StreamedWorkbook
from shared.csv_files import as_lines, is_of_concord, undefused

COLUMNS_MAX = 2_000
CELL_CHARACTERS_MAX = 1 << 20
LINE_CHARACTERS_MAX = 4 * CELL_CHARACTERS_MAX
ROW_CHARACTERS_MAX = 4 * LINE_CHARACTERS_MAX
"""So long a row over several lines may be: its cells are in memory before their number is known."""
ROW_CHARACTERS_KEPT = 110_000
SUFFIXES = frozenset({".csv", ".tsv", ".tab", ".xlsx"})
DELIMITERS = ",;\t|"
BLANK_LINES_MAX = 20_000
"""So many blank lines in a row are passed over while someone waits for the answer."""

_START_BYTES, _FIRST_LINES = 1 << 16, 20
NOT_UTF8 = re.compile("[\udc80-\udcff]")
SAYS_UTF8 = "Save it as “CSV UTF-8”, or as XLSX"
_NAMED_DELIMITER = re.compile(r'"?sep=([,;\t|])"?\r?\n?', re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class TableRow:
    """One row: its line in the file, its cells, why it can't be taken, and the row as it stood there.

    `is_short` where a line of CSV has fewer cells than the head.
    """

    line: int
    cells: Sequence[str]
    fault: str = ""
    text: str = ""
    is_short: bool = False


class BlankLines(Unreadable):
    """More blank lines in a row than someone waits for."""


@dataclass(frozen=True)
class FileTable:
    """The head line and the rows below it, which are read while they are asked for, once; `sheets` of a workbook."""

    columns: Sequence[str]
    rows: Iterator[TableRow]
    sheets: Sequence[str] = ()


def is_table(name: str, start: bytes) -> bool:
    """Whether a file of this name and beginning is CSV or XLSX rather than JSON."""
    if start.startswith(b"PK\x03\x04"):
        return True
    if start.startswith(b"\xd0\xcf\x11\xe0"):  # the old kind of workbook, refused when it is opened
        return True
    is_json = start.removeprefix(codecs.BOM_UTF8).lstrip().startswith((b"{", b"["))
    return PurePath(name).suffix.lower() in SUFFIXES and not is_json


def open_table(file: BinaryIO, sheet: str = "", *, blank_max: int | None = None) -> FileTable:
    """The table of a file that can seek: XLSX is told by its first bytes, the rest is CSV.

    CSV is UTF-8 with or without a byte order mark (or UTF-16 with one), with commas, semicolons, tabs or bars. Of a
    workbook the first sheet counts, or the one named. Every row has as many cells as the head; rows without any text
    are left out. Raises Unreadable, also while rows are read: as BlankLines after more than `blank_max` blank lines.
    """
    start = file.read(4)
    file.seek(0)
    sheets: Sequence[str] = ()
    lines: Iterator[TableRow]
    if start == b"PK\x03\x04":
        book = StreamedWorkbook(file)
        sheets, lines = book.sheets, (TableRow(line, cells) for line, cells in book.rows(sheet))
    elif start == b"\xd0\xcf\x11\xe0":
        raise Unreadable("This is an old workbook (.xls). Save it as XLSX or CSV.")
    else:
        lines = _csv(file)
    lines = _without_blank(lines, blank_max)
    head = next(lines, None)
    if head is None:
        sentence = "The file is empty. It needs a header row with the names of the columns."
        raise Unreadable(sentence, fields={"sheets": sheets} if sheets else None)
    if head.fault:
        raise Unreadable(f"The header could not be read: {head.fault}")
    if "\x00" in "".join(head.cells):
        raise Unreadable(f"The file is not text in a known encoding (UTF-16 without a mark?). {SAYS_UTF8}.")
    if NOT_UTF8.search("".join(head.cells)):
        raise Unreadable(f"The header has bytes that are not UTF-8 (Windows-1252?). {SAYS_UTF8}.")
    columns = [cell.strip() for cell in head.cells]
    while columns and not columns[-1]:
        columns.pop()
    if len(columns) > COLUMNS_MAX:
        raise Unreadable(f"The sheet has {len(columns)} columns. At most {COLUMNS_MAX} are allowed.")
    if is_of_concord(columns):
        lines = map(as_written, lines)
    return FileTable(columns, _fitted(lines, len(columns), is_csv=not sheets), sheets)


def open_lines(file: IO[bytes]) -> Iterator[TableRow]:
    """All lines of a CSV as they stand, blank ones too; the delimiter is the one most frequent in the first lines.

    For files whose head may stand below a title. Raises Unreadable while lines are read.
    """
    start = file.read(_START_BYTES)
    file.seek(0)
    encoding = "utf-16" if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) else "utf-8-sig"
    first = "\n".join(start.decode(encoding, errors="replace").splitlines()[:_FIRST_LINES])
    yield from _csv(file, _delimiter(first))


def as_written(row: TableRow) -> TableRow:
    """A row of a table that Concord wrote, with the texts that its cells were made of."""
    return replace(row, cells=[undefused(cell) for cell in row.cells])


def as_line(cells: Sequence[str]) -> str:
    """Cells as a line of CSV."""
    return as_lines([cells]).removesuffix("\n")


def _is_blank(row: TableRow) -> bool:
    if row.cells and row.cells[0] and not row.cells[0].isspace():  # as most rows have it
        return False
    return not any(cell and not cell.isspace() for cell in row.cells)


def _without_blank(lines: Iterator[TableRow], blank_max: int | None) -> Iterator[TableRow]:
    n_blank = 0
    for row in lines:
        if row.fault or not _is_blank(row):
            n_blank = 0
            yield row
            continue
        n_blank += 1
        if blank_max is not None and n_blank > blank_max:
            raise BlankLines(
                f"More than {blank_max:,} lines up to line {row.line:,} are blank. Delete them and send the file again."
            )


def _fitted(lines: Iterator[TableRow], n_columns: int, *, is_csv: bool) -> Iterator[TableRow]:
    for row in lines:
        yield row if row.fault else _fit(row, n_columns, is_csv)


def _fit(row: TableRow, n_columns: int, is_csv: bool) -> TableRow:
    if len(row.cells) == n_columns and (whole := "".join(row.cells)).isascii() and len(whole) <= CELL_CHARACTERS_MAX:
        return row
    cells = list(row.cells)
    fault = ""
    is_short = is_csv and len(cells) < n_columns
    if len(cells) > n_columns and any(cell.strip() for cell in cells[n_columns:]):
        fault = f"The row has {len(cells)} cells under {n_columns} columns. Its values may have shifted."
        return TableRow(row.line, cells, fault, row.text)
    del cells[n_columns:]
    cells.extend([""] * (n_columns - len(cells)))
    if is_csv and NOT_UTF8.search("".join(cells)):
        fault = "The row has bytes that are not UTF-8. Save the file as UTF-8."
    elif max(map(len, cells)) > CELL_CHARACTERS_MAX:
        fault = f"A cell is longer than {CELL_CHARACTERS_MAX:,} characters."
    return TableRow(row.line, cells, fault, row.text, is_short)


class _Lines:
    """The lines of a text for csv.reader; it keeps those that made the last row, and counts."""

    def __init__(self, text: io.TextIOWrapper) -> None:
        self._text = text
        self._again: list[str] = []
        self.kept: list[str] = []
        self.n_read = 0
        self.n_lines = 0

    def peek(self) -> str:
        """The first line, which comes again unless it is `skipped`."""
        self._again = [self._text.readline(LINE_CHARACTERS_MAX)]
        return self._again[0]

    def skip(self) -> None:
        self._again = []
        self.n_lines += 1

    def __iter__(self) -> "_Lines":
        return self

    def __next__(self) -> str:
        line = self._again.pop() if self._again else self._text.readline(LINE_CHARACTERS_MAX)
        if not line:
            raise StopIteration
        if self.n_read < ROW_CHARACTERS_KEPT:
            self.kept.append(line[:ROW_CHARACTERS_KEPT])
        self.n_read += len(line)
        if self.n_read > ROW_CHARACTERS_MAX:
            raise Unreadable(
                f"The row up to line {self.n_lines + 1:,} is longer than {ROW_CHARACTERS_MAX >> 20} million characters."
                " Look for a quotation mark that is never closed."
            )
        self.n_lines += line[-1] in "\r\n"
        return line

    def taken(self) -> str:
        """What was read since this was called last."""
        text = "".join(self.kept)
        self.kept, self.n_read = [], 0
        return text.rstrip("\r\n")


def _csv(file: IO[bytes], delimiter: str = "") -> Iterator[TableRow]:
    start = file.read(4)
    file.seek(0)
    is_wide = start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    text = io.TextIOWrapper(file, "utf-16" if is_wide else "utf-8-sig", errors="surrogateescape", newline="")
    csv.field_size_limit(max(csv.field_size_limit(), LINE_CHARACTERS_MAX))
    try:
        lines = _Lines(text)
        head = lines.peek()
        if named := _NAMED_DELIMITER.fullmatch(head):  # as Excel writes and reads it
            lines.skip()
        yield from _csv_rows(lines, named[1] if named else delimiter or _delimiter(head))
    except UnicodeError as error:
        raise Unreadable("The file can't be read as text. Save it as CSV in UTF-8, or as XLSX.") from error
    finally:
        if not file.closed:
            text.detach()


def _delimiter(head: str) -> str:
    """The delimiter that stands most often in the head line, outside quotes."""
    bare = re.sub(r'"[^"]*"', "", head)
    return max(DELIMITERS, key=bare.count)


def _csv_rows(lines: _Lines, delimiter: str) -> Iterator[TableRow]:
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    while True:
        line = lines.n_lines + 1
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            sentence = str(error)
            if "unexpected end of data" in sentence or "field larger than field limit" in sentence:
                sentence = "a quotation mark opens here and is never closed, so that the rest of the file is lost"
            yield TableRow(line, (), f"This is not valid CSV: {sentence}.", lines.taken())
        else:
            yield TableRow(line, cells, text=lines.taken())
