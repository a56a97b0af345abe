"""Bootstrap over units on pattern counts, by seed: the share of resamples that reach a threshold."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from agreement.metrics import Floats
from agreement.patterns import Ints

CELLS_AT_ONCE = 4_000_000


def resampled_counts(counts: Ints, resamples: int, seed: int, width: int = 0) -> Iterator[Floats]:
    """Chunks of B × P counts, each row a draw of as many units as there are, with replacement.

    Efron and Tibshirani 1993, An Introduction to the Bootstrap, ch. 13. The draws depend on `counts` and `seed` alone,
    not on the size of the chunks, which keeps B · max(P, width) bounded.
    """
    rng = np.random.default_rng(seed)
    n_units, n_patterns = int(counts.sum()), len(counts)
    chunk = max(1, CELLS_AT_ONCE // max(n_patterns, width, 1))
    # Where patterns hardly repeat, drawing units costs less than drawing a binomial number per pattern.
    unit_pattern = np.repeat(np.arange(n_patterns), counts) if n_units < 10 * n_patterns else None
    for start in range(0, resamples, chunk):
        size = min(chunk, resamples - start)
        if unit_pattern is None:
            yield rng.multinomial(n_units, counts / n_units, size=size).astype(np.float64)
        else:
            drawn = np.empty((size, n_patterns))
            for row in drawn:
                row[:] = np.bincount(unit_pattern[rng.integers(0, n_units, n_units)], minlength=n_patterns)
            yield drawn
