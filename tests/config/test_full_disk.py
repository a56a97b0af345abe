"""A disk that fills up under a whole site: labeling has the last room, the rest stops in words, and nothing is lost."""

import json
import os
import shutil
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import psycopg2
import pytest
from django.core.files.base import ContentFile
from django.db import OperationalError
from django.test import Client
from pytest_django.fixtures import Settings

from annotation.core.errors import ConcordError
from annotation.exports import jobs as export_jobs
from annotation.exports.actions import request_export
from config import outages, shell
from ingest import run_steps, runs
from ingest.actions.uploads import start_file_fetch
from ingest.models import FetchRun, SearchText
from ingest.search import indexing
from shared import disk_space
from tests import builders as make
from tests.site import Site, wait_until

MEGABYTE = 1 << 20
SIZE, RESERVE = 420, 120
"""In megabytes: of the disk, and of what is kept for labeling; PostgreSQL starts with some 140."""
STUDY = """
from accounts.actions import make_token
from tests import builders as make
study = make.study()
make.open_round(study, 40)
print(make_token(user=make.user("bob"), name="rater", scope="rate")[1])
"""


@pytest.fixture
def short(settings: Settings) -> Iterator[None]:
    """As if the disk had only its reserve left."""
    settings.DISK_RESERVE_BYTES = 1 << 60
    disk_space.forget()
    yield
    settings.DISK_RESERVE_BYTES = 0
    disk_space.forget()


@pytest.mark.parametrize(
    ("total", "reserve"), [(10 << 40, 500 * MEGABYTE), (10 << 30, (10 << 30) // 50), (1 << 30, 64 * MEGABYTE)]
)
def test_the_reserve_is_a_share_of_the_disk_within_bounds(total: int, reserve: int) -> None:
    assert disk_space.reserve(total) == reserve


@pytest.mark.django_db
def test_imports_exports_and_the_index_stop_and_labeling_goes_on(settings: Settings, short: None) -> None:
    settings.DISK_RESERVE_BYTES = 0
    disk_space.forget()
    study = make.study()
    round_ = make.open_round(study, 1)
    rows = ContentFile(b'{"number":1,"title":"a"}\n', name="a.jsonl")
    run = start_file_fetch(user=None, private=False, file=rows, repository="o/file", send=False)
    export = request_export(seat=make.owner_seat(study), what="ratings", format="csv", send=False)
    settings.DISK_RESERVE_BYTES = 1 << 60
    disk_space.forget()

    run_steps.work(run.pk)
    export_jobs.work(export.pk)
    run.refresh_from_db()
    export.refresh_from_db()
    words = "The server's disk is almost full, and the rest is reserved for labeling."
    assert (run.state, run.n_failures) == ("waiting", 0) and run.error.startswith(words)
    assert export.state == "failed" and export.error.startswith(words)
    assert indexing.index() == 0 and not SearchText.objects.exists()
    with pytest.raises(disk_space.NoRoom):
        start_file_fetch(user=None, private=False, file=rows, repository="o/file", send=False)
    make.rate(round_, "item bob carol\n1 crash hang")
    answer = Client().get("/readyz")
    assert (answer.status_code, answer.json()["disk"]) == (503, "almost full")
    staff = Client()
    staff.force_login(make.user("stan", staff=True))
    assert "are kept for labeling" in staff.get("/operations/").content.decode()

    settings.DISK_RESERVE_BYTES = 0
    disk_space.forget()
    FetchRun.objects.update(waiting_until=run.created_at)
    assert runs.pick_up() == [run.pk]
    run_steps.work(run.pk)
    assert indexing.index() > 0
    run.refresh_from_db()
    assert (run.state, run.n_new) == ("done", 1)


def test_a_command_that_meets_a_full_disk_says_so_in_a_sentence() -> None:
    assert issubclass(disk_space.NoRoom, ConcordError)
    for error in (OSError(28, "No space left on device"), outages_full()):
        assert "The disk is full. Your saved work is safe." in str(shell._sentence_for(error))
    assert shell._sentence_for(ValueError("x")) is None


def outages_full() -> Exception:
    error, cause = OperationalError("x"), Exception()
    cause.pgcode = "53100"  # type: ignore[attr-defined]
    error.__cause__ = cause
    assert outages.outage_of(error) is outages.DATABASE_FULL
    return error


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    place = tmp_path / "disk"
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={SIZE}m", "tmpfs", str(place)]
    done = subprocess.run(command, check=False, capture_output=True, text=True) if shutil.which("mount") else None
    if done is None or done.returncode:
        pytest.skip(f"A file system of its own can't be mounted here: {done.stderr.strip() if done else 'no mount'}")
    yield place
    subprocess.run(["umount", "--lazy", str(place)], check=True)


def fill(disk: Path, n_left: int) -> None:
    """Takes all room but so many megabytes; none of them for n_left=0."""
    n_bytes = shutil.disk_usage(disk).free - n_left * MEGABYTE
    with (disk / f"filler-{n_left}").open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, n_bytes)


@pytest.mark.process
@pytest.mark.timeout(400)
def test_the_last_room_is_for_labeling_and_a_full_disk_loses_nothing(disk: Path) -> None:
    site = Site(disk / "data", DISK_RESERVE_MEGABYTES=str(RESERVE))
    try:
        token = site.run(STUDY)
        rater = Rater(site, token)
        issues = disk.parent / "issues.jsonl"
        issues.write_text("".join(json.dumps({"number": n, "title": "t" * 100}) + "\n" for n in range(1, 2000)))
        (beat,) = site.clock()[:1]
        assert rater.label() == 201
        wait_until((disk / "data/beat-schedule").exists, "the clock shows that it runs")

        fill(disk, RESERVE // 2)
        assert ready(site)["disk"] == "almost full"
        assert [rater.label() for _ in range(10)] == [201] * 10
        refused = site.tried("fetch", "--file", str(issues), "--repository", "o/r")
        assert refused.returncode == 1 and "almost full" in refused.stderr and "Traceback" not in refused.stderr

        fill(disk, 0)
        statuses = {rater.label() for _ in range(5)}
        assert statuses <= {201, 503}, statuses
        refused = site.tried("add_user", "zoe")
        assert refused.returncode in (0, 1) and "Traceback" not in refused.stderr, refused.stderr

        with suppress(psycopg2.OperationalError):
            use_up_log(site)
        statuses |= {rater.label() for _ in range(5)}
        assert statuses <= {201, 503}, statuses
        refused = site.tried("add_user", "zac")
        assert refused.returncode == 1 and "is full" in refused.stderr and "Traceback" not in refused.stderr, refused
        assert beat.is_running() and beat.pid == site.clock()[0].pid

        for filler in disk.glob("filler-*"):
            filler.unlink()
        wait_until(lambda: ready(site).get("disk") == "ok" and site.ask("studies/")[0] == 200, "all is well again")
        wait_until(lambda: rater.label() in (200, 201), "labeling goes on")
        stored = {key for (key,) in site.query("SELECT idempotency_key FROM annotation_annotation")}
        assert rater.acknowledged <= stored
        done = site.tried("fetch", "--file", str(issues), "--repository", "o/r")
        assert done.returncode == 0, done.stderr
        print(f"{len(rater.acknowledged)} answers acknowledged, {len(stored)} stored; with a full disk: {statuses}")
    finally:
        site.stop()


def use_up_log(site: Site) -> None:
    """Has PostgreSQL want a new file for its log, which ends it here; it cannot start before there is room."""
    for n in range(5):
        site.query(f"SELECT pg_switch_wal(); CREATE TABLE log_{n} AS SELECT 1 AS one")


def ready(site: Site) -> dict[str, Any]:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{site.port}/readyz", timeout=30) as answer:
            return dict(json.load(answer))
    except urllib.error.HTTPError as error:
        return dict(json.load(error))


class Rater:
    """Labels the round by REST; what was answered 201 counts as acknowledged, and another answer is sent again."""

    def __init__(self, site: Site, token: str) -> None:
        self._site, self._token = site, token
        self._n = 0
        self.acknowledged: set[str] = set()

    def label(self) -> int:
        status, at = self._site.ask("studies/study/rounds/1/next/", token=self._token)
        if status != 200:
            return status
        key = f"key {at['assignment']}"
        given = {"assignment": at["assignment"], "labels": {"symptom": ["crash"]}}
        status, _ = self._site.ask("studies/study/annotations/", given, token=self._token, key=key)
        if status in (200, 201):
            self.acknowledged.add(key)
        return status
