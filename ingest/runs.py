"""Runs: the job of a fetch or file, with claim, progress, waiting, and end."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db import IntegrityError
from django.db.models import Q
from django.utils import timezone

from ingest.errors import FetchMustWait, RowError
from ingest.models import FetchRun, Refusal
from ingest.queries import REFUSALS_KEPT
from ingest.records import IssueRecord
from ingest.totals import expect_other_totals
from ingest.upsert import BatchResult, copy, store
from shared import disk_space
from shared.errors import StorageAway
from shared.job_holds import JobLockKind
from shared.job_time_limits import BATCHES, TaskTurn
from shared.jobs import ClaimLost, JobKind, TurnOver

RETRY_SECONDS = (5, 30, 120, 600)
STORAGE_SECONDS = 30
ROOM_SECONDS = 60
GOES_ON = "The stored part is kept, and the fetch continues automatically when there is space."
PLACE = ("cursor", "requested", "repository", "target", "n_expected", "n_failures", "heartbeat_at")
SPENT = ("n_requests", "n_unchanged_answers", "n_requests_left")
COUNTS = (
    "n_seen", "n_new", "n_changed", "n_unchanged", "n_refused", "n_pull_requests", "n_comments", "n_closing_changes",
    "n_contradictions", "n_bytes", "n_bytes_read", *SPENT,
)  # fmt: skip


class Runs(JobKind[FetchRun]):
    """Fetches, and imports of files of issues. `carry`, which knows all sources, is set by `ingest.run_steps`."""

    model, lock, task = FetchRun, JobLockKind.FETCH, "ingest.tasks.fetch_run"
    limits = BATCHES
    advice = "The stored part is kept. Continue the run to try again."
    tries, tries_most = "n_failures", len(RETRY_SECONDS)
    gave_up = "The worker stopped several times at the same place. Continue the run to try again."
    heard, over = "heartbeat_at", "finished_at"
    carry: Callable[[FetchRun], None]

    @property
    def queued(self) -> Q:
        return Q(state=FetchRun.State.QUEUED) | Q(state=FetchRun.State.WAITING, waiting_until__lte=timezone.now())

    def do(self, job: FetchRun, turn: TaskTurn) -> None:
        if job.kind != FetchRun.Kind.WEBHOOK:
            job.turn = turn
        self.carry(job)
        self.finish(job, **_spent(job))

    def claim(self, pk: int) -> FetchRun | None:
        """The run, now ours; None while another worker or another run of the same repository holds it."""
        try:
            return super().claim(pk)
        except IntegrityError:
            FetchRun.objects.filter(pk=pk).update(heartbeat_at=timezone.now())
            return None

    def begin(self, job: FetchRun) -> None:
        job.waiting_until = None
        job.started_at = job.started_at or timezone.now()

    def take_back(self, job: FetchRun) -> dict[str, Any]:
        """Cursor and counts stay as the last batch left them."""
        return _spent(job)

    def queue_again(self, job: FetchRun) -> None:
        job.n_failures += job.state == FetchRun.State.RUNNING
        job.waiting_until = None

    def deal_with(self, job: FetchRun, error: Exception) -> bool:
        if isinstance(error, StorageAway):
            said = "The file storage does not respond. The import continues when it does."
            error = FetchMustWait(said, wait_seconds=STORAGE_SECONDS, counts=False)
        if isinstance(error, RowError):
            error = FetchMustWait(f"GitHub's answer can't be read: {error}")
        if isinstance(error, FetchMustWait):
            wait(job, error)
            return True
        return super().deal_with(job, error)

    def unforeseen(self, error: Exception) -> str:
        return f"Unexpected error ({type(error).__name__}). The server's log has details."


RUNS = Runs()
claim, pick_up = RUNS.claim, RUNS.sweep


def _spent(run: FetchRun) -> dict[str, Any]:
    return {"n_failures": run.n_failures} | {name: getattr(run, name) for name in SPENT}


@contextmanager
def progress(run: FetchRun) -> Iterator[None]:
    """A transaction around one batch, its cursor and its counts; raises ClaimLost when the run is no longer ours.

    Raises FetchMustWait while the disk has only its reserve left.
    """
    if disk_space.is_short():
        raise FetchMustWait(disk_space.NoRoom(GOES_ON).message, wait_seconds=ROOM_SECONDS, counts=False)
    with RUNS.batch(run):
        yield
        run.cursor.pop("n_slowed", None)
        run.heartbeat_at = timezone.now()
        run.n_failures = 0
        run.save(update_fields=[*PLACE, *COUNTS])
    if run.turn is not None and run.turn.is_over():
        raise TurnOver


def beat(run: FetchRun) -> None:
    """Says that the run is alive where a batch takes long; raises ClaimLost."""
    RUNS.write(run)


def refuse(run: FetchRun, refusals: list[Refusal]) -> None:
    """Counts refused rows, and keeps the first REFUSALS_KEPT of a run."""
    room = max(0, REFUSALS_KEPT - run.n_refused)
    run.n_refused += len(refusals)
    run.n_seen += len(refusals)
    rows = ((run.pk, refusal.line, refusal.reason, refusal.row) for refusal in refusals[:room])
    copy("ingest_refusal", ("run_id", "line", "reason", "row"), rows)


def store_records(run: FetchRun, records: list[IssueRecord]) -> set[int]:
    """Stores a batch and counts what became of it; inside `progress`. The keys of the repositories written to."""
    stored = store(run, records)
    run.n_new += stored.n_new
    run.n_changed += stored.n_changed
    run.n_unchanged += stored.n_unchanged
    run.n_closing_changes += stored.n_closing_changes
    run.n_seen += stored.n_new + stored.n_changed + stored.n_unchanged
    if run.kind != FetchRun.Kind.WEBHOOK and run.what == "issues":
        rejected = {id(record) for record, _ in stored.refused}
        run.n_comments += sum(len(each.comments or ()) for each in records if id(each) not in rejected)
    refuse(run, [Refusal(run=run, reason=reason, row=record.identifier) for record, reason in stored.refused])
    _list_contradictions(run, stored)
    expect_other_totals(stored.repositories)
    return stored.repositories


def _list_contradictions(run: FetchRun, stored: BatchResult) -> None:
    """Counts the values that were not taken, and keeps the first REFUSALS_KEPT of a run."""
    room = max(0, REFUSALS_KEPT - run.n_contradictions)
    run.n_contradictions += len(stored.contradictions)
    rows = (
        (run.pk, record.identifier, name, _as_text(told), _as_text(kept))
        for record, name, told, kept in stored.contradictions[:room]
    )
    copy("ingest_contradiction", ("run_id", "issue", "name", "told", "kept"), rows)


def _as_text(value: object) -> str:
    return f"{value.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}" if isinstance(value, datetime) else str(value)


def next_in_line(run_id: int) -> int | None:
    """The oldest run that could not begin because this one was at its repository; None while this one still is."""
    over = FetchRun.objects.exclude(state__in=[FetchRun.State.QUEUED, FetchRun.State.RUNNING])
    target = over.filter(pk=run_id).exclude(target="").values("target")
    queued = FetchRun.objects.filter(state=FetchRun.State.QUEUED, target__in=target)
    return queued.order_by("pk").values_list("pk", flat=True).first()


def wait(run: FetchRun, error: FetchMustWait) -> None:
    """Waits as long as the error says; failures that repeat without progress wait longer, and end as failed."""
    if error.counts:
        run.n_failures += 1
        if run.n_failures > len(RETRY_SECONDS):
            RUNS.fail(run, _attempts(run, error.message))
            return
    seconds = RETRY_SECONDS[max(0, run.n_failures - 1)] if error.wait_seconds is None else error.wait_seconds
    changes: dict[str, Any] = {"error": error.message, "waiting_until": timezone.now() + timedelta(seconds=seconds)}
    if error.n_slowed:
        stored = FetchRun.objects.values_list("cursor", flat=True).get(pk=run.pk)
        changes["cursor"] = stored | {"n_slowed": error.n_slowed}
    with suppress(ClaimLost):
        RUNS.write(run, state=FetchRun.State.WAITING, **_spent(run), **changes)


def give_up(run: FetchRun) -> None:
    """Ends a run that waits after failures, where nobody took it up meanwhile; it can be continued by hand."""
    waiting = FetchRun.objects.filter(pk=run.pk, n_claims=run.n_claims, state=FetchRun.State.WAITING)
    waiting.update(
        state=FetchRun.State.FAILED,
        error=_attempts(run, run.error),
        waiting_until=None,
        finished_at=timezone.now(),
    )


def _attempts(run: FetchRun, error: str) -> str:
    return f"{error} {run.n_failures} attempts failed. Continue the run to try again."
