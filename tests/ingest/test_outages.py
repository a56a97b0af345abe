"""Redis and Postgres taken away from a whole site at work; and runs that wait, which hold no worker."""

import signal
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import psutil
import pytest
from django.core.files.base import ContentFile
from django.db import connection
from django.utils import timezone

from ingest import runs
from ingest.actions.fetches import cancel_run, continue_run, start_fetch
from ingest.actions.uploads import start_file_fetch
from ingest.models import FetchRun, Issue
from tests import queued_jobs
from tests.github import GitHub, made_up
from tests.ingest.stored_rows import all_counts, rows_of
from tests.site import Site, wait_until

pytestmark = [pytest.mark.process, pytest.mark.worker, pytest.mark.timeout(300)]
BUSY = 3
"""How many times longer than promised something may take on a machine that has much else to do."""
CONTENTS = ("issues", "snapshots", "threads", "comments", "closing changes", "refusals", "staged")


def contents(cursor: Any) -> dict[str, list[Any]]:
    return rows_of(cursor, *CONTENTS)


@pytest.fixture(scope="module")
def running_site(github_server: GitHub, tmp_path_factory: Any) -> Iterator[Site]:
    site = Site(tmp_path_factory.mktemp("site") / "data", PICK_UP_SECONDS="5")
    yield site
    site.stop()


@pytest.fixture
def site(running_site: Site) -> Site:
    running_site.empty()
    return running_site


@pytest.fixture
def undisturbed(fetch: Any) -> Callable[[], tuple[dict[str, int], dict[str, list[Any]]]]:
    """Counts and rows of a fetch that nothing disturbs."""

    def undisturbed() -> tuple[dict[str, int], dict[str, list[Any]]]:
        run = fetch()
        assert (run.state, run.error) == ("done", "")
        with connection.cursor() as cursor:
            return all_counts(run), contents(cursor)

    return undisturbed


def at_request(github: GitHub, n: int, act: Callable[[], Any]) -> threading.Event:
    """Lets something happen before the n-th answer from now on; set when it has happened."""
    happened = threading.Event()
    ends_at = github.n_requests + n

    def look(asked: Any) -> None:
        if github.n_requests >= ends_at and not happened.is_set():
            happened.set()
            act()

    github.before_answer = look
    return happened


def counts_of(site: Site, run_id: int) -> dict[str, int]:
    names = [name for name in runs.COUNTS if name not in runs.SPENT]
    row = site.query(f"SELECT {', '.join(names)} FROM ingest_fetchrun WHERE id = %s", run_id)[0]
    return dict(zip(names, row, strict=True))


def test_redis_killed_in_the_middle_of_a_run_disturbs_neither_it_nor_those_after_it(site, github, undisturbed):
    made_up(github.world, "o/r", 260)
    wanted = undisturbed()
    valkey = site.valkey()
    killed = at_request(github, 4, valkey.kill)
    run = site.fetch("o/r")
    site.wait_for(run, "done", "failed")
    assert killed.is_set()
    assert (counts_of(site, run), site.looked_at(contents)) == wanted
    wait_until(lambda: site.processes("valkey-server"), "Valkey runs again")
    assert site.valkey().pid != valkey.pid
    again = site.fetch("o/r")
    site.wait_for(again, "done", "failed")
    assert counts_of(site, again)["n_unchanged"] == wanted[0]["n_new"]
    assert site.looked_at(contents) == wanted[1]
    assert site.query("SELECT n_claims FROM ingest_fetchrun ORDER BY id") == [(1,), (1,)]


def test_a_run_whose_message_was_lost_with_redis_is_picked_up(site, github, undisturbed):
    made_up(github.world, "o/r", 120)
    wanted = undisturbed()
    with site.workers_held():
        run = site.fetch("o/r")
        site.valkey().kill()
    wait_until(lambda: site.processes("valkey-server"), "Valkey runs again")
    assert site.state(run) == "queued"
    site.long_ago(run)
    site.wait_for(run, "done", "failed")
    assert (counts_of(site, run), site.looked_at(contents)) == wanted


def test_jobs_of_every_kind_whose_messages_were_lost_with_redis_are_picked_up(site):
    with site.workers_held():
        site.run("from tests.queued_jobs import queue_jobs; queue_jobs()")
        site.valkey().kill()
    wait_until(lambda: site.processes("valkey-server"), "Valkey runs again")

    def states() -> dict[str, str]:
        return {name: site.query(sql)[0][0] for name, sql in queued_jobs.QUEUED.items()}

    assert states() == dict.fromkeys(queued_jobs.QUEUED, "queued")
    for sql in queued_jobs.A_MINUTE_PASSES:
        site.query(sql)
    site.run(queued_jobs.PICK_UP)
    wait_until(lambda: set(states().values()) == {"done"}, "all jobs are done")


def test_a_run_started_while_redis_is_down_stays_queued_and_is_picked_up(site, github, undisturbed):
    made_up(github.world, "o/r", 120)
    wanted = undisturbed()
    keeper = site.servers_keeper()
    keeper.suspend()
    try:
        valkey = site.valkey()
        valkey.kill()
        run = site.fetch("o/r")
        assert site.state(run) == "queued"
    finally:
        keeper.resume()
    wait_until(lambda: site.processes("valkey-server"), "Valkey runs again")
    site.long_ago(run)
    site.wait_for(run, "done", "failed")
    assert (counts_of(site, run), site.looked_at(contents)) == wanted


def test_without_postgres_each_address_says_so_and_answers_again_when_it_is_back(site):
    keeper = site.servers_keeper()
    keeper.suspend()
    try:
        site.postmaster().send_signal(signal.SIGQUIT)
        status, said = wait_until(lambda: (answer := site.ask("fetches/"))[0] != 200 and answer, "Postgres is away")
        assert status == 503 and '"code":"unavailable"' in said.replace(" ", "")
        assert len(site.web()) == 3  # the one that listens and those that answer
    finally:
        keeper.resume()
    wait_until(lambda: site.ask("fetches/")[0] == 200, "the pages answer again")


def test_postgres_stopped_at_once_in_the_middle_of_a_run_leaves_a_run_that_is_taken_up_again(site, github, undisturbed):
    made_up(github.world, "o/r", 260)
    wanted = undisturbed()
    postmaster = site.postmaster()
    stopped = at_request(github, 4, lambda: postmaster.send_signal(signal.SIGQUIT))  # "immediate": as in a crash
    run = site.fetch("o/r")
    wait_until(stopped.is_set, "Postgres was stopped")
    postmaster.wait(30)
    wait_until(lambda: site.ask("fetches/")[0] == 200, "the pages answer again")
    site.wait_for(run, "done", "failed")
    assert (counts_of(site, run), site.looked_at(contents)) == wanted
    assert site.query("SELECT n_claims FROM ingest_fetchrun") == [(2,)]
    both = [site.fetch("o/r"), site.fetch("o/none")]
    site.wait_for(both[0], "done")
    site.wait_for(both[1], "failed")


@pytest.mark.parametrize("killed", ["the worker and its pool", "a process of the pool"])
def test_a_run_whose_process_was_killed_goes_on_within_fifteen_seconds(site, github, undisturbed, killed):
    made_up(github.world, "o/r", 260)
    wanted = undisturbed()

    def kill() -> None:
        workers = site.workers()
        for each in workers if killed == "the worker and its pool" else [asking(workers[1:])]:
            each.kill()
        at.append(time.monotonic())

    def asking(pool: list[psutil.Process]) -> psutil.Process:
        """The one that waits for the answer."""
        port = github.asked[-1].client_port
        return next(each for each in pool if port in {end.laddr.port for end in each.net_connections("inet")})

    at: list[float] = []
    at_request(github, 4, kill)
    run = site.fetch("o/r")
    wait_until(lambda: at, "it was killed")
    wait_until(lambda: site.query("SELECT n_claims FROM ingest_fetchrun") == [(2,)], "it goes on")
    seconds = time.monotonic() - at[0]
    print(f"{killed}: {seconds:.1f} s")
    assert seconds < 15 * BUSY
    site.wait_for(run, "done", "failed")
    assert (counts_of(site, run), site.looked_at(contents)) == wanted


@pytest.mark.soak
@pytest.mark.parametrize("n", range(1, 9))
def test_postgres_stopped_at_once_at_any_request_leaves_a_run_that_ends_like_an_undisturbed_one(
    site, github, undisturbed, n
):
    made_up(github.world, "o/r", 260)
    wanted = undisturbed()
    postmaster = site.postmaster()
    stopped = at_request(github, n, lambda: postmaster.send_signal(signal.SIGQUIT))
    run = site.fetch("o/r")
    wait_until(lambda: stopped.is_set() and not postmaster.is_running(), "Postgres was stopped")
    wait_until(lambda: site.ask("fetches/")[0] == 200, "the pages answer again")
    site.long_ago(run)
    site.wait_for(run, "done", "failed")
    assert (counts_of(site, run), site.looked_at(contents)) == wanted


# Runs that wait hold no worker: the worker of these tests has two threads.


def wait_for(run: FetchRun, *states: str) -> FetchRun:
    def reached() -> bool:
        run.refresh_from_db()
        return run.state in states

    wait_until(reached, f"{run} is {' or '.join(states)}")
    return run


def in_an_hour(github: GitHub) -> None:
    limit = github.limit()
    limit.remaining, limit.reset_at = 0, int(timezone.now().timestamp()) + 3600


@pytest.mark.django_db(transaction=True)
def test_runs_that_wait_for_an_hour_hold_no_worker(live_worker, github):
    for n in range(3):
        made_up(github.world, f"o/r{n}", 5)
    in_an_hour(github)
    waiting = [start_fetch(user=None, repository=f"o/r{n}") for n in range(3)]
    for run in waiting:
        wait_for(run, "waiting", "failed")
        assert 3500 < (run.waiting_until - timezone.now()).total_seconds() < 3700
    rows = b'{"number":1,"title":"a"}\n'
    other = start_file_fetch(user=None, private=False, file=ContentFile(rows, name="a.jsonl"), repository="o/file")
    wait_for(other, "done", "failed")
    assert (other.n_new, [wait_for(run, "waiting").n_claims for run in waiting]) == (1, [1, 1, 1])


@pytest.mark.django_db(transaction=True)
def test_a_waiting_run_is_cancelled_and_continued_by_its_user(live_worker, github):
    made_up(github.world, "o/r", 5)
    in_an_hour(github)
    run = wait_for(start_fetch(user=None, repository="o/r"), "waiting", "failed")
    cancel_run(run=run)
    assert runs.pick_up() == []
    github.limits.clear()
    continue_run(run=run)
    assert (wait_for(run, "done", "failed").error, run.n_new) == ("", 5)


@pytest.mark.django_db(transaction=True)
def test_a_running_run_is_cancelled_and_continued_by_its_user(live_worker, github):
    made_up(github.world, "o/r", 260)
    go_on = threading.Event()
    reached = at_request(github, 4, lambda: go_on.wait(30))
    run = start_fetch(user=None, repository="o/r")
    assert reached.wait(30)
    cancel_run(run=run)
    n_before = Issue.objects.count()
    go_on.set()
    other = start_fetch(user=None, repository="o/none")
    wait_for(other, "failed")  # the worker is free again
    run.refresh_from_db()
    assert (run.state, Issue.objects.count()) == ("cancelled", n_before)
    continue_run(run=run)
    wait_for(run, "done", "failed")
    assert (run.error, run.n_new, run.n_seen) == ("", Issue.objects.count(), Issue.objects.count())


@pytest.mark.django_db(transaction=True)
def test_two_runs_of_one_repository_work_one_after_the_other(live_worker, github):
    made_up(github.world, "o/r", 260)
    go_on = threading.Event()
    reached = at_request(github, 3, lambda: go_on.wait(30))
    first = start_fetch(user=None, repository="o/r")
    assert reached.wait(30)
    second = start_fetch(user=None, repository="O/R")
    between = start_file_fetch(
        user=None, private=False, file=ContentFile(b'{"number":1}\n', name="a.jsonl"), repository="o/file"
    )
    wait_for(between, "done", "failed")
    second.refresh_from_db()
    assert second.state == "queued"
    go_on.set()
    for run in (first, second):
        assert wait_for(run, "done", "failed").error == ""
    assert second.started_at >= first.finished_at
    assert (second.n_new, second.n_unchanged) == (0, first.n_new)
