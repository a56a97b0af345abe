"""Migration plans: preview, run as a job, and undo until the next round opens."""

from django.db import transaction
from django.utils import timezone

from annotation.assignments.queries import raters_by_name
from annotation.core.access import OWNER, Seat, require_changeable
from annotation.core.audit import record
from annotation.core.errors import Invalid, WrongState
from annotation.core.locks import require_prepared
from annotation.models import Plan, Round, Study
from annotation.plans import jobs as plan_jobs
from annotation.plans.queries.listing import why_not_run, why_not_undo
from annotation.plans.queries.preview import preview
from annotation.plans.queries.scope import PlanScope, plan_scope
from taxonomy.models import Taxonomy, TaxonomyVersion

REFUSED = "Migration not created."


@transaction.atomic
def preview_plan(*, seat: Seat, to: object, recheck: object = None, again: Plan | None = None) -> Plan:
    """A plan to move the study to a version, as a preview that changes nothing; the same one where it was asked before.

    `recheck` names redefined categories of that version whose labels are to be looked at again, as [dimension, key]. A
    draft can be previewed by who may read it. Where it is a preview that is counted `again` and is run just now, that
    plan comes back as it is. Raises Invalid, or Conflict where there is nothing to move.
    """
    seat.require(OWNER)
    seat.require_nothing_withheld("A plan")
    study = _held(seat)
    if again is not None and (now := Plan.objects.get(pk=again.pk)).state not in Plan.OPEN:
        return now
    if isinstance(to, bool) or not isinstance(to, int):
        raise Invalid(REFUSED, fields={"to": ["Enter the number of a version."]})
    # Held, so that a draft is not discarded while a plan that names it is written.
    Taxonomy.objects.select_for_update(no_key=True).get(pk=study.taxonomy_id)
    readable = TaxonomyVersion.objects.readable_by(seat.user).select_related("taxonomy").order_by("-number")
    version = readable.filter(taxonomy=study.taxonomy_id, number=to).first() if 0 < to < 2**31 else None
    if version is None:
        words = f"“{seat.study.taxonomy.slug}” has no version {to}."
        raise Invalid(REFUSED, fields={"to": [words]})
    if version.state == TaxonomyVersion.State.RETIRED:
        raise Invalid(REFUSED, fields={"to": [f"Version {to} is retired. Choose a published one."]})
    found = plan_scope(study, version)
    chosen = _recheck(found, recheck)
    plan = Plan.objects.filter(study=study, to_version=version, state=Plan.State.PREVIEWED).first()
    if plan is None:
        newest = study.plans.order_by("-number").values_list("number", flat=True).first()
        plan = Plan(study=study, to_version=version, number=(newest or 0) + 1, created_by=seat.user)
    plan.from_version, plan.recheck = found.from_version, plan.recheck if recheck is None else chosen
    plan.save()
    return plan


def _held(seat: Seat) -> Study:
    """The study, held so that rounds open and plans run one after the other."""
    study = Study.objects.select_for_update(of=("self",), no_key=True).select_related("taxonomy").get(pk=seat.study.pk)
    require_changeable(study)
    seat.require_again()
    return study


def _redefined(found: PlanScope) -> set[tuple[str, str]]:
    return {(each.dimension, each.new.key) for each in found.redefined() if each.new is not None}


def _recheck(found: PlanScope, given: object) -> list[list[str]]:
    if given is None:
        return []
    may = _redefined(found)
    wrong: list[str] = []
    chosen: list[list[str]] = []
    for each in given if isinstance(given, list | tuple) else [given]:
        if not isinstance(each, list | tuple) or len(each) != 2 or not all(isinstance(word, str) for word in each):
            wrong.append("Send a list of [dimension, category] pairs.")
        elif tuple(each) not in may:
            wrong.append(f"“{each[1]}” of “{each[0]}” is not redefined by this migration.")
        elif list(each) not in chosen:
            chosen.append(list(each))
    if wrong:
        raise Invalid(REFUSED, fields={"recheck": wrong[:10]})
    return chosen


@transaction.atomic
def run_plan(*, seat: Seat, plan: Plan, recheck: object = None, stand_ins: object = (), send: bool = True) -> Plan:
    """Queues the job of a plan; what it will do is kept with it. A plan at work is handed back as it is.

    `stand_ins` are user names or codes of raters who answer in the place of those that can't sign in. Raises Invalid,
    or Conflict where it can't be run now. Without `send` no worker is told.
    """
    seat.require(OWNER)
    study = _held(seat)
    plan = Plan.objects.select_for_update(of=("self",)).select_related("to_version", "from_version").get(pk=plan.pk)
    # Held, so that no third rater is asked until the plan is known to be run: they are not blind after that.
    list(Round.objects.select_for_update(no_key=True).filter(study=study, state=Round.State.RESOLVING).order_by("pk"))
    if plan.state in Plan.AT_WORK:
        return plan
    require_prepared(study)  # a round that a job opens is a draft until then
    if why := why_not_run(plan):
        raise WrongState(why)
    found = plan_scope(study, plan.to_version)
    if recheck is not None:
        plan.recheck = _recheck(found, recheck)
    may = _redefined(found)  # a draft may have lost some since the preview
    plan.recheck = [each for each in plan.recheck if tuple(each) in may]
    fields: dict[str, list[str]] = {}
    members = raters_by_name(study, stand_ins, fields, "stand_ins") if stand_ins else []
    if fields:
        raise Invalid("Migration not run.", fields=fields)
    plan.stand_ins = [member.pk for member in members]
    plan.from_version = found.from_version
    plan.preview = preview(found, plan.recheck).as_document()
    plan.state, plan.run_by, plan.run_at = Plan.State.QUEUED, seat.user, timezone.now()
    plan.worked_at, plan.error, plan.cursor, plan.n_done = plan.run_at, "", {}, 0
    plan.n_total = plan.preview["worklist"]["items"]
    plan.save()
    record(
        study=study,
        user=seat.user,
        verb="plan run",
        plan=plan.number,
        from_version=plan.from_version.number,
        to_version=plan.to_version.number,
        items_asked_again=plan.n_total,
    )
    if send:
        plan_jobs.PLANS.send_later(plan.pk)
    return plan


@transaction.atomic
def undo_plan(*, seat: Seat, plan: Plan, only_stop: bool = False) -> Plan:
    """Undoes a plan: labels stand as before it, and its worklist counts no more.

    What was answered there stays readable. One still at work is stopped; with `only_stop` no other one is undone.
    Raises WrongState with the reason where it can't be undone (any more).
    """
    seat.require(OWNER)
    study = _held(seat)
    plan = (
        Plan.objects.select_for_update(of=("self",))
        .select_related("to_version", "from_version", "worklist")
        .get(pk=plan.pk)
    )
    if only_stop and plan.state not in Plan.AT_WORK:
        raise WrongState(f"Migration {plan.number} is finished, so it can't be stopped. Nothing was changed.")
    if why := why_not_undo(plan):
        raise WrongState(why)
    worklist = plan.worklist
    if plan.state in Plan.AT_WORK and worklist is not None:
        plan_jobs.take_back(plan)
    elif worklist is not None:
        Round.objects.select_for_update().get(pk=worklist.pk)
        Round.objects.filter(pk=worklist.pk).update(state=Round.State.UNDONE)
    plan.state, plan.undone_by, plan.undone_at = Plan.State.UNDONE, seat.user, timezone.now()
    plan.save(update_fields=["state", "undone_by", "undone_at"])
    record(study=study, user=seat.user, verb="plan undone", plan=plan.number, to_version=plan.to_version.number)
    return plan
