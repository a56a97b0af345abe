"""Association of two columns: a test of their cross table, and its strength."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np
import scipy

from annotation.labels.columns import Floats, Ints

from .holm import holm
from .permutations import MOST, chi_square_p

DRAWS = 9_999
FEWER_DRAWS = 999
MANY_CELLS = 150
"""Tables with more cells are drawn less often, so that a page waits for none."""
SMALL, FEW = 5, 1
SMALL_SHARE = 0.2
SEED = 20_260_101
CELLS_AT_ONCE = 2_000_000


@dataclass(frozen=True)
class Test:
    """A test of independence; `statistic` is Pearson's chi-square whatever the p-value comes from.

    `method` is chi_square, fisher, exact (by permutation) or monte_carlo (then with `draws` and `seed`), chosen because
    of `because`.
    """

    __test__ = False

    method: str
    because: str
    statistic: float
    df: int
    p_value: float
    draws: int | None = None
    seed: int | None = None


@dataclass(frozen=True)
class Strength:
    """Cramér's V (0 to 1) with the interval of the population's, and V without its bias (None if undefined)."""

    cramers_v: float
    ci_low: float
    ci_high: float
    ci_method: str
    cramers_v_corrected: float | None


@dataclass(frozen=True)
class Association:
    """What a table of counts says; all None with `undefined`, the reason as a sentence.

    `expected`, `residuals` and `p_residuals` have the table's shape; `residuals_method` is the test of each cell behind
    `p_residuals`, normal or fisher.
    """

    n: int
    test: Test | None
    strength: Strength | None
    expected: Floats | None
    residuals: Floats | None
    p_residuals: Floats | None
    residuals_method: str | None = None
    undefined: str | None = None


def association(table: Ints, *, seed: int = SEED) -> Association:
    """Test, strength and residuals of an R × C table of counts of independent parts.

    Rows and columns without a count are passed over; their expected counts and residuals are NaN. Undefined where
    fewer than two rows or two columns are left.
    """
    n = int(table.sum())
    in_rows, in_columns = table.sum(axis=1) > 0, table.sum(axis=0) > 0
    n_rows, n_columns = int(in_rows.sum()), int(in_columns.sum())
    if n == 0:
        return Association(0, None, None, None, None, None, None, "No part has a value of both.")
    if min(n_rows, n_columns) < 2:
        which = "row" if n_rows < 2 else "column"
        return Association(n, None, None, None, None, None, None, f"All counts are in one {which}; a test needs two.")
    inside = np.ix_(in_rows, in_columns)
    filled = table[inside]
    expected = expected_counts(filled)
    found = adjusted_residuals(filled)
    is_small = n <= MOST
    p_values = holm(cell_p(filled) if is_small else 2 * scipy.special.ndtr(-np.abs(found)))

    def whole(values: Floats) -> Floats:
        spread = np.full(table.shape, np.nan)
        spread[inside] = values
        return spread

    return Association(
        n,
        independence(filled, seed=seed),
        strength(filled),
        whole(expected),
        whole(found),
        whole(p_values),
        "fisher" if is_small else "normal",
    )


def expected_counts(table: Ints) -> Floats:
    """R × C: what independence would give with the same margins."""
    found: Floats = np.outer(table.sum(axis=1), table.sum(axis=0).astype(np.float64)) / table.sum()
    return found


def chi_square(table: Ints) -> float:
    """Pearson's chi-square of a table without empty rows and columns; no continuity correction."""
    expected = expected_counts(table)
    return float(((table - expected) ** 2 / expected).sum())


def adjusted_residuals(table: Ints) -> Floats:
    """R × C standard normal deviates under independence; how far a count is above (+) or below (−) the expected one.

    Haberman 1973, doi:10.2307/2529686. A row or column that holds every count has none, which can't be here.
    """
    n = table.sum()
    expected = expected_counts(table)
    rest = np.outer(1 - table.sum(axis=1) / n, 1 - table.sum(axis=0) / n)
    found: Floats = (table - expected) / np.sqrt(expected * rest)
    return found


def cell_p(table: Ints) -> Floats:
    """R × C: Fisher's exact test, two-sided, of each cell against the rest of its row and of its column."""
    n, rows, columns = int(table.sum()), table.sum(axis=1), table.sum(axis=0)
    found = np.empty(table.shape)
    for (row, column), both in np.ndenumerate(table):
        down, across = rows[row] - both, columns[column] - both
        found[row, column] = scipy.stats.fisher_exact([[both, down], [across, n - both - down - across]])[1]
    return found


def independence(table: Ints, *, seed: int = SEED) -> Test:
    """The test that a table without empty rows and columns allows.

    Pearson's chi-square, unless more than a fifth of the expected counts are below 5 or one is below 1 (Cochran 1954,
    doi:10.2307/3001616), as with nine parts or fewer. Then Fisher's exact test, two-sided (Fisher 1934) for a 2 × 2
    table; the exact permutation test of chi-square for a larger one of nine parts or fewer; else the share of seeded
    tables with the same margins (Patefield 1981, doi:10.2307/2346669) whose chi-square is as large, this one counted in
    (Davison and Hinkley 1997, ch. 4).
    """
    expected = expected_counts(table)
    df = (table.shape[0] - 1) * (table.shape[1] - 1)
    statistic = chi_square(table)
    n_small, lowest = int((expected < SMALL).sum()), float(expected.min())
    if n_small <= SMALL_SHARE * expected.size and lowest >= FEW:
        because = f"{n_small} of {expected.size} expected counts are below 5, none below 1."
        return Test("chi_square", because, statistic, df, float(scipy.special.chdtrc(df, statistic)))
    because = f"{n_small} of {expected.size} expected counts are below 5; the smallest is {lowest:.2g}."
    if table.shape == (2, 2):
        return Test("fisher", because, statistic, df, float(scipy.stats.fisher_exact(table)[1]))
    if table.sum() <= MOST:
        return Test("exact", because, statistic, df, chi_square_p(table))
    draws = DRAWS if table.size <= MANY_CELLS else FEWER_DRAWS
    at_once = max(1, CELLS_AT_ONCE // table.size)
    method = scipy.stats.MonteCarloMethod(n_resamples=draws, batch=at_once, rng=np.random.default_rng(seed))
    p_value = float(scipy.stats.chi2_contingency(table, correction=False, method=method).pvalue)
    return Test("monte_carlo", because, statistic, df, p_value, draws, seed)


def strength(table: Ints) -> Strength:
    """Cramér's V (Cramér 1946, ch. 21) of a table without empty rows and columns.

    The interval is that of the population's V: where chi-square lies at the 97.5 and 2.5 percentiles of noncentral
    chi-squares (Steiger 2004, doi:10.1037/1082-989X.9.2.164). V itself is too large in small or wide tables and can lie
    above its interval; V without that bias is Bergsma 2013, doi:10.1016/j.jkss.2012.10.002.
    """
    n = int(table.sum())
    n_rows, n_columns = table.shape
    df, narrow = (n_rows - 1) * (n_columns - 1), min(n_rows, n_columns) - 1
    statistic = chi_square(table)
    low, high = (min(1.0, sqrt(_noncentrality(statistic, df, p) / (n * narrow))) for p in (0.975, 0.025))
    value = min(1.0, sqrt(statistic / (n * narrow)))
    return Strength(value, low, high, "noncentral_chi_square", _corrected(statistic, n, n_rows, n_columns))


def _corrected(statistic: float, n: int, n_rows: int, n_columns: int) -> float | None:
    if n < 2:
        return None
    squared = max(0.0, statistic / n - (n_rows - 1) * (n_columns - 1) / (n - 1))
    narrow = min(rank - (rank - 1) ** 2 / (n - 1) for rank in (n_rows, n_columns)) - 1
    return min(1.0, sqrt(squared / narrow)) if narrow > 0 else None


def _noncentrality(statistic: float, df: int, p: float) -> float:
    """The noncentrality at which a chi-square as this one lies at the percentile `p`; 0 where there is none."""

    def beside(noncentrality: float) -> float:
        return float(scipy.special.chndtr(statistic, df, noncentrality)) - p

    if scipy.special.chdtr(df, statistic) <= p:
        return 0.0
    high = statistic + 10 * sqrt(statistic) + 10 * df
    while beside(high) > 0:
        high *= 2
    return float(scipy.optimize.brentq(beside, 0.0, high))
