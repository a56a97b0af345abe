"""The formulas of agreement written once more, plainly and from P × K tables: an oracle for `agreement`.

Published tables and libraries hold values and standard errors; nothing else has the confidence intervals, errors of
clusters, bounds of perfect agreement and what merging two categories gains.
"""

# mypy: ignore-errors

import math
from collections import Counter
from itertools import combinations

import numpy as np

TINY = 1e-12
Z = 1.959963984540054  # the 97.5 percentile of the normal distribution
OFF_SCALE = ("PENDING", "(does not apply)")


def is_number(value):
    return isinstance(value, int | float | np.number) and not isinstance(value, bool)


def label_of(category):
    """A category as one text."""
    if isinstance(category, frozenset):
        return " + ".join(sorted(category)) or "(none)"
    if isinstance(category, float) and category.is_integer():
        return str(int(category))
    return str(category)


class Table:
    """P patterns of R raters over K categories: `values` (P x R, -1 where none was given) and `counts` (P)."""

    def __init__(self, values, counts, categories, raters):
        self.values, self.counts, self.categories, self.raters = values, counts, list(categories), list(raters)
        self.k = len(self.categories)
        self.n_in = (values[:, :, None] == np.arange(self.k)).sum(axis=1).astype(float)  # P x K
        self.n = self.n_in.sum(axis=1)  # ratings per pattern
        self.paired = self.n >= 2
        self.active = [r for r in range(len(raters)) if (values[self.paired, r] >= 0).any()]

    def only_used(self):
        """The same without categories that nobody gave."""
        used = [k for k in range(self.k) if (self.values == k).any()]
        values = np.full_like(self.values, -1)
        for new, old in enumerate(used):
            values[self.values == old] = new
        return Table(values, self.counts, [self.categories[k] for k in used], self.raters)

    def without(self, dropped):
        """The same as if ratings in some categories had not been given."""
        gone = [k for k, category in enumerate(self.categories) if category in dropped]
        return Table(np.where(np.isin(self.values, gone), -1, self.values), self.counts, self.categories, self.raters)


def beyond_chance(agreed, by_chance):
    """(agreed - by chance) / (1 - by chance), NaN where nothing else is to be expected."""
    left = 1 - by_chance
    unlike = np.where(1 - agreed < TINY * left, 0.0, 1 - agreed)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(left > TINY, 1 - unlike / left, np.nan)


class Coefficient:
    """One coefficient: values for B x P counts, and its standard error. `w` (K x K) is how far categories agree."""

    def __init__(self, table, w=None):
        self.t, self.w, self.is_nominal = table, np.eye(table.k) if w is None else w, w is None
        pairs = np.where(table.paired, table.n * (table.n - 1), 1)
        alike = (table.n_in * (table.n_in @ ((self.w + self.w.T) / 2) - 1)).sum(axis=1)
        self.alike = np.where(table.paired, alike / pairs, 0.0)
        self.shares = table.n_in / np.maximum(table.n, 1)[:, None]

    def agreed(self, c):
        with np.errstate(divide="ignore", invalid="ignore"):
            return (c @ self.alike) / (c @ self.t.paired)

    def chance(self, c):
        return np.zeros(len(c))

    def chance_of_units(self):
        return np.zeros(len(self.t.n))

    def __call__(self, c):
        return beyond_chance(self.agreed(c), self.chance(c))

    def compared(self):
        """The rows with a pair of ratings, and how far these disagree."""
        rows = np.flatnonzero(self.t.paired)
        return rows, 1 - self.alike[rows]

    def used(self):
        given = np.unique(self.t.values)
        return given[given >= 0]

    def worst(self):
        """The worst disagreement there can be between the categories that were given."""
        return 1 - self.w[np.ix_(self.used(), self.used())].min()

    def expected(self):
        """The disagreement expected by chance."""
        return 1 - float(self.chance(self.t.counts[None, :])[0])

    def value(self):
        if not self.t.paired.any() or len(np.unique(self.t.values[self.t.paired])) == 0:
            return math.nan
        return float(self(self.t.counts[None, :])[0])

    def raw(self):
        return float(self(self.t.counts[None, :])[0])

    def moves(self):
        """P: how far one more unit of a pattern moves the value. Units with one rating move the chance term alone."""
        c = self.t.counts
        value, chance = self.raw(), float(self.chance(c[None, :])[0])
        each = np.where(self.t.paired, (self.alike - self.agreed(c[None, :])[0]) / c[self.t.paired].sum(), 0.0)
        each -= 2 * (1 - value) * (self.chance_of_units() - chance) / c.sum()
        return each / (1 - chance)

    def error(self):
        n = self.t.counts[self.t.paired].sum()
        return None if n < 2 else float(np.sqrt(self.t.counts @ self.moves() ** 2 * n / (n - 1)))

    def toward_jeffreys(self):
        """Where the interval lies between those of Clopper and Pearson (0) and of Jeffreys (1/2)."""
        return 0.25 if self.is_nominal else 0.15

    def least(self):
        """The lowest value in any population."""
        return -1.0

    def largest(self):
        """The largest that 1 - value can be."""
        return self.worst() / self.expected()

    def largest_of(self, shares, distance):
        """The same where the shares of the categories bound the disagreement, by way of the middle category."""
        around = (distance @ shares)[shares > 0].min() * (2 if self.is_nominal else 4)
        return min(self.worst(), around) / self.expected()


class Percent(Coefficient):
    def least(self):
        return 0.0

    def worst(self):
        return 1.0

    def __call__(self, c):
        return self.agreed(c)


class Fleiss(Coefficient):
    def mean_shares(self, c):
        return (c @ self.shares) / c.sum(axis=1)[:, None]

    def chance(self, c):
        p = self.mean_shares(c)
        return ((p @ self.w) * p).sum(axis=1)

    def chance_of_units(self):
        return self.shares @ self.w @ self.mean_shares(self.t.counts[None, :])[0]

    def largest(self):
        return self.largest_of(self.mean_shares(self.t.counts[None, :])[0], 1 - self.w)


class Gwet(Fleiss):
    def scale(self):
        return self.w.sum() / (self.t.k * (self.t.k - 1))

    def value(self):
        used = np.unique(self.t.values[self.t.paired])
        return math.nan if (used >= 0).sum() < 2 else super().value()

    def largest(self):
        return self.worst() / self.expected()

    def chance(self, c):
        p = self.mean_shares(c)
        return self.scale() * (p * (1 - p)).sum(axis=1)

    def chance_of_units(self):
        return self.scale() * self.shares @ (1 - self.mean_shares(self.t.counts[None, :])[0])


class BrennanPrediger(Coefficient):
    def least(self):
        return 1 - self.largest()

    def chance(self, c):
        return np.full(len(c), self.w.sum() / self.t.k**2)

    def chance_of_units(self):
        return np.full(len(self.t.n), self.w.sum() / self.t.k**2)


class Conger(Coefficient):
    def value(self):
        given = [np.unique(column[column >= 0]) for column in self.t.values.T]
        n_used = [len(each) for each in given if len(each)]
        is_constant = sum(n > 1 for n in n_used) < 2 and (self.t.n == len(n_used)).all()
        return math.nan if is_constant else super().value()

    def largest(self):
        c = self.t.counts
        return self.largest_of(c @ self.shares / c.sum(), 1 - self.w)

    def rater_shares(self, c):
        """B x R x K, and B x R ratings."""
        given = np.stack([c @ (self.t.values == k).astype(float) for k in range(self.t.k)], axis=2)
        n = given.sum(axis=2)
        return given / np.maximum(n, TINY)[:, :, None], n

    def chance(self, c):
        p, n = self.rater_shares(c)
        every, raters = p.sum(axis=1), (n > 0).sum(axis=1)
        own = ((p @ self.w) * p).sum(axis=(1, 2))
        with np.errstate(divide="ignore", invalid="ignore"):
            found = (((every @ self.w) * every).sum(axis=1) - own) / (raters * (raters - 1))
        return np.where(raters > 1, found, 1.0)

    def chance_of_units(self):
        c = self.t.counts
        p, n = (each[0] for each in self.rater_shares(c[None, :]))
        raters = (n > 0).sum()
        others = (p.sum(axis=0)[None, :] - p) @ self.w
        pull = (others - (p * others).sum(axis=1)[:, None]) * (c.sum() / np.maximum(n, 1) / (raters * (raters - 1)))[
            :, None
        ]
        found = np.full(len(self.t.n), float(self.chance(c[None, :])[0]))
        for r in range(len(self.t.raters)):
            given = self.t.values[:, r] >= 0
            found[given] += pull[r, self.t.values[given, r]]
        return found


class TwoRaters(Coefficient):
    """Cohen's kappa; weighted with `w`, Scott's pi where the shares are pooled."""

    def __init__(self, table, w=None, pooled=False):
        super().__init__(table, w)
        self.pooled = pooled
        if len(table.active) == 2:
            left, right = (table.values[:, r] for r in table.active)
            self.rows = np.flatnonzero((left >= 0) & (right >= 0))
            self.left, self.right = left[self.rows], right[self.rows]
            self.one = np.eye(table.k)[self.left]
            self.other = np.eye(table.k)[self.right]

    def both(self, c):
        c = c[:, self.rows]
        n = np.maximum(c.sum(axis=1), TINY)
        p, q = c @ self.one / n[:, None], c @ self.other / n[:, None]
        if self.pooled:
            p = q = (p + q) / 2
        return c, n, p, q

    def __call__(self, c):
        c, n, p, q = self.both(c)
        found = beyond_chance(c @ self.w[self.left, self.right] / n, ((p @ self.w) * q).sum(axis=1))
        return np.where(c.any(axis=1), found, np.nan)

    def value(self):
        if len(self.t.active) != 2 or not len(self.rows):
            return math.nan
        is_constant = min(len(np.unique(self.left)), len(np.unique(self.right))) == 1
        return math.nan if is_constant and not self.pooled else super().value()

    def compared(self):
        return self.rows, 1 - self.w[self.left, self.right]

    def expected(self):
        _, _, p, q = (each[0] for each in self.both(self.t.counts[None, :]))
        return 1 - float(p @ self.w @ q)

    def moves(self):
        _, n, p, q = (each[0] for each in self.both(self.t.counts[None, :]))
        value, chance = self.raw(), float(p @ self.w @ q)
        by_chance = (self.w @ q)[self.left] + (p @ self.w)[self.right]
        each = (self.w[self.left, self.right] - chance) / (1 - chance)
        each += (1 - value) * (2 * chance - by_chance) / (1 - chance)
        found = np.zeros(len(self.t.counts))
        found[self.rows] = (each - value) / n
        return found

    def error(self):
        n = self.t.counts[self.rows].sum()
        return None if n < 2 else float(np.sqrt(self.t.counts @ self.moves() ** 2))

    def largest(self):
        _, _, p, q = (each[0] for each in self.both(self.t.counts[None, :]))
        return self.largest_of((p + q) / 2, 1 - self.w)


class Alpha(Coefficient):
    """Krippendorff's alpha with a distance between categories; "ordinal" is a distance that moves with the ratings."""

    def __init__(self, table, distance, is_nominal=True):
        super().__init__(table)
        self.distance, self.is_nominal = distance, is_nominal
        self.pairable = np.where(table.paired[:, None], table.n_in, 0.0)
        self.size = np.where(table.paired, table.n, 0.0)
        self.less_one = np.where(table.paired, table.n - 1, 1.0)

    def unlike(self, distance):
        """P: the distances within each pattern, each pair of ratings both ways, per rating but one."""
        return ((self.pairable @ distance) * self.pairable).sum(axis=1) / self.less_one

    def __call__(self, c):
        if isinstance(self.distance, str):
            return np.array([self.ordinal(row) for row in c])
        v, n = c @ self.pairable, c @ self.size
        with np.errstate(divide="ignore", invalid="ignore"):
            seen = (c @ self.unlike(self.distance)) / n
            expected = ((v @ self.distance) * v).sum(axis=1) / (n * (n - 1))
        return np.where(n > 1, beyond_chance(1 - seen, 1 - np.nan_to_num(expected)), np.nan)

    def distances(self):
        """K x K: the distances, in the ordinal case those of the data."""
        if not isinstance(self.distance, str):
            return self.distance
        v = self.t.counts @ self.pairable
        rank = (np.cumsum(v) - v / 2) / v.sum()
        return (rank[:, None] - rank[None, :]) ** 2

    def compared(self):
        rows = np.flatnonzero(self.t.paired)
        return rows, self.unlike(self.distances())[rows]

    def worst(self):
        return self.distances()[np.ix_(self.used(), self.used())].max()

    def expected(self):
        v = self.t.counts @ self.pairable
        return float(v @ self.distances() @ v / (v.sum() * (v.sum() - 1)))

    def ordinal(self, c):
        v, n = c @ self.pairable, c @ self.size
        if n <= 1:
            return math.nan
        rank = (np.cumsum(v) - v / 2) / n
        mean, square = v @ rank, v @ rank**2
        expected = 2 * (square * n - mean**2) / (n * (n - 1))
        within = 2 * (self.size * (self.pairable @ rank**2) - (self.pairable @ rank) ** 2) / self.less_one
        seen = c @ within / n
        return float(beyond_chance(np.array(1 - seen), np.array(1 - expected)))

    def toward_jeffreys(self):
        return 0.25 if isinstance(self.distance, str) else super().toward_jeffreys()

    def largest(self):
        v = self.t.counts @ self.pairable
        return self.largest_of(v / v.sum(), self.distances())

    def moves(self):
        if isinstance(self.distance, str):
            return self.ordinal_moves()
        c = np.where(self.t.paired, self.t.counts, 0.0)
        units, n = c.sum(), c @ self.size
        shares, unlike = c @ self.pairable / n, self.unlike(self.distance)
        seen, expected, mean = c @ unlike / n, shares @ self.distance @ shares, n / units
        size, pull = self.size / mean, self.pairable @ self.distance @ shares / mean
        alike = expected - unlike / mean + (size - 1) * seen * (1 - 1 / n)
        each = (alike - 2 * seen / expected * (size * expected - pull)) / expected
        return np.where(self.t.paired, (each - (1 - seen / expected)) / units, 0.0)

    def ordinal_moves(self):
        """From 1 - (n - 1) a / b: a the distances within units, b those of all pairs, by ranks that move as well."""
        c = np.where(self.t.paired, self.t.counts, 0.0)
        v, n = c @ self.pairable, c @ self.size
        rank = np.cumsum(v) - v / 2
        apart = (rank[:, None] - rank[None, :]) ** 2
        within, a, b = self.unlike(apart), c @ self.unlike(apart), v @ apart @ v
        # One more value in a category moves its own rank by 1/2, and those above by 1.
        lifts = self.pairable @ (np.triu(np.ones((len(v), len(v))), 1) + np.eye(len(v)) / 2)
        own = self.size[:, None] * rank - (self.pairable @ rank)[:, None]
        a_by_rank = 4 * ((c / self.less_one) @ (self.pairable * own))
        b_by_rank = 4 * v * (n * rank - v @ rank)
        a_more = within + lifts @ a_by_rank
        b_more = 2 * self.pairable @ apart @ v + lifts @ b_by_rank
        each = np.where(self.t.paired, -(self.size * a + (n - 1) * (a_more - a * b_more / b)) / b, 0.0)
        return np.where(self.t.paired, each - c @ each / c.sum(), 0.0)

    def error(self):
        n = self.t.counts[self.t.paired].sum()
        if isinstance(self.distance, str) or n < 2:
            return None
        return float(np.sqrt(self.t.counts @ self.moves() ** 2 * n / (n - 1)))


def numbers_of(categories):
    """The categories where they are numbers, else their places from 1."""
    if categories and all(is_number(each) for each in categories):
        return np.array(categories, dtype=float)
    return np.arange(1.0, len(categories) + 1)


def distance_of(metric, categories, paths):
    """How far apart categories are: K x K, or "ordinal"."""
    if metric == "ordinal":
        return "ordinal"
    x, k = numbers_of(categories), len(categories)
    if metric == "nominal":
        return 1 - np.eye(k)
    if metric == "interval":
        return (x[:, None] - x[None, :]) ** 2
    if metric == "ratio":
        added = x[:, None] + x[None, :]
        return np.where(added > 0, ((x[:, None] - x[None, :]) / np.where(added > 0, added, 1)) ** 2, 0.0)
    between = {"masi": masi, "jaccard": jaccard, "tree": lambda a, b: tree(paths.get(a, (a,)), paths.get(b, (b,)))}
    return np.array([[between[metric](a, b) for b in categories] for a in categories], dtype=float).reshape(k, k)


def jaccard(a, b):
    return 1 - len(a & b) / len(a | b) if a | b else 0.0


def masi(a, b):
    if a == b:
        return 0.0
    if not a & b:
        return 1.0
    return 1 - len(a & b) / len(a | b) * (2 / 3 if a < b or b < a else 1 / 3)


def tree(a, b):
    shared = 0
    while shared < min(len(a), len(b)) and a[shared] == b[shared]:
        shared += 1
    return 0.0 if a == b else 1 - 2 * shared / (len(a) + len(b))


def weights_of(entry, fixed, categories):
    """How far categories agree for weighted kappa and AC2, None where the dimension has no order."""
    name = entry["weights"]
    if name is None:
        return None
    w = np.eye(len(categories))
    if name == "custom":
        scale, cells = fixed["scale"], np.array(fixed["weights"], dtype=float)
    else:
        scale = [each for each in categories if each not in OFF_SCALE]
        x = numbers_of(scale)
        gap = np.abs(x[:, None] - x[None, :]) / max(x.max() - x.min(), TINY) if len(scale) > 1 else np.zeros((1, 1))
        cells = 1 - (gap**2 if name == "quadratic" else gap)
    place = {category: at for at, category in enumerate(scale)}
    for i, one in enumerate(categories):
        for j, other in enumerate(categories):
            if one in place and other in place:
                w[i, j] = cells[place[one], place[other]]
    return w


def coefficients_of(table, entry, fixed, paths):
    """The ten coefficients by name; None for one that the dimension's kind has not."""
    used, w, metric = table.only_used(), weights_of(entry, fixed, table.categories), entry["metric"]
    on_scale = table
    if entry["kind"] in ("ordinal", "number") and metric != "nominal":
        on_scale = table.without(OFF_SCALE)
    return {
        "percent_agreement": Percent(used),
        "cohen_kappa": TwoRaters(used),
        "weighted_kappa": None if w is None else TwoRaters(table, w),
        "scott_pi": TwoRaters(used, pooled=True),
        "fleiss_kappa": Fleiss(used),
        "conger_kappa": Conger(used),
        "brennan_prediger": BrennanPrediger(used),
        "krippendorff_alpha": Alpha(on_scale, distance_of(metric, table.categories, paths), metric == "nominal"),
        "gwet_ac1": Gwet(used),
        "gwet_ac2": None if w is None else Gwet(table, (w + w.T) / 2),
    }


def with_added_units(table):
    """The table with one more unit in parts (half agrees, half has one rater who differs), and how many these are."""
    used, active = np.unique(table.values[table.values >= 0]), table.active
    k, paired = len(used), table.paired
    if k < 2 or not active:
        return table, 0
    mean = (table.counts * table.n)[paired].sum() / table.counts[paired].sum()
    r = min(max(round(float(mean)), 2), len(active))
    rows = np.full((3 * k, len(table.raters)), -1)
    for turn, row in enumerate(rows):
        columns = [active[(turn + place) % len(active)] for place in range(r)]
        nth = turn - k
        row[columns] = used[turn if nth < 0 else nth // 2]
        if nth >= 0:
            row[columns[nth % r]] = used[(nth // 2 + (-1 if nth % 2 else 1)) % k]
    weights = np.array([0.5 / k] * k + [0.25 / k] * (2 * k))
    values, counts = np.concatenate([table.values, rows]), np.concatenate([table.counts, weights])
    return Table(values, counts, table.categories, table.raters), 3 * k


def members_of(counts, clusters):
    """Clusters as rows of how many units of each pattern they have: items that recur, and every other unit alone."""
    alone = counts.copy()
    rows = []
    for cells in clusters:
        row = np.zeros(len(counts))
        for pattern, n in cells.items():
            row[pattern] += n
        rows.append(row)
        alone -= row
    return np.array([*rows, *np.eye(len(counts))]), np.array([*([1.0] * len(rows)), *alone])


def interval_of(coefficient, smooth, n_added, clusters, sure=0.975):
    """The 95% interval by the effective sample size; None for fewer than five units (or clusters).

    `sure` is the confidence of its lower limit alone.
    """
    if not n_added:
        return None
    rows, _ = coefficient.compared()
    p = len(coefficient.t.counts)
    moves, times, n = smooth.moves(), smooth.t.counts, coefficient.t.counts[rows].sum()
    if clusters:
        members, numbers = members_of(coefficient.t.counts, clusters)
        n = numbers @ members[:, rows].any(axis=1)
        moves = np.concatenate([members @ moves[:p], moves[p:]])
        times = np.concatenate([numbers, times[p:]])
    if n < 5:
        return None
    value, largest, there = coefficient.value(), coefficient.largest(), smooth.largest()
    variance, fourth = times @ moves**2, times @ moves**4
    share = min(max((1 - smooth.raw()) / there, 0), 1)
    size = share * (1 - share) * there**2 / variance * (n - 1) / (n + 1)
    freedom = min(max(variance**2 / fourth / max(share, TINY) + 2, 2), max(n - 1, 2))
    student = math.sqrt(freedom * (1 / beta_quantile(0.05, freedom / 2, 0.5) - 1))
    size *= (Z / student) ** 2
    unlike, part = min(max((1 - value) / largest, 0), 1) * size, coefficient.toward_jeffreys()
    low = max(1 - beta_quantile(sure, unlike + 1 - part, size - unlike + part) * largest, -1)
    if 1 - value > largest * (1 - 1e-9) or n < 30:
        low = min(low, limit_of_shares(coefficient, n, sure))
    high = 1 - beta_quantile(0.025, unlike + part, size - unlike + 1 - part) * largest
    return min(low, value) if sure == 0.975 else low, max(high, value)


def limit_of_shares(coefficient, n, sure):
    """The value if as many of the units disagreed as `n` units allow (Clopper and Pearson), each kind in proportion."""
    rows, within = coefficient.compared()
    counts = coefficient.t.counts.copy()
    there = counts[rows].sum()
    apart = counts[rows][within > TINY].sum() / there
    if apart == 1:
        return coefficient.least()
    most = beta_quantile(sure, apart * n + 1, (1 - apart) * n)
    for row, unlike in zip(rows, within > TINY, strict=True):
        counts[row] *= most / apart if unlike else (1 - most) / (1 - apart)
    return max(float(coefficient(counts[None, :])[0]), -1.0)


def clustered_error(coefficient, clusters):
    members, numbers = members_of(coefficient.t.counts, clusters)
    rows, _ = coefficient.compared()
    n = numbers @ members[:, rows].any(axis=1)
    return None if n < 2 else float(np.sqrt(numbers @ (members @ coefficient.moves()) ** 2 * n / (n - 1)))


def beta_quantile(probability, a, b):
    mean = a / (a + b)
    room = 12 * math.sqrt(mean * (1 - mean) / (a + b + 1))
    low, high = max(mean - room, 0.0), min(mean + room, 1.0)
    while low < (middle := (low + high) / 2) < high:
        low, high = (middle, high) if beta_below(middle, a, b) < probability else (low, middle)
    return middle


def beta_below(x, a, b):
    """The distribution function of beta, by the continued fraction of the incomplete beta function."""
    if x > (a + 1) / (a + b + 2):
        return 1 - beta_below(1 - x, b, a)
    log = a * math.log(x) + b * math.log1p(-x) + math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    c, d, found = 1.0, 0.0, 1.0  # Lentz's method
    for step in range(20_000):
        m = step // 2
        if step % 2:
            term = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        else:
            term = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)) if step else 1.0
        d = 1 / (1 + term * d)
        c = 1 + term / c
        found *= c * d
        if step and abs(c * d - 1) < 1e-15:
            break
    return math.exp(log) * (found - 1) / a


def perfect_bound(coefficient, items, sure=0.95):
    """The one-sided 95% bound below a value of 1: n of n items agree completely; None where some disagree.

    The rest of all items counts as the worst disagreement there is, and chance as observed. `items` are the patterns of
    the units of each item: its parts, in each of its rounds.
    """
    rows, within = coefficient.compared()
    if not len(rows) or within.max() > TINY:
        return None
    n = sum(any(pattern in rows for pattern in patterns) for patterns in items)
    return max(1 - (1 - (1 - sure) ** (1 / n)) * coefficient.worst() / coefficient.expected(), -1.0)


def by_category(table):
    """Category -> agreement, n, positive, negative, prevalence, bias, pabak."""
    t, two = table, len(table.active) == 2
    members = t.categories
    holds = {member: t.values == k for k, member in enumerate(members)}
    if any(isinstance(each, frozenset) for each in members):
        members = sorted(frozenset().union(*members))
        holds = {m: np.isin(t.values, [k for k, s in enumerate(t.categories) if m in s]) for m in members}
    c, r = np.where(t.paired, t.counts, 0.0), t.n
    every = c @ (r * (r - 1))
    found = {}
    for member in members:
        n = holds[member].sum(axis=1)
        ratings = c @ n
        if not ratings:
            continue
        both, neither = c @ (n * (n - 1)), c @ ((r - n) * (r - n - 1))
        possible, absent = c @ (n * (r - 1)), c @ ((r - n) * (r - 1))
        first = c @ holds[member][:, t.active[0]]
        found[label_of(member)] = {
            "agreement": both / possible,
            "n": ratings,
            "positive": both / possible,
            "negative": neither / absent if absent else None,
            "prevalence": (both - neither) / every if two else None,
            "bias": 2 * (2 * first - ratings) / every if two else None,
            "pabak": 2 * (both + neither) / every - 1 if two else None,
        }
    return found


def by_pair(table):
    """(rater, rater) -> kappa, percent agreement, n."""
    found = {}
    for i, j in combinations(table.active, 2):
        rows = (table.values[:, i] >= 0) & (table.values[:, j] >= 0)
        c, one, other = table.counts[rows], table.values[rows, i], table.values[rows, j]
        n = c.sum()
        if n:
            agreed = c[one == other].sum() / n
            p, q = (np.bincount(side, weights=c, minlength=table.k) for side in (one, other))
            by_chance = p @ q / n**2
            is_constant = min((p > 0).sum(), (q > 0).sum()) == 1
            kappa = None if is_constant else (agreed - by_chance) / (1 - by_chance)
            found[table.raters[i], table.raters[j]] = {
                "cohen_kappa": kappa,
                "percent_agreement": agreed,
                "n": n,
            }
    return found


def pairs_of_ratings(table):
    """(a, b) -> pairs of ratings of one unit that fall into categories a and b, a before b."""
    found = Counter()
    for row, n in zip(table.n_in, table.counts, strict=True):
        given = np.flatnonzero(row)
        for at, a in enumerate(given):
            if row[a] > 1:
                found[a, a] += n * row[a] * (row[a] - 1) / 2
            for b in given[at + 1 :]:
                found[a, b] += n * row[a] * row[b]
    return found


def confusion(table):
    if len(table.active) == 2:
        left, right = (table.values[:, r] for r in table.active)
        found = Counter()
        for a, b, n in zip(left, right, table.counts, strict=True):
            if a >= 0 and b >= 0:
                found[a, b] += n
    else:
        found = pairs_of_ratings(table)
    return {(label_of(table.categories[a]), label_of(table.categories[b])): n for (a, b), n in found.items()}


def confused_pair(table, entry, fixed, paths, a, b):
    """What a pair of categories costs: n, share, gain of the coefficient and of percent agreement if they were one."""
    pairs = pairs_of_ratings(table)
    whole = sum(n for (i, j), n in pairs.items() if i != j)
    names = [label_of(each) for each in table.categories]
    if not whole or a not in names or b not in names:
        return {"n": 0}
    i, j = sorted((names.index(a), names.index(b)))
    name = fixed.get("coefficient", "krippendorff_alpha")
    gain, merged = None, as_one(table, i, j)
    if can_be_one(table, entry, name, paths, i, j):
        found = []
        for each, ways in ((table, paths), (merged, merged_paths(paths, table.categories[i], table.categories[j]))):
            coefficient = coefficients_of(each, entry, fixed, ways)[name]
            found.append(math.nan if coefficient is None else coefficient.value())
        gain = None if math.isnan(found[1] - found[0]) else found[1] - found[0]
    return {
        "n": pairs[i, j],
        "share": pairs[i, j] / whole,
        "coefficient": name,
        "gain": gain,
        "percent_gain": Percent(merged).value() - Percent(table).value(),
    }


def as_one(table, i, j):
    """The table with ratings in the category j under i, and without j; i is the smaller."""
    values = np.where(table.values == j, i, table.values)
    categories = [each for k, each in enumerate(table.categories) if k != j]
    return Table(values - (values > j), table.counts, categories, table.raters)


def can_be_one(table, entry, name, paths, i, j):
    """Whether the two would be one category: neighbours on a scale or in a tree where that counts, no sets."""
    is_alpha, one, other = name == "krippendorff_alpha", table.categories[i], table.categories[j]
    weighted = name in ("weighted_kappa", "gwet_ac2")
    given = table.values[table.paired]
    if len(np.unique(given[given >= 0])) == 2 or (weighted and entry["weights"] in (None, "custom")):
        return False
    if weighted or (is_alpha and entry["metric"] in ("ordinal", "interval", "ratio")):
        scale = [each for each in table.categories if each not in OFF_SCALE]
        return one in scale and other in scale and abs(scale.index(one) - scale.index(other)) == 1
    if is_alpha and entry["metric"] == "tree":
        upper, lower = sorted((paths.get(each, (each,)) for each in (one, other)), key=len)
        return upper[:-1] == lower[:-1] or lower[: len(upper)] == upper
    return not (is_alpha and entry["metric"] in ("masi", "jaccard"))


def merged_paths(paths, one, other):
    """The ways down the tree where what was below the lower of two categories is below the upper one."""
    upper, lower = sorted((tuple(paths.get(each, (each,))) for each in (one, other)), key=len)
    found = {
        key: upper + tuple(path[len(lower) :]) if tuple(path[: len(lower)]) == lower else path
        for key, path in paths.items()
    }
    return {**found, one: upper, other: upper}
