"""`up` as a user meets it: it starts, refuses in sentences, and leaves nothing running."""

import os
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import psutil
import pytest

from tests import prepared

BASE_DIR = Path(__file__).resolve().parents[2]
pytestmark = [pytest.mark.process, pytest.mark.timeout(420)]


def _free_port() -> int:
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _environment(data_dir: Path, port: int) -> dict[str, str]:
    left_out = {"DATABASE_URL", "REDIS_URL", "MAKELEVEL"}
    environment = {name: value for name, value in os.environ.items() if name not in left_out}
    return {**environment, "DATA_DIR": str(data_dir), "PORT": str(port), "PYTHONUNBUFFERED": "1"}


def _manage(*arguments: str, data_dir: Path, port: int = 8000) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "manage.py", *arguments],
        check=False,
        cwd=BASE_DIR,
        env=_environment(data_dir, port),
        capture_output=True,
        text=True,
        timeout=300,
    )


@pytest.fixture
def up(tmp_path: Path) -> Iterator[tuple[subprocess.Popen[str], Path, int]]:
    """A running `up --no-demo`: its process, data folder and port."""
    data_dir, port = tmp_path / "data of up", _free_port()
    prepared.first_start(data_dir)
    process = subprocess.Popen(
        [sys.executable, "manage.py", "up", "--no-demo"],
        cwd=BASE_DIR,
        env=_environment(data_dir, port),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    said = ""
    for line in process.stdout:
        said += line
        if "Ctrl-C" in line:
            break
    assert "Concord is ready after" in said and f"http://127.0.0.1:{port}/" in said, said
    assert "manage.py add_user NAME --staff" in said
    yield process, data_dir, port
    if process.poll() is None:
        process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)


def test_up_answers_refuses_a_second_steps_aside_for_a_restore_and_ctrl_c_ends_every_process(
    up: tuple[subprocess.Popen[str], Path, int],
) -> None:
    process, data_dir, port = up
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz") as answer:
        assert answer.status == 200

    second = _manage("up", data_dir=data_dir, port=_free_port())
    assert second.returncode == 1
    assert f"already runs on the data in {data_dir} (process {process.pid}, http://127.0.0.1:{port}/)" in second.stderr

    other = _manage("up", data_dir=data_dir.parent / "other", port=port)
    assert other.returncode == 1
    assert f"Port {port} is taken by another program" in other.stderr
    assert f"make run PORT={port + 1}" in other.stderr
    with _squatter(socket.AF_INET6, "::1") as taken:
        other = _manage("up", data_dir=data_dir.parent / "other", port=taken)
    assert other.returncode == 1 and f"Port {taken} is taken by another program at [::1]" in other.stderr
    _nobody_else_gets_the_port(process, port)

    beside = _manage("showmigrations", "--plan", data_dir=data_dir)
    assert (beside.returncode, "[ ]" in beside.stdout) == (0, False)

    backup = data_dir.parent / "of an empty one.backup"
    assert _manage("backup", str(backup), data_dir=data_dir).returncode == 0
    restored = _manage("restore", str(backup), data_dir=data_dir)
    assert "and verified: " in restored.stdout, restored.stderr
    said = "".join(iter(process.stdout.readline, "Concord goes on.\n"))
    assert "Concord waits until that is done" in said

    family = psutil.Process(process.pid).children(recursive=True)
    assert len(family) >= 6
    process.send_signal(signal.SIGINT)
    said, _ = process.communicate(timeout=60)
    assert said.strip().endswith("Concord has stopped.")
    assert process.returncode == 0
    _, alive = psutil.wait_procs(family, timeout=5)
    assert alive == []


@contextmanager
def _squatter(family: socket.AddressFamily, host: str, port: int = 0) -> Iterator[int]:
    with closing(socket.socket(family)) as server:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        server.bind((host, port))
        server.listen()
        yield server.getsockname()[1]


def _nobody_else_gets_the_port(up: subprocess.Popen[str], port: int) -> None:
    """Both loopback addresses are taken by `up`, also while its web server is dead; what is sent then, waits for it."""
    [web] = [each for each in psutil.Process(up.pid).children() if each.name() == "concord-web"]
    family = [web, *web.children(recursive=True)]
    for each in family:
        each.kill()
    psutil.wait_procs(family)
    for kind, host in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
        with pytest.raises(OSError, match="Address already in use"), _squatter(kind, host, port):
            pass
    for host in ("127.0.0.1", "[::1]", "localhost"):
        with urllib.request.urlopen(f"http://{host}:{port}/readyz", timeout=60) as answer:
            assert answer.status == 200


def test_no_process_outlives_an_up_that_was_killed_not_even_a_worker_that_hangs(
    up: tuple[subprocess.Popen[str], Path, int],
) -> None:
    process, _, _ = up
    family = psutil.Process(process.pid).children(recursive=True)
    [worker] = [each for each in psutil.Process(process.pid).children() if each.name() == "concord-worker"]
    for each in worker.children():
        each.suspend()
    process.kill()
    _, alive = psutil.wait_procs(family, timeout=60)
    assert alive == []


def test_a_start_and_a_restore_wait_for_a_concord_on_the_same_data_that_is_ending(
    up: tuple[subprocess.Popen[str], Path, int],
) -> None:
    process, data_dir, port = up
    backup = data_dir.parent / "of an empty one.backup"
    assert _manage("backup", str(backup), data_dir=data_dir).returncode == 0
    web = [each for each in psutil.Process(process.pid).children() if each.name() == "concord-web"]
    for each in web:
        each.suspend()
    process.kill()
    process.wait()
    command = [sys.executable, "manage.py", "up", "--no-demo"]
    again = subprocess.Popen(
        command, cwd=BASE_DIR, env=_environment(data_dir, port), stdout=subprocess.PIPE, text=True, bufsize=1
    )
    try:
        assert again.stdout
        assert "is ending. Waiting for it" in again.stdout.readline()
        restoring = subprocess.Popen(
            [sys.executable, "manage.py", "restore", str(backup)],
            cwd=BASE_DIR, env=_environment(data_dir, port), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip
        with pytest.raises(subprocess.TimeoutExpired):
            restoring.wait(3)
        for each in web:
            each.resume()
        said, _ = restoring.communicate(timeout=90)
        assert "and verified: " in said
        assert any("Ctrl-C" in line for line in again.stdout)
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz") as answer:
            assert answer.status == 200
    finally:
        again.send_signal(signal.SIGINT)
        again.communicate(timeout=60)


def test_a_command_brings_its_own_servers_and_tables_and_stops_them(tmp_path: Path) -> None:
    code = "from accounts.models import User; print('users', User.objects.count())"
    for _ in range(2):
        done = _manage("shell", "-v", "0", "-c", code, data_dir=tmp_path / "d")
        assert (done.returncode, done.stdout.strip()) == (0, "users 0"), done.stderr
    assert not any(
        "config.embedded" in (p.info["cmdline"] or []) and str(tmp_path / "d") in p.info["cmdline"]
        for p in psutil.process_iter(["cmdline"])
    )


def test_nonsense_in_the_environment_is_one_sentence_without_a_traceback(tmp_path: Path) -> None:
    done = _manage("up", data_dir=tmp_path, port=99999)
    assert done.returncode == 1
    assert done.stderr.strip() == "PORT is '99999'; enter a whole number from 1 to 65535."


def test_a_data_folder_that_cannot_be_written_is_refused_in_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    done = _manage("up", data_dir=tmp_path / "file" / "data")
    assert done.returncode == 1
    assert done.stderr.startswith(f"The data folder {tmp_path / 'file' / 'data'} cannot be used")
    assert "Traceback" not in done.stderr


def test_a_half_copied_database_is_refused_in_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "postgres" / "base").mkdir(parents=True)
    done = _manage("up", data_dir=tmp_path, port=_free_port())
    assert done.returncode == 1
    assert "is not a whole PostgreSQL folder" in done.stderr
    assert "Traceback" not in done.stderr


def test_two_commands_at_once_on_a_new_data_folder_share_servers_and_tables(tmp_path: Path) -> None:
    code = "from accounts.models import User; print('users', User.objects.count())"
    command = [sys.executable, "manage.py", "shell", "-v", "0", "-c", code]
    both = [
        subprocess.Popen(
            command,
            cwd=BASE_DIR,
            env=_environment(tmp_path, 8000),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    for process in both:
        said, complaint = process.communicate(timeout=300)
        assert (process.returncode, said.strip()) == (0, "users 0"), complaint
