"""Workbooks (XLSX), row by row at constant memory: shared texts are in a temporary file."""

import array
import re
import tempfile
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time
from typing import IO, Any, BinaryIO

from ingest.errors import Unreadable

EXPANDED_BYTES_MAX = 1 << 30
PART_BYTES_MAX = 32 << 20
PARTS_MAX = 10_000
LINES_MAX = 1_048_576
CELLS_MAX = 16_384
TEXTS_MAX = 10_000_000
TEXT_BYTES_IN_MEMORY = 16 << 20
ROW_BYTES_MAX = 32 << 20
"""So much text a row may hold, and so much XML it or a text may take: both are in memory as a whole."""

MARKS_MAX = 200_000

_STREAMED = re.compile(r"xl/(?:worksheets/[^/]+|sharedStrings)\.xml", re.IGNORECASE)
_ESCAPED = re.compile(r"_x(00[01][0-9A-Fa-f]|005F)_")
_BROKEN = "The workbook can't be read. Open it in a spreadsheet program and save it again, or as CSV."
_LONG = f"A row or a text of the workbook is longer than {ROW_BYTES_MAX >> 20} MB. Save it as CSV."


@dataclass
class CellMarks:
    """What stands beside the texts of a sheet; lines and columns count from 1.

    `merged` are (first line, last line, first column, last column); `links` the addresses behind cells by line and
    column; `empty_formulas` the (line, column) of formulas whose value was never computed.
    """

    merged: list[tuple[int, int, int, int]] = field(default_factory=list)
    links: dict[tuple[int, int], str] = field(default_factory=dict)
    empty_formulas: list[tuple[int, int]] = field(default_factory=list)


class StreamedWorkbook:
    """A workbook of which rows are read one after another. Raises Unreadable, for one that unpacks to too much too."""

    def __init__(self, file: BinaryIO) -> None:
        _check_expansion(file)
        try:
            self._book = _open(file)
        except Exception as error:  # openpyxl raises all kinds
            raise Unreadable(_BROKEN) from error
        self.sheets: Sequence[str] = list(self._book.paths)
        self.hidden: frozenset[str] = frozenset(self._book.hidden)
        if not self.sheets:
            raise Unreadable("The workbook has no sheet.")

    def rows(self, sheet: str = "") -> Iterator[tuple[int, list[str]]]:
        """The rows of the first sheet, or the one named, with their lines."""
        if sheet and sheet not in self._book.paths:
            there = ", ".join(f"“{name}”" for name in self.sheets)
            raise Unreadable(f"The workbook has no sheet “{sheet}”. It has {there}.", fields={"sheet": [there]})
        return self._rows(sheet or self.sheets[0])

    def marks(self, sheet: str) -> CellMarks:
        """Merged cells, links and formulas without a value; reads the sheet's part once more."""
        try:
            found: CellMarks = self._book.marks(sheet)
            return found
        except Unreadable:
            raise
        except Exception as error:
            raise Unreadable(f"The sheet “{sheet}” of the workbook can't be read. Save it as CSV.") from error

    def _rows(self, sheet: str) -> Iterator[tuple[int, list[str]]]:
        try:
            for line, cells in self._book.rows(sheet):
                if line > LINES_MAX:
                    raise Unreadable(f"The sheet has more than {LINES_MAX:,} lines, which no workbook has.")
                yield line, cells
        except Unreadable:
            raise
        except Exception as error:
            raise Unreadable(f"The sheet “{sheet}” of the workbook can't be read. Save it as CSV.") from error


def _check_expansion(file: BinaryIO) -> None:
    """By what the archive says of its parts, which is all that is ever read of each."""
    try:
        with zipfile.ZipFile(file) as archive:
            parts = archive.infolist()
    except Exception as error:
        raise Unreadable(_BROKEN) from error
    finally:
        file.seek(0)
    if sum(part.file_size for part in parts) > EXPANDED_BYTES_MAX:
        raise Unreadable("The workbook is larger than a gigabyte when unpacked. Save it as CSV.")
    needed = [part for part in parts if part.filename.endswith((".xml", ".rels"))]
    if len(parts) > PARTS_MAX or any(
        part.file_size > PART_BYTES_MAX and not _STREAMED.fullmatch(part.filename) for part in needed
    ):
        raise Unreadable("The workbook has parts that are larger than any spreadsheet program creates. Save it as CSV.")


def _open(file: BinaryIO) -> Any:
    from openpyxl.packaging.relationship import get_dependents, get_rels_path
    from openpyxl.reader.excel import ExcelReader
    from openpyxl.styles.stylesheet import apply_stylesheet
    from openpyxl.worksheet._reader import ROW_TAG, WorkSheetParser
    from openpyxl.xml.constants import REL_NS, SHARED_STRINGS, SHEET_MAIN_NS
    from openpyxl.xml.functions import iterparse

    texts_of = f"{{{SHEET_MAIN_NS}}}si", f"{{{SHEET_MAIN_NS}}}t", f"{{{SHEET_MAIN_NS}}}r"
    data_tag = f"{{{SHEET_MAIN_NS}}}sheetData"

    class StreamingParser(WorkSheetParser):
        """Rows without what openpyxl gathers of them."""

        def parse(self) -> Iterator[tuple[int, list[dict[str, Any]]]]:
            parent = None
            for event, element in iterparse(self.source, events=("start", "end")):
                if event == "start":
                    parent = element if element.tag == data_tag else parent
                elif element.tag == ROW_TAG and parent is not None:
                    self.shared_strings.begin_row()
                    yield self.parse_row(element)
                    parent.clear()
                    self.source.begin()
                elif element.tag == data_tag:
                    return

        def parse_row_dimensions(self, attrs: Any) -> None:
            pass

    class WorkbookReader(ExcelReader):
        """A workbook of which only what rows need is read."""

        def __init__(self) -> None:
            super().__init__(file, read_only=True, data_only=True, keep_links=False)
            self.read_manifest()
            self.read_workbook()
            apply_stylesheet(self.archive, self.wb)
            part = self.package.find(SHARED_STRINGS)
            self.texts = _Texts(self._texts(part.PartName[1:]) if part else iter(()))
            found = [
                (sheet, rel)
                for sheet, rel in self.parser.find_sheets()
                if rel.target in self.valid_files and "chartsheet" not in rel.Type
            ]
            self.paths = {sheet.name: rel.target for sheet, rel in found}
            self.hidden = {sheet.name for sheet, _ in found if sheet.state != "visible"}

        def marks(self, sheet: str) -> CellMarks:
            found = CellMarks()
            links: list[tuple[str, str]] = []
            with self.archive.open(self.paths[sheet]) as unbounded:
                source = _BoundedSource(unbounded)
                parent = None
                for event, element in iterparse(source, events=("start", "end")):
                    if event == "start":
                        parent = element if element.tag == data_tag else parent
                    elif element.tag == ROW_TAG and parent is not None:
                        found.empty_formulas.extend(_empty_formulas(element, SHEET_MAIN_NS))
                        parent.clear()
                        source.begin()
                    elif element.tag == f"{{{SHEET_MAIN_NS}}}mergeCell":
                        if bounds := _bounds(element.get("ref", "")):
                            found.merged.append(bounds)
                    elif element.tag == f"{{{SHEET_MAIN_NS}}}hyperlink":
                        links.append((element.get("ref", ""), element.get(f"{{{REL_NS}}}id", "")))
                    if max(len(found.merged), len(links), len(found.empty_formulas)) > MARKS_MAX:
                        raise Unreadable(f"The sheet “{sheet}” has too many merged cells or links. Save it as CSV.")
            targets = self._targets(self.paths[sheet]) if links else {}
            for ref, rel in links:
                if (bounds := _bounds(ref)) and rel in targets:
                    found.links[bounds[0], bounds[2]] = targets[rel]
            return found

        def _targets(self, path: str) -> Mapping[str, str]:
            rels = get_rels_path(path)
            if rels not in self.valid_files:
                return {}
            return {rel.Id: rel.Target for rel in get_dependents(self.archive, rels) if rel.TargetMode == "External"}

        def rows(self, sheet: str) -> Iterator[tuple[int, list[str]]]:
            with self.archive.open(self.paths[sheet]) as source:
                parser = StreamingParser(
                    _BoundedSource(source),
                    self.texts,
                    data_only=True,
                    epoch=self.wb.epoch,
                    date_formats=self.wb._date_formats,
                    timedelta_formats=self.wb._timedelta_formats,
                )
                for line, cells in parser.parse():
                    yield line, _dense(cells)

        def _texts(self, path: str) -> Iterator[str]:
            text_tag, part_tag, run_tag = texts_of
            with self.archive.open(path) as unbounded:
                source = _BoundedSource(unbounded)
                root: Any = None
                for event, element in iterparse(source, events=("start", "end")):
                    if event == "start":
                        root = element if root is None else root
                    elif element.tag == text_tag:
                        runs = [run for run in element if run.tag in (part_tag, run_tag)]
                        yield "".join(
                            (run.text if run.tag == part_tag else run.findtext(part_tag)) or "" for run in runs
                        )
                        root.clear()
                        source.begin()

    return WorkbookReader()


def _bounds(ref: str) -> tuple[int, int, int, int] | None:
    """First and last line, first and last column of "B2:C5" or "B2"; None for what is no such name."""
    from openpyxl.utils.cell import range_boundaries

    try:
        left, top, right, bottom = range_boundaries(ref)
    except ValueError:
        return None
    return None if None in (left, top, right, bottom) else (top, bottom, left, right)


def _empty_formulas(row: Any, namespace: str) -> Iterator[tuple[int, int]]:
    for cell in row:
        if cell.find(f"{{{namespace}}}f") is not None:
            value = cell.find(f"{{{namespace}}}v")
            if (value is None or not value.text) and (bounds := _bounds(cell.get("r", ""))):
                yield bounds[0], bounds[2]


class _BoundedSource:
    """A part of the workbook that is read by element: no row and no text takes more than ROW_BYTES_MAX of it."""

    def __init__(self, source: IO[bytes]) -> None:
        self._source, self._n_read = source, 0

    def begin(self) -> None:
        self._n_read = 0

    def read(self, size: int = -1) -> bytes:
        found = self._source.read(size)
        self._n_read += len(found)
        if self._n_read > ROW_BYTES_MAX:
            raise Unreadable(_LONG)
        return found


class _Texts:
    """The shared texts by their number, read on from the workbook where a number was not reached yet."""

    def __init__(self, source: Iterator[str]) -> None:
        self._source = source
        self._file = tempfile.SpooledTemporaryFile(TEXT_BYTES_IN_MEMORY)  # noqa: SIM115 (lives as long as this)
        self._ends = array.array("Q", [0])
        self._n_in_row = 0

    def begin_row(self) -> None:
        self._n_in_row = 0

    def __getitem__(self, number: int) -> str:
        while number >= len(self._ends) - 1:
            self._read_on()
        start, end = self._ends[number], self._ends[number + 1]
        self._n_in_row += end - start
        if self._n_in_row > ROW_BYTES_MAX:
            raise Unreadable(_LONG)
        self._file.seek(start)
        return self._file.read(end - start).decode(errors="surrogatepass")

    def _read_on(self) -> None:
        text = next(self._source, None)
        if text is None:
            raise Unreadable(_BROKEN)
        if len(self._ends) > TEXTS_MAX:
            raise Unreadable(f"The workbook has more than {TEXTS_MAX:,} texts. Save it as CSV.")
        written = _unescaped(text).encode(errors="surrogatepass")
        self._file.seek(self._ends[-1])
        self._file.write(written)
        self._ends.append(self._ends[-1] + len(written))


def _unescaped(text: str) -> str:
    """Control characters, which XML can't hold, as spreadsheets write them: `_x000D_`."""
    if "_x00" not in text:
        return text
    return _ESCAPED.sub(lambda found: chr(int(found[1], 16)), text)


def _dense(cells: list[dict[str, Any]]) -> list[str]:
    """The texts of a row by place."""
    filled = [(cell["column"], _text(cell["value"])) for cell in cells if cell["value"] is not None]
    width = max((column for column, _ in filled), default=0)
    if width > CELLS_MAX:
        raise Unreadable(f"A row has more than {CELLS_MAX:,} cells, which no workbook has.")
    found = [""] * width
    for column, text in filled:
        found[column - 1] = text
    return found


def _text(cell: Any) -> str:
    """A cell as it would stand in CSV: whole numbers without a fraction, true and false in small letters."""
    match cell:
        case str():
            return cell
        case bool():
            return "true" if cell else "false"
        case float():
            return str(int(cell)) if cell.is_integer() and abs(cell) < 1e15 else repr(cell)
        case datetime() | date() | time():
            return cell.isoformat()
        case _:
            return str(cell)
