"""Record batches as CSV, JSON Lines, or Parquet: each different word is formatted once. Pure."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from annotation.exports.columns import OF_PEOPLE, Drain, join_values, word
from shared.csv_files import DANGEROUS, QUOTED, csv_cell

ROWS_MOST = 100_000
"""Rows of one piece, and of one row group."""
_DOUBTFUL_CELL = f"{DANGEROUS}|{QUOTED}"
_DOUBTFUL_TEXT = r'["\\\x00-\x1f]'


def write_batches(
    columns: Mapping[str, pa.DataType], format: str, batches: Iterable[pa.RecordBatch]
) -> Iterator[bytes]:
    """The bytes of a file in pieces, as `writers.write` makes them of rows.

    The batches have these columns. Where one is a list they have dictionaries of JSON texts of lists; a text may be a
    dictionary. Raises KeyError for an unknown format.
    """
    return {"csv": _csv, "jsonl": _jsonl, "parquet": _parquet}[format](columns, _pieces(batches))


def _pieces(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for start in range(0, batch.num_rows, ROWS_MOST):
            yield batch.slice(start, ROWS_MOST)


def _beside(made: Callable[[pa.RecordBatch], bytes], batches: Iterable[pa.RecordBatch]) -> Iterator[bytes]:
    """What is made of each batch, in a thread, while the next batch is read here: its connection stays in one thread.

    At most two batches wait to be made.
    """
    with ThreadPoolExecutor(1, thread_name_prefix="writing") as thread:
        waiting: Future[bytes] | None = None
        for batch in batches:
            before, waiting = waiting, thread.submit(made, batch)
            if before is not None:
                yield before.result()
        if waiting is not None:
            yield waiting.result()


def _csv(columns: Mapping[str, pa.DataType], batches: Iterable[pa.RecordBatch]) -> Iterator[bytes]:
    yield (",".join(csv_cell(name) for name in columns) + "\n").encode()

    def made(batch: pa.RecordBatch) -> bytes:
        cells: list[Any] = []
        for place, (name, kind) in enumerate(columns.items()):
            cells += [
                _cells(batch[name], kind, is_set=name not in OF_PEOPLE),
                "," if place < len(columns) - 1 else "\n",
            ]
        return _bytes(cells)

    yield from _beside(made, batches)


def _jsonl(columns: Mapping[str, pa.DataType], batches: Iterable[pa.RecordBatch]) -> Iterator[bytes]:
    heads = [f"{', ' if place else '{'}{json.dumps(name)}: " for place, name in enumerate(columns)]

    def made(batch: pa.RecordBatch) -> bytes:
        cells: list[Any] = []
        for head, (name, kind) in zip(heads, columns.items(), strict=True):
            cells += [head, _texts(batch[name], kind)]
        return _bytes([*cells, "}\n"])

    yield from _beside(made, batches)


def _bytes(cells: list[Any]) -> bytes:
    """All cells of a piece, row after row: a column of texts lies in memory as one text."""
    rows = pc.binary_join_element_wise(*(pa.scalar(each) if isinstance(each, str) else each for each in cells), "")
    start, end = (int(np.frombuffer(rows.buffers()[1], dtype=np.int32)[at + rows.offset]) for at in (0, len(rows)))
    found: bytes = rows.buffers()[2][start:end].to_pybytes()
    return found


def _is_list(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list(kind))


def _cells(column: Any, kind: pa.DataType, *, is_set: bool) -> Any:
    """A column as cells of CSV; `is_set`: its lists are of values."""
    if isinstance(column, pa.DictionaryArray):
        words = column.dictionary.to_pylist()
        made = [_joined(json.loads(text), is_set) if _is_list(kind) else csv_cell(text) for text in words]
        return _taken(column, made, "")
    if pa.types.is_string(column.type):
        return _mended(pc.fill_null(column, ""), _DOUBTFUL_CELL, csv_cell)
    return pc.fill_null(_plain(column), "")


def _joined(values: list[Any], is_set: bool) -> str:
    """Several values as one cell."""
    made = join_values(values, is_set=is_set)
    return csv_cell(made) if isinstance(made, str) else str(made)


def _texts(column: Any, kind: pa.DataType) -> Any:
    """A column as JSON."""
    if isinstance(column, pa.DictionaryArray):
        words = column.dictionary.to_pylist()
        return _taken(column, words if _is_list(kind) else [_text(each) for each in words], "null")
    if pa.types.is_string(column.type):
        quoted = pc.binary_join_element_wise(pa.scalar('"'), column, pa.scalar('"'), "")
        doubtful = pc.match_substring_regex(column, _DOUBTFUL_TEXT)
        if pc.any(doubtful).as_py():
            made = [None if each is None else _text(each) for each in column.to_pylist()]
            quoted = pa.array(made, pa.string())
        return pc.fill_null(quoted, "null")
    if pa.types.is_timestamp(column.type):
        return pc.fill_null(pc.binary_join_element_wise(pa.scalar('"'), _plain(column), pa.scalar('"'), ""), "null")
    return pc.fill_null(_plain(column), "null")


def _text(word: str) -> str:
    return json.dumps(word, ensure_ascii=False)


def _mended(column: Any, doubtful: str, mend: Any) -> Any:
    if not pc.any(pc.match_substring_regex(column, doubtful)).as_py():
        return column
    return pa.array([mend(each) for each in column.to_pylist()], pa.string())


def _plain(column: Any) -> Any:
    """Numbers, marks and times as texts, none where there is none; times as `datetime.isoformat` has them."""
    if pa.types.is_timestamp(column.type):
        said = pc.strftime(column, format="%Y-%m-%dT%H:%M:%S+00:00")
        return pc.replace_substring(said, ".000000", "")
    if pa.types.is_floating(column.type):
        return pa.array([None if each is None else word(each) for each in column.to_pylist()], pa.string())
    return pc.cast(column, pa.string())


def _taken(column: Any, words: list[str], nothing: str) -> Any:
    indices = pc.fill_null(column.indices, len(words))
    return pa.array([*words, nothing], pa.string()).take(indices)


def _parquet(columns: Mapping[str, pa.DataType], batches: Iterable[pa.RecordBatch]) -> Iterator[bytes]:
    drain, schema = Drain(), pa.schema(list(columns.items()))
    with pq.ParquetWriter(drain, schema, compression="zstd") as writer:

        def made(batch: pa.RecordBatch) -> bytes:
            arrays = [_packed(batch[name], kind) for name, kind in columns.items()]
            writer.write_table(pa.table(arrays, schema=schema))
            return drain.take()

        yield from _beside(made, batches)
    yield drain.take()


def _packed(column: Any, kind: pa.DataType) -> Any:
    if not isinstance(column, pa.DictionaryArray) or pa.types.is_dictionary(kind):
        return column
    if not _is_list(kind):
        return column.dictionary_decode()
    lists = [[word(each) for each in json.loads(text)] for text in column.dictionary.to_pylist()]
    return pa.array(lists, kind).take(column.indices)
