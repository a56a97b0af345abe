"""Locks of rounds and studies until the commit."""

from annotation.core.access import Seat, get_round
from annotation.core.bulk_jobs import job_at_work, job_of
from annotation.core.errors import Conflict
from annotation.models import BulkJob, Round, Study


def require_prepared(study: Study) -> None:
    """Raises Conflict while a job prepares a sample or a round of the study."""
    job = job_at_work(study)
    if job is None:
        return
    if job.kind == BulkJob.Kind.DUPLICATES:
        raise Conflict(
            f"{job.sample} is being searched for duplicates: {job.n_done:,} of {job.n_total:,} steps are done. Wait "
            "until it is ready.",
            code="preparing",
        )
    what = str(job.sample) if job.sample else f"Round {job.round.number if job.round else ''}"
    raise Conflict(
        f"{what} is being prepared: {job.n_done:,} of {job.n_total:,} are done. Wait until it is ready.",
        code="preparing",
    )


def hold_round(seat: Seat, number: int) -> Round:
    """The round, locked until the commit: a submit there and taking an item wait."""
    found = get_round(seat, number)
    if (job := job_of(found)) is not None and job.is_at_work:
        require_prepared(seat.study)
    round_ = Round.objects.select_for_update(of=("self",)).select_related("taxonomy_version__taxonomy").get(pk=found.pk)
    round_.study = seat.study
    return round_
