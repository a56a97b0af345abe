"""Fetches by real workers: through the broker, and killed anywhere."""

import json
import os
import random
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from django.core.files.base import ContentFile

from ingest import run_steps, runs
from ingest.actions.fetches import continue_run, start_fetch
from ingest.actions.uploads import start_file_fetch
from ingest.models import FetchRun, SearchText, Unsearchable
from ingest.search import indexing
from tests.conftest import environment_of_servers
from tests.github import GitHub, World, made_up
from tests.ingest.run_kinds import BY_GRAPHQL, WAYS, Case, Way, rows, whole
from tests.ingest.stored_rows import all_counts, counts, empty_tables, everything
from tests.kill_harness import CALL, COMMIT, MOMENT, PLACES, READING, STATEMENT, Forks, KillPoint, Report

pytestmark = [pytest.mark.process, pytest.mark.worker, pytest.mark.django_db(transaction=True)]
LONG_AGO = "2020-01-01T00:00:00Z"
N_SEEDS = int(os.environ.get("SEEDS", "100"))
DEATHS_MOST = 12
INDEXERS_MOST = 40


def wait_for(run: FetchRun, *states: str) -> FetchRun:
    ends_at = time.monotonic() + 120
    while run.state not in states:
        assert time.monotonic() < ends_at, f"still {run.state}: {run.error}"
        time.sleep(0.05)
        run.refresh_from_db()
    return run


def test_a_worker_fetches_a_repository(live_worker, world):
    repository = made_up(world, "o/r", 250)
    run = wait_for(start_fetch(user=None, repository="o/r"), "done", "failed")
    n_issues = sum(not issue.is_pull_request for issue in repository.issues.values())
    assert (run.error, counts(run)) == ("", (n_issues, n_issues, 0, 0, 0))


def test_a_worker_takes_in_a_file(live_worker):
    content = b'{"number":1,"title":"a"}\n{bad\n'
    run = start_file_fetch(user=None, private=False, file=ContentFile(content, name="a.jsonl"), repository="o/r")
    run = wait_for(run, "done", "failed")
    assert (run.error, counts(run)) == ("", (2, 1, 0, 0, 1))


def test_a_worker_says_what_is_wrong_and_goes_on_when_it_is_due(live_worker, world, github):
    from accounts.jobs import sweep_jobs

    made_up(world, "o/r", 120)
    github.fault("cut", "/issues", skip=1)
    run = wait_for(start_fetch(user=None, repository="o/r"), "waiting", "done", "failed")
    assert (run.state, "connection to GitHub broke" in run.error) == ("waiting", True)
    FetchRun.objects.filter(pk=run.pk).update(waiting_until=run.created_at)
    sweep_jobs.delay()
    assert wait_for(run, "done", "failed").error == ""


# Killed anywhere: each way of a run, undisturbed and killed again and again, must leave the same rows behind.


@pytest.fixture(scope="module")
def forks(django_db_setup: None, github_server: GitHub) -> Iterator[Forks]:
    with Forks(environment_of_servers()) as forks:
        yield forks


@pytest.fixture
def deaths(forks: Forks, github: GitHub, settings: Any) -> Callable[[str, int], list[Report]]:
    """Does a run in a way undisturbed, then killed at places drawn by seed; how the workers ended."""

    def deaths(name: str, seed: int) -> list[Report]:
        way = WAYS[name]
        settings.GITHUB_TOKENS = list(way.tokens)
        began = datetime.now(UTC).replace(microsecond=0)
        runs_done, found = [], []
        reports: list[Report] = []
        passed: dict[str, float] = {}
        for disturbed in (False, True):
            empty_tables()
            github.world = World()
            run = way.prepare(Case(github, began, way.n_issues))
            n_before = github.n_requests
            if disturbed:
                reports = killed_until_done(forks, run, way, passed, random.Random(seed))
            else:
                passed = forks.work("work", run.pk, count=True, GITHUB_TOKENS=list(way.tokens)).passed
            run.refresh_from_db()
            assert (run.state, run.error) == ("done", ""), run.error
            assert run.n_requests <= github.n_requests - n_before
            runs_done.append(all_counts(run))
            found.append(everything())
        for table_name, wanted in found[0].items():
            assert found[1][table_name] == wanted, table_name
        assert found[0]["staged"] == found[0]["unsearchable"] == found[0]["unread messages"] == []
        assert runs_done[1] == runs_done[0]
        return reports

    return deaths


def killed_until_done(
    forks: Forks, run: FetchRun, way: Way, passed: dict[str, float], draw: random.Random
) -> list[Report]:
    """Lets workers die on a run until one gets to its end.

    The first dies in a transaction, the second right after one, the third while it reads.
    """
    reports: list[Report] = []
    for place in (STATEMENT, COMMIT, READING, *draw.choices(PLACES, k=DEATHS_MOST), None):
        n = draw.uniform(0, passed[place] / 2) if place else 0
        kill_point = KillPoint(place, max(1, round(n)) if place != MOMENT else n) if place else None
        reports.append(forks.work("work", run.pk, kill_point=kill_point, GITHUB_TOKENS=list(way.tokens)))
        run.refresh_from_db()
        if run.is_over:
            return reports
        FetchRun.objects.filter(pk=run.pk).update(heartbeat_at=LONG_AGO)
        runs.pick_up()
        run.refresh_from_db()
        if run.state == FetchRun.State.FAILED:
            assert "stopped several times" in run.error
            continue_run(run=run, send=False)
    raise AssertionError(f"it is {run.state} after all: {run.error}")


def cases() -> list[Any]:
    return [pytest.param(name, marks=[pytest.mark.github] if name in BY_GRAPHQL else []) for name in WAYS]


def seeded_cases() -> list[Any]:
    """Whole fetches with N_SEEDS seeds, the other ways with a tenth of them."""
    found = []
    for case in cases():
        n_seeds = N_SEEDS if WAYS[case.values[0]].prepare is whole else -(-N_SEEDS // 10)
        found += [pytest.param(*case.values, seed, marks=case.marks) for seed in range(n_seeds)]
    return found


@pytest.mark.parametrize("name", cases())
def test_a_run_whose_workers_are_killed_ends_like_an_undisturbed_one(deaths, name):
    reports = deaths(name, seed=1)
    assert [report.killed for report in reports[:2]] == [True, True]
    assert reports[0].in_transaction


@pytest.mark.soak
@pytest.mark.parametrize(("name", "seed"), seeded_cases())
def test_a_run_whose_workers_are_killed_anywhere_ends_like_an_undisturbed_one(deaths, name, seed):
    died = [report for report in deaths(name, seed) if report.killed]
    print(f"{name}, {seed}: {len(died)} died, {sum(report.in_transaction for report in died)} in a transaction")
    assert died


def index_killed(forks: Forks, draw: random.Random) -> int:
    """Lets indexers work until nothing waits any more, and the first INDEXERS_MOST die; how many died."""
    n_killed = n_indexers = 0
    while Unsearchable.objects.exists():
        n_indexers += 1
        place = draw.choice((STATEMENT, CALL, MOMENT))
        n = {STATEMENT: draw.randint(1, 10), CALL: draw.randint(1, 2000), MOMENT: draw.uniform(0, 0.3)}[place]
        kill_point = KillPoint(place, n) if n_indexers <= INDEXERS_MOST else None
        n_killed += forks.work("index", kill_point=kill_point).killed
    return n_killed


def index_undisturbed_and_killed(forks: Forks, seed: int) -> None:
    content = "\n".join(map(json.dumps, rows(2500))).encode()
    run = start_file_fetch(
        user=None, private=False, file=ContentFile(content, name="a.jsonl"), repository="o/r", send=False
    )
    run_steps.work(run.pk)
    assert index_killed(forks, random.Random(seed)) > 0
    killed = list(SearchText.objects.order_by("pk").values_list("pk", "lexemes", "body"))
    SearchText.objects.all().delete()
    Unsearchable.objects.bulk_create(Unsearchable(issue_id=pk) for pk, *_ in killed)
    indexing.index()
    assert killed == list(SearchText.objects.order_by("pk").values_list("pk", "lexemes", "body"))
    assert len(killed) == 2500


def test_indexers_that_are_killed_leave_the_index_of_an_undisturbed_one(forks):
    index_undisturbed_and_killed(forks, seed=1)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(-(-N_SEEDS // 10)))
def test_indexers_that_are_killed_anywhere_leave_the_index_of_an_undisturbed_one(forks, seed):
    index_undisturbed_and_killed(forks, seed)
