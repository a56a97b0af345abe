"""`manage.py up`: runs servers, web, worker, and beat on this machine until Ctrl-C.

This process imports the whole application once. Web, worker, and beat are forks of it, and so are their replacements.
They start at once and share memory.
"""

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
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import IO, Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.management import CommandError
from django.db import OperationalError, connection, connections

from config import embedded, preload, shell
from config.backups import maintenance_lock
from config.backups.upgrade import upgrade
from config.database import UnfitDatabase
from config.supervisor import Child, Fork, Supervisor, die_with_parent
from shared.commands import ConcordCommand
from shared.errors import ConcordError, Conflict

ANSWER_SECONDS = 90.0
ENDING_SECONDS = 15.0
"""How long a start waits for a Concord on the same data that is ending."""
HOST = "127.0.0.1"
BACKLOG = 2048


class Command(ConcordCommand):
    help = "Run Concord here: embedded servers, migrations, demo study, web server, worker and beat. Ctrl-C stops all."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--port", type=int, default=settings.PORT, help="where the web server listens (PORT)")
        parser.add_argument("--no-demo", action="store_true", help="do not load the demo study into an empty database")

    def handle(self, *args: Any, port: int, no_demo: bool, **options: Any) -> None:
        if port != settings.PORT:  # names of cookies and of files go by it, so the settings are read again
            os.execve(sys.executable, sys.orig_argv, {**os.environ, "PORT": str(port)})  # noqa: S606
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, _interrupt)
        if "MAKELEVEL" in os.environ:  # `make run`, which takes no leave when it is killed
            die_with_parent(signal.SIGTERM)
        started_at = time.monotonic()
        with ExitStack() as stack:
            lock = stack.enter_context(embedded.open_lock(settings.DATA_DIR, "up"))
            try:
                self._be_the_only_one(lock, port)
                sockets = stack.enter_context(_listening(port))
                self._say(f"Concord is starting on the data in {_short(settings.DATA_DIR)} …")
                hold = embedded.Hold(settings.DATA_DIR) if shell.needs_embedded() else None
                with ThreadPoolExecutor(1) as beside:
                    if hold:
                        stack.callback(hold.leave)
                    servers = beside.submit(hold.take if hold else lambda: None)
                    with preload.frozen():
                        preload.load()
                    servers.result()
                serving = maintenance_lock.ServingClaim(settings.DATA_DIR)
                stack.callback(serving.leave)
                self._wait_for_restore(serving)
                self._prepare(no_demo)
                has_people = get_user_model().objects.exists()
                connections.close_all()  # a restore waits until nobody is connected, and forks share no connection
                forks = _children(settings.DATA_DIR, sockets, lambda: (lock.fileno(), serving.fileno()))
                children = Supervisor(forks, say=self._say)
                stack.callback(children.stop)
                children.start()
                self._wait_for_web(children, port)
                self._welcome(port, time.monotonic() - started_at, has_people)
                self._watch(children, hold, serving)
            except KeyboardInterrupt:
                for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                    signal.signal(number, signal.SIG_IGN)
                lock.truncate(0)  # who starts now waits
                self._say("\nConcord is stopping …")
            except embedded.ServersUnavailable as error:
                raise CommandError(str(error)) from error
        self._say("Concord has stopped.")

    def _be_the_only_one(self, lock: IO[str], port: int) -> None:
        """Takes the data folder for this `up` and its forks; the kernel lets go of the lock however they end."""
        ends_at: float | None = None
        while not embedded.try_lock(lock, fcntl.LOCK_EX):
            lock.seek(0)
            pid, _, other_port = lock.read().partition(" ")
            if _lives(pid):
                raise CommandError(
                    f"Concord already runs on the data in {settings.DATA_DIR} (process {pid}, "
                    f"http://{HOST}:{other_port}/). Use that one, stop it with Ctrl-C, or start a second one on other "
                    f"data: make run PORT={port + 1} DATA_DIR=.data-2"
                )
            if ends_at is None:
                ends_at = time.monotonic() + ENDING_SECONDS
                self._say(f"Another Concord on the data in {_short(settings.DATA_DIR)} is ending. Waiting for it …")
            if time.monotonic() > ends_at:
                raise CommandError(
                    f"The Concord that ran on the data in {settings.DATA_DIR} is still ending, perhaps because its "
                    "worker finishes a job. Try again in a minute."
                )
            time.sleep(0.1)
        lock.seek(0)
        lock.truncate(0)
        lock.write(f"{os.getpid()} {port}")
        lock.flush()

    def _prepare(self, no_demo: bool) -> None:
        """Migrations and the demo, in a fork: what they connect to and leave behind is none of ours."""

        def run() -> None:
            die_with_parent(signal.SIGTERM)
            try:
                self._migrate()
                if (settings.LOOPBACK_ONLY or settings.DEMO_OPEN) and not no_demo:
                    self._load_demo()
            except CommandError as error:
                raise SystemExit(str(error)) from error

        fork = Fork(run)
        try:
            if fork.wait() != 0:
                sys.exit(1)
        finally:
            fork.send_signal(signal.SIGTERM)
            fork.wait()

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

    def _wait_for_restore(self, serving: maintenance_lock.ServingClaim) -> None:
        """Returns when nobody restores a backup into this data."""
        if not serving.take():
            self._say("A backup is being restored into these data; Concord waits until that is done …")
            while not serving.take():
                time.sleep(0.2)

    def _load_demo(self) -> None:
        from annotation.models import Study

        try:
            from annotation.overview.actions.demo import load_demo
        except ImportError:
            return
        if Study.objects.exists():
            return
        self._say("Loading the demo study …")
        try:
            sign_ins = load_demo()
        except Conflict as error:  # someone has a name of its people, in other letters
            self._say(f"The demo study was not loaded: {error.message} Start with --no-demo.")
            return
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
                with urllib.request.urlopen(f"http://{HOST}:{port}/readyz?need=database,redis", timeout=5):
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
                raise ValueError("nobody may sign in with what everyone knows")
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

    def _watch(self, children: Supervisor, hold: embedded.Hold | None, serving: maintenance_lock.ServingClaim) -> None:
        checked_at = 0.0
        in_terminal = sys.stdin is not None and sys.stdin.isatty()
        while True:
            children.tick()
            if maintenance_lock.is_wanted(settings.DATA_DIR):
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


def _lives(pid: str) -> bool:
    try:
        os.kill(int(pid), 0)
    except (ValueError, ProcessLookupError):
        return False
    except PermissionError:
        return True
    return True


@contextmanager
def _listening(port: int) -> Iterator[list[int]]:
    """The sockets of the web server as open files, from now until `up` ends, however often the server is restarted.

    Otherwise another user of this machine could listen there while nobody does, and be sent what people type. A browser
    looks for `localhost` at the loopback address of IPv6 first. Raises CommandError.
    """
    with ExitStack() as stack:
        files: list[int] = []
        for family, host in ((socket.AF_INET, HOST), (socket.AF_INET6, "::1")):
            try:
                server = stack.enter_context(socket.socket(family))
                server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                if family == socket.AF_INET6:
                    server.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
                server.bind((host, port))
                server.listen(BACKLOG)
            except OverflowError:
                raise CommandError(f"{port} is not a port. Choose one from 1 to 65535: make run PORT=8001") from None
            except OSError as error:
                if error.errno == errno.EACCES:
                    raise CommandError(
                        f"Port {port} is kept for the system (below 1024); choose a higher one: make run PORT=8001"
                    ) from None
                if error.errno == errno.EADDRINUSE:
                    raise CommandError(
                        f"Port {port} is taken by another program{' at [::1]' if files else ''}. Stop that, or choose "
                        f"another: make run PORT={port + 1}"
                    ) from None
                if files:  # no IPv6 here
                    continue
                raise CommandError(f"The web server cannot listen on {HOST}:{port}: {error.strerror}.") from error
            files.append(server.detach())
            stack.callback(os.close, files[-1])
        yield files


def web_command(*places: str) -> list[str]:
    """The module and its arguments that answer at addresses, or on open files as `fd://3`."""
    binds = [word for place in places for word in ("--bind", place)]
    return ["gunicorn", "--config", "python:config.gunicorn", *binds, "--graceful-timeout", "5", "config.wsgi"]


def _children(data_dir: Path, sockets: Sequence[int], keeps: Callable[[], Sequence[int]]) -> list[Child]:
    beat = ["celery", "-A", "config.clock", "beat", "--loglevel", "INFO", "--pidfile="]
    commands = (
        ("web", web_command(*(f"fd://{each}" for each in sockets)), 8.0),
        ("worker", ["celery", "-A", "config", "worker", "--loglevel", "INFO"], 10.0),
        ("beat", [*beat, "--schedule", str(data_dir / "beat-schedule")], 5.0),
    )
    return [
        Child(
            name=name,
            command=command,
            is_forked=True,
            keeps=(lambda: (*keeps(), *sockets)) if name == "web" else keeps,
            log=data_dir / "logs" / f"{name}.log",
            stop_seconds=seconds,
        )
        for name, command, seconds in commands
    ]
