"""Columns of agreed labels for analysis: one row for each part of an item."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from taxonomy.kinds import HasKind

Ints = NDArray[np.integer[Any]]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

NONE, NOT_AGREED, UNMAPPED, LEFT_OUT = -1, -2, -3, -4
"""Codes below 0 stand for no value: not asked or not answered, not agreed (yet), not to be told in this version.

The last one is for categories that a question leaves out; the others come with the columns.
"""

WHY_NONE = {
    NONE: "Not applicable, or not labeled.",
    NOT_AGREED: "No agreed label.",
    UNMAPPED: "The value has no equivalent in this version.",
    LEFT_OUT: "The category was excluded on request.",
}
LEVELS = ("leaf", "parent", "root")


@dataclass(frozen=True)
class Categories:
    """What a column can say: K keys with their names, and of each the place of the one above it, −1 at the root."""

    keys: tuple[str, ...]
    names: tuple[str, ...]
    parents: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if len(self.names) != len(self.keys) or len(self.parents) not in (0, len(self.keys)):
            raise ValueError("Of each category there are a key, a name, and a parent or no parents at all.")

    def __len__(self) -> int:
        return len(self.keys)

    @cached_property
    def place(self) -> Mapping[str, int]:
        """The code of each key."""
        return {key: code for code, key in enumerate(self.keys)}

    def family(self, key: str) -> frozenset[int]:
        """The codes of a category and of all below it; none for an unknown key."""
        if key not in self.place:
            return frozenset()
        found = {self.place[key]}
        while more := {code for code, above in enumerate(self.parents) if above in found} - found:
            found |= more
        return frozenset(found)

    def lifted(self, level: str) -> tuple[Categories, Ints]:
        """The categories of a level of the tree, and K codes of theirs: each one's parent or root, or itself on top."""
        if level not in LEVELS:
            raise ValueError(f"There is no level “{level}”; there are {', '.join(LEVELS)}.")
        if level == "leaf" or not self.parents:
            return self, np.arange(len(self))
        above = [code if parent < 0 else parent for code, parent in enumerate(self.parents)]
        if level == "root":
            while (higher := [above[parent] for parent in above]) != above:
                above = higher
        left = sorted(set(above))
        place = {code: number for number, code in enumerate(left)}
        parents = [self.parents[code] for code in left] if level == "parent" else []
        lifted = Categories(
            tuple(self.keys[code] for code in left),
            tuple(self.names[code] for code in left),
            tuple(place.get(parent, -1) for parent in parents),
        )
        return lifted, np.array([place[code] for code in above], dtype=np.int64)


@dataclass(frozen=True, eq=False)
class SingleColumn(HasKind):
    """A column with one category per row at most: a single or ordinal dimension, a mark, an attribute of the item.

    `codes` has N entries; those below 0 stand for no value. A boolean has the categories "false" and "true".
    """

    key: str
    title: str
    kind: str
    categories: Categories
    codes: Ints

    def taken(self, rows: Ints) -> SingleColumn:
        return replace(self, codes=self.codes[rows])


@dataclass(frozen=True, eq=False)
class MultiColumn:
    """A column with any number of categories per row: M pairs of a row and a code, each pair once.

    `state` has N entries: 0 where the set of the row is known, which can be empty, else one of the codes for no value.
    """

    key: str
    title: str
    categories: Categories
    rows: Ints
    codes: Ints
    state: Ints

    is_two_valued = False

    def taken(self, rows: Ints) -> MultiColumn:
        place = np.full(len(self.state), -1, dtype=np.int64)
        place[rows] = np.arange(len(rows))
        kept = place[self.rows] >= 0
        return replace(self, rows=place[self.rows[kept]], codes=self.codes[kept], state=self.state[rows])


@dataclass(frozen=True, eq=False)
class NumberColumn:
    """A column of N numbers, NaN where there is none; `unit` in words, in the plural."""

    key: str
    title: str
    values: Floats
    unit: str = ""

    is_two_valued = False

    def taken(self, rows: Ints) -> NumberColumn:
        return replace(self, values=self.values[rows])


def n_different(items: Ints) -> int:
    """How many different items there are; those of one item need not stand side by side."""
    if len(items) == 0:
        return 0
    if bool((items[1:] > items[:-1]).all()):
        return len(items)
    lowest, highest = int(items.min()), int(items.max())
    if highest - lowest < 20 * len(items) + 1_000_000:
        return int(np.count_nonzero(np.bincount(items - lowest)))
    return len(np.unique(items))


@dataclass(frozen=True, eq=False)
class Columns:
    """Agreed labels as N rows in the order of labelling, one per part of an item.

    `items` are the items' ids and `parts` the numbers of the parts, from 1. `singles` and `multis` are dimensions by
    key (kinds single, ordinal, boolean; multi), `numbers` dimensions that are numbers, `attributes` what is known of
    the item apart from labels (repository, round, imported attributes).
    """

    items: Ints
    parts: Ints
    singles: Mapping[str, SingleColumn] = field(default_factory=dict)
    multis: Mapping[str, MultiColumn] = field(default_factory=dict)
    numbers: Mapping[str, NumberColumn] = field(default_factory=dict)
    attributes: Mapping[str, SingleColumn] = field(default_factory=dict)

    def __post_init__(self) -> None:
        n = len(self.items)
        lengths = [len(self.parts), *(len(each.codes) for each in [*self.singles.values(), *self.attributes.values()])]
        lengths += [len(each.state) for each in self.multis.values()]
        lengths += [len(each.values) for each in self.numbers.values()]
        if any(length != n for length in lengths):
            raise ValueError("Every column has as many rows as there are items.")

    @property
    def n_rows(self) -> int:
        return len(self.items)

    @cached_property
    def is_labeled(self) -> Flags:
        """N: whether something was agreed on the row; raters may have agreed on nothing of it."""
        found = np.zeros(self.n_rows, dtype=bool)
        for single in self.singles.values():
            found |= ~np.isin(single.codes, [NONE, NOT_AGREED])
        for multi in self.multis.values():
            found |= ~np.isin(multi.state, [NONE, NOT_AGREED])
        for number in self.numbers.values():
            found |= ~np.isnan(number.values)
        return found

    @cached_property
    def in_several_parts(self) -> Flags:
        """N: whether the row's item has more than one part."""
        _, place, n = np.unique(self.items, return_inverse=True, return_counts=True)
        found: Flags = n[place] > 1
        return found

    def column(self, key: str) -> SingleColumn | MultiColumn | None:
        """A dimension, else an attribute, with categories."""
        return self.singles.get(key) or self.multis.get(key) or self.attributes.get(key)

    def taken(self, rows: Ints) -> Columns:
        """The columns of these rows alone, in ascending order."""
        return Columns(
            self.items[rows],
            self.parts[rows],
            {key: each.taken(rows) for key, each in self.singles.items()},
            {key: each.taken(rows) for key, each in self.multis.items()},
            {key: each.taken(rows) for key, each in self.numbers.items()},
            {key: each.taken(rows) for key, each in self.attributes.items()},
        )
