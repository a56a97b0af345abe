"""Cross table of two columns: counts, and their association where the parts allow a test."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from annotation.labels.columns import Categories, Floats, Ints, MultiColumn, SingleColumn, n_different
from shared.wording import plural

from .association import SEED, Association, association
from .counts import overlap
from .folding import has_value, parts_by_category, without_value
from .pairing import cross
from .shares import Denominator, ExcludedParts

OF = ("row", "column", "all")


@dataclass(frozen=True, eq=False)
class Crosstab:
    """R × C counts of the `n` parts with a value of both; rows and columns that are empty are left out.

    `row_totals` and `column_totals` count parts, so that they are no sums where a part has several values. Statistics
    stand in `association`, or there is none and `untested` says why as a sentence.
    """

    rows: Categories
    columns: Categories
    n: int
    n_items: int
    counts: Ints
    row_totals: Ints
    column_totals: Ints
    association: Association | None
    untested: str | None
    left_out: tuple[ExcludedParts, ...]
    notes: tuple[str, ...]

    def shares(self, of: str) -> tuple[Floats, Denominator]:
        """R × C shares of their row's parts, of their column's, or of all n."""
        if of not in OF:
            raise ValueError(f"Shares are of {', '.join(OF)}.")
        if of == "all":
            return self.counts / max(self.n, 1), Denominator(
                "all", f"of the {plural(self.n, 'part')} with a value of both", self.n
            )
        totals = self.row_totals[:, None] if of == "row" else self.column_totals[None, :]
        return self.counts / totals, Denominator(of, f"of the parts of the {of}", None)


def crosstab(
    rows: SingleColumn | MultiColumn, columns: SingleColumn | MultiColumn, items: Ints, *, seed: int = SEED
) -> Crosstab:
    """The cross table of two columns over N parts, `items` being the item of each.

    Tested only where each part has one value of both and each item one part, since a test takes the counts as
    independent; otherwise counts alone, with the reason. Cost: a few passes over the parts.
    """
    both = has_value(rows) & has_value(columns)
    table = cross(rows, columns)
    row_totals, column_totals = parts_by_category(rows, both), parts_by_category(columns, both)
    kept_rows, kept_columns = np.flatnonzero(row_totals), np.flatnonzero(column_totals)
    n = int(both.sum())
    n_items = n_different(items[both] if n < len(both) else items)
    reason = _why_untested(rows, columns, n, n_items)
    table = table[np.ix_(kept_rows, kept_columns)]
    return Crosstab(
        rows=_only(rows.categories, kept_rows),
        columns=_only(columns.categories, kept_columns),
        n=n,
        n_items=n_items,
        counts=table,
        row_totals=row_totals[kept_rows],
        column_totals=column_totals[kept_columns],
        association=None if reason else association(table, seed=seed),
        untested=reason,
        left_out=without_value([rows, columns]),
        notes=overlap(rows, row_totals, n) + overlap(columns, column_totals, n),
    )


def _why_untested(
    rows: SingleColumn | MultiColumn, columns: SingleColumn | MultiColumn, n: int, n_items: int
) -> str | None:
    several = [each.title.lower() for each in (rows, columns) if isinstance(each, MultiColumn)]
    if several:
        return f"A part can have several values of {' and of '.join(several)}, so that counts are not independent."
    if n_items < n:
        items = "1 item" if n_items == 1 else f"{n_items} items"
        return (
            f"{n} parts are of {items}, so that counts are not independent; ask for items of a single part to have a "
            "test."
        )
    return None


def _only(categories: Categories, kept: Ints) -> Categories:
    place = {int(code): number for number, code in enumerate(kept)}
    parents = tuple(place.get(categories.parents[code], -1) for code in place) if categories.parents else ()
    return Categories(
        tuple(categories.keys[code] for code in place), tuple(categories.names[code] for code in place), parents
    )
