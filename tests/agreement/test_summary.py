"""The entry of one dimension, as the REST contract lists it."""

import json

import numpy as np
import pytest

import agreement
from agreement import COEFFICIENTS, VARIABLES, Patterns, summary
from agreement.coefficients import Coefficient
from agreement.summary import warnings

FIELDS = [
    "metric", "weights", "units", "raters", "ratings", "left_out", "categories",
    "coefficients", "by_category", "by_pair", "confusion", "confused_pairs", "warnings",
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
        assert list(coefficient) == [
            "name", "value", "se", "ci_low", "ci_high", "ci_method", "ci_undefined", "undefined",
            "p_threshold", "words",
        ]  # fmt: skip
    assert json.loads(json.dumps(entry, allow_nan=False)) == entry


def test_an_entry_says_what_it_rests_on():
    entry = summary(TWO, kind="single", intervals=False, left_out=2)
    assert (entry["units"], entry["ratings"], entry["raters"], entry["categories"]) == (114, 228, 2, 3)
    assert entry["left_out"] == 5


def test_without_intervals_there_are_values_but_no_intervals():
    kappa = next(c for c in summary(TWO, kind="single", intervals=False)["coefficients"] if c["name"] == "cohen_kappa")
    assert kappa["value"] is not None
    assert kappa["ci_low"] is kappa["ci_method"] is None


@pytest.mark.parametrize("kind", [kind for kind, each in VARIABLES.items() if each.has_coefficients])
def test_each_kind_has_its_metric(kind: str):
    sets = Patterns.from_table([[{"a"}, {"a", "b"}], [{"b"}, {"b"}], [{"a"}, {"a"}]])
    numbers = Patterns.from_table([[1, 2], [3, 3], [2, 2]])
    patterns = sets if kind == "multi" else numbers
    for metric in (None, *VARIABLES[kind].metrics):
        entry = summary(patterns, kind=kind, metric=metric, paths={}, intervals=False)
        assert entry["metric"] == (metric or VARIABLES[kind].metrics[0])
        expected = agreement.krippendorff_alpha(patterns, entry["metric"], paths={}, intervals=False).value
        assert next(c for c in entry["coefficients"] if c["name"] == "krippendorff_alpha")["value"] == expected


def test_the_confidence_of_reaching_a_threshold_is_told_for_the_coefficients_it_was_fixed_for():
    def told(thresholds) -> dict[str, float]:
        entry = summary(TWO, kind="single", thresholds=thresholds)
        return {c["name"]: c["p_threshold"] for c in entry["coefficients"] if c["p_threshold"] is not None}

    assert told(None) == {}
    assert list(told({"cohen_kappa": 0.8})) == ["cohen_kappa"]
    assert set(told(0.8)) == set(COEFFICIENTS) - {"weighted_kappa", "gwet_ac2"}
    assert told(0.99)["cohen_kappa"] < 0.05 < 0.95 < told(0.5)["cohen_kappa"]


@pytest.mark.parametrize("n", [30, 50, 200])
@pytest.mark.parametrize("n_raters", [2, 3])
def test_what_is_said_of_a_threshold_or_a_word_follows_from_the_interval_that_is_printed(n: int, n_raters: int) -> None:
    said = []
    for seed in range(25):
        rng = np.random.default_rng(seed)
        truth, size = rng.integers(2, size=n), (n_raters, n)
        rows = np.where(rng.random(size) < 0.9 if seed else True, truth, rng.integers(2, size=size)).T
        entry = summary(Patterns.from_table(rows.tolist()), kind="boolean", thresholds=0.8)
        for each in entry["coefficients"]:
            if each["ci_low"] is not None:
                least = 0.95 if each["ci_method"] == agreement.EXACT else 0.975
                assert (each["p_threshold"] >= least) == (each["ci_low"] >= 0.8), each
                for word in each["words"]:
                    bounds = {name: bound for bound, name in agreement.SCALES[word["scale"]]}
                    assert word["earned"] is None or bounds[word["earned"]] <= each["ci_low"], each
                said.append(each["ci_low"] >= 0.8)
    assert 0 < sum(said) < len(said) or n < 200


def test_every_coefficient_with_a_value_has_its_word_beside_it():
    entry = summary(TWO, kind="single", intervals=False)
    scales = {c["name"]: [each["scale"] for each in c["words"]] for c in entry["coefficients"]}
    assert scales.pop("krippendorff_alpha") == ["krippendorff", "landis_koch"]
    assert scales.pop("percent_agreement") == scales.pop("weighted_kappa") == scales.pop("gwet_ac2") == []
    assert all(each == ["landis_koch"] for each in scales.values())


def test_categories_nobody_used_stay_in_the_scale_and_leave_the_nominal_coefficients():
    rows = [(("low", "low"), 5), (("low", "high"), 2), (("high", "high"), 6)]
    scale = Patterns.from_counts(rows, categories=["low", "middle", "high", "highest"])
    used = Patterns.from_counts(rows, categories=["low", "high"])
    whole, short = (
        {c["name"]: c["value"] for c in summary(patterns, kind="ordinal", intervals=False)["coefficients"]}
        for patterns in (scale, used)
    )
    assert whole["brennan_prediger"] == short["brennan_prediger"]
    assert whole["gwet_ac1"] == short["gwet_ac1"]
    assert whole["gwet_ac2"] != short["gwet_ac2"]
    assert whole["gwet_ac2"] == agreement.gwet_ac2(scale, intervals=False).value


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


def told(n: int = 1000, **values: float | tuple[float, float]) -> list[str]:
    """The warnings for so many units, two categories, and coefficients with these values or intervals."""
    rated = Patterns.from_counts([(("a", "a"), n - n // 2), (("b", "b"), n // 2)])
    made = [
        Coefficient(name, sum(each) / 2, ci_low=each[0], ci_high=each[1])
        if isinstance(each, tuple)
        else Coefficient(name, each)
        for name, each in values.items()
    ]
    return warnings(rated, made)


@pytest.mark.parametrize(("n", "is_told"), [(29, True), (30, False)])
def test_fewer_than_30_units_are_few(n: int, is_told: bool):
    found = told(n)
    assert len(found) == is_told and all(each.startswith(f"Only {n} units") for each in found)


@pytest.mark.parametrize(
    ("percent", "ac1", "is_told"),
    [(0.9, 0.71, True), (0.9, 0.69, False), (0.71, 0.9, True), (0.69, 0.9, False)],
    ids=["a gap of 0.21", "a gap of 0.19", "71 percent agree", "69 percent agree"],
)
def test_a_prevailing_category_is_warned_of_from_70_percent_and_a_gap_of_0_2(percent: float, ac1: float, is_told: bool):
    found = told(percent_agreement=percent, cohen_kappa=0.5, gwet_ac1=ac1)
    assert [each.partition(",")[0] for each in found] == ([f"Raters agree on {percent:.0%}"] if is_told else [])


@pytest.mark.parametrize(("high", "is_told"), [(0.71, True), (0.69, False)])
def test_an_interval_of_more_than_0_2_is_wide(high: float, is_told: bool):
    found = told(krippendorff_alpha=(0.5, high))
    assert len(found) == is_told and all("is wide (95% CI [0.50, 0.71])" in each for each in found)


@pytest.mark.parametrize(
    ("far", "n", "n_small", "is_told"),
    [
        (0.59, 50, 0, True),
        (0.61, 50, 0, False),
        (0.59, 49, 0, False),
        (0.59, 40, 20, True),
        (0.59, 41, 19, False),
    ],
    ids=["a gap of 0.21", "a gap of 0.19", "98 units", "a pair of 20 units counts", "a pair of 19 does not"],
)
def test_a_rater_is_far_from_a_gap_of_0_2_on_100_units_and_pairs_of_20(far: float, n: int, n_small: int, is_told: bool):
    """R4 has two pairs with n units and a third with n_small; the other three have 300 units in common."""
    pairs = [{"raters": pair.split(), "cohen_kappa": 0.8, "n": 100} for pair in ("R1 R2", "R1 R3", "R2 R3")]
    pairs += [
        {"raters": [other, "R4"], "cohen_kappa": far, "n": each}
        for other, each in zip(("R1", "R2", "R3"), (n, n, n_small), strict=True)
    ]
    rated = Patterns.from_counts([(("a", "a"), 500), (("b", "b"), 500)])
    assert [each.split()[0] for each in warnings(rated, [], pairs)] == (["R4"] if is_told else [])


def test_one_category_is_warned_of():
    alike = Patterns.from_counts([(("a", "a"), 80)])
    assert any("one category" in warning for warning in summary(alike, kind="single")["warnings"])


def three(disturbed: float, n: int) -> Patterns:
    """Three raters of whom the third names another category as often as `disturbed`, the others in 1 of 10."""
    rng = np.random.default_rng(4)
    true = rng.integers(0, 4, n)
    raters = [np.where(rng.random(n) < share, rng.integers(0, 4, n), true) for share in (0.1, 0.1, disturbed)]
    return Patterns.from_table(np.stack(raters, axis=1).tolist())


@pytest.mark.parametrize(
    ("disturbed", "n", "is_told"),
    [(0.6, 300, True), (0.1, 300, False), (0.6, 60, False)],
    ids=["far", "near", "too few units to say"],
)
def test_a_rater_far_from_the_others_is_warned_of(disturbed: float, n: int, is_told: bool):
    told = [
        each
        for each in summary(three(disturbed, n), kind="single", intervals=False)["warnings"]
        if "differs from" in each
    ]
    assert [each.split()[0] for each in told] == (["R3"] if is_told else [])


def test_two_raters_are_never_far_from_the_others():
    apart = Patterns.from_counts([(("a", "b"), 200), (("b", "a"), 200), (("a", "a"), 10)])
    assert not any("differs from" in each for each in summary(apart, kind="single", intervals=False)["warnings"])


@pytest.mark.parametrize(("n", "alike", "is_told"), [(5, 0, True), (4, 0, False), (5, 1, False)])
def test_a_category_never_used_alike_is_warned_of(n: int, alike: int, is_told: bool):
    rows = [(("a", "a"), 150), (("b", "b"), 80), (("odd", "a"), n), (("odd", "odd"), alike)]
    for kind, told in (("single", is_told), ("text", False)):
        found = summary(Patterns.from_counts(rows), kind=kind, intervals=False)["warnings"]
        assert any("“odd” (5 ratings)" in each for each in found) is told


def test_what_costs_most_agreement_stands_in_an_entry_but_for_free_numbers_and_texts():
    assert summary(TWO, kind="single", intervals=False)["confused_pairs"] == agreement.confused_pairs(TWO)
    assert summary(TWO, kind="text", intervals=False)["confused_pairs"] == []
