"""Saturation: whether more labeled items still bring new categories."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy

from annotation.labels.columns import Floats, Ints, MultiColumn, SingleColumn

from .folding import has_value, without_value
from .shares import ExcludedParts

MOST_POINTS = 400


@dataclass(frozen=True)
class FirstOccurrence:
    """The item with which a category came up (its place in the order, from 1, and its id), and how many have it."""

    category: str
    name: str
    place: int
    item: int
    n_items: int


@dataclass(frozen=True)
class SaturationPoint:
    """After `n_items` items: categories seen in the order of labelling, and on average over all orders."""

    n_items: int
    n_categories: int
    mean: float


@dataclass(frozen=True)
class Saturation:
    """The curve over `n_items` items with a value; `chance_new` is None with `undefined`, the reason as a sentence.

    `n_unseen` counts categories that no item has, neither themselves nor one below them, `n_once` those that one item
    has.
    """

    n_items: int
    n_categories: int
    n_unseen: int
    n_once: int
    chance_new: float | None
    first_seen: tuple[FirstOccurrence, ...]
    curve: tuple[SaturationPoint, ...]
    left_out: tuple[ExcludedParts, ...]
    undefined: str | None = None


def saturation(column: SingleColumn | MultiColumn, items: Ints) -> Saturation:
    """How categories came up item by item, the N parts standing in the order of labelling.

    An item counts at its first part. The mean over all orders of the items is exact (Mao Tau; Colwell, Mao and Chang
    2004, doi:10.1890/03-0557), so nothing is drawn; `chance_new`, that the next item brings a category that no item
    had, is the share of items that alone have one (Good 1953, doi:10.1093/biomet/40.3-4.237, for items; at most 1).
    Curves of more than 400 items are told at 400 places.
    """
    parts = np.flatnonzero(has_value(column))
    ids, first, inverse = np.unique(items[parts], return_index=True, return_inverse=True)
    order = np.argsort(first, kind="stable")
    place = np.empty(len(ids), dtype=np.int64)
    place[order] = np.arange(1, len(ids) + 1)
    by_part = np.zeros(len(items), dtype=np.int64)
    by_part[parts] = place[inverse]
    rows = parts if isinstance(column, SingleColumn) else column.rows
    codes = column.codes[parts] if isinstance(column, SingleColumn) else column.codes
    at = by_part[rows]
    n_categories, n = len(column.categories), len(ids)
    pairs = np.unique(codes[at > 0].astype(np.int64) * (n + 1) + at[at > 0])
    code, item = pairs // (n + 1), pairs % (n + 1)
    n_items = np.bincount(code, minlength=n_categories)
    earliest = np.zeros(n_categories, dtype=np.int64)
    used, start = np.unique(code, return_index=True)
    seen_codes = frozenset(used.tolist())
    earliest[used] = item[start]
    seen = [
        FirstOccurrence(
            column.categories.keys[k],
            column.categories.names[k],
            int(earliest[k]),
            int(ids[order[earliest[k] - 1]]),
            int(n_items[k]),
        )
        for k in sorted(used.tolist(), key=lambda k: (earliest[k], k))
    ]
    points = np.unique(np.linspace(1, n, min(n, MOST_POINTS)).round().astype(np.int64)) if n else np.zeros(0, np.int64)
    so_far = np.searchsorted(np.sort(earliest[used]), points, side="right")
    means = mean_over_orders(n_items[used], n, points)
    curve = tuple(SaturationPoint(*each) for each in zip(points.tolist(), so_far.tolist(), means.tolist(), strict=True))
    n_once = int((n_items == 1).sum())
    return Saturation(
        n_items=n,
        n_categories=len(used),
        n_unseen=sum(not column.categories.family(key) & seen_codes for key in column.categories.keys),
        n_once=n_once,
        chance_new=min(1.0, n_once / n) if n else None,
        first_seen=tuple(seen),
        curve=curve,
        left_out=without_value([column]),
        undefined=None if n else "No item has a value.",
    )


def mean_over_orders(n_items: Ints, n: int, points: Ints) -> Floats:
    """P: categories among the first `points` of n items, averaged over all orders; `n_items` (K) have each category."""
    if not len(n_items) or not len(points):
        return np.zeros(len(points))
    rest = (n - n_items)[None, :].astype(np.float64)
    taken = points[:, None].astype(np.float64)
    possible = taken <= rest
    # log C(rest, taken) − log C(n, taken): the chance that none of the items taken has the category.
    inside = np.where(possible, rest - taken, 0.0)
    log_factorial = scipy.special.gammaln
    log = log_factorial(rest + 1) - log_factorial(inside + 1) - log_factorial(n + 1.0) + log_factorial(n - taken + 1)
    found: Floats = (1 - np.where(possible, np.exp(np.minimum(log, 0.0)), 0.0)).sum(axis=1)
    return found
