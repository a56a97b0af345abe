"""Steps of a run: source to records to batches, each stored with cursor and counts in one transaction."""

from collections.abc import Iterator
from contextlib import closing
from datetime import datetime, timedelta
from typing import BinaryIO

from django.utils import timezone

from ingest import totals
from ingest.errors import FetchFailed, Invalid, Unreadable
from ingest.files.json_rows import Batch, JsonRow, RowReader
from ingest.github.fetch import fetch
from ingest.github.rest_objects import Repository as Name
from ingest.models import FetchRun, Refusal
from ingest.read_ahead import read_ahead
from ingest.records import IssueRecord
from ingest.runs import RUNS, beat, progress, refuse, store_records
from ingest.tables import TableReader
from ingest.webhooks.deliveries import take_in

__all__ = ["RUNS", "work"]  # whoever works on runs imports them from here, where what they do is known

IN_FUTURE = "The time {} is in the future. Correct created_at, updated_at and closed_at, and upload the row again."


def _carry(run: FetchRun) -> None:
    """Carries a run to its end."""
    if run.kind == FetchRun.Kind.FILE:
        _read_file(run)
    elif run.kind == FetchRun.Kind.WEBHOOK:
        take_in(run)
    else:
        fetch(run)
    if run.kind != FetchRun.Kind.WEBHOOK:  # these are many and small; the clock counts after them
        totals.count()


RUNS.carry = _carry
work = RUNS.work


def _read_file(run: FetchRun) -> None:
    """Rows of the run's file from where it stopped, in batches."""
    if not run.upload:
        raise FetchFailed("The uploaded file was removed. Upload it again.")
    try:
        file = run.upload.open("rb")
    except FileNotFoundError:
        raise FetchFailed("The uploaded file was deleted. Upload it again.") from None
    with file:
        if run.n_bytes is None:
            run.n_bytes = run.upload.size
        rows = _batches(run, file.file)
        with closing(read_ahead(rows, while_waiting=lambda: beat(run))) as batches:
            for batch in batches:
                with progress(run):
                    found = _store_rows(run, batch.rows) | set(run.cursor.get("repositories", []))
                    run.repository_id = next(iter(found)) if len(found) == 1 else None
                    run.n_bytes_read = batch.n_bytes_read
                    run.cursor = {"place": batch.place, "repositories": sorted(found)[:2]}
    with progress(run):
        run.n_bytes_read = run.n_bytes
        run.cursor = run.cursor | {"place": {"offset": run.n_bytes}}
    if not run.has_stored:
        raise FetchFailed(_why_nothing(run))


def _why_nothing(run: FetchRun) -> str:
    """Why a file that was read to its end brought no issue."""
    if run.n_refused:
        return "Every row was rejected. Nothing was stored. Correct the rows and upload the file again."
    if run.n_pull_requests:
        return "The file contains pull requests only. Nothing was stored."
    return "The file contains no issue. Nothing was stored."


def _batches(run: FetchRun, file: BinaryIO) -> Iterator[Batch]:
    """What of the file is not read yet; raises FetchFailed where a table can't be read as such."""
    name: Name | None = tuple(run.requested["name"]) if run.requested.get("name") else None
    place = run.cursor.get("place")
    columns = run.requested.get("columns")
    if not columns:
        yield from RowReader(file, name, place).batches()
    elif "offset" not in (place or {}):
        try:
            sheet, number_rows = run.requested.get("sheet") or "", run.requested.get("number_rows") is True
            yield from TableReader(file, columns, name, place, sheet, number_rows=number_rows).batches()
        except (Unreadable, Invalid) as error:
            raise FetchFailed(error.message) from error


def _without_future(rows: list[JsonRow]) -> list[JsonRow]:
    """The rows, those with a time more than a day ahead rejected: it would keep out everything that comes later."""
    latest = timezone.now() + timedelta(days=1)
    return [
        JsonRow(row.line, refusal=IN_FUTURE.format(time.isoformat()), text=row.record.identifier)
        if row.record and (time := _latest_time(row.record)) and time > latest
        else row
        for row in rows
    ]


def _latest_time(record: IssueRecord) -> datetime | None:
    return max(filter(None, (record.created_at, record.updated_at, record.closed_at)), default=None)


def _store_rows(run: FetchRun, rows: list[JsonRow]) -> set[int]:
    """Stores a batch of rows; the keys of the repositories written to."""
    rows = _without_future(rows)
    repositories = store_records(run, [row.record for row in rows if row.record])
    run.n_pull_requests += sum(row.is_pull_request for row in rows)
    refused = [row for row in rows if row.refusal]
    refuse(run, [Refusal(run=run, line=row.line, reason=row.refusal, row=row.text) for row in refused])
    return repositories
