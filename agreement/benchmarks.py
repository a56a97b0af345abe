"""Benchmarks: words for a coefficient that take its uncertainty into account (Gwet 2014)."""

from __future__ import annotations

import math

from agreement.entries import BenchmarkWord
from agreement.registry import COEFFICIENTS

ROUNDING = 1e-9

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

    The class to report is the first that reaches 0.95, see `probability_at_least`. Tested by
    cases/benchmark_scales.json. Raises KeyError for an unknown scale, ValueError for se ≤ 0.
    """
    return [(word, probability_at_least(value, se, bound)) for bound, word in SCALES[scale]]


def probability_at_least(value: float, se: float, bound: float) -> float:
    """The probability that the true value of a coefficient reaches a bound, such as a threshold fixed beforehand.

    The estimate is taken as normal, cut to −1 … 1 (Gwet 2014, ch. 6). Tested by cases/benchmark_scales.json. Raises
    ValueError for se ≤ 0.
    """
    if se <= 0:
        raise ValueError("Benchmarking needs a standard error above 0.")
    center = min(max(value, -1.0), 1.0)

    def below(cut: float) -> float:
        return 0.5 * math.erfc(-(cut - center) / se / math.sqrt(2))

    return (below(1.0) - below(min(max(bound, -1.0), 1.0))) / (below(1.0) - below(-1.0))


def _is_in(scale: str, value: float, bound: float) -> bool:
    """Whether a value is above the lower bound of a class; Landis and Koch's 0.41 to 0.60 includes 0.60."""
    return value > bound + ROUNDING if scale == "landis_koch" and bound > 0 else value >= bound


def benchmark_words(name: str, value: float | None, ci_low: float | None) -> list[BenchmarkWord]:
    """[{scale, word, earned}] for a coefficient by name, on the scales that its entry names, the first one first.

    `word` is that of the value, `earned` that of the lower limit of its 95% interval, so the whole interval is in this
    class or a better one: None for the lowest, which any value has, and without an interval. Empty without a value and
    where no scale suits.
    """
    if value is None:
        return []
    found: list[BenchmarkWord] = []
    for scale in COEFFICIENTS[name].scales:
        classes = SCALES[scale]
        word = next((word for bound, word in classes if _is_in(scale, value, bound)), classes[-1][1])
        earned = None
        if ci_low is not None:
            earned = next((word for bound, word in classes[:-1] if _is_in(scale, ci_low, bound)), None)
        found.append({"scale": scale, "word": word, "earned": earned})
    return found
