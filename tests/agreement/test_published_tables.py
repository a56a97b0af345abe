"""Every coefficient against tables whose values were published."""

from typing import Any

import numpy as np
import pytest

import agreement
from agreement.metrics import distance_by_weights

from .irrcac import printed_error
from .tables import patterns_of, read


def ids(cases: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [pytest.param(case, id=case.get("id")) for case in cases]


def found(name: str, patterns: agreement.Patterns) -> agreement.Coefficient:
    if name in ("linear", "quadratic"):
        return agreement.weighted_kappa(patterns, name, intervals=False)
    return getattr(agreement, name)(patterns, intervals=False)


def printed(value: float) -> float:
    """Half a unit of the last digit printed."""
    digits = len(str(value).partition(".")[2])
    return 0.5 * 10.0**-digits + 1e-9


@pytest.mark.parametrize("case", ids(read("cohen_kappa")["cases"]))
def test_two_raters_give_the_published_values_and_standard_errors(case):
    patterns = patterns_of(case)
    for name, value in case["expected"].items():
        assert found(name, patterns).value == pytest.approx(value, abs=printed(value))
    for name, se in case.get("ase", {}).items():
        assert found(name, patterns).se == pytest.approx(se, abs=0.00005)


def test_weighted_kappa_takes_a_matrix_of_weights():
    case = next(case for case in read("cohen_kappa")["cases"] if "custom" in case)
    by_steps_apart = np.array(case["custom"]["disagreement_by_steps_apart"])
    step = np.arange(len(by_steps_apart))
    weights = 1 - by_steps_apart[np.abs(step[:, None] - step[None, :])] / by_steps_apart.max()
    value = agreement.weighted_kappa(patterns_of(case), weights, intervals=False).value
    assert value == pytest.approx(case["custom"]["value"], abs=1e-6)


@pytest.mark.parametrize("case", ids(read("fleiss")["cases"]))
def test_counts_per_unit_give_the_published_values(case):
    patterns = patterns_of(case)
    for name, value in case["expected"].items():
        assert found(name, patterns).value == pytest.approx(value, abs=printed(value))
    for name, se in case.get("se", {}).items():
        assert found(name, patterns).se == pytest.approx(se, abs=0.002 if name == "krippendorff_alpha" else 1e-7)


def test_conger_differs_from_fleiss_and_light_is_the_mean_over_pairs():
    case = read("fleiss")["by_subject"]
    patterns = patterns_of(case)
    kappas = [pair["cohen_kappa"] for pair in agreement.by_pair(patterns)]
    assert agreement.conger_kappa(patterns, intervals=False).value == pytest.approx(0.4418, abs=0.00005)
    assert agreement.fleiss_kappa(patterns, intervals=False).value == pytest.approx(0.4302, abs=0.00005)
    assert np.mean(kappas) == pytest.approx(case["expected"]["light_kappa"], abs=0.0005)


GWET = read("gwet_raw")


@pytest.mark.parametrize("row", GWET["expectations"], ids=lambda row: "-".join(row[:3]))
def test_gwets_data_give_his_values_and_standard_errors_under_all_weights(row):
    dataset, name, weights, value, se = row
    patterns = agreement.Patterns.from_table(GWET["datasets"][dataset])
    given = GWET["custom_weights"] if weights == "custom" else weights
    if name == "krippendorff_alpha":
        every = np.arange(len(patterns.categories))
        left, right = np.repeat(every, len(every)), np.tile(every, len(every))
        distance = distance_by_weights(given, patterns.categories).pairwise(left, right)
        coefficient = agreement.krippendorff_alpha(patterns, distance.reshape(len(every), -1), intervals=False)
    elif name == "gwet_ac2":
        coefficient = agreement.gwet_ac2(patterns, given, intervals=False)
    else:
        coefficient = getattr(agreement, name)(patterns, weights=given, intervals=False)
    assert coefficient.value == pytest.approx(value, abs=1e-8)
    # Lopsided weights: chance is taken in both directions here, in one there.
    assert printed_error(coefficient, patterns, given) == pytest.approx(se, abs=1e-4 if weights == "custom" else 1e-8)


@pytest.mark.parametrize("case", ids(read("gwet_r_readme")["cases"]))
def test_the_r_package_prints_the_same(case):
    patterns = patterns_of(case)
    for name, (value, se) in case["expected"].items():
        coefficient = found(name, patterns)
        assert coefficient.value == pytest.approx(value, abs=printed(value))
        exact = name in ("cohen_kappa", "scott_pi") or ("table" not in case and name != "krippendorff_alpha")
        assert printed_error(coefficient, patterns) == pytest.approx(se, abs=0.00001 if exact else 0.0005)


@pytest.mark.parametrize("case", read("irrcac_random")["cases"])
def test_random_tables_with_gaps_give_what_irrcac_computed(case):
    patterns = patterns_of(case)
    for name, (value, se) in case["expected"].items():
        if name == "krippendorff_alpha":
            every = np.arange(len(patterns.categories))
            left, right = np.repeat(every, len(every)), np.tile(every, len(every))
            distance = distance_by_weights(case["weights"], patterns.categories).pairwise(left, right)
            coefficient = agreement.krippendorff_alpha(patterns, distance.reshape(len(every), -1), intervals=False)
        else:
            coefficient = getattr(agreement, name)(patterns, weights=case["weights"], intervals=False)
        assert coefficient.value == pytest.approx(value, abs=1e-8)
        assert printed_error(coefficient, patterns, case["weights"]) == pytest.approx(se, abs=1e-8)


@pytest.mark.parametrize("case", ids(read("krippendorff")["cases"]))
def test_alpha_gives_the_published_values_under_each_metric(case):
    for metric, value in case["expected"].items():
        coefficient = agreement.krippendorff_alpha(patterns_of(case), metric, intervals=False)
        if value is None:
            assert coefficient.value is None
            assert "Every compared rating is" in coefficient.undefined
        else:
            assert coefficient.value == pytest.approx(value, abs=printed(value))


@pytest.mark.parametrize("case", read("randolph_free_marginal")["cases"])
def test_free_marginal_kappa_is_brennan_prediger_over_the_categories_on_offer(case):
    patterns = patterns_of(case)
    for name, value in case["expected"].items():
        if value is None:
            assert found(name, patterns).value is None
        else:
            assert found(name, patterns).value == pytest.approx(value, abs=5e-7)


@pytest.mark.parametrize("case", read("masi_distance")["cases"])
def test_masi_and_jaccard_distances_are_the_published_ones(case):
    a, b = frozenset(case["a"]), frozenset(case["b"])
    assert agreement.masi_distance(a, b) == agreement.masi_distance(b, a) == pytest.approx(case["masi"])
    assert agreement.jaccard_distance(a, b) == agreement.jaccard_distance(b, a) == pytest.approx(case["jaccard"])


def test_two_empty_sets_are_equal():
    assert agreement.masi_distance(frozenset(), frozenset()) == 0
    assert agreement.jaccard_distance(frozenset(), frozenset()) == 0
    assert agreement.masi_distance(frozenset(), frozenset("a")) == 1


@pytest.mark.parametrize("scale", read("benchmark_scales")["expected"])
def test_benchmark_probabilities_are_gwets(scale):
    case = read("benchmark_scales")
    probabilities = [probability for _, probability in agreement.benchmark(case["value"], case["se"], scale)]
    assert probabilities == pytest.approx(case["expected"][scale], abs=0.00001)


@pytest.mark.parametrize("bound", [-1.0, 0.0, 0.667, 0.8, 0.95])
@pytest.mark.parametrize(("value", "se"), [(0.82, 0.04), (0.99, 0.1), (-0.2, 0.5), (0.5, 0.001), (-1.5, 0.01)])
def test_the_probability_of_a_threshold_is_that_of_a_normal_cut_to_minus_1_and_1(value, se, bound):
    from scipy.stats import truncnorm

    center = max(value, -1.0)
    expected = truncnorm.sf(bound, (-1 - center) / se, (1 - center) / se, loc=center, scale=se)
    assert agreement.probability_at_least(value, se, bound) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(
    ("name", "value", "ci_low", "expected"),
    [
        ("fleiss_kappa", 0.82, 0.61, [("landis_koch", "almost perfect", "substantial")]),
        ("fleiss_kappa", 0.82, 0.6, [("landis_koch", "almost perfect", "moderate")]),
        ("cohen_kappa", 0.7, 0.68, [("landis_koch", "substantial", "substantial")]),
        ("cohen_kappa", 0.7, -0.1, [("landis_koch", "substantial", None)]),
        ("cohen_kappa", 0.6, None, [("landis_koch", "moderate", None)]),
        ("cohen_kappa", 0.61, None, [("landis_koch", "substantial", None)]),
        ("cohen_kappa", 1.0, 0.9, [("landis_koch", "almost perfect", "almost perfect")]),
        ("gwet_ac1", -0.3, None, [("landis_koch", "poor", None)]),
        (
            "krippendorff_alpha",
            0.81,
            0.77,
            [
                ("krippendorff", "reliable", "tentative conclusions only"),
                ("landis_koch", "almost perfect", "substantial"),
            ],
        ),
        ("percent_agreement", 0.9, 0.8, []),
        ("cohen_kappa", None, None, []),
    ],
)
def test_a_coefficient_has_the_word_of_its_value_and_the_one_it_has_earned(name, value, ci_low, expected):
    found = [(each["scale"], each["word"], each["earned"]) for each in agreement.benchmark_words(name, value, ci_low)]
    assert found == expected
