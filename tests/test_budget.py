"""A test that takes too long fails the run, a slow machine does not."""

import pytest

from tests import budget
from tests.budget import BUDGET_SECONDS, FILES_COMPARED, NOISE, Budget

STORED = {f"test_{n}.py": 4.0 for n in range(FILES_COMPARED)}


@pytest.fixture(autouse=True)
def _idle(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(budget, "is_busy", lambda: False)


def run(longest: float, slowness: float = 1.0, files: int = FILES_COMPARED) -> Budget:
    """A run on a machine that is so slow, of so many files that were measured before."""
    took = {file: seconds * slowness for file, seconds in list(STORED.items())[:files]}
    return Budget({"longest": longest, "short": 0.1}, took, STORED)


def test_a_test_beyond_the_budget_is_listed_and_far_beyond_it_fails_the_run() -> None:
    assert run(BUDGET_SECONDS).over() == []
    assert run(BUDGET_SECONDS + 0.1).over() == [(BUDGET_SECONDS + 0.1, "longest")]
    assert not run(BUDGET_SECONDS + 0.1).is_exceeded()
    assert run(BUDGET_SECONDS * NOISE + 0.1).is_exceeded()


def test_a_slow_machine_has_as_much_more_time_as_it_is_slower() -> None:
    assert not run(BUDGET_SECONDS * NOISE * 1.5, slowness=1.6).is_exceeded()
    assert run(BUDGET_SECONDS * NOISE * 1.7, slowness=1.6).is_exceeded()


def test_a_fast_machine_has_no_less_time_and_one_file_says_nothing_of_a_machine() -> None:
    assert run(0.1, slowness=0.5).slowness() == 1.0
    assert run(0.1, slowness=5, files=FILES_COMPARED - 1).slowness() == 1.0


def test_one_file_that_took_long_does_not_make_a_machine_slow() -> None:
    took = {**STORED, "test_0.py": 400.0}
    assert Budget({}, took, STORED).slowness() == 1.0


def test_where_other_things_run_nothing_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(budget, "is_busy", lambda: True)
    assert not run(100).is_exceeded()
