"""Coefficients of agreement with standard errors and confidence intervals, or the reason why one is undefined."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from agreement.clusters import Clusters
from agreement.estimators import (
    BrennanPrediger,
    CongerKappa,
    Estimator,
    FleissKappa,
    GwetAC,
    PercentAgreement,
    TwoRaters,
)
from agreement.intervals import FEWEST, clustered_error, effective_interval
from agreement.metrics import Metric, Paths, Weights, distance_by_weights
from agreement.patterns import Patterns
from agreement.registry import alpha_estimator
from agreement.tallies import Tallies

EXACT, EFFECTIVE, CLUSTERED = CI_METHODS = ("exact_one_sided", "effective_sample", "effective_sample_clusters")
"""How an interval is computed: no two ratings differ; by the effective number of units; the same of clusters."""
FEW_UNITS = "A confidence interval needs at least {least} units with two ratings. There {n}."
FEW_CLUSTERS = (
    "A confidence interval needs at least {least} units with two ratings, where all parts of an item, in all rounds, "
    "count as one. There {n}."
)
NO_VARIANCE = "No unit moves this coefficient, so there is no variance to compute a confidence interval from."
DUST = 1e-12
"""What is smaller is 0 but for rounding."""


@dataclass(frozen=True)
class Coefficient:
    """A value with analytic standard error and 95% interval; or None with `undefined`, the reason as a sentence.

    `ci_undefined` is the reason where there is a value and no interval. `p_threshold` is the confidence of a threshold:
    that of the interval of one side, of the same method, whose lower limit is the threshold.
    """

    name: str
    value: float | None
    se: float | None = None
    ci_low: float | None = None
    ci_high: float | None = None
    ci_method: str | None = None
    ci_undefined: str | None = None
    undefined: str | None = None
    p_threshold: float | None = None


def measure(
    estimators: Sequence[tuple[str, Estimator | str]],
    *,
    intervals: bool = True,
    clusters: Clusters | None = None,
    thresholds: float | Mapping[str, float] | None = None,
) -> list[Coefficient]:
    """Named estimators (or, instead of one, the reason why there is none) as coefficients.

    With `clusters` (of their patterns) standard errors and intervals are those of sums over clusters, and the bound of
    perfect agreement counts clusters. `thresholds` are by coefficient, or one for all.
    """
    found = []
    for name, estimator in estimators:
        reason = estimator if isinstance(estimator, str) else estimator.undefined()
        if reason is not None or isinstance(estimator, str):
            found.append(Coefficient(name, None, undefined=reason))
            continue
        error = estimator.standard_error() if clusters is None else clustered_error(estimator, clusters)
        each = Coefficient(name, _clean(estimator.point()), None if error is None else _clean(error))
        threshold = thresholds.get(name) if isinstance(thresholds, Mapping) else thresholds
        found.append(_with_interval(each, estimator, clusters, threshold) if intervals else each)
    return found


def _with_interval(
    each: Coefficient, estimator: Estimator, clusters: Clusters | None, threshold: float | None
) -> Coefficient:
    rows, _ = estimator.compared()
    n = int(estimator.tallies.patterns.counts[rows].sum()) if clusters is None else clusters.n_with(rows)
    bound = float(estimator.exact_bounds(estimator.tallies.counts, n)[0])
    if not math.isnan(bound):
        confidence = None if threshold is None else estimator.exact_confidence(n, threshold)
        return replace(each, ci_low=bound, ci_high=1.0, ci_method=EXACT, p_threshold=confidence)
    if n < FEWEST:
        reason = FEW_UNITS if clusters is None else FEW_CLUSTERS
        return replace(each, ci_undefined=reason.format(least=FEWEST, n="is one" if n == 1 else f"are {n}"))
    interval = effective_interval(estimator, clusters, threshold)
    if interval is None:
        return replace(each, ci_undefined=NO_VARIANCE)
    low, high, confidence = interval
    method = EFFECTIVE if clusters is None else CLUSTERED
    return replace(each, ci_low=low, ci_high=high, ci_method=method, p_threshold=confidence)


def _clean(number: float) -> float:
    return 0.0 if abs(number) < DUST else number


def _one(name: str, estimator: Estimator, intervals: bool) -> Coefficient:
    return measure([(name, estimator)], intervals=intervals)[0]


def percent_agreement(patterns: Patterns, *, weights: Weights = "identity", intervals: bool = True) -> Coefficient:
    """The share of agreeing pairs of ratings, averaged over units with at least two (Gwet 2014, ch. 2).

    Tested by cases/gwet_r_readme.json.
    """
    distance = distance_by_weights(weights, patterns.categories)
    return _one("percent_agreement", PercentAgreement(Tallies(patterns), distance), intervals)


def cohen_kappa(patterns: Patterns, *, intervals: bool = True) -> Coefficient:
    """Cohen 1960, doi:10.1177/001316446002000104, for exactly two raters, on the units that both rated.

    Tested by cases/cohen_kappa.json. Undefined for more raters (look at the pairs) and where both used one category.
    """
    return _one("cohen_kappa", TwoRaters(Tallies(patterns)), intervals)


def weighted_kappa(patterns: Patterns, weights: Weights = "quadratic", *, intervals: bool = True) -> Coefficient:
    """Cohen 1968, doi:10.1037/h0026256: Cohen's kappa where a near miss counts as part of an agreement.

    `weights` is a name ("quadratic", "linear" …) or a K × K matrix of agreement, 0 to 1 and 1 on the diagonal.
    Categories that are numbers are weighted by value, others by position. Tested by cases/cohen_kappa.json.
    """
    distance = distance_by_weights(weights, patterns.categories)
    return _one("weighted_kappa", TwoRaters(Tallies(patterns), distance, called="Weighted kappa"), intervals)


def scott_pi(patterns: Patterns, *, intervals: bool = True) -> Coefficient:
    """Scott 1955, doi:10.1086/266577: two raters, chance from their pooled shares, on the units that both rated.

    Tested by cases/cohen_kappa.json and cases/gwet_r_readme.json. Undefined for more raters.
    """
    return _one("scott_pi", TwoRaters(Tallies(patterns), called="Scott's pi", pooled=True), intervals)


def fleiss_kappa(patterns: Patterns, *, weights: Weights = "identity", intervals: bool = True) -> Coefficient:
    """Fleiss 1971, doi:10.1037/h0031619, for any number of raters, also a different number per unit.

    Gaps as in Gwet 2014, ch. 2: agreement over units with at least two ratings, category shares over all units.
    Tested by cases/fleiss.json and cases/gwet_raw.json.
    """
    distance = distance_by_weights(weights, patterns.categories)
    return _one("fleiss_kappa", FleissKappa(Tallies(patterns), distance), intervals)


def conger_kappa(patterns: Patterns, *, weights: Weights = "identity", intervals: bool = True) -> Coefficient:
    """Conger 1980, doi:10.1037/0033-2909.88.2.322: Cohen's idea of chance for any number of named raters.

    With two raters and no gap it is Cohen's kappa. Gaps and standard error as in Gwet 2014, ch. 2 and 5; tested by
    cases/gwet_raw.json.
    """
    distance = distance_by_weights(weights, patterns.categories)
    return _one("conger_kappa", CongerKappa(Tallies(patterns), distance), intervals)


def brennan_prediger(patterns: Patterns, *, weights: Weights = "identity", intervals: bool = True) -> Coefficient:
    """Brennan and Prediger 1981, doi:10.1177/001316448104100307: chance is 1/q, q = len(patterns.categories).

    Also known as Bennett's S, PABAK (two categories) and Randolph's free-marginal kappa; tested by
    cases/randolph_free_marginal.json and cases/gwet_raw.json.
    """
    distance = distance_by_weights(weights, patterns.categories)
    return _one("brennan_prediger", BrennanPrediger(Tallies(patterns), distance), intervals)


def krippendorff_alpha(
    patterns: Patterns,
    metric: Metric = "nominal",
    *,
    paths: Paths | None = None,
    intervals: bool = True,
) -> Coefficient:
    """Krippendorff 2011, Computing Krippendorff's Alpha-Reliability: any number of raters, gaps, any metric.

    `metric`: "nominal", "ordinal" (by the order of the categories), "interval", "ratio", "jaccard", "masi", "tree"
    (with `paths`, see `tree_distance`), a function of two categories, or a K × K matrix of distances. Units with one
    rating do not matter. Tested by cases/krippendorff.json. Undefined where all pairable values are one category.
    """
    return _one("krippendorff_alpha", alpha_estimator(Tallies(patterns), metric, paths), intervals)


def gwet_ac1(patterns: Patterns, *, intervals: bool = True) -> Coefficient:
    """Gwet 2008, doi:10.1348/000711006X126600: does not collapse where one category prevails.

    Tested by cases/gwet_raw.json. q is len(patterns.categories); undefined where only one category is used.
    """
    return _one("gwet_ac1", GwetAC(Tallies(patterns)), intervals)


def gwet_ac2(patterns: Patterns, weights: Weights = "quadratic", *, intervals: bool = True) -> Coefficient:
    """Gwet 2014, ch. 3: AC1 where a near miss counts as part of an agreement; `weights` as in `weighted_kappa`.

    Tested by cases/gwet_raw.json.
    """
    distance = distance_by_weights(weights, patterns.categories)
    return _one("gwet_ac2", GwetAC(Tallies(patterns), distance), intervals)
