"""Concord as on servers: two web processes behind nginx and TLS, three workers, a clock, PgBouncer; all of Debian's."""

import http.client
import json
import os
import pwd
import re
import shlex
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import psutil
import psycopg2

from config import env
from config.supervisor import Child, Supervisor
from tests.concurrent_raters import RaterAtWork
from tests.site import wait_until

ROOT = Path(__file__).resolve().parents[1]
DEPLOY = ROOT / "deploy"
MISSING = [
    name for name in ("pgbouncer", "nginx", "openssl") if not shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin")
]
NOT_HERE = f"{', '.join(MISSING)} of Debian missing (apt-get install pgbouncer nginx-light openssl)"


class OverTLS(RaterAtWork):
    """A rater who comes through the proxy; its certificate is nobody's."""

    def _ask(self, *asked: Any) -> tuple[int, Any]:
        if self._connection is None:
            context = ssl._create_unverified_context()
            self._connection = http.client.HTTPSConnection("127.0.0.1", self._port, timeout=20, context=context)
        return super()._ask(*asked)


def free_port() -> int:
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def unit_command(unit: str, instance: str = "") -> list[str]:
    """What a unit of systemd starts, with the packages of this Python."""
    told = (DEPLOY / f"systemd/{unit}.service").read_text()
    words = shlex.split(re.findall(r"^ExecStart=(.+)$", told, re.MULTILINE)[0])
    words = [word.replace("%i", instance).replace("%%", "%") for word in words]
    return [str(Path(sys.executable).parent / Path(words[0]).name), *words[1:]]


def unit_environment(unit: str, instance: str = "") -> dict[str, str]:
    """What a unit adds to the environment, but for the file of settings."""
    told = (DEPLOY / f"systemd/{unit}.service").read_text().replace("%i", instance)
    found = dict(re.findall(r"^Environment=(\w+)=(.*)$", told, re.MULTILINE))
    del found["SETTINGS_FILE"]
    return found


class Servers:
    """All of it, on a database and a Redis that are there; `with` stops it."""

    def __init__(
        self, database_url: str, redis_url: str, *, each_web: int = 2, n_workers: int = 3, has_clock: bool = True
    ) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="servers-"))
        self.folder.chmod(0o755)
        self.port, self._pool, self._webs = free_port(), free_port(), (free_port(), free_port())
        self._place = env.database(database_url)
        address = f"postgresql://{self._place['USER']}@127.0.0.1:{self._pool}/{self._place['NAME']}"
        self.environment = os.environ | {
            "DATABASE_URL": address,
            "WEB_DATABASE_URL": f"{address}_web",
            "REDIS_URL": redis_url,
            "DATA_DIR": str(self.folder / "data"),
            "PGBOUNCER": "1",
            "HTTPS": "1",
            "ALLOWED_HOSTS": "127.0.0.1 localhost",
            "TRUSTED_PROXIES": "1",
            "SECRET_KEY": "of all servers the same" * 2,
            "GUNICORN_CMD_ARGS": f"--workers {each_web}",
        }
        self.has_clock, self._workers = has_clock, tuple(range(1, n_workers + 1))
        (self.folder / "data").mkdir()
        self._all = Supervisor([self._pgbouncer(), *self._processes(), self._nginx()])
        self._over = threading.Event()
        self._watch = threading.Thread(target=self._keep, daemon=True)

    def __enter__(self) -> "Servers":
        self._watch.start()
        try:
            wait_until(lambda: self._answers("readyz"), "nginx and a web process answer")
            wait_until(self._have_workers, "the workers are ready")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *error: object) -> None:
        self._over.set()
        self._watch.join()
        shutil.rmtree(self.folder, ignore_errors=True)

    def processes(self, name: str) -> list[psutil.Process]:
        """Those that a child of this name (its beginning) is made of, the first of each first."""
        pids = [pid for child, pid in self._all.pids().items() if child.startswith(name)]
        found = [psutil.Process(pid) for pid in pids if psutil.pid_exists(pid)]
        return [*found, *(child for process in found for child in process.children(recursive=True))]

    def web(self) -> list[psutil.Process]:
        return self.processes("web")

    def run(self, code: str) -> str:
        """What a piece of Python prints that has the settings of the servers."""
        command = [sys.executable, "manage.py", "shell", "-v", "0", "-c", code]
        done = subprocess.run(command, check=False, cwd=ROOT, env=self.environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def query(self, sql: str, *parameters: Any) -> list[Any]:
        """Asked of PostgreSQL itself, past the pool."""
        place = self._place
        asked = {"dbname": place["NAME"], "user": place["USER"], "password": place["PASSWORD"], "host": place["HOST"]}
        with closing(psycopg2.connect(**asked, port=place["PORT"] or 5432)) as connection, connection:
            cursor = connection.cursor()
            cursor.execute(sql, parameters)
            return cursor.fetchall() if cursor.description else []

    def ask(self, path: str, token: str = "", given: Any = None) -> tuple[int, bytes]:
        """Status and body of an answer through the proxy; POST where something is given."""
        context = ssl._create_unverified_context()
        with closing(http.client.HTTPSConnection("127.0.0.1", self.port, timeout=60, context=context)) as connection:
            headers = {"Authorization": f"Bearer {token}"} if token else {}
            body = None
            if given is not None:
                headers["Content-Type"], body = "application/json", json.dumps(given)
            connection.request("GET" if given is None else "POST", f"/{path}", body, headers)
            answer = connection.getresponse()
            return answer.status, answer.read()

    def logs(self) -> str:
        return "\n".join(f"{log.name}:\n{log.read_text(errors='replace')[-1500:]}" for log in self.folder.glob("*.log"))

    def whole_logs(self) -> str:
        return "\n".join(log.read_text(errors="replace") for log in self.folder.glob("*.log"))

    def _keep(self) -> None:
        self._all.start()
        while not self._over.wait(0.05):
            self._all.tick()
        self._all.stop()

    def _answers(self, path: str) -> bool:
        try:
            return self.ask(path)[0] == 200
        except OSError:
            return False

    def _have_workers(self) -> bool:
        logs = [self.folder / f"worker{n}.log" for n in self._workers]
        return all(log.exists() and b" ready." in log.read_bytes() for log in logs)

    def _child(
        self, name: str, command: list[str], become: Callable[[], None] | None = None, environment: Any = None
    ) -> Child:
        return Child(
            name=name, command=command, log=self.folder / f"{name}.log",
            environment=self.environment | (environment or {}), folder=ROOT, become=become,
        )  # fmt: skip

    def _processes(self) -> Iterator[Child]:
        """What the units of systemd start, in their words."""
        for name, unit, instance in (
            *((f"web{n}", "concord-web@", str(port)) for n, port in enumerate(self._webs, start=1)),
            *((f"worker{n}", "concord-worker@", str(n)) for n in self._workers),
            *([("beat", "concord-beat", "")] if self.has_clock else []),
        ):
            program, *words = unit_command(unit, instance)
            command = [program, *(word.replace("/tmp/", f"{self.folder}/") for word in words)]
            yield self._child(name, command, environment=unit_environment(unit, instance))

    def _pgbouncer(self) -> Child:
        """The file of the guide, led to this database and its neighbours, whose passwords it needs none of."""
        place = self._place
        port = f" port={place['PORT']}" if place["PORT"] else ""
        server = f"host={place['HOST']}{port} user={place['USER']}"
        told = (DEPLOY / "pgbouncer.ini").read_text()
        for old, new in (
            (
                r"^concord = host=\S+ port=\S+ dbname=\S+",
                f"* = {server}\n{place['NAME']} = {server} dbname={place['NAME']}",
            ),
            (r"^concord_web = host=\S+ port=\S+ dbname=\S+", f"{place['NAME']}_web = {server} dbname={place['NAME']}"),
            (r"^listen_port = .*$", f"listen_port = {self._pool}\nunix_socket_dir ="),
            (r"^auth_type = .*$", "auth_type = any"),
            (r"^auth_file = .*$", ""),
            (r"^default_pool_size = .*$", "default_pool_size = 8"),
        ):
            told, n = re.subn(old, new, told, flags=re.MULTILINE)
            assert n == 1, old
        (self.folder / "pgbouncer.ini").write_text(told)
        (self.folder / "pgbouncer.ini").chmod(0o644)  # read by another user than the one who runs the tests
        become = None
        if os.geteuid() == 0:  # it refuses to run as root, and may have to enter the folder of a socket
            host = Path(str(place["HOST"]))
            uid = host.stat().st_uid if host.is_dir() else pwd.getpwnam("postgres").pw_uid

            def become() -> None:
                os.setgroups([])
                os.setgid(pwd.getpwuid(uid).pw_gid)
                os.setuid(uid)

        program = shutil.which("pgbouncer", path=f"{os.environ['PATH']}:/usr/sbin") or ""
        return self._child("pgbouncer", [program, str(self.folder / "pgbouncer.ini")], become)

    def _nginx(self) -> Child:
        return self._child("nginx", nginx(self.folder, self.port, self._webs))


def nginx(folder: Path, port: int, webs: Sequence[int]) -> list[str]:
    """The command for nginx with the file of the guide, on ports of the loopback address, with its own certificate."""
    key, certificate = folder / "privkey.pem", folder / "fullchain.pem"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
    subprocess.run([*command, "-keyout", key, "-out", certificate], check=True, capture_output=True)
    told = (DEPLOY / "nginx/concord.conf").read_text()
    told = re.sub(r"^\s*listen \[::\].*$", "", told, flags=re.MULTILINE)
    for old, new in (
        ("listen 80;", f"listen 127.0.0.1:{free_port()};"),
        ("listen 443 ", f"listen 127.0.0.1:{port} "),
        ("127.0.0.1:8001", f"127.0.0.1:{webs[0]}"),
        ("127.0.0.1:8002", f"127.0.0.1:{webs[1]}"),
        ("/etc/ssl/concord", str(folder)),
    ):
        assert old in told, old
        told = told.replace(old, new)
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    places = " ".join(f"{kind}_temp_path {folder}/{kind};" for kind in kinds)
    (folder / "nginx.conf").write_text(
        f"daemon off; pid {folder}/nginx.pid; error_log stderr warn; events {{}}\n"
        f"http {{ access_log off; {places}\n{told}\n}}\n"
    )
    program = shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin") or ""
    return [program, "-e", "stderr", "-c", str(folder / "nginx.conf")]
