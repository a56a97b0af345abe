"""CSV in which no cell is a formula: whatever writes one for people writes it by this."""

import csv
from collections.abc import Iterable, Sequence
from typing import IO, Any

FORMULA = ("=", "+", "-", "@", "\t", "\r")


def defused(text: str) -> str:
    """The text as a harmless cell: with an apostrophe before it where it begins as a formula does."""
    return f"'{text}" if text.startswith(FORMULA) else text


class SafeCsv:
    """Writes rows of cells into an open text file; texts are `defused`, heads among them, numbers stay numbers."""

    def __init__(self, file: IO[str], *, lineterminator: str = "\n") -> None:
        self._csv = csv.writer(file, lineterminator=lineterminator)

    def row(self, cells: Iterable[Any]) -> None:
        self.rows([list(cells)])

    def rows(self, rows: Iterable[Sequence[Any]]) -> None:
        self._csv.writerows([defused(cell) if isinstance(cell, str) else cell for cell in row] for row in rows)
