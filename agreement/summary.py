"""Summary of the agreement on one dimension: coefficients, tables, and warnings, with the fields of REST."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from agreement.benchmarks import benchmark_words
from agreement.clusters import Clusters, resampled_values
from agreement.coefficients import EXACT, Coefficient, measure
from agreement.entries import CategoryEntry, PairEntry, SummaryEntry
from agreement.estimators import Estimator
from agreement.intervals import TESTED
from agreement.merging import Gain, gains
from agreement.metrics import Metric, Paths, Weights
from agreement.pairs import by_category, by_pair, confused_pairs, confusion
from agreement.patterns import Category, Patterns, category_label
from agreement.registry import ALPHA, COEFFICIENTS, Setting
from agreement.variables import VARIABLES

SCALE_WEIGHTS = ("quadratic", "linear")
"""Weights of weighted kappa and AC2 that can be asked for by name, the default first."""

FEW_UNITS = TESTED
"""The least for which simulations show how often an interval holds the true value (docs/agreement.md)."""
PREVALENCE_AGREEMENT = 0.7
PREVALENCE_GAP = 0.2
WIDE_INTERVAL = 0.2
FAR_GAP = 0.2
FAR_UNITS = 100
FAR_PAIR_UNITS = 20
"""A rater stands far from the others where the mean Cohen's kappa of their pairs lies at least FAR_GAP below that of
all other pairs: pairs with at least FAR_PAIR_UNITS units in common, weighted by their units, at least FAR_UNITS on each
side. At 100 units the difference of two kappas has a standard error of about 0.1 (Fleiss, Cohen and Everitt 1969)."""
NEVER_ALIKE = 5
"""Ratings of a category, none confirmed, to warn of. If half were confirmed as a rule, 5 in a row without one would
come about once in 32 times."""
MOST_NAMED = 5

RESAMPLES = 1000


def decimals(value: float, places: int = 2) -> str:
    """A number as papers print it: `0.80`, `−0.04` with a true minus."""
    return f"{value:z.{places}f}".replace("-", "\N{MINUS SIGN}")


def bound(threshold: float) -> str:
    """A threshold as it was given, with two decimals at least: `0.80`, `0.667`."""
    given = f"{threshold:.6f}".rstrip("0")
    return decimals(threshold, max(2, len(given.partition(".")[2])))


def value_text(value: float, threshold: float | None, places: int = 2) -> str:
    """A value with so many decimals, more where these would put it on the other side of a threshold."""
    while threshold is not None and places < 6 and (value < threshold) != (round(value, places) < threshold):
        places += 1
    return decimals(value, places)


def interval_words(
    low: float | None, high: float | None, method: str | None, places: int, threshold: float | None = None
) -> str:
    """`[0.62, 0.96]`; `at least 0.98` where the bound is one-sided; empty without an interval.

    With a threshold, each end has as many decimals as show on which side it is.
    """
    if low is None or high is None:
        return ""
    least, most = (value_text(each, threshold, places) for each in (low, high))
    return f"at least {least}" if method == EXACT else f"[{least}, {most}]"


def summary(
    patterns: Patterns,
    *,
    kind: str,
    metric: Metric | None = None,
    weights: Weights | None = None,
    paths: Paths | None = None,
    apart: Sequence[Category] = (),
    intervals: bool = True,
    left_out: int = 0,
    thresholds: float | Mapping[str, float] | None = None,
    clusters: Clusters | None = None,
    coefficient: str = ALPHA,
) -> SummaryEntry:
    """The JSON entry of one dimension without dimension, round and when: all coefficients, tables and warnings.

    `units` have at least two ratings, `ratings` are those in them, `raters` those who gave them, `categories` those
    used in them; units with one rating are added to `left_out`. Categories that nobody used are dropped first, so that
    q in Brennan-Prediger and AC1 is the number of categories used; an ordinal or number dimension keeps its whole scale
    for weighted kappa, AC2 and alpha. A set of a multi dimension is one category except to alpha and `by_category`.
    Free text has no coefficient but the reason, and nothing by category or pair.

    `weights` of weighted kappa and AC2 are "quadratic", "linear" or a K × K matrix in the order of the patterns'
    categories (`weights_over` lays one out); names need an order or numbers, a matrix gives any categories both.
    `paths` lead to the categories, for the metric "tree".

    `apart` are categories with no place on an ordinal scale (a proposal), which stand after it: under weights by name
    they agree with nothing but themselves, and to alpha by an ordinal or interval metric such ratings are not given,
    which a warning says.

    `thresholds` are by coefficient, or one that all are held against. `p_threshold` is the confidence with which the
    value reaches it: that of the interval of one side, by `ci_method`, whose lower limit is the threshold. None where
    there is no threshold or no interval. `words` as `benchmark_words`.

    `coefficient` is the dimension's primary one, for what merging two categories would gain.

    With `clusters` (of these patterns) standard errors and intervals are those of clusters of units, such as the parts
    of one item.

    Raises ValueError for an unknown kind, a metric by name that does not suit it, "tree" without paths, and weights
    that do not fit the categories.
    """
    metric = _metric_of(kind, metric)
    estimators = _estimators(patterns, kind, metric, weights, paths, apart)
    coefficients = measure(estimators, intervals=intervals, clusters=clusters, thresholds=thresholds)
    is_measured = VARIABLES[kind].has_coefficients
    categories, pairs = (by_category(patterns), by_pair(patterns)) if is_measured else ([], [])
    called = metric if isinstance(metric, str) else getattr(metric, "__name__", "custom")
    return {
        "metric": called,
        "weights": _weights_called(kind, weights),
        "units": patterns.n_units,
        "raters": len(patterns.active),
        "ratings": patterns.n_ratings,
        "left_out": left_out + patterns.n_single,
        "categories": len(patterns.used_categories),
        "coefficients": [
            {
                "name": each.name,
                "value": each.value,
                "se": each.se,
                "ci_low": each.ci_low,
                "ci_high": each.ci_high,
                "ci_method": each.ci_method,
                "ci_undefined": each.ci_undefined,
                "undefined": each.undefined,
                "p_threshold": each.p_threshold,
                "words": benchmark_words(each.name, each.value, each.ci_low),
            }
            for each in coefficients
        ],
        "by_category": categories,
        "by_pair": pairs,
        "confusion": confusion(patterns),
        "confused_pairs": []
        if VARIABLES[kind].is_open
        else confused_pairs(
            patterns,
            coefficient=coefficient,
            gain_of=_gains(patterns, coefficient, kind, metric, weights, paths, apart),
        ),
        "warnings": [
            *warnings(patterns, coefficients, pairs, [] if VARIABLES[kind].is_open else categories),
            *_off_scale(patterns, _without(patterns, kind, metric, apart), called),
        ]
        if is_measured
        else [],
    }


def _gains(
    patterns: Patterns,
    coefficient: str,
    kind: str,
    metric: Metric,
    weights: Weights | None,
    paths: Paths | None,
    apart: Sequence[Category],
) -> Callable[[int, int], Gain] | None:
    """What merging two categories would gain; None where it is nominal alpha, which `confused_pairs` has itself."""
    if coefficient == ALPHA and isinstance(metric, str) and metric == "nominal":
        return None
    return gains(
        patterns,
        lambda found, ways: _estimators(found, kind, metric, weights, ways, apart, coefficient)[0][1],
        coefficient=coefficient,
        metric=metric,
        weights=weights,
        paths=paths,
        apart=apart,
    )


def one_coefficient(
    patterns: Patterns,
    name: str,
    *,
    kind: str,
    metric: Metric | None = None,
    weights: Weights | None = None,
    paths: Paths | None = None,
    apart: Sequence[Category] = (),
    intervals: bool = True,
    clusters: Clusters | None = None,
) -> Coefficient:
    """One of the coefficients as `summary` has it, without the work for the others; for trends."""
    estimators = _estimators(patterns, kind, _metric_of(kind, metric), weights, paths, apart, name)
    return measure(estimators, intervals=intervals, clusters=clusters)[0]


def share_reaching(
    patterns: Patterns,
    name: str,
    threshold: float,
    *,
    kind: str,
    metric: Metric | None = None,
    weights: Weights | None = None,
    paths: Paths | None = None,
    apart: Sequence[Category] = (),
    resamples: int = RESAMPLES,
    seed: int = 0,
    clusters: Clusters | None = None,
) -> float | None:
    """The share, of the resamples (of units or clusters) in which a coefficient is defined, that reach the threshold.

    None where it is undefined, or in more than half of the resamples. No probability of the true value.
    """
    ((_, estimator),) = _estimators(patterns, kind, _metric_of(kind, metric), weights, paths, apart, name)
    if isinstance(estimator, str) or estimator.undefined() is not None:
        return None
    values = resampled_values(
        estimator, estimator.tallies.patterns, clusters, resamples=resamples, seed=seed, width=estimator.width
    )
    return float((values >= threshold - 1e-12).mean()) if len(values) else None


def _metric_of(kind: str, metric: Metric | None) -> Metric:
    if kind not in VARIABLES:
        raise ValueError(f"{kind!r} is no kind of dimension; there are {', '.join(VARIABLES)}.")
    suited = VARIABLES[kind].metrics
    if metric is None:
        return suited[0]
    if isinstance(metric, str) and metric not in suited:
        raise ValueError(f"The metric {metric!r} does not suit a {kind} dimension; there are {', '.join(suited)}.")
    return metric


def _weights_called(kind: str, weights: Weights | None) -> str | None:
    """The name of the weights that were used; None where there are none."""
    if weights is not None and not isinstance(weights, str):
        return "custom"
    return (weights or SCALE_WEIGHTS[0]) if VARIABLES[kind].is_ordered else None


def _without(patterns: Patterns, kind: str, metric: Metric, apart: Sequence[Category]) -> list[int]:
    """The categories whose ratings count as not given to alpha: those that its metric finds no place for."""
    if not VARIABLES[kind].is_ordered or not isinstance(metric, str) or metric == "nominal":
        return []
    return [k for k in patterns.used_categories if patterns.categories[k] in apart]


def _off_scale(patterns: Patterns, without: Sequence[int], metric: str) -> list[str]:
    if not without:
        return []
    n = int(
        (np.isin(patterns.values[patterns.pairable], without).sum(axis=1) * patterns.counts[patterns.pairable]).sum()
    )
    named = " and ".join(f"“{category_label(patterns.categories[k])}”" for k in without)
    return [
        f"{COEFFICIENTS[ALPHA].title} with the {metric} metric is without "
        f"{'1 rating' if n == 1 else f'{n} ratings'} of {named}, which the scale does not contain."
    ]


def _estimators(
    patterns: Patterns,
    kind: str,
    metric: Metric,
    weights: Weights | None,
    paths: Paths | None,
    apart: Sequence[Category],
    only: str | None = None,
) -> list[tuple[str, Estimator | str]]:
    """Every coefficient by name in their order, or one alone; the reason instead of one that the kind has not."""
    if isinstance(weights, str) and weights not in SCALE_WEIGHTS:
        raise ValueError(f"{weights!r} are no weights; there are {' and '.join(SCALE_WEIGHTS)}.")
    weighting = SCALE_WEIGHTS[0] if weights is None else weights
    setting = Setting(
        patterns=patterns,
        kind=kind,
        metric=metric,
        weights=weighting if _weights_called(kind, weights) else None,
        paths=paths,
        apart=apart,
        unplaced=_without(patterns, kind, metric, apart),
    )
    return [(name, each.estimator(setting)) for name, each in COEFFICIENTS.items() if only in (None, name)]


def warnings(
    patterns: Patterns,
    coefficients: Sequence[Coefficient],
    pairs: Sequence[PairEntry] = (),
    categories: Sequence[CategoryEntry] = (),
) -> list[str]:
    """What a reader of the numbers should know, as sentences.

    Few units, one category, prevalence, a wide interval; from `pairs` (of `by_pair`) a rater far from the others, from
    `categories` (of `by_category`) those never used alike.
    """
    if not patterns.n_units:
        return ["No unit was rated by two raters yet."]
    found = []
    intervals = {coefficient.name: coefficient for coefficient in coefficients}
    values = {coefficient.name: coefficient.value for coefficient in coefficients if coefficient.value is not None}
    if patterns.n_units < FEW_UNITS:
        counted = "1 unit has" if patterns.n_units == 1 else f"{patterns.n_units} units have"
        found.append(
            f"Only {counted} at least two ratings. Confidence intervals were tested from {FEW_UNITS} units on."
        )
    if len(patterns.used_categories) == 1:
        found.append("All compared ratings are in one category. Such data cannot show agreement beyond chance.")
    kappa = "cohen_kappa" if "cohen_kappa" in values else "fleiss_kappa"
    if {kappa, "percent_agreement", "gwet_ac1"} <= values.keys():
        percent, value, ac1 = values["percent_agreement"], values[kappa], values["gwet_ac1"]
        if percent >= PREVALENCE_AGREEMENT and ac1 - value >= PREVALENCE_GAP:
            found.append(
                f"Raters agree on {percent:.0%}, yet {COEFFICIENTS[kappa].title} is {decimals(value)} where Gwet's AC1 "
                f"is {decimals(ac1)}: one category prevails, which pulls kappa down. Report both."
            )
    for name in (ALPHA, kappa):
        wide = intervals.get(name)
        if wide and wide.ci_low is not None and wide.ci_high is not None and wide.ci_high - wide.ci_low > WIDE_INTERVAL:
            between = interval_words(wide.ci_low, wide.ci_high, wide.ci_method, 2)
            found.append(
                f"The confidence interval of {COEFFICIENTS[name].title} is wide (95% CI {between}). More units rated "
                "twice would narrow it."
            )
            break
    return found + _far_raters(pairs) + _never_alike(categories)


def _far_raters(pairs: Sequence[PairEntry]) -> list[str]:
    told = [
        (each["raters"], each["n"], kappa)
        for each in pairs
        if (kappa := each["cohen_kappa"]) is not None and each["n"] >= FAR_PAIR_UNITS
    ]
    found = []
    for rater in dict.fromkeys(code for raters, _, _ in told for code in raters):
        own, others = (
            [(n, kappa) for raters, n, kappa in told if (rater in raters) is is_own] for is_own in (True, False)
        )
        if min(sum(n for n, _ in own), sum(n for n, _ in others)) < FAR_UNITS:
            continue
        far, near = (sum(n * kappa for n, kappa in side) / sum(n for n, _ in side) for side in (own, others))
        if near - far >= FAR_GAP:
            found.append(
                f"{rater} differs from the other raters: the mean Cohen's kappa of pairs with {rater} is "
                f"{decimals(far)}, and {decimals(near)} without."
            )
    return found


def _never_alike(categories: Sequence[CategoryEntry]) -> list[str]:
    found = [each for each in categories if each["n"] >= NEVER_ALIKE and not each["agreement"]]
    found.sort(key=lambda each: -each["n"])
    if not found:
        return []
    named = ", ".join(f"“{each['category']}” ({each['n']} ratings)" for each in found[:MOST_NAMED])
    more = f" and {len(found) - MOST_NAMED} more" if len(found) > MOST_NAMED else ""
    return [f"Never assigned to a unit by two raters: {named}{more}. Check how each rater understands the definition."]
