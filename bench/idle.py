"""`manage.py up`: how long a start takes, its memory when idle, and the first page of fifty people at once."""

import http.client
import os
import re
import signal
import socket
import statistics
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import psutil

BASE_DIR = Path(__file__).resolve().parent.parent
N_PEOPLE = 50
PASSWORD = "a word for the benchmark"
IDLE_SECONDS = 20
PEOPLE = f"""
from accounts.models import User
for number in range({N_PEOPLE}):
    User.objects.create_user(f"person{{number}}", password={PASSWORD!r})
"""
IMPORT = "import config.wsgi, psutil; print(psutil.Process().memory_full_info().pss)"


def measure(size: int, folder: Path) -> list[dict[str, Any]]:
    """Once, because it does not depend on a size."""
    place = folder / "idle"
    if place.exists():
        return []
    environment = _environment(place)
    manage = [sys.executable, "manage.py"]
    subprocess.run([*manage, "shell", "-v", "0", "-c", PEOPLE], cwd=BASE_DIR, env=environment, check=True)
    began = time.perf_counter()
    alone = float(subprocess.check_output([sys.executable, "-c", IMPORT], cwd=BASE_DIR, env=environment))
    importing = time.perf_counter() - began
    with _running(environment) as (process, seconds):
        time.sleep(IDLE_SECONDS)
        by_kind = _memory(process.pid)
        first = _first_pages(int(environment["PORT"]))
    whole = sum(by_kind.values())
    ratio = whole / alone
    kinds = ", ".join(f"{kind} {n_bytes / 1e6:.0f}" for kind, n_bytes in by_kind.most_common())
    p50, p95 = statistics.median(first), statistics.quantiles(first, n=20)[-1]
    return [
        _row("a warm start of `up`", f"{seconds:.1f} s", f"{importing:.1f} s one import", seconds / importing),
        _row("idle, all processes", f"{whole / 1e6:.0f} MB ({kinds})", f"{alone / 1e6:.0f} MB one import", ratio),
        _row(
            f"the first page of {N_PEOPLE} people who sign in at once",
            f"p50 {p50:.2f} s, p95 {p95:.2f} s",
            f"{min(first):.2f} s the quickest",
            p50 / min(first),
        ),
    ]


def _row(what: str, measured: str, reference: str, ratio: float) -> dict[str, Any]:
    return {"what": what, "items": 0, "measured": measured, "reference": reference, "ratio": f"{ratio:.2f}"}


def _environment(place: Path) -> dict[str, str]:
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    kept = {name: value for name, value in os.environ.items() if name not in {"DATABASE_URL", "REDIS_URL"}}
    kept.pop("ALLOWED_HOSTS", None)
    return kept | {"DATA_DIR": str(place), "PORT": str(port)}


@contextmanager
def _running(environment: dict[str, str]) -> Iterator[tuple[psutil.Popen, float]]:
    """A site that is ready, and the seconds until it was."""
    began = time.perf_counter()
    process = psutil.Popen(
        [sys.executable, "manage.py", "up", "--no-demo"],
        cwd=BASE_DIR, env=environment, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        for line in process.stdout:
            if "is ready" in line:
                break
        yield process, time.perf_counter() - began
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)


def _memory(pid: int) -> Counter[str]:
    """The proportional share of memory by kind of process."""
    found: Counter[str] = Counter()
    whole = psutil.Process(pid)
    for process in (whole, *whole.children(recursive=True)):
        with suppress(psutil.NoSuchProcess):
            found[_kind(process, whole)] += process.memory_full_info().pss
    return found


def _kind(process: psutil.Process, whole: psutil.Process) -> str:
    if process == whole:
        return "up"
    if process.name().startswith("concord-"):
        return process.name().removeprefix("concord-")
    words = " ".join(process.cmdline())
    return "keeper" if "config.embedded" in words else "Valkey" if "valkey" in words else "PostgreSQL"


def _first_pages(port: int) -> list[float]:
    """The seconds until each of so many people, who come at once, has signed in and sees a page."""
    times: list[float] = []
    start = threading.Barrier(N_PEOPLE)

    def come(number: int) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
        start.wait()
        began = time.perf_counter()
        cookies: dict[str, str] = {}
        page = _asked(connection, "GET", "/sign-in/", cookies)
        (token,) = re.findall(r'name="csrfmiddlewaretoken" value="(\w+)"', page)
        form = {"csrfmiddlewaretoken": token, "username": f"person{number}", "password": PASSWORD}
        _asked(connection, "POST", "/sign-in/", cookies, urlencode(form))
        assert f"person{number}" in _asked(connection, "GET", "/", cookies)
        times.append(time.perf_counter() - began)

    threads = [threading.Thread(target=come, args=[number]) for number in range(N_PEOPLE)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(times) == N_PEOPLE
    return times


def _asked(
    connection: http.client.HTTPConnection, method: str, path: str, cookies: dict[str, str], body: str | None = None
) -> str:
    headers = {"Cookie": "; ".join(f"{name}={value}" for name, value in cookies.items())}
    if body:
        headers["Content-Type"] = "application/x-www-form-urlencoded"
    connection.request(method, path, body, headers)
    answer = connection.getresponse()
    for each in answer.headers.get_all("Set-Cookie") or []:
        name, _, value = each.partition(";")[0].partition("=")
        cookies[name] = value
    said = answer.read().decode()
    assert answer.status in {200, 302}, said[:500]
    return said
