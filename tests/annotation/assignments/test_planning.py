"""Who rates which item: exactly so many raters, pairs that share equally many items, the same again by seed."""

from collections import Counter
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from annotation.assignments.planning import new_holders, plan, raters_planned, slots_short
from tests.simulation import examples


@given(st.integers(0, 120), st.integers(1, 7), st.integers(1, 4), st.integers(0, 5))
@settings(max_examples=examples(80), deadline=None)
def test_every_item_gets_its_raters_and_every_pair_shares_equally_many(n_items, n_raters, n, seed) -> None:
    n = min(n, n_raters)
    places = plan([n] * n_items, n_raters, seed)
    by_item: dict[int, list[int]] = {}
    for place in places:
        by_item.setdefault(place.item, []).append(place.rater)
    assert all(len(set(raters)) == len(raters) == n for raters in by_item.values())
    assert len(by_item) == n_items
    shared = Counter(pair for raters in by_item.values() for pair in combinations(sorted(raters), 2))
    counts = [shared[pair] for pair in combinations(range(n_raters), 2)]
    if n == 2:
        assert not counts or max(counts) - min(counts) <= 1
    loads = Counter(place.rater for place in places)
    if n_items:
        assert max(loads.values()) - min(loads[rater] for rater in range(n_raters)) <= max(1, n)


def test_slots_and_places_in_each_raters_order_count_from_one_without_gaps() -> None:
    places = plan([2, 1, 2, 2], 3, seed=4)
    for rater in range(3):
        positions = [place.position for place in places if place.rater == rater]
        assert sorted(positions) == list(range(1, len(positions) + 1))
    for item, n in enumerate([2, 1, 2, 2]):
        assert sorted(place.slot for place in places if place.item == item) == list(range(1, n + 1))


def test_one_seed_gives_one_plan_and_another_seed_another_order() -> None:
    assert plan([2] * 30, 3, seed=1) == plan([2] * 30, 3, seed=1)
    assert plan([2] * 30, 3, seed=1) != plan([2] * 30, 3, seed=2)


def test_an_item_cannot_have_more_raters_than_the_round() -> None:
    with pytest.raises(ValueError, match="more raters than the round has"):
        plan([3], 2, seed=1)


def test_a_share_of_the_items_is_double_coded() -> None:
    planned = raters_planned(40, 2, 0.25, seed=3)
    assert (planned.count(2), planned.count(1)) == (10, 30)
    assert planned == raters_planned(40, 2, 0.25, seed=3) != raters_planned(40, 2, 0.25, seed=4)


CAPACITIES = st.lists(st.one_of(st.none(), st.integers(0, 40)), min_size=1, max_size=6)


@given(st.integers(0, 40), st.floats(0, 1), st.integers(1, 4), CAPACITIES, st.integers(0, 5))
@settings(max_examples=examples(150), deadline=None)
def test_nobody_gets_more_than_they_can_take_and_all_is_given_out_or_it_is_said_how_much_not(
    n_items, double_share, n, capacities, seed
) -> None:
    planned = raters_planned(n_items, min(n, len(capacities)), double_share, seed)
    if slots_short(planned, capacities):
        with pytest.raises(ValueError, match="can't label all"):
            plan(planned, len(capacities), seed, capacities)
        return
    places = plan(planned, len(capacities), seed, capacities)
    raters_of = Counter(place.item for place in places)
    assert [raters_of[item] for item in range(n_items)] == planned
    assert len({(place.item, place.rater) for place in places}) == len(places)
    loads = Counter(place.rater for place in places)
    assert all(most is None or loads[rater] <= most for rater, most in enumerate(capacities))
    assert places == plan(planned, len(capacities), seed, capacities)
    if len(set(planned)) == 1:  # whoever could take more has no less than the others, to within one
        able = [loads[rater] for rater, most in enumerate(capacities) if most is None or loads[rater] < most]
        assert not able or max(loads.values()) - min(able) <= max(1, planned[0])


@given(st.integers(0, 60), st.integers(2, 6), st.integers(0, 5))
@settings(max_examples=examples(60), deadline=None)
def test_capacities_that_bind_nobody_leave_the_plan_as_it_is(n_items, n_raters, seed) -> None:
    free = plan([2] * n_items, n_raters, seed)
    assert plan([2] * n_items, n_raters, seed, [n_items] * n_raters) == free
    assert plan([2] * n_items, n_raters, seed, [None] * n_raters) == free


@given(st.lists(st.integers(0, 4), max_size=8), st.lists(st.integers(0, 8), min_size=4, max_size=5))
@settings(max_examples=examples(100), deadline=None)
def test_how_many_slots_are_short_is_what_giving_them_out_one_by_one_leaves(planned, capacities) -> None:
    freed = [item for item, n in enumerate(planned) for _ in range(n)]
    raters = range(len(capacities))
    found = new_holders(freed, {}, dict.fromkeys(raters, 0), dict(enumerate(capacities)), "any")
    assert sum(rater is None for _, rater in found) == slots_short(planned, capacities)
    kept = [place for place in found if place[1] is not None]
    assert len(set(kept)) == len(kept)
    assert all(n <= capacities[rater] for rater, n in Counter(rater for _, rater in kept).items())


def test_pairs_stay_nearly_even_among_those_who_can_take_more() -> None:
    places = plan([2] * 90, 4, 7, [10, None, None, None])
    by_item: dict[int, list[int]] = {}
    for place in places:
        by_item.setdefault(place.item, []).append(place.rater)
    shared = Counter(pair for raters in by_item.values() for pair in combinations(sorted(raters), 2))
    among_the_free = [shared[pair] for pair in combinations((1, 2, 3), 2)]
    with_the_first = [shared[(0, other)] for other in (1, 2, 3)]
    assert sum(with_the_first) == 10 and max(with_the_first) - min(with_the_first) <= 1
    assert max(among_the_free) - min(among_the_free) <= 1


def test_freed_items_go_to_whoever_has_least_and_never_to_who_had_them() -> None:
    freed = ["a", "b", "c", "d"]
    taken = {"a": {"R1", "R2"}, "b": {"R1"}, "c": {"R1"}, "d": {"R1", "R2", "R3"}}
    found = new_holders(freed, taken, {"R2": 5, "R3": 3}, {"R2": None, "R3": None}, "seed")
    assert found[0] == ("a", "R3") and found[3] == ("d", None)
    assert Counter(rater for _, rater in found) == {"R3": 2, "R2": 1, None: 1}
    assert found == new_holders(freed, taken, {"R2": 5, "R3": 3}, {"R2": None, "R3": None}, "seed")
    assert new_holders(["b", "a"], taken, {"R2": 9, "R3": 0}, {"R2": None, "R3": 1}, "s") == [("b", "R2"), ("a", "R3")]
