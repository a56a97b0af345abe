"""Tallies: sums that are linear in pattern counts, for one or a thousand resamples at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np

from agreement.metrics import Distance, Floats, Nominal
from agreement.patterns import NONE, Ints, Patterns

DENSE_CELLS = 8_000_000
PAIRS_AT_ONCE = 4_000_000


class Tally:
    """A linear map from P pattern counts to F sums, given as (row, column, weight) entries."""

    def __init__(self, row: Ints, column: Ints, weight: Floats, n_rows: int, n_columns: int) -> None:
        self.row, self.column, self.weight = row, column, weight
        self.shape = (n_rows, n_columns)

    @cached_property
    def _dense(self) -> Floats:
        n_rows, n_columns = self.shape
        cells = np.zeros(n_rows * n_columns)
        cells += np.bincount(self.row * n_columns + self.column, weights=self.weight, minlength=len(cells))
        return cells.reshape(self.shape)

    def __call__(self, counts: Floats) -> Floats:
        """B × F sums for B × P counts."""
        if len(counts) > 1 and self.shape[0] * self.shape[1] <= DENSE_CELLS:
            return counts @ self._dense
        return np.stack(
            [np.bincount(self.column, weights=self.weight * n[self.row], minlength=self.shape[1]) for n in counts]
        )

    def per_row(self, scores: Floats) -> Floats:
        """P: for each pattern the weighted sum of `scores` (F)."""
        return np.bincount(self.row, self.weight * scores[self.column], self.shape[0]).astype(np.float64, copy=False)

    def per_rows(self, scores: Floats) -> Floats:
        """B × P: the same for B × F scores."""
        if len(scores) > 1 and self.shape[0] * self.shape[1] <= DENSE_CELLS:
            return scores @ self._dense.T
        return np.stack([self.per_row(each) for each in scores])


def added_units(patterns: Patterns) -> tuple[Ints, Floats]:
    """M × R patterns and their weights, together one unit: half of it agrees, half has one rater who differs.

    Each of the K categories given has the same part. A unit has as many ratings as units with at least two have on the
    average, by raters in turn.
    """
    used, active = np.unique(patterns.values[patterns.values >= 0]), patterns.active
    k = len(used)
    if k < 2 or not active:
        return np.empty((0, len(patterns.raters)), dtype=np.int32), np.empty(0)
    r = min(max(round(patterns.n_ratings / patterns.n_units), 2), len(active))
    rows: list[Ints] = []
    for turn in range(3 * k):
        row = np.full(len(patterns.raters), NONE, dtype=np.int32)
        columns = [active[(turn + place) % len(active)] for place in range(r)]
        # The first K agree; of the others each category meets its neighbor on either side.
        at = turn if turn < k else (turn - k) // 2
        row[columns] = used[at]
        if turn >= k:
            row[columns[(turn - k) % r]] = used[(at + (1 if (turn - k) % 2 == 0 else -1)) % k]
        rows.append(row)
    return np.stack(rows), np.repeat([0.5 / k, 0.25 / k], [k, 2 * k])


class Tallies:
    """The entries of P × R patterns, one per rating, and the maps that coefficients are built from.

    `row`, `rater`, `value` have one entry per rating in `patterns.values`; `per_unit` (P) is the number of ratings.
    Ratings in the categories `without` (indices) count as not given.
    """

    def __init__(self, patterns: Patterns, without: Sequence[int] = ()) -> None:
        self.patterns, self.without = patterns, tuple(without)
        self.n_patterns, self.n_raters = patterns.values.shape
        self.n_categories = len(patterns.categories)
        given = patterns.values >= 0
        if without:
            given &= ~np.isin(patterns.values, without)
        self.row, self.rater = np.nonzero(given)
        self.value = patterns.values[self.row, self.rater].astype(np.int64)
        self.per_unit: Ints = given.sum(axis=1)
        self.pairable = self.per_unit >= 2
        self.counts = patterns.counts.astype(np.float64)[None, :]

    @cached_property
    def smooth(self) -> tuple[Tallies, Floats]:
        """The same of the patterns and one more unit, whose parts stand last, and their weights."""
        values, weights = added_units(self.patterns)
        return Tallies(self.patterns.extended(values, weights), self.without), weights

    @cached_property
    def used_categories(self) -> tuple[int, ...]:
        """Indices of the categories given in units with at least two ratings."""
        return tuple(int(k) for k in np.unique(self.value[self.pairable[self.row]]))

    def units(self, counts: Floats) -> Floats:
        """B: units with at least one rating."""
        found: Floats = counts.sum(axis=1)
        return found

    def paired(self, counts: Floats) -> Floats:
        """B: units with at least two ratings."""
        found: Floats = counts @ self.pairable.astype(np.float64)
        return found

    @cached_property
    def _cells(self) -> tuple[Ints, Ints, Floats]:
        """Row, category and number of ratings of every pattern × category that occurs."""
        keys, n = np.unique(self.row * self.n_categories + self.value, return_counts=True)
        return keys // self.n_categories, keys % self.n_categories, n.astype(np.float64)

    def _by_category(self, factor: Floats) -> Tally:
        row, category, n = self._cells
        return Tally(row, category, n * factor[row], self.n_patterns, self.n_categories)

    @cached_property
    def shares(self) -> Tally:
        """P → K: the share of a unit's ratings in each category, summed over units (Gwet's π before division by n)."""
        return self._by_category(1 / self.per_unit)

    @cached_property
    def pairable_ratings(self) -> Tally:
        """P → K: ratings in each category, in units with at least two: Krippendorff's pairable values."""
        return self._by_category(self.pairable.astype(np.float64))

    @cached_property
    def rater_categories(self) -> Tally:
        """P → R·K: each rater's number of ratings in each category."""
        column = self.rater * self.n_categories + self.value
        return Tally(self.row, column, np.ones(len(self.row)), self.n_patterns, self.n_raters * self.n_categories)

    def ratings_in(self, category: int) -> Floats:
        """P: how many ratings of each pattern are in a category."""
        row, found, n = self._cells
        here = found == category
        return np.bincount(row[here], n[here], self.n_patterns).astype(np.float64, copy=False)

    def disagreement(self, distance: Distance) -> Floats:
        """P: the mean of a symmetric distance over all pairs of ratings within a pattern; 0 where there is no pair."""
        n = self.per_unit
        pairs = np.where(self.pairable, n * (n - 1.0), 1.0)
        if isinstance(distance, Nominal):
            row, _, ratings = self._cells
            equal = np.bincount(row, weights=ratings * (ratings - 1), minlength=self.n_patterns)
            return np.where(self.pairable, 1 - equal / pairs, 0.0)
        added = np.zeros(self.n_patterns)
        for rows, left, right in self._pairs():
            added[rows] += 2 * distance.pairwise(left, right)
        return np.where(self.pairable, added / pairs, 0.0)

    def _pairs(self) -> Iterator[tuple[Ints, Ints, Ints]]:
        """Every pair of ratings within a pattern once, as (patterns, left values, right values), place by place."""
        n = self.per_unit
        start = np.concatenate(([0], np.cumsum(n)[:-1])).astype(np.int64)
        by_size = np.argsort(-n, kind="stable")
        descending = n[by_size]
        for j in range(1, int(n.max(initial=0))):
            rows = by_size[: np.searchsorted(-descending, -j, side="left")]
            right = self.value[start[rows] + j]
            for i in range(j):
                yield rows, self.value[start[rows] + i], right

    def category_pairs(self) -> tuple[Ints, Ints, Ints]:
        """(a, b, n): how many pairs of ratings of one unit fall into categories a ≤ b, where n > 0."""
        found: Counter[int] = Counter()
        codes: list[Ints] = []
        weights: list[Floats] = []

        def add_up() -> None:
            code, weight = np.concatenate(codes), np.concatenate(weights)
            if self.n_categories**2 <= PAIRS_AT_ONCE:
                table = np.bincount(code, weights=weight)
                distinct = np.flatnonzero(table)
                added = table[distinct]
            else:
                distinct, inverse = np.unique(code, return_inverse=True)
                added = np.bincount(inverse, weights=weight)
            for key, n in zip(distinct.tolist(), added.tolist(), strict=True):
                found[key] += int(n)
            codes.clear()
            weights.clear()

        row, category, n = self._cells
        counts = self.patterns.counts[row]
        several = n > 1
        codes.append(category[several] * (self.n_categories + 1))
        weights.append((counts * n * (n - 1) / 2)[several])
        waiting, apart = len(codes[0]), 1
        # The cells of a pattern stand side by side, in the order of the categories.
        while (together := np.flatnonzero(row[apart:] == row[:-apart])).size:
            codes.append(category[together] * self.n_categories + category[together + apart])
            weights.append(counts[together] * n[together] * n[together + apart])
            apart += 1
            waiting += len(together)
            if waiting > PAIRS_AT_ONCE:
                add_up()
                waiting = 0
        if codes:
            add_up()
        keys = np.array(sorted(found), dtype=np.int64)
        times = np.array([found[key] for key in keys.tolist()], dtype=np.int64)
        return keys // self.n_categories, keys % self.n_categories, times
