"""Estimators of the coefficients: value from pattern counts for many resamples at once, and standard error.

All but percent agreement are 1 − observed / expected disagreement and differ only in what they expect by chance.
Letters: B resamples × P patterns, K categories, R raters, n units, π the mean share of each category, δ the distance
(0 or 1 when nominal), which is 1 − w for weights w.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod

import numpy as np

from agreement.metrics import Distance, Floats, Matrix, Nominal, symmetric
from agreement.patterns import Ints, Patterns, category_label
from agreement.tallies import Tallies, Tally

NO_PAIR = "No unit was rated by two raters."
HABITS = (
    "At most one rater used more than one category, so kappa is 0 whatever that rater chooses, and agreement beyond "
    "chance is undefined."
)
TINY = 1e-12
EXACT_LEVEL = 0.95
"""The confidence of the bound of perfect agreement."""


class Estimator(ABC):
    """One coefficient on one set of patterns."""

    width = 0
    """The numbers one resample needs at a time, beyond P."""

    def __init__(self, tallies: Tallies, distance: Distance | None = None) -> None:
        self.tallies = tallies
        self.distance: Distance = Nominal(tallies.n_categories) if distance is None else distance

    def undefined(self) -> str | None:
        """Why the coefficient has no value, as a sentence, or None."""
        if not self.tallies.pairable.any():
            return NO_PAIR
        if np.isnan(self.point()):
            return (
                self._one_category()
                or "No disagreement is expected by chance, so agreement beyond chance is undefined."
            )
        return None

    def _one_category(self) -> str | None:
        used = self.tallies.used_categories
        if len(used) != 1:
            return None
        label = category_label(self.tallies.patterns.categories[used[0]])
        return f"Every compared rating is “{label}”, so agreement beyond chance is undefined."

    def point(self) -> float:
        """The value on the patterns as they are, NaN where undefined."""
        return float(self(self.tallies.counts)[0])

    @abstractmethod
    def __call__(self, counts: Floats) -> Floats:
        """B values for B × P counts, NaN where undefined."""

    @abstractmethod
    def standard_error(self) -> float | None:
        """The analytic standard error, None where none is published or there is only one unit."""

    @abstractmethod
    def moves(self, counts: Floats) -> Floats:
        """B × P: how far one more unit of a pattern moves the value, to first order; their sum over all units is 0."""

    @abstractmethod
    def on(self, tallies: Tallies) -> Estimator:
        """The same estimator on other patterns over the same categories."""

    @abstractmethod
    def expected(self, counts: Floats) -> Floats:
        """B: the disagreement expected by chance."""

    def largest(self, counts: Floats) -> Floats:
        """B: the largest that 1 − value can be."""
        return self._worst(counts) / self.expected(counts)

    def least(self, counts: Floats) -> Floats:
        """B: the lowest value that the coefficient can have, whatever the shares of the categories."""
        return np.full(len(counts), -1.0)

    def _largest_of(self, shares: Floats, expected: Floats) -> Floats:
        """The same where the shares of the categories bound the disagreement: none is further than over the middle one.

        Nominal: at most 2 (1 − the largest share). Other distances may be squares, which adds a factor of 2.
        """
        factor = 2.0 if isinstance(self.distance, Nominal) else 4.0
        around = self.distance.toward(shares).min(axis=1, where=shares > 0, initial=np.inf)
        found: Floats = np.minimum(self._worst(shares), factor * around) / np.maximum(expected, TINY)
        return found

    @abstractmethod
    def compared(self) -> tuple[Ints, Floats]:
        """The rows of the patterns with a pair of ratings, and the disagreement within each, 0 where all agree."""

    def exact_bounds(self, counts: Floats, n_independent: int | None = None) -> Floats:
        """B one-sided 95% bounds below a value of 1, NaN where some ratings disagree; exact for percent agreement.

        n of n units agree completely, so at least 0.05^(1/n) of all units do (Clopper and Pearson 1934,
        doi:10.1093/biomet/26.4.404). The others count as the worst disagreement there can be, and the disagreement
        expected by chance as known. `n_independent` replaces the number of units where some are of one item.
        """
        rows, within = self.compared()
        n = counts[:, rows].sum(axis=1)
        is_perfect = (n > 0) & (counts[:, rows] @ within < TINY)
        number = n if n_independent is None else np.full(len(n), float(n_independent))
        missing = 1 - 0.05 ** (1 / np.maximum(number, 1))
        bounds = np.maximum(1 - missing * self._worst(counts) / np.maximum(self.expected(counts), TINY), -1.0)
        return np.where(is_perfect, bounds, np.nan)

    def exact_confidence(self, n_independent: int, threshold: float) -> float:
        """The confidence at which the bound of perfect agreement (`exact_bounds`) lies at a threshold."""
        counts = self.tallies.counts
        if threshold <= -1:
            return 1.0
        missing = (
            (1 - threshold) * max(float(self.expected(counts)[0]), TINY) / max(float(self._worst(counts)[0]), TINY)
        )
        confidence = 1 - max(1 - missing, 0.0) ** n_independent
        is_reached = float(self.exact_bounds(counts, n_independent)[0]) >= threshold
        return max(confidence, EXACT_LEVEL) if is_reached else min(confidence, math.nextafter(EXACT_LEVEL, 0))

    def _worst(self, counts: Floats) -> Floats:
        """B: the largest distance between two categories that were given."""
        used = np.unique(self.tallies.value)
        return np.full(len(counts), float(self.distance.pairwise(used[:, None], used[None, :]).max(initial=0.0)))


def one_habit(patterns: Patterns, column: int, category: int) -> str:
    """The reason why there is no kappa of two raters of whom one used one category only."""
    label = category_label(patterns.categories[category])
    return (
        f"{patterns.raters[column]} used “{label}” only, so kappa is 0 whatever the other rater chooses, and "
        "agreement beyond chance is undefined."
    )


def _beyond_chance(observed: Floats, expected: Floats) -> Floats:
    """1 − observed / expected, NaN where nothing is expected."""
    possible = expected > TINY
    kept = np.where(observed < TINY * expected, 0.0, observed)
    found: Floats = 1 - np.divide(kept, expected, out=np.full(expected.shape, np.nan), where=possible)
    return found


class PercentAgreement(Estimator):
    """The share of agreeing pairs of ratings within a unit, averaged over units with at least two ratings."""

    def __init__(self, tallies: Tallies, distance: Distance | None = None) -> None:
        super().__init__(tallies, distance)
        self.distance = symmetric(self.distance)
        self.within = tallies.disagreement(self.distance)

    def observed(self, counts: Floats) -> Floats:
        paired = self.tallies.paired(counts)
        found: Floats = np.divide(counts @ self.within, paired, out=np.full(len(counts), np.nan), where=paired > 0)
        return found

    def __call__(self, counts: Floats) -> Floats:
        return 1 - self.observed(counts)

    def on(self, tallies: Tallies) -> PercentAgreement:
        return type(self)(tallies, self.distance)

    def moves(self, counts: Floats) -> Floats:
        """The observed agreement is a ratio over the units with at least two ratings: other units do not move it."""
        return self._moves_observed(counts)

    def compared(self) -> tuple[Ints, Floats]:
        rows = np.flatnonzero(self.tallies.pairable)
        return rows, self.within[rows]

    def expected(self, counts: Floats) -> Floats:
        return np.ones(len(counts))

    def least(self, counts: Floats) -> Floats:
        return np.zeros(len(counts))

    def _worst(self, counts: Floats) -> Floats:
        return np.ones(len(counts))

    def standard_error(self) -> float | None:
        counts = self.tallies.counts[0]
        paired = float(self.tallies.paired(self.tallies.counts)[0])
        if paired < 2:
            return None
        variance = counts @ self.moves(self.tallies.counts)[0] ** 2
        return float(np.sqrt(variance * paired / (paired - 1)))

    def _moves_observed(self, counts: Floats) -> Floats:
        apart = self.observed(counts)[:, None] - self.within
        return np.where(self.tallies.pairable, apart / self.tallies.paired(counts)[:, None], 0.0)


class AnyRaters(PercentAgreement):
    """1 − observed / expected, whoever gave the ratings; units with one rating still count for the category shares.

    Standard errors by linearization: a unit with one rating moves the chance agreement alone. Where every unit has at
    least two ratings they are Gwet's (Gwet 2008, doi:10.1348/000711006X126600; Gwet 2014, ch. 5).
    """

    @abstractmethod
    def expected_per_unit(self, counts: Floats) -> Floats:
        """B × P: what each pattern contributes to the disagreement expected by chance."""

    def __call__(self, counts: Floats) -> Floats:
        return _beyond_chance(self.observed(counts), self.expected(counts))

    def least(self, counts: Floats) -> Floats:
        return Estimator.least(self, counts)

    def _worst(self, counts: Floats) -> Floats:
        return Estimator._worst(self, counts)

    def moves(self, counts: Floats) -> Floats:
        expected, n = self.expected(counts)[:, None], self.tallies.units(counts)[:, None]
        by_chance = 2 * (1 - self(counts))[:, None] * (self.expected_per_unit(counts) - expected) / n
        return (self._moves_observed(counts) + by_chance) / np.maximum(expected, TINY)

    def mean_shares(self, counts: Floats) -> Floats:
        """B × K: π."""
        return self.tallies.shares(counts) / self.tallies.units(counts)[:, None]


class FleissKappa(AnyRaters):
    """Chance: two draws from the pooled shares π."""

    def expected(self, counts: Floats) -> Floats:
        shares = self.mean_shares(counts)
        return self.distance.between(shares, shares)

    def largest(self, counts: Floats) -> Floats:
        return self._largest_of(self.mean_shares(counts), self.expected(counts))

    def expected_per_unit(self, counts: Floats) -> Floats:
        return self.tallies.shares.per_rows(self.distance.toward(self.mean_shares(counts)))


class GwetAC(AnyRaters):
    """Chance: that a rating is random, times that random ratings agree, T/(q(q−1)) · Σ π(1−π), T the sum of weights."""

    @property
    def _scale(self) -> float:
        q = self.tallies.n_categories
        return (q * q - self.distance.total) / (q * (q - 1))

    def undefined(self) -> str | None:
        return self._one_category() or super().undefined()

    def expected(self, counts: Floats) -> Floats:
        shares = self.mean_shares(counts)
        found: Floats = 1 - self._scale * np.einsum("bk,bk->b", shares, 1 - shares)
        return found

    def expected_per_unit(self, counts: Floats) -> Floats:
        return 1 - self._scale * self.tallies.shares.per_rows(1 - self.mean_shares(counts))


class BrennanPrediger(AnyRaters):
    """Chance: all q categories are equally likely."""

    def expected(self, counts: Floats) -> Floats:
        return np.full(len(counts), self.distance.total / max(self.tallies.n_categories, 1) ** 2)

    def least(self, counts: Floats) -> Floats:
        return 1 - self.largest(counts)

    def expected_per_unit(self, counts: Floats) -> Floats:
        return np.broadcast_to(self.expected(counts)[:, None], counts.shape)


class CongerKappa(AnyRaters):
    """Chance: two different raters, each drawing from their own shares; the mean over all pairs of raters."""

    def __init__(self, tallies: Tallies, distance: Distance | None = None) -> None:
        super().__init__(tallies, distance)
        self.width = tallies.n_raters * tallies.n_categories

    def undefined(self) -> str | None:
        return super().undefined() or self._one_habit()

    def _one_habit(self) -> str | None:
        """As Cohen's kappa, where all raters rated every unit and at most one of them used several categories."""
        patterns, given = self.tallies.patterns, np.unique(np.stack([self.tallies.rater, self.tallies.value]), axis=1)
        raters, n_used = np.unique(given[0], return_counts=True)
        if (self.tallies.per_unit < len(raters)).any() or (n_used > 1).sum() > 1:
            return None
        if len(raters) > 2:
            return HABITS
        column = int(raters[np.argmin(n_used)])
        return one_habit(patterns, column, int(given[1][given[0] == column][0]))

    def _rater_shares(self, counts: Floats) -> tuple[Floats, Floats]:
        """B × R × K shares, all 0 for a rater without a rating, and B × R ratings."""
        given = self.tallies.rater_categories(counts)
        given = given.reshape(len(counts), self.tallies.n_raters, self.tallies.n_categories)
        n = given.sum(axis=2)
        return given / np.maximum(n, TINY)[:, :, None], n

    def expected(self, counts: Floats) -> Floats:
        shares, n = self._rater_shares(counts)
        size = shares.shape
        together = shares.sum(axis=1)
        flat = shares.reshape(size[0] * size[1], size[2])
        own = self.distance.between(flat, flat).reshape(size[:2]).sum(axis=1)
        raters = (n > 0).sum(axis=1)
        added = self.distance.between(together, together) - own
        found: Floats = np.divide(added, raters * (raters - 1.0), out=np.zeros(len(counts)), where=raters > 1)
        return found

    def largest(self, counts: Floats) -> Floats:
        return self._largest_of(self.mean_shares(counts), self.expected(counts))

    def expected_per_unit(self, counts: Floats) -> Floats:
        shares, n = self._rater_shares(counts)
        raters = np.maximum((n > 0).sum(axis=1), 2)
        others = self.distance.toward(shares.sum(axis=1)[:, None, :] - shares)
        own = np.einsum("brk,brk->br", shares, others)
        given = np.where(n > 0, n, np.inf)
        weight = counts.sum(axis=1)[:, None] / given / (raters * (raters - 1.0))[:, None]
        scores = (others - own[:, :, None]) * weight[:, :, None]
        flat = scores.reshape(len(counts), -1)
        return self.expected(counts)[:, None] + self.tallies.rater_categories.per_rows(flat)


class TwoRaters(Estimator):
    """Cohen's kappa (each rater's own shares) and Scott's pi (`pooled`), on the units that both rated.

    Standard error for n large: Fleiss, Cohen and Everitt 1969, doi:10.1037/h0028106, in Gwet's form for Scott's pi.
    """

    def __init__(
        self, tallies: Tallies, distance: Distance | None = None, *, called: str = "Cohen's kappa", pooled: bool = False
    ) -> None:
        super().__init__(tallies, distance)
        self.called, self.pooled = called, pooled
        active = tallies.patterns.active
        if len(active) != 2:
            return
        left, right = (tallies.patterns.values[:, column].astype(np.int64) for column in active)
        self.rows = np.flatnonzero((left >= 0) & (right >= 0))
        self.left, self.right = left[self.rows], right[self.rows]
        self.within = self.distance.pairwise(self.left, self.right)
        place, ones = np.arange(len(self.rows)), np.ones(len(self.rows))
        shape = (len(self.rows), tallies.n_categories)
        self.left_tally, self.right_tally = (Tally(place, side, ones, *shape) for side in (self.left, self.right))

    def undefined(self) -> str | None:
        n_raters = len(self.tallies.patterns.active)
        if n_raters > 2:
            return (
                f"{self.called} is defined for exactly two raters, and there are {n_raters}: see the pairs of raters."
            )
        return super().undefined() or (None if self.pooled else self._one_habit())

    def _one_habit(self) -> str | None:
        """Observed and expected disagreement are the same number where one of the two used one category only."""
        for column, side in zip(self.tallies.patterns.active, (self.left, self.right), strict=True):
            if len(np.unique(side)) == 1:
                return one_habit(self.tallies.patterns, column, int(side[0]))
        return None

    def _shares(self, counts: Floats) -> tuple[Floats, Floats, Floats]:
        n = np.maximum(counts.sum(axis=1), TINY)
        left, right = self.left_tally(counts) / n[:, None], self.right_tally(counts) / n[:, None]
        if self.pooled:
            left = right = (left + right) / 2
        return left, right, n

    def __call__(self, counts: Floats) -> Floats:
        both = counts[:, self.rows]
        left, right, n = self._shares(both)
        return _beyond_chance(both @ self.within / n, self.distance.between(left, right))

    def compared(self) -> tuple[Ints, Floats]:
        return self.rows, self.within

    def on(self, tallies: Tallies) -> TwoRaters:
        return TwoRaters(tallies, self.distance, called=self.called, pooled=self.pooled)

    def expected(self, counts: Floats) -> Floats:
        left, right, _ = self._shares(counts[:, self.rows])
        return self.distance.between(left, right)

    def largest(self, counts: Floats) -> Floats:
        left, right, _ = self._shares(counts[:, self.rows])
        return self._largest_of((left + right) / 2, self.distance.between(left, right))

    def moves(self, counts: Floats) -> Floats:
        left, right, n = self._shares(counts[:, self.rows])
        expected, value = np.maximum(self.distance.between(left, right), TINY)[:, None], self(counts)[:, None]
        turned = Matrix(self.distance.cells.T) if isinstance(self.distance, Matrix) else self.distance
        by_chance = self.distance.toward(right)[:, self.left] + turned.toward(left)[:, self.right]
        linear = (expected - self.within) / expected + (1 - value) * (by_chance - 2 * expected) / expected
        found = np.zeros(counts.shape)
        found[:, self.rows] = (linear - value) / n[:, None]
        return found

    def standard_error(self) -> float | None:
        if self.tallies.counts[0, self.rows].sum() < 2:
            return None
        return float(np.sqrt(self.tallies.counts[0] @ self.moves(self.tallies.counts)[0] ** 2))


class KrippendorffAlpha(Estimator):
    """Chance: two draws without replacement from all pairable values. Distances that do not depend on the ratings.

    Standard error by Gwet's linearisation over the units with at least two ratings (Gwet 2014, ch. 5).
    """

    def __init__(self, tallies: Tallies, distance: Distance | None = None) -> None:
        super().__init__(tallies, distance)
        self.distance = symmetric(self.distance)
        self.ratings = np.where(tallies.pairable, tallies.per_unit, 0).astype(np.float64)
        self.within = self.ratings * tallies.disagreement(self.distance)

    def _parts(self, counts: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """B × K pairable values, their number, observed and expected disagreement."""
        values = self.tallies.pairable_ratings(counts)
        n = counts @ self.ratings
        observed = np.divide(counts @ self.within, n, out=np.full(len(n), np.nan), where=n > 0)
        expected = np.divide(self.distance.between(values, values), n * (n - 1), out=np.zeros(len(n)), where=n > 1)
        return values, n, observed, expected

    def __call__(self, counts: Floats) -> Floats:
        _, _, observed, expected = self._parts(counts)
        return _beyond_chance(observed, expected)

    def compared(self) -> tuple[Ints, Floats]:
        rows = np.flatnonzero(self.tallies.pairable)
        return rows, self.within[rows]

    def on(self, tallies: Tallies) -> KrippendorffAlpha:
        return KrippendorffAlpha(tallies, self.distance)

    def expected(self, counts: Floats) -> Floats:
        return self._parts(counts)[3]

    def largest(self, counts: Floats) -> Floats:
        values, n, _, expected = self._parts(counts)
        return self._largest_of(values / np.maximum(n, 1)[:, None], expected)

    def moves(self, counts: Floats) -> Floats:
        units = self.tallies.paired(counts)[:, None]
        values, n, seen, _ = self._parts(counts)
        shares, observed, mean_ratings = values / n[:, None], seen[:, None], n[:, None] / units
        expected = np.maximum(self.distance.between(shares, shares), TINY)[:, None]
        size = self.ratings / mean_ratings
        pull = self.tallies.pairable_ratings.per_rows(self.distance.toward(shares)) / mean_ratings
        alike = expected - self.within / mean_ratings + (size - 1) * observed * (1 - 1 / n[:, None])
        linear = (alike - 2 * observed / expected * (size * expected - pull)) / expected
        return np.where(self.tallies.pairable, (linear - (1 - observed / expected)) / units, 0.0)

    def standard_error(self) -> float | None:
        counts, units = self.tallies.counts, float(self.tallies.paired(self.tallies.counts)[0])
        if units < 2:
            return None
        return float(np.sqrt(counts[0] @ self.moves(counts)[0] ** 2 * units / (units - 1)))


class OrdinalAlpha(KrippendorffAlpha):
    """Krippendorff's alpha with the ordinal metric: the squared difference of mid-ranks, which move with the ratings.

    No standard error is published for it.
    """

    def __init__(self, tallies: Tallies) -> None:
        super().__init__(tallies)
        row, category, weight = (getattr(tallies.pairable_ratings, name) for name in ("row", "column", "weight"))
        shape = (tallies.n_patterns, tallies.n_categories)
        spread = weight * np.where(tallies.pairable, self.ratings / np.maximum(self.ratings - 1, 1), 0.0)[row]
        self.spread = Tally(row, category, spread, *shape)
        self.per_partner = np.where(tallies.pairable, 1 / np.maximum(self.ratings - 1, 1), 0.0)
        self.width = tallies.n_patterns

    def __call__(self, counts: Floats) -> Floats:
        values = self.tallies.pairable_ratings(counts)
        n = np.maximum(values.sum(axis=1), TINY)
        ranks = self._ranks(values, n)
        expected = self._expected(values, n, ranks)
        apart = np.einsum("bk,bk->b", self.spread(counts), ranks**2)
        sums = np.stack([self.tallies.pairable_ratings.per_row(rank) for rank in ranks])
        together = np.einsum("bp,bp,p->b", counts, sums**2, self.per_partner)
        return np.where(n > 1, _beyond_chance(2 * (apart - together) / n, expected), np.nan)

    def _ranks(self, values: Floats, n: Floats) -> Floats:
        """B × K mid-ranks as shares of the n values, about 0."""
        return (np.cumsum(values, axis=1) - values / 2) / n[:, None] - 0.5

    def _expected(self, values: Floats, n: Floats, ranks: Floats) -> Floats:
        mean, square = np.einsum("bk,bk->b", values, ranks), np.einsum("bk,bk->b", values, ranks**2)
        found: Floats = 2 * (square * n - mean**2) / np.maximum(n * (n - 1), TINY)
        return found

    def compared(self) -> tuple[Ints, Floats]:
        rows = np.flatnonzero(self.tallies.pairable)
        return rows, self.tallies.disagreement(Nominal(self.tallies.n_categories))[rows]

    def on(self, tallies: Tallies) -> OrdinalAlpha:
        return OrdinalAlpha(tallies)

    def expected(self, counts: Floats) -> Floats:
        values = self.tallies.pairable_ratings(counts)
        n = np.maximum(values.sum(axis=1), TINY)
        return self._expected(values, n, self._ranks(values, n))

    def _worst(self, counts: Floats) -> Floats:
        values = self.tallies.pairable_ratings(counts)
        ranks = self._ranks(values, np.maximum(values.sum(axis=1), TINY))[:, np.unique(self.tallies.value)]
        found: Floats = (ranks.max(axis=1) - ranks.min(axis=1)) ** 2
        return found

    def largest(self, counts: Floats) -> Floats:
        values = self.tallies.pairable_ratings(counts)
        n = np.maximum(values.sum(axis=1), TINY)
        ranks = self._ranks(values, n)
        apart = (ranks[:, :, None] - ranks[:, None, :]) ** 2
        around = np.einsum("bkl,bl->bk", apart, values / n[:, None])
        nearest = around.min(axis=1, where=values > 0, initial=np.inf)
        found: Floats = np.minimum(self._worst(counts), 4 * nearest) / np.maximum(
            self._expected(values, n, ranks), TINY
        )
        return found

    def moves(self, counts: Floats) -> Floats:
        """The derivative of 1 − (n − 1) A / E by the counts: A the distances within units, E those of all pairs."""
        tally = self.tallies.pairable_ratings
        values = tally(counts)
        n = values.sum(axis=1)[:, None]
        # Ranks of 1 to n: multiples of those in `__call__`, which changes no quotient.
        ranks = np.cumsum(values, axis=1) - values / 2
        mean, square = (values * ranks).sum(axis=1)[:, None], (values * ranks**2).sum(axis=1)[:, None]
        sums = tally.per_rows(ranks)
        squares = tally.per_rows(ranks**2)
        within = 2 * (self.ratings * squares - sums**2) * self.per_partner
        seen, every = (counts * within).sum(axis=1)[:, None], 2 * (n * square - mean**2)
        by_rank_seen = 4 * (ranks * self.spread(counts) - tally(counts * sums * self.per_partner))
        by_rank_every = 4 * values * (n * ranks - mean)
        by_value_every = 2 * (square + n * ranks**2 - 2 * ranks * mean)

        def through_ranks(by_rank: Floats) -> Floats:
            """One more value in a category moves its own rank by 1/2 and those above by 1."""
            above = np.cumsum(by_rank[:, ::-1], axis=1)[:, ::-1]
            return tally.per_rows(above - by_rank / 2)

        more_seen = within + through_ranks(by_rank_seen)
        more_every = tally.per_rows(by_value_every) + through_ranks(by_rank_every)
        every = np.maximum(every, TINY)
        found = -(self.ratings * seen + (n - 1) * (more_seen - seen * more_every / every)) / every
        found = np.where(self.tallies.pairable, found, 0.0)
        mean_move = (counts * found).sum(axis=1)[:, None] / self.tallies.paired(counts)[:, None]
        return np.where(self.tallies.pairable, found - mean_move, 0.0)

    def standard_error(self) -> float | None:
        return None
