"""The life of a run: who works on it, how far it came, and how it ends; every step is fenced by the run's claim."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

from django.db import IntegrityError, transaction
from django.db.models import F, Q
from django.utils import timezone

from accounts import room
from accounts.holds import Kind, are_held, place
from accounts.time_limits import BATCHES_SECONDS, stopped
from ingest.errors import FetchMustWait
from ingest.models import FetchRun, Refusal
from ingest.queries import REFUSALS_KEPT
from ingest.records import IssueRecord
from ingest.totals import expect_other_totals
from ingest.upsert import Stored, copy, store

RETRY_SECONDS = (5, 30, 120, 600)
LOST_SECONDS = 30
ROOM_SECONDS = 60
GOES_ON = "What was stored stays, and the fetch goes on automatically when there is room."
PLACE = ("cursor", "requested", "repository", "target", "n_expected", "n_failures", "heartbeat_at")
SPENT = ("n_requests", "n_unchanged_answers", "n_requests_left")
COUNTS = (
    "n_seen", "n_new", "n_changed", "n_unchanged", "n_refused", "n_pull_requests", "n_comments", "n_closing_changes",
    "n_contradictions", "n_bytes", "n_bytes_read", *SPENT,
)  # fmt: skip


class TurnOver(Exception):
    """The batch is stored, and the run goes on in another task."""


class ClaimLost(Exception):
    """Someone else took the run up, or it was cancelled: store nothing more."""


def claim(run_id: int) -> FetchRun | None:
    """The run, now ours; None while another worker or another run of the same repository is at it."""
    now = timezone.now()
    with transaction.atomic():
        free = Q(state=FetchRun.State.QUEUED) | Q(state=FetchRun.State.WAITING, waiting_until__lte=now)
        run = FetchRun.objects.select_for_update(of=("self",)).filter(free, pk=run_id).first()
        if run is None:
            return None
        run.state = FetchRun.State.RUNNING
        run.waiting_until = None
        run.error = ""
        run.n_claims += 1
        run.started_at = run.started_at or now
        run.heartbeat_at = now
        try:
            with transaction.atomic():
                run.save(update_fields=["state", "waiting_until", "error", "n_claims", "started_at", "heartbeat_at"])
        except IntegrityError:
            FetchRun.objects.filter(pk=run_id).update(heartbeat_at=now)
            return None
    return run


@contextmanager
def progress(run: FetchRun) -> Iterator[None]:
    """A transaction around one batch, its cursor and its counts; raises ClaimLost when the run is no longer ours.

    Raises FetchMustWait while the disk has only its reserve left.
    """
    if room.is_short():
        raise FetchMustWait(room.NoRoom(GOES_ON).message, wait_seconds=ROOM_SECONDS, counts=False)
    with transaction.atomic():
        ours = FetchRun.objects.filter(pk=run.pk, n_claims=run.n_claims, state=FetchRun.State.RUNNING)
        if not ours.select_for_update().exists():
            raise ClaimLost
        yield
        run.cursor.pop("n_slowed", None)
        run.heartbeat_at = timezone.now()
        run.n_failures = 0
        run.save(update_fields=[*PLACE, *COUNTS])
    if run.turn is not None and run.turn.is_over():
        raise TurnOver


def beat(run: FetchRun) -> None:
    """Says that the run is alive where a batch takes long; raises ClaimLost."""
    ours = FetchRun.objects.filter(pk=run.pk, n_claims=run.n_claims, state=FetchRun.State.RUNNING)
    if not ours.update(heartbeat_at=timezone.now()):
        raise ClaimLost


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


def _list_contradictions(run: FetchRun, stored: Stored) -> None:
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


def pick_up() -> list[int]:
    """Queues runs that are due, whose worker died or whose message was lost; their ids, to be sent to workers."""
    now = timezone.now()
    running = Q(state=FetchRun.State.RUNNING)
    due = Q(state=FetchRun.State.WAITING, waiting_until__lte=now)
    lost = Q(state=FetchRun.State.QUEUED, heartbeat_at__lt=now - timedelta(seconds=LOST_SECONDS))
    with transaction.atomic():
        rows = list(FetchRun.objects.select_for_update(skip_locked=True, of=("self",)).filter(running | due | lost))
        at_work = are_held(Kind.FETCH) if rows else set()  # read while no row can begin or end
        runs = [run for run in rows if run.state != FetchRun.State.RUNNING or place(run.pk) not in at_work]
        for run in runs:
            if run.state == FetchRun.State.RUNNING:
                run.n_failures += 1
            run.state = FetchRun.State.QUEUED
            run.waiting_until = None
            run.heartbeat_at = now
            if run.n_failures > len(RETRY_SECONDS):
                run.state = FetchRun.State.FAILED
                run.finished_at = now
                run.error = "The worker stopped several times at the same place; continue the run to try again."
            run.save(update_fields=["state", "waiting_until", "heartbeat_at", "n_failures", "error", "finished_at"])
    return [run.pk for run in runs if run.state == FetchRun.State.QUEUED]


def has_worker(run: FetchRun) -> bool:
    """Whether a process works on a run whose row the caller has locked: then it can't end meanwhile."""
    return run.state == FetchRun.State.RUNNING and place(run.pk) in are_held(Kind.FETCH)


def next_in_line(run_id: int) -> int | None:
    """The oldest run that could not begin because this one was at its repository; None while this one still is."""
    over = FetchRun.objects.exclude(state__in=[FetchRun.State.QUEUED, FetchRun.State.RUNNING])
    target = over.filter(pk=run_id).exclude(target="").values("target")
    queued = FetchRun.objects.filter(state=FetchRun.State.QUEUED, target__in=target)
    return queued.order_by("pk").values_list("pk", flat=True).first()


def finish(run: FetchRun) -> None:
    """All is stored."""
    _leave(run, state=FetchRun.State.DONE, error="")


def fail(run: FetchRun, error: str) -> None:
    """Stops for a reason that time does not cure; the run can be continued by hand."""
    _leave(run, state=FetchRun.State.FAILED, error=error)


def wait(run: FetchRun, error: FetchMustWait) -> None:
    """Waits as long as the error says; failures that repeat without progress wait longer, and end as failed."""
    if error.counts:
        run.n_failures += 1
        if run.n_failures > len(RETRY_SECONDS):
            fail(run, _attempts(run, error.message))
            return
    seconds = RETRY_SECONDS[max(0, run.n_failures - 1)] if error.wait_seconds is None else error.wait_seconds
    changes: dict[str, object] = {"error": error.message, "waiting_until": timezone.now() + timedelta(seconds=seconds)}
    if error.n_slowed:
        stored = FetchRun.objects.values_list("cursor", flat=True).get(pk=run.pk)
        changes["cursor"] = stored | {"n_slowed": error.n_slowed}
    _leave(run, state=FetchRun.State.WAITING, **changes)


def hand_over(run: FetchRun) -> None:
    """Queues a run that is still ours, for the next task."""
    ours = FetchRun.objects.filter(pk=run.pk, n_claims=run.n_claims, state=FetchRun.State.RUNNING)
    ours.update(state=FetchRun.State.QUEUED, heartbeat_at=timezone.now())


def end_over_limit(run_id: int) -> None:
    """Notes that the worker of a run was stopped at its time limit; a process that may still run has lost the claim."""
    error = stopped(BATCHES_SECONDS, "What was stored stays. Continue the run to try again.")
    ended = {"state": FetchRun.State.FAILED, "error": error, "finished_at": timezone.now()}
    FetchRun.objects.filter(pk=run_id, state=FetchRun.State.RUNNING).update(n_claims=F("n_claims") + 1, **ended)


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
    return f"{error} {run.n_failures} attempts failed; continue the run to try again."


def _leave(run: FetchRun, **changes: object) -> None:
    """Ends the work on a run that is still ours; cursor and counts stay as the last batch left them."""
    ours = FetchRun.objects.filter(pk=run.pk, n_claims=run.n_claims, state=FetchRun.State.RUNNING)
    over = changes["state"] != FetchRun.State.WAITING
    finished_at = timezone.now() if over else None
    spent = {name: getattr(run, name) for name in SPENT}
    ours.update(n_failures=run.n_failures, finished_at=finished_at, **spent, **changes)
