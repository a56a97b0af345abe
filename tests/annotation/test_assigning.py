"""Who rates which item: exactly so many raters, pairs that share equally many items, the same again by seed."""

from collections import Counter
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from annotation.assigning import plan, raters_planned


@given(st.integers(0, 120), st.integers(1, 7), st.integers(1, 4), st.integers(0, 5))
@settings(max_examples=80, deadline=None)
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
