"""Columns for tests, from lists of keys."""

from collections.abc import Sequence

import numpy as np

from annotation.labels.columns import NONE, Categories, MultiColumn, SingleColumn


def categories(keys: Sequence[str]) -> Categories:
    return Categories(tuple(keys), tuple(key.title() for key in keys), (-1,) * len(keys))


def single(key: str, values: Sequence[str | None], keys: Sequence[str] = (), kind: str = "single") -> SingleColumn:
    """A column of keys, None where there is none; its categories are `keys`, else those that occur, in order."""
    known = list(keys) or sorted({value for value in values if value is not None})
    codes = np.array([NONE if value is None else known.index(value) for value in values], dtype=np.int64)
    return SingleColumn(key, key.title(), kind, categories(known), codes)


def multi(key: str, values: Sequence[Sequence[str] | None], keys: Sequence[str] = ()) -> MultiColumn:
    """A column of sets of keys, None where the set is not known."""
    known = list(keys) or sorted({each for value in values for each in value or ()})
    pairs = [(row, known.index(each)) for row, value in enumerate(values) for each in value or ()]
    rows, codes = (np.array([pair[side] for pair in pairs], dtype=np.int64) for side in (0, 1))
    state = np.array([NONE if value is None else 0 for value in values], dtype=np.int64)
    return MultiColumn(key, key.title(), categories(known), rows, codes, state)


def of_table(table: Sequence[Sequence[int]]) -> tuple[SingleColumn, SingleColumn]:
    """Two columns whose cross table this is."""
    cells = [(f"r{r}", f"c{c}") for r, row in enumerate(table) for c, n in enumerate(row) for _ in range(n)]
    rows = [f"r{r}" for r in range(len(table))]
    columns = [f"c{c}" for c in range(len(table[0]))]
    return single("row", [a for a, _ in cells], rows), single("column", [b for _, b in cells], columns)
