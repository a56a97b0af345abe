"""What an idle Concord keeps in memory, and what a request right after a start still imports."""

import json
import os
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import psutil
import pytest

from tests.conftest import environment_of_servers
from tests.site import Site, wait_until

BASE_DIR = Path(__file__).resolve().parents[2]
SELDOM = ("botocore", "boto3", "github", "openpyxl", "pandas", "statsmodels")
"""Packages of jobs and of seldom pages; they are imported where they are used."""
IDLE_BYTES_MAX = 400_000_000


def imported(code: str, environment: dict[str, str] | None = None) -> set[str]:
    """The modules that a new Python has imported after this code, or of them those that the code calls `late`."""
    code += "\nimport json, sys\nprint(json.dumps(sorted(globals().get('late', sys.modules))))"
    kept = {name: value for name, value in (environment or os.environ).items() if not name.startswith("S3_")}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=BASE_DIR, env=kept, check=False, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stdout.splitlines()[-1]))


def test_the_keeper_of_the_servers_loads_no_django() -> None:
    found = imported("import config.embedded")
    assert not found & {"django", "celery", "redis", "config.settings", "config.celery"}


def test_the_clock_loads_nothing_of_the_application() -> None:
    found = imported("from config.clock import app; app.loader.import_default_modules(); app.finalize()")
    assert not found & {"annotation", "ingest", "taxonomy", "rest_framework", "numpy", "pyarrow", "psycopg2"}
    assert "config.settings" in found


@pytest.mark.process
def test_web_and_worker_load_no_package_that_is_seldom_needed() -> None:
    found = imported("import django; django.setup(); from config import preload; preload.load()")
    assert found >= {"annotation.labeling.views.labeling", "annotation.jobs", "ingest.jobs", "config.urls"}
    assert not found & set(SELDOM)


FIRST_REQUESTS = """
import sys
import config.wsgi
from django.contrib.auth.hashers import make_password
from django.test import Client
client, before = Client(), set(sys.modules)
assert client.get("/healthz").status_code == 200
page = client.get("/sign-in/")
assert page.status_code == 200 and b"password" in page.content
assert client.get("/").status_code == 200
assert client.get("/api/v1/studies/").status_code == 401
assert client.get("/nowhere/").status_code == 404
make_password("any")
late = set(sys.modules) - before
"""


@pytest.mark.process
@pytest.mark.django_db
def test_no_request_right_after_a_start_imports_a_module() -> None:
    assert imported(FIRST_REQUESTS, environment_of_servers() | {"ALLOWED_HOSTS": "testserver"}) == set()


def _memory_of(process: psutil.Process) -> int:
    """The process's share of memory in bytes; a database session that has just ended has none."""
    try:
        return int(process.memory_full_info().pss)
    except psutil.NoSuchProcess:
        return 0


@pytest.mark.process
@pytest.mark.skipif(sys.platform != "linux", reason="memory by process is read from Linux")
def test_an_idle_site_is_small_and_what_dies_is_replaced_by_a_fork(tmp_path: Path) -> None:
    site = Site(tmp_path / "data")
    try:
        up = psutil.Process(site.pid)
        assert len(site.web()) == 1 + min(os.cpu_count() or 1, 4) and len(site.workers()) == 3
        for kind in (site.web, site.workers, site.clock):
            (first, *_) = kind()
            assert first.cmdline() == up.cmdline() and first.ppid() == up.pid
            first.send_signal(signal.SIGKILL)
            wait_until(lambda kind=kind, gone=first: (kind() or [gone])[0].pid != gone.pid, "another one is there")
        wait_until(lambda: len(site.workers()) == 3 and len(site.web()) >= 2, "all are back")

        def answers() -> bool:
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{site.port}/readyz") as answer:
                    return bool(answer.status == 200)
            except OSError:  # 503, or nobody listens yet
                return False

        wait_until(answers, "the site answers")
        kinds = "from config.heartbeats import pulses as p; print(*sorted({x.kind for x in p() or [] if x.is_alive}))"
        wait_until(lambda: site.run(kinds) == "clock web worker", "each kind of process reports")
        n_bytes = sum(_memory_of(each) for each in [up, *up.children(recursive=True)])
        assert n_bytes < IDLE_BYTES_MAX, f"{n_bytes / 1e6:.0f} MB"
    finally:
        site.stop()
