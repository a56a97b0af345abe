"""Supervisor of child processes: starts them, restarts those that die, and stops all of them."""

import ctypes
import importlib.util
import os
import runpy
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

RESTART_SECONDS_FIRST = 0.5
RESTART_SECONDS_MOST = 30.0
STEADY_SECONDS = 30.0  # a child that lived this long starts again at once when it dies
LOG_BYTES_MOST = 10 * 1024 * 1024
TRIM_SECONDS = 60.0
PR_SET_PDEATHSIG, PR_SET_NAME = 1, 15
ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def die_with_parent(signal_number: int) -> None:
    """Ask Linux to send the calling process this signal when its parent is gone, `kill -9` included.

    To be called in the child after any change of user, because that clears the wish.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal_number, 0, 0, 0)


def end_after(parent: int, seconds: float) -> None:
    """Kill the process group of the calling process so many seconds after its parent is gone.

    It is what a supervisor does to a child that does not stop in time, for a supervisor that was killed.
    """
    while os.getppid() == parent:
        time.sleep(1)
    time.sleep(seconds)
    os.killpg(0, signal.SIGKILL)


def name_process(name: str) -> None:
    """Set the name of the calling process that `ps -o comm` and `top` show; at most 15 characters."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_NAME, name.encode(), 0, 0, 0)


@dataclass(frozen=True, kw_only=True)
class Child:
    """One process to keep running; its output is appended to `log`.

    With `is_forked` the command is a module and its arguments, as after `python -m`. It runs in a fork of this process,
    so what this process has imported is there at once and takes its memory once.
    """

    name: str
    command: Sequence[str | Path]
    log: Path
    is_forked: bool = False
    keeps: Callable[[], Sequence[int]] = tuple
    """The open files that a fork shares with this process, such as those of locks; all others are closed."""
    environment: Mapping[str, str] = field(default_factory=dict)
    folder: Path | None = None
    stop_signal: int = signal.SIGTERM
    stop_seconds: float = 10.0
    become: Callable[[], None] | None = None
    """Called in the new process before the program starts, to change its user."""


class _RunningChild:
    def __init__(self, child: Child) -> None:
        self.child = child
        self.process: subprocess.Popen[bytes] | Fork | None = None
        self.started_at = 0.0
        self.due_at = 0.0
        self.n_failures = 0

    def start(self) -> None:
        child, parent = self.child, os.getpid()

        def prepare() -> None:
            if child.become:
                child.become()
            die_with_parent(child.stop_signal)
            if os.getppid() != parent:  # the parent died before the wish was known
                os._exit(1)

        self.started_at = time.monotonic()
        try:
            with open_log(child.log) as log:
                if child.is_forked:

                    def run() -> None:
                        prepare()
                        threading.Thread(target=end_after, args=(parent, child.stop_seconds), daemon=True).start()
                        os.environ.update(child.environment)
                        name_process(f"concord-{child.name}")
                        run_module(child.command)

                    self.process = Fork(run, log.fileno(), child.keeps())
                    return
                self.process = subprocess.Popen(
                    [str(part) for part in child.command],
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    cwd=child.folder,
                    env={**os.environ, **child.environment},
                    start_new_session=True,
                    preexec_fn=prepare,
                )
        except (OSError, subprocess.SubprocessError) as error:
            with open_log(child.log) as log:
                log.write(f"{child.name} did not start: {error}\n".encode())
            self.plan_restart()

    def plan_restart(self) -> None:
        steady = time.monotonic() - self.started_at > STEADY_SECONDS
        self.n_failures = 1 if steady else self.n_failures + 1
        wait_seconds = min(RESTART_SECONDS_FIRST * 2 ** (self.n_failures - 1), RESTART_SECONDS_MOST)
        self.due_at = time.monotonic() + wait_seconds

    def sweep(self, signal_number: int = signal.SIGKILL) -> None:
        """Signal whatever is left of the child's session: workers whose master is gone."""
        if self.process:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.process.pid, signal_number)


class Fork:
    """A fork of this process that runs a function, with those methods of `Popen` that a supervisor needs.

    To be made while this process has one thread and no connection. The fork gets a session of its own, no open files
    but its log and what it keeps, and the usual handlers of signals; it ends with the function.
    """

    def __init__(self, run: Callable[[], object], log: int | None = None, keeps: Sequence[int] = ()) -> None:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        self.returncode: int | None = None
        before = signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
        try:
            self.pid = os.fork()
            if self.pid == 0:
                self._be(run, log, keeps)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def _be(self, run: Callable[[], object], log: int | None, keeps: Sequence[int]) -> None:
        code = 1
        try:
            os.setsid()
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            if log is not None:
                os.dup2(log, 1)
                os.dup2(log, 2)
            first = 3
            for kept in (*sorted(keeps), os.sysconf("SC_OPEN_MAX")):
                os.closerange(first, kept)
                first = kept + 1
            signal.signal(signal.SIGINT, signal.default_int_handler)
            for number in ENDING[1:]:
                signal.signal(number, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING)
            run()
            code = 0
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else int(end.code is not None)
            if isinstance(end.code, str):
                print(end.code, file=sys.stderr)
        except BaseException:
            sys.excepthook(*sys.exc_info())
        finally:
            for stream in (sys.stdout, sys.stderr):
                with suppress(OSError, ValueError):
                    stream.flush()
            os._exit(code)

    def poll(self) -> int | None:
        if self.returncode is None:
            with suppress(ChildProcessError):
                pid, status = os.waitpid(self.pid, os.WNOHANG)
                if pid:
                    self.returncode = os.waitstatus_to_exitcode(status)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """How it ended; raises TimeoutExpired where it has not after so many seconds."""
        ends_at = time.monotonic() + timeout if timeout is not None else None
        while (code := self.poll()) is None:
            if ends_at is not None and time.monotonic() > ends_at:
                raise subprocess.TimeoutExpired("fork", timeout or 0.0)
            time.sleep(0.01)
        return code

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)


def run_module(words: Sequence[str | Path]) -> None:
    """As `python -m` with these words does, in this process."""
    module, *arguments = map(str, words)
    spec = importlib.util.find_spec(f"{module}.__main__")
    sys.argv = [spec.origin if spec and spec.origin else module, *arguments]
    runpy.run_module(module, run_name="__main__", alter_sys=False)


def open_log(path: Path):  # type: ignore[no-untyped-def]  # a binary file, open for appending
    """The log file, opened for appending; one that has grown too large is put aside as `….old` first."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with suppress(FileNotFoundError):
        if path.stat().st_size > LOG_BYTES_MOST:
            path.replace(path.with_suffix(".old"))
    return path.open("ab", buffering=0)


def trim_log(path: Path) -> None:
    """A log that has grown too large while it is written to goes to `….old`, and begins anew."""
    with suppress(OSError):
        if path.stat().st_size > LOG_BYTES_MOST:
            shutil.copyfile(path, path.with_suffix(".old"))
            os.truncate(path, 0)  # whoever writes appends, and so goes on at the beginning


class Supervisor:
    """Runs children until told to stop. One thread; `tick` has to be called a few times a second."""

    def __init__(self, children: Sequence[Child], *, say: Callable[[str], None] = lambda _: None) -> None:
        self._running = [_RunningChild(child) for child in children]
        self._say = say
        self._trimmed_at = time.monotonic()

    def start(self) -> None:
        for running in self._running:
            running.start()

    def tick(self) -> None:
        """Take note of what died, start again what is due, and keep logs short."""
        if time.monotonic() - self._trimmed_at > TRIM_SECONDS:
            self._trimmed_at = time.monotonic()
            for running in self._running:
                trim_log(running.child.log)
        for running in self._running:
            process = running.process
            if process and process.poll() is not None:
                running.sweep()
                running.process = None
                running.plan_restart()
                wait_seconds = max(0.0, running.due_at - time.monotonic())
                self._say(
                    f"{running.child.name} ended ({_how(process.returncode)}), starting again in {wait_seconds:.1f} s; "
                    f"see {running.child.log}"
                )
            elif not process and time.monotonic() >= running.due_at:
                running.start()

    def n_failures(self, name: str) -> int:
        """How often in a row this child has died without running steadily in between."""
        return max((running.n_failures for running in self._running if running.child.name == name), default=0)

    def pids(self) -> dict[str, int]:
        return {running.child.name: running.process.pid for running in self._running if running.process}

    def stop(self) -> None:
        """Stop all children, last started first to be told, and return when none is left."""
        told = [running for running in reversed(self._running) if running.process]
        for running in told:
            assert running.process
            with suppress(ProcessLookupError):
                running.process.send_signal(running.child.stop_signal)
        started_at = time.monotonic()
        for running in told:
            assert running.process
            left_seconds = running.child.stop_seconds - (time.monotonic() - started_at)
            try:
                running.process.wait(max(0.1, left_seconds))
            except subprocess.TimeoutExpired:
                self._say(f"{running.child.name} did not stop in time and was killed.")
            running.sweep()
            running.process.wait()
            running.process = None


def _how(returncode: int | None) -> str:
    if returncode is None or returncode >= 0:
        return f"exit {returncode}"
    with suppress(ValueError):
        return signal.Signals(-returncode).name
    return f"signal {-returncode}"
