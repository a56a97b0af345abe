"""Patterns: distinct rows of ratings with their counts, the input of every coefficient."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self, TypeAlias

import numpy as np
import numpy.typing as npt

Category: TypeAlias = Hashable
Ints: TypeAlias = npt.NDArray[np.integer]

NONE = -1


@dataclass(frozen=True, eq=False)
class Patterns:
    """P distinct rating patterns of R raters over K categories.

    `values` (P × R, int32) holds indices into `categories`, −1 where a rater gave none; `counts` (P, int64) says how
    many units show each pattern. Equal rows are added up, rows without a rating or with count 0 are dropped, and rows
    are sorted, so that the order in which units arrive changes nothing.

    `categories` are names (in their order, when ordinal), numbers, or frozensets (multi). Their number is the q of
    Brennan-Prediger and Gwet's AC. Raises ValueError when shapes, indices, counts or names do not fit together.
    """

    values: npt.NDArray[np.int32]
    counts: npt.NDArray[np.int64]
    categories: tuple[Category, ...]
    raters: tuple[str, ...]

    def __post_init__(self) -> None:
        raters, categories = tuple(self.raters), tuple(self.categories)
        values = np.asarray(self.values, dtype=np.int32)
        counts = np.asarray(self.counts, dtype=np.int64)
        if values.size == 0:
            values = values.reshape(len(counts), len(raters))
        if values.shape != (len(counts), len(raters)):
            raise ValueError(f"{values.shape} values do not fit {len(counts)} counts and {len(raters)} raters.")
        if len(set(raters)) != len(raters):
            raise ValueError("Two raters have the same name.")
        if len(set(categories)) != len(categories):
            raise ValueError("A category is named twice.")
        if counts.size and counts.min() < 0:
            raise ValueError("A pattern cannot occur less than 0 times.")
        if values.size and (values.min() < NONE or values.max() >= len(categories)):
            raise ValueError("A value points to no category.")
        kept = (counts > 0) & (values >= 0).any(axis=1)
        values, counts = _distinct(values[kept], counts[kept], len(categories))
        values.flags.writeable = counts.flags.writeable = False
        for name, value in {"values": values, "counts": counts, "categories": categories, "raters": raters}.items():
            object.__setattr__(self, name, value)

    @classmethod
    def from_counts(
        cls,
        rows: Iterable[tuple[Sequence[Category | None], int]],
        *,
        raters: Sequence[str] | None = None,
        categories: Sequence[Category] | None = None,
    ) -> Self:
        """Patterns from (one value per rater, how often) pairs.

        None, NaN and the empty string are no rating; sets become frozensets. Raters default to R1, R2 …; categories to
        those used, sorted. Raises ValueError on a value outside `categories` and on rows of unequal length.
        """
        tally: Counter[tuple[Category | None, ...]] = Counter()
        for pattern, n in rows:
            tally[tuple(_given(value) for value in pattern)] += int(n)
        widths = {len(pattern) for pattern in tally} | ({len(raters)} if raters is not None else set())
        if len(widths) > 1:
            raise ValueError(f"Rows have different numbers of raters: {sorted(widths)}.")
        width = widths.pop() if widths else 0
        if raters is None:
            raters = [f"R{number}" for number in range(1, width + 1)]
        if categories is None:
            categories = sorted({value for row in tally for value in row if value is not None}, key=_in_order)
        categories = [_given(category) for category in categories]
        index: dict[Category | None, int] = {category: k for k, category in enumerate(categories)}
        index[None] = NONE
        try:
            values = [[index[value] for value in pattern] for pattern in tally]
        except KeyError as unknown:
            raise ValueError(f"{unknown.args[0]!r} is not one of the categories.") from None
        return cls(
            np.array(values, dtype=np.int32).reshape(len(tally), width),
            np.array(list(tally.values()), dtype=np.int64),
            tuple(categories),
            tuple(raters),
        )

    @classmethod
    def from_table(
        cls,
        table: Iterable[Sequence[Category | None]],
        *,
        raters: Sequence[str] | None = None,
        categories: Sequence[Category] | None = None,
    ) -> Self:
        """Patterns from a table with one row per unit and one column per rater; otherwise as `from_counts`."""
        return cls.from_counts(((row, 1) for row in table), raters=raters, categories=categories)

    @cached_property
    def ratings_per_unit(self) -> Ints:
        """P: how many raters gave a value in each pattern."""
        found: Ints = (self.values >= 0).sum(axis=1)
        return found

    @cached_property
    def pairable(self) -> npt.NDArray[np.bool_]:
        """P: whether the pattern holds at least two ratings."""
        return self.ratings_per_unit >= 2

    @property
    def n_units(self) -> int:
        """Units with at least two ratings: those that say anything about agreement."""
        return int(self.counts[self.pairable].sum())

    @property
    def n_single(self) -> int:
        """Units with only one rating."""
        return int(self.counts[~self.pairable].sum())

    @property
    def n_ratings(self) -> int:
        """Ratings in units with at least two."""
        return int((self.counts * self.ratings_per_unit)[self.pairable].sum())

    @cached_property
    def active(self) -> tuple[int, ...]:
        """Columns of the raters who gave a rating in a unit with at least two."""
        return tuple(int(column) for column in np.flatnonzero((self.values[self.pairable] >= 0).any(axis=0)))

    @cached_property
    def used_categories(self) -> tuple[int, ...]:
        """Indices of the categories given in units with at least two ratings."""
        given = self.values[self.pairable]
        return tuple(int(k) for k in np.unique(given[given >= 0]))

    def extended(self, values: Ints, weights: npt.NDArray[np.floating]) -> Patterns:
        """The same with M more patterns (M × R) at the end and their weights, which need not be whole numbers."""
        found = object.__new__(Patterns)
        whole = np.concatenate([self.values, np.asarray(values, dtype=np.int32)])
        every = np.concatenate([self.counts, weights])
        for name, value in {"values": whole, "counts": every}.items():
            object.__setattr__(found, name, value)
        object.__setattr__(found, "categories", self.categories)
        object.__setattr__(found, "raters", self.raters)
        return found

    def used(self) -> Patterns:
        """The same ratings without the categories that no rater gave anywhere."""
        kept = np.unique(self.values[self.values >= 0])
        if len(kept) == len(self.categories):
            return self
        # One place more than there are categories: −1 looks itself up at the end.
        renumbered = np.full(len(self.categories) + 1, NONE, dtype=np.int32)
        renumbered[kept] = np.arange(len(kept))
        return Patterns(renumbered[self.values], self.counts, tuple(self.categories[int(k)] for k in kept), self.raters)


def category_label(category: Category) -> str:
    """A category as one string: a set as its sorted members joined by ' + ', the empty set as '(none)'."""
    if isinstance(category, frozenset):
        return " + ".join(sorted(category_label(member) for member in category)) or "(none)"
    if isinstance(category, bool | np.bool_):
        return "true" if category else "false"
    if isinstance(category, float) and category.is_integer():
        return str(int(category))
    return str(category)


def _given(value: Category | set[Hashable] | None) -> Category | None:
    if value is None or (isinstance(value, str) and value == "") or (isinstance(value, float) and math.isnan(value)):
        return None
    return frozenset(value) if isinstance(value, set) else value


def _in_order(category: Category) -> tuple[int, float, str]:
    if isinstance(category, int | float | np.number):
        return (0, float(category), "")
    return (1, 0.0, category_label(category))


def _distinct(
    values: npt.NDArray[np.int32], counts: npt.NDArray[np.int64], n_categories: int
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]:
    n_rows, n_raters = values.shape
    if n_rows == 0:
        return values.copy(), counts.copy()
    base = n_categories + 1
    keys: npt.NDArray[Any] = np.zeros(n_rows, dtype=np.int64)
    if n_raters * math.log2(base) < 62:
        for column in values.T:
            keys = keys * base + column + 1
    else:
        # Big-endian numbers of at least 0 compare as bytes the way they compare as numbers.
        rows = np.ascontiguousarray((values + 1).astype(">u4"))
        keys = rows.view(np.dtype((np.void, 4 * n_raters))).ravel()
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    added = np.zeros(len(first), dtype=np.int64)
    np.add.at(added, inverse, counts)
    return values[first], added
