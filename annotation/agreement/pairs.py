"""Where raters differ: agreement specific to each category, to each pair of raters, and the confusion of categories."""

from __future__ import annotations

from typing import Any

import numpy as np

from .patterns import Ints, Patterns, category_label
from .tallies import Tallies


def by_category(patterns: Patterns) -> list[dict[str, Any]]:
    """[{category, agreement, n}] in the order of the categories, for those used: positive agreement specific to each.

    Of the ratings that could have agreed on the category, the share that did: Σ n(n−1) / Σ n(r−1) over units with r ≥ 2
    ratings, n of them in the category (Spitzer and Fleiss 1974, doi:10.1192/bjp.125.4.341; two raters: 2a/(2a+b+c)).
    `n` is the number of ratings in the category. Sets (multi) are taken apart: n raters of r chose the member.
    """
    tallies = Tallies(patterns)
    kept = tallies.pairable[tallies.row]
    row, value = tallies.row[kept], tallies.value[kept]
    members: list[Any] = list(patterns.categories)
    if any(isinstance(category, frozenset) for category in members):
        sets = [category if isinstance(category, frozenset) else frozenset([category]) for category in members]
        members = sorted(frozenset().union(*sets), key=category_label)
        place = {member: k for k, member in enumerate(members)}
        sizes = np.array([len(chosen) for chosen in sets], dtype=np.int64)
        flat = np.array([place[member] for chosen in sets for member in chosen], dtype=np.int64)
        start = np.cumsum(sizes) - sizes
        times = sizes[value]
        within = np.arange(times.sum()) - np.repeat(np.cumsum(times) - times, times)
        row, value = np.repeat(row, times), flat[np.repeat(start[value], times) + within]
    size = max(len(members), 1)
    keys, n = np.unique(row * size + value, return_counts=True)
    pattern, category = keys // size, keys % size
    counts = patterns.counts[pattern]
    agreed = np.bincount(category, weights=counts * n * (n - 1), minlength=size)
    possible = np.bincount(category, weights=counts * n * (tallies.per_unit[pattern] - 1), minlength=size)
    ratings = np.bincount(category, weights=counts * n, minlength=size)
    return [
        {"category": category_label(member), "agreement": float(agreed[k] / possible[k]), "n": int(ratings[k])}
        for k, member in enumerate(members)
        if ratings[k]
    ]


def by_pair(patterns: Patterns) -> list[dict[str, Any]]:
    """[{raters: [a, b], cohen_kappa, percent_agreement, n}] for every two raters with a unit in common, in rater order.

    `n` is the number of units both rated; `cohen_kappa` is None where both used one category only.
    """
    columns = np.ascontiguousarray(patterns.values.T)
    size = len(patterns.categories)
    found = []
    for i in patterns.active:
        rated = np.flatnonzero(columns[i] >= 0)
        first, counts = columns[i][rated], patterns.counts[rated].astype(np.float64)
        for j in patterns.active:
            if j <= i:
                continue
            second = columns[j][rated]
            both = second >= 0
            weight = counts[both]
            n = weight.sum()
            if not n:
                continue
            a, b = first[both], second[both]
            agreed = weight[a == b].sum() / n
            left, right = (np.bincount(side, weights=weight, minlength=size) for side in (a, b))
            # Whole numbers below 2^53: exactly n² where both used one category only.
            by_chance = float(left @ right)
            kappa = None if by_chance == n * n else float((agreed - by_chance / n**2) / (1 - by_chance / n**2))
            found.append(
                {
                    "raters": [patterns.raters[i], patterns.raters[j]],
                    "cohen_kappa": kappa,
                    "percent_agreement": float(agreed),
                    "n": int(n),
                }
            )
    return found


def confusion(patterns: Patterns) -> list[dict[str, Any]]:
    """[{a, b, n}] where n > 0, in the order of the categories, the diagonal included.

    Two raters: n units that the first called a and the second b. More: n pairs of ratings of one unit that fall into a
    and b, whoever gave them, each pair of categories once (a before b). The n add up to all compared pairs of ratings.
    """
    labels = [category_label(category) for category in patterns.categories]
    cells: tuple[Ints, Ints, Ints]
    if len(patterns.active) == 2:
        left, right = (patterns.values[patterns.pairable][:, column].astype(np.int64) for column in patterns.active)
        codes, inverse = np.unique(left * len(labels) + right, return_inverse=True)
        a, b = codes // len(labels), codes % len(labels)
        n = np.bincount(inverse, weights=patterns.counts[patterns.pairable]).astype(np.int64)
        cells = (a, b, n)
    else:
        cells = Tallies(patterns).category_pairs()
    return [
        {"a": labels[first], "b": labels[second], "n": times}
        for first, second, times in zip(*(cell.tolist() for cell in cells), strict=True)
    ]
