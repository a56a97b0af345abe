"""Fetches by real workers: through the broker, and killed in the middle."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from django.db import connection

from ingest import runs
from ingest.actions import start_fetch, start_file_fetch
from ingest.models import Comment, FetchRun, Issue, Snapshot, StagedComment
from tests.github import made_up
from tests.ingest.looking import counts, stored

pytestmark = [pytest.mark.worker, pytest.mark.django_db(transaction=True)]
BASE_DIR = Path(__file__).resolve().parents[2]
WORK = "import sys, django; django.setup(); from ingest import sync; sync.work(int(sys.argv[1]))"


def wait_for(run: FetchRun, *states: str) -> FetchRun:
    ends_at = time.monotonic() + 30
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
    from django.core.files.base import ContentFile

    content = b'{"number":1,"title":"a"}\n{bad\n'
    run = start_file_fetch(user=None, file=ContentFile(content, name="a.jsonl"), repository="o/r")
    run = wait_for(run, "done", "failed")
    assert (run.error, counts(run)) == ("", (2, 1, 0, 0, 1))


def test_a_worker_says_what_is_wrong_and_goes_on_when_it_is_due(live_worker, world, github):
    from ingest.tasks import pick_up_runs

    made_up(world, "o/r", 120)
    github.fault("cut", "/issues", skip=1)
    run = wait_for(start_fetch(user=None, repository="o/r"), "waiting", "done", "failed")
    assert (run.state, "connection to GitHub broke" in run.error) == ("waiting", True)
    FetchRun.objects.filter(pk=run.pk).update(waiting_until=run.created_at)
    pick_up_runs.delay()
    assert wait_for(run, "done", "failed").error == ""


def worker_for(run: FetchRun) -> "subprocess.Popen[bytes]":
    """A process of its own that works on one run of the test database."""
    place = connection.settings_dict
    address = f"postgresql://{quote(place['USER'])}@/{place['NAME']}?host={quote(place['HOST'])}"
    environment = {**os.environ, "DATABASE_URL": address}
    return subprocess.Popen([sys.executable, "-c", WORK, str(run.pk)], cwd=BASE_DIR, env=environment)


def kill_until_done(run: FetchRun, github: Any, seed: int) -> int:
    """Kills the worker of a run (-9) after a random number of requests, until it gets to the end; how often."""
    random_ = random.Random(seed)
    n_kills = 0
    while True:
        ends_after = github.n_requests + random_.randint(1, 4)
        worker = worker_for(run)
        while worker.poll() is None and github.n_requests < ends_after:
            time.sleep(0.001)
        time.sleep(random_.random() * 0.03)
        worker.send_signal(signal.SIGKILL)
        worker.wait()
        run.refresh_from_db()
        if run.state != "running":
            return n_kills
        n_kills += 1
        assert n_kills < 60, "it never gets to the end"
        FetchRun.objects.filter(pk=run.pk).update(heartbeat_at="2020-01-01T00:00:00Z")
        assert runs.pick_up() == [run.pk]


def undisturbed_and_killed(world: Any, github: Any, seed: int, n_issues: int) -> None:
    repository = made_up(world, "o/undisturbed", n_issues)
    plain = start_fetch(user=None, repository="o/undisturbed", send=False)
    worker_for(plain).wait()
    plain.refresh_from_db()
    assert (plain.state, plain.error) == ("done", "")
    wanted = {key.partition("#")[2]: value for key, value in stored().items()}
    n_comments = Comment.objects.count()

    repository.name = "killed"
    repository.id = world.next_id()
    run = start_fetch(user=None, repository="o/killed", send=False)
    n_kills = kill_until_done(run, github, seed)
    assert (run.state, run.error) == ("done", "")
    found = {key.partition("#")[2]: value for key, value in stored().items() if key.startswith("o/killed#")}
    assert found == wanted
    assert counts(run) == counts(plain)
    assert (run.n_pull_requests, run.n_comments) == (plain.n_pull_requests, plain.n_comments)
    assert Snapshot.objects.count() == 2 * len(wanted) == Issue.objects.count()
    assert Comment.objects.count() == n_comments
    assert not StagedComment.objects.exists()
    assert n_kills > 0


def test_a_run_whose_worker_is_killed_ends_like_an_undisturbed_one(world, github):
    undisturbed_and_killed(world, github, seed=1, n_issues=260)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(int(os.environ.get("N", "100"))))
@pytest.mark.timeout(600)
def test_a_run_whose_worker_is_killed_at_many_places_ends_like_an_undisturbed_one(world, github, seed):
    undisturbed_and_killed(world, github, seed=seed, n_issues=700)
