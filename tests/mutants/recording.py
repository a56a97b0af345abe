"""Coverage by test of what the patches change, recorded while the suite runs: `pytest -p tests.mutants.recording`.

Each process writes `.mutants/coverage.PID`, whose contexts are the ids of the tests, and `.mutants/durations.PID.json`.
"""

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path

import coverage
import pytest

FOLDER = Path(__file__).resolve().parent.parent.parent / ".mutants"


def touched_files() -> list[str]:
    """The Python files that a patch changes or names: all others run without being recorded, which is much quicker."""
    root = Path(__file__).resolve().parent.parent.parent
    texts = [path.read_text() for path in Path(__file__).parent.glob("*.patch")]
    named = {path for text in texts for path in re.findall(r"^(?:--- a/|Touches: )([^\s:]+\.py)\b", text, re.M)}
    return [str(root / path) for path in sorted(named)]


_coverage = coverage.Coverage(
    data_file=str(FOLDER / f"coverage.{os.getpid()}"), include=touched_files(), config_file=False
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
