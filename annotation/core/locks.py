"""Locks of rounds and studies until the commit."""

from typing import Any

from django.db.models import Exists, OuterRef, Q, QuerySet

from annotation.core.access import Seat, get_round, require_changeable
from annotation.core.bulk_jobs import job_at_work, rounds_of
from annotation.core.errors import Conflict
from annotation.models import BulkJob, Plan, Round, RoundItem, Study


def require_prepared(study: Study) -> None:
    """Raises Conflict while a bulk job of the study is at work."""
    job = job_at_work(study)
    if job is not None:
        raise _at_work(job)


def require_no_plan(study: Study) -> None:
    """Raises Conflict while a plan of the study is at work: it would not know of a round that comes now."""
    if Plan.objects.filter(study=study, state__in=Plan.AT_WORK).exists():
        raise Conflict("A migration of this study is running. Wait until it is done.", code="plan_at_work")


def items_of_open_queue(study: int, items: Any) -> tuple[int, QuerySet[RoundItem, int]] | None:
    """The number of the relabeling queue that is open, and which of these items (ids, or a query) it can hold.

    Those that were in a round before it, for what a queue holds follows from labels. Who labels such an item again,
    also as a third rater, is not shown whether it is there, and the queue's state would tell them: the last answer
    moves it on. No migration is run while a round is open or a third rater has answers open, so only what comes later
    has to wait. None where no queue is open.
    """
    queue = Round.objects.filter(study=study, kind=Round.Kind.RELABEL, state=Round.State.OPEN).first()
    if queue is None:
        return None
    before = RoundItem.objects.filter(round__study=study, round__opened_at__lt=queue.opened_at, item__in=items)
    found = before.exclude(round__kind=Round.Kind.SCREENING).order_by().values_list("item_id", flat=True)
    return queue.number, found


def queues_after(study: Any, opened_at: Any) -> QuerySet[Round]:
    """The relabeling queues of a study, opened after this time, that no owner has closed: rules of such rounds wait.

    What a rule does has a time. Were it applied when a queue's last answer comes, that time would tell people from whom
    items are withheld when it came.
    """
    queues = Round.objects.filter(study=study, kind=Round.Kind.RELABEL, opened_at__gt=opened_at)
    return queues.filter(state__in=[Round.State.OPEN, Round.State.RESOLVING])


def queue_awaited(round_: Round) -> int | None:
    """The number of the first of `queues_after` a round; None where rules need not wait for any, as in screening."""
    if round_.kind == Round.Kind.SCREENING:
        return None
    found = queues_after(round_.study_id, round_.opened_at).order_by("opened_at")
    return found.values_list("number", flat=True).first()


def waits_for_queue() -> Q:
    """The condition that rules wait in a round: for one of `queues_after` it, or for a migration that is at work."""
    at_work = Plan.objects.filter(study=OuterRef("study"), state__in=Plan.AT_WORK)
    queues = queues_after(OuterRef("study"), OuterRef("opened_at"))
    return ~Q(kind=Round.Kind.SCREENING) & (Exists(queues) | Exists(at_work))


def require_no_open_queue(round_: Round, items: Any, act: str) -> None:
    """Raises Conflict where one of these items (ids, or a query of them) can be in a relabeling queue that is open."""
    found = None if round_.kind == Round.Kind.SCREENING else items_of_open_queue(round_.study_id, items)
    if found and found[1].exists():
        raise Conflict(
            f"Round {found[0]}, a relabeling queue, is open, and items of round {round_.number} were labeled before "
            f"it. {act} once labeling in the queue has ended.",
            code="queue_open",
        )


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
