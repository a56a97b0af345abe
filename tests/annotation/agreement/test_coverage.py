"""How often a 95 % interval holds the true value, over simulated studies; the table stands in docs/agreement.md."""

import numpy as np
import pytest

from annotation import agreement
from annotation.agreement import Patterns

STUDIES = 2000
SHARES = np.array([0.45, 0.3, 0.15, 0.1])
KAPPAS = (0.4, 0.6, 0.8, 0.9)
NAMES = ("cohen_kappa", "krippendorff_alpha", "gwet_ac1")


def cells(kappa: float) -> np.ndarray:
    """What two raters with the same habits say of a unit, so that chance-corrected agreement is exactly `kappa`.

    They know a share `kappa` of the units and guess the others by their habits: Cohen's kappa, Scott's pi and
    Krippendorff's alpha of the whole population are `kappa`.
    """
    return kappa * np.diag(SHARES) + (1 - kappa) * np.outer(SHARES, SHARES)


def true_value(name: str, kappa: float) -> float:
    """The coefficient of the whole population."""
    if name != "gwet_ac1":
        return kappa
    observed, chance = np.trace(cells(kappa)), (SHARES * (1 - SHARES)).sum() / (len(SHARES) - 1)
    return float((observed - chance) / (1 - chance))


def coverage(name: str, kappa: float, units: int, studies: int = STUDIES) -> float:
    """The share of simulated studies whose percentile interval (1,000 resamples) holds the true value."""
    rng = np.random.default_rng([units, round(100 * kappa)])
    where = [(a, b) for a in range(len(SHARES)) for b in range(len(SHARES))]
    measured = getattr(agreement, name)
    true = true_value(name, kappa)
    held = 0
    for study in range(studies):
        counts = rng.multinomial(units, cells(kappa).ravel())
        found = measured(Patterns.from_counts(zip(where, counts, strict=True)), seed=study)
        held += found.ci_low is not None and found.ci_low <= true <= found.ci_high
    return held / studies


def test_the_simulated_raters_agree_as_much_as_they_are_told_to():
    where = [(a, b) for a in range(4) for b in range(4)]
    for kappa in KAPPAS:
        counts = np.rint(cells(kappa).ravel() * 1e6).astype(int)
        patterns = Patterns.from_counts(zip(where, counts, strict=True))
        for name in NAMES:
            found = getattr(agreement, name)(patterns, resamples=0).value
            assert found == pytest.approx(true_value(name, kappa), abs=1e-5)


@pytest.mark.soak
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kappa", KAPPAS)
@pytest.mark.parametrize("units", [200, 1000])
def test_the_interval_holds_the_true_value_in_95_of_100_studies(name: str, kappa: float, units: int):
    assert coverage(name, kappa, units) == pytest.approx(0.95, abs=0.02)


@pytest.mark.soak
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kappa", KAPPAS)
def test_with_50_units_it_holds_it_less_often_but_never_wildly(name: str, kappa: float):
    assert coverage(name, kappa, 50) > 0.8
