"""All of Concord as `manage.py up` runs it, on a data folder of its own: to take its servers away and look on."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil
import psycopg2

from config import embedded
from tests import prepared

BASE_DIR = Path(__file__).resolve().parents[1]
TOKEN_CODE = (
    "from accounts.actions import add_user, make_token; from accounts.models import User; "
    "user = User.objects.filter(username='ann').first() or add_user(username='ann', email='', is_staff=True)[0]; "
    "print(make_token(user=user, name='tests', scope='manage')[1])"
)
WAIT_SECONDS = 120


def wait_until(condition: Callable[[], Any], what: str) -> Any:
    """What the condition gives as soon as it gives something."""
    ends_at = time.monotonic() + WAIT_SECONDS
    while not (found := condition()):
        assert time.monotonic() < ends_at, f"not within {WAIT_SECONDS} seconds: {what}"
        time.sleep(0.05)
    return found


class Site:
    """A running site, its worker and clock those of users; waiting is shortened (PICK_UP_SECONDS, `long_ago`)."""

    def __init__(self, data_dir: Path, **environment: str) -> None:
        self.data_dir = data_dir
        with closing(socket.socket()) as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        left_out = {"DATABASE_URL", "REDIS_URL", "MAKELEVEL"}
        kept = {name: value for name, value in os.environ.items() if name not in left_out}
        self._environment = kept | {"DATA_DIR": str(data_dir), "PORT": str(self.port), "PICK_UP_SECONDS": "1"}
        self._environment |= environment
        self._log = (data_dir.parent / "up.log").open("w+")
        if not data_dir.exists():
            prepared.first_start(data_dir)
        self._up = subprocess.Popen(
            [sys.executable, "manage.py", "up", "--no-demo"],
            cwd=BASE_DIR,
            env=self._environment,
            stdout=self._log,
            stderr=self._log,
        )
        try:
            wait_until(self._is_ready, "the site is ready")
            self._token = self.run(TOKEN_CODE)
            wait_until(lambda: b" ready." in (data_dir / "logs/worker.log").read_bytes(), "the worker is ready")
        except BaseException:
            self.stop()
            raise

    @property
    def pid(self) -> int:
        return self._up.pid

    def stop(self) -> None:
        self._up.send_signal(signal.SIGINT)
        self._up.wait(60)
        self._log.close()

    def ask(self, path: str, given: Any = None, *, token: str = "", key: str = "") -> tuple[int, Any]:
        """Status and value of an answer of the API; POST where something is given."""
        headers = {"Authorization": f"Bearer {token or self._token}", "Content-Type": "application/json"}
        headers |= {"Idempotency-Key": key} if key else {}
        body = None if given is None else json.dumps(given).encode()
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}/api/v1/{path}", body, headers)
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode(errors="replace")

    def fetch(self, repository: str) -> int:
        """Starts the fetch of a repository; the id of its run."""
        status, run = self.ask("fetches/", {"repository": repository})
        assert status == 202, run
        return int(run["id"])

    def state(self, run_id: int) -> str:
        status, run = self.ask(f"fetches/{run_id}/")
        return str(run["state"]) if status == 200 else f"status {status}"

    def wait_for(self, run_id: int, *states: str) -> None:
        wait_until(lambda: self.state(run_id) in states, f"run {run_id} is {' or '.join(states)}")

    def query(self, sql: str, *parameters: Any) -> list[Any]:
        with closing(psycopg2.connect(embedded.database_url(self.data_dir))) as connection, connection:
            cursor = connection.cursor()
            cursor.execute(sql, parameters)
            return cursor.fetchall() if cursor.description else []

    def looked_at(self, look: Callable[[Any], Any]) -> Any:
        """What is found with a cursor at the database."""
        with closing(psycopg2.connect(embedded.database_url(self.data_dir))) as connection:
            return look(connection.cursor())

    def long_ago(self, run_id: int) -> None:
        """As if a minute had passed in which nobody worked on the run."""
        self.query("UPDATE ingest_fetchrun SET heartbeat_at = heartbeat_at - interval '61 s' WHERE id = %s", run_id)

    def empty(self) -> None:
        sql = "TRUNCATE ingest_repository, ingest_fetchrun, ingest_comment CASCADE"
        prepared.despite_deadlocks(lambda: self.query(f"SET LOCAL session_replication_role = replica; {sql}"))

    def processes(self, *words: str) -> list[psutil.Process]:
        """Those of the site with all these words in their command, and their children; the oldest first."""
        family = psutil.Process(self._up.pid).children(recursive=True)
        found = [process for process in family if all(word in _command(process) for word in words)]
        return sorted(found, key=lambda process: (process.create_time(), process.pid))

    def _named(self, name: str) -> list[psutil.Process]:
        """The processes of this name; the oldest first."""
        family = psutil.Process(self._up.pid).children(recursive=True)
        return sorted((each for each in family if _name(each) == name), key=lambda each: (each.create_time(), each.pid))

    def servers_keeper(self) -> psutil.Process:
        return self.processes("config.embedded")[0]

    def valkey(self) -> psutil.Process:
        return self.processes("valkey-server")[0]

    def postmaster(self) -> psutil.Process:
        return self.processes("bin/postgres", "-D")[0]

    def workers(self) -> list[psutil.Process]:
        return self._named("concord-worker")

    @contextmanager
    def workers_held(self) -> Iterator[None]:
        """The workers stand still inside the block, those too that begin while others are being held."""
        held: list[psutil.Process] = []
        try:
            while fresh := [each for each in self.workers() if each not in held]:
                for process in fresh:
                    held.append(process)
                    with suppress(psutil.NoSuchProcess):  # one that had done its work
                        process.suspend()
            yield
        finally:
            for process in held:
                with suppress(psutil.NoSuchProcess):
                    process.resume()

    def web(self) -> list[psutil.Process]:
        """The process that listens, and those that answer."""
        return self._named("concord-web")

    def clock(self) -> list[psutil.Process]:
        return self._named("concord-beat")

    def run(self, code: str) -> str:
        """What a piece of Python prints that has the site's database and settings."""
        return self.manage("shell", "-v", "0", "-c", code)

    def tried(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """How a command of `manage.py` ended."""
        return subprocess.run(
            [sys.executable, "manage.py", *arguments],
            check=False, cwd=BASE_DIR, env=self._environment, capture_output=True, text=True, timeout=120,
        )  # fmt: skip

    def manage(self, *arguments: str) -> str:
        done = self.tried(*arguments)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def _is_ready(self) -> bool:
        self._log.flush()
        said = Path(self._log.name).read_text()
        assert self._up.poll() is None, said
        return "Ctrl-C" in said


def _name(process: psutil.Process) -> str:
    try:
        return process.name()
    except (psutil.NoSuchProcess, psutil.ZombieProcess):
        return ""


def _command(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline())
    except (psutil.NoSuchProcess, psutil.ZombieProcess):
        return ""
