"""The ten agreement coefficients with standard errors and bootstrap intervals, or the reason why one is undefined."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from .bootstrap import percentiles, resampled_estimates
from .clusters import METHOD as CLUSTERED
from .clusters import Clusters, cluster_interval, resampled_values
from .estimators import (
    BrennanPrediger,
    CongerKappa,
    Estimator,
    FleissKappa,
    GwetAC,
    KrippendorffAlpha,
    OrdinalAlpha,
    PercentAgreement,
    TwoRaters,
)
from .metrics import Floats, Metric, Paths, Weights, distance_by_metric, distance_by_weights
from .patterns import Patterns
from .tallies import Tallies

COEFFICIENTS = (
    "percent_agreement",
    "cohen_kappa",
    "weighted_kappa",
    "scott_pi",
    "fleiss_kappa",
    "conger_kappa",
    "brennan_prediger",
    "krippendorff_alpha",
    "gwet_ac1",
    "gwet_ac2",
)
RESAMPLES = 1000
EXACT = "exact_one_sided"
DUST = 1e-12
"""What is smaller is 0 but for rounding."""


@dataclass(frozen=True)
class Coefficient:
    """A value with analytic standard error and 95 % interval; or None with `undefined`, the reason as a sentence."""

    name: str
    value: float | None
    se: float | None = None
    ci_low: float | None = None
    ci_high: float | None = None
    ci_method: str | None = None
    undefined: str | None = None


def clustered(
    found: Sequence[Coefficient],
    estimators: Sequence[tuple[str, Estimator | str]],
    clusters: Clusters,
    *,
    resamples: int,
    seed: int,
    draws: dict[str, Floats] | None = None,
) -> list[Coefficient]:
    """The same coefficients with standard error and interval from resamples of clusters instead of units.

    `draws` as in `measure`.
    """
    by_name = dict(estimators)
    answer = []
    for each in found:
        estimator = by_name[each.name]
        if each.value is None or isinstance(estimator, str) or resamples <= 0:
            answer.append(each)
            continue
        if each.ci_method == EXACT:
            rows, _ = estimator.compared()
            answer.append(replace(each, ci_low=estimator.perfect_bound(clusters.n_with(rows))))
            continue
        patterns, width = estimator.tallies.patterns, estimator.width
        values = resampled_values(estimator, patterns, clusters, resamples=resamples, seed=seed, width=width)
        if draws is not None:
            draws[each.name] = values
        interval = cluster_interval(values)
        if interval is None:
            answer.append(replace(each, se=None, ci_low=None, ci_high=None, ci_method=None))
            continue
        se, low, high = interval
        answer.append(replace(each, se=se, ci_low=low, ci_high=high, ci_method=CLUSTERED))
    return answer


def measure(
    estimators: Sequence[tuple[str, Estimator | str]],
    *,
    resamples: int,
    seed: int,
    draws: dict[str, Floats] | None = None,
) -> list[Coefficient]:
    """Named estimators (or, instead of one, the reason why there is none) as coefficients, on the same resamples.

    `draws` is filled with the values in the resamples, by name, NaN where undefined.
    """
    reasons = [found if isinstance(found, str) else found.undefined() for _, found in estimators]
    defined = [
        found
        for (_, found), reason in zip(estimators, reasons, strict=True)
        if reason is None and isinstance(found, Estimator)
    ]
    intervals: list[tuple[float, float] | None] = [None] * len(defined)
    if resamples > 0 and defined:
        counts = defined[0].tallies.patterns.counts
        width = max(estimator.width for estimator in defined)
        values = resampled_estimates(defined, counts, resamples, seed, width)
        intervals = [percentiles(each) for each in values]
        if draws is not None:
            names = [name for (name, _), reason in zip(estimators, reasons, strict=True) if reason is None]
            draws.update(zip(names, values, strict=True))
    found_intervals = iter(zip(defined, intervals, strict=True))
    coefficients = []
    for (name, _), reason in zip(estimators, reasons, strict=True):
        if reason is not None:
            coefficients.append(Coefficient(name, None, undefined=reason))
            continue
        estimator, interval = next(found_intervals)
        bound = estimator.perfect_bound() if resamples > 0 else None
        method = "bootstrap" if interval else None
        if bound is not None:
            interval, method = (bound, 1.0), EXACT
        low, high = interval if interval else (None, None)
        error = estimator.standard_error()
        found = Coefficient(name, _clean(estimator.point()), None if error is None else _clean(error))
        coefficients.append(replace(found, ci_low=low, ci_high=high, ci_method=method))
    return coefficients


def _clean(number: float) -> float:
    return 0.0 if abs(number) < DUST else number


def alpha_estimator(tallies: Tallies, metric: Metric, paths: Paths | None = None) -> Estimator:
    """Krippendorff's alpha with a metric by name, function or matrix; the metric "tree" needs the categories' paths."""
    if isinstance(metric, str) and metric == "ordinal":
        return OrdinalAlpha(tallies)
    return KrippendorffAlpha(tallies, distance_by_metric(metric, tallies.patterns.categories, paths))


def _one(name: str, estimator: Estimator, resamples: int, seed: int) -> Coefficient:
    return measure([(name, estimator)], resamples=resamples, seed=seed)[0]


def percent_agreement(
    patterns: Patterns, *, weights: Weights = "identity", resamples: int = RESAMPLES, seed: int = 0
) -> Coefficient:
    """The share of agreeing pairs of ratings, averaged over units with at least two (Gwet 2014, ch. 2).

    Tested by cases/gwet_r_readme.json.
    """
    distance = distance_by_weights(weights, patterns.categories)
    return _one("percent_agreement", PercentAgreement(Tallies(patterns), distance), resamples, seed)


def cohen_kappa(patterns: Patterns, *, resamples: int = RESAMPLES, seed: int = 0) -> Coefficient:
    """Cohen 1960, doi:10.1177/001316446002000104, for exactly two raters, on the units that both rated.

    Tested by cases/cohen_kappa.json. Undefined for more raters (look at the pairs) and where both used one category.
    """
    return _one("cohen_kappa", TwoRaters(Tallies(patterns)), resamples, seed)


def weighted_kappa(
    patterns: Patterns, weights: Weights = "quadratic", *, resamples: int = RESAMPLES, seed: int = 0
) -> Coefficient:
    """Cohen 1968, doi:10.1037/h0026256: Cohen's kappa where a near miss counts as part of an agreement.

    `weights` is a name ("quadratic", "linear" …) or a K × K matrix of agreement, 0 to 1 and 1 on the diagonal.
    Categories that are numbers are weighted by value, others by position. Tested by cases/cohen_kappa.json.
    """
    distance = distance_by_weights(weights, patterns.categories)
    return _one("weighted_kappa", TwoRaters(Tallies(patterns), distance, called="Weighted kappa"), resamples, seed)


def scott_pi(patterns: Patterns, *, resamples: int = RESAMPLES, seed: int = 0) -> Coefficient:
    """Scott 1955, doi:10.1086/266577: two raters, chance from their pooled shares, on the units that both rated.

    Tested by cases/cohen_kappa.json and cases/gwet_r_readme.json. Undefined for more raters.
    """
    return _one("scott_pi", TwoRaters(Tallies(patterns), called="Scott's pi", pooled=True), resamples, seed)


def fleiss_kappa(
    patterns: Patterns, *, weights: Weights = "identity", resamples: int = RESAMPLES, seed: int = 0
) -> Coefficient:
    """Fleiss 1971, doi:10.1037/h0031619, for any number of raters, also a different number per unit.

    Gaps as in Gwet 2014, ch. 2: agreement over units with at least two ratings, category shares over all units.
    Tested by cases/fleiss.json and cases/gwet_raw.json.
    """
    distance = distance_by_weights(weights, patterns.categories)
    return _one("fleiss_kappa", FleissKappa(Tallies(patterns), distance), resamples, seed)


def conger_kappa(
    patterns: Patterns, *, weights: Weights = "identity", resamples: int = RESAMPLES, seed: int = 0
) -> Coefficient:
    """Conger 1980, doi:10.1037/0033-2909.88.2.322: Cohen's idea of chance for any number of named raters.

    With two raters and no gap it is Cohen's kappa. Gaps and standard error as in Gwet 2014, ch. 2 and 5; tested by
    cases/gwet_raw.json.
    """
    distance = distance_by_weights(weights, patterns.categories)
    return _one("conger_kappa", CongerKappa(Tallies(patterns), distance), resamples, seed)


def brennan_prediger(
    patterns: Patterns, *, weights: Weights = "identity", resamples: int = RESAMPLES, seed: int = 0
) -> Coefficient:
    """Brennan and Prediger 1981, doi:10.1177/001316448104100307: chance is 1/q, q = len(patterns.categories).

    Also known as Bennett's S, PABAK (two categories) and Randolph's free-marginal kappa; tested by
    cases/randolph_free_marginal.json and cases/gwet_raw.json.
    """
    distance = distance_by_weights(weights, patterns.categories)
    return _one("brennan_prediger", BrennanPrediger(Tallies(patterns), distance), resamples, seed)


def krippendorff_alpha(
    patterns: Patterns,
    metric: Metric = "nominal",
    *,
    paths: Paths | None = None,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Coefficient:
    """Krippendorff 2011, Computing Krippendorff's Alpha-Reliability: any number of raters, gaps, any metric.

    `metric`: "nominal", "ordinal" (by the order of the categories), "interval", "ratio", "jaccard", "masi", "tree"
    (with `paths`, see `tree_distance`), a function of two categories, or a K × K matrix of distances. Units with one
    rating do not matter. Tested by cases/krippendorff.json. Undefined where all pairable values are one category.
    """
    return _one("krippendorff_alpha", alpha_estimator(Tallies(patterns), metric, paths), resamples, seed)


def gwet_ac1(patterns: Patterns, *, resamples: int = RESAMPLES, seed: int = 0) -> Coefficient:
    """Gwet 2008, doi:10.1348/000711006X126600: does not collapse where one category prevails.

    Tested by cases/gwet_raw.json. q is len(patterns.categories); undefined where only one category is used.
    """
    return _one("gwet_ac1", GwetAC(Tallies(patterns)), resamples, seed)


def gwet_ac2(
    patterns: Patterns, weights: Weights = "quadratic", *, resamples: int = RESAMPLES, seed: int = 0
) -> Coefficient:
    """Gwet 2014, ch. 3: AC1 where a near miss counts as part of an agreement; `weights` as in `weighted_kappa`.

    Tested by cases/gwet_raw.json.
    """
    distance = distance_by_weights(weights, patterns.categories)
    return _one("gwet_ac2", GwetAC(Tallies(patterns), distance), resamples, seed)
