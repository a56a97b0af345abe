"""Runs all of Concord on this machine: servers, web, worker and beat, until Ctrl-C."""

import errno
import fcntl
import json
import os
import select
import signal
import socket
import sys
import time
import urllib.error
import urllib.request
from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.management import BaseCommand, CommandError
from django.db import OperationalError, connection

from accounts.allowances import shell_command
from accounts.errors import ConcordError
from config import embedded, shell
from config.backups import quiet
from config.backups.upgrading import upgrade
from config.database import UnfitDatabase
from config.supervisor import Child, Supervisor, die_with_parent

ANSWER_SECONDS = 90.0
HOST = "127.0.0.1"


class Command(BaseCommand):
    help = "Run Concord here: embedded servers, migrations, demo study, web server, worker and beat. Ctrl-C stops all."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--port", type=int, default=settings.PORT, help="where the web server listens (PORT)")
        parser.add_argument("--no-demo", action="store_true", help="do not load the demo study into an empty database")

    def handle(self, *args: Any, port: int, no_demo: bool, **options: Any) -> None:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, _interrupt)
        if "MAKELEVEL" in os.environ:  # `make run`, which takes no leave when it is killed
            die_with_parent(signal.SIGTERM)
        started_at = time.monotonic()
        with ExitStack() as stack:
            try:
                stack.enter_context(_only_one(settings.DATA_DIR, port))
                _refuse_taken_port(port)
                self._say(f"Concord is starting on the data in {_short(settings.DATA_DIR)} …")
                hold = stack.enter_context(self._servers()) if shell.needs_embedded() else None
                serving = quiet.Serving(settings.DATA_DIR)
                stack.callback(serving.leave)
                self._wait_for_restore(serving)
                self._migrate()
                if settings.LOOPBACK_ONLY and not no_demo:
                    self._load_demo()
                has_people = get_user_model().objects.exists()
                connection.close()  # a restore waits until nobody is connected
                children = Supervisor(_children(settings.DATA_DIR, port), say=self._say)
                stack.callback(children.stop)
                children.start()
                self._wait_for_web(children, port)
                self._welcome(port, time.monotonic() - started_at, has_people)
                self._watch(children, hold, serving)
            except KeyboardInterrupt:
                for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                    signal.signal(number, signal.SIG_IGN)
                self._say("\nConcord is stopping …")
            except embedded.ServersUnavailable as error:
                raise CommandError(str(error)) from error
        self._say("Concord has stopped.")

    @contextmanager
    def _servers(self) -> Iterator[embedded.Hold]:
        with embedded.servers(settings.DATA_DIR) as hold:
            yield hold

    def _migrate(self) -> None:
        try:
            connection.ensure_connection()
        except OperationalError as error:
            raise CommandError(f"The database does not answer; check DATABASE_URL. It says: {error}".strip()) from error
        try:
            upgrade(self._say)
        except UnfitDatabase as error:
            raise CommandError(str(error)) from error
        except ConcordError as error:
            raise CommandError(error.message) from error

    def _wait_for_restore(self, serving: quiet.Serving) -> None:
        """Returns when nobody restores a backup into this data."""
        if not serving.take():
            self._say("A backup is being restored into these data; Concord waits until that is done …")
            while not serving.take():
                time.sleep(0.2)

    def _load_demo(self) -> None:
        from annotation.models import Study

        try:
            from annotation.actions.demo import load_demo
        except ImportError:
            return
        if Study.objects.exists():
            return
        self._say("Loading the demo study …")
        with shell_command():
            sign_ins = load_demo()
        if sign_ins:
            path = _demo_path()
            path.touch(mode=0o600)
            path.write_text(json.dumps([list(sign_in) for sign_in in sign_ins]))

    def _wait_for_web(self, children: Supervisor, port: int) -> None:
        """Return when the web server answers; raises CommandError with the end of its log when it cannot."""
        ends_at = time.monotonic() + ANSWER_SECONDS
        while time.monotonic() < ends_at and children.n_failures("web") < 3:
            children.tick()
            try:
                with urllib.request.urlopen(f"http://{HOST}:{port}/readyz?need=database,redis", timeout=20):
                    return
            except (OSError, urllib.error.HTTPError):
                time.sleep(0.1)
        log = settings.DATA_DIR / "logs" / "web.log"
        end = "\n".join(log.read_text(errors="replace").splitlines()[-15:])
        raise CommandError(f"The web server does not answer. The end of {log}:\n{end}")

    def _welcome(self, port: int, seconds: float, has_people: bool) -> None:
        self._say(f"\nConcord is ready after {seconds:.0f} s:  http://{HOST}:{port}/\n")
        with suppress(FileNotFoundError, ValueError):
            if not settings.LOOPBACK_ONLY:
                raise ValueError("nobody may sign in with what everybody knows")
            sign_ins = json.loads(_demo_path().read_text())
            self._say("Sign in to the demo study as")
            wide = max(len(name) for name, *_ in sign_ins)
            for name, password, *what in sign_ins:
                self._say(f"  {name:<{wide}}  {password}  {' '.join(what)}".rstrip())
            self._say("")
        if not has_people:
            self._say("Nobody has an account yet. Add yourself, in another shell with the same DATA_DIR:")
            self._say("  .venv/bin/python manage.py add_user NAME --staff\n")
        self._say(f"Logs are in {_short(settings.DATA_DIR / 'logs')}. Ctrl-C stops everything; the data stay.")

    def _watch(self, children: Supervisor, hold: embedded.Hold | None, serving: quiet.Serving) -> None:
        checked_at = 0.0
        in_terminal = sys.stdin is not None and sys.stdin.isatty()
        while True:
            children.tick()
            if quiet.is_wanted(settings.DATA_DIR):
                children.stop()
                serving.leave()
                self._wait_for_restore(serving)
                children.start()
                self._say("Concord goes on.")
            if in_terminal and _terminal_is_gone():
                raise KeyboardInterrupt
            if hold and time.monotonic() - checked_at > 1 and not hold.is_kept():
                self._say("The database servers ended; starting them again.")
                try:
                    hold.ensure()
                except embedded.ServersUnavailable as error:
                    self._say(str(error))
                    time.sleep(5)
            checked_at = time.monotonic() if time.monotonic() - checked_at > 1 else checked_at
            time.sleep(0.2)

    def _say(self, sentence: str) -> None:
        with suppress(OSError):  # the terminal may be gone
            self.stdout.write(sentence)
            self.stdout.flush()


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _terminal_is_gone() -> bool:
    """Whether the terminal on standard input was closed; only the first process in it is told so by a signal."""
    poll = select.poll()
    poll.register(0, 0)
    return any(event & select.POLLHUP for _, event in poll.poll(0))


def _short(path: Path) -> str:
    """The path as seen from here, where that is shorter."""
    with suppress(ValueError):
        return str(path.relative_to(Path.cwd()))
    return str(path)


def _demo_path() -> Path:
    return Path(settings.DATA_DIR) / "demo-sign-ins.json"


@contextmanager
def _only_one(data_dir: Path, port: int) -> Iterator[None]:
    """Holds the data folder for one `up`; the kernel lets go of the lock however this process ends."""
    with embedded.open_lock(data_dir, "up") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            pid, _, other_port = lock.read().partition(" ")
            raise CommandError(
                f"Concord already runs on the data in {data_dir} (process {pid}, http://{HOST}:{other_port}/). "
                "Use that one, stop it with Ctrl-C, or start a second one on other data: "
                f"make run PORT={port + 1} DATA_DIR=.data-2"
            ) from None
        lock.truncate(0)
        lock.write(f"{os.getpid()} {port}")
        lock.flush()
        yield


def _refuse_taken_port(port: int) -> None:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OverflowError:
            raise CommandError(f"{port} is no port; choose one from 1 to 65535: make run PORT=8001") from None
        except OSError as error:
            if error.errno == errno.EACCES:
                raise CommandError(
                    f"Port {port} is kept for the system (below 1024); choose a higher one: make run PORT=8001"
                ) from None
            if error.errno == errno.EADDRINUSE:
                raise CommandError(
                    f"Port {port} is taken by another program. Stop that, or choose another: make run PORT={port + 1}"
                ) from None
            raise CommandError(f"The web server cannot listen on {HOST}:{port}: {error.strerror}.") from error


def web_command(port: int) -> list[str]:
    """The module and its arguments that answer on a port."""
    web = ["gunicorn", "--config", "python:config.gunicorn", "--bind", f"{HOST}:{port}"]
    return [*web, "--graceful-timeout", "5", "config.wsgi"]


def _children(data_dir: Path, port: int) -> list[Child]:
    logs = data_dir / "logs"
    environment = {
        "PORT": str(port),
        "DATA_DIR": str(data_dir),
        "PYTHONUNBUFFERED": "1",
    }
    web = web_command(port)
    worker = ["celery", "-A", "config", "worker", "--loglevel", "INFO", "--concurrency", "2"]
    beat = [
        "celery",
        "-A",
        "config",
        "beat",
        "--loglevel",
        "INFO",
        "--pidfile=",
        "--schedule",
        data_dir / "beat-schedule",
    ]
    return [
        Child(
            name=name,
            command=[sys.executable, "-m", *command],
            log=logs / f"{name}.log",
            environment=environment,
            folder=settings.BASE_DIR,
            stop_seconds=seconds,
        )
        for name, command, seconds in (("web", web, 8), ("worker", worker, 10), ("beat", beat, 5))
    ]
