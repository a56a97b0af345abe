"""Registry of the coefficients: one entry each, from which pages, REST, commands, papers, and packages derive.

A new coefficient is an estimator (`estimators.py`) and an entry of `COEFFICIENTS`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from agreement.estimators import (
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
from agreement.metrics import (
    Distance,
    Metric,
    Paths,
    Weights,
    distance_by_metric,
    distance_by_weights,
    scores_of,
    weights_over,
)
from agreement.patterns import Category, Patterns
from agreement.tallies import Tallies
from agreement.variables import VARIABLES

FREE_TEXT = "Free text has no agreement coefficient, because nobody writes the same text twice."
NEGATIVE = "The ratio metric needs numbers of 0 or more, and there are numbers below 0. Choose the interval metric."
CATEGORIES_MAX = 3_000
"""Different values that are compared with each other: a coefficient takes memory for each two of them."""
TOO_MANY = (
    f"There are {{n:,}} different values, and a coefficient compares at most {CATEGORIES_MAX:,} with each other. Round "
    "the numbers, or ask for fewer rounds."
)
ALPHA = "krippendorff_alpha"
"""The coefficient of a dimension for which none was chosen."""


@dataclass(frozen=True, eq=False)
class Setting:
    """What an estimator is built from: the ratings of a dimension, and how far apart its categories are.

    `weights` is None where the kind of dimension has no order and nobody gave a matrix. Ratings in the categories
    `unplaced` (indices) have no place in the metric. `apart` are categories outside the scale that weights go by.
    """

    patterns: Patterns
    kind: str
    metric: Metric
    weights: Weights | None
    paths: Paths | None
    apart: Sequence[Category]
    unplaced: Sequence[int]

    @cached_property
    def whole(self) -> Tallies:
        """The ratings over all categories, used or not."""
        return Tallies(self.patterns)

    @cached_property
    def used(self) -> Tallies:
        """The ratings over the categories that someone used."""
        found = self.patterns.used()
        return self.whole if found is self.patterns else Tallies(found)

    @cached_property
    def placed(self) -> Tallies:
        """The ratings that the metric has a place for."""
        return Tallies(self.patterns, self.unplaced) if self.unplaced else self.whole

    @property
    def is_beyond_ratio(self) -> bool:
        """Whether the metric is the ratio metric and a rating is a number below 0."""
        is_ratio = isinstance(self.metric, str) and self.metric == "ratio"
        return is_ratio and bool(scores_of(self.patterns.categories).min(initial=0) < 0)

    @cached_property
    def weighting(self) -> Distance:
        """The distance of weights by name over the scale alone, or of a matrix over all categories."""
        weights, categories = self.weights, self.patterns.categories
        if weights is None:
            raise ValueError(f"A dimension of kind {self.kind} has no weights.")
        scale = [category for category in categories if category not in self.apart]
        if not isinstance(weights, str) or len(scale) == len(categories):
            return distance_by_weights(weights, categories)
        every = np.arange(len(scale))
        cells = 1 - distance_by_weights(weights, scale).pairwise(every[:, None], every[None, :])
        over_all = weights_over(np.clip(cells, 0, 1), scale, categories, apart=self.apart)
        return distance_by_weights(over_all, categories)


@dataclass(frozen=True)
class CoefficientSpec:
    """A coefficient: what it is called and explained by, what it needs, how it is computed, where it comes from."""

    name: str
    """The name in REST, files and settings."""
    title: str
    symbol: str
    """As a paper prints it, within a sentence."""
    chance: str
    """What the coefficient takes chance to be, in words."""
    build: Callable[[Setting], Estimator]
    source: str
    tests: tuple[str, ...]
    """The published tables that test it: names in tests/agreement/cases/."""
    takes: Literal["equality", "metric", "weights"] = "equality"
    """How far apart two categories are: equal or not, by the dimension's metric, or by weights, which need an order."""
    is_of_two: bool = False
    """Whether it is defined for exactly two raters."""
    scales: tuple[str, ...] = ("landis_koch",)
    """The benchmark scales whose words suit its values, the first one first (`benchmarks.SCALES`)."""

    @property
    def needs_order(self) -> bool:
        return self.takes == "weights"

    @property
    def title_within(self) -> str:
        """The title inside a sentence: `weighted kappa`, `Cohen's kappa`."""
        return self.symbol[0] + self.title[1:]

    def named(self, name: str, *, metric: str, weights: str | None) -> str:
        """A name of the coefficient, with the metric (in words) or the weights that it goes by."""
        if self.takes == "metric":
            return f"{name} ({metric})"
        if self.takes == "weights" and weights:
            return f"{name} ({weights} weights)"
        return name

    def estimator(self, setting: Setting) -> Estimator | str:
        """The estimator, or the reason why the dimension has none."""
        if not VARIABLES[setting.kind].has_coefficients:
            return FREE_TEXT
        if self.needs_order and setting.weights is None:
            return f"{self.title} needs categories in an order or numbers; this dimension is of kind {setting.kind}."
        if (n := len(setting.patterns.categories)) > CATEGORIES_MAX:
            return TOO_MANY.format(n=n)
        if self.takes == "metric" and setting.is_beyond_ratio:
            return NEGATIVE
        return self.build(setting)


def alpha_estimator(tallies: Tallies, metric: Metric, paths: Paths | None = None) -> Estimator:
    """Krippendorff's alpha with a metric by name, function or matrix; the metric "tree" needs the categories' paths."""
    if isinstance(metric, str) and metric == "ordinal":
        return OrdinalAlpha(tallies)
    return KrippendorffAlpha(tallies, distance_by_metric(metric, tallies.patterns.categories, paths))


COEFFICIENTS: dict[str, CoefficientSpec] = {
    each.name: each
    for each in (
        CoefficientSpec(
            "percent_agreement",
            "Percent agreement",
            "percent agreement",
            "share of pairs of ratings that are equal, without correction for chance",
            lambda of: PercentAgreement(of.used),
            "Gwet 2014, ch. 2",
            ("gwet_r_readme",),
            scales=(),
        ),
        CoefficientSpec(
            "cohen_kappa",
            "Cohen's kappa",
            "Cohen’s κ",
            "two raters; chance by each rater’s own distribution",
            lambda of: TwoRaters(of.used),
            "Cohen 1960, doi:10.1177/001316446002000104",
            ("cohen_kappa",),
            is_of_two=True,
        ),
        CoefficientSpec(
            "weighted_kappa",
            "Weighted kappa",
            "weighted κ",
            "like Cohen’s, with partial credit for near misses",
            lambda of: TwoRaters(of.whole, of.weighting, called="Weighted kappa"),
            "Cohen 1968, doi:10.1037/h0026256",
            ("cohen_kappa",),
            takes="weights",
            is_of_two=True,
        ),
        CoefficientSpec(
            "scott_pi",
            "Scott's pi",
            "Scott’s π",
            "two raters; chance by the pooled distribution",
            lambda of: TwoRaters(of.used, called="Scott's pi", pooled=True),
            "Scott 1955, doi:10.1086/266577",
            ("cohen_kappa", "gwet_r_readme"),
            is_of_two=True,
        ),
        CoefficientSpec(
            "fleiss_kappa",
            "Fleiss' kappa",
            "Fleiss’ κ",
            "any number of raters; chance by the pooled distribution",
            lambda of: FleissKappa(of.used),
            "Fleiss 1971, doi:10.1037/h0031619",
            ("fleiss", "gwet_raw"),
        ),
        CoefficientSpec(
            "conger_kappa",
            "Conger's kappa",
            "Conger’s κ",
            "any number of raters; chance by each rater’s own distribution",
            lambda of: CongerKappa(of.used),
            "Conger 1980, doi:10.1037/0033-2909.88.2.322",
            ("gwet_raw",),
        ),
        CoefficientSpec(
            "brennan_prediger",
            "Brennan-Prediger's coefficient",
            "Brennan-Prediger κ",
            "chance: all categories equally likely",
            lambda of: BrennanPrediger(of.used),
            "Brennan and Prediger 1981, doi:10.1177/001316448104100307",
            ("randolph_free_marginal", "gwet_raw"),
        ),
        CoefficientSpec(
            ALPHA,
            "Krippendorff's alpha",
            "Krippendorff’s α",
            "any number of raters, missing ratings allowed; chance by random pairing of all ratings",
            lambda of: alpha_estimator(of.placed, of.metric, of.paths),
            "Krippendorff 2011, Computing Krippendorff's Alpha-Reliability",
            ("krippendorff",),
            takes="metric",
            scales=("krippendorff", "landis_koch"),
        ),
        CoefficientSpec(
            "gwet_ac1",
            "Gwet's AC1",
            "Gwet’s AC1",
            "chance only for ratings made by guessing; stable when one category prevails",
            lambda of: GwetAC(of.used),
            "Gwet 2008, doi:10.1348/000711006X126600",
            ("gwet_raw",),
        ),
        CoefficientSpec(
            "gwet_ac2",
            "Gwet's AC2",
            "Gwet’s AC2",
            "like AC1, with partial credit for near misses",
            lambda of: GwetAC(of.whole, of.weighting),
            "Gwet 2014, ch. 3",
            ("gwet_raw",),
            takes="weights",
        ),
    )
}
"""By name, in the order in which they are listed everywhere."""
