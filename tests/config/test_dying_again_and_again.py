"""The same site backed up under random load, killed and restored elsewhere, a hundred times: identical each time.

Its processes are those of `up`, forked from one that has Concord loaded, with servers of their own that die as well. It
is restored into a data folder and a database that are new each time, on servers that go on.
"""

import json
import os
import random
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil
import pytest
import requests
from django.conf import settings

from config import embedded
from config.management.commands.up import web_command
from tests.concurrent_raters import RaterAtWork
from tests.config.other_databases import empty_database
from tests.config.test_backup_under_load import PREPARE, Owner, compare, of_folder
from tests.preloaded import Preloaded
from tests.servers import free_port
from tests.site import wait_until

pytestmark = pytest.mark.process

TURNS = int(os.environ.get("TURNS", "20"))
"""How often in `make soak`, of which N=5 turns are usual."""
FEWEST_LEFT = 100
"""Answers that a study must still want, or another one is made."""
N_ANSWERS = 240
MAKE = PREPARE.replace("'pool', 4, 60, 2", f"'pool', 4, {N_ANSWERS // 2}, 2")


class Rater(RaterAtWork):
    """Goes away when the site dies."""

    is_over = False

    def run(self) -> None:
        with suppress(SystemExit):
            super().run()

    def _ask(self, *asked: Any) -> tuple[int, Any]:
        if self.is_over:
            raise SystemExit
        return super()._ask(*asked)


class KilledSite:
    """A site whose folder outlives it: servers, web, worker and clock, until all of them are killed (-9)."""

    def __init__(self, folder: Path) -> None:
        self.data_dir, self.port = folder / "here", free_port()
        self.data_dir.mkdir()
        left_out = {"DATABASE_URL", "REDIS_URL"}
        kept = {name: value for name, value in os.environ.items() if name not in left_out}
        self._environment = kept | {
            "DATA_DIR": str(self.data_dir),
            "PORT": str(self.port),
            "PICK_UP_SECONDS": "1",
            "GUNICORN_CMD_ARGS": "--workers 1",
        }
        self._logs = folder
        self._processes: list[psutil.Process] = []

    @contextmanager
    def warm(self) -> Iterator["KilledSite"]:
        with Preloaded(self._environment, self._logs) as self._warm:
            try:
                yield self
            finally:
                self.kill()

    def start(self) -> None:
        self._hold = embedded.Hold(self.data_dir)
        self._hold.take()
        self._warm.run("manage", "upgrade")
        clock = ["beat", "--pidfile=", "--schedule", self.data_dir / "beat-schedule"]
        celery = ["-A", "config"]
        self._processes = [
            self._warm.start(*web_command(f"127.0.0.1:{self.port}")),
            self._warm.start("celery", *celery, "worker", "--loglevel", "INFO", "--concurrency", "2", name="worker"),
        ]
        wait_until(lambda: " ready." in self._warm.said("worker", "err"), "the worker is ready")
        self._processes.append(self._warm.start("celery", "-A", "config.clock", *clock, name="clock"))
        wait_until(self._answers, "the site answers")

    def kill(self) -> None:
        to_kill = [each for process in self._processes for each in (process, *_children(process))]
        for process in [*to_kill, *of_folder(self.data_dir)]:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        wait_until(lambda: not any(_is_running(process) for process in to_kill), "its processes are gone")
        wait_until(lambda: not of_folder(self.data_dir), "its servers are gone")
        self._processes = []
        self._hold.leave()

    def manage(self, *arguments: object) -> str:
        return self._warm.run("manage", *arguments)

    def _answers(self) -> bool:
        with suppress(requests.RequestException):
            return requests.get(f"http://127.0.0.1:{self.port}/readyz", timeout=10).ok
        return False


def _children(process: psutil.Process) -> list[psutil.Process]:
    with suppress(psutil.NoSuchProcess):
        return process.children(recursive=True)
    return []


def _is_running(process: psutil.Process) -> bool:
    with suppress(psutil.NoSuchProcess):
        return process.status() != psutil.STATUS_ZOMBIE
    return False


def backed_up_at_work(
    site: KilledSite, prepared: dict[str, Any], path: Path, rng: random.Random
) -> tuple[set[str], dict[str, Any]]:
    """What raters were told is stored before a backup began, and what the backup said of itself."""
    raters = [Rater(site.port, prepared["slug"], token, rng.getrandbits(64)) for token in prepared["tokens"]]
    owner = Owner(site, prepared, rng.getrandbits(64), n_issues=5)
    for thread in (*raters, owner):
        thread.start()
    wanted, n_asked, acknowledged = rng.randint(5, 40), rng.randint(1, 4), set[str]()

    def enough() -> bool:
        assert not [rater.told.error for rater in raters if rater.told.error]
        for rater in raters:
            acknowledged.update(list(rater.told.acknowledged))
        return len(acknowledged) >= wanted and owner.n_accepted >= n_asked

    try:
        wait_until(enough, "people are at work")
        made = json.loads(site.manage("backup", path, "--json"))
        time.sleep(rng.uniform(0, 0.3))
        site.kill()
    finally:
        owner.over.set()
        for rater in raters:
            rater.is_over = True
    for thread in (*raters, owner):
        thread.join(30)
    return acknowledged, made


@pytest.mark.soak
@pytest.mark.timeout(14_400)
def test_backup_kill_restore_compare_again_and_again(tmp_path: Path) -> None:
    """What was acknowledged before the backup has to be in it, and what is restored is what was backed up."""
    there, path, name = tmp_path / "there", tmp_path / "while at work.backup", f"there_{os.getpid()}"
    address = embedded.database_url(settings.DATA_DIR).replace("/concord?", f"/{name}?")
    environment = {**os.environ, "DATABASE_URL": address, "REDIS_URL": settings.REDIS_URL, "DATA_DIR": str(there)}
    (tmp_path / "logs").mkdir()
    n_left, prepared = 0, {}
    with KilledSite(tmp_path).warm() as site, Preloaded(environment, tmp_path / "logs") as elsewhere:
        for seed in range(100, 100 + TURNS):
            began, rng = time.monotonic(), random.Random(seed)
            site.start()
            if n_left < FEWEST_LEFT:
                prepared, n_left = json.loads(site.manage("shell", "-v", "0", "-c", MAKE)), N_ANSWERS
            acknowledged, made = backed_up_at_work(site, prepared, path, rng)
            n_left -= 2 * len(acknowledged)
            shutil.rmtree(there)
            there.mkdir()
            with empty_database(name):
                done = json.loads(elsewhere.run("manage", "restore", path, "--json"))
                assert done["verified"] and done["id"] == made["id"] and done["tables"] == made["tables"]
                assert done["missing"] == made["missing"] and not done["replaced"]
                compare(address, there, path, acknowledged)
            print(
                f"turn {seed - 99} of {TURNS}: identical; {made['rows']} rows, {made['files']} files, "
                f"{len(acknowledged)} answers acknowledged before; {time.monotonic() - began:.0f} s",
                flush=True,
            )
