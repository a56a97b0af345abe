"""Counts of agreed categories, in total and within each value of another column."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from annotation.labels.columns import Ints, MultiColumn, SingleColumn
from shared.wording import plural

from .folding import has_value, parts_by_category, without_value
from .pairing import cross
from .shares import Denominator, ExcludedParts, Share, share

OF = ("all", "group", "category")
OVERLAP = "A part can have several values of {title}, so that the numbers add up to {sum}, not to {n}."


@dataclass(frozen=True)
class CategoryShare:
    """A category with its number of parts as a share."""

    category: str
    name: str
    share: Share


@dataclass(frozen=True)
class CountGroup:
    """The parts with one value of another column (`value` None: all of them); n of them have a known value."""

    value: str | None
    name: str
    n: int
    denominator: Denominator
    categories: tuple[CategoryShare, ...]


@dataclass(frozen=True)
class Counts:
    """All parts together, then group by group; `n` parts have a known value, of `n_parts` that were looked at."""

    n: int
    n_parts: int
    total: CountGroup
    groups: tuple[CountGroup, ...]
    left_out: tuple[ExcludedParts, ...]
    notes: tuple[str, ...]


def counts(
    column: SingleColumn | MultiColumn, by: SingleColumn | MultiColumn | None = None, *, of: str = "group"
) -> Counts:
    """K counts over N parts, and G × K with `by`, as shares of `all`, of the `group`, or of the `category`.

    Of all: of the parts whose value is known; of the group: of those among them with the group's value; of the
    category: of those among them with the category and a known group. With `by`, parts without a group count in the
    total alone. Intervals are Wilson's and take the parts as independent: `without_intervals` is for others.
    """
    if of not in OF:
        raise ValueError(f"Shares are of {', '.join(OF)}.")
    with_value = has_value(column)
    n, per_category = int(with_value.sum()), parts_by_category(column)
    title = column.title.lower()
    everything = Denominator("all", f"of the {plural(n, 'part')} with a value of {title}", n)
    total = CountGroup(None, "All", n, everything, _shares(column, per_category, n))
    notes = overlap(column, per_category, n)
    left_out = without_value([column])
    if by is None:
        return Counts(n, len(with_value), total, (), left_out, notes)
    table = cross(by, column)
    both = with_value & has_value(by)
    grouped = parts_by_category(by, both)
    per_category_grouped = parts_by_category(column, both)
    groups = []
    for code, (key, name) in enumerate(zip(by.categories.keys, by.categories.names, strict=True)):
        if not grouped[code]:
            continue
        n_here = int(grouped[code])
        whole: int | Ints
        if of == "group":
            denominator = Denominator(
                "group", f"of the {plural(n_here, 'part')} with {by.title.lower()} “{name}”", n_here
            )
            whole = n_here
        elif of == "category":
            words = f"of the parts with the same {title} and a value of {by.title.lower()}"
            denominator, whole = Denominator("category", words, None), per_category_grouped
        else:
            denominator, whole = everything, n
        groups.append(CountGroup(key, name, n_here, denominator, _shares(column, table[code], whole)))
    notes += overlap(by, grouped, int(both.sum()))
    left_out += without_value([by], with_value)
    return Counts(n, len(with_value), total, tuple(groups), left_out, notes)


def overlap(column: SingleColumn | MultiColumn, n_by_category: Ints, n: int) -> tuple[str, ...]:
    """Says that numbers add up to more than there are parts, where they do."""
    total = int(n_by_category.sum())
    return (OVERLAP.format(title=column.title.lower(), sum=total, n=n),) if total > n else ()


def _shares(column: SingleColumn | MultiColumn, n: Ints, whole: int | Ints) -> tuple[CategoryShare, ...]:
    of = np.broadcast_to(whole, n.shape).tolist()
    categories = column.categories
    return tuple(
        CategoryShare(key, name, share(here, all_))
        for key, name, here, all_ in zip(categories.keys, categories.names, n.tolist(), of, strict=True)
    )
