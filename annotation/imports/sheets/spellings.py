"""Spellings: confirmed meanings of values, and unknown values with the nearest category."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from annotation.imports.sheets.columns import SheetRow
from annotation.imports.sheets.values import (
    ASKS,
    SEPARATORS,
    SUGGESTED_MAX,
    RejectedValue,
    ValueReader,
    closest,
    fold_value,
    is_empty_set,
    loose,
    nearest_category,
    words_of,
)
from ingest.tables.files import TableRow

LOOKS_ALIKE = 78.0
PLACES_SHOWN = 3
VALUES_MOST = 400

Meanings = Mapping[tuple[str, str], str]
"""Dimension (as `loose` gives it) and value (as `folded` does) → what it stands for; NOTHING: no rating."""


@dataclass
class ValueSpelling:
    """One value of a dimension as it was typed: how often, where first, and what it may have been meant to be.

    `reason`: why it can't be taken as it is, "" where it can; `meaning`: what was decided, None for nothing yet.
    """

    text: str
    n: int = 0
    places: list[str] = field(default_factory=list)
    nearest: str = ""
    reason: str = ""
    meaning: str | None = None


@dataclass
class DimensionSpellings:
    """The values of one dimension, the most frequent first; `offered` are what an unknown one can be taken for."""

    name: str
    title: str
    values: list[ValueSpelling]
    offered: Sequence[str]
    is_known: bool = True

    @property
    def unsure(self) -> list[ValueSpelling]:
        """Those to decide on: unknown ones, and new ones that look like others."""
        return [each for each in self.values if each.reason or each.nearest or each.meaning is not None]

    @property
    def sure(self) -> list[ValueSpelling]:
        return [each for each in self.values if not (each.reason or each.nearest or each.meaning is not None)]


def apply_spellings(
    rows: Iterable[TableRow | SheetRow], meanings: Meanings, several: Collection[str] = ()
) -> Iterator[TableRow | SheetRow]:
    """The rows with every value told as what it stands for; the cells of the dimensions `several` hold several."""
    multi = {loose(name) for name in several}

    def told(name: str, text: str) -> str:
        if name in multi and SEPARATORS.search(text):
            words = [meanings.get((name, fold_value(word)), word) for word in words_of(text)]
            return "; ".join(dict.fromkeys(word for word in words if word))
        return meanings.get((name, fold_value(text)), text)

    for row in rows:
        if isinstance(row, TableRow) or not meanings:
            yield row
        else:
            yield replace(row, values=tuple((name, told(loose(name), text)) for name, text in row.values))


def _counted(
    rows: Iterable[SheetRow], multi: Collection[str]
) -> tuple[dict[str, str], dict[str, dict[str, ValueSpelling]], dict[str, dict[str, Counter[str]]]]:
    names: dict[str, str] = {}
    found: dict[str, dict[str, ValueSpelling]] = defaultdict(dict)
    typed: dict[str, dict[str, Counter[str]]] = defaultdict(lambda: defaultdict(Counter))
    for row in rows:
        for dimension, text in row.values:
            name = loose(dimension)
            for word in words_of(text) if name in multi else (text,):
                key = fold_value(word)
                if not key or is_empty_set(key) or ASKS.fullmatch(key):
                    continue
                names.setdefault(name, dimension)
                value = found[name].setdefault(key, ValueSpelling(" ".join(word.split())))
                typed[name][key][" ".join(word.split())] += 1
                value.n += 1
                if len(value.places) < PLACES_SHOWN:
                    value.places.append(row.where)
    for name, values in found.items():
        for key, value in values.items():
            value.text = typed[name][key].most_common(1)[0][0]
    return names, found, typed


def new_values(rows: Iterable[SheetRow], meanings: Meanings, several: Collection[str] = ()) -> list[DimensionSpellings]:
    """All values, as categories of a taxonomy that is made from them; rare ones that look like others name those."""
    names, found, _ = _counted(rows, {loose(name) for name in several})
    lists = []
    for name, by_key in found.items():
        values = sorted(by_key.values(), key=lambda each: -each.n)
        frequent: list[str] = []
        for value in values:
            key = fold_value(value.text)
            value.meaning = meanings.get((name, key))
            if len(frequent) < VALUES_MOST:
                value.nearest = _text_of(by_key, closest(key, frequent, LOOKS_ALIKE))
                frequent.append(key)
        lists.append(DimensionSpellings(name, names[name], values, [each.text for each in values][:VALUES_MOST]))
    return lists


def _text_of(by_key: Mapping[str, ValueSpelling], key: str) -> str:
    return by_key[key].text if key in by_key else ""


def unknown_values(rows: Iterable[SheetRow], reader: ValueReader, meanings: Meanings) -> list[DimensionSpellings]:
    """The values that a version does not know, by dimension; a dimension that it does not have stands there, too."""
    rows = list(rows)
    multi = {
        loose(name)
        for name in dict.fromkeys(name for row in rows for name, _ in row.values)
        if (dimension := reader.dimension(name)) is not None and dimension.is_set
    }
    names, found, _ = _counted(rows, multi)
    lists = []
    for name, by_key in found.items():
        dimension = reader.dimension(names[name])
        if dimension is None:
            keys = [each.title for each in reader.tree.dimensions]
            lists.append(DimensionSpellings(name, names[name], list(by_key.values()), keys, is_known=False))
            continue
        unsure: list[ValueSpelling] = []
        for key, value in by_key.items():
            value.meaning = meanings.get((name, key))
            try:
                reader.read(dimension, value.text)
            except RejectedValue as refused:
                value.reason = str(refused)
                close = nearest_category(dimension, value.text) if len(unsure) < SUGGESTED_MAX else None
                value.nearest = close.path if close else ""
            if value.reason or value.meaning is not None:
                unsure.append(value)
        offered = [each.path for each in dimension.categories if each.selectable]
        if unsure:
            lists.append(DimensionSpellings(name, dimension.title, sorted(unsure, key=lambda each: -each.n), offered))
    return lists
