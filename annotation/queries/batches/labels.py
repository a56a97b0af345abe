"""Agreed labels as record batches: what an item's answers come to is asked once for each different set of answers.

What counts and how it is told is as in `queries.results.labels`: consensus judges, and `label_rows` tells. Only
worklists and items whose bugs were matched are read item by item.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
from django.db.models import QuerySet

from annotation.answers import applies
from annotation.consensus import Answer, Decision, Place, verdicts
from annotation.consensus import Values as Given
from annotation.models import Item, PartMatch, Round, RoundItem
from annotation.queries.batches.reading import (
    FINISHED,
    METHODS,
    UNFINISHED,
    WITHDRAWN,
    Raters,
    Stretch,
    Values,
    grouped,
    raters_of,
    stretches,
)
from annotation.queries.batches.words import Column, listed, of_words
from annotation.queries.binary import read_binary
from annotation.queries.plans.standing import label_version
from annotation.queries.results import LabelRow, label_rows, settled_here
from annotation.queries.telling import Telling
from annotation.queries.verdicts import ItemVerdicts, questions, round_verdicts
from taxonomy.models import TaxonomyVersion
from taxonomy.queries import published_version
from taxonomy.tree import VersionTree

Batches = Iterator[tuple[tuple[int, int], pa.RecordBatch]]
"""Batch after batch: up to which round number and position it reaches, and its rows."""

KEPT_MOST = 50_000
"""How many different sets of answers, and words, are kept in memory before they are forgotten."""
DECIDED = datetime(1, 1, 1, tzinfo=UTC)
"""Stands for the time of a decision, which is each item's own."""
_ODD = """
    SELECT x.id::bigint, x.n_parts::int, (x.skip_reason <> '')::int
    FROM annotation_annotation x JOIN annotation_assignment a ON a.current_id = x.id
    WHERE a.round_id = %s AND (x.n_parts <> 1 OR x.skip_reason <> '')"""
META, ANSWER, RATING, DECISION = range(4)
_RATER, _PART, _DIMENSION, _VALUE = 47, 34, 25, 0
LIMITS = {"raters": 1 << 14, "parts": 1 << 13, "dimensions": 1 << 9, "values": 1 << 25}


def label_batches(
    rounds: Sequence[Round],
    *,
    dimension: str | None = None,
    version: TaxonomyVersion | None = None,
    standing: TaxonomyVersion | None = None,
    hidden: Collection[tuple[int, int]] = (),
) -> Batches:
    """The rows of `results.labels`, in its order, without those of items (round's number, item's key) that are hidden.

    Lists are dictionaries of JSON texts. Cost: six queries for every ITEMS items.
    """
    for round_ in rounds:
        told_in = version or label_version(round_, standing)
        among = settled_here(round_, rounds) if len(rounds) > 1 else None
        kept = _Kept(round_, Telling(told_in), dimension)
        for stretch in stretches(round_, among=among):
            yield (round_.number, stretch.last), kept.rows(stretch, hidden)


@dataclass
class _Templates:
    """The rows that sets of answers come to, below each other, and where those of each begin."""

    part: list[int] = field(default_factory=list)
    round: list[int] = field(default_factory=list)
    dimension: Column = field(default_factory=Column)
    values: Column = field(default_factory=Column)
    method: Column = field(default_factory=Column)
    version: list[int] = field(default_factory=list)
    raters: Column = field(default_factory=Column)
    original_values: Column = field(default_factory=Column)
    original_version: list[int] = field(default_factory=list)
    unmapped: Column = field(default_factory=Column)
    resolved_at: list[int] = field(default_factory=list)
    """Microseconds; −1 for none, −2 for each item's own."""
    place: list[int] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)

    def add(self, rows: Sequence[LabelRow], places: Mapping[str, int]) -> int:
        """Takes the rows of one item in; which of the sets it is."""
        self.starts.append(len(self.part))
        self.sizes.append(len(rows))
        for row in rows:
            self.part.append(row.part)
            self.round.append(row.round)
            self.dimension.add(row.dimension)
            self.values.add(listed(row.values))
            self.method.add(row.method)
            self.version.append(row.taxonomy_version)
            self.raters.add(listed(row.raters))
            self.original_values.add(listed(row.original_values))
            self.original_version.append(row.original_version)
            self.unmapped.add(row.unmapped)
            self.resolved_at.append(_microseconds(row.resolved_at))
            self.place.append((row.part << 10) | places.get(row.dimension, 0))
        return len(self.starts) - 1


def _microseconds(at: datetime | None) -> int:
    if at is None:
        return -1
    if at is DECIDED:
        return -2
    since = at - datetime(1970, 1, 1, tzinfo=UTC)
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds


class _Kept:
    """What is kept while a round is read: its questions, its raters, and what sets of answers came to."""

    def __init__(self, round_: Round, telling: Telling, dimension: str | None) -> None:
        self.round, self.telling, self.only = round_, telling, dimension
        self.tree: VersionTree = published_version(round_.taxonomy_version_id)
        self.asked = questions(self.tree)
        self.dimensions = [each.id for each in self.tree.dimensions]
        self.has_free = any(each.kind in ("number", "text") for each in self.tree.dimensions)
        self.places = {each.key: at for at, each in enumerate(self.tree.dimensions)}
        self.raters: Raters = raters_of(round_.study_id)
        self.odd = read_binary(_ODD, [round_.pk], annotation="bigint", n_parts="int", is_skip="int")
        self.odd.sort(order="annotation")
        self._forget()

    def _forget(self) -> None:
        self.values, self.templates = Values(self.tree), _Templates()
        self.known: dict[bytes, int] = {}
        self.nothing = self.templates.add([], {})

    def rows(self, stretch: Stretch, hidden: Collection[tuple[int, int]]) -> pa.RecordBatch:
        """The rows of a stretch of the round."""
        if max(len(self.known), len(self.values.words), len(self.templates.starts)) > KEPT_MOST:
            self._forget()
        one_by_one = self._matched(stretch)
        which = np.full(len(stretch.items), self.nothing, dtype=np.int64)
        decided = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
        if len(one_by_one) < len(stretch.items):
            which, decided = self._together(stretch)
        if len(one_by_one):
            which[stretch.rows_of(one_by_one)] = self.nothing
            for each in round_verdicts(self.round, items=one_by_one.tolist()):
                row = stretch.rows_of(np.array([each.round_item.item_id]))[0]
                which[row] = self.templates.add(self._wanted(label_rows(self.round, each, self.telling)), self.places)
        return _batch(stretch, self.templates, which, decided, hidden)

    def _matched(self, stretch: Stretch) -> np.ndarray:
        """The items that are read one by one: all of a worklist, else those whose bugs were matched."""
        if self.round.kind == Round.Kind.RELABEL:
            return stretch.items
        matched = PartMatch.objects.filter(annotation__assignment__round=self.round)
        if not matched.exists():
            return np.zeros(0, dtype=np.int64)
        items: QuerySet[Any, Any] = matched.order_by().values_list("annotation__assignment__item", flat=True).distinct()
        return np.intersect1d(stretch.items, np.array(list(items), dtype=np.int64))

    def _together(self, stretch: Stretch) -> tuple[np.ndarray, tuple[np.ndarray, np.ndarray]]:
        """Of each item the set of its answers, and of what was decided the places and the times."""
        answers = stretch.answers()
        raters = self.raters.places_of(answers["rater"])
        counts = (answers["slot"] >= 0) | self.raters.is_person[raters]
        counts &= answers["state"] != WITHDRAWN
        answers, raters = answers[counts], raters[counts]
        rows = stretch.rows_of(answers["item"])
        has_slot = answers["slot"] >= 0
        is_done = np.isin(answers["state"], FINISHED) & (answers["current"] >= 0)
        owners, tokens = [np.arange(len(stretch.items))], [self._meta(stretch, answers, rows, is_done & has_slot)]

        answers, raters, rows = answers[is_done], raters[is_done], rows[is_done]
        n_parts, is_skip = self._odd_of(answers["current"])
        owners.append(rows)
        tokens.append(_packed(ANSWER, raters, n_parts, 0, is_skip))

        ratings = stretch.ratings(self.values, self.dimensions, has_free=self.has_free)
        order = np.argsort(answers["current"])
        at = np.searchsorted(answers["current"], ratings["annotation"], sorter=order)
        at = order[np.minimum(at, len(order) - 1)] if len(order) else at
        is_current = answers["current"][at] == ratings["annotation"] if len(order) else np.zeros(len(at), dtype=bool)
        ratings, at = ratings[is_current], at[is_current]
        owners.append(rows[at])
        tokens.append(_packed(RATING, raters[at], ratings["part"], ratings["dimension"], ratings["value"]))

        decisions = stretch.decisions(self.values, self.dimensions, has_free=self.has_free)
        owners.append(stretch.rows_of(decisions["item"]))
        tokens.append(
            _packed(DECISION, decisions["method"], decisions["part"], decisions["dimension"], decisions["value"])
        )
        different, inverse = grouped(np.concatenate(owners), np.concatenate(tokens), len(stretch.items))
        which = np.array([self._template(each) for each in different], dtype=np.int64)[inverse]
        places = _place(owners[-1], decisions["part"], decisions["dimension"])
        return which, (places, decisions["at"].astype(np.int64))

    def _meta(self, stretch: Stretch, answers: np.ndarray, rows: np.ndarray, is_done: np.ndarray) -> np.ndarray:
        """What the planned raters of each item come to: how many there are, and whether the item is complete."""
        n = len(stretch.items)
        complete = np.ones(n, dtype=np.int64)
        if self.round.state == Round.State.OPEN:
            waits = np.isin(answers["state"], UNFINISHED) & (answers["slot"] >= 0)
            n_done = np.bincount(rows[is_done], minlength=n)
            complete = ((np.bincount(rows[waits], minlength=n) == 0) & (n_done >= stretch.n_raters)).astype(np.int64)
        return _packed(META, 0, 0, 0, stretch.n_raters * 2 + complete)

    def _odd_of(self, annotations: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Of annotations how many parts they have, and whether they are skips."""
        n_parts, is_skip = np.ones(len(annotations), dtype=np.int64), np.zeros(len(annotations), dtype=np.int64)
        if len(self.odd):
            at = np.minimum(np.searchsorted(self.odd["annotation"], annotations), len(self.odd) - 1)
            is_odd = self.odd["annotation"][at] == annotations
            n_parts[is_odd] = self.odd["n_parts"][at[is_odd]]
            is_skip[is_odd] = self.odd["is_skip"][at[is_odd]]
        return n_parts, is_skip

    def _template(self, tokens: np.ndarray) -> int:
        """The rows that a set of answers comes to, judged where it is met for the first time."""
        key = tokens.tobytes()
        if key not in self.known:
            self.known[key] = self.templates.add(self._judged(tokens), self.places)
        return self.known[key]

    def _judged(self, tokens: np.ndarray) -> list[LabelRow]:
        n_raters, is_complete = 0, False
        answers: dict[int, tuple[int, bool]] = {}
        given: dict[tuple[int, int, str], list[Any]] = {}
        decided: dict[Place, tuple[str, list[Any]]] = {}
        for kind, a, part, place, value in _unpacked(tokens):
            key = self.tree.dimensions[place].key
            if kind == META:
                n_raters, is_complete = value // 2, bool(value % 2)
            elif kind == ANSWER:
                answers[a] = (part, bool(value))
            elif kind == RATING:
                given.setdefault((a, part, key), []).extend([self.values.words[value]] if value else [])
            else:
                method = METHODS[a - 1]
                decided.setdefault((part, key), (method, []))[1].extend([self.values.words[value]] if value else [])
        if not is_complete:
            return []
        said = []
        for rater, (n_parts, is_skip) in sorted(answers.items()):
            parts: list[dict[str, Given]] = [{} for _ in range(0 if is_skip else n_parts)]
            for (who, part, key), values in given.items():
                if who == rater and part <= len(parts):
                    parts[part - 1][key] = tuple(sorted(values, key=str))
            said.append(Answer(self.raters.codes[rater], parts, "skipped" if is_skip else ""))
        decisions = {
            place: Decision(0, tuple(sorted(values, key=str)), method, decided_at=DECIDED)
            for place, (method, values) in decided.items()
        }
        judged = verdicts(self.asked, partial(applies, self.tree), said, decisions, n_raters)
        nameless = RoundItem(round=self.round, item=Item(identifier=""))
        return self._wanted(label_rows(self.round, ItemVerdicts(nameless, judged, True), self.telling))

    def _wanted(self, rows: list[LabelRow]) -> list[LabelRow]:
        return rows if self.only is None else [row for row in rows if row.dimension == self.only]


def _packed(kind: int, a: Any, part: Any, dimension: Any, value: Any) -> np.ndarray:
    """Whole numbers that say all of it; their order is that of kind, rater, part, dimension and value."""
    whole = [np.asarray(each, dtype=np.int64) for each in (a, part, dimension, value)]
    for each, most in zip(whole, LIMITS.values(), strict=True):
        if each.size and int(each.max()) >= most:
            raise OverflowError("A round holds more raters, parts, dimensions or words than can be told apart.")
    a, part, dimension, value = whole
    packed = (kind << 61) | (a << _RATER) | (part << _PART) | (dimension << _DIMENSION) | value
    return np.asarray(packed, dtype=np.int64)


def _unpacked(tokens: np.ndarray) -> Iterator[tuple[int, int, int, int, int]]:
    for token in tokens.tolist():
        yield (
            token >> 61,
            token >> _RATER & LIMITS["raters"] - 1,
            token >> _PART & LIMITS["parts"] - 1,
            token >> _DIMENSION & LIMITS["dimensions"] - 1,
            token & LIMITS["values"] - 1,
        )


def _place(rows: np.ndarray, parts: np.ndarray, dimensions: np.ndarray) -> np.ndarray:
    """A number for each place of a stretch: row, part, dimension."""
    found: np.ndarray = (rows.astype(np.int64) << 32) | (parts.astype(np.int64) << 10) | dimensions.astype(np.int64)
    return found


def _repositories(stretch: Stretch, rows: np.ndarray) -> pa.DictionaryArray:
    column = stretch.table["repository"].combine_chunks()
    return of_words(column.dictionary.to_pylist(), column.indices.fill_null(-1).to_numpy()[rows])


def _batch(
    stretch: Stretch,
    templates: _Templates,
    which: np.ndarray,
    decided: tuple[np.ndarray, np.ndarray],
    hidden: Collection[tuple[int, int]],
) -> pa.RecordBatch:
    """The rows of each item after those of the one before."""
    sizes = np.array(templates.sizes, dtype=np.int64)[which]
    starts = np.array(templates.starts, dtype=np.int64)[which]
    ends = np.cumsum(sizes)
    rows = np.repeat(np.arange(len(which)), sizes)
    at = np.repeat(starts - (ends - sizes), sizes) + np.arange(len(rows))
    for number, item in hidden:
        is_shown = (stretch.items[rows] != item) | (np.array(templates.round, dtype=np.int64)[at] != number)
        rows, at = rows[is_shown], at[is_shown]

    def ints(numbers: list[int], kind: Any) -> pa.Array:
        return pa.array(np.array(numbers, dtype=np.int64)[at], kind)

    resolved = np.array(templates.resolved_at, dtype=np.int64)[at]
    own = np.flatnonzero(resolved == -2)
    if len(own):
        places, times = decided
        order = np.argsort(places, kind="stable")
        wanted = (rows[own].astype(np.int64) << 32) | np.array(templates.place, dtype=np.int64)[at[own]]
        resolved[own] = times[order[np.searchsorted(places, wanted, sorter=order)]]
    items = pa.array(rows)
    columns = {
        "item": stretch.table["identifier"].take(items),
        "repository": _repositories(stretch, rows),
        "number": stretch.table["number"].take(items),
        "part": ints(templates.part, pa.int32()),
        "round": ints(templates.round, pa.int32()),
        "dimension": templates.dimension.taken(at),
        "values": templates.values.taken(at),
        "method": templates.method.taken(at),
        "taxonomy_version": ints(templates.version, pa.int32()),
        "resolved_at": pa.array(resolved, pa.int64(), mask=resolved < 0).cast(pa.timestamp("us", tz="UTC")),
        "raters": templates.raters.taken(at),
        "original_values": templates.original_values.taken(at),
        "original_version": ints(templates.original_version, pa.int32()),
        "unmapped": templates.unmapped.taken(at),
    }
    whole = [each.combine_chunks() if isinstance(each, pa.ChunkedArray) else each for each in columns.values()]
    return pa.RecordBatch.from_arrays(whole, names=list(columns))
