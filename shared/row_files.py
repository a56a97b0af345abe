"""Row files: writes mappings as CSV, JSON Lines, or Parquet in chunks. Pure."""

import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from shared.chunks import chunks
from shared.csv_files import SafeCsv

CHUNK = 2000
EMPTY_SET = "[]"
OF_PEOPLE = frozenset({"raters", "meeting_participants"})
"""Lists that hold no values."""
FORMATS = ("csv", "jsonl", "parquet")
CONTENT_TYPES = {
    "csv": "text/csv; charset=utf-8",
    "jsonl": "application/x-ndjson",
    "parquet": "application/vnd.apache.parquet",
}
REPEATED = pa.dictionary(pa.int32(), pa.string())
"""A word of which there are few different ones: pandas reads it as a category."""
VALUES = ("values", "original_values")
"""Columns of label values, of which an empty list is a set without values."""


def write_rows(
    columns: Mapping[str, pa.DataType], format: str, rows: Iterable[Mapping[str, Any]], *, chunk: int = CHUNK
) -> Iterator[bytes]:
    """The bytes of a file in chunks; `rows` are mappings that have these columns.

    `chunk` rows are held at once, of Parquet ten times as many, and fewer where texts are long. In CSV lists are joined
    by `;`, a list of values that holds none is `[]`, lists of mappings are JSON, and a text that a spreadsheet may
    evaluate gets an apostrophe before it. In Parquet values are lists of text. Raises KeyError for an unknown format.
    """
    return {"csv": _csv, "jsonl": _jsonl, "parquet": _parquet}[format](columns, rows, chunk)


def _csv(columns: Mapping[str, pa.DataType], rows: Iterable[Mapping[str, Any]], size: int) -> Iterator[bytes]:
    buffer = io.StringIO()
    writer = SafeCsv(buffer)
    writer.row(columns)
    for chunk in chunks(rows, size):
        writer.rows([[cell(row[name], is_set=name in VALUES) for name in columns] for row in chunk])
        yield buffer.getvalue().encode()
        buffer.seek(0)
        buffer.truncate()
    if buffer.tell():
        yield buffer.getvalue().encode()


def cell(value: Any, *, is_set: bool = False) -> str | int | float:
    """A value as one cell, before it is defused; a value of a number dimension stays a number, no value a set."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return word(value)
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Sequence) and value and isinstance(value[0], Mapping):
        value = json.dumps(value, ensure_ascii=False, default=_plain)
    if isinstance(value, Sequence) and not isinstance(value, str):
        return join_values(value, is_set=is_set)
    found: str | int | float = value
    return found


def join_values(values: Sequence[Any], *, is_set: bool) -> str | int | float:
    """Several values in one cell; a number alone is one, and a set without values is EMPTY_SET."""
    if is_set and not values:
        return EMPTY_SET
    if len(values) == 1 and isinstance(values[0], int | float) and not isinstance(values[0], bool):
        number = values[0]
        return int(number) if isinstance(number, float) and number.is_integer() else number
    return ";".join(word(each) for each in values)


def word(value: str | bool | float) -> str:
    """One label value as text: true, false, 3, 2.5, a key."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def _jsonl(columns: Mapping[str, pa.DataType], rows: Iterable[Mapping[str, Any]], size: int) -> Iterator[bytes]:
    for chunk in chunks(rows, size):
        yield "".join(
            json.dumps({name: row[name] for name in columns}, ensure_ascii=False, default=_plain) + "\n"
            for row in chunk
        ).encode()


def _plain(value: object) -> str:
    if isinstance(value, datetime):
        return value.isoformat()
    raise TypeError(f"{value!r} has no place in JSON")


class Drain(io.RawIOBase):
    """Where Parquet is written to; what has gathered is taken out after every row group."""

    def __init__(self) -> None:
        self.gathered: list[bytes] = []
        self.position = 0

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self.gathered.append(bytes(data))
        self.position += len(self.gathered[-1])
        return len(self.gathered[-1])

    def tell(self) -> int:
        return self.position

    def take(self) -> bytes:
        taken, self.gathered = b"".join(self.gathered), []
        return taken


def _parquet(columns: Mapping[str, pa.DataType], rows: Iterable[Mapping[str, Any]], size: int) -> Iterator[bytes]:
    drain = Drain()
    schema = pa.schema(list(columns.items()))
    with pq.ParquetWriter(drain, schema, compression="zstd") as writer:
        for chunk in chunks(rows, size * 10):
            writer.write_table(pa.Table.from_pydict({name: _column(chunk, name) for name in columns}, schema=schema))
            yield drain.take()
    yield drain.take()


def _column(rows: Sequence[Mapping[str, Any]], name: str) -> list[Any]:
    if name in VALUES:
        return [None if row[name] is None else [word(value) for value in row[name]] for row in rows]
    return [row[name] for row in rows]
