"""Numbers of effort: quantiles, cut, curve, groups; against pandas, SciPy and statsmodels, and pair by pair."""

import time

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.multitest import multipletests

from annotation.analysis.comparison import cliffs_delta, comparison
from annotation.analysis.numbers import QUANTILES, distribution, numbers
from annotation.analysis.shares import AnalysisTooLarge
from annotation.labels.columns import NumberColumn
from tests.annotation.analysis.made_columns import multi, single
from tests.simulation import examples

values = st.lists(st.integers(0, 30).map(float), min_size=1, max_size=40)


def number(found):
    return NumberColumn("lines", "Changed lines", np.array(found, dtype=float))


@settings(max_examples=examples(40), deadline=None)
@given(values, st.integers(0, 30))
def test_a_distribution_is_that_of_pandas(given_, cut):
    series = pd.Series(given_)
    found = distribution(np.array([*given_, np.nan]), cut)
    assert (found.n, found.n_missing) == (len(series), 1)
    assert [value for _, value in found.quantiles] == pytest.approx(series.quantile(list(QUANTILES)).tolist())
    assert (found.mean, found.minimum, found.maximum) == (pytest.approx(series.mean()), series.min(), series.max())
    assert found.sd is None if len(series) == 1 else found.sd == pytest.approx(series.std())
    assert found.at_or_under.n == (series <= cut).sum()
    wanted = series.value_counts().sort_index().cumsum()
    assert [(point.value, point.n) for point in found.curve] == list(wanted.items())
    assert found.curve[-1].share == 1


def test_a_curve_of_many_numbers_is_told_at_some_places():
    found = distribution(np.random.default_rng(1).exponential(30, 5000))
    assert len(found.curve) <= 200
    assert (found.curve[0].value, found.curve[-1].value) == (found.minimum, found.maximum)


def test_without_numbers_all_is_undefined_and_says_why():
    found = distribution(np.array([np.nan, np.nan]), 10)
    assert (found.n, found.n_missing, found.mean, found.sd, found.minimum) == (0, 2, None, None, None)
    assert (found.quantiles, found.curve, found.undefined) == ((), (), "There are no numbers.")
    assert found.at_or_under.share is None


def test_two_groups_are_compared_as_published():
    """Kruskal's own example of three machines, and Mann and Whitney's test as scipy's manual has it."""
    males, females = [19.0, 22, 16, 29, 24], [20.0, 11, 17, 12]
    (pair,) = comparison([("m", np.array(males)), ("f", np.array(females))]).pairs
    assert (pair.u, pair.method, round(pair.p_value, 4)) == (17, "exact", 0.1111)
    assert pair.delta == pytest.approx(2 * 17 / 20 - 1)


def test_kruskal_and_wallis_is_as_published():
    """Siegel and Castellan 1988 / Kruskal and Wallis 1952, bottle caps of three machines: H = 5.656, 2 df."""
    machines = {
        "one": [340.0, 345, 330, 342, 338],
        "two": [339.0, 333, 344],
        "three": [347.0, 343, 349, 355],
    }
    found = comparison([(name, np.array(numbers)) for name, numbers in machines.items()])
    assert (round(found.h, 3), found.df, round(found.p_value, 3)) == (5.656, 2, 0.059)
    assert found.epsilon_squared == pytest.approx(5.656 / 11, abs=1e-3)


@settings(max_examples=examples(40), deadline=None)
@given(st.lists(values, min_size=2, max_size=4))
def test_groups_are_compared_as_scipy_does(groups):
    samples = [(f"g{place}", np.array(group)) for place, group in enumerate(groups)]
    found = comparison(samples)
    everything = np.concatenate([sample for _, sample in samples])
    if len(groups) > 2 and len(set(everything)) > 1:
        wanted = stats.kruskal(*groups)
        assert found.h == pytest.approx(wanted.statistic)
        if found.method == "chi_square":
            assert found.p_value == pytest.approx(wanted.pvalue)
        assert 0 <= found.epsilon_squared <= 1
    else:
        assert (found.h, found.p_value, found.epsilon_squared) == (None, None, None)
        assert found.undefined in ("Two groups are told by their pair.", "All numbers are equal.")
    told = [pair for pair in found.pairs if pair.undefined is None]
    for pair in told:
        x, y = (np.array(groups[int(name[1:])]) for name in (pair.a, pair.b))
        is_tied = len({*x, *y}) < len(x) + len(y)
        method = "asymptotic" if is_tied else pair.method
        wanted = stats.mannwhitneyu(x, y, alternative="two-sided", method=method)
        assert pair.u == pytest.approx(wanted.statistic)
        if method == pair.method:
            assert pair.p_value == pytest.approx(wanted.pvalue, abs=1e-12)
        assert pair.delta == pytest.approx(np.sign(x[:, None] - y[None, :]).mean())
        if pair.ci_low is not None:
            assert -1 <= pair.ci_low <= pair.delta + 1e-12 and pair.delta - 1e-12 <= pair.ci_high <= 1
    if told:
        adjusted = multipletests([pair.p_value for pair in told], method="holm")[1]
        assert [pair.p_holm for pair in told] == pytest.approx(adjusted.tolist())


def test_the_interval_of_delta_comes_from_every_pair_of_numbers():
    rng = np.random.default_rng(4)
    x, y = rng.integers(0, 9, 15).astype(float), rng.integers(2, 12, 11).astype(float)
    signs = np.sign(x[:, None] - y[None, :])
    delta, n, m = signs.mean(), len(x), len(y)
    variance = ((m - 1) * signs.mean(axis=1).var(ddof=1) + (n - 1) * signs.mean(axis=0).var(ddof=1) + signs.var()) / (
        n * m
    )
    z = stats.norm.ppf(0.975)
    ends = [
        (delta - delta**3 + side * z * np.sqrt(variance) * np.sqrt((1 - delta**2) ** 2 + z**2 * variance))
        / (1 - delta**2 + z**2 * variance)
        for side in (-1, 1)
    ]
    assert cliffs_delta(x, y) == pytest.approx((delta, *ends))


def test_groups_that_do_not_overlap_have_an_interval_to_the_end():
    delta, low, high = cliffs_delta(np.arange(10.0), np.arange(20.0, 40.0))
    assert (delta, low) == (-1, -1)
    assert high == pytest.approx(-(10 - 3.8415) / (10 + 3.8415), abs=1e-4)


def test_what_cannot_be_compared_says_why():
    same = comparison([("a", np.ones(3)), ("b", np.ones(2)), ("c", np.ones(2)), ("d", np.zeros(0))])
    assert (same.h, same.undefined, same.without_numbers) == (None, "All numbers are equal.", ("d",))
    assert {pair.undefined for pair in same.pairs} == {"All numbers of both groups are equal."}
    assert {pair.delta for pair in same.pairs} == {None}
    assert comparison([("a", np.ones(3))]).undefined == "A comparison needs two groups."
    assert cliffs_delta(np.array([1.0]), np.array([2.0, 3.0]))[1:] == (None, None)


def test_exact_tests_of_very_many_pairs_are_refused_at_once_and_equal_ranks_are_counted_once():
    """A hundred groups, half of nine numbers and half of two hundred: twelve seconds of exact tests."""
    rng = np.random.default_rng(3)
    sizes = [9, 200] * 50
    started_at = time.process_time()
    with pytest.raises(AnalysisTooLarge, match="Fold them"):
        comparison([(f"g{at}", rng.integers(0, 40, size).astype(float)) for at, size in enumerate(sizes)])
    found = comparison([(f"g{at}", rng.random(size)) for at, size in enumerate(sizes[:40])])
    assert {each.method for each in found.pairs} == {"exact", "asymptotic"}
    assert time.process_time() - started_at < 3


def test_a_number_of_an_item_counts_once_and_once_in_each_group_of_its_parts():
    items = np.array([1, 1, 2, 3, 3])
    by = single("symptom", ["a", "b", "a", "b", "b"])
    found = numbers(number([5, 5, 7, 9, 9]), items, by, cut=5)
    assert (found.total.n, found.total.mean, found.counted) == (3, 7, "item")
    assert [(group.value, group.distribution.n, group.distribution.mean) for group in found.groups] == [
        ("a", 2, 6), ("b", 2, 7),
    ]  # fmt: skip
    assert found.comparison is None
    assert found.uncompared == "Some items are in several groups, so that groups are not independent."
    found = numbers(number([5, 5, 7, 9, 9]), items, single("s", ["a", "a", "a", "b", "b"]))
    assert found.uncompared is None and found.comparison.pairs[0].n_a == 2


def test_numbers_of_several_parts_of_an_item_are_not_compared():
    by = single("symptom", ["a", "a", "b", "b"])
    apart, together = (
        numbers(number([5, 6, 8, 9]), np.array(each), by, of_item=False) for each in ([1, 2, 3, 4], [1, 1, 2, 3])
    )
    assert apart.uncompared is None and apart.comparison is not None
    assert together.comparison is None and together.groups == apart.groups
    assert together.uncompared.startswith("4 parts are of 3 items, so that numbers are not independent")


def test_a_number_of_a_part_counts_part_by_part():
    found = numbers(number([1, 2, 3]), np.array([1, 1, 2]), single("s", ["a", "b", None]), of_item=False)
    assert (found.total.n, found.counted) == (3, "part")
    assert found.uncompared.startswith("2 parts are of 1 item, so that numbers are not independent")
    assert found.left_out[0].n == 1


def test_groups_of_a_set_are_told_and_not_compared():
    found = numbers(number([1, 2]), np.array([1, 2]), multi("fix", [("x", "y"), ("y",)]))
    assert [(group.value, group.distribution.n) for group in found.groups] == [("x", 1), ("y", 2)]
    assert found.comparison is None
