"""A value that is undefined is None with its reason: never NaN, 0 or 1."""

import json
import math
from dataclasses import asdict

import pytest
from hypothesis import given

import agreement
from agreement import COEFFICIENTS, VARIABLES, Clusters, Patterns, summary

from .tables import QUICK, Table, rating_tables

EMPTY = Patterns.from_table([], raters=["R1", "R2"])


def by_name(entry: dict) -> dict[str, dict]:
    return {coefficient["name"]: coefficient for coefficient in entry["coefficients"]}


def assert_undefined(coefficient: dict, *words: str) -> None:
    assert coefficient["value"] is None
    assert all(coefficient[key] is None for key in ("se", "ci_low", "ci_high", "ci_method", "ci_undefined"))
    assert coefficient["undefined"].endswith(".")
    for word in words:
        assert word in coefficient["undefined"]


@pytest.mark.parametrize("kind", [kind for kind, each in VARIABLES.items() if each.has_coefficients])
@pytest.mark.parametrize(
    "patterns",
    [
        EMPTY,
        Patterns.from_table([]),
        Patterns.from_table([["a", None], [None, "b"]], categories=["a", "b"]),
        Patterns.from_table([["a"], ["b"]]),
    ],
    ids=["nothing", "no raters", "single ratings", "one rater"],
)
def test_without_a_unit_rated_twice_all_ten_say_so(patterns: Patterns, kind: str):
    if kind == "multi":
        patterns = Patterns(
            patterns.values, patterns.counts, tuple(map(frozenset, patterns.categories)), patterns.raters
        )
    entry = summary(patterns, kind=kind)
    assert [coefficient["name"] for coefficient in entry["coefficients"]] == list(COEFFICIENTS)
    for coefficient in entry["coefficients"]:
        assert_undefined(coefficient)
    assert "No unit was rated by two raters." in by_name(entry)["krippendorff_alpha"]["undefined"]
    assert entry["units"] == entry["ratings"] == entry["categories"] == 0
    assert entry["by_category"] == entry["by_pair"] == entry["confusion"] == []
    assert len(entry["warnings"]) == 1


@pytest.mark.parametrize("kind", ["single", "ordinal", "boolean"])
def test_with_one_category_used_only_percent_agreement_has_a_value(kind: str):
    patterns = Patterns.from_counts([(("yes", "yes"), 40), ((None, "yes"), 2)], categories=["no", "yes"])
    found = by_name(summary(patterns, kind=kind))
    assert found.pop("percent_agreement")["value"] == 1.0
    for coefficient in found.values():
        assert_undefined(coefficient)
    for name in set(found) - {"weighted_kappa", "gwet_ac2"}:
        assert_undefined(found[name], "Every compared rating", "yes")


def test_cohen_scott_and_weighted_kappa_send_three_raters_to_the_pairs():
    found = by_name(summary(Patterns.from_table([[1, 2, 1], [2, 2, 2], [1, 1, 3]]), kind="ordinal"))
    for name in ("cohen_kappa", "weighted_kappa", "scott_pi"):
        assert_undefined(found[name], "exactly two raters", "3", "pairs")
    assert all(found[name]["value"] is not None for name in set(found) - {"cohen_kappa", "weighted_kappa", "scott_pi"})


def test_a_third_rater_who_never_met_another_does_not_undo_cohens_kappa():
    pair = [["a", "a", None], ["a", "b", None], ["b", "b", None]]
    alone = [[None, None, "a"], [None, None, "b"]]
    kappa = agreement.cohen_kappa(Patterns.from_table(pair + alone), intervals=False)
    assert kappa == agreement.cohen_kappa(Patterns.from_table([row[:2] for row in pair]), intervals=False)


def test_free_text_has_no_coefficient_but_the_reason():
    found = summary(Patterns.from_table([["why", "why"], ["so", "because"]] * 20), kind="text")
    for each in found["coefficients"]:
        assert_undefined(each, "Free text has no agreement coefficient")
    assert [found[name] for name in ("by_category", "by_pair", "confused_pairs", "warnings")] == [[], [], [], []]
    assert found["units"] == 40


@pytest.mark.parametrize("kind", ["single", "boolean", "multi"])
def test_weighted_coefficients_need_an_order(kind: str):
    values = [frozenset("a"), frozenset("b")] if kind == "multi" else ["a", "b"]
    found = by_name(summary(Patterns.from_table([values, values[:1] * 2]), kind=kind))
    for name in ("weighted_kappa", "gwet_ac2"):
        assert_undefined(found[name], "order", kind)


CONSTANT = Patterns.from_counts([(("no", "no"), 41), (("no", "yes"), 6), (("no", "maybe"), 3)])


@pytest.mark.parametrize("name", ["cohen_kappa", "weighted_kappa", "conger_kappa"])
def test_kappa_is_undefined_where_one_of_two_raters_used_one_category_only(name: str):
    found = getattr(agreement, name)(CONSTANT)
    assert_undefined(asdict(found), "R1", "“no”", "0 whatever the other")
    assert agreement.scott_pi(CONSTANT).value < 0


def test_a_pair_in_which_one_used_one_category_only_has_no_kappa():
    (pair,) = agreement.by_pair(CONSTANT)
    assert pair["cohen_kappa"] is None
    assert pair["percent_agreement"] == 0.82
    assert "R1 used “no” only" in pair["undefined"]


def test_congers_kappa_with_gaps_keeps_its_value_where_one_rater_used_one_category():
    gaps = Patterns.from_counts([(("no", "no"), 41), (("no", "yes"), 6), ((None, "yes"), 9)])
    assert agreement.conger_kappa(gaps, intervals=False).value is not None


def test_a_value_and_a_standard_error_are_never_dust():
    # 0.3 · 0.7 in thirds and tenths: the observed agreement is the one expected by chance.
    independent = Patterns.from_counts(
        [(("a", "a"), 21), (("a", "b"), 49), (("b", "a"), 9), (("b", "b"), 21)], raters=["R1", "R2"]
    )
    for name in ("cohen_kappa", "conger_kappa", "weighted_kappa"):
        assert getattr(agreement, name)(independent, intervals=False).value == 0
    for name in agreement.COEFFICIENTS:
        assert getattr(agreement, name)(Patterns.from_counts(PERFECT), intervals=False).se == 0, name


PERFECT = [(("a", "a"), 71), (("b", "b"), 43), (("c", "c"), 36)]


def test_perfect_agreement_has_the_exact_one_sided_bound():
    """150 of 150: at least 98.0%. Corrected for chance, 0.0197 is divided by the disagreement expected."""
    found = by_name(summary(Patterns.from_counts(PERFECT), kind="ordinal"))
    missing = 1 - 0.05 ** (1 / 150)
    expected = {
        "percent_agreement": 1,
        "cohen_kappa": 1 - (71**2 + 43**2 + 36**2) / 150**2,
        "brennan_prediger": 2 / 3,
        "krippendorff_alpha": None,
    }
    for name, each in found.items():
        assert (each["value"], each["ci_high"], each["ci_method"]) == (1, 1, "exact_one_sided"), name
        assert 0.9 < each["ci_low"] <= 1 - missing
        if expected.get(name):
            assert each["ci_low"] == pytest.approx(1 - missing / expected[name], abs=1e-12)
    assert found["percent_agreement"]["ci_low"] == pytest.approx(0.9802, abs=5e-5)


def test_a_bound_never_lies_below_minus_1_and_a_single_difference_ends_it():
    rare = [(("a", "a"), 9), (("b", "b"), 1)]
    assert agreement.cohen_kappa(Patterns.from_counts(rare)).ci_low == pytest.approx(1 - 0.2589 / 0.18, abs=1e-3)
    few = [(("a", "a"), 3), (("b", "b"), 1)]
    assert agreement.cohen_kappa(Patterns.from_counts(few)).ci_low == pytest.approx(1 - 0.5271 / 0.375, abs=1e-3)
    fewer = [(("a", "a"), 2), (("b", "b"), 1)]
    alpha = agreement.krippendorff_alpha(Patterns.from_counts(fewer))
    assert alpha.ci_low == pytest.approx(1 - 0.6316 / (16 / 30), abs=1e-3)
    assert agreement.cohen_kappa(Patterns.from_counts([*PERFECT, (("a", "b"), 1)])).ci_method != "exact_one_sided"


def test_an_item_that_recurs_counts_once_in_the_exact_bound():
    patterns = Patterns.from_counts(PERFECT)
    recurring = Clusters.of(patterns, [[("a", "a"), ("b", "b")]] * 40)
    found = agreement.one_coefficient(patterns, "percent_agreement", kind="single", clusters=recurring)
    assert found.ci_low == pytest.approx(0.05 ** (1 / 110), abs=1e-12)
    assert found.ci_method == "exact_one_sided"


def test_one_unit_has_a_value_but_no_standard_error():
    patterns = Patterns.from_table([["a", "b"]])
    for name in ("fleiss_kappa", "scott_pi", "krippendorff_alpha", "gwet_ac1", "percent_agreement"):
        coefficient = getattr(agreement, name)(patterns, intervals=False)
        assert coefficient.value is not None
        assert coefficient.se is None


def test_alpha_with_a_distance_of_0_everywhere_says_that_nothing_is_expected():
    alpha = agreement.krippendorff_alpha(Patterns.from_table([["a", "b"], ["b", "b"]]), lambda a, b: 0.0)
    assert alpha.value is None
    assert "No disagreement is expected" in alpha.undefined


@pytest.mark.parametrize(("n", "words"), [(1, "There is one."), (4, "There are 4.")])
def test_fewer_than_five_units_have_no_interval_and_the_reason(n: int, words: str):
    found = by_name(summary(Patterns.from_table([["a", "b"], *[["a", "a"]] * (n - 1)]), kind="single"))["scott_pi"]
    assert found["value"] == pytest.approx(-1 / (2 * n - 1))
    assert found["ci_low"] is found["ci_high"] is found["ci_method"] is None
    assert found["ci_undefined"] == f"A confidence interval needs at least 5 units with two ratings. {words}"


def test_units_of_one_item_have_no_interval_and_the_reason():
    patterns = Patterns.from_table([["a", "b"], ["b", "b"]])
    clusters = Clusters.of(patterns, [[("a", "b"), ("b", "b")]])
    found = agreement.one_coefficient(patterns, "scott_pi", kind="single", clusters=clusters)
    assert found.value is not None
    assert found.se is found.ci_low is found.ci_method is None
    assert found.ci_undefined.endswith("where all parts of an item, in all rounds, count as one. There is one.")


def test_congers_kappa_is_undefined_where_only_one_of_three_raters_varies():
    """Observed and expected agreement are then the same number."""
    alone = Patterns.from_counts([(("no", "no", "no"), 41), (("no", "yes", "no"), 9)])
    assert_undefined(asdict(agreement.conger_kappa(alone)), "At most one rater", "0 whatever")
    two = Patterns.from_counts([(("no", "no", "no"), 41), (("no", "yes", "no"), 9), (("yes", "no", "no"), 1)])
    assert agreement.conger_kappa(two, intervals=False).value < 0


@QUICK
@given(rating_tables(units=6))
def test_no_summary_holds_anything_that_json_cannot_carry(table: Table):
    for kind in ("single", "ordinal", "number"):
        entry = summary(Patterns.from_table(table), kind=kind)
        assert json.loads(json.dumps(entry, allow_nan=False)) == entry
        for coefficient in entry["coefficients"]:
            assert (coefficient["value"] is None) == (coefficient["undefined"] is not None)
            if coefficient["value"] is not None:
                assert coefficient["value"] <= 1
                assert coefficient["se"] is None or (coefficient["se"] >= 0 and math.isfinite(coefficient["se"]))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: Patterns.from_table([["a", "c"]], categories=["a", "b"]), "'c'"),
        (lambda: Patterns.from_table([["a", "b"], ["a"]]), "numbers of raters"),
        (lambda: Patterns.from_table([["a", "b"]], raters=["x", "x"]), "same name"),
        (lambda: Patterns.from_counts([(["a", "b"], -1)]), "less than 0"),
        (lambda: Patterns.from_table([["a", "b"]], categories=["a", "b", "a"]), "twice"),
        (lambda: Patterns([[0, 2]], [1], ("a", "b"), ("x", "y")), "no category"),
        (lambda: Patterns([[0, 1]], [1, 1], ("a", "b"), ("x", "y")), "do not fit"),
        (lambda: summary(EMPTY, kind="colour"), "no kind"),
        (lambda: summary(EMPTY, kind="single", metric="interval"), "does not suit"),
        (lambda: agreement.krippendorff_alpha(EMPTY, "euclidean"), "no metric"),
        (lambda: agreement.weighted_kappa(EMPTY, "cubic"), "no weights"),
        (lambda: agreement.krippendorff_alpha(Patterns.from_table([[-1, 1]]), "ratio"), "0 or more"),
        (lambda: agreement.krippendorff_alpha(Patterns.from_table([["a", "b"]]), "masi"), "sets"),
        (lambda: agreement.weighted_kappa(Patterns.from_table([["a", "b"]]), [[1, 0, 0]]), "matrix"),
        (lambda: agreement.benchmark(0.5, 0.0), "above 0"),
    ],
)
def test_what_does_not_fit_is_refused_in_words(call, words: str):
    with pytest.raises(ValueError, match=words):
        call()


def test_a_limit_that_rounds_to_zero_has_no_sign():
    assert agreement.interval_words(-0.0002, 0.4, "effective_sample", 3) == "[0.000, 0.400]"
    assert agreement.interval_words(-0.004, 1.0, "exact_one_sided", 2) == "at least 0.00"


@pytest.mark.parametrize("metric", ["interval", "ratio"])
def test_more_different_numbers_than_memory_has_room_for_are_no_coefficient_but_the_reason(metric: str):
    many = Patterns.from_table([[float(number), float(number + 20_000)] for number in range(20_000)])
    entry = summary(many, kind="number", metric=metric, weights="linear")
    assert {each["undefined"] for each in entry["coefficients"]} == {
        "There are 40,000 different values, and a coefficient compares at most 3,000 with each other. Round the "
        "numbers, or ask for fewer rounds."
    }
    assert agreement.share_reaching(many, "krippendorff_alpha", 0.8, kind="number", metric=metric) is None
