"""Merged categories: what a coefficient would gain if two categories were one, and when that is defined."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from agreement.estimators import Estimator
from agreement.metrics import Metric, Paths, Weights
from agreement.patterns import NONE, Category, Patterns, category_label
from agreement.registry import ALPHA, COEFFICIENTS

Gain = tuple[float | None, str | None]
"""What is gained, or None with the reason as a sentence."""
Build = Callable[[Patterns, Paths | None], Estimator | str]
"""The estimator of a coefficient over some patterns and paths, or the reason why there is none."""

ORDERED = ("ordinal", "interval", "ratio")
SETS = ("masi", "jaccard")
ONE_LEFT = "Merged, they leave one category, so agreement beyond chance is undefined."


def merged(patterns: Patterns, a: int, b: int) -> Patterns:
    """The patterns with the category of index `b` under that of `a`, which stays in its place."""
    # One place more than there are categories: −1 looks itself up at the end.
    place = np.append(np.arange(len(patterns.categories), dtype=np.int32), np.int32(NONE))
    place[b + 1 : -1] -= 1
    place[b] = a
    categories = tuple(category for k, category in enumerate(patterns.categories) if k != b)
    return Patterns(place[patterns.values], patterns.counts, categories, patterns.raters)


def gains(
    patterns: Patterns,
    build: Build,
    *,
    coefficient: str = ALPHA,
    metric: Metric = "nominal",
    weights: Weights | None = None,
    paths: Paths | None = None,
    apart: Sequence[Category] = (),
) -> Callable[[int, int], Gain]:
    """A function of two categories (their indices, the smaller first): what the coefficient gains if they are one.

    It is None with a reason where the coefficient has no value, where the two are no neighbours on a scale that counts
    (levels in an order, a tree), and where what is compared are sets, of which no two become one.
    """
    before = _value(build(patterns, paths))
    by_metric, by_weights = (COEFFICIENTS[coefficient].takes == each for each in ("metric", "weights"))
    scale = [category for category in patterns.categories if category not in apart]

    def obstacle(a: Category, b: Category) -> str | None:
        if by_weights and weights is not None and not isinstance(weights, str):
            return "The weights of this dimension are its own and have none for a merged level."
        if by_metric and not isinstance(metric, str):
            return "The distances of this dimension are its own and have none for a merged category."
        if by_metric and metric in SETS:
            return "Two sets can't be merged. Raters confuse their members."
        if by_weights or (by_metric and metric in ORDERED):
            outside = next((each for each in (a, b) if each in apart), None)
            if outside is not None:
                return f"“{category_label(outside)}” is not on the scale."
            if scale.index(b) - scale.index(a) > 1:
                return "There are levels between them. Merged, they would not be on the scale."
        if by_metric and metric == "tree" and _merged_paths(paths or {}, a, b) is None:
            return "They are neither neighbors in the tree nor one above the other."
        return None

    def gain(first: int, second: int) -> Gain:
        a, b = patterns.categories[first], patterns.categories[second]
        if isinstance(before, str):
            return None, before
        if reason := obstacle(a, b):
            return None, reason
        if len(patterns.used_categories) == 2:
            return None, ONE_LEFT
        ways = _merged_paths(paths, a, b) if by_metric and metric == "tree" and paths is not None else paths
        after = _value(build(merged(patterns, first, second), ways))
        return (None, after) if isinstance(after, str) else (after - before, None)

    return gain


def _value(estimator: Estimator | str) -> float | str:
    if isinstance(estimator, str):
        return estimator
    return estimator.undefined() or estimator.point()


def _merged_paths(paths: Paths, a: Category, b: Category) -> Mapping[Any, Sequence[Hashable]] | None:
    """The paths with what is below either category below the upper one; None where they are in different places."""
    upper, lower = sorted((tuple(paths.get(each, (each,))) for each in (a, b)), key=len)
    if upper[:-1] != lower[:-1] and lower[: len(upper)] != upper:
        return None
    found = {}
    for category, path in paths.items():
        is_below = tuple(path[: len(lower)]) == lower
        found[category] = (*upper, *path[len(lower) :]) if is_below else tuple(path)
    return {**found, a: upper, b: upper}
