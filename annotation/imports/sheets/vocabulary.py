"""Vocabulary of a sheet as a taxonomy: spellings that differ in case and spaces are one category."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from annotation.core.errors import Invalid
from annotation.imports.sheets.columns import SheetRow
from annotation.imports.sheets.gathered_rows import GatheredSheet
from annotation.imports.sheets.mapping import SEPARATOR
from annotation.imports.sheets.values import ASKS, NAME_MAX, SCALE_VALUE, fold_value, is_empty_set, loose, words_of
from shared.names import clean_name
from taxonomy.kinds import KINDS
from taxonomy.kinds.multi import MULTI
from taxonomy.kinds.single import SINGLE
from taxonomy.schema import is_key, key_of

CATEGORIES_MAX = 1_000
DIMENSIONS_MAX = 200
ANSWERED_LEAST, OTHERS_LEAST, BLANK_MOST = 0.9, 10, 0.05


def document_from_values(
    sheet: GatheredSheet,
    *,
    slug: str,
    title: str,
    note: str = "",
    several: Collection[str] = (),
    levels: Collection[str] = (),
    scales: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """The document of a taxonomy that holds every value of the sheet: single dimensions, none required.

    The dimensions named by `several`, and those with an empty set (`[]`), are multi: their cells hold several values.
    The values of those named by `levels` are paths, whose steps become a tree. `scales` are the dimensions whose values
    are whole numbers, as `loose` gives their names, with their kind: ordinal (categories by value) or number.

    A dimension that is answered just where another one has certain values hangs on it (`_conditions`).

    Values are trimmed, inner blanks collapsed, compared without case; the most frequent spelling (of equally frequent
    ones the first) is the name, its slug the key, the most frequent value stands first. A dimension without any value
    is left out. Raises Invalid where nothing is left, or where a column is no vocabulary but free text.
    """
    names: dict[str, str] = {}
    multi, trees = ({loose(name) for name in some} for some in (several, levels))
    multi |= {loose(name) for row in _rows(sheet) for name, text in row.values if is_empty_set(text)}
    found: dict[str, dict[str, Counter[str]]] = defaultdict(lambda: defaultdict(Counter))
    for row in _rows(sheet):
        for dimension, text in row.values:
            name = loose(dimension)
            for word in words_of(text) if name in multi else (text,):
                value = clean_name(word)
                if value and not is_empty_set(value) and len(value) <= NAME_MAX and not ASKS.fullmatch(value):
                    names.setdefault(name, dimension)
                    found[name][value.casefold()][value] += 1
    _check_sizes(found)
    keys: set[str] = set()
    made: dict[str, dict[str, Any]] = {}
    for of_sheet in dict.fromkeys(loose(each) for each in sheet.dimensions):
        if name := names.get(of_sheet, ""):
            key = name if is_key(name) and name not in keys else _free(key_of(name) or "dimension", keys)
            keys.add(key)
            made[name] = {
                "key": key,
                "title": _title(name),
                "kind": (MULTI if of_sheet in multi else SINGLE).name,
                "required": False,
                "categories": (_tree if of_sheet in trees else _categories)(found[of_sheet]),
            }
            if kind := (scales or {}).get(of_sheet):
                made[name] |= _scale(name, kind, found[of_sheet])
    without = multi | {name for name, kind in (scales or {}).items() if not KINDS[kind].has_categories}
    for name, (above, values) in _conditions(sheet, names, list(made), without).items():
        by_value = dict(_by_value(made[above]["categories"]))
        made[name]["applies_when"] = {"dimension": made[above]["key"], "is": sorted(by_value[each] for each in values)}
    document = {"slug": slug, "title": title, "dimensions": list(made.values())}
    return {**document, "note": note} if note else document


def _conditions(
    sheet: GatheredSheet, names: Mapping[str, str], in_order: Sequence[str], without: Collection[str]
) -> dict[str, tuple[str, set[str]]]:
    """Which dimension hangs on which earlier one, and on which of its values.

    So it is where of all parts (of raters and of the final one) those with such a value nearly all answer it (at least
    ANSWERED_LEAST), and of at least OTHERS_LEAST with another value none does. Parts that leave the earlier one blank
    say nothing, but more than BLANK_MOST of them speak against it. Of several the first in the sheet is taken.
    """
    places: dict[tuple[object, ...], int] = {}
    given: dict[str, dict[int, int]] = {name: {} for name in in_order}
    texts: dict[str, dict[str, int]] = {name: {} for name in in_order}
    for place, rows in (*sheet.answers.items(), *sheet.finals.items()):
        for row in rows:
            part = places.setdefault((len(place), *place, row.part), len(places))
            for dimension, text in row.values:
                name = names.get(loose(dimension), "")
                if name in given and (value := fold_value(text)):
                    given[name][part] = texts[name].setdefault(value, len(texts[name]))
    columns = [_ValueColumn.of(given[name], list(texts[name]), len(places)) for name in in_order]
    found: dict[str, tuple[str, set[str]]] = {}
    for position, name in enumerate(in_order):
        answered = columns[position].codes >= 0
        if len(places) - answered.sum() < OTHERS_LEAST:
            continue
        for above, column in zip(in_order[:position], columns, strict=False):
            if loose(above) in without:
                continue
            is_value = column.is_value[np.where(answered, column.codes, -1)]
            seen = np.zeros(len(column.texts) + 1, dtype=bool)
            seen[column.codes[is_value]] = True
            inside = seen[column.codes]
            n_others = column.is_value[column.codes].sum() - inside.sum()
            n_blank = (answered & (column.codes < 0)).sum()
            if (
                seen.any()
                and n_others >= OTHERS_LEAST
                and (inside & answered).sum() >= ANSWERED_LEAST * inside.sum()
                and n_blank <= BLANK_MOST * answered.sum()
            ):
                found[name] = (above, {column.texts[int(code)] for code in np.flatnonzero(seen)})
                break
    return found


@dataclass(frozen=True)
class _ValueColumn:
    """What the parts of a sheet say of a dimension: codes of `texts` (−1: blank), and which of these are values.

    The last of `is_value` is that of a blank.
    """

    codes: NDArray[np.int32]
    texts: Sequence[str]
    is_value: NDArray[np.bool_]

    @classmethod
    def of(cls, given: Mapping[int, int], texts: Sequence[str], n_parts: int) -> "_ValueColumn":
        codes = np.full(n_parts, -1, dtype=np.int32)
        codes[np.fromiter(given.keys(), dtype=np.int64, count=len(given))] = [*given.values()]
        return cls(codes, texts, np.array([*(ASKS.fullmatch(text) is None for text in texts), False]))


def _scale(name: str, kind: str, values: dict[str, Counter[str]]) -> dict[str, Any]:
    """A dimension whose values are whole numbers: categories in order of value, or a number. Raises Invalid."""
    if not all(SCALE_VALUE.fullmatch(text) for text in values):
        sentence = f"The values of “{name}” are not all whole numbers, so it can't be {kind}."
        raise Invalid(sentence, fields={kind: [sentence]})
    if not KINDS[kind].has_categories:
        return {"kind": kind, "categories": []}
    in_order = dict(sorted(values.items(), key=lambda each: int(each[0])))
    found = {each["name"]: each for each in _categories(in_order)}
    return {"kind": kind, "categories": [found[text] for text in in_order]}


def _rows(sheet: GatheredSheet) -> Iterable[SheetRow]:
    for rows in (*sheet.answers.values(), *sheet.finals.values()):
        yield from rows


def _check_sizes(spellings: dict[str, dict[str, Counter[str]]]) -> None:
    if not spellings:
        raise Invalid("The sheet has no values, so no taxonomy can be made from it.", code="no_values")
    if len(spellings) > DIMENSIONS_MAX:
        raise Invalid(
            f"The sheet has {len(spellings)} dimensions. At most {DIMENSIONS_MAX} are allowed.", code="no_values"
        )
    for name, values in spellings.items():
        if len(values) > CATEGORIES_MAX:
            raise Invalid(
                f"“{name}” has {len(values)} different values. More than {CATEGORIES_MAX} are free text "
                "rather than categories. Exclude the column, or load a taxonomy first and import into its "
                "study.",
                code="too_many_values",
                fields={name: [f"{len(values)} different values."]},
            )


def _categories(values: dict[str, Counter[str]]) -> list[dict[str, str]]:
    """Most frequent first. A name that is a key itself gets that key, so that no text names two categories."""
    in_order = sorted(values.items(), key=lambda each: -each[1].total())
    taken = {folded for folded in values if is_key(folded)}
    found = []
    for folded, spelled in in_order:
        key = folded if is_key(folded) else _free(key_of(folded) or "category", taken)
        taken.add(key)
        found.append({"key": key, "name": spelled.most_common(1)[0][0]})
    return found


def _tree(values: dict[str, Counter[str]]) -> list[dict[str, Any]]:
    """The same of paths: each step is a category below the one before it, and can be chosen by itself.

    As in `_categories` a whole value that is a key itself is the key of what it names.
    """
    named: dict[tuple[str, ...], Counter[str]] = defaultdict(Counter)
    for spelled in values.values():
        for text, n in spelled.items():
            steps = text.split(SEPARATOR)
            for depth, step in enumerate(steps, start=1):
                named[tuple(each.casefold() for each in steps[:depth])][step] += n
    below: dict[tuple[str, ...], list[tuple[str, ...]]] = defaultdict(list)
    for path, _ in sorted(named.items(), key=lambda each: -each[1].total()):
        below[path[:-1]].append(path)
    taken = {root for (root,) in below[()] if is_key(root)}

    def made(path: tuple[str, ...]) -> dict[str, Any]:
        name = named[path].most_common(1)[0][0]
        key = key_of(name) or "category"
        if len(path) == 1 and is_key(path[0]):
            key = path[0]
        else:
            if key in taken and len(path) > 1:
                key = key_of(" ".join(path[-2:])) or key
            key = _free(key, taken)
        taken.add(key)
        children = [made(each) for each in below[path]]
        return {"key": key, "name": name, **({"categories": children} if children else {})}

    return [made(path) for path in below[()]]


def _by_value(categories: Sequence[Mapping[str, Any]], above: str = "") -> Iterable[tuple[str, str]]:
    """Value as a sheet gives it, without case, and the key of each category."""
    for each in categories:
        path = f"{above}{each['name']}"
        yield path.casefold(), each["key"]
        yield from _by_value(each.get("categories", ()), path + SEPARATOR)


def _free(key: str, taken: set[str]) -> str:
    number, free = 1, key
    while free in taken:
        number += 1
        free = f"{key[:90]}-{number}"
    return free


def _title(name: str) -> str:
    words = " ".join(name.replace("_", " ").replace("-", " ").split()) or name
    return (words[:1].upper() + words[1:])[:NAME_MAX]
