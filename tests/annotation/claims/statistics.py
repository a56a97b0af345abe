"""Coefficients and bootstrap intervals of a table of units, written here once more from their definitions."""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

RESAMPLES, SEED = 1000, 0
TINY = 1e-12


class Table:
    """Units (one row of values per unit, None where a rater gave none) as distinct patterns with counts.

    `order` sorts the values; of an ordinal question `scale` is the whole scale. `items` names the item of each unit and
    `rounds` its round, for clusters.
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
        where: dict[str, set[int]] = {}
        for row, (round_, item) in zip(rows, places, strict=True):
            by_item.setdefault(item, Counter())[number_of[row]] += 1
            where.setdefault(item, set()).add(round_)
        self.clusters = [by_item[item] for item in by_item if len(where[item]) > 1]
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
    """Clopper and Pearson 1934: of n of n units; the rest would differ as far as two categories in use can."""
    n = t.n_units
    for cells in t.clusters if clustered else ():
        n -= max(sum(times for p, times in cells.items() if t.paired[p]) - 1, 0)
    missing, c = 1 - math.exp(math.log(0.05) / n), t.counts
    used = np.flatnonzero(t.n_in.sum(axis=0))
    if "α" in name:
        v = np.where(t.paired, c, 0) @ t.n_in
        metric = {"no": "nominal", "or": "ordinal", "in": "interval", "MA": "masi"}[name.partition("(")[2][:2]]
        d = distances(metric, t, v)
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
    """A bootstrap interval, computed once for each table."""
    if (name, clustered) not in t.intervals:
        found = bound if is_perfect(t) else _interval
        t.intervals[name, clustered] = found(name, t, clustered=clustered)
    return t.intervals[name, clustered]


def _interval(name: str, t: Table, *, clustered: bool) -> tuple[float, float] | None:
    """The 2.5 and 97.5 percentiles over resamples of units, or of clusters: an item that recurs is drawn as a whole."""
    kinds = [Counter({p: 1}) for p in range(len(t.counts))]
    weights = t.counts.tolist()
    if clustered:
        alone, tally = t.counts.copy(), Counter[tuple[tuple[int, int], ...]]()
        for cells in t.clusters:
            for p, n in cells.items():
                alone[p] -= n
            tally[tuple(sorted(cells.items()))] += 1
        for p, n in enumerate(alone.tolist()):
            if n:
                tally[((p, 1),)] += n
        kinds, weights = [Counter(dict(kind)) for kind in sorted(tally)], [tally[kind] for kind in sorted(tally)]
    members = np.zeros((len(kinds), len(t.counts)))
    for row, kind in enumerate(kinds):
        for p, n in kind.items():
            members[row, p] = n
    rng, counts = np.random.default_rng(SEED), np.array(weights)
    n, at = int(counts.sum()), np.repeat(np.arange(len(counts)), counts)
    found = []
    for _ in range(RESAMPLES) if n < 10 * len(counts) else ():
        found.append(np.bincount(at[rng.integers(0, n, n)], minlength=len(counts)))
    if n >= 10 * len(counts):
        found = list(rng.multinomial(n, counts / n, size=RESAMPLES))
    values = np.array([NAMES[name](t, drawn @ members) for drawn in found])
    values = values[~np.isnan(values)]
    if 2 * len(values) < RESAMPLES or not len(values):
        return None
    low, high = np.percentile(values, [2.5, 97.5])
    return float(low), float(high)
