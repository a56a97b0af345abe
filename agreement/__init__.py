"""Inter-rater agreement on rating patterns with counts; needs Python and NumPy only."""

from agreement.benchmarks import SCALES, benchmark, benchmark_words, probability_at_least
from agreement.clusters import Clusters
from agreement.coefficients import (
    CI_METHODS,
    CLUSTERED,
    EFFECTIVE,
    EXACT,
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
from agreement.intervals import FEWEST
from agreement.metrics import Weights, jaccard_distance, masi_distance, tree_distance, weights_over
from agreement.pairs import against_reference, by_category, by_pair, confused_pairs, confusion, intra_rater
from agreement.patterns import Patterns, category_label
from agreement.planning import PlannedUnits, units_for_width
from agreement.registry import COEFFICIENTS, CoefficientSpec
from agreement.summary import (
    SCALE_WEIGHTS,
    beside,
    bound,
    decimals,
    interval_words,
    one_coefficient,
    share_reaching,
    summary,
    warnings,
)
from agreement.variables import VARIABLES

__all__ = [
    "CI_METHODS",
    "CLUSTERED",
    "COEFFICIENTS",
    "EFFECTIVE",
    "EXACT",
    "FEWEST",
    "SCALES",
    "SCALE_WEIGHTS",
    "VARIABLES",
    "Clusters",
    "Coefficient",
    "CoefficientSpec",
    "Patterns",
    "PlannedUnits",
    "Weights",
    "against_reference",
    "benchmark",
    "benchmark_words",
    "beside",
    "bound",
    "brennan_prediger",
    "by_category",
    "by_pair",
    "category_label",
    "cohen_kappa",
    "confused_pairs",
    "confusion",
    "conger_kappa",
    "decimals",
    "fleiss_kappa",
    "gwet_ac1",
    "gwet_ac2",
    "interval_words",
    "intra_rater",
    "jaccard_distance",
    "krippendorff_alpha",
    "masi_distance",
    "one_coefficient",
    "percent_agreement",
    "probability_at_least",
    "scott_pi",
    "share_reaching",
    "summary",
    "tree_distance",
    "units_for_width",
    "warnings",
    "weighted_kappa",
    "weights_over",
]
