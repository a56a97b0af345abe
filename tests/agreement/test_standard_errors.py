"""Analytic standard errors against the jackknife and simulated studies, also where units have one rating."""

from typing import Any

import numpy as np
import pytest

import agreement
from agreement import Patterns
from tests.simulation import WHOLE

STUDIES = 2000 if WHOLE else 200
SLACK = 0.1 if WHOLE else 0.25
"""The spread of 200 studies is itself known to about 5%, one standard error."""
UNITS = 400
SHARES = np.array([0.5, 0.3, 0.2])
CELLS = 0.6 * np.diag(SHARES) + 0.4 * np.outer(SHARES, SHARES)
NAMES = agreement.COEFFICIENTS
SINGLE_SHARES = (0.0, 0.5, 0.9)


def study(rng: np.random.Generator, single_share: float, units: int = UNITS) -> dict[tuple[int, int], int]:
    """How many units got which pair of labels, −1 where the second rater gave none."""
    n_single = round(units * single_share)
    both = rng.multinomial(units - n_single, CELLS.ravel())
    alone = rng.multinomial(n_single, SHARES)
    counts = {divmod(cell, 3): int(n) for cell, n in enumerate(both) if n}
    return counts | {(category, -1): int(n) for category, n in enumerate(alone) if n}


def patterns_of(counts: dict[tuple[int, int], int]) -> Patterns:
    rows = [(tuple(None if k < 0 else k for k in cell), n) for cell, n in counts.items()]
    return Patterns.from_counts(rows, categories=[0, 1, 2])


def measured(name: str, patterns: Patterns) -> Any:
    return getattr(agreement, name)(patterns, intervals=False)


def jackknife(name: str, counts: dict[tuple[int, int], int]) -> float:
    """Leaves out one unit of each pattern in turn (Efron and Tibshirani 1993, ch. 11)."""
    n = sum(counts.values())
    values, weights = [], []
    for cell, times in counts.items():
        without = {**counts, cell: times - 1}
        values.append(measured(name, patterns_of({key: n for key, n in without.items() if n})).value)
        weights.append(times)
    mean = np.average(values, weights=weights)
    return float(np.sqrt((n - 1) / n * np.dot(weights, (np.array(values) - mean) ** 2)))


@pytest.mark.parametrize("single_share", SINGLE_SHARES)
@pytest.mark.parametrize("name", NAMES)
def test_the_standard_error_is_that_of_the_jackknife(name: str, single_share: float) -> None:
    counts = study(np.random.default_rng(7), single_share)
    assert measured(name, patterns_of(counts)).se == pytest.approx(jackknife(name, counts), rel=0.1)


@pytest.mark.hypothesis
@pytest.mark.parametrize("single_share", SINGLE_SHARES)
def test_the_standard_error_is_the_spread_of_simulated_studies(single_share: float) -> None:
    rng = np.random.default_rng([11, round(100 * single_share)])
    found = [[measured(name, patterns_of(counts)) for name in NAMES] for counts in _studies(rng, single_share)]
    for place, name in enumerate(NAMES):
        spread = np.std([row[place].value for row in found], ddof=1)
        assert np.mean([row[place].se for row in found]) == pytest.approx(spread, rel=SLACK), name


def _studies(rng: np.random.Generator, single_share: float) -> list[dict[tuple[int, int], int]]:
    return [study(rng, single_share) for _ in range(STUDIES)]


def test_units_with_one_rating_do_not_count_as_disagreements() -> None:
    """Of 1,000 items a tenth is rated by two: the error of AC1 was printed as 0.090, and is about 0.044."""
    counts = study(np.random.default_rng(3), 0.9, units=1000)
    both = {cell: n for cell, n in counts.items() if cell[1] >= 0}
    for name in ("percent_agreement", "brennan_prediger"):
        one, other = measured(name, patterns_of(counts)).se, measured(name, patterns_of(both)).se
        assert one == pytest.approx(other, rel=1e-9), name
    assert measured("gwet_ac1", patterns_of(counts)).se < 1.1 * measured("gwet_ac1", patterns_of(both)).se
