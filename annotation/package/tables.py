"""Tables of a package: their columns, written as CSV and Parquet at the same time."""

import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import IO, Any

import pyarrow as pa
import pyarrow.parquet as pq

from shared.csv_files import SafeCsv

ROWS_AT_ONCE = 20_000
PARQUET = {
    "string": pa.string(),
    "integer": pa.int64(),
    "number": pa.float64(),
    "boolean": pa.bool_(),
    "datetime": pa.timestamp("us", tz="UTC"),
    "list": pa.list_(pa.string()),
    "object": pa.string(),
}
"""The types of columns. Several values of a `list` are joined by `;` in CSV; an `object` is JSON in both."""

Row = Mapping[str, Any]


@dataclass(frozen=True)
class PackageColumn:
    """A column: its type, what it holds, its categories as (value, label) where it has any, whether it is filled."""

    name: str
    type: str
    means: str
    categories: Sequence[tuple[str, str]] = ()
    is_ordered: bool = False
    is_required: bool = False
    is_set: bool = False
    """A list, of which none (`[]` in CSV) says something else than an empty cell."""


@dataclass(frozen=True)
class TableReference:
    """Some columns of a table name rows of another."""

    columns: Sequence[str]
    table: str
    of: Sequence[str]


@dataclass(frozen=True)
class PackageTable:
    """A table of the package and where it lies, without its ending."""

    name: str
    title: str
    means: str
    columns: Sequence[PackageColumn]
    key: Sequence[str] = ()
    references: Sequence[TableReference] = field(default=())
    folder: str = "data"
    formats: Sequence[str] = ("csv", "parquet")

    @property
    def path(self) -> str:
        return f"{self.folder}/{self.name}"


class TableWriter:
    """Writes rows of a table into open files, one for each of its formats; `close` ends them."""

    def __init__(self, table: PackageTable, files: Mapping[str, IO[bytes]]) -> None:
        self.table, self.files, self.n_rows = table, files, 0
        self._waiting: list[Row] = []
        self._text = io.StringIO()
        self._csv = SafeCsv(self._text, lineterminator="\r\n")
        self._csv.row([column.name for column in table.columns])
        self._schema = pa.schema([(column.name, PARQUET[column.type]) for column in table.columns])
        self._parquet = (
            pq.ParquetWriter(files["parquet"], self._schema, compression="zstd") if "parquet" in files else None
        )

    def write(self, row: Row) -> None:
        self._waiting.append(row)
        self.n_rows += 1
        if len(self._waiting) >= ROWS_AT_ONCE:
            self._flush()

    def close(self) -> None:
        self._flush()
        if self._parquet is not None:
            self._parquet.close()

    def _flush(self) -> None:
        rows, self._waiting = self._waiting, []
        columns = self.table.columns
        self._csv.rows([[_set(row[c.name], c) or cell(row[c.name]) for c in columns] for row in rows])
        self.files["csv"].write(self._text.getvalue().encode())
        self._text.seek(0)
        self._text.truncate()
        if self._parquet is not None and rows:
            arrays = {column.name: [_packed(row[column.name], column.type) for row in rows] for column in columns}
            self._parquet.write_table(pa.Table.from_pydict(arrays, schema=self._schema))


def _set(value: Any, column: PackageColumn) -> str:
    """How a set of values that holds none is written in CSV."""
    return "[]" if column.is_set and value is not None and not len(value) else ""


def cell(value: Any) -> str | int | float:
    """A value as one cell, before it is defused."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return word(value)
    if isinstance(value, int | float):
        return number(value)
    if isinstance(value, datetime):
        return value.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    if isinstance(value, Mapping):
        return as_json(value)
    if isinstance(value, Sequence) and not isinstance(value, str):
        if len(value) == 1 and isinstance(value[0], int | float) and not isinstance(value[0], bool):
            return number(value[0])
        is_plain = all(isinstance(each, str | int | float) for each in value)
        value = ";".join(word(each) for each in value) if is_plain else as_json(value)
    return str(value)


def word(value: str | bool | float) -> str:
    """One value as text: true, false, 3, 2.5, a key."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value if isinstance(value, str) else number(value))


def number(value: int | float) -> int | float:
    """A whole number without the point of a float, so that it is written 3 and not 3.0."""
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < 2**53 else value


def as_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, default=_plain)


def _plain(value: object) -> str:
    if isinstance(value, datetime):
        return value.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    raise TypeError(f"{value!r} has no place in JSON")


def _packed(value: Any, type: str) -> Any:
    if value is None:
        return None
    if type == "list":
        return [word(each) for each in value]
    if type == "object":
        return as_json(value)
    if type == "string" and not isinstance(value, str):
        return str(cell(value))
    return value
