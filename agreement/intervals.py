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
STEPS, TERMS = 200, 20_000


def smoothed(estimator: Estimator) -> tuple[Estimator, Floats]:
    """The estimator on its patterns and one more unit (`added_units`), whose parts are last, and their weights."""
    tallies, weights = estimator.tallies.smooth
    return estimator.on(tallies), weights


def effective_limits(
    estimator: Estimator, smooth: Estimator, counts: Floats, weights: Floats, clusters: Clusters | None = None
) -> tuple[Floats, Floats]:
    """B lower and B upper limits for B × P counts; NaN where there are fewer than two units, or nothing varies.

    `smooth` and `weights` are those of `smoothed`. With `clusters` (B is 1) their sums vary, in place of units.
    """
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
        part = TOWARD_JEFFREYS if isinstance(estimator.distance, Nominal) else OF_DISTANCES
        high = beta_quantile((1 + LEVEL) / 2, unlike + 1 - part, size - unlike + part)
        low = beta_quantile((1 - LEVEL) / 2, unlike + part, size - unlike + 1 - part)
        lower, upper = np.maximum(1 - high * largest, -1), 1 - low * largest
        is_bound = (1 - value > largest * (1 - CLOSE)) | (n < TESTED)
        if is_bound.any():
            lower = np.where(is_bound, np.minimum(lower, _at_worst(estimator, counts, n)), lower)
    is_known = (n >= 2) & np.isfinite(size)
    return (
        np.where(is_known, np.minimum(lower, value), np.nan),
        np.where(is_known, np.maximum(upper, value), np.nan),
    )


def _at_worst(estimator: Estimator, counts: Floats, n: Floats) -> Floats:
    """B lower limits where the shares of the categories bound the value, which they do for this sample alone.

    The value that the patterns would give if disagreements had the largest share that is compatible with `n` units
    (Clopper and Pearson 1934); where all units disagree, the lowest value of the coefficient.
    """
    rows, within = estimator.compared()
    apart, alike = rows[within > TINY], rows[within <= TINY]
    n_apart, n_alike = counts[:, apart].sum(axis=1), counts[:, alike].sum(axis=1)
    whole = n_apart + n_alike
    each = n / whole
    most = beta_quantile((1 + LEVEL) / 2, n_apart * each + 1, np.where(n_alike > 0, n_alike * each, 1))
    shifted = counts.copy()
    shifted[:, apart] *= (most * whole / n_apart)[:, None]
    shifted[:, alike] *= ((1 - most) * whole / n_alike)[:, None]
    return np.where(n_alike > 0, np.maximum(estimator(shifted), -1), estimator.least(counts))


def effective_interval(estimator: Estimator, clusters: Clusters | None = None) -> tuple[float, float] | None:
    """The 95% interval of a coefficient, None where there is none (see `effective_limits`)."""
    smooth, weights = smoothed(estimator)
    if not len(weights):
        return None
    low, high = effective_limits(estimator, smooth, estimator.tallies.counts, weights, clusters)
    return None if math.isnan(low[0]) else (float(low[0]), float(high[0]))


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
