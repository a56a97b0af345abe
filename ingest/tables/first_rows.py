"""First rows of an uploaded table, as stored with the upload and as issues."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from typing import Any, BinaryIO

from ingest.errors import Unreadable
from ingest.files.json_rows import JsonRow
from ingest.files.seen import SeenNumbers
from ingest.github.rest_objects import Repository
from ingest.records import storable
from ingest.tables.columns import BY_KEY, Guess, TableLayout, column_names, guess
from ingest.tables.files import BLANK_LINES_MAX, BlankLines, FileTable, TableRow, open_table
from ingest.tables.issues import row_of

ROWS_KEPT = 30
ROWS_SHOWN = 10
ROWS_COUNTED_MAX = 10_000
CELL_CHARACTERS_KEPT = 4_000
VALUES_SHOWN = 3


@dataclass(frozen=True)
class TablePreview:
    """The columns and first rows of a table, and how many there are, counted up to ROWS_COUNTED_MAX.

    With `is_cut` blank lines followed, below which nobody looked: there may be more rows.
    `rows` are (line, cells, fault, whether it is short); cells are cut after CELL_CHARACTERS_KEPT.
    """

    sheet: str
    sheets: Sequence[str]
    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]
    n_rows: int
    is_cut: bool = False

    @classmethod
    def from_json(cls, kept: Mapping[str, Any]) -> "TablePreview":
        return cls(**kept)

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @property
    def is_counted(self) -> bool:
        """Whether all rows were counted."""
        return self.n_rows <= ROWS_COUNTED_MAX and not self.is_cut

    def cells(self) -> list[Sequence[str]]:
        return [cells for _, cells, fault, _ in self.rows if not fault]

    def guess(self) -> Guess:
        return guess(self.columns, self.cells())

    def values(self) -> dict[str, list[str]]:
        """Up to three different values of each column."""
        found: dict[str, list[str]] = {}
        for place, name in enumerate(self.columns):
            filled = (cells[place].strip() for cells in self.cells())
            found[name] = list(islice(dict.fromkeys(text for text in filled if text), VALUES_SHOWN))
        return found

    def preview(
        self, mapping: Mapping[str, str], repository: Repository | None, *, number_rows: bool = False
    ) -> list[JsonRow]:
        """The first ten rows as they would come in, refusals in place; columns that are not there don't count."""
        places = {key: self.columns.index(name) for key, name in mapping.items() if name in self.columns}
        layout = TableLayout(self.columns, {key: place for key, place in places.items() if key in BY_KEY}, number_rows)
        seen = SeenNumbers()
        rows = (TableRow(line, cells, fault, is_short=short) for line, cells, fault, short in self.rows[:ROWS_SHOWN])
        return [row_of(row, layout, repository, seen, position) for position, row in enumerate(rows, start=1)]


def sample(file: BinaryIO, sheet: str = "", count_up_to: int = ROWS_COUNTED_MAX) -> TablePreview:
    """The sample of a table; of a workbook, the first sheet with a head line, or the one named. Raises Unreadable.

    Millions of blank lines are not read: the sample ends there, or, where no row came before, the file is rejected.
    """
    table, chosen = _first(file, sheet)
    kept: list[Sequence[Any]] = []
    n_rows, is_cut = 0, False
    try:
        for row in islice(table.rows, count_up_to + 1):
            n_rows += 1
            if n_rows <= min(ROWS_KEPT, count_up_to):
                cells = [storable(cell)[:CELL_CHARACTERS_KEPT] for cell in row.cells]
                kept.append([row.line, cells, row.fault, row.is_short])
    except BlankLines:
        if not kept:
            raise
        is_cut = True
    columns = [storable(name) for name in column_names(table.columns)]
    return TablePreview(chosen, list(table.sheets), columns, kept, n_rows, is_cut)


def _first(file: BinaryIO, sheet: str) -> tuple[FileTable, str]:
    try:
        table = open_table(file, sheet, blank_max=BLANK_LINES_MAX)
    except Unreadable as error:
        if sheet or not (sheets := error.fields.get("sheets")):
            raise
        for name in sheets[1:]:
            try:
                return open_table(file, name, blank_max=BLANK_LINES_MAX), name
            except BlankLines:
                raise
            except Unreadable:
                continue
        raise
    return table, sheet or (table.sheets[0] if table.sheets else "")
