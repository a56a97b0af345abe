"""Distances between categories, for weighted coefficients and Krippendorff's alpha."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from agreement.patterns import Category, category_label

Floats: TypeAlias = npt.NDArray[np.floating]
Metric: TypeAlias = str | Callable[[Category, Category], float] | npt.ArrayLike
Weights: TypeAlias = str | npt.ArrayLike
Paths: TypeAlias = Mapping[Any, Sequence[Hashable]]
"""Each category's way from the top of the tree down to itself; one that is missing stands at the top, alone."""

METRICS = ("nominal", "tree", "ordinal", "interval", "ratio", "jaccard", "masi")
WEIGHTS = ("identity", "linear", "quadratic", "ordinal", "radical", "ratio", "circular", "bipolar")


class Distance(Protocol):
    """A distance δ between K categories, 0 on the diagonal."""

    total: float
    """The sum of δ over all K × K cells."""

    def between(self, left: Floats, right: Floats) -> Floats:
        """B: the sum over k, l of left[b, k] · right[b, l] · δ[k, l], for B × K inputs."""

    def toward(self, shares: Floats) -> Floats:
        """… × K: the sum over l of δ[k, l] · shares[…, l]."""

    def pairwise(self, left: npt.NDArray[np.integer], right: npt.NDArray[np.integer]) -> Floats:
        """δ[left, right], elementwise, for category indices."""


class Nominal:
    """0 where equal, 1 elsewhere."""

    def __init__(self, n_categories: int) -> None:
        self.total = float(n_categories * n_categories - n_categories)

    def between(self, left: Floats, right: Floats) -> Floats:
        found: Floats = left.sum(axis=1) * right.sum(axis=1) - np.einsum("bk,bk->b", left, right)
        return found

    def toward(self, shares: Floats) -> Floats:
        found: Floats = shares.sum(axis=-1, keepdims=True) - shares
        return found

    def pairwise(self, left: npt.NDArray[np.integer], right: npt.NDArray[np.integer]) -> Floats:
        found: Floats = (left != right).astype(np.float64)
        return found


class SquaredDifference:
    """(x[k] − x[l])², computed from moments so that thousands of different numbers cost no K × K matrix."""

    def __init__(self, scores: Floats) -> None:
        # Centred: the same differences, less rounding.
        self.scores = scores - scores.mean() if scores.size else scores
        self.squares = self.scores**2
        self.total = float(2 * (scores.size * self.squares.sum() - self.scores.sum() ** 2))

    def between(self, left: Floats, right: Floats) -> Floats:
        found: Floats = (
            (left @ self.squares) * right.sum(axis=1)
            + left.sum(axis=1) * (right @ self.squares)
            - 2 * (left @ self.scores) * (right @ self.scores)
        )
        return found

    def toward(self, shares: Floats) -> Floats:
        mass, mean, square = shares.sum(axis=-1), shares @ self.scores, shares @ self.squares
        found: Floats = self.squares * mass[..., None] - 2 * self.scores * mean[..., None] + square[..., None]
        return found

    def pairwise(self, left: npt.NDArray[np.integer], right: npt.NDArray[np.integer]) -> Floats:
        found: Floats = (self.scores[left] - self.scores[right]) ** 2
        return found


class Matrix:
    """δ given cell by cell."""

    def __init__(self, cells: Floats) -> None:
        self.cells = cells
        self.total = float(cells.sum())

    def between(self, left: Floats, right: Floats) -> Floats:
        found: Floats = np.einsum("bk,bk->b", left @ self.cells, right)
        return found

    def toward(self, shares: Floats) -> Floats:
        return shares @ self.cells.T

    def pairwise(self, left: npt.NDArray[np.integer], right: npt.NDArray[np.integer]) -> Floats:
        found: Floats = self.cells[left, right]
        return found


def jaccard_distance(a: frozenset[object], b: frozenset[object]) -> float:
    """1 − |A ∩ B| / |A ∪ B| (Jaccard 1912); two empty sets are equal, distance 0."""
    union = len(a | b)
    return 1 - len(a & b) / union if union else 0.0


def masi_distance(a: frozenset[object], b: frozenset[object]) -> float:
    """1 − Jaccard · m, with m = 1 for equal sets, 2/3 where one holds the other, 1/3 where they overlap, 0 where not.

    Passonneau 2006, Measuring agreement on set-valued items (MASI), LREC, p. 831; tested by cases/masi_distance.json.
    Two empty sets have distance 0.
    """
    if a == b:
        return 0.0
    shared = len(a & b)
    if not shared:
        return 1.0
    monotonicity = 2 / 3 if a < b or b < a else 1 / 3
    return 1 - shared / len(a | b) * monotonicity


def tree_distance(a: Sequence[Hashable], b: Sequence[Hashable]) -> float:
    """1 − 2 · d(c) / (d(a) + d(b)) for the paths of two categories, c the deepest one on both, d the depth from 1.

    0 for the same category, 1 where nothing is shared (c is then the root above all, of depth 0), 1/3 for a category at
    the top and its child, 1/2 for two children of it. Wu and Palmer 1994, doi:10.3115/981732.981751, as a distance.
    """
    shared = 0
    for left, right in zip(a, b, strict=False):
        if left != right:
            break
        shared += 1
    return 1 - 2 * shared / (len(a) + len(b)) if a or b else 0.0


def scores_of(categories: Sequence[Category]) -> Floats:
    """The categories themselves where all are numbers, otherwise their positions from 1."""
    if categories and all(_is_number(category) for category in categories):
        return np.array([float(category) for category in categories])  # type: ignore[arg-type]
    return np.arange(1.0, len(categories) + 1)


def distance_by_metric(metric: Metric, categories: Sequence[Category], paths: Paths | None = None) -> Distance:
    """The δ of Krippendorff's alpha, as it stands in the formula (interval and ratio are squared already).

    `metric` is a name (not "ordinal", which depends on the ratings), a function of two categories, or a K × K matrix;
    "tree" needs `paths`. Raises ValueError when the categories cannot bear the metric.
    """
    if isinstance(metric, str):
        if metric == "nominal":
            return Nominal(len(categories))
        if metric == "interval":
            return SquaredDifference(scores_of(categories))
        if metric == "ratio":
            return Matrix(_ratio(scores_of(categories)))
        if metric == "tree":
            if paths is None:
                raise ValueError("The tree metric needs the paths of the categories.")
            return Matrix(_tree(categories, paths))
        if metric in ("jaccard", "masi"):
            return Matrix(_between_sets(_sets(categories, metric), metric))
        raise ValueError(f"{metric!r} is no metric; there are {', '.join(METRICS)}.")
    if callable(metric):
        return Matrix(_by_pairs(metric, categories))
    return Matrix(_square(metric, len(categories)))


def distance_by_weights(weights: Weights, categories: Sequence[Category]) -> Distance:
    """1 − w for weights by name (Gwet 2014, Handbook of Inter-Rater Reliability, 4th ed., ch. 3) or a K × K matrix.

    Numbers are weighted by their value, anything else by its position. "ordinal" always goes by position. Raises
    ValueError for a name that there is not, and for a matrix of another size or that holds no weights.
    """
    n = len(categories)
    if not isinstance(weights, str):
        return Matrix(1 - checked_weights(weights, n))
    if weights not in WEIGHTS:
        raise ValueError(f"{weights!r} are no weights; there are {', '.join(WEIGHTS)}.")
    if weights == "identity" or n < 2:
        return Nominal(n)
    x = scores_of(categories)
    if weights == "quadratic":
        return SquaredDifference(x / (x.max() - x.min()))
    gap = np.abs(x[:, None] - x[None, :])
    if weights == "linear":
        cells = gap
    elif weights == "radical":
        cells = np.sqrt(gap)
    elif weights == "ordinal":
        steps = np.abs(np.arange(n)[:, None] - np.arange(n)[None, :])
        cells = steps * (steps + 1) / 2
    elif weights == "ratio":
        cells = _ratio(x)
    elif weights == "circular":
        cells = np.sin(np.pi * gap / (x.max() - x.min() + 1)) ** 2
    else:
        added = x[:, None] + x[None, :]
        below = (added - 2 * x.min()) * (2 * x.max() - added)
        cells = np.divide(gap**2, below, out=np.zeros((n, n)), where=gap > 0)
    return Matrix(cells / cells.max())


def checked_weights(weights: npt.ArrayLike, n: int) -> Floats:
    """A matrix of n × n weights: 1 on the diagonal, 0 to 1 elsewhere. Raises ValueError where it is none."""
    cells = _square(weights, n)
    if not (np.isfinite(cells).all() and (cells >= 0).all() and (cells <= 1).all() and (np.diag(cells) == 1).all()):
        raise ValueError("Weights go from 0 (no agreement) to 1 (full agreement), with 1 for a category and itself.")
    return cells


def weights_over(
    weights: npt.ArrayLike, scale: Sequence[Category], categories: Sequence[Category], *, apart: Sequence[Category] = ()
) -> Floats:
    """Weights given in the order of `scale`, laid out over the `categories` of some patterns.

    What stands in `apart` and not in the scale agrees with nothing but itself. Raises ValueError for a category that
    stands in neither, and as `checked_weights`.
    """
    cells = checked_weights(weights, len(scale))
    place = {category: k for k, category in enumerate(scale)}
    unknown = [category_label(each) for each in categories if each not in place and each not in apart]
    if unknown:
        raise ValueError(f"The weights say nothing about {', '.join(unknown)}: they are for the scale they name.")
    found = np.eye(len(categories))
    known = [k for k, category in enumerate(categories) if category in place]
    at = [place[categories[k]] for k in known]
    found[np.ix_(known, known)] = cells[np.ix_(at, at)]
    return found


def symmetric(distance: Distance) -> Distance:
    """The distance averaged over both directions; coefficients for any two raters know no first and second."""
    if isinstance(distance, Matrix):
        return Matrix((distance.cells + distance.cells.T) / 2)
    return distance


def _ratio(x: Floats) -> Floats:
    if x.size and x.min() < 0:
        raise ValueError("The ratio metric needs numbers of 0 or more.")
    added = x[:, None] + x[None, :]
    return np.divide((x[:, None] - x[None, :]) ** 2, added**2, out=np.zeros(added.shape), where=added > 0)


def _by_pairs(distance: Callable[..., float], categories: Sequence[Category]) -> Floats:
    return np.array([[float(distance(a, b)) for b in categories] for a in categories]).reshape(
        len(categories), len(categories)
    )


def _tree(categories: Sequence[Category], paths: Paths) -> Floats:
    """`tree_distance` of every two categories, level by level."""
    routes = [tuple(paths.get(category, (category,))) for category in categories]
    depth = np.array([len(route) for route in routes], dtype=np.float64)
    shared = np.zeros((len(routes), len(routes)))
    for level in range(1, int(depth.max(initial=0)) + 1):
        place: dict[object, int] = {}
        # A path that ends above this level shares it with none.
        at = np.array(
            [
                place.setdefault(route[:level] if len(route) >= level else k, len(place))
                for k, route in enumerate(routes)
            ]
        )
        shared += at[:, None] == at[None, :]
    longest = depth[:, None] + depth[None, :]
    cells = 1 - np.divide(2 * shared, longest, out=np.ones_like(shared), where=longest > 0)
    np.fill_diagonal(cells, 0.0)
    return cells


def _sets(categories: Sequence[Category], metric: str) -> list[frozenset[object]]:
    sets = []
    for category in categories:
        if not isinstance(category, frozenset):
            raise ValueError(f"The {metric} metric compares sets, and {category_label(category)!r} is none.")
        sets.append(category)
    return sets


def _between_sets(sets: Sequence[frozenset[object]], metric: str) -> Floats:
    """`jaccard_distance` or `masi_distance` of every two sets, all at once."""
    place = {member: k for k, member in enumerate(frozenset[object]().union(*sets))}
    holds = np.zeros((len(sets), len(place)))
    for row, each in zip(holds, sets, strict=True):
        row[[place[member] for member in each]] = 1
    shared, size = holds @ holds.T, holds.sum(axis=1)
    union = size[:, None] + size[None, :] - shared
    similar = np.divide(shared, union, out=np.ones_like(union), where=union > 0)
    if metric == "masi":
        is_within = shared == np.minimum(size[:, None], size[None, :])
        similar *= np.where(shared == union, 1, np.where(is_within, 2 / 3, 1 / 3))
    found: Floats = 1 - similar
    return found


def _square(cells: npt.ArrayLike, n: int) -> Floats:
    square = np.asarray(cells, dtype=np.float64)
    if square.shape != (n, n):
        raise ValueError(f"A matrix of {n} × {n} categories is needed, not {' × '.join(map(str, square.shape))}.")
    return square


def _is_number(category: Category) -> bool:
    return isinstance(category, int | float | np.number) and not isinstance(category, bool)
