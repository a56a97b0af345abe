"""Category lists: a table of names, definitions, and parents becomes the tree of one dimension."""

import csv
from typing import Any

from shared.errors import Invalid
from taxonomy.schema import LEVELS_MAX, key_of

NAMES = {
    "name": ("name", "category", "label", "code"),
    "definition": ("definition", "description"),
    "parent": ("parent",),
}
FIELD = "list"
LINE_CHARACTERS_MAX = 100_000


def read_categories(text: str) -> list[dict[str, Any]]:
    """The categories of a list as a document writes them, in the order of their lines.

    The first line may name the columns; then tabs, semicolons or commas part them. Without it a line is name,
    definition and parent with tabs between, or a name alone. Raises Invalid with the lines.
    """
    lines = [line for line in text.lstrip("\ufeff").replace("\x00", "").splitlines() if line.strip()]
    if not lines:
        raise Invalid("The list has no categories.", fields={FIELD: ["Write one category on each line."]})
    if max(map(len, lines)) > LINE_CHARACTERS_MAX:
        sentence = f"A line is longer than {LINE_CHARACTERS_MAX:,} characters. Shorten it."
        raise Invalid("The list could not be read.", fields={FIELD: [sentence]})
    try:
        rows = _rows(lines)
    except csv.Error as error:
        sentence = "A cell can't be read. Close every quotation mark."
        raise Invalid("The list could not be read.", fields={FIELD: [sentence]}) from error
    wrong: list[str] = []
    found: dict[str, dict[str, Any]] = {}
    parents: dict[str, tuple[int, str]] = {}
    keys: dict[str, int] = {}
    for number, name, definition, parent in rows:
        if not name:
            wrong.append(f"Row {number} has no name.")
        elif name.casefold() in found:
            wrong.append(f"Row {number}: “{name}” is there already. Give each category a name of its own.")
        else:
            key = _free(key_of(name) or f"category-{number}", keys)
            entry: dict[str, Any] = {"key": key, "name": name}
            found[name.casefold()] = entry | ({"definition": definition} if definition else {})
            if parent:
                parents[name.casefold()] = (number, parent)
    tree: list[dict[str, Any]] = []
    for name, entry in found.items():
        if name not in parents:
            tree.append(entry)
            continue
        number, parent = parents[name]
        if parent.casefold() not in found:
            wrong.append(f"Row {number}: no row has the name of the parent “{parent}”.")
        elif problem := _too_deep(name, parents):
            wrong.append(f"Row {number}: “{entry['name']}” {problem}.")
        else:
            found[parent.casefold()].setdefault("categories", []).append(entry)
    if wrong:
        raise Invalid("The list could not be read.", fields={FIELD: wrong[:20]})
    return tree


def _rows(lines: list[str]) -> list[tuple[int, str, str, str]]:
    """The row's number, name, definition and parent of each line below the head."""
    parted = next((each for each in "\t;," if each in lines[0]), "\t")
    head = [cell.strip().casefold() for cell in next(csv.reader([lines[0]], delimiter=parted))]
    places = {field: next((head.index(each) for each in names if each in head), None) for field, names in NAMES.items()}
    has_head = places["name"] is not None
    if not has_head:
        parted, places = "\t", {"name": 0, "definition": 1, "parent": 2}
    in_lines = "\n".join(lines).splitlines(keepends=True)
    rows = csv.reader(in_lines, delimiter=parted, strict=True) if has_head else _cells(lines)
    found = []
    for number, row in enumerate(rows, start=1):
        cells = {
            field: " ".join(row[at].split()) if at is not None and at < len(row) else "" for field, at in places.items()
        }
        if not (has_head and number == 1):
            found.append((number, cells["name"], cells["definition"], cells["parent"]))
    return found


def _cells(lines: list[str]) -> list[list[str]]:
    return [line.split("\t") for line in lines]


def _free(key: str, taken: dict[str, int]) -> str:
    """The key, or with the first free number; `taken` has the last number of each."""
    free, number = key, taken.get(key, 1)
    while free in taken:
        number += 1
        free = f"{key}-{number}"
    taken[key] = number
    taken[free] = max(taken.get(free, 1), 1)
    return free


def _too_deep(name: str, parents: dict[str, tuple[int, str]]) -> str:
    """Why a category can't stand below its parent, in words; empty where it can. Reads at most LEVELS_MAX parents."""
    seen = [name]
    while (at := seen[-1]) in parents:
        above = parents[at][1].casefold()
        if above in seen:
            return "would be its own parent"
        seen.append(above)
        if len(seen) > LEVELS_MAX:
            return f"is more than {LEVELS_MAX} levels deep"
    return ""
