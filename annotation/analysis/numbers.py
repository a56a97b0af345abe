"""Numbers, such as days open or changed lines: their distribution, in total and in groups."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from annotation.labels.columns import Floats, Ints, MultiColumn, NumberColumn, SingleColumn
from shared.wording import plural

from .comparison import GroupComparison, comparison
from .folding import without_value
from .shares import ExcludedParts, Share, share

QUANTILES = (0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95)
MOST_POINTS = 200


@dataclass(frozen=True)
class CurvePoint:
    """How many numbers are at or under a value, and which share of all they are."""

    value: float
    n: int
    share: float


@dataclass(frozen=True)
class Distribution:
    """`n` numbers, `n_missing` are not known; all None with `undefined`, the reason as a sentence, where n is 0.

    `quantiles` are (share, value); `at_or_under` is the share at or under the cut that was asked for.
    """

    n: int
    n_missing: int
    minimum: float | None
    maximum: float | None
    mean: float | None
    sd: float | None
    quantiles: tuple[tuple[float, float], ...]
    at_or_under: Share | None
    curve: tuple[CurvePoint, ...]
    undefined: str | None = None


@dataclass(frozen=True)
class NumberGroup:
    """The numbers of one value of another column."""

    value: str
    name: str
    distribution: Distribution


@dataclass(frozen=True)
class Numbers:
    """All numbers together, then group by group; compared, or not, with the reason in `uncompared`.

    `counted` says what a number belongs to: an item, or a part of one.
    """

    counted: str
    cut: float | None
    total: Distribution
    groups: tuple[NumberGroup, ...]
    comparison: GroupComparison | None
    uncompared: str | None
    left_out: tuple[ExcludedParts, ...]


def distribution(values: Floats, cut: float | None = None) -> Distribution:
    """Of N numbers, NaN for those not known.

    Quantiles are linear between the numbers (type 7 of Hyndman and Fan 1996, doi:10.2307/2684934), as in NumPy, pandas
    and R; `sd` divides by n − 1 and is None for a single number. Curves of more than 200 different numbers are told at
    200 places.
    """
    known = np.sort(values[~np.isnan(values)])
    n = len(known)
    if n == 0:
        nothing = share(0, 0) if cut is not None else None
        return Distribution(0, len(values), None, None, None, None, (), nothing, (), "There are no numbers.")
    found = np.quantile(known, QUANTILES)
    return Distribution(
        n=n,
        n_missing=len(values) - n,
        minimum=float(known[0]),
        maximum=float(known[-1]),
        mean=float(known.mean()),
        sd=float(known.std(ddof=1)) if n > 1 else None,
        quantiles=tuple(zip(QUANTILES, found.tolist(), strict=True)),
        at_or_under=None if cut is None else share(int(np.searchsorted(known, cut, side="right")), n),
        curve=_curve(known),
    )


def numbers(
    number: NumberColumn,
    items: Ints,
    by: SingleColumn | MultiColumn | None = None,
    *,
    of_item: bool = True,
    cut: float | None = None,
) -> Numbers:
    """The distribution of a number over N parts, and in each group of `by`, with a comparison of the groups.

    A number that belongs to the item (`of_item`) counts once, and once in every group that a part of the item is in.
    Groups are compared only where no number counts in two of them, and no two numbers are of parts of one item, since a
    test takes them as independent.
    """
    counted = "item" if of_item else "part"
    total = distribution(number.values[_first_of_each(items)] if of_item else number.values, cut)
    if by is None:
        return Numbers(counted, cut, total, (), None, None, ())
    rows = np.flatnonzero(by.codes >= 0) if isinstance(by, SingleColumn) else by.rows
    codes = by.codes[rows] if isinstance(by, SingleColumn) else by.codes
    if of_item:
        _, place = np.unique(items, return_inverse=True)
        _, first = np.unique(np.multiply(place[rows], len(by.categories), dtype=np.int64) + codes, return_index=True)
        rows, codes = rows[first], codes[first]
    counted_once = len(np.unique(items[rows] if of_item else rows)) == len(rows)
    groups = []
    samples = []
    for code, (key, name) in enumerate(zip(by.categories.keys, by.categories.names, strict=True)):
        values = number.values[rows[codes == code]]
        if len(values):
            groups.append(NumberGroup(key, name, distribution(values, cut)))
            samples.append((key, values[~np.isnan(values)]))
    n_items = len(np.unique(items[rows]))
    reason = None if counted_once else f"Some {counted}s are in several groups, so that groups are not independent."
    if counted_once and n_items < len(rows):
        reason = (
            f"{len(rows)} parts are of {plural(n_items, 'item')}, so that numbers are not independent; ask for items "
            "of a single part to have a comparison."
        )
    found = None if reason else comparison(samples)
    return Numbers(counted, cut, total, tuple(groups), found, reason, without_value([by]))


def _first_of_each(items: Ints) -> Ints:
    return np.unique(items, return_index=True)[1]


def _curve(known: Floats) -> tuple[CurvePoint, ...]:
    values, n = np.unique(known, return_counts=True)
    so_far = np.cumsum(n)
    if len(values) > MOST_POINTS:
        wanted = np.linspace(1, len(known), MOST_POINTS)
        places = np.unique(np.searchsorted(so_far, wanted, side="left"))
        values, so_far = values[places], so_far[places]
    shares = so_far / len(known)
    return tuple(CurvePoint(*each) for each in zip(values.tolist(), so_far.tolist(), shares.tolist(), strict=True))
