"""Filters by label in URLs, such as `symptom:crash|hang` and `stage:training`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from annotation.analysis.folding import FoldingRule, fold_column, has_value
from annotation.analysis.queries.effort import MEASURES, effort
from annotation.analysis.queries.labels import study_labels
from annotation.core.access import Seat
from annotation.core.errors import Invalid
from annotation.labels.columns import LEVELS, NONE, NOT_AGREED, UNMAPPED, Columns, Flags, Ints, SingleColumn

UP_TO = "<="
WITHOUT = {"~none": NONE, "~open": NOT_AGREED, "~unmapped": UNMAPPED, "~any": 0}
"""Words for parts without a value, and for those with any."""
MOST_FILTERS = 20


@dataclass(frozen=True)
class LabelFilter:
    """The parts that have one of some categories of a dimension or attribute, or a number up to another (`<=10`)."""

    key: str
    values: tuple[str, ...]

    @classmethod
    def read(cls, word: str) -> "LabelFilter":
        """From `dimension:category`, with | between alternatives. Raises ValueError."""
        key, colon, values = word.partition(":")
        found = tuple(value for value in values.split("|") if value)
        if not key or not colon or not found:
            raise ValueError(word)
        return cls(key, found)

    def __str__(self) -> str:
        return f"{self.key}:{'|'.join(self.values)}"


def label_filters(words: Sequence[str]) -> list[LabelFilter]:
    """The filters of an address. Raises Invalid."""
    try:
        return [LabelFilter.read(word) for word in words[:MOST_FILTERS]]
    except ValueError as error:
        raise _cannot([f"Enter a label as dimension:category, not as “{str(error)[:60]}”."]) from error


def rows_with(columns: Columns, filters: Sequence[LabelFilter], levels: Mapping[str, str]) -> Ints:
    """The rows that pass every filter; at a level of the tree a category stands for all that it is told for there.

    Raises Invalid for a dimension or a category that there is not.
    """
    passing = np.ones(columns.n_rows, dtype=bool)
    for each in filters:
        column = columns.column(each.key)
        if column is None:
            raise _cannot([f"Dimension “{each.key[:60]}” is not in these labels."])
        told, _ = fold_column(column, FoldingRule(level=levels.get(each.key, "leaf")))
        states = told.codes if isinstance(told, SingleColumn) else told.state
        here = np.zeros(columns.n_rows, dtype=bool)
        for value in each.values:
            if value in WITHOUT:
                here |= has_value(told) if value == "~any" else states == WITHOUT[value]
            elif value not in told.categories.place:
                raise _cannot([f"“{each.key[:60]}” has no category “{value[:60]}” here."])
            elif isinstance(told, SingleColumn):
                here |= told.codes == told.categories.place[value]
            else:
                here[told.rows[told.codes == told.categories.place[value]]] = True
        passing &= here
    return np.flatnonzero(passing)


@dataclass(frozen=True)
class ItemsWithLabels:
    """The ids (ascending) of the items of which a part passes the filters, how many parts do, the filters in words."""

    items: Ints
    n_parts: int
    words: Sequence[tuple[str, str]]


def items_with(
    seat: Seat,
    filters: Sequence[LabelFilter],
    *,
    round_number: int | None = None,
    version: int | None = None,
    levels: Sequence[str] = (),
    parts: str = "",
    where: Sequence[str] = (),
) -> ItemsWithLabels:
    """The items behind a number of an analysis whose labels the person may see; queries as `study_labels`.

    `levels` are words `dimension:level`, `where` and `parts` what the analysis looked at. Raises Invalid.
    """
    columns = study_labels(seat, round_number=round_number, version=version).columns
    told = dict(word.rpartition(":")[::2] for word in levels)
    if set(told.values()) - set(LEVELS):
        raise Invalid("Labels not valid.", fields={"level": [f"Use one of {', '.join(LEVELS)}."]})
    if parts == "single":
        columns = columns.taken(np.flatnonzero(~columns.in_several_parts))
    every = list(filters)
    families: dict[str, list[str]] = {}
    for word in where:
        key, _, value = word.partition(":")
        families.setdefault(key, []).append(value)
    for key, values in families.items():
        column = columns.column(key)
        places = {code for value in values for code in column.categories.family(value)} if column else set()
        if column is None or not places:
            raise _cannot([f"Label “{key[:60]}:{', '.join(values)[:60]}” not found."])
        chosen = LabelFilter(key, tuple(column.categories.keys[code] for code in sorted(places)))
        columns = columns.taken(rows_with(columns, [chosen], {}))
    for each in [one for one in every if is_measured(columns, one)]:
        columns = columns.taken(np.flatnonzero(_measured(seat, columns, each)))
    rows = rows_with(columns, [one for one in every if not is_measured(columns, one)], told)
    words = [(str(each), in_words(columns, each, told.get(each.key, "leaf"))) for each in filters]
    return ItemsWithLabels(np.unique(columns.items[rows]), len(rows), words)


def is_measured(columns: Columns, each: LabelFilter) -> bool:
    """Whether a filter asks about numbers: those of a dimension or a measure of effort; known, not known, or up to."""
    asks = len(each.values) == 1 and (each.values[0] in ("~any", "~none") or each.values[0].startswith(UP_TO))
    return asks and (each.key in columns.numbers or (each.key in MEASURES and columns.column(each.key) is None))


def _measured(seat: Seat, columns: Columns, each: LabelFilter) -> Flags:
    number = columns.numbers.get(each.key) or effort(seat.study, each.key, columns)
    (value,) = each.values
    if value in WITHOUT:
        return np.asarray(np.isnan(number.values) == (value == "~none"))
    try:
        most = float(value.removeprefix(UP_TO))
    except ValueError:
        raise _cannot([f"Enter a number after {UP_TO}, not “{value.removeprefix(UP_TO)[:60]}”."]) from None
    return np.asarray(number.values <= most)


def in_words(columns: Columns, each: LabelFilter, level: str = "leaf") -> str:
    """`Symptom: Crash or Hang`."""
    column = columns.column(each.key)
    if is_measured(columns, each):
        title = columns.numbers[each.key].title if each.key in columns.numbers else MEASURES[each.key][0]
        said = {"~any": "known", "~none": "not known"}.get(each.values[0])
        return f"{title}: {said or f'at or below {each.values[0].removeprefix(UP_TO)}'}"
    if column is None:
        return str(each)
    told = column.categories.lifted(level)[0]
    names = [STATES.get(value) or told.names[told.place[value]] for value in each.values]
    shown = " or ".join(names) if len(names) < 4 else f"{', '.join(names[:3])} or {len(names) - 3} more"
    return f"{column.title}: {shown}"


STATES = {"~none": "none", "~open": "not agreed", "~unmapped": "not in this version", "~any": "any"}


def _cannot(words: list[str]) -> Invalid:
    return Invalid("Labels not valid.", fields={"label": words})
