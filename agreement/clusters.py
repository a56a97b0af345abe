"""Clusters of units for intervals: the units of an item, in parts or in several rounds, are one cluster.

Cameron, Gelbach and Miller 2008, doi:10.1162/rest.90.3.414: the pairs cluster bootstrap.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from agreement.bootstrap import resampled_counts
from agreement.metrics import Floats
from agreement.patterns import NONE, Category, Patterns


@dataclass(frozen=True, eq=False)
class Clusters:
    """T kinds of clusters over P patterns: `members` (T × P) has the units of one, `counts` (T) how many there are."""

    members: npt.NDArray[np.int64]
    counts: npt.NDArray[np.int64]

    @classmethod
    def of(
        cls, patterns: Patterns, items: Iterable[Iterable[Sequence[Category | None]]], *, may_have_more: bool = False
    ) -> Clusters:
        """The units of each item as rows of values, one per rater of `patterns`; a unit of none of them is alone.

        Raises KeyError for a row that is none of the patterns. With `may_have_more` such rows, and more of a pattern
        than it has units, are excluded: they came in after the patterns were counted.
        """
        index = {tuple(row): p for p, row in enumerate(patterns.values.tolist())}
        place: dict[Category | None, int] = {category: k for k, category in enumerate(patterns.categories)}
        place[None] = NONE
        alone = patterns.counts.copy()
        tally: Counter[tuple[tuple[int, int], ...]] = Counter()
        for units in items:
            rows = (tuple(place.get(value) if may_have_more else place[value] for value in row) for row in units)
            found = Counter(index[row] for row in rows if not may_have_more or row in index)
            if may_have_more:
                found = Counter({p: m for p, n in found.items() if (m := min(n, int(alone[p])))})
            for p, n in found.items():
                alone[p] -= n
            if found:
                tally[tuple(sorted(found.items()))] += 1
        for p, n in enumerate(alone.tolist()):
            if n:
                tally[((p, 1),)] += n
        kinds = sorted(tally)
        members = np.zeros((len(kinds), len(patterns.counts)), dtype=np.int64)
        for kind, cells in enumerate(kinds):
            for p, n in cells:
                members[kind, p] = n
        return cls(members, np.array([tally[kind] for kind in kinds], dtype=np.int64))

    def n_with(self, rows: npt.NDArray[np.integer]) -> int:
        """How many clusters have a unit of these patterns."""
        return int(self.counts[self.members[:, rows].any(axis=1)].sum())

    def resampled(self, resamples: int, seed: int, width: int = 0) -> Iterator[Floats]:
        """Chunks of B × P counts, each row a draw of as many clusters as there are, with replacement."""
        for drawn in resampled_counts(self.counts, resamples, seed, max(width, self.members.shape[1])):
            yield drawn @ self.members


def resampled_values(
    estimate: Callable[[Floats], Floats],
    patterns: Patterns,
    clusters: Clusters | None,
    *,
    resamples: int,
    seed: int,
    width: int = 0,
) -> Floats:
    """An estimate in each resample of units, or of clusters where there are some; those where it is undefined left out.

    Empty where that leaves fewer than half of them.
    """
    draws = (
        resampled_counts(patterns.counts, resamples, seed, width)
        if clusters is None
        else clusters.resampled(resamples, seed, width)
    )
    found = [estimate(drawn) for drawn in draws]
    values = np.concatenate(found) if found else np.empty(0)
    defined = values[~np.isnan(values)]
    return defined if 2 * len(defined) >= len(values) else np.empty(0)
