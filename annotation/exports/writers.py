"""Writes rows as CSV, JSON Lines or Parquet, chunk by chunk; pure."""

import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import islice
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from accounts.spreadsheets import SafeCsv

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
COMMENT = pa.struct([("author", pa.string()), ("created_at", pa.timestamp("us", tz="UTC")), ("body", pa.string())])
VALUES = ("values", "original_values")
COLUMNS: Mapping[str, Mapping[str, pa.DataType]] = {
    "labels": {
        "item": pa.string(),
        "repository": REPEATED,
        "number": pa.int64(),
        "part": pa.int32(),
        "round": pa.int32(),
        "round_label": REPEATED,
        "round_kind": REPEATED,
        "dimension": REPEATED,
        "values": pa.list_(pa.string()),
        "method": REPEATED,
        "taxonomy_version": pa.int32(),
        "resolved_at": pa.timestamp("us", tz="UTC"),
        "raters": pa.list_(pa.string()),
        "original_values": pa.list_(pa.string()),
        "original_version": pa.int32(),
        "unmapped": REPEATED,
        "screened_out": pa.bool_(),
    },
    "ratings": {
        "item": pa.string(),
        "part": pa.int32(),
        "round": pa.int32(),
        "round_label": REPEATED,
        "round_kind": REPEATED,
        "rater": REPEATED,
        "role": REPEATED,
        "dimension": REPEATED,
        "values": pa.list_(pa.string()),
        "memo": pa.string(),
        "seconds": pa.int32(),
        "training": pa.bool_(),
        "revision": REPEATED,
        "taxonomy_version": pa.int32(),
        "original_values": pa.list_(pa.string()),
        "original_version": pa.int32(),
        "unmapped": REPEATED,
        "screened_out": pa.bool_(),
    },
    "resolutions": {
        "item": pa.string(),
        "part": pa.int32(),
        "round": pa.int32(),
        "round_label": REPEATED,
        "dimension": REPEATED,
        "revision": pa.int32(),
        "values": pa.list_(pa.string()),
        "method": REPEATED,
        "reported_as": REPEATED,
        "meeting_held_on": REPEATED,
        "meeting_participants": pa.list_(pa.string()),
        "rationale": pa.string(),
        "decider": REPEATED,
        "decided_by": REPEATED,
        "decided_at": pa.timestamp("us", tz="UTC"),
        "no_part": pa.bool_(),
    },
    "issues": {
        "item": pa.string(),
        "repository": REPEATED,
        "number": pa.int64(),
        "title": pa.string(),
        "body": pa.string(),
        "state": REPEATED,
        "state_reason": REPEATED,
        "github_labels": pa.list_(pa.string()),
        "author": pa.string(),
        "created_at": pa.timestamp("us", tz="UTC"),
        "closed_at": pa.timestamp("us", tz="UTC"),
        "n_comments": pa.int32(),
        "comments": pa.list_(COMMENT),
        "closed_by": pa.list_(pa.string()),
        "merged_at": pa.timestamp("us", tz="UTC"),
        "additions": pa.int32(),
        "deletions": pa.int32(),
        "files": pa.int32(),
        "presence": REPEATED,
        "screening": REPEATED,
        "screening_reason": REPEATED,
        "snapshot": pa.string(),
    },
}
AROUND: Mapping[str, Mapping[str, pa.DataType]] = {
    "items": {
        "item": pa.string(),
        "repository": REPEATED,
        "number": pa.int64(),
        "screening": REPEATED,
        "screening_reason": REPEATED,
        "sample": pa.int64(),
        "stratum": REPEATED,
        "drawn": pa.int64(),
        "rounds": pa.list_(pa.int32()),
        "state": REPEATED,
        "state_reason": REPEATED,
        "github_labels": pa.list_(pa.string()),
        "created_at": pa.timestamp("us", tz="UTC"),
        "closed_at": pa.timestamp("us", tz="UTC"),
        "n_comments": pa.int32(),
        "merged_at": pa.timestamp("us", tz="UTC"),
        "additions": pa.int32(),
        "deletions": pa.int32(),
        "files": pa.int32(),
        "presence": REPEATED,
        "snapshot": pa.string(),
        "attributes": pa.string(),
    },
    "taxonomies": {
        "taxonomy": REPEATED,
        "version": pa.int32(),
        "title": pa.string(),
        "state": REPEATED,
        "note": pa.string(),
        "parent": pa.int32(),
        "published_at": pa.timestamp("us", tz="UTC"),
        "document": pa.string(),
    },
    "agreement": {
        "dimension": REPEATED,
        "round": pa.int32(),
        "headline": pa.bool_(),
        "when": REPEATED,
        "coefficient": REPEATED,
        "value": pa.float64(),
        "se": pa.float64(),
        "ci_low": pa.float64(),
        "ci_high": pa.float64(),
        "ci_method": REPEATED,
        "ci_undefined": REPEATED,
        "undefined": REPEATED,
        "metric": REPEATED,
        "units": pa.int64(),
        "raters": pa.int32(),
        "ratings": pa.int64(),
        "left_out": pa.int64(),
        "categories": pa.int32(),
    },
}
OF_EVIDENCE: Mapping[str, Mapping[str, pa.DataType]] = {
    "evidence": {
        "item": pa.string(),
        "part": pa.int32(),
        "round": pa.int32(),
        "rater": REPEATED,
        "dimension": REPEATED,
        "category": REPEATED,
        "where": REPEATED,
        "comment": pa.int32(),
        "start": pa.int32(),
        "end": pa.int32(),
        "quote": pa.string(),
        "snapshot": pa.string(),
        "revision": REPEATED,
    },
}
OF_A_SAMPLE: Mapping[str, Mapping[str, pa.DataType]] = {
    "frame": {
        "item": pa.string(),
        "repository": REPEATED,
        "number": pa.int64(),
        "stratum": pa.string(),
        "drawn": pa.int64(),
        "snapshot": pa.string(),
        "created_at": pa.timestamp("us", tz="UTC"),
        "state": REPEATED,
    },
}


def write(what: str, format: str, rows: Iterable[Mapping[str, Any]]) -> Iterator[bytes]:
    """The bytes of a file in chunks. `what` names the columns, `rows` are mappings with just these.

    In CSV lists are joined by `;`, a list of values that holds none is `[]`, comments are JSON, and a text that a
    spreadsheet may evaluate gets an apostrophe before it. In Parquet values are lists of text. Raises KeyError for an
    unknown `what` or format.
    """
    columns = {**COLUMNS, **AROUND, **OF_EVIDENCE, **OF_A_SAMPLE}[what]
    return {"csv": _csv, "jsonl": _jsonl, "parquet": _parquet}[format](columns, rows)


def _chunks(rows: Iterable[Mapping[str, Any]], size: int = CHUNK) -> Iterator[list[Mapping[str, Any]]]:
    iterator = iter(rows)
    while chunk := list(islice(iterator, size)):
        yield chunk


def _csv(columns: Mapping[str, pa.DataType], rows: Iterable[Mapping[str, Any]]) -> Iterator[bytes]:
    buffer = io.StringIO()
    writer = SafeCsv(buffer)
    writer.row(columns)
    for chunk in _chunks(rows):
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
        return joined(value, is_set=is_set)
    return value


def joined(values: Sequence[Any], *, is_set: bool) -> str | int | float:
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


def _jsonl(columns: Mapping[str, pa.DataType], rows: Iterable[Mapping[str, Any]]) -> Iterator[bytes]:
    for chunk in _chunks(rows):
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


def _parquet(columns: Mapping[str, pa.DataType], rows: Iterable[Mapping[str, Any]]) -> Iterator[bytes]:
    drain = Drain()
    schema = pa.schema(list(columns.items()))
    with pq.ParquetWriter(drain, schema, compression="zstd") as writer:
        for chunk in _chunks(rows, CHUNK * 10):
            writer.write_table(pa.Table.from_pydict({name: _column(chunk, name) for name in columns}, schema=schema))
            yield drain.take()
    yield drain.take()


def _column(rows: Sequence[Mapping[str, Any]], name: str) -> list[Any]:
    if name in VALUES:
        return [None if row[name] is None else [word(value) for value in row[name]] for row in rows]
    return [row[name] for row in rows]
