"""Mapping of sheets and columns as a person confirmed it, and the rows that follow from it."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from annotation.core.errors import Invalid
from annotation.imports.sheets.attributes import attribute_name, wrong_head
from annotation.imports.sheets.books import Sheet, SheetBook
from annotation.imports.sheets.columns import SINGLE, TEXTS, SheetRow
from annotation.imports.sheets.gathered_rows import item_name
from annotation.imports.sheets.values import ASKS
from ingest.tables.files import TableRow

LONG, BY_DIMENSION, BY_RATER = FORMS = ("long", "dimensions", "raters")
NAMED_IN = "="
"""Before the head of another column: that one names the rater."""
KEEP, LEAVE, INSERT, REMOVE = "keep", "leave", "insert", "remove"
SEPARATOR = " / "


@dataclass
class ColumnMapping:
    """One column: its head, and its role; an `answer` names its dimension, and its rater if the column does.

    A rater `=HEAD` is named in the column of that head. An `attribute` describes the item; `dimension` is its name.
    """

    name: str
    role: str = ""
    dimension: str = ""
    rater: str = ""


@dataclass
class SheetMapping:
    """One sheet: whether it counts, its form, the line of its head, what its columns are.

    `rater` and `round` hold for rows that name none. `fills`: a blank item is the item above. `parts`: rows of one item
    by one rater are several faults; else they belong together. `several` names dimensions that take several values.
    Several columns of one rater and dimension are levels of a path, or with `twice` one label that was given twice.
    """

    is_used: bool = True
    form: str = BY_DIMENSION
    head: int = 1
    columns: list[ColumnMapping] = field(default_factory=list)
    rater: str = ""
    round: str = ""
    fills: bool = True
    parts: bool = True
    several: list[str] = field(default_factory=list)
    twice: bool = False

    def places(self, role: str) -> list[int]:
        return [place for place, column in enumerate(self.columns) if column.role == role]

    def place(self, role: str) -> int:
        """Where the column of a role stands; −1 where there is none."""
        return next(iter(self.places(role)), -1)


@dataclass
class BookMapping:
    """All sheets of an upload; `final` names the rater whose rows are what was decided.

    `rows` says of rows that look wrong ("sheet:line") what is done with them: `leave`, or as `shifted` takes it;
    `repository` is where numbers of issues are from. `answers` are those to questions about the upload, by key.
    """

    sheets: list[SheetMapping] = field(default_factory=list)
    final: str = "final"
    repository: str = ""
    rows: dict[str, str] = field(default_factory=dict)
    answers: dict[str, str] = field(default_factory=dict)

    @classmethod
    def from_json(cls, kept: Mapping[str, Any]) -> "BookMapping":
        sheets = [
            SheetMapping(**{**each, "columns": [ColumnMapping(**column) for column in each["columns"]]})
            for each in kept["sheets"]
        ]
        return cls(sheets, kept["final"], kept["repository"], dict(kept["rows"]), dict(kept.get("answers", {})))

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    def fate(self, number: int, line: int) -> str:
        return self.rows.get(f"{number}:{line}", KEEP)


@dataclass
class SheetCount:
    """What was read of a sheet: rows that say something, rows without an answer, rows left out."""

    n_rows: int = 0
    n_blank: int = 0
    n_left_out: int = 0
    items: set[str] = field(default_factory=set)
    by_rater: Counter[str] = field(default_factory=Counter)
    by_round: Counter[str] = field(default_factory=Counter)


@dataclass
class BookReader:
    """Reads the rows of a book by its mapping, once; counts and rows that can't be taken are gathered on the way."""

    book: SheetBook
    mapping: BookMapping
    counts: list[SheetCount] = field(default_factory=list)
    _parts: dict[tuple[str, str, str], int] = field(default_factory=lambda: defaultdict(int))

    def rows(self) -> Iterator[TableRow | SheetRow]:
        """All rows of all sheets that count; those of a sheet bear its title where there are several."""
        for number, (sheet, mapping) in enumerate(zip(self.book.sheets, self.mapping.sheets, strict=True)):
            self.counts.append(SheetCount())
            if mapping.is_used:
                yield from self._of_sheet(number, sheet, mapping)

    def _of_sheet(self, number: int, sheet: Sheet, mapping: SheetMapping) -> Iterator[TableRow | SheetRow]:
        count, title = self.counts[-1], self.book.title_of(number)
        groups = answer_groups(mapping)
        item = ""
        for line, cells in fill_cells(sheet, mapping):
            if line.fault:
                yield SheetFault(line.line, (), line.fault, line.text, sheet=title)
                continue
            fate = self.mapping.fate(number, line.line)
            if fate == LEAVE:
                count.n_left_out += 1
                continue
            cells = shift_cells(cells, mapping, fate)
            own = self._item(sheet, mapping, line.line, cells)
            item = own or (item if mapping.fills else "")
            found = False
            told = attributes_of(mapping, cells)
            for row in self._given(mapping, groups, line.line, cells, item, title):
                found = True
                row = replace(row, attributes=told)
                count.by_rater[row.rater] += 1
                count.by_round[row.round] += 1
                yield row
            if not found:
                found = bool(told) and not groups
                yield SheetRow(line.line, item, "", "", "", "", "", (), title, told, is_list=found)
            count.n_rows += found
            count.n_blank += not found
            if found:
                count.items.add(item)

    def _item(self, sheet: Sheet, mapping: SheetMapping, line: int, cells: Sequence[str]) -> str:
        place = mapping.place("item")
        text = " ".join(cells[place].split()) if place >= 0 else ""
        link = sheet.links.get((line, place + 1), "")
        if link and text and not item_name(text).issue and item_name(link).issue:
            return link
        bare = text.removeprefix("#")
        if self.mapping.repository and bare.isascii() and bare.isdecimal():
            return f"{self.mapping.repository}#{bare}"
        return text

    def _given(
        self,
        mapping: SheetMapping,
        groups: Mapping[str, Mapping[str, list[int]]],
        line: int,
        cells: Sequence[str],
        item: str,
        title: str,
    ) -> Iterator[SheetRow]:
        """What the raters of a row gave; nothing of one whose cells are all blank."""

        def cell(role: str) -> str:
            place = mapping.place(role)
            return " ".join(cells[place].split()) if place >= 0 else ""

        round_, part = cell("round") or mapping.round, cell("part")
        texts: dict[str, Any] = {
            role: "\n".join(text for place in mapping.places(role) if (text := cells[place].strip())) for role in TEXTS
        }
        for rater_of_column, places in groups.items():
            rater = rater_of_column or cell("rater") or mapping.rater
            if rater_of_column.startswith(NAMED_IN):
                rater = _named_in(mapping, rater_of_column, cells)
            answers: list[tuple[tuple[str, str], ...]]
            if mapping.form == LONG:
                answers = [((cell("dimension"), cells[mapping.place("value")].strip()),)]
            else:
                answers = _answers(mapping, places, cells)
            answers = [values for values in answers if any(text for _, text in values)]
            own_part = part or (self._part(mapping, round_, item, rater) if answers else "")
            for values in answers:
                yield SheetRow(
                    line=line,
                    item=item,
                    rater=rater,
                    round=round_,
                    part=own_part,
                    seconds=cell("seconds"),
                    values=values,
                    sheet=title,
                    round_label=cell("round_label") if mapping.places("round_label") else None,
                    round_kind=cell("round_kind"),
                    role=cell("role"),
                    training=cell("training"),
                    revision=cell("revision"),
                    version=cell("version"),
                    **texts,
                )

    def _part(self, mapping: SheetMapping, round_: str, item: str, rater: str) -> str:
        if mapping.form == LONG or not mapping.parts:
            return ""
        place = round_, item_name(item).key if item else "", rater.casefold()
        self._parts[place] += 1
        return str(self._parts[place])


def _named_in(mapping: SheetMapping, rater: str, cells: Sequence[str]) -> str:
    """The rater that the column `=HEAD` names in this row."""
    head = rater.removeprefix(NAMED_IN).casefold()
    place = next((n for n, column in enumerate(mapping.columns) if column.name.casefold() == head), -1)
    return " ".join(cells[place].split()) if place >= 0 else ""


def _answers(
    mapping: SheetMapping, places: Mapping[str, Sequence[int]], cells: Sequence[str]
) -> list[tuple[tuple[str, str], ...]]:
    """What one rater gave in a row; with `twice` each further column of a dimension is an answer of its own."""
    if not mapping.twice:
        return [tuple((name, _joined([cells[place] for place in several])) for name, several in places.items())]
    return [
        tuple((name, cells[several[n]].strip()) for name, several in places.items() if n < len(several))
        for n in range(max(map(len, places.values())))
    ]


@dataclass(frozen=True, slots=True)
class SheetFault(TableRow):
    """A row of one of several sheets that can't be read."""

    sheet: str = ""


def answer_groups(mapping: SheetMapping) -> dict[str, dict[str, list[int]]]:
    """Places of the answers by rater ("" for the row's or the sheet's) and dimension; several are levels of a path."""
    if mapping.form == LONG and not is_list(mapping):
        return {"": {}}
    groups: dict[str, dict[str, list[int]]] = {}
    for place in mapping.places("answer"):
        column = mapping.columns[place]
        groups.setdefault(column.rater, {}).setdefault(column.dimension, []).append(place)
    return groups


def is_list(mapping: SheetMapping) -> bool:
    """Whether a sheet says nothing but attributes of items."""
    return bool(mapping.places("attribute")) and not any(
        mapping.places(role) for role in ("answer", "dimension", "value", "rater")
    )


def attributes_of(mapping: SheetMapping, cells: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """What a row says of its item: names and texts."""
    told = ((mapping.columns[place], " ".join(cells[place].split())) for place in mapping.places("attribute"))
    return tuple((attribute_name(column.dimension or column.name), text) for column, text in told if text)


def dimensions_in_levels(book: BookMapping) -> list[str]:
    """The dimensions of which a sheet has several columns for one rater: the levels of a tree."""
    sheets = [sheet for sheet in book.sheets if sheet.is_used and not sheet.twice]
    groups = [group for sheet in sheets for group in answer_groups(sheet).values()]
    return sorted({name for group in groups for name, places in group.items() if len(places) > 1})


def _joined(cells: Sequence[str]) -> str:
    texts = [text for cell in cells if (text := cell.strip())]
    return next((text for text in texts if len(texts) > 1 and ASKS.fullmatch(text)), SEPARATOR.join(texts))


def fill_cells(sheet: Sheet, mapping: SheetMapping) -> Iterator[tuple[TableRow, list[str]]]:
    """The lines below the head with as many cells as there are columns; merged cells say the same in all lines."""
    width = len(mapping.columns)
    spans = sorted(((top, bottom, left) for top, bottom, left, _ in sheet.merged if bottom > top), reverse=True)
    open_: dict[int, tuple[int, str]] = {}
    for line in sheet.lines:
        cells = [*line.cells[:width], *[""] * (width - len(line.cells))]
        while spans and spans[-1][0] <= line.line:
            top, bottom, left = spans.pop()
            if left <= width and top == line.line:
                open_[left - 1] = (bottom, cells[left - 1])
        for place, (bottom, text) in open_.items():
            if line.line <= bottom and not cells[place].strip():
                cells[place] = text
        if line.line > mapping.head:
            yield line, cells


def block(mapping: SheetMapping) -> list[int]:
    """Places of answers one beside the other, from the first; a memo right behind them belongs to it, too."""
    answers = mapping.places("answer")
    if not answers:
        return []
    found = [answers[0]]
    for place in answers[1:]:
        if place == found[-1] + 1:
            found.append(place)
    if found[-1] + 1 in mapping.places("memo"):
        found.append(found[-1] + 1)
    return found


def shift_cells(cells: Sequence[str], mapping: SheetMapping, fate: str) -> list[str]:
    """The cells of a row with those of its answers moved: `insert:K` puts a blank one at place K, `remove:K` takes it
    out. The row as it is where the fate is neither, or where a text would fall off the end.
    """
    move, _, place = fate.partition(":")
    found, columns = list(cells), block(mapping)
    if not columns or not place.isdecimal() or len(place) > 5 or not columns[0] <= int(place) <= columns[-1]:
        return found
    at, end = int(place), columns[-1]
    if move == INSERT and not cells[end].strip():
        found[at : end + 1] = ["", *cells[at:end]]
    elif move == REMOVE:
        found[at : end + 1] = [*cells[at + 1 : end + 1], ""]
    return found


def check_mapping(mapping: BookMapping, book: SheetBook) -> None:
    """Raises Invalid naming the first things that are missing, by "sheets.N"."""
    fields: dict[str, list[str]] = {}
    used = [number for number, each in enumerate(mapping.sheets) if each.is_used]
    if not used:
        fields["sheets"] = ["No sheet is selected. Select at least one."]
    for number in used:
        if sentences := problems(mapping.sheets[number]):
            fields[f"sheets.{number}"] = sentences
    if fields:
        first = next(iter(fields.values()))[0]
        raise Invalid(f"The sheets can't be read yet: {first}", code="mapping", fields=fields)


def problems(mapping: SheetMapping) -> list[str]:
    """What keeps a sheet from being read, in sentences."""
    found = []
    if mapping.place("item") < 0:
        found.append("No column contains the item. Choose the one with the issue’s URL, name or number.")
    for role in SINGLE:
        if len(mapping.places(role)) > 1:
            found.append(f"{len(mapping.places(role))} columns are the {role}. Only one can be.")
    names = [column.dimension or column.name for column in mapping.columns if column.role == "attribute"]
    found += [wrong for name in names if (wrong := wrong_head(name))]
    for name, n in Counter(attribute_name(name).casefold() for name in names).items():
        if name and n > 1:
            found.append(f"{n} columns are the attribute “{name}”. Give them different names.")
    if is_list(mapping):
        return found
    if mapping.form == LONG:
        found += [
            f"No column contains the {role}, which the long form needs."
            for role in ("dimension", "value")
            if mapping.place(role) < 0
        ]
        if mapping.place("rater") < 0 and not mapping.rater:
            found.append("The rater is missing. Choose the column of the rater, or enter a name.")
        return found
    answers = [mapping.columns[place] for place in mapping.places("answer")]
    if not answers:
        found.append("No column contains labels.")
    if any(not each.dimension for each in answers):
        found.append("Some columns of labels have no dimension.")
    if any(not each.rater for each in answers) and mapping.place("rater") < 0 and not mapping.rater:
        found.append("The rater is missing. Choose the column of the rater, or enter a name.")
    return found
