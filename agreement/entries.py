"""Entries of a report on agreement: what `summary` and its tables contain, in the names of the REST contract."""

from __future__ import annotations

from typing import TypedDict


class BenchmarkWord(TypedDict):
    """The word of a scale for a coefficient, and the best one of which its whole 95% interval is."""

    scale: str
    word: str
    earned: str | None


class CoefficientEntry(TypedDict):
    """A coefficient with its interval, the confidence of reaching its threshold, and words; None: undefined."""

    name: str
    value: float | None
    se: float | None
    ci_low: float | None
    ci_high: float | None
    ci_method: str | None
    ci_undefined: str | None
    undefined: str | None
    p_threshold: float | None
    words: list[BenchmarkWord]


class CategoryEntry(TypedDict):
    """The agreement specific to a category; see `by_category`."""

    category: str
    agreement: float
    n: int
    positive: float
    negative: float | None
    prevalence: float | None
    bias: float | None
    pabak: float | None
    undefined: str | None


class PairNumbers(TypedDict):
    """How far two series of ratings agree on the `n` units that both have."""

    cohen_kappa: float | None
    percent_agreement: float
    n: int
    undefined: str | None


class PairEntry(PairNumbers):
    """Two raters."""

    raters: list[str]


class RaterEntry(PairNumbers):
    """A rater against a reference, or against themselves at another time."""

    rater: str


class ConfusionEntry(TypedDict):
    """How often two categories were given to one unit."""

    a: str
    b: str
    n: int


class ConfusedPairEntry(ConfusionEntry):
    """Two categories that raters differ on, and what a coefficient would gain if they were one; `confused_pairs`."""

    share: float
    coefficient: str
    gain: float | None
    percent_gain: float
    undefined: str | None


class SummaryEntry(TypedDict):
    """The agreement on one dimension; see `summary`."""

    metric: str
    weights: str | None
    units: int
    raters: int
    ratings: int
    left_out: int
    categories: int
    coefficients: list[CoefficientEntry]
    by_category: list[CategoryEntry]
    by_pair: list[PairEntry]
    confusion: list[ConfusionEntry]
    confused_pairs: list[ConfusedPairEntry]
    warnings: list[str]
