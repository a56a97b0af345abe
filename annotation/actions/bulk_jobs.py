"""The job behind large samples and rounds: batch by batch, each a transaction; killed at any moment, it continues."""

import logging
from collections.abc import Callable
from contextlib import suppress

from django.db import InterfaceError, OperationalError, connection, transaction
from django.utils import timezone

from accounts.holds import Kind, held, place, without_worker
from accounts.time_limits import WHOLE_SECONDS, stopped
from annotation.access import get_seat
from annotation.actions import bulk
from annotation.actions.bulk import SAMPLED, TAKEN, Drawing, Opening, take_issues
from annotation.actions.rounds import finish_opening
from annotation.assigning import raters_planned
from annotation.errors import ConcordError
from annotation.models import Assignment, BulkJob, Round, RoundItem, RoundRater, Study
from annotation.queries.planner import tell_planner
from annotation.screening import standings_taken

CLAIMS_MOST = 20

log = logging.getLogger(__name__)

Step = Callable[[BulkJob], bool]
"""Writes the next batch and moves the job's cursor; whether there is more."""


def work(job_id: int) -> None:
    """Does a job until it is done; nothing for one that is over, or while another worker is at it.

    A batch and the cursor are one transaction, so what a killed worker leaves is whole batches. Why a job can't be
    done is in its row; a database that is away is waited for by the clock.
    """
    with held(Kind.BULK, job_id):
        if _claimed(job_id):
            _work(job_id)


def _work(job_id: int) -> None:
    job = BulkJob.objects.select_related("study", "sample", "round__study", "created_by").get(pk=job_id)
    try:
        step = _STEPS[job.kind](job)
        while _batch(job_id, step):
            pass
    except (OperationalError, InterfaceError):
        raise
    except ConcordError as error:
        _fail(job_id, error.message)
    except Exception as error:
        log.exception("Bulk job %s failed", job_id)
        _fail(job_id, f"It ended with an error ({type(error).__name__}). The server\u2019s log has details.")


@transaction.atomic
def _claimed(job_id: int) -> bool:
    if not _is_ours(job_id):
        return False
    job = BulkJob.objects.filter(pk=job_id, state__in=BulkJob.AT_WORK).first()
    if job is None:
        return False
    job.state, job.worked_at, job.n_claims = BulkJob.State.RUNNING, timezone.now(), job.n_claims + 1
    if job.n_claims > CLAIMS_MOST:
        job.state, job.done_at = BulkJob.State.FAILED, timezone.now()
        job.error = f"Its worker stopped {CLAIMS_MOST} times."
    job.save(update_fields=["state", "worked_at", "n_claims", "done_at", "error"])
    return job.state == BulkJob.State.RUNNING


def _is_ours(job_id: int) -> bool:
    """Whether no other worker is at a batch of this job; until the transaction ends none begins one."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_xact_lock(%s, %s)", [Kind.BULK_BATCH, place(job_id)])
        return bool(cursor.fetchone()[0])


@transaction.atomic
def _batch(job_id: int, step: Step) -> bool:
    """Does the next batch of a job; whether there may be more."""
    if not _is_ours(job_id):
        return False
    job = BulkJob.objects.select_for_update(of=("self",)).filter(pk=job_id, state=BulkJob.State.RUNNING).first()
    if job is None:
        return False
    Study.objects.select_for_update(no_key=True).get(pk=job.study_id)
    has_more = step(job)
    job.worked_at = timezone.now()
    if not has_more:
        job.state, job.done_at, job.n_done = BulkJob.State.DONE, job.worked_at, job.n_total
    job.save(update_fields=["cursor", "n_done", "worked_at", "state", "done_at"])
    return has_more


@transaction.atomic
def _fail(job_id: int, why: str) -> None:
    """Ends a job; what it wrote of an opening goes, so that the draft is as it was before."""
    job = BulkJob.objects.select_for_update(of=("self",)).get(pk=job_id)
    if job.kind == BulkJob.Kind.OPENING:
        with suppress(OperationalError):
            Assignment.objects.filter(round=job.round_id).delete()
            RoundItem.objects.filter(round=job.round_id, n_free__gt=0).update(n_free=0)
    job.state, job.error, job.done_at = BulkJob.State.FAILED, why, timezone.now()
    job.save(update_fields=["state", "error", "done_at"])


def _drawing(job: BulkJob) -> Step:
    assert job.sample is not None
    drawing = Drawing.of(job.sample)

    def step(job: BulkJob) -> bool:
        drawing.write(job.n_done, job.n_done + bulk.BATCH)
        job.n_done += bulk.BATCH
        if job.n_done >= job.n_total:
            tell_planner(job.n_total, SAMPLED)
        return job.n_done < job.n_total

    return step


def _taking(job: BulkJob) -> Step:
    round_ = job.round
    assert round_ is not None
    seat = get_seat(job.created_by, job.study.slug)
    n_training = RoundItem.objects.filter(round=round_, known__isnull=False).count()
    planned = raters_planned(job.n_total, round_.raters_per_item, round_.double_share, round_.seed)
    is_screening = round_.kind == Round.Kind.SCREENING
    standings = () if is_screening else job.asked.get("standings") or standings_taken(has_screening=False)

    def step(job: BulkJob) -> bool:
        is_first = not job.n_done
        take_issues(seat, round_, planned, job.cursor, n_training, standings)
        job.n_done = job.cursor["taken"]
        if is_first or job.n_done >= job.n_total:
            tell_planner(bulk.BATCH, TAKEN)
        return job.n_done < job.n_total

    return step


def _opening(job: BulkJob) -> Step:
    round_ = job.round
    assert round_ is not None
    raters = RoundRater.objects.filter(round=round_).select_related("rater").order_by("pk")
    opening = Opening.of(round_, list(raters))

    def step(job: BulkJob) -> bool:
        start = job.cursor.get("written", 0)
        opening.write(start, start + bulk.BATCH)
        job.cursor["written"] = job.n_done = min(start + bulk.BATCH, opening.n_total)
        if job.n_done < opening.n_total:
            return True
        seat = get_seat(job.created_by, job.study.slug)
        finish_opening(
            seat=seat, opening=opening, gate=job.asked.get("gate"), unregistered=job.asked.get("unregistered") or ()
        )
        return False

    return step


_STEPS: dict[str, Callable[[BulkJob], Step]] = {
    BulkJob.Kind.SAMPLE: _drawing,
    BulkJob.Kind.ROUND: _taking,
    BulkJob.Kind.OPENING: _opening,
}


def end_over_limit(job_id: int) -> None:
    """Notes that the worker of a job was stopped at its time limit; it can be asked for again."""
    if BulkJob.objects.filter(pk=job_id, state__in=BulkJob.AT_WORK).exists():
        _fail(job_id, stopped(WHOLE_SECONDS, "Ask for it again, or for fewer items."))


def lost(before_seconds: int) -> list[int]:
    """Jobs that are queued for so long, or running with no worker on them; they are sent again."""
    jobs = BulkJob.objects.filter(state__in=BulkJob.AT_WORK).order_by("pk")
    rows = [(job.pk, job.state, job.worked_at or job.created_at) for job in jobs]
    found = without_worker(Kind.BULK, rows, before_seconds)
    BulkJob.objects.filter(pk__in=found).update(worked_at=timezone.now())
    return found
