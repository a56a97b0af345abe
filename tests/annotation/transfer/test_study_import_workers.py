"""A study comes or leaves whole while its worker is killed (-9): nothing half-made is seen, nothing comes twice."""

import io
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import psycopg2
import pytest
from celery import current_app
from django.core.files.base import ContentFile
from django.db import connection

from accounts.jobs import sweep_jobs
from accounts.models import User
from annotation.core.access import get_whole_study
from annotation.exports.actions import request_export
from annotation.models import Arrival, Rating, Study
from annotation.transfer.actions import study_import
from annotation.transfer.queries import rows as study_rows
from annotation.transfer.study_file import open_study
from ingest.models import Issue
from shared.job_holds import JobLockKind
from tests import builders as make
from tests.annotation.exports.test_export_workers import files
from tests.annotation.transfer.test_study_export import files_of, written
from tests.conftest import BASE_DIR, environment_of_servers
from tests.kill_harness import COMMIT, MOMENT, STATEMENT, Forks, KillPoint

pytestmark = [
    pytest.mark.process,
    pytest.mark.worker,
    pytest.mark.django_db(transaction=True),
    pytest.mark.timeout(240),
]
QUEUE = "killed"
WAIT_SECONDS = 90


def until(condition: Callable[[], Any], what: str) -> None:
    ends_at = time.monotonic() + WAIT_SECONDS
    while not condition():
        assert time.monotonic() < ends_at, f"not within {WAIT_SECONDS} seconds: {what}"
        time.sleep(0.05)


@pytest.fixture
def study() -> Study:
    made = make.study()
    table = [f"{n} {'hang' if n % 2 else 'crash'} {'hang' if n % 3 else 'slow'}" for n in range(1, 13)]
    make.rate(make.open_round(made, 12), "\n".join(["item bob carol", *table]))
    return made


def arrival_of(study: Study, slug: str = "again") -> Arrival:
    file = ContentFile(written(get_whole_study(study.slug), "study"), "study.zip")
    return study_import.take_study(user=make.user("nina"), file=file, slug=slug, send=False)


@contextmanager
def worker(log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A real worker that takes what is sent to a queue of its own, so that no other one takes it."""
    command = [sys.executable, "-m", "celery", "-A", "config", "worker", "--pool", "threads", "--concurrency", "2"]
    with log.open("wb") as said:
        process = subprocess.Popen(
            [*command, "-Q", QUEUE, "--loglevel", "INFO", "--without-gossip", "--without-mingle"],
            cwd=BASE_DIR, env=environment_of_servers(), stdout=said, stderr=said, start_new_session=True,
        )  # fmt: skip
    try:
        until(lambda: b" ready." in log.read_bytes(), "the worker is ready")
        yield process
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@contextmanager
def standing_before(table: str) -> Iterator[Callable[[], int]]:
    """Whoever reads or writes the table waits until the block is left; how many do."""
    place = environment_of_servers()["DATABASE_URL"]
    with closing(psycopg2.connect(place)) as side, side.cursor() as cursor:
        cursor.execute(f"LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE")

        def waiting() -> int:
            cursor.execute("SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = %s::regclass", [table])
            (found,) = cursor.fetchone()
            return int(found)

        yield waiting
        side.rollback()


def someone_holds(locks: int) -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND classid = %s)", [locks])
        return bool(cursor.fetchone()[0])


def a_minute_passes() -> None:
    with connection.cursor() as cursor:
        for table in ("annotation_arrival", "annotation_export"):
            cursor.execute(f"UPDATE {table} SET worked_at = worked_at - interval '61 s' WHERE done_at IS NULL")


def test_a_worker_that_is_killed_between_leaves_nothing_and_another_one_brings_both_to_an_end(
    live_worker: object, study: Study, tmp_path: Path
) -> None:
    before, n_ratings, n_issues = files_of(study), Rating.objects.count(), Issue.objects.count()
    arrival, stored = arrival_of(study), files()
    export = request_export(seat=make.owner_seat(study), what="study", send=False)
    n_people = User.objects.count()
    with worker(tmp_path / "worker.log") as process, standing_before("annotation_rating") as n_waiting:
        current_app.send_task(study_import.ARRIVALS.task, args=[arrival.pk], queue=QUEUE)
        current_app.send_task("annotation.tasks.make_export", args=[export.pk], queue=QUEUE)
        until(lambda: n_waiting() == 2, "both jobs stand in the middle")
        assert not Study.objects.filter(slug="again").exists() and User.objects.count() == n_people
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    export.refresh_from_db()
    arrival.refresh_from_db()
    assert (arrival.state, arrival.n_attempts, arrival.study) == ("running", 1, None)
    assert (export.state, export.n_claims, export.file.name) == ("running", 1, "") and files() == stored
    assert not Study.objects.filter(slug="again").exists() and User.objects.count() == n_people

    until(lambda: not someone_holds(JobLockKind.ARRIVAL), "the database knows that the worker is dead")
    a_minute_passes()
    sweep_jobs()

    def both_are_done() -> bool:
        arrival.refresh_from_db()
        export.refresh_from_db()
        return (arrival.state, export.state) == ("done", "done")

    until(both_are_done, "both are done")
    assert arrival.n_attempts == 2 and Study.objects.count() == 2
    assert files_of(Study.objects.get(slug="again")) == before
    assert (Rating.objects.count(), Issue.objects.count()) == (2 * n_ratings, n_issues)
    assert User.objects.exclude(elsewhere="").count() == arrival.report["people"] == User.objects.count() - n_people
    assert files() - stored == {export.file.name}
    with export.file.open("rb") as file:
        opened = open_study(io.BytesIO(file.read()), study_import.table_names())
    assert list(opened.check()) and opened.tables["rating"].rows == n_ratings


@pytest.fixture(scope="module")
def forks(django_db_setup: None) -> Iterator[Forks]:
    with Forks(environment_of_servers()) as forks:
        yield forks


def killed_and_whole_in_the_end(forks: Forks, study: Study, seed: int) -> int:
    """A study comes undisturbed, and once more with workers that die; how many died."""
    draw, before = random.Random(seed), files_of(study)
    undisturbed = arrival_of(study, "undisturbed")
    passed = forks.work("arrival", undisturbed.pk, count=True).passed
    n_rows = study_rows.counts(Study.objects.get(slug="undisturbed"))
    arrival, n_killed, n_people = arrival_of(study), 0, User.objects.count()
    for place in draw.choices((STATEMENT, COMMIT, MOMENT), k=study_import.ARRIVALS.tries_most - 2):
        n = draw.uniform(0, passed[place])
        dead = forks.work(
            "arrival", arrival.pk, kill_point=KillPoint(place, n if place == MOMENT else max(1, round(n)))
        )
        n_killed += dead.killed
        arrival.refresh_from_db()
        is_there = Study.objects.filter(slug="again").exists()
        assert is_there == (arrival.state == "done") and (is_there or User.objects.count() == n_people)
    forks.work("arrival", arrival.pk)
    forks.work("arrival", arrival.pk)
    arrival.refresh_from_db()
    assert arrival.state == "done" and Study.objects.count() == 3
    assert files_of(Study.objects.get(slug="again")) == before
    assert study_rows.counts(Study.objects.get(slug="again")) == n_rows
    return n_killed


def test_a_study_whose_workers_are_killed_comes_whole_and_once(forks: Forks, study: Study) -> None:
    assert killed_and_whole_in_the_end(forks, study, seed=1) > 0


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(100, 125))
def test_a_study_whose_workers_are_killed_anywhere_comes_whole_and_once(forks: Forks, study: Study, seed: int) -> None:
    killed_and_whole_in_the_end(forks, study, seed)
