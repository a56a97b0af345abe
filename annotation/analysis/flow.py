"""Flow of parts from the categories of one column to the next, within each value of another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from annotation.labels.columns import Flags, Ints, MultiColumn, SingleColumn
from shared.wording import plural, series

from .counts import overlap
from .folding import has_value, parts_by_category, without_value
from .pairing import cross
from .shares import AnalysisTooLarge, Denominator, ExcludedParts, Share, share

FEWEST, MOST = 2, 4
WAYS_MAX, PATHS_MAX = 2_000_000, 40_000
"""Ways of all parts (one with several values in each column has every combination of them), and different paths."""


@dataclass(frozen=True)
class FlowNode:
    """A category at one step (0 first) and the parts that pass it."""

    step: int
    category: str
    name: str
    share: Share


@dataclass(frozen=True)
class FlowBand:
    """The parts that go from a category at `step` to one at the next: a share of the group, and of those at `start`."""

    step: int
    start: str
    end: str
    share: Share
    of_start: Share


@dataclass(frozen=True)
class FlowPath:
    """One category of each step, and the parts that take this way."""

    categories: tuple[str, ...]
    share: Share


@dataclass(frozen=True)
class FlowGroup:
    """The flow of the parts with one value of another column; `value` is None for all of them."""

    value: str | None
    name: str
    denominator: Denominator
    nodes: tuple[FlowNode, ...]
    bands: tuple[FlowBand, ...]
    paths: tuple[FlowPath, ...]


@dataclass(frozen=True)
class Flow:
    """Group by group the flow of the `n` parts with a value in every column, of `n_parts` that were looked at."""

    n: int
    n_parts: int
    groups: tuple[FlowGroup, ...]
    left_out: tuple[ExcludedParts, ...]
    notes: tuple[str, ...]


def flow(steps: Sequence[SingleColumn | MultiColumn], within: SingleColumn | MultiColumn | None = None) -> Flow:
    """The flow through two to four columns over N parts, in all or for each value of `within` that occurs.

    Only parts with a value in every column take part (an empty set is none here), so that what comes to a category
    also leaves it, unless a column has several values per part; then the bands of a part count once each.
    """
    if not FEWEST <= len(steps) <= MOST:
        raise ValueError(f"A flow goes through {FEWEST} to {MOST} columns.")
    every = [*steps, within] if within is not None else list(steps)
    whole = np.ones(len(_state(steps[0])), dtype=bool)
    for column in every:
        whole &= has_value(column)
    left_out = without_value(every)
    empty = whole.copy()
    for column in every:
        if isinstance(column, MultiColumn):
            whole &= np.bincount(column.rows, minlength=len(whole)) > 0
    if n_empty := int((empty & ~whole).sum()):
        left_out += (ExcludedParts("Of a dimension with several values none was chosen.", n_empty),)
    n = int(whole.sum())
    notes: tuple[str, ...] = ()
    for column in every:
        notes += overlap(column, parts_by_category(column, whole), n)
    titles = series([column.title.lower() for column in steps])
    if within is None:
        words = f"of the {plural(n, 'part')} with a value of {titles}"
        groups = [_group(steps, np.flatnonzero(whole), None, "All", Denominator("all", words, n))]
    else:
        groups = []
        for code, (key, name) in enumerate(zip(within.categories.keys, within.categories.names, strict=True)):
            rows = np.flatnonzero(_has(within, code) & whole)
            if len(rows):
                words = (
                    f"of the {plural(len(rows), 'part')} with {within.title.lower()} “{name}” and a value of {titles}"
                )
                groups.append(_group(steps, rows, key, name, Denominator("group", words, len(rows))))
    return Flow(n, len(whole), tuple(groups), left_out, notes)


def _group(
    steps: Sequence[SingleColumn | MultiColumn], rows: Ints, value: str | None, name: str, of: Denominator
) -> FlowGroup:
    here = [column.taken(rows) for column in steps]
    n = len(rows)
    passing = [parts_by_category(column).tolist() for column in here]
    nodes = [
        FlowNode(step, column.categories.keys[code], column.categories.names[code], share(passed, n))
        for step, column in enumerate(here)
        for code, passed in enumerate(passing[step])
        if passed
    ]
    bands = []
    for step in range(len(here) - 1):
        start, end = here[step], here[step + 1]
        table = cross(start, end)
        for a, b in zip(*(place.tolist() for place in np.nonzero(table)), strict=True):
            met = int(table[a, b])
            keys = (start.categories.keys[a], end.categories.keys[b])
            bands.append(FlowBand(step, *keys, share(met, n), share(met, passing[step][a])))
    return FlowGroup(value, name, of, tuple(nodes), tuple(bands), _paths(here, n))


def _paths(columns: Sequence[SingleColumn | MultiColumn], n: int) -> tuple[FlowPath, ...]:
    """Every combination that occurs, the most frequent first. Raises AnalysisTooLarge."""
    ways = np.ones(n)
    for column in columns:
        if isinstance(column, MultiColumn):
            ways *= np.bincount(column.rows, minlength=n)
    if ways.sum() > max(n, WAYS_MAX):
        raise _too_many_paths()
    rows, keys = np.arange(n), np.zeros(n, dtype=np.int64)
    sizes = [len(column.categories) for column in columns]
    for column, size in zip(columns, sizes, strict=True):
        if isinstance(column, SingleColumn):
            codes = column.codes[rows]
        else:
            order = np.argsort(column.rows, kind="stable")
            n_of = np.bincount(column.rows, minlength=n)
            first = np.cumsum(n_of) - n_of
            times = n_of[rows]
            within = np.arange(times.sum()) - np.repeat(np.cumsum(times) - times, times)
            codes = column.codes[order][np.repeat(first[rows], times) + within]
            rows, keys = np.repeat(rows, times), np.repeat(keys, times)
        keys = keys * size + codes
    found, counted = np.unique(keys, return_counts=True)
    if len(found) > PATHS_MAX:
        raise _too_many_paths()
    paths = []
    for key, times_taken in zip(found.tolist(), counted.tolist(), strict=True):
        names: list[str] = []
        for column, size in zip(reversed(columns), reversed(sizes), strict=True):
            key, code = divmod(key, size)
            names.append(column.categories.keys[code])
        paths.append(FlowPath(tuple(reversed(names)), share(times_taken, n)))
    return tuple(sorted(paths, key=lambda path: -path.share.n))


def _too_many_paths() -> AnalysisTooLarge:
    return AnalysisTooLarge(
        "dimensions", "The flow would have too many paths. Name fewer dimensions, or fold rare categories."
    )


def _has(column: SingleColumn | MultiColumn, code: int) -> Flags:
    if isinstance(column, SingleColumn):
        here: Flags = column.codes == code
        return here
    found = np.zeros(len(column.state), dtype=bool)
    found[column.rows[column.codes == code]] = True
    return found


def _state(column: SingleColumn | MultiColumn) -> Ints:
    return column.codes if isinstance(column, SingleColumn) else column.state
