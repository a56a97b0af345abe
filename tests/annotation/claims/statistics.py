"""Coefficients and confidence intervals of a table of units, written here once more from their definitions."""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from copy import copy
from typing import Any

import numpy as np
from scipy.stats import beta, norm
from scipy.stats import t as student

TINY = 1e-12


class Table:
    """Units (one row of values per unit, None where a rater gave none) as distinct patterns with counts.

    `order` sorts the values; of an ordinal question `scale` is the whole scale. `places` are round and item of each
    unit, for clusters.
    """

    def __init__(
        self,
        units: Sequence[dict[str, Any]],
        places: Sequence[tuple[int, str]],
        order: Callable[[Any], Any],
        scale: Any,
    ) -> None:
        raters = sorted({rater for unit in units for rater in unit}, key=lambda code: (len(code), code))
        used = {value for unit in units for value in unit.values()}
        self.values = sorted(used | set(scale or ()), key=order)
        at = {value: k for k, value in enumerate(self.values)}
        rows = [tuple(at[unit[rater]] if rater in unit else -1 for rater in raters) for unit in units]
        tally = Counter(rows)
        self.patterns = np.array(sorted(tally), dtype=int).reshape(len(tally), len(raters))
        self.counts = np.array([tally[row] for row in sorted(tally)], dtype=int)
        self.k = len(self.values)
        self.n_in = (self.patterns[:, :, None] == np.arange(self.k)).sum(axis=1).astype(float)
        self.n = self.n_in.sum(axis=1)
        self.paired = self.n >= 2
        self.raters = [
            code for r, code in enumerate(raters) if len(rows) and (self.patterns[self.paired][:, r] >= 0).any()
        ]
        self.columns = [raters.index(code) for code in self.raters]
        self.n_units = int(self.counts[self.paired].sum())
        self.n_single = int(self.counts[~self.paired].sum())
        number_of = {row: p for p, row in enumerate(sorted(tally))}
        by_item: dict[str, Counter[int]] = {}
        for row, (_, item) in zip(rows, places, strict=True):
            by_item.setdefault(item, Counter())[number_of[row]] += 1
        self.items = list(by_item.values())
        self.clusters = [cells for cells in self.items if cells.total() > 1]
        self.intervals: dict[tuple[str, bool], tuple[float, float] | None] = {}


def beyond_chance(agreed: float, chance: float) -> float:
    return math.nan if 1 - chance <= TINY else 1 - (0.0 if 1 - agreed < TINY else 1 - agreed) / (1 - chance)


def agreed(t: Table, c: Any) -> float:
    pairs = np.where(t.paired, t.n * (t.n - 1), 1)
    each = np.where(t.paired, (t.n_in * (t.n_in - 1)).sum(axis=1) / pairs, 0.0)
    whole = c @ t.paired
    return float(c @ each / whole) if whole else math.nan


def shares(t: Table, c: Any) -> Any:
    return (c @ (t.n_in / np.maximum(t.n, 1)[:, None])) / max(c.sum(), 1)


def percent(t: Table, c: Any) -> float:
    return agreed(t, c)


def fleiss(t: Table, c: Any) -> float:
    return beyond_chance(agreed(t, c), float((shares(t, c) ** 2).sum()))


def ac1(t: Table, c: Any) -> float:
    q, p = int((t.n_in.sum(axis=0) > 0).sum()), shares(t, c)
    return math.nan if q < 2 else beyond_chance(agreed(t, c), float((p * (1 - p)).sum() / (q - 1)))


def cohen(t: Table, c: Any) -> float:
    if len(t.raters) != 2:
        return math.nan
    one, other = (t.patterns[:, column] for column in t.columns)
    both = np.where((one >= 0) & (other >= 0), c, 0).astype(float)
    n = both.sum()
    if not n:
        return math.nan
    p, q = (np.bincount(np.maximum(side, 0), weights=both, minlength=t.k) / n for side in (one, other))
    if max(p.max(), q.max()) > 1 - TINY:
        return math.nan  # one of the two used one category only: 0, whatever the other did
    return beyond_chance(float(both[one == other].sum() / n), float(p @ q))


def alpha(distance: str) -> Callable[[Table, Any], float]:
    """Krippendorff 2011: observed over expected distance of pairs of ratings."""

    def value(t: Table, c: Any) -> float:
        v = np.where(t.paired, c, 0) @ t.n_in
        n = v.sum()
        if n <= 1:
            return math.nan
        d = distances(distance, t, v)
        within = (t.n_in @ d * t.n_in).sum(axis=1) / np.maximum(t.n - 1, 1)
        seen = float(np.where(t.paired, c, 0) @ within / n)
        expected = float(v @ d @ v / (n * (n - 1)))
        return beyond_chance(1 - seen, 1 - expected) if expected > TINY else math.nan

    return value


def distances(name: str, t: Table, v: Any) -> Any:
    if name == "nominal":
        return 1 - np.eye(t.k)
    if name == "interval":
        x = np.array(t.values, dtype=float)
        return (x[:, None] - x[None, :]) ** 2
    if name == "ordinal":
        middle = np.cumsum(v) - v / 2
        return (middle[:, None] - middle[None, :]) ** 2
    return np.array([[masi(a, b) for b in t.values] for a in t.values], dtype=float).reshape(t.k, t.k)


def masi(a: frozenset[str], b: frozenset[str]) -> float:
    """Passonneau 2006: Jaccard weighted by whether one set holds the other."""
    if a == b:
        return 0.0
    if not a & b:
        return 1.0
    return 1 - len(a & b) / len(a | b) * (2 / 3 if a < b or b < a else 1 / 3)


NAMES: dict[str, Callable[[Table, Any], float]] = {
    "percent agreement": percent,
    "Cohen’s κ": cohen,
    "Fleiss’ κ": fleiss,
    "Gwet’s AC1": ac1,
    "Krippendorff’s α (nominal metric)": alpha("nominal"),
    "Krippendorff’s α (ordinal metric)": alpha("ordinal"),
    "Krippendorff’s α (interval metric)": alpha("interval"),
    "Krippendorff’s α (MASI distance)": alpha("masi"),
}


def value_of(name: str, t: Table) -> float:
    """The coefficient; NaN without a unit to compare, and of AC1 where raters used one category in all of them."""
    if not t.n_units or (name == "Gwet’s AC1" and (np.where(t.paired, t.counts, 0) @ t.n_in > 0).sum() < 2):
        return math.nan
    return NAMES[name](t, t.counts)


def is_perfect(t: Table) -> bool:
    return bool(((t.n_in > 0).sum(axis=1)[t.paired] == 1).all())


def bound(name: str, t: Table, *, clustered: bool) -> tuple[float, float]:
    """Clopper and Pearson 1934: of n of n items; the rest would differ as far as two categories in use can."""
    n = sum(any(t.paired[p] for p in cells) for cells in t.items)
    missing, c = 1 - math.exp(math.log(0.05) / n), t.counts
    used = np.flatnonzero(t.n_in.sum(axis=0))
    if "α" in name:
        v = np.where(t.paired, c, 0) @ t.n_in
        d = distances(metric_of(name), t, v)
        missing *= d[np.ix_(used, used)].max() / (v @ d @ v / (v.sum() * (v.sum() - 1)))
    elif "κ" in name or "AC1" in name:
        chance = {
            "Cohen’s κ": lambda: ((np.where(t.paired, c, 0) @ t.n_in / t.n_units / 2) ** 2).sum(),
            "Fleiss’ κ": lambda: (shares(t, c) ** 2).sum(),
            "Gwet’s AC1": lambda: (shares(t, c) * (1 - shares(t, c))).sum() / (len(used) - 1),
        }[name]()
        missing /= 1 - chance
    return max(1 - missing, -1.0), 1.0


def interval(name: str, t: Table, *, clustered: bool) -> tuple[float, float] | None:
    """A confidence interval, computed once for each table."""
    if (name, clustered) not in t.intervals:
        found = bound if is_perfect(t) else effective
        t.intervals[name, clustered] = found(name, t, clustered=clustered)
    return t.intervals[name, clustered]


def effective(name: str, t: Table, *, clustered: bool) -> tuple[float, float] | None:
    """Korn and Graubard 1998: the beta interval of a share with the variance that the coefficient has.

    The variance is that of the table and one more unit, half of which agrees, from derivatives taken by differences.
    """
    wide = with_one_more(t)
    p, n_added = len(t.counts), len(wide.counts) - len(t.counts)
    moves, weights = derivatives(name, wide), wide.counts
    rows = compared(name, t)
    n = float(t.counts[rows].sum())
    if clustered and t.clusters:
        groups = [dict(cells) for cells in t.clusters]
        alone = t.counts - sum(np.array([cells.get(k, 0) for k in range(p)]) for cells in groups)
        sums = [sum(moves[k] * times for k, times in cells.items()) for cells in groups]
        n = float(alone[rows].sum() + sum(any(k in rows for k in cells) for cells in groups))
        moves = np.array([*sums, *moves])
        weights = np.array([*([1.0] * len(groups)), *alone, *weights[p:]])
    if n < 5 or not n_added:
        return None
    variance = weights @ moves**2
    most, there = largest(name, t, t.counts), largest(name, wide, wide.counts)
    share = min(max((1 - NAMES[name](wide, wide.counts)) / there, 0.0), 1.0)
    size = share * (1 - share) * there**2 / variance * (n - 1) / (n + 1)
    freedom = min(max(variance**2 / (weights @ moves**4) / max(share, TINY) + 2, 2), max(n - 1, 2))
    size *= (norm.ppf(0.975) / student.ppf(0.975, freedom)) ** 2
    value = NAMES[name](t, t.counts)
    unlike = min(max((1 - value) / most, 0.0), 1.0) * size
    part = 0.15 if "interval" in name or "MASI" in name else 0.25
    low = 1 - beta.ppf(0.975, unlike + 1 - part, size - unlike + part) * most
    high = 1 - beta.ppf(0.025, unlike + part, size - unlike + 1 - part) * most
    if value < 1 - most + 1e-9 or n < 30:
        low = min(low, limit_of_shares(name, t, rows, n))
    return min(max(float(low), -1.0), value), max(float(high), value)


def limit_of_shares(name: str, t: Table, rows: list[int], n: float) -> float:
    """Where the shares of the categories allow no lower value: that of the most units that can disagree."""
    differs = np.array([k in rows and len(set(row[row >= 0])) > 1 for k, row in enumerate(t.patterns)])
    agrees = np.isin(np.arange(len(t.counts)), rows) & ~differs
    here, there = t.counts[differs].sum(), t.counts[agrees].sum()
    if not there:
        return 0.0 if name == "percent agreement" else -1.0
    most = beta.ppf(0.975, here / (here + there) * n + 1, there / (here + there) * n)
    c = t.counts.astype(float)
    c[differs] *= most * (here + there) / here
    c[agrees] *= (1 - most) * (here + there) / there
    return max(NAMES[name](t, c), -1.0)


def compared(name: str, t: Table) -> list[int]:
    """The patterns in which ratings are compared."""
    if name == "Cohen’s κ":
        return [k for k, row in enumerate(t.patterns) if all(row[column] >= 0 for column in t.columns)]
    return np.flatnonzero(t.paired).tolist()


def with_one_more(t: Table) -> Table:
    """The table and the parts of one more unit: 1/2 agrees, in 1/2 one rater is a category off."""
    used = sorted({value for row in t.patterns.tolist() for value in row if value >= 0})
    k, columns = len(used), t.columns
    if k < 2:
        return t
    r = min(max(round(float((t.counts * t.n)[t.paired].sum() / t.counts[t.paired].sum())), 2), len(columns))
    rows, weights = [], []
    for turn in range(3 * k):
        raters = [columns[(turn + place) % len(columns)] for place in range(r)]
        row = [-1] * t.patterns.shape[1]
        own, neighbor = divmod(max(turn - k, 0), 2) if turn >= k else (turn, 0)
        for rater in raters:
            row[rater] = used[own]
        if turn >= k:
            row[raters[(turn - k) % r]] = used[(own + (1, -1)[neighbor]) % k]
        rows.append(row)
        weights.append(0.5 / k if turn < k else 0.25 / k)
    wide = copy(t)
    wide.patterns = np.concatenate([t.patterns, np.array(rows)])
    wide.counts = np.concatenate([t.counts, weights])
    wide.n_in = (wide.patterns[:, :, None] == np.arange(t.k)).sum(axis=1).astype(float)
    wide.n = wide.n_in.sum(axis=1)
    wide.paired = wide.n >= 2
    return wide


def derivatives(name: str, t: Table) -> Any:
    """By how much a coefficient grows with the count of each pattern."""
    c, step = t.counts.astype(float), 1e-4
    measured = NAMES[name]
    small: Any = 0.0
    if "α" in name and "ordinal" not in name:
        # The published variance takes expected disagreement with replacement, and corrects it by units of other sizes.
        v = np.where(t.paired, c, 0) @ t.n_in
        d, n, units = distances(metric_of(name), t, v), v.sum(), c[t.paired].sum()
        within = (t.n_in @ d * t.n_in).sum(axis=1) / np.maximum(t.n - 1, 1)
        seen, expected = float(np.where(t.paired, c, 0) @ within / n), float(v @ d @ v / n**2)
        small = np.where(t.paired, (t.n * units / n - 1) * seen / n / expected / units, 0.0)

        def measured(t: Table, c: Any) -> float:
            v = np.where(t.paired, c, 0) @ t.n_in
            return 1 - float(np.where(t.paired, c, 0) @ within / v.sum()) / float(v @ d @ v / v.sum() ** 2)

    found = []
    for k in range(len(c)):
        more, less = c.copy(), c.copy()
        more[k] += step
        less[k] -= step
        found.append((measured(t, more) - measured(t, less)) / (2 * step))
    moves = np.array(found) - small
    if "ordinal" in name:
        moves = np.where(t.paired, moves - c @ moves / c[t.paired].sum(), 0.0)
    return moves


def metric_of(name: str) -> str:
    return {"no": "nominal", "or": "ordinal", "in": "interval", "MA": "masi"}[name.partition("(")[2][:2]]


def largest(name: str, t: Table, c: Any) -> float:
    """The largest that 1 − coefficient can be: the worst disagreement, or what the shares of categories allow."""
    if name == "percent agreement":
        return 1.0
    used, p = np.flatnonzero(t.n_in.sum(axis=0)), shares(t, c)
    v = np.where(t.paired, c, 0) @ t.n_in
    if "α" in name:
        d, p = distances(metric_of(name), t, v), v / v.sum()
        expected = v @ d @ v / (v.sum() * (v.sum() - 1))
        middle = (2 if metric_of(name) == "nominal" else 4) * min((d @ p)[p > 0])
        return float(min(d[np.ix_(used, used)].max(), middle) / expected)
    if name == "Gwet’s AC1":
        return 1 / (1 - float((p * (1 - p)).sum() / (len(used) - 1)))
    if name == "Cohen’s κ":
        one, other = (t.patterns[:, column] for column in t.columns)
        both = np.where((one >= 0) & (other >= 0), c, 0).astype(float)
        sides = [np.bincount(np.maximum(side, 0), weights=both, minlength=t.k) / both.sum() for side in (one, other)]
        return float(min(1, 2 * (1 - (sum(sides) / 2).max())) / (1 - sides[0] @ sides[1]))
    return float(min(1, 2 * (1 - p.max())) / (1 - (p**2).sum()))
