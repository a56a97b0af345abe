"""Books: the sheets of an uploaded workbook, CSV, Parquet file, or ZIP of several, as text."""

import sys
import tempfile
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePath
from typing import IO, Any

from annotation.core.errors import Unreadable
from annotation.core.sheet_tables import UNSTORABLE, parquet_lines
from annotation.imports.sheets.columns import own_roles
from annotation.imports.sheets.other_tools import (
    ToolSheet,
    are_examples,
    flatten_json,
    is_json,
    sheet_of_examples,
    sheets_of_json,
)
from ingest.tables.files import COLUMNS_MAX, NOT_UTF8, TableRow, as_written, open_lines
from ingest.tables.workbooks import EXPANDED_BYTES_MAX, StreamedWorkbook
from shared.csv_files import is_of_concord

ROWS_MAX = 100_000
CELLS_MAX = 4_000_000
TEXT_BYTES_MAX = 256 << 20
"""So much memory the texts of a book may take: a zip of a megabyte can hold a thousand times more."""
FILES_MAX = 50
SHEETS_MAX = 100
CELL_CHARACTERS_MAX = 100_000
COPY_BYTES = 1 << 20
HEAD_BYTES = 4_096
LINES_LEAST = 20
"""So many lines of each sheet are in the beginning of a book."""
NAME_MAX = 150


@dataclass
class Sheet:
    """One table; `lines` holds its lines with any text, the head among them, in their order.

    `roles` says beforehand what each column is, where the kind of file does; `several` names dimensions with several
    values; `n_uncomputed` counts formulas that hold no value; `n_bytes` is the memory of the texts.
    """

    file: str
    name: str
    lines: list[TableRow] = field(default_factory=list)
    is_hidden: bool = False
    merged: Sequence[tuple[int, int, int, int]] = ()
    links: Mapping[tuple[int, int], str] = field(default_factory=dict)
    n_uncomputed: int = 0
    n_bytes: int = 0
    kind: str = ""
    roles: Sequence[str] = ()
    several: frozenset[str] = frozenset()

    @property
    def title(self) -> str:
        """What the sheet is called where several are."""
        return f"{PurePath(self.file).stem} › {self.name}" if self.name else self.file

    @property
    def width(self) -> int:
        return max((len(line.cells) for line in self.lines), default=0)


@dataclass(frozen=True)
class SheetBook:
    """All sheets of an upload."""

    sheets: Sequence[Sheet]

    @property
    def n_lines(self) -> int:
        return sum(len(sheet.lines) for sheet in self.sheets)

    def beginning(self, n_cells: int) -> "SheetBook":
        """The first lines of each sheet, about so many cells in all; the book itself where it has no more."""
        n_all = sum(len(line.cells) for sheet in self.sheets for line in sheet.lines)
        if n_all <= n_cells:
            return self
        shares = (max(len(sheet.lines) * n_cells // n_all, LINES_LEAST) for sheet in self.sheets)
        cut = zip(self.sheets, shares, strict=True)
        return SheetBook([replace(sheet, lines=sheet.lines[:share]) for sheet, share in cut])

    def title_of(self, number: int) -> str:
        """The shortest name that tells a sheet from the others; none where it is the only one."""
        sheet = self.sheets[number]
        if len(self.sheets) == 1:
            return ""
        if len({each.file for each in self.sheets}) == 1:
            return sheet.name or sheet.file
        return sheet.title


def is_book(file: IO[bytes]) -> bool:
    """Whether a file is what Label Studio or doccano export, or a zip of several files."""
    start = file.read(HEAD_BYTES)
    file.seek(0)
    head = start.removeprefix(b"\xef\xbb\xbf").decode(errors="replace").partition("\n")[0].strip()
    if are_examples([name.strip().strip('"') for name in head.split(",")]):
        return True
    return is_json(start) or (start.startswith(b"PK\x03\x04") and not _is_workbook(file))


def open_book(file: IO[bytes], name: str) -> SheetBook:
    """Reads CSV, XLSX, Parquet, JSON of Label Studio or doccano, or a zip of such files, into memory.

    Blank lines are left out; links and formulas are read as the values that were stored with them, nothing outside the
    file is followed. Raises Unreadable for a file that is none of these, and for one above ROWS_MAX rows or CELLS_MAX
    cells.
    """
    sheets: list[Sheet] = []
    n_rows = n_cells = n_bytes = 0
    for sheet in _sheets(file, PurePath(name).name or "file"):
        sheets.append(sheet)
        n_rows += len(sheet.lines)
        n_cells += sum(len(line.cells) for line in sheet.lines)
        n_bytes += sheet.n_bytes
        if len(sheets) > SHEETS_MAX:
            raise Unreadable(f"There are more than {SHEETS_MAX} sheets. Upload the files one after another.")
        if n_rows > ROWS_MAX or n_cells > CELLS_MAX:
            raise _too_many()
        if n_bytes > TEXT_BYTES_MAX:
            raise _too_long()
    if not any(sheet.lines for sheet in sheets):
        raise Unreadable("The file is empty. It needs a header row with the names of the columns.")
    return SheetBook(sheets)


def _too_many() -> Unreadable:
    return Unreadable(
        f"The file has more than {ROWS_MAX:,} rows or {CELLS_MAX:,} cells, the limit of this page. Import it "
        "with manage.py import_ratings, or in pieces."
    )


def _too_long() -> Unreadable:
    return Unreadable(
        f"The texts of the file take more than {TEXT_BYTES_MAX >> 20} MB of memory, the limit of this page. Leave out "
        "long columns, or import it in pieces."
    )


def _sheets(file: IO[bytes], name: str, *, inside: bool = False) -> Iterator[Sheet]:
    file.seek(0)
    start = file.read(64)
    file.seek(0)
    if start.startswith(b"\xd0\xcf\x11\xe0"):
        raise Unreadable(f"{name} is an old workbook (.xls) or has a password. Save it as XLSX or CSV.")
    if start.startswith((b"\x1f\x8b", b"BZh", b"\xfd7zXZ\x00", b"7z\xbc\xaf\x27\x1c", b"\x28\xb5\x2f\xfd")):
        raise Unreadable(f"{name} is compressed. Unpack it first, or send a ZIP file.")
    if start.startswith(b"PK\x03\x04"):
        if _is_workbook(file):
            yield from _of_workbook(file, name)
        elif inside:
            raise Unreadable(f"{name} is a ZIP file inside a ZIP file. Unpack it first.")
        else:
            yield from _of_zip(file)
    elif start.startswith(b"PAR1"):
        yield _of_lines(name, parquet_lines(file))
    elif is_json(start):
        for found in sheets_of_json(file, PurePath(name).stem):
            yield _of_tool(name, found)
    else:
        sheet = _of_lines(name, open_lines(file))
        if sheet.lines and are_examples(sheet.lines[0].cells):
            yield _of_tool(name, sheet_of_examples(sheet.lines, PurePath(name).stem))
            return
        sheet.kind = flatten_json(sheet.lines)
        yield sheet


def _of_tool(name: str, found: ToolSheet) -> Sheet:
    return Sheet(name, found.name, found.lines, kind=found.kind, roles=found.roles, several=found.several)


def _is_workbook(file: IO[bytes]) -> bool:
    try:
        with zipfile.ZipFile(file) as archive:
            return "[Content_Types].xml" in archive.namelist()
    except (zipfile.BadZipFile, ValueError, OSError) as error:
        raise Unreadable("The file can't be unpacked. It is incomplete or damaged.") from error
    finally:
        file.seek(0)


def _of_workbook(file: IO[bytes], name: str) -> Iterator[Sheet]:
    book = StreamedWorkbook(file)  # type: ignore[arg-type]
    for title in book.sheets:
        sheet = _of_lines(name, (TableRow(line, cells) for line, cells in book.rows(title)))
        if sheet.lines:
            marks = book.marks(title)
            sheet.merged, sheet.links, sheet.n_uncomputed = marks.merged, marks.links, len(marks.empty_formulas)
        sheet.name, sheet.is_hidden = title, title in book.hidden
        yield sheet


def _of_zip(file: IO[bytes]) -> Iterator[Sheet]:
    with zipfile.ZipFile(file) as archive:
        parts = [
            part
            for part in archive.infolist()
            if not part.is_dir()
            and not PurePath(part.filename).name.startswith(".")
            and "__MACOSX" not in part.filename
        ]
        if len(parts) > FILES_MAX:
            raise Unreadable(f"The ZIP file contains {len(parts)} files. At most {FILES_MAX} are allowed.")
        if sum(part.file_size for part in parts) > EXPANDED_BYTES_MAX:
            raise Unreadable("The ZIP file is larger than a gigabyte when unpacked.")
        for part in sorted(parts, key=lambda each: each.filename):
            with tempfile.SpooledTemporaryFile(COPY_BYTES * 16) as copy:
                _unpack(archive, part, copy)
                yield from _sheets(copy, PurePath(part.filename).name, inside=True)


def _unpack(archive: zipfile.ZipFile, part: zipfile.ZipInfo, copy: Any) -> None:
    try:
        with archive.open(part) as source:
            left = part.file_size
            while chunk := source.read(min(COPY_BYTES, left + 1)):
                left -= len(chunk)
                if left < 0:
                    raise Unreadable(f"{part.filename} is larger unpacked than the ZIP file states.")
                copy.write(chunk)
    except (
        zipfile.BadZipFile,
        zlib.error,
        RuntimeError,
        NotImplementedError,
        OSError,
        EOFError,
        ValueError,
    ) as error:
        raise Unreadable(f"{part.filename} can't be unpacked: it is damaged or has a password.") from error
    copy.seek(0)


def _of_lines(name: str, lines: Iterator[TableRow]) -> Sheet:
    sheet = Sheet(name[:NAME_MAX], "")
    n_cells = 0
    is_ours = False
    for line in lines:
        if line.fault or any(cell and not cell.isspace() for cell in line.cells):
            if not sheet.lines:
                is_ours = is_of_concord(line.cells)
                sheet.roles = own_roles(line.cells)
            elif is_ours:
                line = as_written(line)
            kept = _checked(line)
            n_cells += len(line.cells)
            sheet.n_bytes += sys.getsizeof("".join(kept.cells)) + sys.getsizeof(kept.text)
            if len(sheet.lines) >= ROWS_MAX or n_cells > CELLS_MAX:
                raise _too_many()
            if sheet.n_bytes > TEXT_BYTES_MAX:
                raise _too_long()
            sheet.lines.append(kept)
    return sheet


def _checked(line: TableRow) -> TableRow:
    """The line without blank cells at its end, with a fault where it can't be stored."""
    if line.fault:
        return line
    cells = list(line.cells)
    while cells and not cells[-1].strip():
        cells.pop()
    text = "".join(cells)
    fault = ""
    if len(cells) > COLUMNS_MAX:
        fault = f"The row has {len(cells)} cells. At most {COLUMNS_MAX} are allowed."
    elif NOT_UTF8.search(text):
        fault = "The row has bytes that are not UTF-8. Save the file as UTF-8."
    elif found := UNSTORABLE.search(text):
        fault = f"The row contains the character U+{ord(found[0]):04X}, which can't be stored."
    elif max(map(len, cells), default=0) > CELL_CHARACTERS_MAX:
        fault = f"A cell is longer than {CELL_CHARACTERS_MAX:,} characters."
    return TableRow(line.line, [] if fault else cells, fault, text[:200] if fault else "")
