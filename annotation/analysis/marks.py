"""Marks: parts of each category that have a property, such as “only in distributed settings”."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from annotation.labels.columns import Categories, Ints, MultiColumn, SingleColumn

from .folding import at_codes, has_value, parts_by_category, without_value
from .pairing import cross
from .shares import ExcludedParts, Share, share


@dataclass(frozen=True)
class MarkedShare:
    """A category: `share` of those of its parts whose mark is known; of the `unknown` ones it is not."""

    category: str
    name: str
    share: Share
    unknown: int


@dataclass(frozen=True)
class MarkedGroup:
    """The marked among the parts with one value of another column; `value` is None for all of them."""

    value: str | None
    name: str
    share: Share
    unknown: int
    categories: tuple[MarkedShare, ...]


@dataclass(frozen=True)
class MarkShares:
    """All parts together (`total`), then group by group."""

    n_parts: int
    denominator: str
    total: MarkedGroup
    groups: tuple[MarkedGroup, ...]
    left_out: tuple[ExcludedParts, ...]


def marks(
    mark: SingleColumn,
    value: str,
    column: SingleColumn | MultiColumn | None = None,
    by: SingleColumn | MultiColumn | None = None,
) -> MarkShares:
    """The share of parts whose mark has this value, of those whose mark is known: in all, per category, per group.

    For a boolean the value is "true" or "false"; any category of a single dimension does as well, and stands for all
    below it. Raises KeyError for an unknown value.
    """
    is_value = np.isin(np.arange(len(mark.categories)), list(mark.categories.family(value)))
    if not is_value.any():
        raise KeyError(value)
    state = at_codes(is_value.astype(np.int64), mark.codes, 2)
    three = SingleColumn(
        mark.key, mark.title, "single", Categories(("no", "yes", "unknown"), ("no", "yes", "unknown")), state
    )
    total = _group(three, column, None, "All", np.arange(len(state)))
    groups = []
    if by is not None:
        for code, (key, name) in enumerate(zip(by.categories.keys, by.categories.names, strict=True)):
            rows = _having(by, code)
            if len(rows):
                groups.append(_group(three, column, key, name, rows))
    words = f"of the parts, in all or of the category, whose {mark.title.lower()} is known"
    others = [each for each in (column, by) if each is not None]
    left_out = without_value(others, has_value(mark)) if others else ()
    return MarkShares(len(state), words, total, tuple(groups), without_value([mark]) + left_out)


def _group(
    mark: SingleColumn, column: SingleColumn | MultiColumn | None, value: str | None, name: str, rows: Ints
) -> MarkedGroup:
    here = mark.taken(rows)
    no, yes, unknown = parts_by_category(here).tolist()
    categories: tuple[MarkedShare, ...] = ()
    if column is not None:
        table = cross(column.taken(rows), here).tolist()
        listed = zip(column.categories.keys, column.categories.names, table, strict=True)
        categories = tuple(
            MarkedShare(key, title, share(marked, marked + rest), open_) for key, title, (rest, marked, open_) in listed
        )
    return MarkedGroup(value, name, share(yes, no + yes), unknown, categories)


def _having(column: SingleColumn | MultiColumn, code: int) -> Ints:
    if isinstance(column, SingleColumn):
        return np.flatnonzero(column.codes == code)
    return np.sort(column.rows[column.codes == code])
