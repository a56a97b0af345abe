"""Rejected rows as a file: line, reason, and the row, written while reading. Pure."""

import io
import json
from collections.abc import Iterable, Iterator
from itertools import islice

from shared.csv_files import SafeCsv

CHUNK = 500
CONTENT_TYPES = {"csv": "text/csv; charset=utf-8", "jsonl": "application/x-ndjson"}

RefusedRow = tuple[int | None, str, str]


def write_refusals(format: str, rows: Iterable[RefusedRow]) -> Iterator[bytes]:
    """The bytes of a file in chunks, as `csv` or `jsonl`; raises KeyError for any other."""
    return {"csv": _csv, "jsonl": _jsonl}[format](iter(rows))


def _csv(rows: Iterator[RefusedRow]) -> Iterator[bytes]:
    text = io.StringIO()
    writer = SafeCsv(text)
    writer.row(["line", "reason", "row"])
    while chunk := list(islice(rows, CHUNK)):
        writer.rows(chunk)
        yield text.getvalue().encode()
        text.seek(0)
        text.truncate()
    if text.tell():
        yield text.getvalue().encode()


def _jsonl(rows: Iterator[RefusedRow]) -> Iterator[bytes]:
    while chunk := list(islice(rows, CHUNK)):
        lines = (
            json.dumps({"line": line, "reason": reason, "row": row}, ensure_ascii=False) for line, reason, row in chunk
        )
        yield "".join(f"{line}\n" for line in lines).encode()
