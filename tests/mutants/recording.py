"""Coverage by test, recorded while the suite runs: `pytest -p tests.mutants.recording`.

Each process writes `.mutants/coverage.PID`, whose contexts are the ids of the tests, and `.mutants/durations.PID.json`.
"""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import coverage
import pytest

FOLDER = Path(__file__).resolve().parent.parent.parent / ".mutants"
SOURCES = ("accounts", "annotation", "config", "ingest", "taxonomy")

_coverage = coverage.Coverage(
    data_file=str(FOLDER / f"coverage.{os.getpid()}"), source=list(SOURCES), config_file=False
)
_seconds: dict[str, float] = {}


def pytest_sessionstart(session: pytest.Session) -> None:
    FOLDER.mkdir(exist_ok=True)
    _coverage.start()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    _coverage.switch_context(item.nodeid)
    try:
        return (yield)
    finally:
        _coverage.switch_context("")


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    _seconds[report.nodeid] = _seconds.get(report.nodeid, 0.0) + report.duration


def pytest_sessionfinish(session: pytest.Session) -> None:
    _coverage.stop()
    _coverage.save()
    (FOLDER / f"durations.{os.getpid()}.json").write_text(json.dumps(_seconds))
