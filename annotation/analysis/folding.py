"""Folding of a column: to a level of the tree, without some categories, with rare ones as “others”."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from annotation.labels.columns import LEFT_OUT, WHY_NONE, Categories, Flags, Ints, MultiColumn, SingleColumn

from .shares import ExcludedParts

OTHERS = "others"
C = TypeVar("C", bound=SingleColumn | MultiColumn)


@dataclass(frozen=True)
class FoldingRule:
    """`fold`: a category that fewer have is told as “others” (a number from 1; below 1 a share of all with a value).

    A category in `without` stands for all below it.
    """

    level: str = "leaf"
    fold: float = 0
    without: frozenset[str] = frozenset()


@dataclass(frozen=True)
class FoldedCategories:
    """The categories that became “others”, by key, and the number of parts there."""

    categories: tuple[str, ...] = ()
    n: int = 0


def fold_column(column: C, wanted: FoldingRule) -> tuple[C, FoldedCategories]:
    """The column told at a level, without categories, folded; in this order.

    A part whose only value is left out has no value (code LEFT_OUT); in a set, only the category is missing. Rare is
    what is rare after lifting; a category that nobody has is not folded.
    """
    found = _lifted(_without(column, wanted.without), wanted.level)
    if wanted.fold <= 0:
        return found, FoldedCategories()
    n = parts_by_category(found)
    least = wanted.fold if wanted.fold >= 1 else wanted.fold * int(has_value(found).sum())
    rare = np.flatnonzero((n > 0) & (n < least))
    if not len(rare):
        return found, FoldedCategories()
    folded = _recoded(found, *_with_others(found.categories, rare))
    keys = tuple(found.categories.keys[code] for code in rare)
    return folded, FoldedCategories(keys, int(parts_by_category(folded)[-1]))


def has_value(column: SingleColumn | MultiColumn) -> Flags:
    """N: whether the value of a part is known; a set that is known may be empty."""
    found: Flags = (column.codes if isinstance(column, SingleColumn) else column.state) >= 0
    return found


def parts_by_category(column: SingleColumn | MultiColumn, among: Flags | None = None) -> Ints:
    """K: how many parts, of all or among some, have each category."""
    if isinstance(column, MultiColumn):
        codes = column.codes if among is None else column.codes[among[column.rows]]
    else:
        codes = column.codes[(column.codes >= 0) if among is None else among & (column.codes >= 0)]
    return np.bincount(codes, minlength=len(column.categories))


def at_codes(values: np.ndarray, codes: Ints, otherwise: Ints | int) -> np.ndarray:
    """N of the K values, by code; `otherwise` where there is none."""
    if not len(values):
        return np.broadcast_to(np.asarray(otherwise), codes.shape)
    return np.where(codes >= 0, values[np.maximum(codes, 0)], otherwise)


def without_value(
    columns: Sequence[SingleColumn | MultiColumn], among: Flags | None = None
) -> tuple[ExcludedParts, ...]:
    """Why parts have no value in one of these columns: a part counts once, under the first that has none."""
    found = []
    left = np.ones(len(_state(columns[0])), dtype=bool) if among is None else among.copy()
    for column in columns:
        state = _state(column)
        for code, why in WHY_NONE.items():
            if n := int(((state == code) & left).sum()):
                found.append(ExcludedParts(f"{column.title}: {why[0].lower()}{why[1:]}", n))
        left &= state >= 0
    return tuple(found)


def _state(column: SingleColumn | MultiColumn) -> Ints:
    return column.codes if isinstance(column, SingleColumn) else column.state


def _without(column: C, keys: frozenset[str]) -> C:
    unknown = keys - set(column.categories.keys)
    if unknown:
        raise KeyError(sorted(unknown)[0])
    gone = set().union(*(column.categories.family(key) for key in keys)) if keys else set()
    if not gone:
        return column
    is_gone = np.zeros(len(column.categories), dtype=bool)
    is_gone[list(gone)] = True
    if isinstance(column, SingleColumn):
        return replace(column, codes=np.where(at_codes(is_gone, column.codes, False), LEFT_OUT, column.codes))
    kept = ~is_gone[column.codes]
    had = np.bincount(column.rows, minlength=len(column.state)) > 0
    has = np.bincount(column.rows[kept], minlength=len(column.state)) > 0
    state = np.where(had & ~has & (column.state >= 0), LEFT_OUT, column.state)
    return replace(column, rows=column.rows[kept], codes=column.codes[kept], state=state)


def _lifted(column: C, level: str) -> C:
    categories, place = column.categories.lifted(level)
    return column if categories is column.categories else _recoded(column, categories, place)


def _with_others(categories: Categories, rare: Ints) -> tuple[Categories, Ints]:
    is_rare = np.zeros(len(categories), dtype=bool)
    is_rare[rare] = True
    left = np.flatnonzero(~is_rare).tolist()
    place = np.full(len(categories), len(left), dtype=np.int64)
    place[left] = np.arange(len(left))
    keys = tuple(categories.keys[code] for code in left)
    others = next(name for name in (OTHERS, f"{OTHERS}-folded", f"{OTHERS}-{len(rare)}-folded") if name not in keys)
    names = (*(categories.names[code] for code in left), "Others")
    above = [categories.parents[code] if categories.parents else -1 for code in left]
    parents = (*(int(place[code]) if code >= 0 and not is_rare[code] else -1 for code in above), -1)
    return Categories((*keys, others), names, parents), place


def _recoded(column: C, categories: Categories, place: Ints) -> C:
    """The same values under other categories; of a set, each of them once."""
    if isinstance(column, SingleColumn):
        return replace(column, categories=categories, codes=at_codes(place, column.codes, column.codes))
    pairs = np.unique(np.multiply(column.rows, len(categories), dtype=np.int64) + place[column.codes])
    return replace(column, categories=categories, rows=pairs // len(categories), codes=pairs % len(categories))
