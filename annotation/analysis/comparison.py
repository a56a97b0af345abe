"""Comparison of numbers between groups, by ranks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import sqrt

import numpy as np
import scipy

from annotation.labels.columns import Floats, Ints

from .holm import holm
from .permutations import MOST, kruskal_p, pooled_ranks, rank_sum_p
from .shares import AnalysisTooLarge, Z

SMALL, MOST_EXACT = 9, 2_000
STEPS_MAX = 1_000_000
"""Steps in which the exact tests of all pairs count sums of ranks: some seconds."""


@dataclass(frozen=True)
class PairTest:
    """Two groups: Mann and Whitney's U of the first, and Cliff's delta, above 0 where the first has larger numbers.

    Delta is the rank-biserial correlation, too. `p_holm` is adjusted for all pairs; `method` is exact or asymptotic.
    Where all numbers are equal all are None with `undefined`, the reason as a sentence.
    """

    a: str
    b: str
    n_a: int
    n_b: int
    u: float | None
    p_value: float | None
    p_holm: float | None
    method: str | None
    delta: float | None
    ci_low: float | None
    ci_high: float | None
    undefined: str | None = None


@dataclass(frozen=True)
class GroupComparison:
    """All groups at once, by Kruskal and Wallis, where there are three or more; and each pair of them.

    `h`, `p_value`, its `method` (exact or chi_square) and `epsilon_squared` are None with `undefined`, the reason as a
    sentence. `without_numbers` are groups that are not compared.
    """

    groups: tuple[str, ...]
    n: int
    h: float | None
    df: int | None
    p_value: float | None
    method: str | None
    epsilon_squared: float | None
    pairs: tuple[PairTest, ...]
    without_numbers: tuple[str, ...]
    undefined: str | None = None


def comparison(groups: Sequence[tuple[str, Floats]]) -> GroupComparison:
    """Groups of known numbers, each with its name.

    Pairs by U (Mann and Whitney 1947, doi:10.1214/aoms/1177730491): exact, with ties or without, where one group has at
    most nine numbers (and there are not too many pairs of numbers), else normal with corrections for ties and
    continuity. H is corrected for ties (Kruskal and Wallis 1952, doi:10.1080/01621459.1952.10483441), its p exact for
    nine numbers or fewer in all, else from chi-square; epsilon-squared is H / (n − 1) (Kelley 1935,
    doi:10.1073/pnas.21.9.554, as in Tomczak and Tomczak 2014), from 0 to 1. Undefined for fewer than three groups (two
    are told by their pair) and where all numbers are equal. Raises AnalysisTooLarge.
    """
    with_numbers = [(name, values) for name, values in groups if len(values)]
    names = tuple(name for name, _ in with_numbers)
    missing = tuple(name for name, values in groups if not len(values))
    _require_few_exact([values for _, values in with_numbers])
    pairs = [_pair(a, b) for a, b in combinations(with_numbers, 2)]
    adjusted = holm(np.array([np.nan if each.p_value is None else each.p_value for each in pairs]))
    tested = tuple(
        each if each.p_value is None else PairTest(**{**vars(each), "p_holm": float(p)})
        for each, p in zip(pairs, adjusted, strict=True)
    )
    n = sum(len(values) for _, values in with_numbers)
    if len(with_numbers) < 3:
        many = "Two groups are told by their pair." if len(with_numbers) == 2 else "A comparison needs two groups."
        return GroupComparison(names, n, None, None, None, None, None, tested, missing, many)
    everything = np.concatenate([values for _, values in with_numbers])
    if everything.min() == everything.max():
        return GroupComparison(names, n, None, None, None, None, None, tested, missing, "All numbers are equal.")
    h = float(scipy.stats.kruskal(*(values for _, values in with_numbers)).statistic)
    df = len(with_numbers) - 1
    method = "exact" if n <= MOST else "chi_square"
    exact = kruskal_p([values for _, values in with_numbers]) if method == "exact" else None
    p_value = float(scipy.special.chdtrc(df, h)) if exact is None else exact
    return GroupComparison(names, n, h, df, p_value, method, min(1.0, h / (n - 1)), tested, missing)


def _is_exact(n: int, m: int) -> bool:
    return min(n, m) <= SMALL and n * m <= MOST_EXACT


def _require_few_exact(groups: Sequence[Floats]) -> None:
    """Raises AnalysisTooLarge where exact tests of each two groups would count more than STEPS_MAX sums of ranks.

    Groups of the same sizes without ties share what is counted.
    """
    known, n_steps = set(), 0
    for x, y in combinations(sorted(groups, key=len), 2):
        if _is_exact(len(x), len(y)) and (ranks := pooled_ranks(x, y)) not in known:
            known.add(ranks)
            n_steps += len(x) * (len(x) + len(y))
            if n_steps > STEPS_MAX:
                raise AnalysisTooLarge("by", "There are too many groups for exact tests of each two. Fold them.")


def _pair(first: tuple[str, Floats], second: tuple[str, Floats]) -> PairTest:
    (a, x), (b, y) = first, second
    n, m = len(x), len(y)
    both, times = np.unique(np.concatenate([x, y]), return_counts=True)
    if len(both) == 1:
        reason = "All numbers of both groups are equal."
        return PairTest(a, b, n, m, None, None, None, None, None, None, None, reason)
    delta, low, high = cliffs_delta(x, y)
    u = round(n * m * (delta + 1)) / 2
    method = "exact" if _is_exact(n, m) else "asymptotic"
    smaller, larger = (x, y) if n <= m else (y, x)
    p_value = rank_sum_p(smaller, larger) if method == "exact" else _asymptotic(u, n, m, times)
    return PairTest(a, b, n, m, u, p_value, None, method, delta, low, high)


def _asymptotic(u: float, n: int, m: int, times: Ints) -> float:
    """From the normal distribution, corrected for ties (each number occurring `times`) and for continuity."""
    whole = n + m
    ties = float((times.astype(np.float64) ** 3 - times).sum()) / (whole * (whole - 1))
    beyond = max(0.0, abs(u - n * m / 2) - 0.5) / sqrt(n * m / 12 * (whole + 1 - ties))
    return min(1.0, 2 * float(scipy.special.ndtr(-beyond)))


def cliffs_delta(x: Floats, y: Floats) -> tuple[float, float | None, float | None]:
    """Cliff's delta (1993, doi:10.1037/0033-2909.114.3.494) and its 95 % interval.

    The chance that a number of x is larger than one of y, minus the chance that it is smaller. The interval is the
    unsymmetrical one of Feng and Cliff 2004 (JMASM 3(2), 322–332), from the consistent variance; there is
    none with a single number in a group.
    """
    sorted_x, sorted_y = np.sort(x), np.sort(y)
    of_x = (np.searchsorted(sorted_y, x, "left") + np.searchsorted(sorted_y, x, "right")) / len(y) - 1
    of_y = 1 - (np.searchsorted(sorted_x, y, "left") + np.searchsorted(sorted_x, y, "right")) / len(x)
    delta = float(of_x.mean())
    if min(len(x), len(y)) < 2:
        return delta, None, None
    if abs(delta) == 1:
        return delta, *_at_the_end(delta, min(len(x), len(y)))
    n, m = len(x), len(y)
    ties = (np.searchsorted(sorted_y, x, "right") - np.searchsorted(sorted_y, x, "left")).sum() / (n * m)
    of_pairs = max(0.0, 1 - ties - delta**2)
    variance = ((m - 1) * of_x.var(ddof=1) + (n - 1) * of_y.var(ddof=1) + of_pairs) / (n * m)
    half = Z * sqrt(variance) * sqrt((1 - delta**2) ** 2 + Z**2 * variance)
    whole = 1 - delta**2 + Z**2 * variance
    middle = delta - delta**3
    return delta, max(-1.0, (middle - half) / whole), min(1.0, (middle + half) / whole)


def _at_the_end(delta: float, n: int) -> tuple[float, float]:
    """Where no two numbers are on the wrong side: Feng and Cliff 2004, from the smaller group."""
    inner = (n - Z**2) / (n + Z**2)
    return (inner, 1.0) if delta > 0 else (-1.0, -inner)
