"""Bulk job of large samples and rounds: each batch is a transaction, and it continues after a crash."""

from collections.abc import Callable
from typing import Any

from django.db.models import Q

from annotation.assignments.actions.finishing import finish_if_done
from annotation.assignments.planning import raters_planned
from annotation.choosing.actions import batches as draw_batches
from annotation.choosing.actions.batches import SAMPLED, TAKEN, RoundOpening, SampleDraw, take_issues
from annotation.choosing.actions.duplicates import DuplicateSearch
from annotation.choosing.actions.pinning import pin_next, record_pins
from annotation.core.access import get_seat
from annotation.core.database_planner import tell_planner
from annotation.labels.screening import standings_taken
from annotation.models import Assignment, BulkJob, Round, RoundItem, RoundRater, Study
from annotation.rounds.actions.raters import GivingByJob, LeavingByJob
from annotation.rounds.actions.rounds import finish_opening
from shared.job_holds import JobLockKind
from shared.job_time_limits import BATCHES, WHOLE, TaskTurn
from shared.jobs import JobKind, TurnOver

Step = Callable[[BulkJob], bool]
"""Writes the next batch and moves the job's cursor; whether there is more."""


class BulkJobs(JobKind[BulkJob]):
    """The drawing of large samples, and the preparing, opening and reassigning of large rounds.

    A batch and the cursor are one transaction, so what a killed worker leaves is whole batches.
    """

    model, lock, task = BulkJob, JobLockKind.BULK, draw_batches.JOB
    own = ~Q(kind=BulkJob.Kind.DUPLICATES)
    limits = BATCHES
    related = ("study", "sample", "round__study", "created_by")
    advice = "Request it again, or request fewer items."
    tries_most = 20
    gave_up = f"Its worker stopped {tries_most} times."

    def do(self, job: BulkJob, turn: TaskTurn) -> None:
        step = _STEPS[job.kind](job)
        while self._batch(job, step):
            if turn.is_over():
                raise TurnOver
        if job.kind == BulkJob.Kind.LEAVING:
            for pk in job.asked.get("finish", job.asked["rounds"]):
                finish_if_done(pk)

    def _batch(self, job: BulkJob, step: Step) -> bool:
        """Does the next batch of a job; whether there may be more. Raises ClaimLost."""
        with self.batch(job):
            Study.objects.select_for_update(no_key=True).get(pk=job.study_id)
            if step(job):
                self.write(job, cursor=job.cursor, n_done=job.n_done)
                return True
            self.finish(job, cursor=job.cursor, n_done=job.n_total)
            return False

    def take_back(self, job: BulkJob) -> dict[str, Any]:
        """What it wrote of an opening goes, so that the draft is as it was; what it pinned stays, and is recorded."""
        if job.kind == BulkJob.Kind.OPENING:
            Assignment.objects.filter(round=job.round_id).delete()
            RoundItem.objects.filter(round=job.round_id, n_free__gt=0).update(n_free=0)
        if job.kind == BulkJob.Kind.PINNING:
            record_pins(job)
        return {}

    def unforeseen(self, error: Exception) -> str:
        return f"It ended with an error ({type(error).__name__}). The server\u2019s log has details."


class DuplicateSearches(BulkJobs):
    """The search for duplicates, which stores nothing before its end, so it hands nothing over."""

    task = draw_batches.SEARCH_JOB
    own = Q(kind=BulkJob.Kind.DUPLICATES)
    limits = WHOLE


def _drawing(job: BulkJob) -> Step:
    assert job.sample is not None
    drawing = SampleDraw.of(job.sample)

    def step(job: BulkJob) -> bool:
        drawing.write(job.n_done, job.n_done + draw_batches.BATCH)
        job.n_done += draw_batches.BATCH
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
            tell_planner(draw_batches.BATCH, TAKEN)
        return job.n_done < job.n_total

    return step


def _opening(job: BulkJob) -> Step:
    round_ = job.round
    assert round_ is not None
    raters = RoundRater.objects.filter(round=round_).select_related("rater").order_by("pk")
    opening = RoundOpening.of(round_, list(raters))

    def step(job: BulkJob) -> bool:
        start = job.cursor.get("written", 0)
        opening.write(start, start + draw_batches.BATCH)
        job.cursor["written"] = job.n_done = min(start + draw_batches.BATCH, opening.n_total)
        if job.n_done < opening.n_total:
            return True
        seat = get_seat(job.created_by, job.study.slug)
        finish_opening(
            seat=seat, opening=opening, gate=job.asked.get("gate"), unregistered=job.asked.get("unregistered") or ()
        )
        return False

    return step


def _finding(job: BulkJob) -> Step:
    assert job.sample is not None
    return DuplicateSearch(get_seat(job.created_by, job.study.slug), job.sample).step


def _leaving(job: BulkJob) -> Step:
    return LeavingByJob(job).step


def _pinning(job: BulkJob) -> Step:
    return pin_next


def _giving(job: BulkJob) -> Step:
    return GivingByJob(job).step


_STEPS: dict[str, Callable[[BulkJob], Step]] = {
    BulkJob.Kind.SAMPLE: _drawing,
    BulkJob.Kind.ROUND: _taking,
    BulkJob.Kind.OPENING: _opening,
    BulkJob.Kind.DUPLICATES: _finding,
    BulkJob.Kind.LEAVING: _leaving,
    BulkJob.Kind.GIVING: _giving,
    BulkJob.Kind.PINNING: _pinning,
}

BULK_JOBS, SEARCHES = BulkJobs(), DuplicateSearches()
work = BULK_JOBS.work
