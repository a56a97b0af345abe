"""Backup while people and workers are at work, everything killed, restored into an empty folder: identical."""

import hashlib
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil
import psycopg2
import pytest
import requests

from config import embedded, server_user
from config.backups import postgres
from config.backups.archive import FILES, BackupArchive
from tests.concurrent_raters import RaterAtWork
from tests.site import Site, wait_until

BASE_DIR = Path(__file__).resolve().parents[2]
DEBIANS = Path("/usr/lib/postgresql/15/bin")
pytestmark = pytest.mark.process
PREPARE = """
import json, random
from accounts.actions import make_token
from tests import builders as make
from tests.concurrent_raters import prepare
made = prepare('pool', 4, 60, 2)
made['owner'] = make_token(user=make.user('olga'), name='files', scope='manage')[1]
print(json.dumps(made))
"""


class Owner(threading.Thread):
    """Uploads files of issues and asks for exports, until told to stop."""

    def __init__(self, site: Any, prepared: dict[str, Any], seed: int, n_issues: int = 30) -> None:
        super().__init__(daemon=True)
        self._n_issues = n_issues
        self._base = f"http://127.0.0.1:{site.port}/api/v1"
        self._headers = {"Authorization": f"Bearer {prepared['owner']}"}
        self._slug, self._rng = prepared["slug"], random.Random(seed)
        self.over = threading.Event()
        self.n_accepted = 0

    def run(self) -> None:
        while not self.over.wait(self._rng.uniform(0.02, 0.4)):
            with suppress(requests.RequestException):
                self.n_accepted += self._ask().status_code == 202

    def _ask(self) -> requests.Response:
        if self._rng.random() < 0.5:
            numbers = self._rng.sample(range(1, 1000), self._n_issues)
            issues = [{"number": number, "title": f"Issue {number}", "body": "hangs " * 50} for number in numbers]
            files = {"file": (f"{numbers[0]}.json", json.dumps(issues))}
            asked = {"repository": "o/uploaded"}
            return requests.post(f"{self._base}/fetches/", data=asked, files=files, headers=self._headers, timeout=30)
        asked = {"what": self._rng.choice(["labels", "ratings", "package"])}
        address = f"{self._base}/studies/{self._slug}/exports/"
        return requests.post(address, json=asked, headers=self._headers, timeout=30)


def manage(data_dir: Path, *arguments: str, **environment: str) -> str:
    """What a command prints on a data folder. It has to end with 0."""
    left_out = {"DATABASE_URL", "REDIS_URL"}
    kept = {name: value for name, value in os.environ.items() if name not in left_out}
    done = subprocess.run(
        [sys.executable, "manage.py", *arguments],
        check=False,
        cwd=BASE_DIR,
        env={**kept, "DATA_DIR": str(data_dir), **environment},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def kill_everything(site: Site) -> None:
    to_kill = [psutil.Process(site.pid), *psutil.Process(site.pid).children(recursive=True)]
    for process in [*to_kill, *of_folder(site.data_dir)]:
        with suppress(psutil.NoSuchProcess):
            process.kill()
    psutil.wait_procs(to_kill, timeout=30)
    wait_until(lambda: not of_folder(site.data_dir), "its servers are gone")


def of_folder(data_dir: Path) -> list[psutil.Process]:
    found = []
    for process in psutil.process_iter(["cmdline"]):
        if any(str(data_dir) in argument for argument in process.info["cmdline"] or []):
            found.append(process)
    return found


def turn(folder: Path, seed: int) -> None:
    """A site that runs and is killed; what was acknowledged before the backup has to be in it."""
    rng = random.Random(seed)
    path = folder / "while at work.backup"
    site = Site(folder / "here")
    try:
        prepared = json.loads(site.run(PREPARE))
        raters = [RaterAtWork(site.port, prepared["slug"], token, rng.getrandbits(64)) for token in prepared["tokens"]]
        owner = Owner(site, prepared, seed)
        for thread in (*raters, owner):
            thread.start()
        wanted = rng.randint(5, 60)
        acknowledged: set[str] = set()

        def enough() -> bool:
            for rater in raters:
                acknowledged.update(list(rater.told.acknowledged))
            return len(acknowledged) >= wanted and owner.n_accepted >= 3

        wait_until(enough, "people are at work")
        made = json.loads(site.manage("backup", str(path), "--json"))
        owner.over.set()
    finally:
        kill_everything(site)
    done = json.loads(manage(folder / "there", "restore", str(path), "--json"))
    assert done["verified"] and done["id"] == made["id"] and done["tables"] == made["tables"]
    assert done["missing"] == made["missing"]
    with embedded.servers(folder / "there"):
        compare(embedded.database_url(folder / "there"), folder / "there", path, acknowledged)
    shutil.rmtree(folder / "there")
    path.unlink()


def compare(address: str, data_dir: Path, path: Path, acknowledged: set[str]) -> None:
    """Counts, checksums and files as the manifest says, seen without Concord's commands; and nothing is lost."""
    with BackupArchive(path) as backup:
        with closing(psycopg2.connect(address)) as connection:
            connection.autocommit = True
            assert postgres.count_and_sum(connection) == backup.manifest.tables
            assert postgres.objects(connection) == backup.manifest.objects
            kept = {
                key for (key,) in postgres.fetch_rows(connection, "SELECT idempotency_key FROM annotation_annotation")
            }
            assert acknowledged <= kept
        files = backup.manifest.under(FILES)
        for member in files:
            text = (data_dir / "files" / member.name.removeprefix(FILES)).read_bytes()
            assert hashlib.sha256(text).hexdigest() == member.sha256
        assert files


@pytest.mark.timeout(900)
def test_a_backup_made_under_load_is_identical_after_everything_was_killed(tmp_path: Path) -> None:
    turn(tmp_path, 1)


@contextmanager
def debians_postgres() -> Iterator[str]:
    """The address of a PostgreSQL 15 of Debian with an empty database, on a socket."""
    sockets = Path(tempfile.mkdtemp(prefix="concord-15-", dir="/tmp"))  # short, and to be entered by its user
    folder = sockets / "data"
    user = server_user.server_user(folder=Path("/tmp"), owned=folder, program=DEBIANS / "postgres")
    if user:
        user.own(sockets)
    become = user.become if user else None

    def run(*command: object) -> None:
        subprocess.run([str(part) for part in command], check=True, capture_output=True, preexec_fn=become, cwd="/")

    run(DEBIANS / "initdb", "-D", folder, "-U", "concord", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8")
    server = subprocess.Popen(
        [DEBIANS / "postgres", "-D", folder, "-k", sockets, "-c", "listen_addresses="], preexec_fn=become, cwd="/",
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        address = f"postgresql://concord@/postgres?host={sockets}"

        def answers() -> bool:
            with suppress(psycopg2.OperationalError), closing(psycopg2.connect(address)) as connection:
                connection.autocommit = True
                connection.cursor().execute("CREATE DATABASE concord")
                return True
            return False

        wait_until(answers, "PostgreSQL 15 answers")
        yield f"postgresql://concord@/concord?host={sockets}"
    finally:
        server.send_signal(2)
        server.wait(30)
        shutil.rmtree(sockets)


@pytest.mark.soak
@pytest.mark.timeout(900)
@pytest.mark.skipif(not DEBIANS.exists(), reason="Debian's postgresql-15 is not installed")
def test_from_embedded_servers_to_debians_and_back_nothing_changes(tmp_path: Path) -> None:
    manage(
        tmp_path / "here",
        "shell",
        "-v",
        "0",
        "-c",
        "from annotation.overview.actions.demo import load_demo; load_demo()",
    )
    first = json.loads(manage(tmp_path / "here", "backup", str(tmp_path / "1.backup"), "--json"))
    with debians_postgres() as address:
        there = {"DATABASE_URL": address}
        done = json.loads(manage(tmp_path / "there", "restore", str(tmp_path / "1.backup"), "--json", **there))
        assert done["tables"] == first["tables"]
        second = json.loads(manage(tmp_path / "there", "backup", str(tmp_path / "2.backup"), "--json", **there))
        again = json.loads(
            manage(tmp_path / "there", "restore", str(tmp_path / "2.backup"), "--replace", "--json", **there)
        )
        assert again["replaced"] and again["tables"] == second["tables"] == first["tables"]
    back = json.loads(manage(tmp_path / "back", "restore", str(tmp_path / "2.backup"), "--json"))
    assert back["tables"] == first["tables"] and back["files"] == first["files"] == 1
    with BackupArchive(tmp_path / "1.backup") as one, BackupArchive(tmp_path / "2.backup") as two:
        assert one.manifest.objects == two.manifest.objects
        assert (one.manifest.postgres, two.manifest.postgres) == (18, 15)
