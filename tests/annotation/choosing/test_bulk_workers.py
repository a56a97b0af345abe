"""Large samples and rounds by real workers: through the broker, and killed (-9) anywhere."""

import os
import random
import time
from collections.abc import Callable, Iterator

import pytest
from django.db.models import Count

from annotation.assignments import queries as assignment_queries
from annotation.choosing.actions import batches as draw_batches
from annotation.choosing.actions import samples as sample_actions
from annotation.models import Assignment, BulkJob, Round, RoundItem, RoundRater, SampleIssue, Study
from annotation.rounds.actions import raters, rounds
from tests import builders as make
from tests.annotation.choosing.test_bulk import all_rows
from tests.conftest import environment_of_servers
from tests.kill_harness import COMMIT, MOMENT, STATEMENT, Forks, KillPoint

pytestmark = [pytest.mark.process, pytest.mark.worker, pytest.mark.django_db(transaction=True)]
N_SEEDS = int(os.environ.get("SEEDS", "100"))
DEATHS_MOST = 6


@pytest.fixture(autouse=True)
def large(monkeypatch: pytest.MonkeyPatch) -> None:
    """From six issues or items on a job writes them."""
    monkeypatch.setattr(draw_batches, "JOB_FROM", 5)
    monkeypatch.setattr(assignment_queries, "JOB_FROM", 5)


RATERS = ("bob", "carol", "dan", "eve")


@pytest.fixture
def study() -> Study:
    made = make.study(raters=RATERS)
    make.issues(40)
    return made


def steps(study: Study) -> list[Callable[[], object]]:
    """What queues a job: a sample, its round, the opening, raters who leave, and one who comes.

    Each item of a rater who leaves has one other rater who can take it, or none.
    """
    seat = make.owner_seat(study)
    return [
        lambda: sample_actions.draw_sample(
            seat=seat, size=30, stratify_by="state", filter={"repository": "acme/rocket"}
        ),
        lambda: rounds.create_round(
            seat=seat, asked=rounds.NewRound(sample=study.samples.get().pk, raters=RATERS[:3], n_items=24)
        ),
        lambda: rounds.open_round(seat=seat, number=1, unregistered=True),
        lambda: raters.withdraw_rater(seat=seat, number=1, rater="R1"),
        lambda: raters.withdraw_rater(seat=seat, number=1, rater="R2"),
        lambda: raters.add_rater(seat=seat, number=1, user="eve"),
    ]


def test_a_worker_prepares_opens_and_reassigns_a_round(live_worker: object, study: Study) -> None:
    for step in steps(study):
        step()
        ends_at = time.monotonic() + 120
        while BulkJob.objects.filter(state__in=BulkJob.AT_WORK).exists():
            assert time.monotonic() < ends_at
            time.sleep(0.05)
    held = Assignment.objects.exclude(state="withdrawn").values_list("rater__code").annotate(n=Count("pk"))
    assert Round.objects.get().state == "open" and dict(held) == {"R3": 24, "R4": 24}
    assert RoundRater.objects.filter(left_at__isnull=False).count() == 2


@pytest.fixture(scope="module")
def forks(django_db_setup: None) -> Iterator[Forks]:
    with Forks(environment_of_servers()) as forks:
        yield forks


def killed_at(forks: Forks, study: Study, seed: int) -> int:
    """Does every step with workers that die until one does not; how many died."""
    draw, n_killed = random.Random(seed), 0
    for step in steps(study):
        step()
        job = BulkJob.objects.get(state="queued")
        for place in (STATEMENT, COMMIT, *draw.choices((STATEMENT, COMMIT, MOMENT), k=DEATHS_MOST), None):
            n = draw.uniform(0, 0.3) if place == MOMENT else draw.randint(1, 12 if place == STATEMENT else 3)
            n_killed += forks.work("bulk", job.pk, kill_point=KillPoint(place, n) if place else None).killed
        job.refresh_from_db()
        assert job.state == "done", job.error
    return n_killed


def undisturbed_and_killed(forks: Forks, seed: int) -> int:
    made = []
    for slug in ("whole", "killed"):
        made.append(make.study(slug, text=make.SYMPTOMS.replace("slug: symptoms", f"slug: {slug}"), raters=RATERS))
    for step in steps(made[0]):
        step()
        forks.work("bulk", BulkJob.objects.get(state="queued").pk)
    n_killed = killed_at(forks, made[1], seed)
    assert all_rows(made[1]) == all_rows(made[0])
    assert SampleIssue.objects.count() == 60 and RoundItem.objects.count() == 48 and RoundRater.objects.count() == 8
    return n_killed


def test_workers_that_are_killed_write_what_an_undisturbed_one_does(forks: Forks) -> None:
    make.user("olga")
    make.issues(40)
    assert undisturbed_and_killed(forks, seed=1) > 2


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(-(-N_SEEDS // 4)))
def test_workers_that_are_killed_anywhere_write_the_same(forks: Forks, seed: int) -> None:
    make.user("olga")
    make.issues(40)
    undisturbed_and_killed(forks, seed)
