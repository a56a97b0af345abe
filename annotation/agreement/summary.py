"""Everything that is said about the agreement on one dimension, in the fields of the REST contract."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from .coefficients import RESAMPLES, Coefficient, alpha_estimator, measure
from .estimators import (
    BrennanPrediger,
    CongerKappa,
    Estimator,
    FleissKappa,
    GwetAC,
    PercentAgreement,
    TwoRaters,
)
from .metrics import Metric, distance_by_weights
from .pairs import by_category, by_pair, confusion
from .patterns import Patterns
from .tallies import Tallies

METRICS_BY_KIND: dict[str, tuple[str, ...]] = {
    "single": ("nominal",),
    "boolean": ("nominal",),
    "text": ("nominal",),
    "ordinal": ("ordinal", "nominal", "interval"),
    "number": ("interval", "ratio", "ordinal", "nominal"),
    "multi": ("masi", "jaccard", "nominal"),
}
"""The metrics of Krippendorff's alpha that suit each kind of dimension, the default first."""

SCALED_KINDS = ("ordinal", "number")
SCALE_WEIGHTS = "quadratic"

FEW_UNITS = 100
PREVALENCE_AGREEMENT = 0.7
PREVALENCE_GAP = 0.2
WIDE_INTERVAL = 0.2

TITLES = {
    "percent_agreement": "Percent agreement",
    "cohen_kappa": "Cohen's kappa",
    "weighted_kappa": "Weighted kappa",
    "scott_pi": "Scott's pi",
    "fleiss_kappa": "Fleiss' kappa",
    "conger_kappa": "Conger's kappa",
    "brennan_prediger": "Brennan-Prediger's coefficient",
    "krippendorff_alpha": "Krippendorff's alpha",
    "gwet_ac1": "Gwet's AC1",
    "gwet_ac2": "Gwet's AC2",
}


def summary(
    patterns: Patterns,
    *,
    kind: str,
    metric: Metric | None = None,
    resamples: int = RESAMPLES,
    seed: int = 0,
    left_out: int = 0,
) -> dict[str, Any]:
    """The JSON entry of one dimension without dimension, round and when: the ten coefficients, tables and warnings.

    `units` have at least two ratings, `ratings` are those in them, `raters` those who gave them, `categories` those
    used in them; units with one rating are added to `left_out`. Categories that nobody used are dropped first, so that
    q in Brennan-Prediger and AC1 is the number of categories used; an ordinal or number dimension keeps its whole scale
    for weighted kappa, AC2 and alpha. A set of a multi dimension is one category except to alpha and `by_category`.

    Raises ValueError for an unknown kind, or a metric by name that does not suit the kind.
    """
    if kind not in METRICS_BY_KIND:
        raise ValueError(f"{kind!r} is no kind of dimension; there are {', '.join(METRICS_BY_KIND)}.")
    suited = METRICS_BY_KIND[kind]
    metric = suited[0] if metric is None else metric
    if isinstance(metric, str) and metric not in suited:
        raise ValueError(f"The metric {metric!r} does not suit a {kind} dimension; there are {', '.join(suited)}.")
    whole = Tallies(patterns)
    used = whole if patterns.used() is patterns else Tallies(patterns.used())
    coefficients = measure(_estimators(whole, used, kind, metric), resamples=resamples, seed=seed)
    return {
        "metric": metric if isinstance(metric, str) else getattr(metric, "__name__", "custom"),
        "units": patterns.n_units,
        "raters": len(patterns.active),
        "ratings": patterns.n_ratings,
        "left_out": left_out + patterns.n_single,
        "categories": len(patterns.used_categories),
        "coefficients": [asdict(coefficient) for coefficient in coefficients],
        "by_category": by_category(patterns),
        "by_pair": by_pair(patterns),
        "confusion": confusion(patterns),
        "warnings": warnings(patterns, coefficients),
    }


def one_coefficient(
    patterns: Patterns,
    name: str,
    *,
    kind: str,
    metric: Metric | None = None,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Coefficient:
    """One of the ten coefficients as `summary` has it, without the work for the others; for trends."""
    whole = Tallies(patterns)
    used = whole if patterns.used() is patterns else Tallies(patterns.used())
    estimators = _estimators(whole, used, kind, metric or METRICS_BY_KIND[kind][0])
    return measure([each for each in estimators if each[0] == name], resamples=resamples, seed=seed)[0]


def _estimators(whole: Tallies, used: Tallies, kind: str, metric: Metric) -> list[tuple[str, Estimator | str]]:
    weighted: TwoRaters | str
    ac2: GwetAC | str
    if kind in SCALED_KINDS:
        distance = distance_by_weights(SCALE_WEIGHTS, whole.patterns.categories)
        weighted = TwoRaters(whole, distance, called=TITLES["weighted_kappa"])
        ac2 = GwetAC(whole, distance)
    else:
        weighted, ac2 = (
            f"{TITLES[name]} needs categories in an order or numbers; this dimension is of kind {kind}."
            for name in ("weighted_kappa", "gwet_ac2")
        )
    return [
        ("percent_agreement", PercentAgreement(used)),
        ("cohen_kappa", TwoRaters(used)),
        ("weighted_kappa", weighted),
        ("scott_pi", TwoRaters(used, called=TITLES["scott_pi"], pooled=True)),
        ("fleiss_kappa", FleissKappa(used)),
        ("conger_kappa", CongerKappa(used)),
        ("brennan_prediger", BrennanPrediger(used)),
        ("krippendorff_alpha", alpha_estimator(whole, metric)),
        ("gwet_ac1", GwetAC(used)),
        ("gwet_ac2", ac2),
    ]


def warnings(patterns: Patterns, coefficients: Sequence[Coefficient]) -> list[str]:
    """What a reader of the numbers should know, as sentences: few units, one category, prevalence, wide interval."""
    if not patterns.n_units:
        return ["No unit was rated by two raters, so nothing can be said about agreement yet."]
    found = []
    intervals = {coefficient.name: coefficient for coefficient in coefficients}
    values = {coefficient.name: coefficient.value for coefficient in coefficients if coefficient.value is not None}
    if patterns.n_units <= FEW_UNITS:
        counted = "1 unit carries" if patterns.n_units == 1 else f"{patterns.n_units} units carry"
        found.append(
            f"Only {counted} at least two ratings; intervals from so few tend to be too narrow, above all where "
            "agreement is high."
        )
    if len(patterns.used_categories) == 1:
        found.append(
            "All compared ratings fall into one category; agreement beyond chance cannot be told from such data."
        )
    kappa = "cohen_kappa" if "cohen_kappa" in values else "fleiss_kappa"
    if {kappa, "percent_agreement", "gwet_ac1"} <= values.keys():
        percent, value, ac1 = values["percent_agreement"], values[kappa], values["gwet_ac1"]
        if percent >= PREVALENCE_AGREEMENT and ac1 - value >= PREVALENCE_GAP:
            found.append(
                f"Raters agree on {percent:.0%}, yet {TITLES[kappa]} is {value:.2f} where Gwet's AC1 is {ac1:.2f}: "
                "one category prevails, which pulls kappa down. Report both."
            )
    for name in ("krippendorff_alpha", kappa):
        wide = intervals.get(name)
        if wide and wide.ci_low is not None and wide.ci_high is not None and wide.ci_high - wide.ci_low > WIDE_INTERVAL:
            found.append(
                f"The 95 % interval of {TITLES[name]} is wide ({wide.ci_low:.2f} to {wide.ci_high:.2f}): "
                "more units rated twice would narrow it."
            )
            break
    return found
