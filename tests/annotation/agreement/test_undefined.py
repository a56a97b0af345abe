"""A value that is undefined is None with its reason: never NaN, 0 or 1."""

import json
import math

import pytest
from hypothesis import given

from annotation import agreement
from annotation.agreement import COEFFICIENTS, METRICS_BY_KIND, Patterns, summary

from .tables import QUICK, Table, rating_tables

EMPTY = Patterns.from_table([], raters=["R1", "R2"])


def by_name(entry: dict) -> dict[str, dict]:
    return {coefficient["name"]: coefficient for coefficient in entry["coefficients"]}


def assert_undefined(coefficient: dict, *words: str) -> None:
    assert coefficient["value"] is None
    assert coefficient["se"] is coefficient["ci_low"] is coefficient["ci_high"] is coefficient["ci_method"] is None
    assert coefficient["undefined"].endswith(".")
    for word in words:
        assert word in coefficient["undefined"]


@pytest.mark.parametrize("kind", METRICS_BY_KIND)
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
        assert_undefined(found[name], "one category", "yes")


def test_cohen_scott_and_weighted_kappa_send_three_raters_to_the_pairs():
    found = by_name(summary(Patterns.from_table([[1, 2, 1], [2, 2, 2], [1, 1, 3]]), kind="ordinal", resamples=10))
    for name in ("cohen_kappa", "weighted_kappa", "scott_pi"):
        assert_undefined(found[name], "exactly two raters", "3", "pairs")
    assert all(found[name]["value"] is not None for name in set(found) - {"cohen_kappa", "weighted_kappa", "scott_pi"})


def test_a_third_rater_who_never_met_another_does_not_undo_cohens_kappa():
    pair = [["a", "a", None], ["a", "b", None], ["b", "b", None]]
    alone = [[None, None, "a"], [None, None, "b"]]
    kappa = agreement.cohen_kappa(Patterns.from_table(pair + alone), resamples=0)
    assert kappa == agreement.cohen_kappa(Patterns.from_table([row[:2] for row in pair]), resamples=0)


@pytest.mark.parametrize("kind", ["single", "boolean", "multi", "text"])
def test_weighted_coefficients_need_an_order(kind: str):
    values = [frozenset("a"), frozenset("b")] if kind == "multi" else ["a", "b"]
    found = by_name(summary(Patterns.from_table([values, values[:1] * 2]), kind=kind, resamples=10))
    for name in ("weighted_kappa", "gwet_ac2"):
        assert_undefined(found[name], "order", kind)


def test_raters_who_each_use_one_category_but_not_the_same_have_kappa_0():
    kappa = agreement.cohen_kappa(Patterns.from_table([["a", "b"]] * 3), resamples=0)
    assert kappa.value == 0
    assert kappa.undefined is None


def test_one_unit_has_a_value_but_no_standard_error():
    patterns = Patterns.from_table([["a", "b"]])
    for name in ("fleiss_kappa", "cohen_kappa", "krippendorff_alpha", "gwet_ac1", "percent_agreement"):
        coefficient = getattr(agreement, name)(patterns, resamples=0)
        assert coefficient.value is not None
        assert coefficient.se is None


def test_alpha_with_a_distance_of_0_everywhere_says_that_nothing_is_expected():
    alpha = agreement.krippendorff_alpha(Patterns.from_table([["a", "b"], ["b", "b"]]), lambda a, b: 0.0)
    assert alpha.value is None
    assert "No disagreement is to be expected" in alpha.undefined


def test_an_interval_is_left_out_when_most_resamples_are_undefined():
    # Only resamples that hold both units rated twice have a kappa: about 40 of 100.
    pair = [(("a", "a"), 1), (("b", "b"), 1)]
    kappa = agreement.cohen_kappa(Patterns.from_counts([*pair, (("a", None), 20)]))
    assert kappa.value == 1
    assert kappa.ci_low is kappa.ci_high is kappa.ci_method is None
    rarely_undefined = agreement.cohen_kappa(Patterns.from_counts([(("a", "a"), 98), (("b", "b"), 2)]))
    assert rarely_undefined.ci_method == "bootstrap"


@QUICK
@given(rating_tables(units=6))
def test_no_summary_holds_anything_that_json_cannot_carry(table: Table):
    for kind in ("single", "ordinal", "number"):
        entry = summary(Patterns.from_table(table), kind=kind, resamples=15)
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
