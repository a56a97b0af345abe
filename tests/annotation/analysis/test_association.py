"""Cross tables: tests and their choice, strength, residuals; against published numbers, SciPy and pandas."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.contingency_tables import Table
from statsmodels.stats.multitest import multipletests

from annotation.analysis.association import _noncentrality, adjusted_residuals, association, independence, strength
from annotation.analysis.crosstab import crosstab
from annotation.analysis.holm import holm
from tests.annotation.analysis.made_columns import multi, of_table, single
from tests.simulation import examples

PARTY = [[762, 327, 468], [484, 239, 477]]
"""Gender and party, Agresti 2007, An Introduction to Categorical Data Analysis, 2nd ed., table 2.5."""
TEA = [[3, 1], [1, 3]]
"""Fisher's tea tasting, Agresti 2007, table 2.8: two-sided p 0.486."""
JOB = [[1, 3, 10, 6], [2, 3, 10, 7], [1, 6, 14, 12], [0, 1, 9, 11]]
"""Income and job satisfaction, Agresti 2002, Categorical Data Analysis, 2nd ed., table 2.8: chi-square 5.97, df 9."""


def items(column):
    return np.arange(len(column.codes))


def tabled(table):
    rows, columns = of_table(table)
    return crosstab(rows, columns, items(rows))


def test_party_and_gender_are_as_published():
    found = tabled(PARTY).association
    assert (found.n, found.test.method, found.test.df) == (2757, "chi_square", 2)
    assert found.test.statistic == pytest.approx(30.1, abs=0.05)
    assert found.test.p_value < 0.001
    assert found.residuals[0].round(1).tolist() == [4.5, 0.7, -5.3]
    assert found.expected[0].round(1).tolist() == [703.7, 319.6, 533.7]


def test_the_tea_is_tested_exactly():
    found = tabled(TEA).association
    assert (found.test.method, round(found.test.p_value, 3)) == ("fisher", 0.486)
    assert found.test.because == "4 of 4 expected counts are below 5; the smallest is 2."


def test_where_expected_counts_are_small_tables_are_drawn():
    found = tabled(JOB).association
    assert (found.test.method, found.test.draws) == ("monte_carlo", 9999)
    assert found.test.statistic == pytest.approx(5.97, abs=0.005)
    exact = 0.7827  # fisher.test(Job) in the manual of R, which orders tables by their probability
    assert found.test.p_value == pytest.approx(exact, abs=0.03)


def test_the_drawn_p_value_is_that_of_an_independent_permutation():
    table = np.array([[6, 1, 0], [2, 3, 2], [0, 2, 5]])
    found = independence(table)
    rows, columns = of_table(table.tolist())
    rng, expected = np.random.default_rng(5), stats.contingency.expected_freq(table)
    as_large = 0
    for _ in range(4000):
        drawn = np.bincount(rows.codes * 3 + rng.permutation(columns.codes), minlength=9).reshape(3, 3)
        as_large += ((drawn - expected) ** 2 / expected).sum() >= found.statistic - 1e-9
    assert found.p_value == pytest.approx(as_large / 4000, abs=0.01)


def test_the_same_seed_draws_the_same_tables():
    table = np.array(JOB)
    assert independence(table, seed=3) == independence(table, seed=3)
    assert independence(table[:, 0:3], seed=3).seed == 3


def test_the_interval_of_v_is_the_published_one():
    """statpsych (Bonett), ci.cramer(.05, 19.21, 2, 3, 200): 0.3099, 0.1601 to 0.4417."""
    low, high = (np.sqrt(_noncentrality(19.21, 2, p) / 200) for p in (0.975, 0.025))
    assert np.sqrt(19.21 / 200) == pytest.approx(0.3099, abs=5e-5)
    assert (low, high) == pytest.approx((0.1601, 0.4417), abs=5e-5)


def test_v_without_bias_is_that_of_bergsma():
    """Independently: scipy's chi-square, and the formula of Bergsma 2013 with its own ranks."""
    for table in (PARTY, JOB, TEA, [[10, 0], [0, 10]]):
        table = np.array(table)
        n, (r, k) = table.sum(), table.shape
        phi2 = stats.chi2_contingency(table, correction=False)[0] / n
        ranks = r - (r - 1) ** 2 / (n - 1), k - (k - 1) ** 2 / (n - 1)
        wanted = np.sqrt(max(0, phi2 - (r - 1) * (k - 1) / (n - 1)) / (min(ranks) - 1))
        assert strength(table).cramers_v_corrected == pytest.approx(min(1, wanted))
    assert strength(np.array([[10, 0], [0, 10]])).cramers_v == 1


tables = st.integers(2, 5).flatmap(
    lambda width: st.lists(st.lists(st.integers(0, 60), min_size=width, max_size=width), min_size=2, max_size=5)
)


@settings(max_examples=examples(25), deadline=None)
@given(tables)
def test_statistics_are_those_of_scipy_and_statsmodels(table):
    table = np.array(table)
    assume((table.sum(axis=0) > 0).all() and (table.sum(axis=1) > 0).all())
    rows, columns = of_table(table.tolist())
    found = crosstab(rows, columns, items(rows))
    assert (found.counts == pd.crosstab(rows.codes, columns.codes).to_numpy()).all()
    statistic, p_value, df, expected = stats.chi2_contingency(table, correction=False)
    told = found.association
    assert (told.test.statistic, told.test.df) == (pytest.approx(statistic), df)
    assert told.expected == pytest.approx(expected)
    assert told.residuals == pytest.approx(Table(table, shift_zeros=False).standardized_resids)
    assert told.p_residuals.ravel() == pytest.approx(
        multipletests(2 * stats.norm.sf(abs(told.residuals.ravel())), method="holm")[1], abs=1e-12
    )
    assert told.strength.cramers_v == pytest.approx(stats.contingency.association(table, method="cramer"))
    if told.test.method == "chi_square":
        assert told.test.p_value == pytest.approx(p_value, rel=1e-9, abs=1e-300)
        assert (expected < 5).mean() <= 0.2 and expected.min() >= 1
    elif told.test.method == "fisher":
        assert told.test.p_value == pytest.approx(stats.fisher_exact(table)[1])
    else:
        assert 1 / 10_000 <= told.test.p_value <= 1


@settings(max_examples=examples(20), deadline=None)
@given(tables, st.randoms())
def test_neither_the_order_of_parts_nor_of_categories_matters(table, random):
    table = np.array(table)
    assume(table.sum() > 0)
    rows, columns = of_table(table.tolist())
    order = list(range(len(rows.codes)))
    random.shuffle(order)
    order = np.array(order, dtype=np.int64)
    found, shuffled = crosstab(rows, columns, items(rows)), crosstab(rows.taken(order), columns.taken(order), order)
    assert (found.counts == shuffled.counts).all()
    assert found.association.test == shuffled.association.test
    assert found.association.strength == shuffled.association.strength
    if found.association.test is not None and found.association.test.method != "monte_carlo":
        turned = association(table.T)
        assert turned.test.p_value == pytest.approx(found.association.test.p_value)
        assert turned.strength.cramers_v == pytest.approx(found.association.strength.cramers_v)


@settings(max_examples=examples(25), deadline=None)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=30))
def test_holm_is_that_of_statsmodels(p_values):
    assert holm(np.array(p_values)) == pytest.approx(multipletests(p_values, method="holm")[1])


def test_holm_passes_over_what_is_no_test():
    assert holm(np.array([0.01, np.nan, 0.04])).tolist()[::2] == pytest.approx([0.02, 0.04])


# where there is nothing to test


def test_without_a_part_or_with_one_row_or_column_there_is_no_test_and_a_reason():
    assert association(np.zeros((2, 2), dtype=int)).undefined == "No part has a value of both."
    assert association(np.array([[3, 4], [0, 0]])).undefined == "All counts are in one row; a test needs two."
    assert association(np.array([[3, 0], [4, 0]])).undefined == "All counts are in one column; a test needs two."
    found = tabled([[3, 4], [0, 0]])
    assert found.association.test is None and found.association.residuals is None
    assert found.rows.keys == ("r0",)


def test_empty_rows_are_passed_over_and_have_no_residual():
    found = association(np.array([[30, 10], [0, 0], [10, 30]]))
    assert found.test == association(np.array([[30, 10], [10, 30]])).test
    assert np.isnan(found.residuals[1]).all() and not np.isnan(found.residuals[0]).any()


def test_a_set_is_counted_and_not_tested():
    found = crosstab(single("stage", ["a", "b", "b"]), multi("fix", [("x", "y"), ("y",), None]), np.arange(3))
    assert found.counts.tolist() == [[1, 1], [0, 1]]
    assert (found.row_totals.tolist(), found.column_totals.tolist(), found.n) == ([1, 1], [1, 2], 2)
    assert found.association is None
    assert found.untested == "A part can have several values of fix, so that counts are not independent."
    assert found.notes == ("A part can have several values of fix, so that the numbers add up to 3, not to 2.",)


def test_two_sets_meet_in_every_pair():
    found = crosstab(multi("a", [("x", "y"), ("x",)]), multi("b", [("p",), ("p", "q")]), np.arange(2))
    assert found.counts.tolist() == [[2, 1], [1, 0]]


def test_items_of_several_parts_are_counted_and_not_tested():
    rows, columns = of_table([[5, 5], [5, 5]])
    found = crosstab(rows, columns, np.array([*range(19), 3]))
    assert found.association is None
    assert found.untested.startswith("20 parts are of 19 items, so that counts are not independent")


def test_a_share_says_what_it_is_of():
    found = tabled([[3, 1], [2, 4]])
    assert found.shares("row")[0].tolist() == [[0.75, 0.25], [2 / 6, 4 / 6]]
    assert found.shares("column")[0].tolist() == [[0.6, 0.2], [0.4, 0.8]]
    assert found.shares("all")[0].tolist() == [[0.3, 0.1], [0.2, 0.4]]
    assert found.shares("all")[1].words == "of the 10 parts with a value of both"


def test_residuals_add_up_to_nothing_when_counts_are_as_expected():
    assert adjusted_residuals(np.array([[10, 20], [20, 40]])) == pytest.approx(np.zeros((2, 2)))
