"""What must not change a number: the order of units, raters and names, and how the ratings were written down."""

import random
from dataclasses import asdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

import agreement
from agreement import Patterns, summary

from .tables import QUICK, Table, rating_tables

SYMMETRIC = (
    "percent_agreement",
    "scott_pi",
    "fleiss_kappa",
    "conger_kappa",
    "brennan_prediger",
    "gwet_ac1",
    "cohen_kappa",
)


def values(patterns: Patterns) -> dict[str, float | None]:
    found = {name: getattr(agreement, name)(patterns, intervals=False) for name in SYMMETRIC}
    for metric in ("nominal", "ordinal", "interval"):
        found[metric] = agreement.krippendorff_alpha(patterns, metric, intervals=False)
    for name in ("weighted_kappa", "gwet_ac2"):
        found[name] = getattr(agreement, name)(patterns, intervals=False)
    return {f"{name}.{part}": getattr(found[name], part) for name in found for part in ("value", "se")}


def assert_same(left: dict[str, float | None], right: dict[str, float | None]) -> None:
    assert left.keys() == right.keys()
    for name, value in left.items():
        if value is None or right[name] is None:
            assert value is right[name], name
        else:
            assert value == pytest.approx(right[name], abs=1e-9), name


@QUICK
@given(rating_tables(), st.randoms(use_true_random=False))
def test_the_order_of_units_changes_nothing_at_all(table: Table, chance: random.Random):
    shuffled = chance.sample(table, len(table))
    left = summary(Patterns.from_table(table), kind="ordinal")
    right = summary(Patterns.from_table(shuffled), kind="ordinal")
    assert left == right


@QUICK
@given(rating_tables(), st.randoms(use_true_random=False))
def test_the_order_of_raters_changes_no_coefficient(table: Table, chance: random.Random):
    order = chance.sample(range(len(table[0])), len(table[0]))
    turned = [[row[place] for place in order] for row in table]
    categories = [1, 2, 3, 4]
    assert_same(
        values(Patterns.from_table(table, categories=categories)),
        values(Patterns.from_table(turned, categories=categories)),
    )


@pytest.mark.slow
@QUICK
@given(rating_tables(), st.permutations(["crash", "hang", "slow", "wrong"]))
def test_the_names_of_categories_change_no_nominal_coefficient(table: Table, names: list[str]):
    renamed = [[None if value is None else names[value - 1] for value in row] for row in table]
    left = values(Patterns.from_table(table, categories=[1, 2, 3, 4]))
    right = values(Patterns.from_table(renamed, categories=sorted(names)))
    nominal = {f"{name}.{part}" for name in (*SYMMETRIC, "nominal") for part in ("value", "se")}
    assert_same({k: v for k, v in left.items() if k in nominal}, {k: v for k, v in right.items() if k in nominal})


@QUICK
@given(rating_tables(), st.randoms(use_true_random=False))
def test_patterns_with_counts_equal_the_expanded_table_exactly(table: Table, chance: random.Random):
    counted = [(row, chance.randint(1, 5)) for row in table]
    expanded = [row for row, n in counted for _ in range(n)]
    left, right = Patterns.from_counts(counted), Patterns.from_table(expanded)
    assert left.categories == right.categories
    assert left.values.tolist() == right.values.tolist()
    assert left.counts.tolist() == right.counts.tolist()
    assert summary(left, kind="single") == summary(right, kind="single")


@QUICK
@given(rating_tables())
def test_a_unit_without_ratings_and_a_rater_without_ratings_change_nothing(table: Table):
    width = len(table[0])
    wider = [[*row, None] for row in [*table, [None] * width]]
    left = summary(Patterns.from_table(table), kind="single")
    right = summary(Patterns.from_table(wider), kind="single")
    assert left == right


@QUICK
@given(rating_tables())
def test_every_unit_twice_leaves_the_values_of_all_but_alpha(table: Table):
    # Alpha corrects for small samples.
    once, twice = (Patterns.from_table(rows, categories=[1, 2, 3, 4]) for rows in (table, table + table))
    for name in SYMMETRIC:
        left, right = (getattr(agreement, name)(patterns, intervals=False).value for patterns in (once, twice))
        assert left == pytest.approx(right, abs=1e-9)


@QUICK
@given(rating_tables(), st.sampled_from(["nominal", "interval", "ratio"]))
def test_every_unit_twice_changes_alpha_by_its_correction_for_small_samples_alone(table: Table, metric: str):
    once, twice = (Patterns.from_table(rows, categories=[1, 2, 3, 4]) for rows in (table, table + table))
    left, right = (agreement.krippendorff_alpha(patterns, metric, intervals=False).value for patterns in (once, twice))
    if left is None or right is None:
        assert left is right
        return
    # Chance is taken over n · (n − 1) pairs of n ratings (Krippendorff 2011).
    n = once.n_ratings
    assert 1 - right == pytest.approx((1 - left) * (2 * n - 1) / (2 * n - 2), abs=1e-9)


@QUICK
@given(rating_tables(raters=(2, 2), gaps=False))
def test_two_raters_without_gaps_make_twins_of_coefficients(table: Table):
    patterns = Patterns.from_table(table, categories=[1, 2, 3, 4])
    twins = [(agreement.scott_pi, agreement.fleiss_kappa), (agreement.cohen_kappa, agreement.conger_kappa)]
    for left, right in twins:
        assert left(patterns, intervals=False).value == pytest.approx(right(patterns, intervals=False).value, abs=1e-9)


@QUICK
@given(rating_tables())
def test_identity_weights_turn_ac2_into_ac1(table: Table):
    patterns = Patterns.from_table(table)
    left = asdict(agreement.gwet_ac1(patterns))
    right = asdict(agreement.gwet_ac2(patterns, "identity"))
    assert {**left, "name": ""} == {**right, "name": ""}


def test_seventy_raters_are_told_apart_though_their_patterns_fit_no_single_number():
    rows = [[k % 3 for _ in range(69)] + [last] for k in range(5) for last in (0, 1)]
    patterns = Patterns.from_table(rows + rows)
    assert patterns.counts.tolist() == [4, 4, 4, 4, 2, 2]
    assert patterns.values[:, -1].tolist() == [0, 1] * 3


def test_patterns_of_many_raters_are_sorted_by_category_however_many_there_are():
    values = [[255] * 70, [1] * 70, [256] * 70]
    patterns = Patterns(values, [1, 1, 1], tuple(range(300)), tuple(map(str, range(70))))
    assert patterns.values[:, 0].tolist() == [1, 255, 256]
