"""Tests of small samples are exact: against published tables, SciPy's own permutations and the packaged script."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats

from annotation.analysis.association import association, cell_p
from annotation.analysis.comparison import comparison
from annotation.analysis.permutations import chi_square_p, kruskal_p, orders, rank_correlation_p, rank_sum_p
from annotation.analysis.profiles import profiles, spearman
from tests.annotation.analysis.made_columns import single
from tests.annotation.script import recompute
from tests.simulation import examples

EVERY = {"n_resamples": np.inf, "vectorized": True}
numbers = st.lists(st.integers(0, 4).map(float), min_size=3, max_size=7)


def groups_with(counts_a, counts_b):
    """Two groups whose categories occur so often."""
    categories = [f"c{place}" for place in range(len(counts_a))]
    symptom = [
        key for counts in (counts_a, counts_b) for key, n in zip(categories, counts, strict=True) for _ in range(n)
    ]
    return single("symptom", symptom), single("stage", ["a"] * sum(counts_a) + ["b"] * sum(counts_b))


def test_six_categories_in_the_same_order_are_not_told_as_one_in_a_thousand():
    (found,) = profiles(*groups_with([1, 2, 3, 4, 5, 6], [2, 3, 5, 7, 8, 9])).correlations
    assert (found.n_categories, found.rho, found.method) == (6, pytest.approx(1), "exact")
    assert found.p_value == pytest.approx(2 / 720)


def test_ten_categories_have_the_approximation_and_say_so():
    rho, p_value, method, undefined = spearman(np.arange(10.0), np.array([1, 0, 2, 3, 5, 4, 6, 8, 7, 9.0]))
    wanted = stats.spearmanr(np.arange(10), [1, 0, 2, 3, 5, 4, 6, 8, 7, 9])
    assert (rho, p_value) == pytest.approx((wanted.statistic, wanted.pvalue)) and (method, undefined) == ("t", None)


@settings(max_examples=examples(60), deadline=None)
@given(numbers, st.randoms(use_true_random=False))
def test_a_rank_correlation_has_the_p_of_every_order(x, random):
    y = [random.randint(0, 4) for _ in x]
    assume(len(set(x)) > 1 and len(set(y)) > 1)
    rank_x, rank_y = stats.rankdata(x), stats.rankdata(y)
    wanted = stats.permutation_test(
        (rank_y,), lambda ranks, axis: (ranks * rank_x).sum(axis=axis), permutation_type="pairings", **EVERY
    )
    found = rank_correlation_p(np.array(x), np.array(y, dtype=float))
    assert found == pytest.approx(wanted.pvalue)
    assert recompute.spearman(np.array(x), np.array(y, dtype=float))[1:] == (pytest.approx(found), "exact")


@settings(max_examples=examples(60), deadline=None)
@given(numbers, numbers)
def test_two_groups_have_the_p_of_every_way_to_deal_out_the_numbers(x, y):
    assume(len({*x, *y}) > 1)
    every = stats.PermutationMethod(n_resamples=np.inf)
    wanted = stats.mannwhitneyu(x, y, alternative="two-sided", method=every, use_continuity=False)
    found = rank_sum_p(np.array(x), np.array(y))
    assert found == pytest.approx(wanted.pvalue) == pytest.approx(rank_sum_p(np.array(y), np.array(x)))
    assert recompute.exact_u(np.array(x), np.array(y)) == pytest.approx(found)


def test_two_groups_without_ties_have_the_p_of_scipy_also_where_one_is_large():
    rng = np.random.default_rng(3)
    x, y = rng.normal(0, 1, 9), rng.normal(0.5, 1, 200)
    wanted = stats.mannwhitneyu(x, y, alternative="two-sided", method="exact")
    (found,) = comparison([("x", x), ("y", y)]).pairs
    assert (found.p_value, found.method) == (pytest.approx(wanted.pvalue), "exact")
    assert comparison([("x", x), ("y", rng.normal(0, 1, 300))]).pairs[0].method == "asymptotic"


def test_two_groups_of_nine_with_ties_are_tested_exactly():
    x, y = np.array([1.0, 1, 2, 2, 3, 3, 4, 5, 5]), np.array([2.0, 3, 4, 4, 5, 6, 6, 7, 7])
    (found,) = comparison([("x", x), ("y", y)]).pairs
    wanted = stats.mannwhitneyu(x, y, method=stats.PermutationMethod(n_resamples=np.inf))
    assert (found.p_value, found.method) == (pytest.approx(wanted.pvalue), "exact")


@pytest.mark.parametrize(
    ("groups", "h", "p"),
    [
        # Kruskal and Wallis 1952, doi:10.1080/01621459.1952.10483441, table 6.1.
        ([[5, 6, 7], [1, 2], [3, 4]], 5.3571, 0.029),
        ([[1, 2, 6], [3, 4, 5], [7, 8, 9]], 5.6, 0.050),
    ],
)
def test_kruskal_and_wallis_have_their_own_table(groups, h, p):
    found = comparison([(str(place), np.array(group, dtype=float)) for place, group in enumerate(groups)])
    assert (round(found.h, 4), round(found.p_value, 3), found.method) == (h, p, "exact")


@settings(max_examples=examples(40), deadline=None)
@given(st.lists(st.lists(st.integers(0, 4).map(float), min_size=1, max_size=2), min_size=3, max_size=3))
def test_several_groups_have_the_p_of_every_order(groups):
    everything = np.concatenate(groups)
    assume(len(set(everything)) > 1 and len(everything) <= 6)
    ends = np.cumsum([len(group) for group in groups])[:-1]
    seen = stats.kruskal(*groups).statistic
    found = [
        stats.kruskal(*np.split(everything[list(order)], ends)).statistic
        for order in permutations(range(len(everything)))
    ]
    assert kruskal_p([np.array(group) for group in groups]) == pytest.approx(np.mean(np.array(found) >= seen - 1e-9))


@settings(max_examples=examples(40), deadline=None)
@given(st.lists(st.lists(st.integers(0, 2), min_size=3, max_size=3), min_size=2, max_size=3))
def test_a_small_table_has_the_p_of_every_table_with_its_margins(cells):
    table = np.array(cells)
    assume(0 < table.sum() <= 7 and (table.sum(axis=0) > 0).all() and (table.sum(axis=1) > 0).all())
    expected = stats.contingency.expected_freq(table)
    rows, columns = np.repeat(np.indices(table.shape).reshape(2, -1), table.ravel(), axis=1)
    as_large, every = 0, list(permutations(columns.tolist()))
    seen = ((table - expected) ** 2 / expected).sum()
    for order in every:
        drawn = np.zeros(table.shape)
        np.add.at(drawn, (rows, np.array(order)), 1)
        as_large += ((drawn - expected) ** 2 / expected).sum() >= seen - 1e-9
    assert chi_square_p(table) == pytest.approx(as_large / len(every)) == pytest.approx(recompute.every_table(table))


def test_a_cross_table_of_nine_parts_is_tested_exactly_cell_by_cell_too():
    table = np.array([[3, 0, 0], [0, 3, 0], [0, 0, 3]])
    found = association(table)
    assert (found.test.method, found.residuals_method) == ("exact", "fisher")
    assert found.test.p_value == pytest.approx(6 / 1680)  # 9! / (3! 3! 3!) ways, of which six are as uneven
    assert cell_p(table)[0, 0] == pytest.approx(stats.fisher_exact([[3, 0], [0, 6]])[1])
    assert found.p_residuals[0, 0] == pytest.approx(9 * cell_p(table)[0, 0])
    larger = association(table + 1)
    assert (larger.test.method, larger.residuals_method) == ("monte_carlo", "normal")


def test_more_than_nine_have_too_many_orders():
    assert len(orders(9)) == 362_880
    with pytest.raises(ValueError):
        orders(10)
