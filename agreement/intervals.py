"""Confidence intervals of coefficients by the effective sample size, and the quantiles of the beta distribution.

1 − coefficient is a share of the largest disagreement that there can be. Its linearized variance gives the number of
units that a binomial share with this variance would have, and the beta interval of that share is the interval (Korn and
Graubard 1998, Survey Methodology 24:193–201). Three details are Concord's own, and tests/agreement/
test_coverage.py shows from 30 units on how often such intervals hold the true value:

* the variance is that of the data and one more unit (`tallies.added_units`), so that it is never 0;
* where few units contribute, the effective size is reduced by a quantile of Student's t, as for an estimated variance;
* the beta distributions lie between those of Clopper and Pearson 1934 and those of Jeffreys (`TOWARD_JEFFREYS`).

The quantiles are not scipy's, with which a test compares them: its first import takes a web process 0.2 s and 27 MB.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from agreement.clusters import Clusters
from agreement.estimators import TINY, Estimator
from agreement.metrics import Floats, Nominal

LEVEL = 0.95
Z = 1.959963984540054
"""The 97.5 percentile of the normal distribution."""
TOWARD_JEFFREYS, OF_DISTANCES = 0.25, 0.15
"""0 gives the intervals of Clopper and Pearson, 1/2 those of Jeffreys. Less where a few disagreements weigh most."""
FEWEST = 5
"""The least units for an interval of two sides: with fewer, no simulation shows how often it holds the true value."""
TESTED = 30
"""The least units of the grid. Below, the shares of the categories are too uncertain to bound the lower end."""
CLOSE = 1e-9
HALVINGS = 50
STEPS, TERMS = 200, 20_000


def smoothed(estimator: Estimator) -> tuple[Estimator, Floats]:
    """The estimator on its patterns and one more unit (`added_units`), whose parts are last, and their weights."""
    tallies, weights = estimator.tallies.smooth
    return estimator.on(tallies), weights


class Interval(NamedTuple):
    """A 95% interval, and the confidence with which the coefficient reaches a threshold (None without one)."""

    low: float
    high: float
    confidence: float | None = None


@dataclass(frozen=True)
class _Effective:
    """What the limits of B rows of counts are quantiles of: shares of the largest disagreement among `size` units.

    `is_bound`: the shares of the categories bound the value, see `_at_worst`.
    """

    value: Floats
    largest: Floats
    size: Floats
    unlike: Floats
    part: float
    n: Floats
    is_bound: np.ndarray

    @property
    def is_known(self) -> np.ndarray:
        return (self.n >= 2) & np.isfinite(self.size)


def effective_limits(
    estimator: Estimator, smooth: Estimator, counts: Floats, weights: Floats, clusters: Clusters | None = None
) -> tuple[Floats, Floats]:
    """B lower and B upper limits for B × P counts; NaN where there are fewer than two units, or nothing varies.

    `smooth` and `weights` are those of `smoothed`. With `clusters` (B is 1) their sums vary, in place of units.
    """
    return _limits(estimator, counts, _effective(estimator, smooth, counts, weights, clusters))


def _effective(
    estimator: Estimator, smooth: Estimator, counts: Floats, weights: Floats, clusters: Clusters | None
) -> _Effective:
    rows, _ = estimator.compared()
    value, largest = estimator(counts), estimator.largest(counts)
    every = np.concatenate([counts, np.broadcast_to(weights, (len(counts), len(weights)))], axis=1)
    moves = smooth.moves(every)
    n, times = counts[:, rows].sum(axis=1), every
    if clusters is not None:
        n = np.array([float(clusters.n_with(rows))])
        own, rest = moves[:, : counts.shape[1]], moves[:, counts.shape[1] :]
        moves = np.concatenate([own @ clusters.members.T, rest], axis=1)
        times = np.concatenate([clusters.counts[None, :], weights[None, :]], axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        variance, fourth = (times * moves**2).sum(axis=1), (times * moves**4).sum(axis=1)
        largest_there = smooth.largest(every)
        share = np.clip((1 - smooth(every)) / largest_there, 0, 1)
        size = share * (1 - share) * largest_there**2 / variance * (n - 1) / (n + 1)
        # How many units there would be if all contributed alike. Rare disagreements are counts, whose spread is known.
        freedom = np.clip(variance**2 / fourth / np.maximum(share, TINY) + 2, 2, np.maximum(n - 1, 2))
        size = size * (Z / t_quantile(freedom)) ** 2
        unlike = np.clip((1 - value) / largest, 0, 1) * size
        is_bound = (1 - value > largest * (1 - CLOSE)) | (n < TESTED)
    part = TOWARD_JEFFREYS if isinstance(estimator.distance, Nominal) else OF_DISTANCES
    return _Effective(value, largest, size, unlike, part, n, is_bound)


def _limits(estimator: Estimator, counts: Floats, of: _Effective) -> tuple[Floats, Floats]:
    with np.errstate(divide="ignore", invalid="ignore"):
        high = beta_quantile((1 + LEVEL) / 2, of.unlike + 1 - of.part, of.size - of.unlike + of.part)
        low = beta_quantile((1 - LEVEL) / 2, of.unlike + of.part, of.size - of.unlike + 1 - of.part)
        lower, upper = np.maximum(1 - high * of.largest, -1), 1 - low * of.largest
        if of.is_bound.any():
            lower = np.where(of.is_bound, np.minimum(lower, _at_worst(estimator, counts, of.n)), lower)
    return (
        np.where(of.is_known, np.minimum(lower, of.value), np.nan),
        np.where(of.is_known, np.maximum(upper, of.value), np.nan),
    )


def _confidence(estimator: Estimator, counts: Floats, of: _Effective, threshold: float) -> float:
    """The confidence at which the lower limit of one side, of the same method, lies at the threshold (B is 1)."""
    if threshold <= -1:
        return 1.0
    size, unlike = float(of.size[0]), float(of.unlike[0])
    found = _beta_below((1 - threshold) / float(of.largest[0]), unlike + 1 - of.part, size - unlike + of.part)
    return min(found, _confidence_at_worst(estimator, counts, of.n, threshold)) if of.is_bound[0] else found


def _shares(estimator: Estimator, counts: Floats, n: Floats) -> tuple[np.ndarray, np.ndarray, Floats, Floats]:
    """The rows of units that disagree and that agree, and how many of `n` independent ones are of either kind."""
    rows, within = estimator.compared()
    apart, alike = rows[within > TINY], rows[within <= TINY]
    n_apart, n_alike = counts[:, apart].sum(axis=1), counts[:, alike].sum(axis=1)
    each = n / (n_apart + n_alike)
    return apart, alike, n_apart * each, n_alike * each


def _shifted(estimator: Estimator, counts: Floats, apart: np.ndarray, alike: np.ndarray, most: Floats) -> Floats:
    """The values if a share `most` of the units disagreed, each kind in proportion."""
    n_apart, n_alike = counts[:, apart].sum(axis=1), counts[:, alike].sum(axis=1)
    shifted = counts.copy()
    shifted[:, apart] *= (most * (n_apart + n_alike) / n_apart)[:, None]
    shifted[:, alike] *= ((1 - most) * (n_apart + n_alike) / n_alike)[:, None]
    return np.maximum(estimator(shifted), -1)


def _confidence_at_worst(estimator: Estimator, counts: Floats, n: Floats, threshold: float) -> float:
    """The same of `_at_worst`, by halving the share of units that disagree."""
    apart, alike, n_apart, n_alike = _shares(estimator, counts, n)
    if not n_alike[0]:
        return float(estimator.least(counts)[0] >= threshold)
    low, high = 0.0, 1.0
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        is_reached = float(_shifted(estimator, counts, apart, alike, np.array([middle]))[0]) >= threshold
        low, high = (middle, high) if is_reached else (low, middle)
    return _beta_below(low, float(n_apart[0]) + 1, float(n_alike[0]))


def _at_worst(estimator: Estimator, counts: Floats, n: Floats) -> Floats:
    """B lower limits where the shares of the categories bound the value, which they do for this sample alone.

    The value that the patterns would give if disagreements had the largest share that is compatible with `n` units
    (Clopper and Pearson 1934); where all units disagree, the lowest value of the coefficient.
    """
    apart, alike, n_apart, n_alike = _shares(estimator, counts, n)
    most = beta_quantile((1 + LEVEL) / 2, n_apart + 1, np.where(n_alike > 0, n_alike, 1))
    return np.where(n_alike > 0, _shifted(estimator, counts, apart, alike, most), estimator.least(counts))


def effective_interval(
    estimator: Estimator, clusters: Clusters | None = None, threshold: float | None = None
) -> Interval | None:
    """The 95% interval of a coefficient, None where there is none (see `effective_limits`).

    The confidence of reaching a threshold is at least (1 + LEVEL) / 2 where the lower limit reaches it, and only there.
    """
    smooth, weights = smoothed(estimator)
    if not len(weights):
        return None
    counts = estimator.tallies.counts
    found = _effective(estimator, smooth, counts, weights, clusters)
    (low,), (high,) = _limits(estimator, counts, found)
    if math.isnan(low):
        return None
    if threshold is None:
        return Interval(float(low), float(high))
    least = (1 + LEVEL) / 2
    confidence = _confidence(estimator, counts, found, threshold)
    confidence = max(confidence, least) if low >= threshold else min(confidence, math.nextafter(least, 0))
    return Interval(float(low), float(high), confidence)


def clustered_error(estimator: Estimator, clusters: Clusters) -> float | None:
    """The standard error from the sums of what the units of a cluster contribute, None with fewer than two clusters."""
    rows, _ = estimator.compared()
    n = clusters.n_with(rows)
    if n < 2:
        return None
    sums = clusters.members @ estimator.moves(estimator.tallies.counts)[0]
    return float(np.sqrt(clusters.counts @ sums**2 * n / (n - 1)))


def t_quantile(freedom: Floats) -> Floats:
    """The 97.5 percentile of Student's t."""
    x = beta_quantile(1 - LEVEL, freedom / 2, np.full_like(freedom, 0.5))
    return np.sqrt(freedom * (1 / x - 1))


def beta_quantile(probability: float, a: Floats, b: Floats) -> Floats:
    """Quantiles of beta distributions, NaN where `a` or `b` is; elementwise."""
    return np.array([_beta_quantile(probability, float(one), float(other)) for one, other in zip(a, b, strict=True)])


def _beta_quantile(probability: float, a: float, b: float) -> float:
    """By Newton's method, and by halving where that leaves the bracket."""
    if not (math.isfinite(a) and math.isfinite(b)):
        return math.nan
    low, high, x = 0.0, 1.0, a / (a + b)
    scale = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    for _ in range(STEPS):
        off = _beta_below(x, a, b) - probability
        low, high = (low, x) if off > 0 else (x, high)
        density = math.exp(scale + (a - 1) * math.log(x) + (b - 1) * math.log1p(-x))
        nearer = x - off / density if density else -1.0
        if not low < nearer < high:
            nearer = (low + high) / 2
        if abs(nearer - x) <= 1e-14 * x:
            break
        x = nearer
    return x


def _beta_below(x: float, a: float, b: float) -> float:
    """The regularized incomplete beta function, by its continued fraction (DLMF 8.17.22)."""
    if x <= 0 or x >= 1:
        return float(x >= 1)
    if x > (a + 1) / (a + b + 2):
        return 1 - _beta_below(1 - x, b, a)
    log = a * math.log(x) + b * math.log1p(-x) + math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    # Lentz's method.
    tiny, fraction, c, d = 1e-300, 1.0, 1.0, 0.0
    for step in range(TERMS):
        m = step // 2
        if step == 0:
            term = 1.0
        elif step % 2 == 0:
            term = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        else:
            term = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        d = 1 / ((1 + term * d) or tiny)
        c = (1 + term / c) or tiny
        fraction *= c * d
        if step and abs(c * d - 1) < 1e-15:
            break
    return math.exp(log) * (fraction - 1) / a
