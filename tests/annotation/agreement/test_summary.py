"""The entry of one dimension, as the REST contract lists it."""

import json

import pytest

from annotation import agreement
from annotation.agreement import COEFFICIENTS, METRICS_BY_KIND, Patterns, summary

FIELDS = [
    "metric", "units", "raters", "ratings", "left_out", "categories",
    "coefficients", "by_category", "by_pair", "confusion", "warnings",
]  # fmt: skip
TWO = Patterns.from_counts(
    [(("a", "a"), 60), (("a", "b"), 4), (("b", "b"), 40), (("c", "c"), 10), (("c", None), 3)],
    raters=["R1", "R2"],
    categories=["a", "b", "c", "never"],
)


def test_an_entry_has_the_fields_of_the_contract_and_all_ten_coefficients():
    entry = summary(TWO, kind="single", left_out=2)
    assert list(entry) == FIELDS
    assert [coefficient["name"] for coefficient in entry["coefficients"]] == list(COEFFICIENTS)
    for coefficient in entry["coefficients"]:
        assert list(coefficient) == ["name", "value", "se", "ci_low", "ci_high", "ci_method", "undefined"]
    assert json.loads(json.dumps(entry, allow_nan=False)) == entry


def test_an_entry_says_what_it_rests_on():
    entry = summary(TWO, kind="single", resamples=0, left_out=2)
    assert (entry["units"], entry["ratings"], entry["raters"], entry["categories"]) == (114, 228, 2, 3)
    assert entry["left_out"] == 5


def test_without_resamples_there_are_values_but_no_intervals():
    kappa = next(c for c in summary(TWO, kind="single", resamples=0)["coefficients"] if c["name"] == "cohen_kappa")
    assert kappa["value"] is not None
    assert kappa["ci_low"] is kappa["ci_method"] is None


@pytest.mark.parametrize("kind", METRICS_BY_KIND)
def test_each_kind_has_its_metric(kind: str):
    sets = Patterns.from_table([[{"a"}, {"a", "b"}], [{"b"}, {"b"}], [{"a"}, {"a"}]])
    numbers = Patterns.from_table([[1, 2], [3, 3], [2, 2]])
    patterns = sets if kind == "multi" else numbers
    for metric in (None, *METRICS_BY_KIND[kind]):
        entry = summary(patterns, kind=kind, metric=metric, resamples=0)
        assert entry["metric"] == (metric or METRICS_BY_KIND[kind][0])
        expected = agreement.krippendorff_alpha(patterns, entry["metric"], resamples=0).value
        assert next(c for c in entry["coefficients"] if c["name"] == "krippendorff_alpha")["value"] == expected


def test_categories_nobody_used_stay_in_the_scale_and_leave_the_nominal_coefficients():
    rows = [(("low", "low"), 5), (("low", "high"), 2), (("high", "high"), 6)]
    scale = Patterns.from_counts(rows, categories=["low", "middle", "high", "highest"])
    used = Patterns.from_counts(rows, categories=["low", "high"])
    whole, short = (
        {c["name"]: c["value"] for c in summary(patterns, kind="ordinal", resamples=0)["coefficients"]}
        for patterns in (scale, used)
    )
    assert whole["brennan_prediger"] == short["brennan_prediger"]
    assert whole["gwet_ac1"] == short["gwet_ac1"]
    assert whole["gwet_ac2"] != short["gwet_ac2"]
    assert whole["gwet_ac2"] == agreement.gwet_ac2(scale, resamples=0).value


def test_a_prevailing_category_is_warned_of():
    skewed = Patterns.from_counts([(("no", "no"), 180), (("no", "yes"), 9), (("yes", "no"), 9), (("yes", "yes"), 2)])
    assert any("prevails" in warning for warning in summary(skewed, kind="boolean")["warnings"])
    assert not any("prevails" in warning for warning in summary(TWO, kind="single")["warnings"])


def test_few_units_and_a_wide_interval_are_warned_of():
    few = Patterns.from_counts([(("a", "a"), 8), (("a", "b"), 4), (("b", "b"), 8)])
    warnings = summary(few, kind="single")["warnings"]
    assert any("Only 20 units" in warning for warning in warnings)
    assert any("wide" in warning for warning in warnings)
    assert summary(TWO, kind="single")["warnings"] == []


def test_one_category_is_warned_of():
    alike = Patterns.from_counts([(("a", "a"), 80)])
    assert any("one category" in warning for warning in summary(alike, kind="single")["warnings"])
