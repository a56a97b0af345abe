"""Plans who rates which item: every pair of raters shares equally many, by seed."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TypeVar

T = TypeVar("T")
MOST_GROUPS = 1000


@dataclass(frozen=True)
class Place:
    """One planned assignment: item number, rater number, slot 1 … N, and its place in that rater's own order."""

    item: int
    rater: int
    slot: int
    position: int


def raters_planned(n_items: int, raters_per_item: int, double_share: float, seed: int) -> list[int]:
    """How many raters each of `n_items` is to have: `raters_per_item` for a seeded share of them, one for the others.

    The number of shared items is `double_share · n_items`, rounded to the nearest whole number.
    """
    n_shared = int(double_share * n_items + 0.5)
    shared = set(random.Random(f"shared {seed}").sample(range(n_items), n_shared))
    return [raters_per_item if item in shared else 1 for item in range(n_items)]


def plan(planned: Sequence[int], n_raters: int, seed: int) -> list[Place]:
    """Gives each item its raters, in an order shuffled for each rater.

    `planned` holds the number of raters of each item, none larger than `n_raters`. Among items with equally many
    raters every group of raters comes up equally often (to within one), so every pair shares equally many items and
    loads differ as little as the numbers allow. Raises ValueError when an item asks for more raters than there are.
    """
    if any(n > n_raters for n in planned):
        raise ValueError("an item asks for more raters than the round has")
    rng = random.Random(f"plan {seed}")
    load = [0] * n_raters
    given: list[tuple[int, int, int]] = []
    by_size: dict[int, list[int]] = {}
    for item, n in enumerate(planned):
        by_size.setdefault(n, []).append(item)
    for n, items in sorted(by_size.items(), reverse=True):
        groups = _groups(n_raters, n, rng)
        n_whole = len(items) // len(groups) * len(groups)
        for item, group in _in_turn(items[:n_whole], groups, rng):
            given.extend((item, rater, slot) for slot, rater in enumerate(group, start=1))
            for rater in group:
                load[rater] += 1
        left = list(groups)
        for item in items[n_whole:]:
            group = min(left, key=lambda each: (max(load[r] for r in each), sum(load[r] for r in each)))
            left.remove(group)
            given.extend((item, rater, slot) for slot, rater in enumerate(group, start=1))
            for rater in group:
                load[rater] += 1
    return _in_each_raters_order(given, n_raters, seed)


def _in_turn(
    items: Sequence[int], groups: Sequence[tuple[int, ...]], rng: random.Random
) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Every group equally often, in an order shuffled anew for each turn."""
    for start in range(0, len(items), len(groups)):
        turn = rng.sample(groups, len(groups))
        yield from zip(items[start : start + len(groups)], turn, strict=True)


def _groups(n_raters: int, n: int, rng: random.Random) -> list[tuple[int, ...]]:
    """All groups of `n` raters in seeded order; a rotation where there would be too many to walk through."""
    order = list(range(n_raters))
    rng.shuffle(order)
    groups: list[tuple[int, ...]] = []
    for group in combinations(order, n):
        groups.append(group)
        if len(groups) > MOST_GROUPS:
            return [tuple(order[(start + k) % n_raters] for k in range(n)) for start in range(n_raters)]
    rng.shuffle(groups)
    return groups


def _in_each_raters_order(given: Sequence[tuple[int, int, int]], n_raters: int, seed: int) -> list[Place]:
    own: list[list[tuple[int, int]]] = [[] for _ in range(n_raters)]
    for item, rater, slot in given:
        own[rater].append((item, slot))
    places: list[Place] = []
    for rater, mine in enumerate(own):
        random.Random(f"order {seed} {rater}").shuffle(mine)
        places.extend(Place(item, rater, slot, position) for position, (item, slot) in enumerate(mine, start=1))
    return places
