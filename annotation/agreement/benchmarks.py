"""Words for a coefficient, chosen with its standard error in mind: Gwet's probabilistic benchmarking."""

from __future__ import annotations

import math

SCALES: dict[str, tuple[tuple[float, str], ...]] = {
    "landis_koch": (
        (0.8, "almost perfect"),
        (0.6, "substantial"),
        (0.4, "moderate"),
        (0.2, "fair"),
        (0.0, "slight"),
        (-1.0, "poor"),
    ),
    "fleiss": ((0.75, "excellent"), (0.4, "intermediate to good"), (-1.0, "poor")),
    "altman": ((0.8, "very good"), (0.6, "good"), (0.4, "moderate"), (0.2, "fair"), (-1.0, "poor")),
    "cicchetti_sparrow": ((0.75, "excellent"), (0.6, "good"), (0.4, "fair"), (-1.0, "poor")),
    "krippendorff": ((0.8, "reliable"), (0.667, "tentative conclusions only"), (-1.0, "not reliable")),
}
"""Lower bounds and words, best first (Landis and Koch 1977, doi:10.2307/2529310; Krippendorff 2004, Content Analysis,
p. 241; the others as in Gwet 2014, ch. 6)."""


def benchmark(value: float, se: float, scale: str = "landis_koch") -> list[tuple[str, float]]:
    """(word, probability that the true value is at least in this class), best class first.

    The estimate is taken as normal, cut to −1 … 1 (Gwet 2014, ch. 6); the class to report is the first that reaches
    0.95. Tested by cases/benchmark_scales.json. Raises KeyError for an unknown scale, ValueError for se ≤ 0.
    """
    if se <= 0:
        raise ValueError("Benchmarking needs a standard error above 0.")

    def below(bound: float) -> float:
        return 0.5 * math.erfc(-(bound - value) / se / math.sqrt(2))

    whole = below(1.0) - below(-1.0)
    return [(word, (below(1.0) - below(bound)) / whole) for bound, word in SCALES[scale]]
