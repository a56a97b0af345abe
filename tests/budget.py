"""Seconds that a test may take, on a machine of any speed."""

import os
import statistics
from dataclasses import dataclass

BUDGET_SECONDS = 3.0
"""A test that takes longer is listed."""
NOISE = 4.0
"""How many times as long it may take beside the other processes of the run, before the run fails."""
FILES_COMPARED = 20
"""How many files must have run that were measured before, to tell how slow the machine is."""


@dataclass(frozen=True)
class Budget:
    """What a run took.

    `tests` maps the name of a test to its seconds, `files` the path of a file to its seconds, and `stored` the path of
    a file to the seconds that it took when it was measured last.
    """

    tests: dict[str, float]
    files: dict[str, float]
    stored: dict[str, float]

    def over(self) -> list[tuple[float, str]]:
        """Tests over `BUDGET_SECONDS`, the longest first."""
        return sorted(((took, name) for name, took in self.tests.items() if took > BUDGET_SECONDS), reverse=True)

    def slowness(self) -> float:
        """How many times as long as when they were measured the files took: the median, at least 1."""
        ratios = [took / self.stored[file] for file, took in self.files.items() if file in self.stored]
        return max(1.0, statistics.median(ratios)) if len(ratios) >= FILES_COMPARED else 1.0

    def allowed(self) -> float:
        """Seconds that a test may take here: more on a machine that is slower than the one that was measured."""
        return BUDGET_SECONDS * NOISE * self.slowness()

    def is_exceeded(self) -> bool:
        """Whether a test took too long. Never where the machine has so much else to do that no time says anything."""
        return not is_busy() and any(took > self.allowed() for took, _ in self.over())


def is_busy() -> bool:
    return os.getloadavg()[1] > 2.5 * (os.cpu_count() or 1)
