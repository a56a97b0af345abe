"""Inter-rater agreement on rating patterns with counts; needs Python and NumPy only."""

from .benchmarks import SCALES, benchmark
from .coefficients import (
    COEFFICIENTS,
    Coefficient,
    brennan_prediger,
    cohen_kappa,
    conger_kappa,
    fleiss_kappa,
    gwet_ac1,
    gwet_ac2,
    krippendorff_alpha,
    percent_agreement,
    scott_pi,
    weighted_kappa,
)
from .metrics import jaccard_distance, masi_distance
from .pairs import by_category, by_pair, confusion
from .patterns import Patterns, category_label
from .summary import METRICS_BY_KIND, TITLES, one_coefficient, summary, warnings

__all__ = [
    "COEFFICIENTS",
    "METRICS_BY_KIND",
    "SCALES",
    "TITLES",
    "Coefficient",
    "Patterns",
    "benchmark",
    "brennan_prediger",
    "by_category",
    "by_pair",
    "category_label",
    "cohen_kappa",
    "confusion",
    "conger_kappa",
    "fleiss_kappa",
    "gwet_ac1",
    "gwet_ac2",
    "jaccard_distance",
    "krippendorff_alpha",
    "masi_distance",
    "one_coefficient",
    "percent_agreement",
    "scott_pi",
    "summary",
    "warnings",
    "weighted_kappa",
]
