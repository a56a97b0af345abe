"""Plans of a study, their relabeling queues, and whether one can be run or undone."""

from django.db.models import QuerySet

from annotation.core.access import ADJUDICATOR, OWNER, READER, Seat, hidden_drafts
from annotation.core.errors import Forbidden
from annotation.models import Assignment, Plan, Round, RoundItem
from annotation.models.assignment_kinds import THIRD_RATERS
from annotation.plans.queries.relabeling import PAGE


def plans(seat: Seat) -> QuerySet[Plan]:
    """All plans of a study, the newest first, with their versions and people; none to a draft that is not read."""
    rows = Plan.objects.filter(study=seat.study).exclude(to_version__in=hidden_drafts(seat)).order_by("-number")
    return rows.select_related("from_version", "to_version", "worklist", "created_by", "run_by", "undone_by")


def reads_all(seat: Seat) -> bool:
    """Whether someone reads more than their own answers."""
    return seat.user.is_staff or seat.has_role(OWNER, ADJUDICATOR, READER)


def require_items(seat: Seat, plan: Plan) -> None:
    """Raises Forbidden where the items of a migration that was not run tell of answers that this person does not read.

    Why an item would be asked again follows from single answers. Which items are in the queue of a migration that was
    run, every member sees. One query.
    """
    unread = Round.objects.filter(pk__in=seat.sealed_round_ids, state=Round.State.RESOLVING)
    if not plan.is_over and unread.exists():
        raise Forbidden(
            "Until every round that is being resolved is closed, only owners and adjudicators see which items a "
            "migration would ask about again."
        )


def why_not_run(plan: Plan) -> str:
    """Why a plan can't be run now, in a sentence; empty where it can. Three queries."""
    if plan.state not in Plan.OPEN:
        return f"Migration {plan.number} is {plan.state}. Create a new one."
    if plan.to_version.is_draft:
        return f"Version {plan.to_version.number} is a draft. Publish it first."
    open_rounds = _labeling(plan).filter(state=Round.State.OPEN).order_by("number")
    if numbers := list(open_rounds.values_list("number", flat=True)):
        which = f"Round {numbers[0]} is" if len(numbers) == 1 else f"Rounds {', '.join(map(str, numbers))} are"
        return f"{which} open, so its labels would be too late. Finish it, or move it to resolving, first."
    owed = Assignment.objects.filter(
        THIRD_RATERS, round__in=_labeling(plan).filter(state__in=Round.OVER), state__in=Assignment.UNFINISHED
    )
    if n := owed.count():
        which = "1 item waits" if n == 1 else f"{n} items wait"
        return (
            f"{which} for a third rater, who could infer the labels of others from the relabeling queue. Wait for it."
        )
    if Plan.objects.filter(study=plan.study_id, state__in=Plan.AT_WORK).exists():
        return "Another migration of this study is running. Wait for it."
    return ""


def why_not_undo(plan: Plan) -> str:
    """Why a plan can't be undone, in a sentence; empty where it can. Two queries."""
    if plan.state in Plan.AT_WORK:
        return ""
    if plan.state != Plan.State.DONE:
        return f"Migration {plan.number} is {plan.state}. Only one that was run can be undone."
    later = Plan.objects.filter(study=plan.study_id, state=Plan.State.DONE, done_at__gt=plan.done_at)
    if later_plan := later.order_by("-done_at").first():
        return f"Migration {later_plan.number} was run after it. Undo that one first."
    opened = _labeling(plan).filter(opened_at__gt=plan.done_at).exclude(state=Round.State.UNDONE)
    if plan.worklist_id:
        opened = opened.exclude(pk=plan.worklist_id)
    if next_round := opened.order_by("number").first():
        return f"Round {next_round.number} was opened since. Its labels are based on version {plan.to_version.number}."
    return ""


def _labeling(plan: Plan) -> QuerySet[Round]:
    """The rounds of the plan's study that label by its taxonomy; no plan touches those that screen."""
    return Round.objects.filter(study=plan.study_id).exclude(kind=Round.Kind.SCREENING)


def worklist_items(plan: Plan, *, after: int = 0, size: int = PAGE) -> list[RoundItem]:
    """What a plan that was run gave out, in its order after a position, with the items."""
    rows = RoundItem.objects.filter(round=plan.worklist_id, position__gt=after).order_by("position")
    return list(rows.select_related("item__snapshot").defer("item__snapshot__body")[:size])
