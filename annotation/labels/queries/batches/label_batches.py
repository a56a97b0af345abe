"""Agreed labels as record batches: the result of each set of answers is formatted once.

What counts and how it is mapped is as in `rows.labels`: consensus judges, and `label_rows` maps.
"""

from collections.abc import Collection, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pyarrow as pa

from annotation.labels.queries.batches.batch_consensus import (
    DECIDED,
    BatchConsensus,
    ChunkConsensus,
    FreeAnswer,
    place_of,
)
from annotation.labels.queries.batches.chunks import ItemChunk, ValueCodes, stretches
from annotation.labels.queries.batches.dictionaries import DictionaryColumn, json_list, of_words
from annotation.labels.queries.label_version import label_version
from annotation.labels.queries.rows import LabelRow, label_rows, settled_here
from annotation.labels.queries.verdicts import ItemVerdicts
from annotation.labels.queries.version_mapping import VersionMapping
from annotation.models import Round
from taxonomy.models import TaxonomyVersion

Batches = Iterator[tuple[tuple[int, int], pa.RecordBatch]]
"""Batch after batch: up to which round number and position it reaches, and its rows."""


def label_batches(
    rounds: Sequence[Round],
    *,
    dimension: str | None = None,
    version: TaxonomyVersion | None = None,
    standing: TaxonomyVersion | None = None,
    hidden: Collection[tuple[int, int]] = (),
) -> Batches:
    """The rows of `results.labels`, in its order, without those of items (round's number, item's key) that are hidden.

    A label that a relabeling queue carries is hidden with its place there and with the one that it comes from. Lists
    are dictionaries of JSON texts. Cost: six queries for every ITEMS items.
    """
    for round_ in rounds:
        version_mapping = VersionMapping(version or label_version(round_, standing))
        among = settled_here(round_, rounds) if len(rounds) > 1 else None
        templates = _Templates(round_, version_mapping, dimension)
        judge = BatchConsensus(round_, version_mapping, templates)
        for stretch in stretches(round_, among=among):
            yield (round_.number, stretch.last), _batch(stretch, templates, judge, judge.judged(stretch), hidden)


class _Templates:
    """The rows that sets of answers come to, below each other, and where those of each begin."""

    def __init__(self, round_: Round, version_mapping: VersionMapping, only: str | None) -> None:
        self.round, self.version_mapping, self.only = round_, version_mapping, only
        self.forget()

    def forget(self) -> None:
        self.part: list[int] = []
        self.number: list[int] = []
        self.label, self.kind = DictionaryColumn(), DictionaryColumn()
        self.dimension, self.values, self.method = DictionaryColumn(), DictionaryColumn(), DictionaryColumn()
        self.version: list[int] = []
        self.raters = DictionaryColumn()
        self.original_values = DictionaryColumn()
        self.original_version: list[int] = []
        self.unmapped = DictionaryColumn()
        self.resolved_at: list[int] = []
        """Microseconds; −1 for none, −2 for each item's own."""
        self.own: list[int] = []
        """Which of the item's free answers stands here, −1 for none."""
        self.is_mapped: list[bool] = []
        self.groups: dict[tuple[int, ...], int] = {}
        self.group: list[int] = []
        """Which ranks of the item's raters stand here, −1 where their codes do."""
        self.place: list[int] = []
        self.starts: list[int] = [0]
        self.sizes: list[int] = [0]

    def add(self, key: str | None, each: ItemVerdicts) -> int:
        wanted = {name for name in (key, self.only) if name is not None}
        rows = label_rows(self.round, each, self.version_mapping) if each.is_complete else []
        self.starts.append(len(self.part))
        mine = [row for row in rows if wanted <= {row.dimension}]
        self.sizes.append(len(mine))
        for row in mine:
            self._add(row, is_whole=key is None)
        return len(self.starts) - 1

    def _add(self, row: LabelRow, *, is_whole: bool) -> None:
        first = row.original_values[0] if row.original_values else None
        is_own = isinstance(first, FreeAnswer)
        self.part.append(row.part)
        self.number.append(row.round)
        self.label.add(row.round_label)
        self.kind.add(row.round_kind)
        self.dimension.add(row.dimension)
        self.values.add(None if is_own else json_list(row.values))
        self.method.add(row.method)
        self.version.append(row.taxonomy_version)
        self.raters.add(json_list(row.raters) if is_whole else None)
        self.group.append(-1 if is_whole else self.groups.setdefault(tuple(map(int, row.raters)), len(self.groups)))
        self.original_values.add(None if is_own else json_list(row.original_values))
        self.original_version.append(row.original_version)
        self.unmapped.add(row.unmapped)
        self.resolved_at.append(_microseconds(row.resolved_at))
        self.own.append(first.rank if isinstance(first, FreeAnswer) else -1)
        self.is_mapped.append(row.values is not None)


def _microseconds(at: datetime | None) -> int:
    if at is None:
        return -1
    if at is DECIDED:
        return -2
    since = at - datetime(1970, 1, 1, tzinfo=UTC)
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds


def _repositories(stretch: ItemChunk, rows: np.ndarray) -> pa.DictionaryArray:
    column = stretch.names["repository"].combine_chunks()
    return of_words(column.dictionary.to_pylist(), column.indices.fill_null(-1).to_numpy()[rows])


def _batch(
    stretch: ItemChunk,
    templates: _Templates,
    judge: BatchConsensus,
    judged: ChunkConsensus,
    hidden: Collection[tuple[int, int]],
) -> pa.RecordBatch:
    """The rows of each item after those of the one before, part after part."""
    rows, dimensions, at = judged.cells(templates.starts, templates.sizes)
    parts = np.array(templates.part, dtype=np.int64)[at]
    if len(parts) and parts.max() > 1:
        order = np.lexsort((parts, rows))
        rows, dimensions, at, parts = rows[order], dimensions[order], at[order], parts[order]
    for number, item in hidden:  # of this round, or carried from that one
        is_shown = stretch.items[rows] != item
        if number != templates.round.number:
            is_shown |= np.array(templates.number, dtype=np.int64)[at] != number
        rows, dimensions, at, parts = (each[is_shown] for each in (rows, dimensions, at, parts))

    def ints(numbers: Sequence[int], kind: Any) -> pa.Array:
        return pa.array(np.array(numbers, dtype=np.int64)[at], kind)

    resolved = np.array(templates.resolved_at, dtype=np.int64)[at]
    mine = np.flatnonzero(resolved == -2)
    if len(mine):
        places, times = judged.decided
        resolved[mine] = times[np.searchsorted(places, place_of(rows[mine], parts[mine], dimensions[mine]))]
    values, original = _values(templates, judge.values, judged, at, rows, dimensions)
    items = pa.array(rows)
    columns = {
        "item": stretch.names["identifier"].take(items),
        "repository": _repositories(stretch, rows),
        "number": stretch.names["number"].take(items),
        "part": pa.array(parts, pa.int32()),
        "round": ints(templates.number, pa.int32()),
        "round_label": templates.label.taken(at),
        "round_kind": templates.kind.taken(at),
        "dimension": templates.dimension.taken(at),
        "values": values,
        "method": templates.method.taken(at),
        "taxonomy_version": ints(templates.version, pa.int32()),
        "resolved_at": pa.array(resolved, pa.int64(), mask=resolved < 0).cast(pa.timestamp("us", tz="UTC")),
        "raters": _raters(templates, judge, judged, at, rows),
        "original_values": original,
        "original_version": ints(templates.original_version, pa.int32()),
        "unmapped": templates.unmapped.taken(at),
        "screened_out": stretch.names["screened_out"].take(items),
    }
    whole = [each.combine_chunks() if isinstance(each, pa.ChunkedArray) else each for each in columns.values()]
    return pa.RecordBatch.from_arrays(whole, names=list(columns))


def _values(
    templates: _Templates,
    known: ValueCodes,
    judged: ChunkConsensus,
    at: np.ndarray,
    rows: np.ndarray,
    dimensions: np.ndarray,
) -> tuple[pa.DictionaryArray, pa.DictionaryArray]:
    """What is agreed, and as what it was given; free answers are each item's own."""
    ranks = np.array(templates.own, dtype=np.int64)[at]
    own = np.flatnonzero(ranks >= 0)
    if not len(own):
        return templates.values.taken(at), templates.original_values.taken(at)
    said = judged.own_numbers(rows[own], ranks[own], dimensions[own])
    different, which = np.unique(said, return_inverse=True)
    words = [json_list([known.words[number]]) for number in different.tolist()]
    is_mapped = np.array(templates.is_mapped, dtype=bool)[at[own]]
    return (
        templates.values.taken(at, own[is_mapped], words, which[is_mapped]),
        templates.original_values.taken(at, own, words, which),
    )


def _raters(
    templates: _Templates, judge: BatchConsensus, judged: ChunkConsensus, at: np.ndarray, rows: np.ndarray
) -> pa.DictionaryArray:
    """Whose answers a label rests on: of a set they are ranks of the item's raters, else codes."""
    groups = np.array(templates.group, dtype=np.int64)[at]
    of_sets = np.flatnonzero(groups >= 0)
    if not len(of_sets):
        return templates.raters.taken(at)
    ranks = list(templates.groups)
    different, which = np.unique(judged.who[rows[of_sets]] * len(ranks) + groups[of_sets], return_inverse=True)
    words = []
    for number in different.tolist():
        who = judged.groups[number // len(ranks)]
        words.append(json_list([judge.raters.codes[who[rank]] for rank in ranks[number % len(ranks)]]))
    return templates.raters.taken(at, of_sets, words, which)
