"""Planning of assignments: each pair of raters shares equally many items, by seed and within quotas."""

import random
from array import array
from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from itertools import combinations
from typing import TypeVar, overload

T = TypeVar("T")
Thing = TypeVar("Thing", bound=Hashable)
Who = TypeVar("Who", bound=Hashable)
MOST_GROUPS = 1000
Capacities = Sequence[int | None]


@dataclass(frozen=True)
class PlannedAssignment:
    """One planned assignment: item number, rater number, slot 1 … N, and its place in that rater's own order."""

    item: int
    rater: int
    slot: int
    position: int


@dataclass
class AssignmentPlan(Sequence[PlannedAssignment]):
    """The planned assignments, rater by rater in each rater's own order: 10 bytes each, so that millions have room."""

    items: "array[int]" = field(default_factory=lambda: array("i"))
    raters: "array[int]" = field(default_factory=lambda: array("i"))
    slots: "array[int]" = field(default_factory=lambda: array("h"))
    starts: list[int] = field(default_factory=list)
    """Where the places of each rater begin."""

    def __len__(self) -> int:
        return len(self.items)

    @overload
    def __getitem__(self, index: int) -> PlannedAssignment: ...
    @overload
    def __getitem__(self, index: slice) -> list[PlannedAssignment]: ...
    def __getitem__(self, index: int | slice) -> PlannedAssignment | list[PlannedAssignment]:
        if isinstance(index, slice):
            return [self[each] for each in range(*index.indices(len(self)))]
        rater = self.raters[index]
        return PlannedAssignment(
            self.items[index], rater, self.slots[index], index % len(self) - self.starts[rater] + 1
        )

    def n_of(self, rater: int) -> int:
        """How many a rater is given."""
        ends = [*self.starts[1:], len(self)]
        return ends[rater] - self.starts[rater]


def own_order(n_items: int, seed: int, rater: int) -> "array[int]":
    """The items in a rater's own order, for whoever is given them all."""
    return array("i", random.Random(f"own {seed} {rater}").sample(range(n_items), n_items))


def raters_planned(n_items: int, raters_per_item: int, double_share: float, seed: int) -> list[int]:
    """How many raters each of `n_items` is to have: `raters_per_item` for a seeded share of them, one for the others.

    The number of shared items is `double_share · n_items`, rounded to the nearest whole number.
    """
    n_shared = int(double_share * n_items + 0.5)
    if n_shared == n_items:
        return [raters_per_item] * n_items
    planned = [1] * n_items
    for item in random.Random(f"shared {seed}").sample(range(n_items), n_shared):
        planned[item] = raters_per_item
    return planned


def plan(planned: Sequence[int], n_raters: int, seed: int, capacities: Capacities | None = None) -> AssignmentPlan:
    """Gives each item its raters, in an order shuffled for each rater.

    `planned` holds the number of raters of each item, none larger than `n_raters`. Among items with equally many
    raters every group of raters comes up equally often (to within one), so every pair shares equally many items and
    loads differ as little as the numbers allow. Raises ValueError when an item asks for more raters than there are.

    `capacities` says how many items each rater takes at most (None: any number). Where none of them binds the plan is
    the same as without; else loads are as even as they allow, and pairs nearly so. Raises ValueError when they can't
    hold all slots (`slots_short` says by how many).
    """
    if any(n > n_raters for n in planned):
        raise ValueError("an item needs more raters than the round has")
    given = _given_evenly(planned, n_raters, seed)
    if capacities is not None:
        load = Counter(given.raters)
        if any(most is not None and load[rater] > most for rater, most in enumerate(capacities)):
            given = _given_within(planned, [len(planned) if most is None else most for most in capacities], seed)
    return _in_each_raters_order(given, n_raters, seed)


def slots_short(planned: Sequence[int], capacities: Capacities) -> int:
    """How many slots find no rater, however they are given out, where no rater takes an item twice.

    The smallest cut of the flow from items to raters: with the k raters of least capacity on one side.
    """
    by_size = Counter(planned)
    least = sorted(len(planned) if most is None else most for most in capacities)
    n_given = min(
        sum(least[:k]) + sum(min(size, len(least) - k) * n for size, n in by_size.items())
        for k in range(len(least) + 1)
    )
    return sum(planned) - n_given


class _AssignmentColumns:
    """Item, rater and slot of each assignment, in columns."""

    def __init__(self) -> None:
        self.items, self.raters, self.slots = array("i"), array("i"), array("h")

    def give(self, item: int, group: Sequence[int]) -> None:
        for slot, rater in enumerate(group, start=1):
            self.items.append(item)
            self.raters.append(rater)
            self.slots.append(slot)


def _given_evenly(planned: Sequence[int], n_raters: int, seed: int) -> _AssignmentColumns:
    """Gives items out, all raters being able to take any number."""
    rng = random.Random(f"plan {seed}")
    load = [0] * n_raters
    given = _AssignmentColumns()
    by_size: dict[int, array[int]] = {}
    for item, n in enumerate(planned):
        by_size.setdefault(n, array("i")).append(item)
    for n, items in sorted(by_size.items(), reverse=True):
        groups = _groups(n_raters, n, rng)
        n_whole = len(items) // len(groups) * len(groups)
        for item, group in _in_turn(items[:n_whole], groups, rng):
            given.give(item, group)
            for rater in group:
                load[rater] += 1
        left = list(groups)
        for item in items[n_whole:]:
            group = min(left, key=lambda each: (max(load[r] for r in each), sum(load[r] for r in each)))
            left.remove(group)
            given.give(item, group)
            for rater in group:
                load[rater] += 1
    return given


def _given_within(planned: Sequence[int], capacities: Sequence[int], seed: int) -> _AssignmentColumns:
    """Gives items out, no rater above their capacity.

    For the items of each size the loads are fixed first, as even as can be. Then item after item takes whoever has to
    be in all that are left, and of the others those who shared least with the ones taken.
    """
    rng = random.Random(f"within {seed}")
    raters = range(len(capacities))
    load, shared = [0] * len(capacities), Counter[tuple[int, int]]()
    given = _AssignmentColumns()
    for size in sorted(set(planned), reverse=True):
        items = array("i", (item for item, n in enumerate(planned) if n == size))
        rng.shuffle(items)
        room = [min(capacities[rater] - load[rater], len(items)) for rater in raters]
        due = _filled_evenly(load, room, size * len(items), rng)
        for n_left, item in zip(range(len(items), 0, -1), items, strict=True):
            group = [rater for rater in raters if due[rater] == n_left]
            chance = {rater: rng.random() for rater in raters}
            while len(group) < size:
                free = [rater for rater in raters if due[rater] and rater not in group]
                group.append(
                    min(free, key=lambda r: (sum(shared[_pair(r, each)] for each in group), -due[r], chance[r]))
                )
            for rater in group:
                due[rater] -= 1
                load[rater] += 1
            shared.update(_pair(*both) for both in combinations(group, 2))
            given.give(item, group)
    return given


def _pair(one: int, other: int) -> tuple[int, int]:
    return (one, other) if one < other else (other, one)


def _filled_evenly(load: Sequence[int], room: Sequence[int], n: int, rng: random.Random) -> list[int]:
    """How many of `n` each rater gets: always whoever has least so far and room for one more, ties by chance."""
    if sum(room) < n:
        raise ValueError("the raters can't label all items")
    due = [0] * len(load)
    chance = [rng.random() for _ in load]
    for _ in range(n):
        rater = min((r for r in range(len(load)) if due[r] < room[r]), key=lambda r: (load[r] + due[r], chance[r]))
        due[rater] += 1
    return due


def new_holders(
    freed: Sequence[Thing],
    taken: Mapping[Thing, AbstractSet[Who]],
    loads: Mapping[Who, int],
    room: Mapping[Who, int | None],
    seed: str,
) -> list[tuple[Thing, Who | None]]:
    """To whom each freed slot goes: whoever has least, ties by seed; None where nobody can take it.

    An item may be freed several times. `taken` holds the raters who had an item, and who don't get it again; `loads`
    what each rater has, `room` how many more they take (None: any number). As many slots as possible find someone:
    where those who could take an item are full, what they were just given is passed on to others.
    """
    rng = random.Random(seed)
    chance = {rater: rng.random() for rater in loads}
    holder: list[Who | None] = [None] * len(freed)
    held: dict[Who, dict[Thing, int]] = {rater: {} for rater in loads}

    def place(slot: int, tried: set[Who]) -> bool:
        item = freed[slot]
        had = taken.get(item, set())
        able = [each for each in loads if each not in tried and each not in had and item not in held[each]]
        able.sort(key=lambda each: (loads[each] + len(held[each]), chance[each]))
        for rater in able:
            most = room[rater]
            if most is None or len(held[rater]) < most:
                held[rater][item], holder[slot] = slot, rater
                return True
        for rater in able:
            tried.add(rater)
            for other, its_slot in list(held[rater].items()):
                if place(its_slot, tried):
                    del held[rater][other]
                    held[rater][item], holder[slot] = slot, rater
                    return True
        return False

    full: set[Who] = (
        set()
    )  # whoever was tried in vain is full for good, as are those they could have passed items on to
    for slot in range(len(freed)):
        tried = set(full)
        if not place(slot, tried):
            full = tried
    return list(zip(freed, holder, strict=True))


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


def _in_each_raters_order(given: _AssignmentColumns, n_raters: int, seed: int) -> AssignmentPlan:
    own = [array("i") for _ in range(n_raters)]
    for index, rater in enumerate(given.raters):
        own[rater].append(index)
    places = AssignmentPlan()
    for rater, mine in enumerate(own):
        random.Random(f"order {seed} {rater}").shuffle(mine)
        places.starts.append(len(places))
        places.items.extend(given.items[index] for index in mine)
        places.slots.extend(given.slots[index] for index in mine)
        places.raters.extend([rater] * len(mine))
    return places
