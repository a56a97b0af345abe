"""Gathered rows of a sheet by round, item, and rater; incomplete rows are rejected with their line."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from annotation.imports.sheets.attributes import VALUE_MAX
from annotation.imports.sheets.columns import TEXTS, SheetRow, whole_number
from annotation.labels.answers import MOST_PARTS
from ingest.errors import Invalid as NotAnIssue
from ingest.identifiers import full_name, parse_identifier
from ingest.tables import TableRow as Row
from shared.names import clean_name

IDENTIFIER_MAX = 500
RATER_MAX = 150
ROUND_LABEL_MAX = 200
EXCERPT_MAX = 200
BESIDE = THIRD, MODEL = ("third", "model")
"""Roles of those who hold no place of the item, as files of Concord name them."""


OF_TRAINING = (
    "This is a label of a calibration item, which counts in no result. The gold answer is not in this file, "
    "so the label is not imported. The full export has both."
)


@dataclass(frozen=True, slots=True)
class RejectedRow:
    """A row, or one value of it, that was not taken; `sheet` where there are several."""

    line: int
    reason: str
    row: str = ""
    sheet: str = ""


@dataclass(frozen=True, slots=True)
class ItemName:
    """An item: its identifier, and host, owner, name and number if it is an issue."""

    identifier: str
    issue: tuple[str, str, str, int] | None = None

    @property
    def key(self) -> str:
        """Equal for equal items: names of issues have no case, other identifiers have."""
        return self.identifier.casefold() if self.issue else self.identifier


@dataclass
class GatheredSheet:
    """A whole sheet. Rounds are labels ("" where the sheet has none); items and raters are keys of their mappings."""

    n_rows: int = 0
    """Rows of the file, a row of a wide sheet once."""
    n_rows_without_label: int = 0
    """Rows that give no label, beyond `n_rows`: they bring no item, rater, or round."""
    rounds: dict[str, None] = field(default_factory=dict)
    items: dict[str, ItemName] = field(default_factory=dict)
    raters: dict[str, str] = field(default_factory=dict)
    dimensions: dict[str, None] = field(default_factory=dict)
    answers: dict[tuple[str, str, str], list[SheetRow]] = field(default_factory=dict)
    finals: dict[tuple[str, str], list[SheetRow]] = field(default_factory=dict)
    part_labels: dict[tuple[str, str], dict[str, None]] = field(default_factory=dict)
    refusals: list[RejectedRow] = field(default_factory=list)
    attributes: dict[str, dict[str, tuple[str, SheetRow]]] = field(default_factory=dict)
    later: dict[tuple[str, str, str], list[SheetRow]] = field(default_factory=dict)
    """What raters changed after discussion, where a file of Concord has it beside their blind answers."""
    unblinded: set[tuple[str, str]] = field(default_factory=set)
    """Round and rater of whom a file of Concord has no blind answer."""
    beside: dict[tuple[str, str, str], str] = field(default_factory=dict)
    """The answers that a file of Concord says were given beside the planned raters: by a third or a model rater."""
    never_blind: set[tuple[str, str, str]] = field(default_factory=set)
    """Those of them of which the file has no blind answer."""
    round_labels: dict[str, str] = field(default_factory=dict)
    """What a file of Concord says its rounds are called, and under which version they were labeled, by number."""
    versions: dict[str, int] = field(default_factory=dict)
    round_kinds: dict[str, str] = field(default_factory=dict)
    named: dict[str, ItemName] = field(default_factory=dict)
    """Items that have attributes, those without answers too."""
    _told: set[tuple[str, str, str]] = field(default_factory=set)

    def refuse(self, row: SheetRow, reason: str, excerpt: str = "") -> None:
        self.refusals.append(RejectedRow(row.line, reason, excerpt[:EXCERPT_MAX], row.sheet))

    def note(self, row: SheetRow, name: ItemName) -> None:
        """Keeps what a row says of its item; what says otherwise than a row before it is refused, once."""
        self.named.setdefault(name.key, name)
        kept = self.attributes.setdefault(name.key, {})
        for attribute, text in row.attributes:
            if len(text) > VALUE_MAX:
                self.refuse_attribute(row, name.key, attribute, text, f"is longer than {VALUE_MAX} characters")
            elif attribute not in kept:
                kept[attribute] = (text, row)
            elif (before := kept[attribute])[0] != text:
                self.refuse_attribute(
                    row, name.key, attribute, text, f"was not imported: {before[1].where} has “{before[0]}”"
                )

    def refuse_attribute(self, row: SheetRow, item: str, attribute: str, text: str, why: str) -> None:
        """Refuses an attribute of an item; of rows that say the same of it only the first."""
        if (item, attribute, text) not in self._told:
            self._told.add((item, attribute, text))
            self.refuse(row, f"“{text[:100]}” as {attribute} of {self.named[item].identifier} {why}.", row.item)

    def part_numbers(self, round_: str, item: str, n_known: int = 0) -> dict[str, int]:
        """Part label → 1, 2 … for all raters of an item alike: numbers in their order, other labels as they come.

        Where the item has `n_known` parts already, numbers among them are those parts; in a file of Concord all are.
        """
        labels = list(self.part_labels[round_, item])
        numbers = [whole_number(label) for label in labels]
        most = MOST_PARTS if round_ in self.versions else n_known
        if all(number is not None and 1 <= number <= most for number in numbers):
            return {label: number or 0 for label, number in zip(labels, numbers, strict=True)}
        if all(number is not None for number in numbers):
            in_order = sorted({number for number in numbers if number is not None})
            place = {number: n for n, number in enumerate(in_order, start=1)}
            return {label: place[whole_number(label) or 0] for label in labels}
        return {label: n for n, label in enumerate(labels, start=1)}


def item_name(text: str) -> ItemName:
    """`owner/name#number` for an issue's name or address, anything else as it is."""
    try:
        host, owner, name, number = parse_identifier(text)
    except NotAnIssue:
        return ItemName(text)
    return ItemName(f"{full_name(host, owner, name)}#{number}", (host, owner, name, number))


def gather(rows: Iterable[Row | SheetRow], final: str = "final") -> GatheredSheet:
    """Everything of a sheet; rows of the rater `final` (compared without case) apart."""
    sheet = GatheredSheet()
    final = " ".join(final.split()).casefold()
    names: dict[str, ItemName] = {}
    kept: dict[str, str] = {}
    spelled: dict[str, str] = {}
    labeled: set[tuple[str, int]] = set()
    blank: set[tuple[str, int]] = set()
    for row in rows:
        place = (getattr(row, "sheet", ""), row.line)
        if isinstance(row, Row):
            labeled.add(place)
            excerpt = (" ".join(row.cells) or row.text)[:EXCERPT_MAX]
            sheet.refusals.append(RejectedRow(row.line, row.fault, excerpt, getattr(row, "sheet", "")))
            continue
        row = _seen(row)
        is_final = bool(final) and row.rater.casefold() == final
        if not row.is_list and not is_final and not any(text for _, text in row.values):
            blank.add(place)
            if not row.attributes:
                continue
            row = replace(row, values=())
        else:
            labeled.add(place)
        if fault := _item_fault(row) if not row.values else _fault(row):
            sheet.refuse(row, fault, _excerpt(row))
            continue
        if row.training.casefold() == "true":
            sheet.refuse(row, OF_TRAINING, _excerpt(row))
            continue
        name = names.get(row.item)
        if name is None:
            name = names[row.item] = item_name(row.item)
        if row.attributes:
            sheet.note(row, name)
        if not row.values:
            continue
        item, rater, part = name.key, row.rater.casefold(), row.part or "1"
        round_ = str(whole_number(row.round) or row.round)
        round_ = spelled.setdefault(round_.casefold(), round_)
        labels = sheet.part_labels.setdefault((round_, item), {})
        if part not in labels and len(labels) >= MOST_PARTS:
            sheet.refuse(row, f"An issue has at most {MOST_PARTS} parts.", _excerpt(row))
            continue
        labels.setdefault(part)
        sheet.rounds.setdefault(round_)
        sheet.items.setdefault(item, name)
        for dimension, _ in row.values:
            sheet.dimensions.setdefault(dimension)
        if row.round_label is not None:
            sheet.round_labels[round_] = row.round_label
        if row.round_kind:
            sheet.round_kinds[round_] = row.round_kind.casefold()
        if number := whole_number(row.version):
            sheet.versions[round_] = number
        revision, role = row.revision.casefold(), row.role.casefold()
        row = _lighter(row, round_, item, rater, part, kept, with_blanks=is_final)
        if is_final:
            sheet.finals.setdefault((round_, item), []).append(row)
        else:
            sheet.raters.setdefault(rater, row.rater)
            answers = sheet.later if revision == "current" else sheet.answers
            answers.setdefault((round_, item, rater), []).append(row)
            if role in BESIDE:
                sheet.beside[round_, item, rater] = role
    sheet.n_rows, sheet.n_rows_without_label = len(labeled), len(blank - labeled)
    _place_later(sheet)
    if "" in sheet.rounds and len(sheet.rounds) > 1:
        _refuse_without_round(sheet)
    return sheet


def _place_later(sheet: GatheredSheet) -> None:
    """A rater without any blind answer in a round was not blind there; what they gave is their answer."""
    blind = {(place[0], place[2]) for place in sheet.answers if place not in sheet.beside}
    for place in [place for place in sheet.later if place not in sheet.answers]:
        sheet.answers[place] = sheet.later.pop(place)
        if place in sheet.beside:
            sheet.never_blind.add(place)
        elif (place[0], place[2]) not in blind:
            sheet.unblinded.add((place[0], place[2]))


def _refuse_without_round(sheet: GatheredSheet) -> None:
    """Where some rows name a round, the others must, too."""
    lost = [row for key, rows in (*sheet.answers.items(), *sheet.finals.items()) if not key[0] for row in rows]
    for row in lost:
        sheet.refuse(row, "The row has no round, although others do.", _excerpt(row))
    sheet.answers = {key: rows for key, rows in sheet.answers.items() if key[0]}
    sheet.finals = {key: rows for key, rows in sheet.finals.items() if key[0]}
    sheet.part_labels = {key: labels for key, labels in sheet.part_labels.items() if key[0]}
    del sheet.rounds[""]
    items, raters = {item for _, item in sheet.part_labels}, {rater for _, _, rater in sheet.answers}
    sheet.items = {key: name for key, name in sheet.items.items() if key in items}
    sheet.raters = {key: name for key, name in sheet.raters.items() if key in raters}


def _seen(row: SheetRow) -> SheetRow:
    """The row without what can't be seen in the names of its item, rater, round, part and dimensions."""
    names = (row.item, row.rater, row.round, row.part, *(name for name, _ in row.values))
    if all(name.isascii() for name in names):
        return row
    return replace(
        row,
        item=clean_name(row.item),
        rater=clean_name(row.rater),
        round=clean_name(row.round),
        part=clean_name(row.part),
        values=tuple((clean_name(name), text) for name, text in row.values),
    )


def _item_fault(row: SheetRow) -> str:
    if not row.item:
        return "The row has no item."
    if len(row.item) > IDENTIFIER_MAX:
        return f"The item's name is longer than {IDENTIFIER_MAX} characters."
    return ""


def _fault(row: SheetRow) -> str:
    if found := _item_fault(row):
        return found
    if not row.rater:
        return "The row has no rater."
    if len(row.rater) > RATER_MAX:
        return f"The rater's name is longer than {RATER_MAX} characters."
    if len(row.round) > ROUND_LABEL_MAX:
        return f"The round's name is longer than {ROUND_LABEL_MAX} characters."
    if len(row.part) > ROUND_LABEL_MAX:
        return f"The part's name is longer than {ROUND_LABEL_MAX} characters."
    if row.seconds and whole_number(row.seconds) is None and not _is_fraction(row.seconds):
        return f"“{row.seconds[:50]}” is not a number of seconds."
    if any(not dimension for dimension, _ in row.values):
        return "The row has no dimension."
    return ""


def _is_fraction(text: str) -> bool:
    try:
        return 0 <= float(text) < 1e9
    except ValueError:
        return False


def _excerpt(row: SheetRow) -> str:
    return " · ".join(text for text in (row.item, row.rater, *(value for _, value in row.values)) if text)


def _lighter(
    row: SheetRow, round_: str, item: str, rater: str, part: str, kept: dict[str, str], *, with_blanks: bool
) -> SheetRow:
    """The row with each text held once in memory; blank values are kept where they may say something."""
    return SheetRow(
        line=row.line,
        item=kept.setdefault(item, item),
        rater=kept.setdefault(row.rater, row.rater),
        round=kept.setdefault(round_, round_),
        part=kept.setdefault(part, part),
        seconds=row.seconds,
        **{role: getattr(row, role) for role in TEXTS},
        values=tuple(
            (kept.setdefault(dimension, dimension), kept.setdefault(text, text))
            for dimension, text in row.values
            if text or with_blanks
        ),
        sheet=row.sheet,
    )
