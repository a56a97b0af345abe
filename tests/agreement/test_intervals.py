"""Confidence intervals: the same alone and in a summary, of the right width, and from derivatives that are right."""

import numpy as np
import pytest
from scipy.special import betaincinv
from scipy.stats import beta
from scipy.stats import t as student

import agreement
from agreement import CI_METHODS, Clusters, Patterns, intervals, one_coefficient, summary, tallies
from agreement.estimators import OrdinalAlpha
from agreement.summary import _estimators
from agreement.tallies import Tallies

RNG = np.random.default_rng(3)
TRUE = RNG.integers(0, 4, 400)
RATED = [np.where(RNG.random(400) < 0.8, TRUE, RNG.integers(0, 4, 400)) for _ in range(3)]
TWO = Patterns.from_table(np.stack(RATED[:2], axis=1).tolist())
THREE = Patterns.from_table(np.stack(RATED, axis=1).tolist())
GAPS = Patterns.from_table(
    [[None if RNG.random() < 0.3 else int(value) for value in row] for row in np.stack(RATED, axis=1)[:80]]
)


def test_a_coefficient_alone_has_the_interval_it_has_in_the_summary():
    for coefficient in summary(TWO, kind="single")["coefficients"]:
        if coefficient["value"] is not None:
            alone = getattr(agreement, coefficient["name"])(TWO)
            assert (alone.ci_low, alone.ci_high) == (coefficient["ci_low"], coefficient["ci_high"])
            assert alone.ci_method == "effective_sample"


@pytest.mark.parametrize("patterns", [TWO, THREE], ids=["two raters", "three raters"])
def test_with_many_units_the_interval_is_the_one_of_the_standard_error(patterns: Patterns):
    for coefficient in summary(patterns, kind="ordinal", metric="interval")["coefficients"]:
        if coefficient["value"] is None:
            continue
        width = coefficient["ci_high"] - coefficient["ci_low"]
        assert width / (2 * 1.96) == pytest.approx(coefficient["se"], rel=0.05), coefficient["name"]
        assert coefficient["ci_low"] < coefficient["value"] < coefficient["ci_high"]


@pytest.mark.parametrize("patterns", [TWO, THREE, GAPS], ids=["two raters", "three raters", "gaps"])
@pytest.mark.parametrize("metric", ["ordinal", "interval"])
def test_a_unit_moves_a_coefficient_by_its_derivative(patterns: Patterns, metric: str):
    for name, estimator in _estimators(patterns, "ordinal", metric, None, None, ()):
        if isinstance(estimator, str) or estimator.undefined():
            continue
        counts, step = estimator.tallies.counts, 1e-4
        each = np.eye(counts.shape[1]) * step
        expected = (estimator(counts + each) - estimator(counts - each)) / (2 * step)
        found = estimator.moves(counts)[0] * counts.sum()
        # Alpha's variance leaves out what its correction for small samples does.
        slack = 0.05 if name == "krippendorff_alpha" else 1e-6
        assert found == pytest.approx(expected * counts.sum(), abs=slack), name
        assert counts[0] @ found == pytest.approx(0, abs=1e-9), name


def test_the_interval_of_ordinal_alpha_is_that_of_the_jackknife():
    estimator = OrdinalAlpha(Tallies(THREE))
    counts = estimator.tallies.counts
    without = estimator(counts - np.eye(counts.shape[1]))
    error = np.sqrt(399 / 400 * counts[0] @ (without - np.average(without, weights=counts[0])) ** 2)
    found = agreement.krippendorff_alpha(THREE, "ordinal")
    assert found.ci_high - found.ci_low == pytest.approx(2 * 1.96 * error, rel=0.05)


def test_one_more_unit_is_added_for_the_variance():
    values, weights = tallies.added_units(GAPS)
    assert weights.sum() == pytest.approx(1)
    assert {len(set(row[row >= 0].tolist())) for row in values[:4]} == {1}
    assert {len(set(row[row >= 0].tolist())) for row in values[4:]} == {2}
    assert set((values >= 0).sum(axis=1).tolist()) == {round(GAPS.n_ratings / GAPS.n_units)}


def test_units_that_came_in_after_the_patterns_were_counted_are_left_out():
    patterns = Patterns.from_counts([(("a", "a"), 3), (("a", "b"), 1)])
    units = [[("a", "a"), ("a", "b")], [("a", "a"), ("a", "a")], [("a", "b"), ("b", "b")], [("c", "a")]]
    with pytest.raises(KeyError):
        Clusters.of(patterns, units)
    found = Clusters.of(patterns, units, may_have_more=True)
    assert (found.counts @ found.members).tolist() == patterns.counts.tolist() and (found.members >= 0).all()
    exact = Clusters.of(patterns, units[:2])
    assert (found.members.tolist(), found.counts.tolist()) == (exact.members.tolist(), exact.counts.tolist())
    more = Clusters.of(patterns, units[:2], may_have_more=True)
    assert (more.members.tolist(), more.counts.tolist()) == (exact.members.tolist(), exact.counts.tolist())


def test_an_item_that_recurs_widens_the_interval():
    rows = [(("a", "a"), 30), (("a", "b"), 20), (("b", "b"), 30)]
    patterns = Patterns.from_counts(rows)
    recurring = Clusters.of(patterns, [[("a", "b")] * 2] * 10 + [[("b", "b")] * 2] * 15 + [[("a", "a")] * 2] * 15)
    apart, together = (
        one_coefficient(patterns, "krippendorff_alpha", kind="single", clusters=each) for each in (None, recurring)
    )
    assert together.ci_method == "effective_sample_clusters"
    # Each item twice: as many units as with half of them.
    half = agreement.krippendorff_alpha(Patterns.from_counts([(row, n // 2) for row, n in rows]))
    assert together.se == pytest.approx(half.se, rel=0.01)
    assert together.ci_high - together.ci_low == pytest.approx(half.ci_high - half.ci_low, rel=0.02)
    assert together.se > 1.3 * apart.se


def test_units_that_are_clusters_of_their_own_change_nothing():
    apart = one_coefficient(GAPS, "gwet_ac1", kind="single")
    alone = one_coefficient(GAPS, "gwet_ac1", kind="single", clusters=Clusters.of(GAPS, []))
    assert (alone.ci_low, alone.ci_high) == pytest.approx((apart.ci_low, apart.ci_high), abs=1e-12)
    assert (apart.ci_method, alone.ci_method) == CI_METHODS[1:]


@pytest.mark.parametrize("n", [5, 30])
def test_the_lower_end_is_never_the_value_where_only_the_shares_of_this_sample_allow_no_lower_one(n: int):
    """One unit disagrees and no two ratings are the rare category: kappa could be lower in other samples."""
    patterns = Patterns.from_counts([(("a", "b"), 1), (("a", "a"), n - 1)])
    # Of 1 in n, at most this share (Clopper and Pearson); kappa is -p / (2 - p) if p of the units disagree like that.
    most = beta.ppf(0.975, 2, n - 1)
    found = agreement.scott_pi(patterns)
    assert found.value == pytest.approx(-1 / (2 * n - 1))
    assert found.ci_low == pytest.approx(-most / (2 - most))
    for each in summary(patterns, kind="single")["coefficients"]:
        if each["value"] is not None:
            assert each["ci_low"] < each["value"] - 0.04 < each["ci_high"] - 0.04, each["name"]


def test_with_few_units_the_shares_of_the_sample_do_not_bound_the_lower_end():
    """A third rater with one rating: Conger's kappa is 0.875 of eight units, and 1 of 8 may be 0.527 of all."""
    patterns = Patterns.from_counts([(("x", "x", None), 7), (("x", "y", "y"), 1)])
    found = agreement.conger_kappa(patterns)
    assert found.value == pytest.approx(0.875)
    assert found.ci_low == pytest.approx(1 - beta.ppf(0.975, 2, 7))


def test_where_no_unit_agrees_the_lower_end_is_the_lowest_value_there_can_be():
    patterns = Patterns.from_counts([(("a", "b"), 3), (("b", "c"), 2), (("c", "a"), 2)])
    found = {each["name"]: each for each in summary(patterns, kind="single")["coefficients"]}
    assert found["percent_agreement"]["ci_low"] == 0
    assert found["brennan_prediger"]["ci_low"] == pytest.approx(-0.5)
    for name in ("scott_pi", "fleiss_kappa", "cohen_kappa", "krippendorff_alpha", "gwet_ac1"):
        assert found[name]["ci_low"] == -1, name
        assert -0.6 < found[name]["value"] < -0.3, name


def test_sparse_and_dense_tallies_give_the_same_interval(monkeypatch):
    dense = summary(THREE, kind="ordinal")
    monkeypatch.setattr("agreement.tallies.DENSE_CELLS", 0)
    sparse = summary(THREE, kind="ordinal")
    for left, right in zip(dense["coefficients"], sparse["coefficients"], strict=True):
        assert left["ci_low"] == pytest.approx(right["ci_low"], abs=1e-12)


def test_quantiles_are_those_of_scipy():
    rng = np.random.default_rng(5)
    a, b = 10 ** rng.uniform(-0.6, 5, 60), 10 ** rng.uniform(-0.6, 5, 60)
    for probability in (0.025, 0.05, 0.975):
        expected = betaincinv(a, b, probability)
        assert intervals.beta_quantile(probability, a, b) == pytest.approx(expected, rel=1e-8)
    freedom = np.array([2, 2.5, 7.3, 40, 10_000])
    assert intervals.t_quantile(freedom) == pytest.approx(student.ppf(0.975, freedom), rel=1e-9)
