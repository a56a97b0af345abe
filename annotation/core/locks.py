"""Locks of rounds and studies until the commit."""

from annotation.core.access import Seat, get_round, require_changeable
from annotation.core.bulk_jobs import job_at_work, rounds_of
from annotation.core.errors import Conflict
from annotation.models import BulkJob, Plan, Round, Study


def require_prepared(study: Study) -> None:
    """Raises Conflict while a bulk job of the study is at work."""
    job = job_at_work(study)
    if job is not None:
        raise _at_work(job)


def require_no_plan(study: Study) -> None:
    """Raises Conflict while a plan of the study is at work: it would not know of a round that comes now."""
    if Plan.objects.filter(study=study, state__in=Plan.AT_WORK).exists():
        raise Conflict("A migration of this study is running. Wait until it is done.", code="plan_at_work")


def _at_work(job: BulkJob) -> Conflict:
    of_round = f"round {job.round.number}" if job.round else ""
    n, then = f"{job.n_done:,} of {job.n_total:,}", "Wait until it is ready."
    match job.kind:
        case BulkJob.Kind.DUPLICATES:
            said = f"{job.sample} is being searched for duplicates: {n} steps are done."
        case BulkJob.Kind.LEAVING if job.round and job.round.kind == Round.Kind.RELABEL:  # withheld from some
            said, then = "Items of a rater who leaves are being reassigned.", "Wait until all are done."
        case BulkJob.Kind.LEAVING:
            said, then = f"Items of {of_round} are being reassigned: {n} are done.", "Wait until all are done."
        case BulkJob.Kind.GIVING:
            said, then = f"Items of {of_round} are being assigned: {n} are done.", "Wait until all are done."
        case BulkJob.Kind.PINNING:
            said, then = f"Items are being re-pinned: {n} are done.", "Wait until all are done."
        case _:
            what = str(job.sample) if job.sample else of_round.capitalize()
            said = f"{what} is being prepared: {n} are done."
    return Conflict(f"{said} {then}", code="preparing")


def hold_study(seat: Seat) -> Study:
    """The study, locked until the commit, for someone who still has the roles that were required of their seat.

    They may have waited here for the one who took a role, or archived the study. Roles change under this lock alone, so
    they need not be looked at again until the commit. Two queries, one where nothing was required. Raises Forbidden,
    and WrongState for a study that is archived.
    """
    study = Study.objects.select_for_update(no_key=True).get(pk=seat.study.pk)
    require_changeable(study)
    seat.require_again()
    seat.required.clear()
    return study


def hold_round(seat: Seat, number: int) -> Round:
    """The round, locked until the commit: a submit there and taking an item wait. Conflict while a job works on it.

    Raises Forbidden for someone who lost a role that was required of their seat, and Blind for a relabeling queue of
    which something is withheld from them: what an act answers would show what the queue holds.
    """
    seat.require_queue(get_round(seat, number))
    return hold_any_round(seat, number)


def hold_any_round(seat: Seat, number: int) -> Round:
    """The same also for a queue, for an act on many rounds, whose answer leaves out `Seat.withheld_queues`."""
    found = get_round(seat, number)
    if (job := job_at_work(seat.study)) is not None and found.pk in rounds_of(job):
        raise _at_work(job)
    round_ = Round.objects.select_for_update(of=("self",)).select_related("taxonomy_version__taxonomy").get(pk=found.pk)
    round_.study = seat.study
    seat.require_again()
    return round_
