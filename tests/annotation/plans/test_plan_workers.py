"""Plans run by real workers: through the broker, and killed (-9) anywhere."""

import os
import random
import time
from collections.abc import Iterator
from typing import Any

import pytest

from accounts.jobs import sweep_jobs
from annotation.models import Assignment, Plan, RoundItem, RoundRater, Study
from annotation.plans.actions import preview_plan, run_plan, undo_plan
from tests import builders as make
from tests.annotation.plans.test_plans import SECOND
from tests.conftest import environment_of_servers
from tests.kill_harness import COMMIT, MOMENT, STATEMENT, Forks, KillPoint

pytestmark = [pytest.mark.process, pytest.mark.worker, pytest.mark.django_db(transaction=True)]
N_SEEDS = int(os.environ.get("SEEDS", "100"))
N_ITEMS = 24
DEATHS_MOST = 8


@pytest.fixture
def study() -> Study:
    """A study whose labels half follow and half can't."""
    made = make.study()
    round_ = make.open_round(made, N_ITEMS)
    table = [f"{n} {'hang' if n % 2 else 'crash'} {'hang' if n % 3 else 'slow'}" for n in range(1, N_ITEMS + 1)]
    make.rate(round_, "\n".join(["item bob carol", *table]))
    make.next_version(made, SECOND)
    return made


def queued(study: Study, *, send: bool = True) -> Plan:
    return run_plan(seat=make.owner_seat(study), plan=preview_plan(seat=make.owner_seat(study), to=2), send=send)


def wait_for(plan: Plan, state: str) -> Plan:
    ends_at = time.monotonic() + 120
    while plan.state != state:
        assert time.monotonic() < ends_at, f"still {plan.state}"
        time.sleep(0.05)
        plan.refresh_from_db()
    return plan


def given_out(plan: Plan) -> dict[str, list[Any]]:
    """All rows of a worklist without their keys."""
    of_round = {"round": plan.worklist_id}
    items = RoundItem.objects.filter(**of_round).order_by("position")
    assignments = Assignment.objects.filter(**of_round).order_by("rater", "position")
    raters = RoundRater.objects.filter(**of_round).order_by("rater")
    return {
        "items": list(items.values_list("item", "position", "n_raters", "n_free", "asked")),
        "assignments": list(assignments.values_list("item", "rater", "slot", "state", "position")),
        "raters": list(raters.values_list("rater", "n_assigned", "n_finished")),
        "plan": [(plan.state, plan.n_done, plan.n_total)],
    }


def test_a_worker_runs_a_plan(live_worker: object, study: Study) -> None:
    plan = wait_for(queued(study), "done")
    assert plan.worklist is not None and plan.worklist.state == "open"
    assert len(given_out(plan)["items"]) == plan.n_total == plan.n_done


def test_the_clock_sends_a_plan_whose_message_was_lost(live_worker: object, study: Study) -> None:
    plan = preview_plan(seat=make.owner_seat(study), to=2)
    Plan.objects.filter(pk=plan.pk).update(
        state="queued", run_by=study.created_by, worked_at=plan.created_at.replace(year=2020)
    )
    sweep_jobs.delay()
    wait_for(plan, "done")


@pytest.fixture(scope="module")
def forks(django_db_setup: None) -> Iterator[Forks]:
    with Forks(environment_of_servers()) as forks:
        yield forks


def undisturbed_and_killed(forks: Forks, study: Study, seed: int) -> int:
    """Runs a plan undisturbed and, undone, again with workers that die; how many died."""
    draw = random.Random(seed)
    plan = queued(study, send=False)
    passed = forks.work("plan", plan.pk, count=True).passed
    plan.refresh_from_db()
    wanted = given_out(plan)
    undo_plan(seat=make.owner_seat(study), plan=plan)
    plan, n_killed = queued(study, send=False), 0
    for place in (STATEMENT, COMMIT, *draw.choices((STATEMENT, COMMIT, MOMENT), k=DEATHS_MOST), None):
        n = draw.uniform(0, passed[place]) if place else 0.0
        kill_point = KillPoint(place, n if place == MOMENT else max(1, round(n))) if place else None
        n_killed += forks.work("plan", plan.pk, kill_point=kill_point).killed
    plan.refresh_from_db()
    assert given_out(plan) == wanted
    return n_killed


def test_a_plan_whose_workers_are_killed_gives_out_what_an_undisturbed_one_does(forks: Forks, study: Study) -> None:
    assert undisturbed_and_killed(forks, study, seed=1) > 0


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(-(-N_SEEDS // 4)))
def test_a_plan_whose_workers_are_killed_anywhere_gives_out_the_same(forks: Forks, study: Study, seed: int) -> None:
    undisturbed_and_killed(forks, study, seed)
