"""Combinations of values of several columns that often occur together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from annotation.labels.columns import Flags, Floats, Ints, MultiColumn, SingleColumn
from shared.wording import plural

from .folding import has_value, without_value
from .shares import AnalysisTooLarge, Denominator, ExcludedParts, Share, share

LARGEST = 4
MOST = 500
FOUND_MAX, CELLS_MAX, STEPS_MAX = 200_000, 20_000_000, 2_000_000_000
"""Sets that are looked for, parts times values that are held in memory, and steps in which the sets are counted."""


@dataclass(frozen=True)
class Combination:
    """Values, as (dimension, category), that parts have together, `lift` times as many as independence gives."""

    values: tuple[tuple[str, str], ...]
    share: Share
    lift: float


@dataclass(frozen=True)
class Combinations:
    """What at least `least` of the `n` parts have, the most frequent first, at most 500 of `n_found`."""

    n: int
    least: int
    denominator: Denominator
    combinations: tuple[Combination, ...]
    n_found: int
    left_out: tuple[ExcludedParts, ...]


def combinations(
    columns: Sequence[SingleColumn | MultiColumn], *, least: float = 2, largest: int = LARGEST
) -> Combinations:
    """Every set of two to `largest` values that at least `least` parts have (below 1: that share of them), exactly.

    Level by level (Agrawal and Srikant 1994, Apriori): a set is frequent only if all sets within it are. Only parts
    with a known value in every column are looked at, so that all supports have one denominator. Lift (Brin et al. 1997)
    is the support divided by the product of the shares of its values. Raises AnalysisTooLarge.
    """
    if least <= 0 or not 2 <= largest <= LARGEST:
        raise ValueError(f"Combinations are of 2 to {LARGEST} values that some parts have.")
    whole = np.ones(len(_state(columns[0])), dtype=bool)
    for column in columns:
        whole &= has_value(column)
    n = int(whole.sum())
    needed = max(1, int(np.ceil(least if least >= 1 else least * n)))
    has, times = _patterns(columns, np.flatnonzero(whole))
    names = [(column.key, key) for column in columns for key in column.categories.keys]
    single = times @ has
    frequent: list[tuple[int, ...]] = [(place,) for place in np.flatnonzero(single >= needed).tolist()]
    found: list[tuple[tuple[int, ...], int]] = []
    while frequent and len(frequent[0]) < largest:
        frequent = _grown(frequent, has, times, needed, found)
    found.sort(key=lambda each: (-each[1], len(each[0]), each[0]))
    listed = tuple(
        Combination(
            tuple(names[place] for place in places),
            share(together, n),
            float(together / n / np.prod([single[place] / n for place in places])),
        )
        for places, together in found[:MOST]
    )
    denominator = Denominator("all", f"of the {plural(n, 'part')} with a value of each", n)
    return Combinations(n, needed, denominator, listed, len(found), without_value(columns))


def _grown(
    sets: Sequence[tuple[int, ...]],
    has: Floats,
    times: Floats,
    needed: int,
    found: list[tuple[tuple[int, ...], int]],
) -> list[tuple[int, ...]]:
    """The frequent sets with one value more, which are added to `found` with their support."""
    known_sets = set(sets)
    by_start: dict[tuple[int, ...], list[int]] = {}
    for each in sets:
        by_start.setdefault(each[:-1], []).append(each[-1])
    grown = []
    n_steps = 0
    for start, ends in by_start.items():
        n_steps += (len(has) + 1_000) * len(ends) * (len(ends) - 1) // 2
        if n_steps > STEPS_MAX or len(found) > FOUND_MAX:
            raise AnalysisTooLarge(
                "least",
                "There are too many combinations to count. Enter a larger number of parts or a smaller size, or fold "
                "rare categories.",
            )
        together = times * has[:, list(start)].prod(axis=1)
        for number, a in enumerate(ends):
            after = ends[number + 1 :]
            if not after:
                continue
            support = (together * has[:, a]) @ has[:, after]
            for b, n in zip(after, support.tolist(), strict=True):
                whole = (*start, a, b)
                parts_of_it = (whole[:place] + whole[place + 1 :] for place in range(len(start)))
                if n >= needed and all(each in known_sets for each in parts_of_it):
                    grown.append(whole)
                    found.append((whole, round(n)))
    return grown


def _patterns(columns: Sequence[SingleColumn | MultiColumn], rows: Ints) -> tuple[Floats, Floats]:
    """P × V ones and zeros, each row another set of values, and how many parts have each."""
    width = sum(len(column.categories) for column in columns)
    if len(rows) * width > CELLS_MAX:
        raise AnalysisTooLarge(
            "fold", "There are too many parts and categories. Fold rare categories, or ask for fewer parts."
        )
    has: Flags = np.zeros((len(rows), width), dtype=bool)
    start = 0
    for column in columns:
        here = column.taken(rows)
        if isinstance(here, SingleColumn):
            has[np.arange(len(rows)), start + here.codes] = True
        else:
            has[here.rows, start + here.codes] = True
        start += len(column.categories)
    packed = np.ascontiguousarray(np.packbits(has, axis=1))
    if not packed.size:
        return np.zeros((0, width)), np.zeros(0)
    _, first, times = np.unique(packed.view(f"V{packed.shape[1]}").ravel(), return_index=True, return_counts=True)
    return has[first].astype(np.float64), times.astype(np.float64)


def _state(column: SingleColumn | MultiColumn) -> Ints:
    return column.codes if isinstance(column, SingleColumn) else column.state
