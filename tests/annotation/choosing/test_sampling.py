"""Draws: without repeats, by seed alone, shared out among strata as asked; sizes as published tables have them."""

from collections import Counter
from math import comb

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from annotation.choosing.sampling import (
    allocate,
    draw,
    equal,
    most_missed,
    proportional,
    sample_size,
    unbounded_size,
    weighted_margin,
)
from tests.simulation import examples

SIZES = st.dictionaries(st.text("abcdef", min_size=1, max_size=3), st.integers(0, 60), min_size=1, max_size=8)


@given(SIZES, st.integers(0, 300), st.sampled_from(["proportional", "equal"]), st.booleans())
@settings(max_examples=examples(200), deadline=None)
def test_shares_add_up_and_no_stratum_gives_more_than_it_has(sizes, size, allocation, at_least_one) -> None:
    size = min(size, sum(sizes.values()))
    filled = [name for name, n in sizes.items() if n]
    if at_least_one and size < len(filled):
        with pytest.raises(ValueError, match="can't give one to each"):
            allocate(sizes, size, allocation, at_least_one=True)
        return
    quotas = allocate(sizes, size, allocation, at_least_one=at_least_one)
    assert sum(quotas.values()) == size and quotas.keys() == sizes.keys()
    assert all(0 <= quotas[name] <= n for name, n in sizes.items())
    if at_least_one:
        assert all(quotas[name] >= 1 for name in filled)
    assert quotas == allocate(dict(reversed(sizes.items())), size, allocation, at_least_one=at_least_one)


@given(SIZES, st.integers(0, 300))
@settings(max_examples=examples(200), deadline=None)
def test_equal_shares_differ_by_one_but_for_strata_that_are_used_up(sizes, size) -> None:
    quotas = equal(sizes, min(size, sum(sizes.values())))
    open_ = [quotas[name] for name, n in sizes.items() if quotas[name] < n]
    assert not open_ or max(quotas.values()) - min(open_) <= 1


@given(SIZES, st.integers(1, 300))
@settings(max_examples=examples(200), deadline=None)
def test_proportional_shares_are_the_exact_ones_rounded_up_or_down(sizes, size) -> None:
    total = sum(sizes.values())
    if size <= total:
        exact = {name: size * n / total for name, n in sizes.items()}
        assert all(abs(n - exact[name]) < 1 for name, n in proportional(sizes, size).items())


@given(
    st.lists(st.tuples(st.integers(0, 400), st.sampled_from("xyz")), unique_by=lambda each: each[0], max_size=120),
    st.integers(0, 120),
    st.integers(-5, 5),
    st.sampled_from([None, "proportional", "equal"]),
    st.randoms(use_true_random=False),
)
@settings(max_examples=examples(120), deadline=None)
def test_a_draw_repeats_nothing_and_depends_on_frame_and_seed_alone(units, size, seed, allocation, shuffling) -> None:
    size = min(size, len(units))

    def drawn(rows: list[tuple[int, str]]) -> list[int]:
        strata = [stratum for _, stratum in rows] if allocation else None
        found = draw([key for key, _ in rows], size, seed, strata, allocation=allocation or "proportional")
        return [rows[each.index][0] for each in found]

    here = drawn(units)
    assert len(here) == len(set(here)) == size
    mixed = list(units)
    shuffling.shuffle(mixed)
    assert drawn(mixed) == here


def test_another_seed_draws_others() -> None:
    frame = [("a", n) for n in range(50)]
    assert [each.index for each in draw(frame, 10, seed=9)] != [each.index for each in draw(frame, 10, seed=10)]


def test_strata_are_drawn_in_proportion_by_largest_remainder() -> None:
    strata = ["many"] * 70 + ["some"] * 26 + ["few"] * 4
    drawn = draw(list(range(100)), 10, seed=1, strata=strata)
    assert Counter(each.stratum for each in drawn) == {"many": 7, "some": 3}
    assert proportional({"a": 1, "b": 1, "c": 1}, 2) == {"a": 1, "b": 1, "c": 0}


def test_what_a_small_stratum_lacks_goes_to_the_others() -> None:
    assert equal({"a": 100, "b": 3, "c": 100}, 31) == {"a": 14, "b": 3, "c": 14}
    assert equal({"a": 5, "b": 5}, 3) == {"a": 2, "b": 1}


def test_one_of_each_is_taken_from_the_largest_share() -> None:
    sizes = {"many": 970, "few": 20, "rare": 10}
    assert allocate(sizes, 10) == {"many": 10, "few": 0, "rare": 0}
    assert allocate(sizes, 10, at_least_one=True) == {"many": 8, "few": 1, "rare": 1}


def test_a_frame_too_small_is_told() -> None:
    with pytest.raises(ValueError, match="holds 3 issues"):
        draw([1, 2, 3], 4, seed=1)
    with pytest.raises(ValueError, match="fewer than the 4"):
        allocate({"a": 3}, 4)


# Krejcie and Morgan 1970, table 1: population and sample size at 95 % and 5 %, rounded to the nearest.
KREJCIE_AND_MORGAN = {
    10: 10, 50: 44, 100: 80, 200: 132, 500: 217, 1_000: 278, 2_000: 322, 5_000: 357, 10_000: 370, 20_000: 377,
    50_000: 381, 75_000: 382, 1_000_000: 384,
}  # fmt: skip


@pytest.mark.parametrize(("n_frame", "published"), KREJCIE_AND_MORGAN.items())
def test_sizes_are_those_of_krejcie_and_morgan(n_frame: int, published: int) -> None:
    unlimited = unbounded_size(0.95, 0.05)
    assert round(unlimited / (1 + (unlimited - 1) / n_frame)) == published
    assert published <= sample_size(n_frame, 0.95, 0.05) <= published + 1


def test_sizes_of_other_levels_and_shares() -> None:
    assert sample_size(10**12, 0.95, 0.05) == 385
    assert sample_size(10**12, 0.99, 0.05) == 664
    assert sample_size(10**12, 0.95, 0.05, expected_share=0.1) == 139
    assert sample_size(3, 0.95, 0.05) == 3 and sample_size(0, 0.95, 0.05) == 0
    assert sample_size(1_000, 0.95, 1e-300) == sample_size(1_000, 1 - 1e-16, 1e-9) == 1_000


@pytest.mark.parametrize(("confidence", "margin"), [(0, 0.05), (1, 0.05), (0.95, 0), (0.95, 1), (95, 5)])
def test_a_level_outside_0_and_1_is_refused(confidence: float, margin: float) -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        sample_size(100, confidence, margin)


def test_the_margin_of_a_share_weighted_by_equal_strata_is_wider_than_that_of_a_simple_draw() -> None:
    assert weighted_margin([(30, 25), (70, 25), (215, 24)], 0.95) == pytest.approx(0.1339, abs=1e-4)
    assert weighted_margin([(315, sample_size(315, 0.95, 0.1))], 0.95) == pytest.approx(0.1, abs=1e-3)
    assert weighted_margin([(30, 30), (1, 1)], 0.95) == 0 and weighted_margin([(30, 25), (70, 0)], 0.95) is None


@pytest.mark.parametrize(
    ("found", "n", "n_frame", "most"),
    [(0, 3, 6, 2), (0, 1, 20, 18), (2, 4, 16, 13), (0, 1, 60, 56), (0, 1, 10_000_000, 9_499_999)],
)
def test_a_number_that_just_one_draw_in_twenty_allows_is_above_the_bound(found, n, n_frame, most) -> None:
    assert most_missed(found, n, n_frame) == most


@given(st.integers(1, 60), st.data())
@settings(max_examples=examples(200), deadline=None)
def test_the_bound_of_what_was_missed_is_the_largest_number_that_one_draw_in_twenty_allows(n_frame, data) -> None:
    n = data.draw(st.integers(1, n_frame))
    n_missed = data.draw(st.integers(0, n))
    most = most_missed(n_missed, n, n_frame)

    def is_likely(missed: int) -> bool:
        ways = sum(comb(missed, k) * comb(n_frame - missed, n - k) for k in range(n_missed + 1))
        return 20 * ways > comb(n_frame, n)

    assert n_missed <= most <= n_frame - n + n_missed and (n < n_frame or most == n_missed)
    assert is_likely(most) and (most == n_frame - n + n_missed or not is_likely(most + 1))
