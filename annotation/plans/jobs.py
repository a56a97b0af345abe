"""Plan job: fills the relabeling queue in batches, then marks the plan as done; safe to interrupt."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any
from zlib import crc32

from django.db import transaction
from django.utils import timezone

from annotation.assignments.queries import is_absent
from annotation.core.database_planner import tell_planner
from annotation.core.numbers import next_round_number
from annotation.labels.consensus import PENDING, Verdict
from annotation.labels.queries.verdicts import round_verdicts
from annotation.models import Assignment, Membership, Plan, Round, RoundItem, RoundRater, Study
from annotation.plans.queries.relabeling import RelabelRequest, needs
from annotation.plans.queries.scope import PlanScope, scope_of
from shared.job_holds import JobLockKind
from shared.job_time_limits import BATCHES, TaskTurn
from shared.jobs import JobKind, TurnOver
from taxonomy.migration import BlockedValue, Route

BATCH = 500

Needed = Mapping[int, Sequence[RelabelRequest]]
Places = list[tuple[int, str]]


class Plans(JobKind[Plan]):
    """The giving out of worklists.

    Each batch is one transaction that holds the study and the plan. Whom to ask again is found anew by whoever begins.
    """

    model, lock, task = Plan, JobLockKind.PLAN, "annotation.tasks.run_plan"
    related = ("study", "from_version", "to_version", "worklist")
    limits = BATCHES
    advice = "Nothing was assigned. Run the migration again when the server is less busy."

    def do(self, job: Plan, turn: TaskTurn) -> None:
        found = scope_of(job)
        needed = needs(found, job.recheck)
        order = sorted(needed)
        while _batch(job, found, needed, order):
            if turn.is_over():
                raise TurnOver

    def take_back(self, job: Plan) -> dict[str, Any]:
        take_back(job)
        return {"done_at": None}

    @transaction.atomic
    def end_over_limit(self, pk: int) -> None:
        Study.objects.select_for_update(no_key=True).get(plans=pk)
        super().end_over_limit(pk)


PLANS = Plans()
work = PLANS.work


@transaction.atomic
def _batch(plan: Plan, found: PlanScope, needed: Needed, order: Sequence[int]) -> bool:
    """Gives out the next items of a plan, or finishes it; False where nothing is left to do. Raises ClaimLost."""
    Study.objects.select_for_update(no_key=True).get(pk=found.study.pk)
    with PLANS.batch(plan):
        begin = bisect_right(order, plan.cursor.get("item", 0))
        chunk = order[begin : begin + BATCH]
        if not chunk:
            _finish(plan)
            return False
        _give_out(plan, found, needed, chunk)
        plan.cursor["item"] = chunk[-1]
        done = {"cursor": plan.cursor, "worklist": plan.worklist}
        PLANS.write(plan, n_done=begin + len(chunk), n_total=len(order), **done)
    return True


def _give_out(plan: Plan, found: PlanScope, needed: Needed, chunk: Sequence[int]) -> None:
    """Puts items into the worklist with the raters concerned; one whose raters are absent needs stand-ins, or stays."""
    members = Membership.objects.filter(study=plan.study_id).select_related("user")
    present = {each.pk for each in members if not is_absent(each)}
    last = plan.cursor.get("position", 0)
    raters: dict[int, list[int]] = {}
    for item_id in chunk:
        concerned = list(dict.fromkeys(need.rater_id for need in needed[item_id]))
        here = [pk for pk in concerned if pk in present]
        free = [pk for pk in _turned(plan.stand_ins, item_id) if pk in present and pk not in here]
        if here := here + free[: len(concerned) - len(here)]:
            raters[item_id] = here
    if not raters:
        return
    worklist = plan.worklist or _worklist(plan)
    asked = _asked(plan, found, needed, list(raters))
    of_raters = {each.rater_id: each for each in RoundRater.objects.filter(round=worklist).order_by("pk")}
    new = [pk for pk in dict.fromkeys(pk for each in raters.values() for pk in each) if pk not in of_raters]
    made = RoundRater.objects.bulk_create(RoundRater(round=worklist, rater_id=pk) for pk in sorted(new))
    of_raters |= {each.rater_id: each for each in made}
    round_items, assignments = [], []
    for position, (item_id, here) in enumerate(raters.items(), start=last + 1):
        round_items.append(
            RoundItem(
                round=worklist,
                item_id=item_id,
                position=position,
                n_raters=len(here),
                asked=[list(place) for place in asked.get(item_id, [])],
            )
        )
        for slot, pk in enumerate(here, start=1):
            of_raters[pk].n_assigned += 1
            place = of_raters[pk].n_assigned
            assignments.append(Assignment(round=worklist, item_id=item_id, rater_id=pk, slot=slot, position=place))
    RoundItem.objects.bulk_create(round_items)
    Assignment.objects.bulk_create(assignments)
    RoundRater.objects.bulk_update(of_raters.values(), ["n_assigned"])
    plan.cursor["position"] = last + len(raters)


def _turned(members: Sequence[int], item_id: int) -> Sequence[int]:
    """The same people, for each item beginning with another one.

    With which one follows from the item alone: by a count of items, who has the others would tell of an item that is
    withheld.
    """
    by = crc32(b"%d" % item_id) % max(len(members), 1)
    return [*members[by:], *members[:by]]


def _worklist(plan: Plan) -> Round:
    """The round that the plan gives out, a draft until all is in it."""
    assert plan.run_by_id is not None
    plan.worklist = Round.objects.create(
        study_id=plan.study_id,
        number=next_round_number(plan.study),
        kind=Round.Kind.RELABEL,
        taxonomy_version_id=plan.to_version_id,
        created_by_id=plan.run_by_id,
    )
    return plan.worklist


def _asked(plan: Plan, found: PlanScope, needed: Needed, item_ids: Sequence[int]) -> dict[int, Places]:
    """Per item the places where what was agreed can't be followed or is to be looked at again."""
    recheck = {(dimension, key) for dimension, key in plan.recheck}
    settled: dict[int, list[int]] = defaultdict(list)
    for item_id, round_ in _settled_rounds(found, item_ids).items():
        settled[round_.pk].append(item_id)
    by_id = {each.pk: each for each in found.rounds}
    asked: dict[int, Places] = {}
    for round_id, ids in settled.items():
        round_ = by_id[round_id]
        way = found.ways[round_.taxonomy_version_id]
        for each in round_verdicts(round_, items=ids):
            item_id = each.round_item.item_id
            asked[item_id] = _places(each.verdicts, way, needed[item_id], recheck)
    return asked


def _settled_rounds(found: PlanScope, item_ids: Sequence[int]) -> dict[int, Round]:
    """The round on which a worklist rests for an item: the newest one, as `base_verdicts` takes it."""
    by_id = {each.pk: each for each in found.rounds}
    rows = RoundItem.objects.counting().filter(round__in=list(by_id), item__in=item_ids).order_by("round__number")
    return {item_id: by_id[round_id] for item_id, round_id in rows.values_list("item_id", "round_id")}


def _places(
    verdicts: Sequence[Verdict], way: Route, why: Sequence[RelabelRequest], recheck: set[tuple[str, str]]
) -> Places:
    pending = {need.dimension for need in why if need.why == "pending"}
    places: dict[tuple[int, str], None] = {}
    valued = set()
    for verdict in verdicts:
        place = (verdict.part, verdict.dimension)
        if verdict.dimension in pending and any(PENDING in (given.values or ()) for given in verdict.ratings):
            places[place] = None
        if verdict.values is None or verdict.state == "open":
            continue
        followed = way.values(verdict.dimension, verdict.values, free=[PENDING])
        if isinstance(followed, BlockedValue) and followed.reason == "dimension":
            continue  # Where it came back, it is asked as the new question that it is.
        valued.add(place)
        if isinstance(followed, BlockedValue) or any(
            (verdict.dimension, way.follow(verdict.dimension, value)) in recheck
            and "redefined" in way.kinds_of(verdict.dimension, value)
            for value in verdict.values
            if isinstance(value, str)
        ):
            places[place] = None
    n_parts = max((verdict.part for verdict in verdicts), default=1)
    for dimension in dict.fromkeys(need.dimension for need in why if need.why == "required"):
        new = [(part, dimension) for part in range(1, n_parts + 1) if (part, dimension) not in valued]
        places |= dict.fromkeys(new)
    return sorted(places)


def _finish(plan: Plan) -> None:
    """Opens the worklist and marks the plan done."""
    if plan.worklist is not None:
        plan.worklist.state, plan.worklist.opened_at = Round.State.OPEN, timezone.now()
        plan.worklist.save(update_fields=["state", "opened_at"])
        tell_planner(plan.n_done)
    PLANS.finish(plan)


def take_back(plan: Plan) -> None:
    """Takes the worklist of a plan at work away again, a draft that nobody has seen; call it while the plan is held."""
    worklist = plan.worklist
    if worklist is None:
        return
    plan.worklist = None
    plan.save(update_fields=["worklist"])
    for rows in (Assignment, RoundItem, RoundRater):
        rows.objects.filter(round=worklist).delete()
    worklist.delete()
