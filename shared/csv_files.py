"""CSV: the one writer of every exported table, safe against formulas, and the way back from a cell to its text.

A spreadsheet evaluates a cell that begins with a sign such as `=`, also after spaces. Such a text is written with an
apostrophe before it. So is a text with apostrophes before the spaces and the sign: removing one apostrophe then
restores every text exactly. Numbers are written as numbers, whatever their sign.
"""

import csv
import io
import re
from collections.abc import Iterable, Sequence
from typing import IO, Any

SIGNS = "=+-@\uff1d\uff0b\uff0d\uff20\ufe66\ufe62\ufe63\ufe6b"
"""What begins a formula in Excel, LibreOffice and Google Sheets, in full and small width as East Asian versions read
them, too. `|` and `%` begin none: they are dangerous only inside of a formula."""
UNSEEN = (
    "\x00-\x20\x7f-\xa0\xad\u034f\u061c\u115f\u1160\u1680\u17b4\u17b5\u180b-\u180e\u2000-\u200f\u2028-\u202f"
    "\u205f-\u206f\u3000\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e0fff"
)
"""Ranges of what an importer may trim or not show: blanks, tabs, line breaks, controls, characters without width."""
DANGEROUS = f"^'*[{UNSEEN}]*[{re.escape(SIGNS)}]"
"""An expression for the texts that get an apostrophe; `re` and RE2 read it alike."""
QUOTED = '[",\r\n]'
"""An expression for the texts that stand in quotes."""
OF_CONCORD = frozenset(
    {
        "decided_by",
        "github_labels",
        "original_values",
        "presence",
        "screening_reason",
        "snapshot",
        "taxonomy_version",
    }
)
"""Names of columns that, beside `item`, tell a table of Concord from those of others."""

_dangerous, _quoted = re.compile(DANGEROUS), re.compile(QUOTED)
_HARMLESS = frozenset('abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789[(#`"<*{:')
"""Most texts begin so, and need no further look."""


def defused(text: str) -> str:
    """The text as a cell that no spreadsheet evaluates."""
    return f"'{text}" if text[:1] not in _HARMLESS and _dangerous.match(text) else text


def undefused(cell: str) -> str:
    """The text that `defused` made this cell of."""
    return cell[1:] if cell[:1] == "'" and _dangerous.match(cell) else cell


def is_of_concord(columns: Iterable[str]) -> bool:
    """Whether a table with these columns was written here, so that its cells are to be `undefused`.

    In tables of others an apostrophe before a sign belongs to the text: `'--help' ends with an error`.
    """
    names = {column.strip().casefold() for column in columns}
    return "item" in names and not names.isdisjoint(OF_CONCORD)


def csv_cell(text: str) -> str:
    """The text `defused`, and in quotes where it needs them: for who puts lines together without `SafeCsv`."""
    text = defused(text)
    return f'"{text.replace(chr(34), chr(34) * 2)}"' if _quoted.search(text) else text


class SafeCsv:
    """Writes rows of cells into an open text file; texts are `defused`, heads among them, numbers stay numbers.

    A cell with a carriage return or a line feed is in quotes, whatever ends the lines.
    """

    def __init__(self, file: IO[str], *, lineterminator: str = "\n") -> None:
        self._file, self._end = file, lineterminator

    def row(self, cells: Iterable[Any]) -> None:
        self.rows([list(cells)])

    def rows(self, rows: Iterable[Sequence[Any]]) -> None:
        _write(
            self._file,
            [[defused(cell) if isinstance(cell, str) else cell for cell in row] for row in rows],
            self._end,
        )


def as_lines(rows: Iterable[Sequence[str]]) -> str:
    """Rows as CSV that Concord itself reads again: texts as they are."""
    text = io.StringIO()
    _write(text, list(rows), "\n")
    return text.getvalue()


def _write(file: IO[str], rows: Sequence[Sequence[Any]], end: str) -> None:
    """Before Python 3.13 `csv` puts those line breaks into quotes that are in its own line end, and no others."""
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator=end).writerows(rows)
    written = text.getvalue()
    if "\r" in written and end == "\n":
        text = io.StringIO(newline="")
        csv.writer(_Ends(text, end), lineterminator="\r\n").writerows(rows)
        written = text.getvalue()
    file.write(written)


class _Ends:
    """Takes the lines of a `csv.writer`, one at a time, and gives each another end."""

    def __init__(self, file: IO[str], end: str) -> None:
        self._file, self._end = file, end

    def write(self, line: str) -> int:
        return self._file.write(line.removesuffix("\r\n") + self._end)
