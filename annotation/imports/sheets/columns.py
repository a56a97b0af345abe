"""Columns of a sheet and their roles, in the long form or with a column for each dimension."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from annotation.core.errors import Invalid
from annotation.imports.sheets.attributes import attribute_name, wrong_head
from ingest.tables import TableRow as Row


@dataclass(frozen=True, slots=True)
class ColumnRole:
    """What a column may hold, in words, and the heads by which it is recognized, with | between them."""

    words: str
    heads: str = ""


ROLES: Mapping[str, ColumnRole] = {
    "": ColumnRole("excluded"),
    "item": ColumnRole(
        "the item",
        "item|link|url|issue|issue url|issue link|issue id|issue number|issue no|html url|item url|permalink"
        "|address|question|question id|bug|bug id|bug report|id|number|no|#|key|name|title",
    ),
    "rater": ColumnRole(
        "the rater",
        "rater|coder|annotator|labeler|labeller|reviewer|judge|rater name|annotated by|labeled by|labelled by|user",
    ),
    "round": ColumnRole("the round", "round|iteration|phase|batch|round number"),
    "part": ColumnRole("the part of the item", "part|unit|fault no|fault number|bug no|part number|sub id"),
    "dimension": ColumnRole("the dimension", "dimension|variable|facet|attribute|question|criterion|aspect"),
    "value": ColumnRole("the value", "value|label|answer|category|code|choice|rating"),
    "answer": ColumnRole("labels for"),
    "seconds": ColumnRole("seconds spent", "seconds|lead time|duration|time spent|time s|time"),
    "memo": ColumnRole(
        "memo",
        "memo|memos|comment|comments|note|notes|remark|remarks|rationale|reason|justification|explanation|discussion",
    ),
    "attribute": ColumnRole("attribute of the item"),
}
OWN_ROLES: Mapping[str, ColumnRole] = {
    "round_label": ColumnRole("the label of the round"),
    "round_kind": ColumnRole("the kind of the round"),
    "role": ColumnRole("the role of the rater"),
    "training": ColumnRole("whether the item is for training"),
    "revision": ColumnRole("blind, current or first"),
    "version": ColumnRole("the taxonomy version"),
}
"""Of columns in files of Concord."""
SINGLE = ("item", "rater", "round", "part", "dimension", "value", "seconds")
"""Of one column of a sheet at most."""
TEXTS = ("memo",)
"""Whose columns may be several, put together. Each is a field of `SheetRow`."""
FIELDS = ("item", "rater", "dimension", "value", "round", "part", "seconds", *TEXTS)
OWN = {
    "item": "item",
    "part": "part",
    "round": "round",
    "round_label": "round_label",
    "round_kind": "round_kind",
    "rater": "rater",
    "role": "role",
    "dimension": "dimension",
    "values": "value",
    "memo": "memo",
    "seconds": "seconds",
    "training": "training",
    "revision": "revision",
    "taxonomy_version": "version",
    "screened_out": "",
}
"""Columns of files of Concord (ratings and labels, long and wide), and what they hold."""
LATER = ("round_kind", "role", "training", "screened_out")
"""Columns that older wide files lack, so that one of these names alone is a dimension there."""
OWN_FINAL = "final"
NAMES = {"part": ("part", "unit")}
POSITION = re.compile(r"#([1-9]\d{0,3})")
WHOLE = re.compile(r"(\d{1,9})(?:\.0+)?")


@dataclass(frozen=True, slots=True)
class SheetRow:
    """A row with a name for everything; `values` are pairs of dimension and text, as they were typed.

    `attributes` are pairs of name and text about the item itself; `is_list` says that the sheet has no columns for
    answers. `sheet` is its sheet's name where there are several. Files of Concord also have label and kind of the
    round, the role of the rater, whether the item is for training, the revision (blind, current or first), and the
    number of the taxonomy version.
    """

    line: int
    item: str
    rater: str
    round: str
    part: str
    seconds: str
    memo: str
    values: tuple[tuple[str, str], ...]
    sheet: str = ""
    attributes: tuple[tuple[str, str], ...] = ()
    is_list: bool = False
    round_label: str | None = None
    round_kind: str = ""
    role: str = ""
    training: str = ""
    revision: str = ""
    version: str = ""

    @property
    def where(self) -> str:
        """As a sentence speaks of it."""
        return f"row {self.line} of “{self.sheet}”" if self.sheet else f"line {self.line}"


@dataclass(frozen=True)
class SheetLayout:
    """Places of the fields among the cells, −1 for a field that the sheet lacks; dimensions with their places.

    Without dimensions the sheet is in the long form; `is_list` where it says nothing but attributes of items. A file of
    Concord (`is_own`) is read to the letter; `rater` is whose rows they are where no column names them.
    """

    places: Mapping[str, int]
    dimensions: tuple[tuple[str, int], ...] = ()
    attributes: tuple[tuple[str, int], ...] = ()
    is_list: bool = False
    is_own: bool = False
    rater: str = ""

    @cached_property
    def _present(self) -> Sequence[tuple[str, int]]:
        """The fields that the sheet has and that are read as one line."""
        return [(field, place) for field, place in self.places.items() if place >= 0 and field not in (*TEXTS, "value")]

    def read(self, row: Row) -> SheetRow:
        cells = row.cells if self.is_own else [cell.strip() for cell in row.cells]
        found = {field: " ".join(cells[place].split()) for field, place in self._present}

        def cell(field: str) -> str:
            return found.get(field, "")

        values: tuple[tuple[str, str], ...] = ()
        if self.dimensions:
            values = tuple((name, cells[place]) for name, place in self.dimensions)
        elif not self.is_list:
            values = ((cell("dimension"), cells[self.places["value"]]),)
        return SheetRow(
            line=row.line,
            item=cell("item"),
            rater=cell("rater") or self.rater,
            round=cell("round"),
            part=cell("part"),
            seconds=cell("seconds"),
            **{role: cells[self.places[role]] if self.places[role] >= 0 else "" for role in TEXTS},
            values=values,
            attributes=tuple(
                (name, text) for name, place in self.attributes if (text := " ".join(cells[place].split()))
            ),
            is_list=self.is_list,
            round_label=cell("round_label") if self.is_own else None,
            round_kind=cell("round_kind"),
            role=cell("role"),
            training=cell("training"),
            revision=cell("revision"),
            version=cell("version"),
        )


def own_roles(columns: Sequence[str]) -> list[str]:
    """What each column of a file of Concord holds, as the roles of columns are called; none for any other file.

    A wide file has a column for each dimension, and one of labels another with its method.
    """
    named = set(columns)
    if not {"item", "part", "round", "taxonomy_version"} <= named:
        return []
    if {"dimension", "values"} <= named:
        return [OWN.get(name, "") for name in columns]
    answers = {name for name in columns if f"{name}.method" in named}
    if {"rater", "revision"} <= named:
        known = OWN.keys() if named.issuperset(LATER) else OWN.keys() - set(LATER)
        answers = {name for name in columns if name not in known}
    return ["answer" if name in answers else OWN.get(name, "") for name in columns] if answers else []


def own_dimension(column: str) -> str:
    """The key of the dimension that a column of a wide file holds."""
    base = column.removesuffix(".label")
    return base if base in {*OWN, "repository", "number"} else column


def _own_layout(columns: Sequence[str], final: str) -> SheetLayout | None:
    roles = own_roles(columns)
    if not roles:
        return None
    places = {field: roles.index(field) if field in roles else -1 for field in (*FIELDS, *OWN.values())}
    dimensions = [(own_dimension(columns[place]), place) for place, role in enumerate(roles) if role == "answer"]
    return SheetLayout(places, tuple(dimensions), is_own=True, rater="" if "rater" in roles else final)


def lay_out(
    columns: Sequence[str],
    mapping: Mapping[str, str],
    dimensions: Sequence[str] = (),
    attributes: Sequence[str] = (),
    final: str = OWN_FINAL,
) -> SheetLayout:
    """Finds the columns of a sheet; those of a file of Concord are known, and its labels are of the rater `final`.

    `mapping` says which column holds a field (or a dimension, or an attribute) that the sheet calls otherwise;
    `dimensions` name the columns to be read as dimensions, none for the long form, `attributes` those that say
    something of the item itself. With attributes and nothing of answers the sheet is a list of items. Raises Invalid,
    naming the columns that there are.
    """
    mapping = {key.strip(): value.strip() for key, value in mapping.items()}
    dimensions = [name.strip() for name in dimensions if name.strip()]
    attributes = [name.strip() for name in attributes if name.strip()]
    if not mapping and not attributes and (own := _own_layout(columns, final)):
        return own
    if "unit" in mapping:
        mapping.setdefault("part", mapping.pop("unit"))
    fields: dict[str, list[str]] = {}
    for name in mapping:
        if name not in (*FIELDS, *dimensions, *attributes):
            known = ", ".join(dict.fromkeys((*FIELDS, *dimensions, *attributes)))
            fields[f"map.{name}"] = [f"“{name}” can't be mapped. These can: {known}."]
    places = {field: _place(columns, mapping, field, fields) for field in FIELDS}
    found, told = (
        [(name, _named(columns, mapping, name, fields)) for name in dict.fromkeys(names)]
        for names in (dimensions, attributes)
    )
    for name in attributes:
        if wrong := wrong_head(name):
            fields[name] = [wrong]
        elif name in dimensions:
            fields[name] = [f"“{name}” is mapped as a dimension and as an attribute."]
    of_answers = ("rater", "dimension", "value")
    is_list = bool(attributes) and not dimensions and all(places[each] < 0 for each in of_answers)
    is_list = is_list and not mapping.keys() & {*of_answers}
    for field in ("item",) if is_list else ("item", "rater") if dimensions else ("item", "rater", "dimension", "value"):
        if places[field] < 0 and field not in mapping:
            fields[field] = [f"Column “{field}” not found. Name the column with {field}=COLUMN."]
    if not dimensions and {"dimension", "value"} & fields.keys():
        fields["dimensions"] = ["Or name the columns that each contain one dimension."]
    if fields:
        sentences = " ".join(sentence for each in fields.values() for sentence in each)
        there = ", ".join(column for column in columns if column) or "none"
        raise Invalid(f"{sentences} The columns are: {there}.", code="columns", fields=fields)
    return SheetLayout(places, tuple(found), tuple((attribute_name(name), place) for name, place in told), is_list)


def _named(columns: Sequence[str], mapping: Mapping[str, str], name: str, fields: dict[str, list[str]]) -> int:
    """Where the column of a dimension or an attribute stands; it must be there."""
    place = _place(columns, mapping, name, fields)
    if place < 0 and name not in mapping:
        fields.setdefault(name, [f"Column “{name}” not found."])
    return place


def _place(columns: Sequence[str], mapping: Mapping[str, str], name: str, fields: dict[str, list[str]]) -> int:
    """Where the column of a field stands: by its place (`#3`), else its name, whatever its case; −1: none."""
    wanted = (mapping[name],) if name in mapping else NAMES.get(name, (name,))
    if (at := POSITION.fullmatch(wanted[0])) and wanted[0] not in columns and int(at[1]) <= len(columns):
        return int(at[1]) - 1
    for found in (
        [place for place, column in enumerate(columns) if column in wanted],
        [place for place, column in enumerate(columns) if column.casefold() in {each.casefold() for each in wanted}],
    ):
        if len(found) == 1:
            return found[0]
        if found:
            fields[name] = [f"The column “{columns[found[0]]}” appears {len(found)} times. Rename all but one."]
            return -1
    if name in mapping:
        fields[name] = [f"Column “{mapping[name]}” not found."]
    return -1


def whole_number(text: str) -> int | None:
    """A whole number as spreadsheets write it ("2", "2.0"), or None."""
    found = WHOLE.fullmatch(text)
    return int(found[1]) if found else None


def rows_of(layout: SheetLayout, rows: Iterator[Row]) -> Iterator[Row | SheetRow]:
    """Every row by its fields; one that can't be taken comes as it is, with its fault."""
    for row in rows:
        yield row if row.fault else layout.read(row)
