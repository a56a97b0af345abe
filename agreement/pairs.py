"""Pairs of raters and of categories: specific agreement, pairwise kappa, confusion, comparison with a reference."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from agreement.entries import CategoryEntry, ConfusedPairEntry, ConfusionEntry, PairEntry, PairNumbers, RaterEntry
from agreement.estimators import one_habit
from agreement.merging import ONE_LEFT, Gain
from agreement.metrics import Floats, Nominal
from agreement.patterns import Ints, Patterns, category_label
from agreement.registry import ALPHA
from agreement.tallies import Tallies

MOST_CONFUSED = 20


def by_category(patterns: Patterns) -> list[CategoryEntry]:
    """[{category, agreement, n, positive, negative, prevalence, bias, pabak, undefined}] for the categories used.

    `agreement` and `positive`: of the ratings that could have agreed on the category, the share that did: Σ n(n−1) /
    Σ n(r−1) over units with r ≥ 2 ratings, n of them in the category (Spitzer and Fleiss 1974,
    doi:10.1192/bjp.125.4.341; two raters: 2a/(2a+b+c)). `negative`: the same for its absence, r − n in the place of n
    (two raters: 2d/(2d+b+c), Cicchetti and Feinstein 1990, doi:10.1016/0895-4356(90)90159-M). `n` is the number of
    ratings in the category. Sets (multi) are taken apart: n raters of r chose the member.

    Two raters, on the 2 × 2 table of category or not: `prevalence` (a − d)/N, 1 where both always said it and −1 where
    neither did; `bias` (b − c)/N, above 0 where the first rater said it more; `pabak` 2(a + d)/N − 1 (Byrt, Bishop and
    Carlin 1993, doi:10.1016/0895-4356(93)90018-V). `undefined` says why one is None.
    """
    tallies = Tallies(patterns)
    kept = tallies.pairable[tallies.row]
    row, rater, value = tallies.row[kept], tallies.rater[kept], tallies.value[kept]
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
        row, rater, value = (
            np.repeat(row, times),
            np.repeat(rater, times),
            flat[np.repeat(start[value], times) + within],
        )
    size = max(len(members), 1)
    keys, n = np.unique(row * size + value, return_counts=True)
    pattern, category = keys // size, keys % size
    counts, r = patterns.counts[pattern], tallies.per_unit[pattern]

    def added(per_cell: Ints) -> list[int]:
        return [int(each) for each in np.bincount(category, weights=counts * per_cell, minlength=size)]

    every = int((patterns.counts * tallies.per_unit * (tallies.per_unit - 1)).sum())
    ratings, agreed, possible = added(n), added(n * (n - 1)), added(n * (r - 1))
    spoiled = added(r * (r - 1) - (r - n) * (r - n - 1))
    two = len(patterns.active) == 2
    first = np.zeros(size)
    if two:
        is_first = rater == patterns.active[0]
        first += np.bincount(value[is_first], weights=patterns.counts[row[is_first]], minlength=size)
    found: list[CategoryEntry] = []
    for k, member in enumerate(members):
        if not ratings[k]:
            continue
        positive, absent, without = agreed[k] / possible[k], every - possible[k], every - spoiled[k]
        reasons = [] if absent else ["Every compared rating is in this category, so none could agree on its absence."]
        if not two:
            number = len(patterns.active)
            reasons.append(f"Prevalence index, bias index and PABAK are defined for two raters, and here are {number}.")
        found.append(
            {
                "category": category_label(member),
                "agreement": positive,
                "n": ratings[k],
                "positive": positive,
                "negative": without / absent if absent else None,
                "prevalence": (agreed[k] - without) / every if two else None,
                "bias": float(2 * (2 * first[k] - ratings[k]) / every) if two else None,
                "pabak": 2 * (agreed[k] + without) / every - 1 if two else None,
                "undefined": " ".join(reasons) or None,
            }
        )
    return found


def by_pair(patterns: Patterns) -> list[PairEntry]:
    """[{raters: [a, b], cohen_kappa, percent_agreement, n, undefined}] for every two raters with a unit in common.

    In rater order; `n` is the number of units both rated. `cohen_kappa` is None where one of them used one category
    only, and `undefined` says so.
    """
    columns = np.ascontiguousarray(patterns.values.T)
    found: list[PairEntry] = []
    for i in patterns.active:
        rated = np.flatnonzero(columns[i] >= 0)
        first, counts = columns[i][rated], patterns.counts[rated]
        for j in patterns.active:
            if j <= i:
                continue
            told = _told(patterns, (i, j), first, columns[j][rated], counts)
            if told:
                found.append({"raters": [patterns.raters[i], patterns.raters[j]], **told})
    return found


def against_reference(patterns: Patterns, reference: str) -> list[RaterEntry]:
    """[{rater, cohen_kappa, percent_agreement, n, undefined}]: each rater beside the column named `reference`.

    The reference is what counts as right, such as the agreed label. Raters without a unit in common with it are left
    out; `n` and `undefined` as in `by_pair`. Raises ValueError where no column has that name.
    """
    (right,) = _columns(patterns, [reference])
    found: list[RaterEntry] = []
    for column, rater in enumerate(patterns.raters):
        if column != right:
            told = _told(
                patterns, (column, right), patterns.values[:, column], patterns.values[:, right], patterns.counts
            )
            if told:
                found.append({"rater": rater, **told})
    return found


def intra_rater(pairs: Mapping[str, Patterns]) -> list[RaterEntry]:
    """[{rater, cohen_kappa, percent_agreement, n, undefined}]: each rater beside themselves at another time.

    `pairs` has for each rater patterns of two columns, what they said earlier and later of the same units. Raters
    without a unit rated both times are left out. Raises ValueError where the columns are not two.
    """
    found: list[RaterEntry] = []
    for rater, patterns in pairs.items():
        if len(patterns.raters) != 2:
            raise ValueError(f"{rater} needs two columns, earlier and later, not {len(patterns.raters)}.")
        told = _told(patterns, (0, 1), patterns.values[:, 0], patterns.values[:, 1], patterns.counts)
        if told:
            found.append({"rater": rater, **told})
    return found


def _told(patterns: Patterns, columns: tuple[int, int], first: Ints, second: Ints, counts: Ints) -> PairNumbers | None:
    """Kappa and percent agreement of two columns on the units both rated; None where there is none."""
    both = (first >= 0) & (second >= 0)
    a, b, weight = first[both], second[both], counts[both].astype(np.float64)
    n = weight.sum()
    if not n:
        return None
    agreed = weight[a == b].sum() / n
    left, right = (np.bincount(side, weights=weight, minlength=len(patterns.categories)) for side in (a, b))
    # Whole numbers below 2^53: exactly n² where both used one category only.
    by_chance = float(left @ right)
    reason = None
    if by_chance == n * n:
        label = category_label(patterns.categories[int(a[0])])
        reason = f"Both raters used “{label}” only, so agreement beyond chance is undefined."
    else:
        for column, side in zip(columns, (a, b), strict=True):
            if (side == side[0]).all():
                reason = one_habit(patterns, column, int(side[0]))
                break
    return {
        "cohen_kappa": None if reason else float((agreed - by_chance / n**2) / (1 - by_chance / n**2)),
        "percent_agreement": float(agreed),
        "n": int(n),
        "undefined": reason,
    }


def confusion(patterns: Patterns, raters: Sequence[str] | None = None) -> list[ConfusionEntry]:
    """[{a, b, n}] where n > 0, in the order of the categories, the diagonal included.

    Two raters, or the two named in `raters`: n units that the first called a and the second b. More: n pairs of ratings
    of one unit that fall into a and b, whoever gave them, each pair of categories once (a before b). The n add up to
    all compared pairs of ratings. Raises ValueError where `raters` are not two of the patterns'.
    """
    labels = [category_label(category) for category in patterns.categories]
    cells: tuple[Ints, Ints, Ints]
    if raters is not None and len(raters) != 2:
        raise ValueError(f"Confusion is that of two raters, not of {len(raters)}.")
    columns = _columns(patterns, raters) if raters is not None else patterns.active
    if len(columns) == 2:
        left, right = (patterns.values[:, column].astype(np.int64) for column in columns)
        both = (left >= 0) & (right >= 0)
        codes, inverse = np.unique(left[both] * len(labels) + right[both], return_inverse=True)
        n = np.bincount(inverse, weights=patterns.counts[both]).astype(np.int64)
        cells = (codes // max(len(labels), 1), codes % max(len(labels), 1), n)
    else:
        cells = Tallies(patterns).category_pairs()
    return [
        {"a": labels[first], "b": labels[second], "n": times}
        for first, second, times in zip(*(cell.tolist() for cell in cells), strict=True)
    ]


def confused_pairs(
    patterns: Patterns,
    most: int = MOST_CONFUSED,
    *,
    coefficient: str = ALPHA,
    gain_of: Callable[[int, int], Gain] | None = None,
) -> list[ConfusedPairEntry]:
    """[{a, b, n, share, coefficient, gain, percent_gain, undefined}], the pairs of categories that cost most first.

    Of the `most` pairs that raters differ on most often: `n` pairs of ratings of one unit fall into a and b, `share` is
    their part of all that differ. `gain` is what `coefficient` would gain if the two were one category, or None with
    the reason in `undefined`, as `gain_of` (of `merging.gains`) computes it; without that it is nominal alpha. It can
    be below 0 where they are frequent and hardly confused. `percent_gain` is what percent agreement would gain, where
    only equal ratings agree. A set is one category.
    """
    tallies = Tallies(patterns)
    left, right, times = tallies.category_pairs()
    differing = np.flatnonzero(left != right)
    if not len(differing):
        return []
    whole = int(times[differing].sum())
    chosen = differing[np.argsort(-times[differing], kind="stable")[:most]]
    r = np.maximum(tallies.per_unit, 2)
    per_pair = patterns.counts * 2 / (r * (r - 1))
    gain_of = gain_of or _nominal_gains(tallies)
    columns = {int(k): tallies.ratings_in(int(k)) for k in np.unique([left[chosen], right[chosen]])}
    labels = [category_label(category) for category in patterns.categories]
    found: list[ConfusedPairEntry] = []
    for place in chosen.tolist():
        a, b = int(left[place]), int(right[place])
        together: Floats = columns[a] * columns[b]
        gain, reason = gain_of(a, b)
        found.append(
            {
                "a": labels[a],
                "b": labels[b],
                "n": int(times[place]),
                "share": int(times[place]) / whole,
                "coefficient": coefficient,
                "gain": gain,
                "percent_gain": float(per_pair @ together) / patterns.n_units,
                "undefined": reason,
            }
        )
    return sorted(found, key=lambda each: (each["gain"] is None, -(each["gain"] or 0.0), -each["n"]))


def _nominal_gains(tallies: Tallies) -> Callable[[int, int], Gain]:
    """As `merging.gains` of nominal alpha, from sums that all pairs of categories share."""
    patterns = tallies.patterns
    per_rating = patterns.counts * 2 / np.maximum(tallies.per_unit - 1, 1)
    n = patterns.n_ratings
    given = [int(each) for each in tallies.pairable_ratings(tallies.counts)[0]]
    # Whole numbers: exactly 0 where one category would be left.
    unlike = n * n - sum(each * each for each in given)
    within = tallies.disagreement(Nominal(len(patterns.categories))) * tallies.per_unit
    observed = float(patterns.counts @ within)

    def gain(a: int, b: int) -> Gain:
        after = unlike - 2 * given[a] * given[b]
        if not after:
            return None, ONE_LEFT
        saved = float(per_rating @ (tallies.ratings_in(a) * tallies.ratings_in(b)))
        return (n - 1) * (observed / unlike - max(observed - saved, 0.0) / after), None

    return gain


def _columns(patterns: Patterns, raters: Sequence[str]) -> tuple[int, ...]:
    unknown = [rater for rater in raters if rater not in patterns.raters]
    if unknown:
        raise ValueError(f"There is no rater {unknown[0]!r}; there are {', '.join(patterns.raters)}.")
    if len(set(raters)) != len(raters):
        raise ValueError(f"{raters[0]!r} is named twice.")
    return tuple(patterns.raters.index(rater) for rater in raters)
