"""A CSV, XLSX or Parquet file as a head line and rows of text that can be stored, one after another."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from typing import IO, Any, BinaryIO

from annotation.errors import Unreadable
from ingest import tables
from ingest.tables import TableRow as Row

ROWS_MAX = 1_000_000
COLUMNS_MAX = 2_000
BATCH = 5_000

UNSTORABLE = re.compile("[\x00-\x08\x0e-\x1b\x7f\ud800-\udfff\ufffe\uffff]")


@dataclass(frozen=True)
class Table:
    """The head line and the rows below it; rows are read while they are asked for and can be read once.

    In Parquet, which has no lines, rows are numbered from 1.
    """

    columns: Sequence[str]
    rows: Iterator[Row]


def open_table(file: BinaryIO) -> Table:
    """The table of a file that can seek: Parquet is told by its first bytes, the rest as `ingest.tables` does.

    Rows without any text are left out. Raises Unreadable, also while rows are read.
    """
    start = file.read(4)
    file.seek(0)
    if start == b"PAR1":
        lines = parquet_lines(file)
        columns: Sequence[str] = next(lines).cells
    else:
        table = tables.open_table(file)
        columns, lines = table.columns, iter(table.rows)
    return Table(columns, _checked(lines))


def _checked(lines: Iterator[Row]) -> Iterator[Row]:
    for n_rows, row in enumerate(lines, start=1):
        if n_rows > ROWS_MAX:
            raise Unreadable(f"The sheet has more than {ROWS_MAX:,} rows; import it in pieces.")
        if not row.fault and (found := UNSTORABLE.search("".join(row.cells))):
            fault = f"The row holds the character U+{ord(found[0]):04X}, which can't be stored."
            row = replace(row, fault=fault)
        yield row


def parquet_lines(file: IO[bytes]) -> Iterator[Row]:
    """The names of the columns as line 0, then the rows from 1; those without any text are left out."""
    from pyarrow import ArrowException, parquet

    try:
        with parquet.ParquetFile(file) as source:
            if source.metadata.num_columns > COLUMNS_MAX:
                raise Unreadable(f"The file has more than {COLUMNS_MAX} columns.")
            yield Row(0, [name.strip() for name in source.schema_arrow.names])
            line = 0
            for batch in source.iter_batches(batch_size=BATCH):
                for values in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                    line += 1
                    cells = [_text(value) for value in values]
                    if any(cell and not cell.isspace() for cell in cells):
                        yield Row(line, cells)
    except (ArrowException, OSError, ValueError) as error:
        raise Unreadable(f"The Parquet file can't be read: {error}") from error


def _text(value: Any) -> str:
    """A value as it would stand in CSV: whole numbers without a fraction, true and false in small letters."""
    match value:
        case None:
            return ""
        case str():
            return value
        case bool():
            return "true" if value else "false"
        case float():
            if value != value:
                return ""
            return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)
        case datetime() | date():
            return value.isoformat()
        case list() | tuple():
            return "; ".join(_text(each) for each in value)
        case _:
            return str(value)
