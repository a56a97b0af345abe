"""Sheet tables: a CSV, XLSX, or Parquet file as a header and rows of storable text."""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any, BinaryIO

from annotation.core.errors import Unreadable
from annotation.core.parquet_sheets import REFUSAL, ROWS_MAX
from ingest import tables
from ingest.tables import TableRow as Row

PROJECT = Path(__file__).resolve().parents[2]
UNSTORABLE = re.compile("[\x00-\x08\x0e-\x1b\x7f\ud800-\udfff\ufffe\uffff]")


@dataclass(frozen=True)
class SheetTable:
    """The head line and the rows below it; rows are read while they are asked for and can be read once.

    In Parquet, which has no lines, rows are numbered from 1.
    """

    columns: Sequence[str]
    rows: Iterator[Row]


def open_table(file: BinaryIO) -> SheetTable:
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
    return SheetTable(columns, _checked(lines))


def _checked(lines: Iterator[Row]) -> Iterator[Row]:
    for n_rows, row in enumerate(lines, start=1):
        if n_rows > ROWS_MAX:
            raise Unreadable(f"The sheet has more than {ROWS_MAX:,} rows. Import it in pieces.")
        if not row.fault and (found := UNSTORABLE.search("".join(row.cells))):
            fault = f"The row contains the character U+{ord(found[0]):04X}, which can't be stored."
            row = replace(row, fault=fault)
        yield row


def parquet_lines(file: IO[bytes]) -> Iterator[Row]:
    """The names of the columns as line 0, then the rows from 1; those without any text are left out.

    A process of its own reads them: damaged bytes end it, not the server. Raises Unreadable.
    """
    file.seek(0)
    with TemporaryFile() as copy:
        shutil.copyfileobj(file, copy)
        copy.seek(0)
        command = [sys.executable, "-m", "annotation.core.parquet_sheets"]
        with subprocess.Popen(
            command, stdin=copy, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=PROJECT, env={}
        ) as process:
            assert process.stdout is not None
            told: Any = None
            try:
                for line in process.stdout:
                    told = json.loads(line) if line.endswith(b"\n") else None
                    if not isinstance(told, list):
                        break
                    yield Row(*told)
                if not isinstance(told, dict):  # the process ended on the way
                    raise Unreadable("The Parquet file is damaged. Write it again, or import it as CSV.")
                if REFUSAL in told:
                    raise Unreadable(told[REFUSAL])
            finally:
                process.kill()
