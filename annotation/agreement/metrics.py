"""How far apart two categories are: the distances behind weighted coefficients and Krippendorff's alpha."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from .patterns import Category, category_label

Floats: TypeAlias = npt.NDArray[np.floating]
Metric: TypeAlias = str | Callable[[Category, Category], float] | npt.ArrayLike
Weights: TypeAlias = str | npt.ArrayLike

METRICS = ("nominal", "ordinal", "interval", "ratio", "jaccard", "masi")
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
        return left.sum(axis=1) * right.sum(axis=1) - np.einsum("bk,bk->b", left, right)

    def toward(self, shares: Floats) -> Floats:
        return shares.sum(axis=-1, keepdims=True) - shares

    def pairwise(self, left: npt.NDArray[np.integer], right: npt.NDArray[np.integer]) -> Floats:
        return (left != right).astype(np.float64)


class SquaredDifference:
    """(x[k] − x[l])², computed from moments so that thousands of different numbers cost no K × K matrix."""

    def __init__(self, scores: Floats) -> None:
        # Centred: the same differences, less rounding.
        self.scores = scores - scores.mean() if scores.size else scores
        self.squares = self.scores**2
        self.total = float(2 * (scores.size * self.squares.sum() - self.scores.sum() ** 2))

    def between(self, left: Floats, right: Floats) -> Floats:
        return (
            (left @ self.squares) * right.sum(axis=1)
            + left.sum(axis=1) * (right @ self.squares)
            - 2 * (left @ self.scores) * (right @ self.scores)
        )

    def toward(self, shares: Floats) -> Floats:
        mass, mean, square = shares.sum(axis=-1), shares @ self.scores, shares @ self.squares
        return self.squares * mass[..., None] - 2 * self.scores * mean[..., None] + square[..., None]

    def pairwise(self, left: npt.NDArray[np.integer], right: npt.NDArray[np.integer]) -> Floats:
        return (self.scores[left] - self.scores[right]) ** 2


class Matrix:
    """δ given cell by cell."""

    def __init__(self, cells: Floats) -> None:
        self.cells = cells
        self.total = float(cells.sum())

    def between(self, left: Floats, right: Floats) -> Floats:
        return np.einsum("bk,bk->b", left @ self.cells, right)

    def toward(self, shares: Floats) -> Floats:
        return shares @ self.cells.T

    def pairwise(self, left: npt.NDArray[np.integer], right: npt.NDArray[np.integer]) -> Floats:
        return self.cells[left, right]


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


def scores_of(categories: Sequence[Category]) -> Floats:
    """The categories themselves where all are numbers, otherwise their positions from 1."""
    if categories and all(_is_number(category) for category in categories):
        return np.array([float(category) for category in categories])  # type: ignore[arg-type]
    return np.arange(1.0, len(categories) + 1)


def distance_by_metric(metric: Metric, categories: Sequence[Category]) -> Distance:
    """The δ of Krippendorff's alpha, as it stands in the formula (interval and ratio are squared already).

    `metric` is a name (not "ordinal", which depends on the ratings), a function of two categories, or a K × K matrix.
    Raises ValueError when the categories cannot bear the metric.
    """
    if isinstance(metric, str):
        if metric == "nominal":
            return Nominal(len(categories))
        if metric == "interval":
            return SquaredDifference(scores_of(categories))
        if metric == "ratio":
            return Matrix(_ratio(scores_of(categories)))
        if metric in ("jaccard", "masi"):
            return Matrix(_by_pairs(masi_distance if metric == "masi" else jaccard_distance, _sets(categories, metric)))
        raise ValueError(f"{metric!r} is no metric; there are {', '.join(METRICS)}.")
    if callable(metric):
        return Matrix(_by_pairs(metric, categories))
    return Matrix(_square(metric, len(categories)))


def distance_by_weights(weights: Weights, categories: Sequence[Category]) -> Distance:
    """1 − w for weights by name (Gwet 2014, Handbook of Inter-Rater Reliability, 4th ed., ch. 3) or a K × K matrix.

    Numbers are weighted by their value, anything else by its position. "ordinal" always goes by position.
    """
    n = len(categories)
    if not isinstance(weights, str):
        return Matrix(1 - _square(weights, n))
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


def _sets(categories: Sequence[Category], metric: str) -> Sequence[Category]:
    for category in categories:
        if not isinstance(category, frozenset):
            raise ValueError(f"The {metric} metric compares sets, and {category_label(category)!r} is none.")
    return categories


def _square(cells: npt.ArrayLike, n: int) -> Floats:
    square = np.asarray(cells, dtype=np.float64)
    if square.shape != (n, n):
        raise ValueError(f"A matrix of {n} × {n} categories is needed, not {' × '.join(map(str, square.shape))}.")
    return square


def _is_number(category: Category) -> bool:
    return isinstance(category, int | float | np.number) and not isinstance(category, bool)
