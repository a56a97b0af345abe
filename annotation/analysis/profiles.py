"""Profiles: whether categories have the same order of frequency in two groups, such as repositories."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from math import factorial

import numpy as np
import scipy

from annotation.labels.columns import Floats, MultiColumn, SingleColumn

from .counts import Counts, counts
from .permutations import MOST, rank_correlation_p, tied_ranks
from .shares import AnalysisTooLarge

FEWEST_CATEGORIES = 3
GROUPS_MAX, ORDERS_MAX = 200, 150_000_000
"""Groups that are compared, and orders of categories that exact tests count: some hundred tests of nine categories."""


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

    A category that neither group has says nothing of how alike they are and is passed over. Raises AnalysisTooLarge.
    """
    found = counts(column, by)
    if len(found.groups) > GROUPS_MAX:
        sentence = f"There are {len(found.groups):,} groups, of which each two would be compared. Fold them to at most "
        raise AnalysisTooLarge("by", f"{sentence}{GROUPS_MAX}.")
    shares = {group.value or "": np.array([each.share.n for each in group.categories]) for group in found.groups}
    known: set[object] = set()
    n_orders = 0
    pairs = []
    for a, b in combinations(shares, 2):
        either = (shares[a] > 0) | (shares[b] > 0)
        x, y = shares[a][either], shares[b][either]
        if len(x) <= MOST and (ranks := tied_ranks(x, y)) not in known:
            known.add(ranks)
            n_orders += factorial(len(x))
            if n_orders > ORDERS_MAX:
                raise AnalysisTooLarge("by", "There are too many groups for exact tests of each two. Fold them.")
        pairs.append(Correlation(a, b, len(x), *spearman(x, y)))
    return Profiles(found, tuple(pairs))


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
