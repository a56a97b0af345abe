"""The standard errors that irrCAC prints, from Concord's: they differ where units have a single rating.

irrCAC lets a unit with one rating contribute 0 to the observed agreement and then measures how far that lies from the
coefficient, as if the unit disagreed. Observed agreement is a ratio over the other units, so Concord does not.
"""

from typing import Any

import numpy as np

from agreement import Coefficient, Patterns
from agreement.estimators import BrennanPrediger, CongerKappa, FleissKappa, GwetAC, PercentAgreement
from agreement.metrics import distance_by_weights
from agreement.tallies import Tallies

ESTIMATORS: dict[str, type[PercentAgreement]] = {
    "percent_agreement": PercentAgreement,
    "fleiss_kappa": FleissKappa,
    "conger_kappa": CongerKappa,
    "brennan_prediger": BrennanPrediger,
    "gwet_ac1": GwetAC,
    "gwet_ac2": GwetAC,
}


def printed_error(found: Coefficient, patterns: Patterns, weights: Any = "identity") -> float | None:
    """What irrCAC prints as the standard error; the coefficient's own one where every unit has two ratings or more."""
    if found.name not in ESTIMATORS:
        return found.se
    estimator = ESTIMATORS[found.name](Tallies(patterns), distance_by_weights(weights, patterns.categories))
    tallies, counts = estimator.tallies, estimator.tallies.counts[0]
    n = counts.sum()
    if tallies.pairable.all():
        return found.se
    seen = np.where(tallies.pairable, n / tallies.paired(tallies.counts)[0], 0.0)
    linear = n * estimator.moves(tallies.counts)[0] + estimator.point() * (seen - 1)
    return float(np.sqrt(counts @ linear**2 / (n * (n - 1))))
