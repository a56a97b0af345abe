"""COPY of rows to PostgreSQL: into a table, or into a staging table of the transaction."""

import io
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from itertools import islice
from typing import Any

from django.db import DatabaseError, connection

CHUNK_BYTES = 1 << 16
ROWS_AT_ONCE = 200


def copy(table: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Appends rows of texts, numbers, booleans, times, tuples of texts and None to a table; one statement."""
    if lines := _lines(rows):
        _send(table, columns, io.BytesIO(lines))


def copy_while_made(table: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """As `copy`, but PostgreSQL stores the first rows while the next ones are made, which must ask it nothing.

    Raises what making a row raises. The driver would tell of a statement that was canceled, as by a time limit.
    """
    reader = _RowReader(iter(rows))
    try:
        _send(table, columns, reader)
    except DatabaseError:
        if reader.fault is not None:
            raise reader.fault from None
        raise


class _RowReader:
    """A file to read rows from, some hundred at a time."""

    def __init__(self, rows: Iterator[Sequence[Any]]) -> None:
        self._rows = rows
        self.fault: BaseException | None = None

    def read(self, _n_bytes: int) -> bytes:
        try:
            return _lines(islice(self._rows, ROWS_AT_ONCE))
        except BaseException as fault:
            self.fault = fault
            raise


def _lines(rows: Iterable[Sequence[Any]]) -> bytes:
    lines = ["\t".join([_WRITERS[type(value)](value) for value in row]) for row in rows]
    return "\n".join([*lines, ""]).encode() if lines else b""


def _send(table: str, columns: Sequence[str], file: io.BytesIO | _RowReader) -> None:
    with connection.cursor() as cursor, connection.wrap_database_errors:
        cursor.copy_expert(f"COPY {table} ({', '.join(columns)}) FROM STDIN", file, CHUNK_BYTES)


def new_ids(table: str, n: int) -> list[int]:
    """So many ids for new rows of a table, which are then written by COPY; one query."""
    with connection.cursor() as cursor:
        cursor.execute(_NEW_IDS, [table, n])
        return [number for (number,) in cursor.fetchall()]


# The name of the sequence is looked up once, not for every row.
_NEW_IDS = """
    WITH ids AS MATERIALIZED (SELECT pg_get_serial_sequence(%s, 'id')::regclass AS of_table)
    SELECT nextval(of_table) FROM ids, generate_series(1, %s)
"""


def stage(table: str, columns: dict[str, str], rows: Iterable[Sequence[Any]]) -> None:
    """Rows in a temporary table of that name and those columns (name → type), empty before.

    It is gone at the end of the transaction, so that a connection pooled by transaction can be had.
    """
    described = ", ".join(f"{name} {kind}" for name, kind in columns.items())
    with connection.cursor() as cursor:
        cursor.execute(f"CREATE TEMP TABLE IF NOT EXISTS {table} ({described}) ON COMMIT DROP; TRUNCATE {table}")
    copy(table, list(columns), rows)


def _text(value: str) -> str:
    if "\\" in value:
        value = value.replace("\\", "\\\\")
    if "\n" in value:
        value = value.replace("\n", "\\n")
    if "\t" in value:
        value = value.replace("\t", "\\t")
    return value.replace("\r", "\\r") if "\r" in value else value


def _array(value: Sequence[str]) -> str:
    quoted = ['"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"' for text in value]
    return _text("{" + ",".join(quoted) + "}")


_WRITERS: dict[type, Callable[[Any], str]] = {
    str: _text,
    int: str,
    float: repr,
    bool: lambda value: "t" if value else "f",
    type(None): lambda value: "\\N",
    datetime: datetime.isoformat,
    tuple: _array,
}
