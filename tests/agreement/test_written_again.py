"""Every number of a summary is that of the formulas written once more (`written_again`), on tables drawn at random."""

import math
from collections import Counter
from typing import Any

import numpy as np
import pytest

from agreement import Clusters, Patterns, summary

from . import written_again as again

SETS = [frozenset(each) for each in ("a", "b", "ab", "abc", "")]
TREE = {"a": ("a",), "b": ("a", "b"), "c": ("a", "c"), "d": ("d",)}
KINDS: list[tuple[str, str, str | None, list[Any]]] = [
    ("single", "nominal", None, ["a", "b", "c", "d"]),
    ("single", "tree", None, ["a", "b", "c", "d"]),
    ("boolean", "nominal", None, ["false", "true"]),
    ("ordinal", "ordinal", "quadratic", ["low", "some", "high", "worst", "PENDING"]),
    ("ordinal", "interval", "linear", ["low", "some", "high", "worst", "PENDING"]),
    ("ordinal", "nominal", "custom", ["low", "some", "high", "worst", "PENDING"]),
    ("number", "interval", "quadratic", [-3.0, 1.0, 2.0, 2.5, 10.0]),
    ("number", "ratio", "linear", [0.0, 1.0, 2.0, 2.5, 10.0]),
    ("multi", "masi", None, SETS),
    ("multi", "jaccard", None, SETS),
]
FIXED = {
    "scale": ["low", "some", "high", "worst"],
    "weights": [[1, 0.9, 0.3, 0], [0.9, 1, 0.5, 0.2], [0.3, 0.5, 1, 0.7], [0, 0.2, 0.7, 1]],
}


RARE = 5
"""The seed with which one rating of all is in another category."""


THRESHOLD = 0.7


def drawn(categories: list[Any], seed: int) -> tuple[list[str], list[list[list[Any]]]]:
    """Raters, and for each item its units as rows of values: alike more often than not, with gaps."""
    draw = np.random.default_rng(seed)
    raters, items = [f"R{each + 1}" for each in range(2 + seed % 3)], []
    for _ in range(25):
        units = []
        for _ in range(1 + int(draw.random() < 0.2)):
            common = int(draw.integers(len(categories)))
            likes = draw.random(len(raters))
            others = draw.integers(len(categories), size=len(raters))
            row = [
                None if like > 0.9 else categories[common if like < 0.7 or seed == 3 else other]
                for like, other in zip(likes, others, strict=True)
            ]
            if seed == RARE:
                row = [categories[int(not items and place == 0)] for place in range(len(raters))]
            units.append(row if any(each is not None for each in row) else [categories[common]] * len(raters))
        items.append(units)
    return raters, items


@pytest.mark.parametrize("seed", [0, 1, 2, 3, RARE])
@pytest.mark.parametrize(("kind", "metric", "weights", "categories"), KINDS)
def test_a_summary_has_the_numbers_of_the_formulas_written_once_more(
    kind: str, metric: str, weights: str | None, categories: list[Any], seed: int
) -> None:
    raters, items = drawn(categories, seed)
    patterns = Patterns.from_table([row for own in items for row in own], raters=raters, categories=categories)
    if seed % 2 == 0:
        items = [[row] for own in items for row in own]
    several = [own for own in items if len(own) > 1]
    given: Any = weights
    if weights == "custom":
        given = again.weights_of({"weights": weights}, FIXED, categories)
    found = summary(
        patterns,
        kind=kind,
        metric=metric,
        weights=given,
        paths=TREE,
        apart=again.OFF_SCALE,
        thresholds=THRESHOLD,
        clusters=Clusters.of(patterns, several) if several else None,
    )
    entry = {"kind": kind, "metric": metric, "weights": weights}
    table = again.Table(patterns.values, patterns.counts.astype(float), categories, raters)
    place = {tuple(row): at for at, row in enumerate(patterns.values.tolist())}
    index = {None: -1, **{category: at for at, category in enumerate(categories)}}
    of_items = [Counter(place[tuple(index[value] for value in row)] for row in own) for own in items]
    clusters = [counted for counted in of_items if counted.total() > 1]
    check_coefficients(found, table, entry, of_items, clusters)
    check_parts(found, table, entry)


def check_coefficients(found: Any, table: Any, entry: Any, items: list[Any], clusters: list[Any]) -> None:
    every = again.coefficients_of(table, entry, FIXED, TREE)
    extended, n_added = again.with_added_units(table)
    smooth = again.coefficients_of(extended, entry, FIXED, TREE)
    assert [each["name"] for each in found["coefficients"]] == list(every)
    for each in found["coefficients"]:
        own = every[each["name"]]
        value = math.nan if own is None else own.value()
        if math.isnan(value):
            assert each["value"] is None and each["undefined"], each["name"]
            continue
        error = again.clustered_error(own, clusters) if clusters else own.error()
        bound = again.perfect_bound(own, items)
        interval = again.interval_of(own, smooth[each["name"]], n_added, clusters) if bound is None else (bound, 1.0)
        assert (each["value"], each["se"]) == pytest.approx((value, error), abs=1e-9), each["name"]
        assert (each["ci_low"], each["ci_high"]) == pytest.approx(interval or (None, None), abs=1e-9), each["name"]
        sure = each["p_threshold"]
        assert (sure is None) == (interval is None), each["name"]
        if sure is not None and 1e-6 < sure < 1 - 1e-6:
            limit = again.perfect_bound(own, items, sure)
            if limit is None:
                limit = again.interval_of(own, smooth[each["name"]], n_added, clusters, sure)[0]
            assert limit == pytest.approx(THRESHOLD, abs=1e-6), each["name"]


def check_parts(found: Any, table: Any, entry: Any) -> None:
    categories, pairs, cells = again.by_category(table), again.by_pair(table), again.confusion(table)
    assert {each["category"] for each in found["by_category"]} == set(categories)
    for each in found["by_category"]:
        for name, value in categories[each["category"]].items():
            assert each[name] == pytest.approx(value, abs=1e-9)
    assert {tuple(each["raters"]) for each in found["by_pair"]} == set(pairs)
    for each in found["by_pair"]:
        for name, value in pairs[tuple(each["raters"])].items():
            assert each[name] == pytest.approx(value, abs=1e-9)
    assert {(each["a"], each["b"]): each["n"] for each in found["confusion"]} == cells
    for each in found["confused_pairs"]:
        for name, value in again.confused_pair(table, entry, FIXED, TREE, each["a"], each["b"]).items():
            assert each[name] == (value if isinstance(value, str) else pytest.approx(value, abs=1e-9)), name
