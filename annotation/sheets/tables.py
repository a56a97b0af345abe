"""A CSV, XLSX or Parquet file as a head line and rows of text, one after another, each with its line."""

import codecs
import csv
import io
import re
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, BinaryIO

from annotation.errors import Unreadable

ROWS_MAX = 1_000_000
COLUMNS_MAX = 2_000
CELL_CHARACTERS_MAX = 1 << 20
EXPANDED_BYTES_MAX = 1 << 30
BATCH = 5_000

UNSTORABLE = re.compile("[\x00-\x08\x0e-\x1b\x7f\ud800-\udfff\ufffe\uffff]")
NOT_UTF8 = re.compile("[\udc80-\udcff]")
DELIMITERS = ",;\t"


@dataclass(frozen=True, slots=True)
class Row:
    """One row: its line in the file (in Parquet, which has no lines, its number from 1), and why it can't be taken."""

    line: int
    cells: Sequence[str]
    fault: str = ""


@dataclass(frozen=True)
class Table:
    """The head line and the rows below it; rows are read while they are asked for and can be read once."""

    columns: Sequence[str]
    rows: Iterator[Row]


def open_table(file: BinaryIO) -> Table:
    """The table of a file that can seek: XLSX and Parquet are told by their first bytes, the rest is CSV.

    CSV is UTF-8 with or without a byte order mark (or UTF-16 with one), with commas, semicolons or tabs. Of an XLSX
    workbook the first sheet counts. Rows without any text are left out. Raises Unreadable, also while rows are read.
    """
    start = file.read(4)
    file.seek(0)
    if start == b"PK\x03\x04":
        lines = _xlsx(file)
    elif start == b"PAR1":
        lines = _parquet(file)
    else:
        lines = _csv(file)
    head = next(lines, None)
    if head is None:
        raise Unreadable("The file is empty; it needs a head line with the names of the columns.")
    if head.fault:
        raise Unreadable(f"The head line could not be read: {head.fault}")
    columns = [cell.strip() for cell in head.cells]
    while columns and not columns[-1]:
        columns.pop()
    if len(columns) > COLUMNS_MAX:
        raise Unreadable(f"The sheet has {len(columns)} columns; {COLUMNS_MAX} are the most.")
    return Table(columns, _checked(lines, len(columns)))


def _checked(lines: Iterator[Row], n_columns: int) -> Iterator[Row]:
    n_rows = 0
    for row in lines:
        if not row.fault and not any(cell and not cell.isspace() for cell in row.cells):
            continue
        n_rows += 1
        if n_rows > ROWS_MAX:
            raise Unreadable(f"The sheet has more than {ROWS_MAX:,} rows; import it in pieces.")
        yield row if row.fault else _checked_row(row, n_columns)


def _checked_row(row: Row, n_columns: int) -> Row:
    cells = list(row.cells)
    if len(cells) > n_columns:
        if any(cell.strip() for cell in cells[n_columns:]):
            return Row(
                row.line,
                cells,
                f"The row has {len(cells)} cells under {n_columns} columns; its values may have shifted.",
            )
        del cells[n_columns:]
    cells.extend([""] * (n_columns - len(cells)))
    text = "".join(cells)
    if NOT_UTF8.search(text):
        return Row(row.line, cells, "The row has bytes that are not UTF-8; save the file as UTF-8.")
    if found := UNSTORABLE.search(text):
        return Row(row.line, cells, f"The row holds the character U+{ord(found[0]):04X}, which can't be stored.")
    if any(len(cell) > CELL_CHARACTERS_MAX for cell in cells):
        return Row(row.line, cells, f"A cell is longer than {CELL_CHARACTERS_MAX:,} characters.")
    return Row(row.line, cells)


def _csv(file: BinaryIO) -> Iterator[Row]:
    start = file.read(4)
    file.seek(0)
    is_wide = start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    text = io.TextIOWrapper(file, "utf-16" if is_wide else "utf-8-sig", errors="surrogateescape", newline="")
    csv.field_size_limit(max(csv.field_size_limit(), CELL_CHARACTERS_MAX * 4))
    try:
        head = text.readline(CELL_CHARACTERS_MAX)
        rest = iter(text.readline, "")
        reader = csv.reader(_again(head, rest), delimiter=_delimiter(head), strict=True)
        yield from _csv_rows(reader)
    except UnicodeError as error:
        raise Unreadable("The file can't be read as text; save it as CSV in UTF-8, or as XLSX.") from error
    finally:
        if not file.closed:
            text.detach()


def _again(head: str, rest: Iterator[str]) -> Iterator[str]:
    if head:
        yield head
    yield from rest


def _delimiter(head: str) -> str:
    """The delimiter that stands most often in the head line, outside quotes."""
    bare = re.sub(r'"[^"]*"', "", head)
    return max(DELIMITERS, key=bare.count)


def _csv_rows(reader: Any) -> Iterator[Row]:
    line = 1
    while True:
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            sentence = str(error)
            if "unexpected end of data" in sentence:
                sentence = "a quotation mark opens here and is never closed, so that the rest of the file is lost"
            yield Row(line, (), f"This is not valid CSV: {sentence}.")
        else:
            yield Row(line, cells)
        line = reader.line_num + 1


def _xlsx(file: BinaryIO) -> Iterator[Row]:
    import openpyxl

    try:
        with zipfile.ZipFile(file) as archive:
            if sum(entry.file_size for entry in archive.infolist()) > EXPANDED_BYTES_MAX:
                raise Unreadable("The workbook is larger than a gigabyte when it is unpacked; save it as CSV.")
        file.seek(0)
        book = openpyxl.load_workbook(file, read_only=True, data_only=True)
    except Unreadable:
        raise
    except Exception as error:
        raise Unreadable("The workbook can't be read; open it in a spreadsheet and save it anew, or as CSV.") from error
    try:
        if not book.worksheets:
            raise Unreadable("The workbook has no sheet.")
        sheet = book.worksheets[0]
        sheet.reset_dimensions()  # what the file says of its size is often wrong
        for line, cells in enumerate(sheet.iter_rows(values_only=True), start=1):
            yield Row(line, [_text(cell) for cell in cells])
    except Unreadable:
        raise
    except Exception as error:
        raise Unreadable("The first sheet of the workbook can't be read; save it as CSV.") from error
    finally:
        book.close()


def _parquet(file: BinaryIO) -> Iterator[Row]:
    from pyarrow import ArrowException, parquet

    try:
        with parquet.ParquetFile(file) as source:
            if source.metadata.num_columns > COLUMNS_MAX:
                raise Unreadable(f"The file has more than {COLUMNS_MAX} columns.")
            yield Row(0, list(source.schema_arrow.names))
            line = 0
            for batch in source.iter_batches(batch_size=BATCH):
                for cells in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                    line += 1
                    yield Row(line, [_text(cell) for cell in cells])
    except (ArrowException, OSError, ValueError) as error:
        raise Unreadable(f"The Parquet file can't be read: {error}") from error


def _text(cell: Any) -> str:
    """A cell as it would stand in CSV: whole numbers without a fraction, true and false in small letters."""
    match cell:
        case None:
            return ""
        case str():
            return cell
        case bool():
            return "true" if cell else "false"
        case float():
            if cell != cell:
                return ""
            return str(int(cell)) if cell.is_integer() and abs(cell) < 1e15 else repr(cell)
        case datetime() | date():
            return cell.isoformat()
        case list() | tuple():
            return "; ".join(_text(each) for each in cell)
        case _:
            return str(cell)
