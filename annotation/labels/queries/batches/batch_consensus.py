"""Consensus of a chunk: asked once for each different set of answers to a dimension.

The result for a dimension depends on the answers to it and to the dimensions that decide whether it applies, and on the
numbers of parts and skips. Who gave them and the words of free text do not matter. So a million items have a few
thousand sets, and there is one definition of a label. Some items are judged one by one: those of relabeling queues,
with matched parts, with a part resolved as not existing, or with an answer that was not blind.
"""

from collections.abc import Sequence, Sized
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any, Protocol

import numpy as np
from django.db.models import QuerySet

from annotation.core.binary_copy import read_binary
from annotation.labels.answers import applies
from annotation.labels.consensus import Decision, Place, RaterAnswer, verdicts
from annotation.labels.consensus import Values as Given
from annotation.labels.queries.batches.chunks import (
    FINISHED,
    KINDS,
    METHODS,
    UNFINISHED,
    WITHDRAWN,
    ItemChunk,
    Kind,
    Raters,
    ValueCodes,
    group_sets,
    raters_of,
    sets_of,
    within,
)
from annotation.labels.queries.verdicts import ItemVerdicts, questions, round_verdicts
from annotation.labels.queries.version_mapping import VersionMapping
from annotation.models import Item, PartMatch, Resolution, Round, RoundItem
from taxonomy.queries import published_version
from taxonomy.tree import VersionTree

KEPT_MOST = 50_000
"""How many different sets of answers, and words, are kept in memory before they are forgotten."""
DECIDED = datetime(1, 1, 1, tzinfo=UTC)
"""Stands for the time of a decision, which is each item's own."""
NOTHING = 0
"""The number of what an item without a label comes to."""
_ODD = """
    SELECT id::bigint, n_parts::int, (skip_reason <> '')::int
    FROM annotation_annotation WHERE id {} AND (n_parts <> 1 OR skip_reason <> '') ORDER BY id"""
_KIND, _RANK, _PART = 52, 38, 25
RATING, DECISION = 0, 1
LIMITS = {"raters": 1 << 14, "parts": 1 << 13, "values": 1 << 25, "dimensions": 1 << 9}


class FreeAnswer(str):
    """Stands in a set for a free answer of each item: `rank` says which of those that it has on the dimension."""

    rank: int

    @classmethod
    def of(cls, rank: int) -> "FreeAnswer":
        made = cls(f"\0{rank}")
        made.rank = rank
        return made


class Collector(Protocol):
    """Where it is kept what sets come to."""

    def add(self, key: str | None, each: ItemVerdicts) -> int:
        """What the verdicts on a dimension (None: on all of them) come to; a number above NOTHING."""

    def forget(self) -> None:
        """Begins anew."""


@dataclass(frozen=True)
class ChunkConsensus:
    """What N items of a stretch come to on each of D dimensions.

    `which` (D × N) are numbers that `Collector.add` gave. `who` says of each item which set of raters it has,
    `groups` their places in order of their codes. `decided` are places (row, part, dimension) and microseconds.
    `own` are the free answers: place (row, dimension, rank) and the number of the value.
    """

    which: np.ndarray
    who: np.ndarray
    groups: Sequence[tuple[int, ...]]
    decided: tuple[np.ndarray, np.ndarray]
    own: tuple[np.ndarray, np.ndarray]
    is_complete: np.ndarray

    def cells(self, starts: Sequence[int], sizes: Sequence[int]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """What stands in rows `starts`, and `sizes` of them, for each number: item, dimension and row, item by item."""
        which = self.which.T.ravel()
        n_here = np.array(sizes, dtype=np.int64)[which]
        cells = np.repeat(np.arange(len(which)), n_here)
        begin = np.array(starts, dtype=np.int64)[which] - (np.cumsum(n_here) - n_here)
        at = np.repeat(begin, n_here) + np.arange(len(cells))
        return cells // len(self.which), cells % len(self.which), at

    def own_numbers(self, rows: np.ndarray, ranks: np.ndarray, dimensions: np.ndarray) -> np.ndarray:
        """The numbers of free answers that are each item's own."""
        places, numbers = self.own
        order = np.argsort(places, kind="stable")
        found: np.ndarray = numbers[order[np.searchsorted(places, place_of(rows, ranks, dimensions), sorter=order)]]
        return found


def place_of(rows: np.ndarray, parts: Any, dimensions: Any) -> np.ndarray:
    """A number for each place of a stretch: row, part (or rank of a free answer), dimension."""
    found: np.ndarray = (rows.astype(np.int64) << 32) | (np.asarray(parts, dtype=np.int64) << 10) | dimensions
    return found


class BatchConsensus:
    """Judges a round, stretch by stretch, its labels told in terms of a version.

    Without `has_own` no free answer is replaced by its rank.
    """

    def __init__(
        self, round_: Round, version_mapping: VersionMapping, kept: Collector, *, has_own: bool = True
    ) -> None:
        self.round, self.version_mapping, self.kept = round_, version_mapping, kept
        self.tree: VersionTree = published_version(round_.taxonomy_version_id)
        self.asked = questions(self.tree)
        self.keys = [each.key for each in self.tree.dimensions]
        self.ids = [each.id for each in self.tree.dimensions]
        self.above = [sorted(map(self.keys.index, self._above(key))) for key in self.keys]
        self.has_free = any(each.is_open for each in self.tree.dimensions)
        self.is_own = np.array([has_own and self._is_own(at) for at in range(len(self.keys))], dtype=bool)
        self.raters: Raters = raters_of(round_.study_id)
        self.is_worklist = round_.kind == Round.Kind.RELABEL
        self.apart = _judged_apart(round_)
        self.nameless = RoundItem(round=round_, item=Item(identifier=""))
        self._forget()

    def _above(self, key: str) -> set[str]:
        """A dimension of the round and those that decide, in one version or the other, whether it applies."""
        found, left = {key}, [key]
        while left:
            at = left.pop()
            for tree in (self.tree, self.version_mapping.tree):
                condition = tree.by_key[at].applies_when if at in tree.by_key else None
                if condition is not None and condition.dimension not in found:
                    found.add(condition.dimension)
                    left.append(condition.dimension)
        return found & set(self.keys)

    def _is_own(self, at: int) -> bool:
        """Whether it is all the same which words are given: the dimension is free, and nothing hangs on it."""
        mine, there = self.tree.dimensions[at], self.version_mapping.tree.by_key.get(self.keys[at])
        hangs = any(at in above for other, above in enumerate(self.above) if other != at)
        is_free = mine.is_open
        return is_free and not hangs and (there is None or there.kind == mine.kind)

    def _forget(self) -> None:
        self.kept.forget()
        self.values, self.bases = ValueCodes(self.tree), _Numbers()
        self.sets = [_Numbers() for _ in self.keys]
        self.known: list[dict[tuple[int, ...], int]] = [{} for _ in self.keys]

    def judged(self, stretch: ItemChunk) -> ChunkConsensus:
        """What the items of a stretch come to; six queries, and those of what is judged item by item."""
        kept: list[Sized] = [self.bases, *self.sets, *self.known, self.values.words]
        if max(map(len, kept)) > KEPT_MOST:
            self._forget()
        n = len(stretch.items)
        one_by_one = self._one_by_one(stretch)
        nothing = np.zeros(0, dtype=np.int64)
        found = ChunkConsensus(
            np.full((len(self.keys), n), NOTHING, dtype=np.int64), np.zeros(n, dtype=np.int64), [()],
            (nothing, nothing), (nothing, nothing), np.zeros(n, dtype=bool),
        )  # fmt: skip
        if len(one_by_one) < n:
            found, not_blind = self._together(stretch)
            one_by_one = np.union1d(one_by_one, not_blind)
        if len(one_by_one):
            found.which[:, stretch.rows_of(one_by_one)] = NOTHING
            for each in round_verdicts(self.round, items=one_by_one.tolist()):
                row = stretch.rows_of(np.array([each.round_item.item_id]))[0]
                found.which[0, row] = self.kept.add(None, each)
                found.is_complete[row] = each.is_complete
        return found

    def _one_by_one(self, stretch: ItemChunk) -> np.ndarray:
        """The items that are judged one by one: all of a worklist, else those that hang on more than one dimension."""
        return stretch.items if self.is_worklist else np.intersect1d(stretch.items, self.apart)

    def _together(self, stretch: ItemChunk) -> tuple[ChunkConsensus, np.ndarray]:
        """What the items come to by their sets, and the items with a planned answer that was not given blind."""
        n = len(stretch.items)
        answers = stretch.answers()
        raters = self.raters.places_of(answers["rater"])
        kinds = self.raters.kinds(answers["is_rater"], raters)
        counts = (kinds != KINDS.index(Kind.MODEL)) & (answers["state"] != WITHDRAWN)
        answers, raters, is_third = answers[counts], raters[counts], kinds[counts] == KINDS.index(Kind.THIRD)
        rows = stretch.rows_of(answers["item"])
        is_done = np.isin(answers["state"], FINISHED) & (answers["current"] >= 0)
        not_blind = answers["item"][is_done & ~is_third & (answers["blind"] != answers["current"])]
        complete = self._complete(stretch, answers, rows, is_done & ~is_third, is_third)

        # The answers of each item in the order of their raters' codes: what counts is their rank and not whose.
        order = np.flatnonzero(is_done)
        order = order[np.lexsort((raters[order], rows[order]))]
        rows, raters, current = rows[order], raters[order], answers["current"][order]
        n_answers = np.bincount(rows, minlength=n)
        ranks = np.arange(len(rows)) - np.repeat(np.cumsum(n_answers) - n_answers, n_answers)
        groups, who = sets_of(n_answers, raters)
        bases = self._bases(stretch, complete, n_answers, current, is_third[order])

        if self.is_own.sum() == sum(each.is_open for each in self.tree.dimensions):
            self.values.forget_free()
        ratings = stretch.ratings(self.values, self.ids, has_free=self.has_free)
        at = _found(current, ratings["annotation"])
        ratings, at = ratings[at >= 0], at[at >= 0]
        decisions = stretch.decisions(self.values, self.ids, has_free=self.has_free)
        owners = np.concatenate([rows[at], stretch.rows_of(decisions["item"])])
        dimensions = np.concatenate([ratings["dimension"], decisions["dimension"]])
        values = np.concatenate([ratings["value"], decisions["value"]])
        own = self._make_own(owners, dimensions, values)
        tokens = np.concatenate(
            [
                _packed(RATING, ranks[at], ratings["part"], values[: len(ratings)]),
                _packed(DECISION, decisions["method"], decisions["part"], values[len(ratings) :]),
            ]
        )
        which = self._sets(n, bases, owners, dimensions, tokens)
        decided = place_of(owners[len(ratings) :], decisions["part"], decisions["dimension"])
        order = np.argsort(decided, kind="stable")
        times = (decided[order], decisions["at"].astype(np.int64)[order])
        judged = ChunkConsensus(which, who, [tuple(each.tolist()) for each in groups], times, own, complete)
        return judged, not_blind[stretch.rows_of(not_blind) >= 0]

    def _complete(
        self,
        stretch: ItemChunk,
        answers: np.ndarray,
        rows: np.ndarray,
        is_planned: np.ndarray,
        is_third: np.ndarray,
    ) -> np.ndarray:
        """Of each item whether those who were planned are done with it."""
        n = len(stretch.items)
        if self.round.state != Round.State.OPEN:
            return np.ones(n, dtype=bool)
        waits = np.isin(answers["state"], UNFINISHED) & ~is_third
        has_all = np.bincount(rows[is_planned], minlength=n) >= stretch.n_raters
        return np.asarray(has_all & (np.bincount(rows[waits], minlength=n) == 0))

    def _bases(
        self,
        stretch: ItemChunk,
        complete: np.ndarray,
        n_answers: np.ndarray,
        current: np.ndarray,
        is_third: np.ndarray,
    ) -> np.ndarray:
        """Of each item the number of what is not said of a dimension: how many raters and parts, skips, thirds."""
        n_parts, is_skip = np.ones(len(current), dtype=np.int64), np.zeros(len(current), dtype=np.int64)
        if len(current):
            condition, keys = within(current)
            odd = read_binary(_ODD.format(condition), keys, annotation="bigint", n_parts="int", is_skip="int")
            at = _found(odd["annotation"], current, is_sorted=True)
            n_parts[at >= 0], is_skip[at >= 0] = (odd[name][at[at >= 0]] for name in ("n_parts", "is_skip"))
        n = len(n_answers)
        starts = np.cumsum(n_answers + 1) - (n_answers + 1)
        tokens = np.empty(n + len(current), dtype=np.int64)
        is_head = np.zeros(len(tokens), dtype=bool)
        is_head[starts] = True
        tokens[is_head] = stretch.n_raters * 2 + complete
        tokens[~is_head] = n_parts * 4 + is_skip * 2 + is_third
        different, which = sets_of(n_answers + 1, tokens)
        found: np.ndarray = self.bases.of(different)[which]
        return found

    def _make_own(
        self, owners: np.ndarray, dimensions: np.ndarray, values: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Writes ranks in the place of free values where it is all the same which they are; places and values."""
        is_own = self.is_own[dimensions] & (values >= self.values.first_free)
        if not is_own.any():
            return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
        places = place_of(owners[is_own], 0, dimensions[is_own])
        whole, inverse = np.unique(np.stack([places, values[is_own]]), axis=1, return_inverse=True)
        is_first = np.concatenate([[True], whole[0, 1:] != whole[0, :-1]])
        numbers = np.arange(whole.shape[1])
        ranks = numbers - np.maximum.accumulate(np.where(is_first, numbers, 0))
        values[is_own] = self.values.first_free + ranks[inverse.ravel()]
        return whole[0] | (ranks << 10), whole[1]

    def _sets(
        self, n: int, bases: np.ndarray, owners: np.ndarray, dimensions: np.ndarray, tokens: np.ndarray
    ) -> np.ndarray:
        """Of each dimension and item what its set of answers comes to."""
        said = []
        for at, known in enumerate(self.sets):
            mine = dimensions == at
            different, which = group_sets(owners[mine], tokens[mine], n)
            said.append(known.of(different)[which])
        found = np.empty((len(self.keys), n), dtype=np.int64)
        for at, above in enumerate(self.above):
            columns = [bases, *(said[each] for each in above)]
            first, which = _combined(columns)
            sets = np.stack([column[first] for column in columns], axis=1).tolist()
            found[at] = np.array([self._number(at, tuple(each)) for each in sets], dtype=np.int64)[which]
        return found

    def _number(self, at: int, whole: tuple[int, ...]) -> int:
        """What a set comes to on a dimension, judged where it is met for the first time."""
        known = self.known[at]
        if whole not in known:
            known[whole] = self.kept.add(self.keys[at], self._judged(at, whole))
        return known[whole]

    def _judged(self, at: int, whole: tuple[int, ...]) -> ItemVerdicts:
        above = self.above[at]
        head, *parts_of = self.bases.sets[whole[0]]
        n_raters, is_complete = head // 2, bool(head % 2)
        if not is_complete:
            return ItemVerdicts(self.nameless, [], False)
        given: dict[tuple[int, int, str], list[Any]] = {}
        decided: dict[Place, tuple[str, list[Any]]] = {}
        for place, number in zip(above, whole[1:], strict=True):
            key = self.keys[place]
            for token in self.sets[place].sets[number]:
                kind, a, part, value = _unpacked(token)
                words = [self._word(place, value)] if value else []
                if kind == RATING:
                    given.setdefault((a, part, key), []).extend(words)
                else:
                    decided.setdefault((part, key), (METHODS[a - 1], []))[1].extend(words)
        said = []
        for rank, token in enumerate(parts_of):
            n_parts, is_skip, is_third = token // 4, bool(token // 2 % 2), bool(token % 2)
            parts: list[dict[str, Given]] = [{} for _ in range(0 if is_skip else n_parts)]
            for (who, part, key), values in given.items():
                if who == rank and part <= len(parts):
                    parts[part - 1][key] = tuple(sorted(values, key=str))
            said.append(RaterAnswer(f"{rank:05}", parts, "skipped" if is_skip else "", is_third=is_third))
        decisions = {
            place: Decision(0, tuple(sorted(values, key=str)), method, decided_at=DECIDED)
            for place, (method, values) in decided.items()
        }
        asked = [self.asked[place] for place in above]
        judged = verdicts(asked, partial(applies, self.tree), said, decisions, n_raters)
        return ItemVerdicts(self.nameless, judged, is_complete)

    def _word(self, place: int, number: int) -> Any:
        first = self.values.first_free
        return FreeAnswer.of(number - first) if number >= first and self.is_own[place] else self.values.words[number]


def _judged_apart(round_: Round) -> np.ndarray:
    """The items whose bugs were matched, or that were decided to have a part less; one query."""
    matched: QuerySet[Any, Any] = PartMatch.objects.filter(annotation__assignment__round=round_).order_by()
    gone: QuerySet[Any, Any] = Resolution.objects.filter(round=round_, no_part=True).order_by()
    items = matched.values_list("annotation__assignment__item", flat=True).union(gone.values_list("item", flat=True))
    return np.array(list(items), dtype=np.int64)


class _Numbers:
    """Sets of tokens by number; a set that was met before has its number."""

    def __init__(self) -> None:
        self._known: dict[bytes, int] = {}
        self.sets: list[list[int]] = []

    def __len__(self) -> int:
        return len(self.sets)

    def of(self, different: Sequence[np.ndarray]) -> np.ndarray:
        """The numbers of these sets."""
        found = []
        for each in different:
            number = self._known.setdefault(each.tobytes(), len(self.sets))
            if number == len(self.sets):
                self.sets.append(each.tolist())
            found.append(number)
        return np.array(found, dtype=np.int64)


def _packed(kind: int, a: np.ndarray, part: np.ndarray, value: np.ndarray) -> np.ndarray:
    """Whole numbers that say all of it; their order is that of kind, rater or method, part and value."""
    whole = [np.asarray(each, dtype=np.int64) for each in (a, part, value)]
    for each, most in zip(whole, LIMITS.values(), strict=False):
        if each.size and int(each.max()) >= most:
            raise OverflowError("A round holds more raters, parts or words than can be told apart.")
    packed: np.ndarray = (kind << _KIND) | (whole[0] << _RANK) | (whole[1] << _PART) | whole[2]
    return packed


def _unpacked(token: int) -> tuple[int, int, int, int]:
    raters, parts, values = (most - 1 for most in list(LIMITS.values())[:3])
    return token >> _KIND, token >> _RANK & raters, token >> _PART & parts, token & values


def _found(keys: np.ndarray, wanted: np.ndarray, *, is_sorted: bool = False) -> np.ndarray:
    """Where each of some numbers stands among different others, −1 for those that are not there."""
    if not len(keys):
        return np.full(len(wanted), -1, dtype=np.int64)
    order = np.arange(len(keys)) if is_sorted else np.argsort(keys)
    at = order[np.searchsorted(keys, wanted, sorter=order).clip(max=len(keys) - 1)]
    return np.where(keys[at] == wanted, at, -1)


def _combined(columns: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Of the different rows of some columns of numbers the first places, and of each row which of them it is."""
    codes, most = columns[0], int(columns[0].max(initial=0)) + 1
    for column in columns[1:]:
        size = int(column.max(initial=0)) + 1
        if most * size >= 1 << 62:
            codes = np.unique(codes, return_inverse=True)[1]
            most = len(codes) + 1
        codes, most = codes * size + column, most * size
    _, first, which = np.unique(codes, return_index=True, return_inverse=True)
    return first, which
