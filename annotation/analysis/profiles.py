"""Profiles: whether categories have the same order of frequency in two groups, such as repositories."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
import scipy

from annotation.labels.columns import Floats, MultiColumn, SingleColumn

from .counts import Counts, counts
from .permutations import MOST, rank_correlation_p

FEWEST_CATEGORIES = 3


@dataclass(frozen=True)
class Correlation:
    """Spearman's rho of two groups' shares over `n_categories`; None with `undefined`, the reason as a sentence.

    `method` names the test behind `p_value`: exact (permutation) or t.
    """

    a: str
    b: str
    n_categories: int
    rho: float | None
    p_value: float | None
    method: str | None
    undefined: str | None = None


@dataclass(frozen=True)
class Profiles:
    """The shares of the categories in each group (as `counts` gives them), and each pair of groups compared."""

    counts: Counts
    correlations: tuple[Correlation, ...]


def profiles(column: SingleColumn | MultiColumn, by: SingleColumn | MultiColumn) -> Profiles:
    """The profile of each group, and Spearman's rank correlation of each pair over the categories that either has.

    A category that neither group has says nothing of how alike they are and is passed over.
    """
    found = counts(column, by)
    shares = {group.value or "": np.array([each.share.n for each in group.categories]) for group in found.groups}
    pairs = [_correlation(a, b, shares[a], shares[b]) for a, b in combinations(shares, 2)]
    return Profiles(found, tuple(pairs))


def _correlation(a: str, b: str, counts_a: Floats, counts_b: Floats) -> Correlation:
    either = (counts_a > 0) | (counts_b > 0)
    rho, p_value, method, undefined = spearman(counts_a[either], counts_b[either])
    return Correlation(a, b, int(either.sum()), rho, p_value, method, undefined)


def spearman(x: Floats, y: Floats) -> tuple[float | None, float | None, str | None, str | None]:
    """Spearman's rho with tied ranks averaged, its two-sided p-value and the test; or the reason why there is none.

    Spearman 1904, doi:10.2307/1412159. With nine categories or fewer p is exact, by permutation; with more it is from
    Student's t with K − 2 degrees of freedom. Undefined for fewer than three categories and where one side has the same
    number everywhere.
    """
    if len(x) < FEWEST_CATEGORIES:
        return None, None, None, f"There are {len(x)} categories; a correlation needs {FEWEST_CATEGORIES}."
    if len(set(x.tolist())) == 1 or len(set(y.tolist())) == 1:
        return None, None, None, "In one of the groups all categories are equally frequent."
    found = scipy.stats.spearmanr(x, y)
    if len(x) <= MOST:
        return float(found.statistic), rank_correlation_p(x, y), "exact", None
    return float(found.statistic), float(found.pvalue), "t", None
