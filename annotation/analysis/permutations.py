"""Permutation tests, exact for nine or fewer observations: every order is counted."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, lru_cache
from math import factorial

import numpy as np
import scipy

from annotation.labels.columns import Floats, Ints

MOST = 9
"""Nine observations have 362,880 orders: a few hundredths of a second for a test."""
TINY = 1e-9
"""Two orders that are equally far out may differ in the last digit."""


@cache
def orders(n: int) -> Ints:
    """n! × n: every order of n places; at most nine. Three megabytes for nine, made once."""
    if n > MOST:
        raise ValueError(f"{n} observations have too many orders.")
    if n < 2:
        return np.zeros((1, n), dtype=np.int8)
    before = orders(n - 1)
    found = np.full((n, len(before), n), n - 1, dtype=np.int8)
    for place in range(n):
        found[place, :, :place], found[place, :, place + 1 :] = before[:, :place], before[:, place:]
    return found.reshape(-1, n)


def rank_correlation_p(x: Floats, y: Floats) -> float:
    """The two-sided p of Spearman's rho: twice the smaller tail over all orders of y, at most 1.

    Hotelling and Pabst 1936, Annals of Mathematical Statistics 7(1), 29–43. Ties have the mean of their ranks, and all
    orders count.
    """
    ranks_x, ranks_y = scipy.stats.rankdata(x), scipy.stats.rankdata(y)
    seen = float(ranks_x @ ranks_y)
    sums, upto = _sums_of_ranks(*tied_ranks(x, y))
    below = int(upto[np.searchsorted(sums, seen + TINY, "right")])
    above = int(upto[-1] - upto[np.searchsorted(sums, seen - TINY, "left")])
    return _two_sided(below / int(upto[-1]), above / int(upto[-1]))


def tied_ranks(x: Floats, y: Floats) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """The ranks of both in their order: all that the sums over every order depend on."""
    first, second = (tuple(sorted(scipy.stats.rankdata(each).tolist())) for each in (x, y))
    return first, second


@lru_cache(maxsize=1_000)
def _sums_of_ranks(x: tuple[float, ...], y: tuple[float, ...]) -> tuple[Floats, Ints]:
    """The different sums of products over every order of y, and how many orders have a lower one: 0 first, all last.

    Counted over the sets of ranks that are dealt out already, in place of order by order.
    """
    first, second = ([round(2 * rank) for rank in ranks] for ranks in (x, y))  # ties have halves of ranks
    n, most = len(first), sum(a * b for a, b in zip(first, second, strict=True))
    ways = np.zeros((1 << n, most + 1), dtype=np.int64)
    ways[0, 0] = 1
    for dealt in range((1 << n) - 1):
        a = first[dealt.bit_count()]
        for place, b in enumerate(second):
            if not dealt >> place & 1:
                ways[dealt | 1 << place, a * b :] += ways[dealt, : most + 1 - a * b]
    sums = np.flatnonzero(ways[-1])
    return sums / 4, np.concatenate([[0], np.cumsum(ways[-1][sums])])


def rank_sum_p(x: Floats, y: Floats) -> float:
    """The two-sided p of Mann and Whitney's U: twice the smaller tail over all ways to deal out the numbers.

    The sums of ranks are counted number by number, so that ties are allowed and n + m may be large (Streitberg and
    Röhmel 1986, Exact distributions for permutation and rank tests, Statistical Software Newsletter 12(1), 10–17).
    Cost: n (n + m) additions of as many sums as there can be.
    """
    chance = _chances_of_sums(*pooled_ranks(x, y))
    seen = int(np.rint(2 * scipy.stats.rankdata(np.concatenate([x, y])))[: len(x)].sum())
    return _two_sided(float(chance[: seen + 1].sum()), float(chance[seen:].sum()))


def pooled_ranks(x: Floats, y: Floats) -> tuple[int, tuple[int, ...]]:
    """How many numbers x has, and twice the ranks of all in their order: all that the chances of the sums depend on."""
    doubled = np.rint(2 * scipy.stats.rankdata(np.concatenate([x, y]))).astype(np.int64)
    return len(x), tuple(np.sort(doubled).tolist())


@lru_cache(maxsize=256)
def _chances_of_sums(n: int, doubled: tuple[int, ...]) -> Floats:
    """How likely each sum of n of these ranks is, from 0 to the largest one."""
    ways = np.zeros((n + 1, sum(doubled[-n:]) + 1))
    ways[0, 0] = 1.0
    for place, rank in enumerate(doubled, start=1):
        for taken in range(min(n, place), 0, -1):
            ways[taken, rank:] += ways[taken - 1, : ways.shape[1] - rank]
    found: Floats = ways[n] / ways[n].sum()
    return found


def kruskal_p(groups: Sequence[Floats]) -> float:
    """The p of Kruskal and Wallis' H: the share of all orders of the ranks in which it is as large."""
    ranks = scipy.stats.rankdata(np.concatenate(groups))
    ends = np.cumsum([len(group) for group in groups])
    sums = np.zeros(factorial(len(ranks)))
    seen = 0.0
    shuffled = ranks[orders(len(ranks))]
    for group, end in zip(groups, ends.tolist(), strict=True):
        here = slice(end - len(group), end)
        sums += shuffled[:, here].sum(axis=1) ** 2 / len(group)
        seen += float(ranks[here].sum()) ** 2 / len(group)
    return float((sums >= seen * (1 - TINY)).mean())


def chi_square_p(table: Ints) -> float:
    """The p of Pearson's chi-square: the share of all orders of the columns' values in which it is as large.

    Each order gives a table with the same margins, a table as often as its hypergeometric probability says (Agresti
    1992, A survey of exact inference for contingency tables, doi:10.1214/ss/1177011454).
    """
    rows, columns = np.repeat(np.indices(table.shape).reshape(2, -1), table.ravel(), axis=1)
    weights = 1 / np.outer(table.sum(axis=1), table.sum(axis=0)).astype(np.float64)
    shuffled = columns[orders(len(rows))]
    found = np.zeros(len(shuffled))
    # Chi-square is n Σ n[i, j]² / (n[i] n[j]) − n, and n[i, j]² counts the pairs of observations in a cell.
    for first in range(len(rows)):
        found += weights[rows[first], shuffled[:, first]]
        for second in range(first + 1, len(rows)):
            if rows[first] == rows[second]:
                same = shuffled[:, first] == shuffled[:, second]
                found += np.where(same, 2 * weights[rows[first], shuffled[:, first]], 0.0)
    seen = float((table.astype(np.float64) ** 2 * weights).sum())
    return float((found >= seen * (1 - TINY)).mean())


def _two_sided(low: float, high: float) -> float:
    return min(1.0, 2 * min(low, high))
