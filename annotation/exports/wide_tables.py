"""Wide tables of agreed labels and ratings: a row for each part, a column for each dimension. Pure."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from annotation.exports.columns import COLUMNS, REPEATED, cell
from taxonomy.kinds import KINDS, Kind

PLACE: Mapping[str, pa.DataType] = {
    "item": pa.string(),
    "repository": REPEATED,
    "number": pa.int64(),
    "part": pa.int32(),
    "round": pa.int32(),
    "round_label": REPEATED,
    "round_kind": REPEATED,
    "taxonomy_version": pa.int32(),
    "screened_out": pa.bool_(),
}
RATED = ("item", "part", "round", "round_label", "round_kind", "rater", "role")
NOTED = ("memo", "seconds", "training", "revision", "taxonomy_version", "screened_out")
TAKEN = frozenset({*PLACE, *COLUMNS["ratings"]})
TYPES = {
    "bool": pa.bool_(),
    "double": pa.float64(),
    "string": pa.string(),
    "list<string>": pa.list_(pa.string()),
    "dictionary": REPEATED,
}
"""The types that kinds declare."""

Dimensions = Sequence[tuple[str, str]]
"""Key and kind of each."""


def wide_columns(what: str, dimensions: Dimensions) -> dict[str, pa.DataType]:
    """The columns of wide labels or ratings.

    Of labels: the place, a value of each dimension, and by which method each was agreed. Of ratings: the place with the
    rater, a value of each dimension as text (PENDING is no number and no mark), memo, seconds, whether the item is for
    training, and revision.
    """
    if what == "ratings":
        columns = COLUMNS["ratings"]
        values = {name_of(key): type_of(kind) if KINDS[kind].is_set else REPEATED for key, kind in dimensions}
        return {**{name: columns[name] for name in RATED}, **values, **{name: columns[name] for name in NOTED}}
    values = {name_of(key): type_of(kind) for key, kind in dimensions}
    return {**PLACE, **values, **{f"{name}.method": REPEATED for name in values}}


def type_of(kind: str) -> pa.DataType:
    """The type of the column of a dimension of this kind."""
    return TYPES[KINDS[kind].arrow_type]


def name_of(key: str) -> str:
    """The column of a dimension: its key, unless another column of such files has that name."""
    return f"{key}.label" if key in TAKEN else key


def widen(what: str, batches: Iterable[pa.RecordBatch], dimensions: Dimensions) -> Iterator[pa.RecordBatch]:
    """Long batches of labels or ratings as wide ones; the rows of an item follow each other in them."""
    widen = {"labels": _labels, "ratings": _ratings}[what]
    for batch in batches:
        if batch.num_rows:
            yield widen(batch, dimensions)


def _labels(batch: pa.RecordBatch, dimensions: Dimensions) -> pa.RecordBatch:
    items = batch["item"].dictionary_encode().indices.to_numpy()
    parts = batch["part"].to_numpy()
    is_first = np.ones(batch.num_rows, dtype=bool)
    is_first[1:] = (items[1:] != items[:-1]) | (parts[1:] != parts[:-1])
    rows, firsts = np.cumsum(is_first) - 1, pa.array(np.flatnonzero(is_first))
    n = len(firsts)
    columns = {name: batch[name].take(firsts) for name in ("item", "repository", "number", "part", "screened_out")}
    for name in ("round", "taxonomy_version"):
        newest = np.zeros(n, dtype=np.int32)
        np.maximum.at(newest, rows, batch[name].to_numpy())
        columns[name] = pa.array(newest)
    for name in ("round_label", "round_kind"):
        columns[name] = _of_newest(name, batch, rows, columns["round"])
    columns = {name: columns[name] for name in PLACE}
    methods: dict[str, Any] = {}
    for key, kind, mine in _apart(batch, dimensions):
        columns[name_of(key)] = _values(batch["values"], _at(batch["values"], mine, rows, n), kind)
        at = _at(batch["method"], mine, rows, n)
        methods[f"{name_of(key)}.method"] = pa.DictionaryArray.from_arrays(at, batch["method"].dictionary)
    columns |= methods
    return pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))


def _ratings(batch: pa.RecordBatch, dimensions: Dimensions) -> pa.RecordBatch:
    """A row for each item, part, rater and revision, in this order."""
    keys = [
        batch["item"].dictionary_encode().indices.to_numpy(),
        batch["part"].to_numpy(),
        batch["rater"].indices.to_numpy(),
        batch["revision"].indices.to_numpy(),
    ]
    _, firsts, rows = np.unique(np.stack(keys, axis=1), axis=0, return_index=True, return_inverse=True)
    rows, taken, n = rows.reshape(-1), pa.array(firsts), len(firsts)
    columns = {name: batch[name].take(taken) for name in RATED}
    sets = batch["values"].dictionary
    words = pa.array([str(cell(json.loads(each))) for each in sets.to_pylist()], pa.string())
    for key, kind, mine in _apart(batch, dimensions):
        at = _at(batch["values"], mine, rows, n)
        columns[name_of(key)] = pa.DictionaryArray.from_arrays(at, sets if KINDS[kind].is_set else words)
    columns |= {name: batch[name].take(taken) for name in NOTED}
    return pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))


def _apart(batch: pa.RecordBatch, dimensions: Dimensions) -> Iterator[tuple[str, str, np.ndarray]]:
    """Key and kind of each dimension, and which rows of a long batch are about it."""
    known = batch["dimension"].dictionary.to_pylist()
    which = batch["dimension"].indices.to_numpy()
    for key, kind in dimensions:
        mine = np.flatnonzero(which == known.index(key)) if key in known else np.zeros(0, dtype=np.int64)
        yield key, kind, mine


def _of_newest(name: str, batch: pa.RecordBatch, rows: np.ndarray, newest: pa.Array) -> pa.DictionaryArray:
    """Of each wide row what a column has for its newest round."""
    words, n = batch[name], len(newest)
    indices = np.zeros(n, dtype=np.int32)
    is_newest = batch["round"].to_numpy() == newest.to_numpy()[rows]
    indices[rows[is_newest]] = words.indices.to_numpy()[is_newest]
    return pa.DictionaryArray.from_arrays(pa.array(indices), words.dictionary)


def _at(column: Any, mine: np.ndarray, rows: np.ndarray, n: int) -> pa.Array:
    """Of each wide row the number of its word in a long column, null for none."""
    indices = np.full(n, -1, dtype=np.int32)
    if len(mine):
        indices[rows[mine]] = column.indices.fill_null(-1).to_numpy()[mine]
    return pa.array(indices, mask=indices < 0)


def _values(column: Any, indices: pa.Array, kind: str) -> Any:
    """The values of a dimension, of the type of its column; sets stay JSON texts of lists, as writers take them."""
    if KINDS[kind].is_set:
        return pa.DictionaryArray.from_arrays(indices, column.dictionary)
    lists = [json.loads(each) for each in column.dictionary.to_pylist()]
    if not KINDS[kind].has_categories:
        return pa.array([_one(each, KINDS[kind]) for each in lists], type_of(kind)).take(indices)
    words = [";".join(str(each) for each in one) for one in lists]
    return pa.DictionaryArray.from_arrays(indices, pa.array(words, pa.string()))


def _one(values: Sequence[Any], kind: Kind) -> Any:
    """The mark, number or words of a list; None for what other dimensions have given."""
    value = values[0] if values else None
    if kind.is_two_valued:
        return value if isinstance(value, bool) else None
    if kind.is_number:
        return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
    return value if isinstance(value, str) else None
