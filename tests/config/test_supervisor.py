"""The supervisor restarts what dies and leaves nobody behind."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from config import supervisor
from config.supervisor import Child, Supervisor

BASE_DIR = Path(__file__).resolve().parents[2]
SLEEPER = [sys.executable, "-c", "import time; print('here', flush=True); time.sleep(60)"]


def _until(true: Callable[[], bool], tick: Callable[[], None] = lambda: None, seconds: float = 20) -> bool:
    ends_at = time.monotonic() + seconds
    while time.monotonic() < ends_at:
        tick()
        if true():
            return True
        time.sleep(0.02)
    return False


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Callable[..., Supervisor]]:
    started = []

    def start(command: list[str], **options: object) -> Supervisor:
        said = options.pop("said", [])
        child = Child(name="child", command=command, log=tmp_path / "child.log", **options)
        started.append(Supervisor([child], say=said.append))
        started[-1].start()
        return started[-1]

    yield start
    for one in started:
        one.stop()


def test_a_child_that_dies_is_started_again_and_it_is_said(run: Callable[..., Supervisor]) -> None:
    said: list[str] = []
    children = run(SLEEPER, said=said)
    first = children.pids()["child"]
    os.kill(first, signal.SIGKILL)
    assert _until(lambda: children.pids().get("child", first) != first, children.tick)
    assert said[0].startswith("child ended (SIGKILL), starting again in ")


def test_a_child_that_keeps_dying_is_started_more_and_more_slowly(
    run: Callable[..., Supervisor], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervisor, "RESTART_SECONDS_FIRST", 0.01)
    said: list[str] = []
    children = run([sys.executable, "-c", "raise SystemExit(3)"], said=said)
    assert _until(lambda: children.n_failures("child") >= 3, children.tick)
    assert "exit 3" in said[0]


def test_a_program_that_is_not_there_is_logged_and_tried_again(run: Callable[..., Supervisor], tmp_path: Path) -> None:
    children = run([str(tmp_path / "nothing")])
    assert children.n_failures("child") == 1
    assert "did not start" in (tmp_path / "child.log").read_text()


def test_stopping_ends_the_childs_children_too(run: Callable[..., Supervisor], tmp_path: Path) -> None:
    code = f"import subprocess; subprocess.Popen({SLEEPER!r}); import time; time.sleep(60)"
    children = run([sys.executable, "-c", code])
    master = psutil.Process(children.pids()["child"])
    assert _until(lambda: len(master.children()) == 1)
    (grandchild,) = master.children()
    children.stop()
    assert not master.is_running()
    assert _until(lambda: not grandchild.is_running() or grandchild.status() == psutil.STATUS_ZOMBIE)


def test_a_child_that_does_not_listen_is_killed_after_its_time(run: Callable[..., Supervisor], tmp_path: Path) -> None:
    code = "import signal, time; signal.signal(15, signal.SIG_IGN); print('deaf', flush=True); time.sleep(60)"
    said: list[str] = []
    children = run([sys.executable, "-c", code], said=said, stop_seconds=0.2)
    assert _until(lambda: "deaf" in (tmp_path / "child.log").read_text())
    children.stop()
    assert said == ["child did not stop in time and was killed."]
    assert children.pids() == {}


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel's word to children is Linux's")
def test_no_child_outlives_a_supervisor_that_was_killed(tmp_path: Path) -> None:
    code = f"""
import time
from pathlib import Path
from config.supervisor import Child, Supervisor
children = Supervisor([Child(name="child", command={SLEEPER!r}, log=Path({str(tmp_path / "log")!r}))])
children.start()
print(children.pids()["child"], flush=True)
time.sleep(60)
"""
    with subprocess.Popen([sys.executable, "-c", code], cwd=BASE_DIR, stdout=subprocess.PIPE) as parent:
        child = psutil.Process(int(parent.stdout.readline()))
        assert _until(lambda: "here" in (tmp_path / "log").read_text())
        parent.kill()
    assert _until(lambda: not child.is_running() or child.status() == psutil.STATUS_ZOMBIE)


def test_a_log_that_has_grown_large_is_put_aside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervisor, "LOG_BYTES_MOST", 10)
    log = tmp_path / "web.log"
    log.write_text("x" * 11)
    supervisor.open_log(log).close()
    assert log.read_text() == ""
    assert (tmp_path / "web.old").read_text() == "x" * 11
