"""Carries a run: source → records → batches, each stored with the run's cursor and counts in one transaction."""

import logging
from itertools import islice

from django.db import OperationalError

from ingest.errors import FetchFailed, FetchMustWait
from ingest.files import Row, read_rows
from ingest.github.fetch import fetch
from ingest.github.parse import Repository as Name
from ingest.models import FetchRun, Refusal
from ingest.runs import ClaimLost, beat, claim, fail, finish, progress, refuse, store_records, wait

logger = logging.getLogger(__name__)

BATCH_ROWS = 500


def work(run_id: int) -> None:
    """Carries a run as far as it goes: done, failed, or waiting with the time until which. Nothing for runs at work."""
    run = claim(run_id)
    if run is None:
        return
    try:
        if run.kind == FetchRun.Kind.FILE:
            _read_file(run)
        else:
            fetch(run)
        finish(run)
    except ClaimLost:
        logger.info("run %s goes on elsewhere or was cancelled", run.pk)
    except FetchMustWait as error:
        wait(run, error)
    except FetchFailed as error:
        fail(run, error.message)
    except OperationalError:
        raise
    except Exception as error:
        logger.exception("run %s broke", run.pk)
        fail(run, f"Something unforeseen broke ({type(error).__name__}); the server's log says more.")


def _read_file(run: FetchRun) -> None:
    """Rows of the run's file from where it stopped, in batches."""
    name: Name | None = tuple(run.requested["name"]) if run.requested.get("name") else None
    try:
        file = run.upload.open("rb")
    except FileNotFoundError:
        raise FetchFailed("The uploaded file is gone; upload it again.") from None
    with file:
        rows = read_rows(file.file, name)
        done = run.cursor.get("rows", 0)
        while done_part := len(list(islice(rows, min(done, 20_000)))):
            done -= done_part
            beat(run)
        while batch := list(islice(rows, BATCH_ROWS)):
            with progress(run):
                found = _store_rows(run, batch) | set(run.cursor.get("repositories", []))
                run.repository_id = next(iter(found)) if len(found) == 1 else None
                run.cursor = {"rows": run.cursor.get("rows", 0) + len(batch), "repositories": sorted(found)[:2]}


def _store_rows(run: FetchRun, rows: list[Row]) -> set[int]:
    """Stores a batch of rows; the keys of the repositories written to."""
    repositories = store_records(run, [row.record for row in rows if row.record])
    run.n_pull_requests += sum(row.is_pull_request for row in rows)
    run.n_comments += sum(len(row.record.comments or ()) for row in rows if row.record)
    refused = [row for row in rows if row.refusal]
    refuse(run, [Refusal(run=run, line=row.line, reason=row.refusal, row=row.excerpt) for row in refused])
    return repositories
