"""Questions about a sheet that must be answered before it is imported. Pure.

Each question names the option that answers it in the shell and over REST. The page stores answers by key.
"""

import shlex
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from annotation.imports.sheets.columns import SheetRow
from annotation.imports.sheets.gathered_rows import GatheredSheet
from annotation.imports.sheets.guesses import (
    BY,
    as_dimensions,
    guess_heads,
    pairs_of,
    suffixes_of,
    take_pairs,
    take_suffixes,
)
from annotation.imports.sheets.mapping import LONG, BookMapping, SheetMapping
from annotation.imports.sheets.values import (
    ASKS,
    EMPTY_SET,
    SCALE_VALUE,
    RejectedValue,
    ValueReader,
    exclusion_reason,
    fold_value,
    is_empty_set,
    loose,
)
from annotation.labels.answers import AnswerPart
from annotation.labels.consensus import Values
from ingest.tables.files import TableRow
from shared.wording import plural

DUPLICATES = REJECT, FIRST, LAST = ("reject", "first", "last")
BLANKS = NONE, EMPTY = ("none", "empty")
MAP_OPTION, DUPLICATES_OPTION, BLANK_OPTION, SCALE_OPTION = "map", "duplicates", "blank", "ordinal"
ROWS_LEAST, ROWS_PER_ITEM = 10, 2.0
SHOWN = 3
SCALE, SCALE_LEAST = "scale:", 3
SCALES = ORDINAL, NUMBER, SINGLE = ("ordinal", "number", "single")


@dataclass(frozen=True)
class SheetQuestion:
    """What was found, how it can be answered (answer, words), and the option that answers it outside of the page."""

    key: str
    text: str
    answers: Sequence[tuple[str, str]]
    option: str
    chosen: str = ""
    how: str = ""
    """How the option is written; the page has no use for it."""

    @property
    def in_full(self) -> str:
        return f"{self.text} {self.how}".strip()


@dataclass
class RowTally:
    """What questions about rows need to know of them, counted while they are read.

    `wide` are the titles of sheets with a column per dimension; `multi` the dimensions that take several values, as
    `loose` gives their names.
    """

    wide: Collection[str]
    multi: Collection[str]
    reader: ValueReader | None = None
    n_rows: Counter[str] = field(default_factory=Counter)
    units: dict[str, set[tuple[str, ...]]] = field(default_factory=lambda: defaultdict(set))
    blanks: Counter[str] = field(default_factory=Counter)
    first_blank: str = ""

    def counted(
        self, rows: Iterable[TableRow | SheetRow], *, final: str = "final", fills: bool = False
    ) -> Iterator[TableRow | SheetRow]:
        """The rows as they are; with `fills` a blank of a multi dimension in an answered row is the empty set."""
        final = " ".join(final.split()).casefold()
        for row in rows:
            if not isinstance(row, SheetRow) or row.sheet not in self.wide or not any(text for _, text in row.values):
                yield row
                continue
            self.n_rows[row.sheet] += 1
            self.units[row.sheet].add((row.round, row.item, row.rater.casefold(), row.part if self.has_parts else ""))
            blank = self._blank(row) if row.rater.casefold() != final else ()
            if blank:
                self.blanks.update(blank)
                self.first_blank = self.first_blank or row.where
            if blank and fills:
                filled = ((name, EMPTY_SET if name in blank else text) for name, text in row.values)
                row = replace(row, values=tuple(filled))
            yield row

    has_parts: bool = False
    """Whether a column tells the parts of an item apart."""

    def _blank(self, row: SheetRow) -> Sequence[str]:
        """The multi dimensions that a row with other answers leaves blank, where they apply under these."""
        blank = [name for name, text in row.values if not text and loose(name) in self.multi]
        if not blank or not any(text for _, text in row.values):
            return ()
        if self.reader is None:
            return blank
        values = self._read(self.reader, row)
        dimensions = {name: self.reader.dimension(name) for name in blank}
        return [
            name for name, each in dimensions.items() if each and not exclusion_reason(self.reader.tree, each, values)
        ]

    def _read(self, reader: ValueReader, row: SheetRow) -> Mapping[str, Values]:
        found: dict[str, Values] = {}
        for name, text in row.values:
            dimension = reader.dimension(name)
            if dimension is None or not text:
                continue
            try:
                read = reader.read(dimension, text)
            except RejectedValue:
                continue
            found[dimension.key] = tuple(each for each in read if isinstance(each, str | bool | float))
        return AnswerPart(found).values


def column_questions(mapping: BookMapping, titles: Sequence[str], named: Collection[str] = ()) -> list[SheetQuestion]:
    """What has to be confirmed of the columns, once for sheets with the same ones; `named` columns are not questioned.

    `titles` are those of the sheets.
    """
    wanted = {name.casefold() for name in named}
    found: list[SheetQuestion] = []
    seen: set[tuple[str, ...]] = set()
    for number, (sheet, title) in enumerate(zip(mapping.sheets, titles, strict=True)):
        heads = _heads(sheet)
        if sheet.is_used and sheet.form != LONG and heads not in seen:
            seen.add(heads)
            found += [*_suffixes(sheet, number, title, wanted), *_doubled(sheet, number, title)]
    return [replace(each, chosen=mapping.answers.get(each.key, "")) for each in found]


def _heads(sheet: SheetMapping) -> tuple[str, ...]:
    return tuple(column.name for column in sheet.columns)


def open_ones(questions: Iterable[SheetQuestion]) -> list[SheetQuestion]:
    """The questions without an answer."""
    return [each for each in questions if each.chosen not in {chosen for chosen, _ in each.answers}]


def _of(title: str) -> str:
    return f" of “{title}”" if title else ""


def _suffixes(sheet: SheetMapping, number: int, title: str, named: set[str]) -> Iterator[SheetQuestion]:
    if sheet.place("rater") >= 0:
        return
    columns = {column.name: column for column in sheet.columns if column.role == "answer"}
    pairs = [(rater, answer) for rater, answer in pairs_of(sheet) if answer in columns]
    if pairs and not named.issuperset(answer.casefold() for _, answer in pairs):
        asked = " ".join(_option(columns[answer].dimension, rater, answer) for rater, answer in pairs)
        words = ", ".join(f"“{rater}” for “{answer}”" for rater, answer in pairs)
        yield SheetQuestion(
            f"pairs:{number}",
            f"Some columns{_of(title)} seem to name the raters of others: {words}. Do they?",
            [("raters", "They name the raters"), ("dimensions", "Every column is a dimension of its own")],
            MAP_OPTION,
            how=f"If they do: {asked}. Or name the columns that hold what they are.",
        )
        return
    groups = {
        stem: group
        for stem, group in suffixes_of(list(columns)).items()
        if not named.issuperset(head.casefold() for head in group)
        and all(columns[head].rater in ("", rater) for head, rater in group.items())
    }
    if not groups:
        return
    heads = [head for group in groups.values() for head in group]
    as_raters = " ".join(
        _option(stem, rater or "RATER", head) for stem, group in groups.items() for head, rater in group.items()
    )
    as_dimensions = " ".join(shlex.quote(f"{head}={head}") for head in heads)
    yield SheetQuestion(
        f"suffixes:{number}",
        f"Columns{_of(title)} differ by a suffix: {', '.join(f'“{head}”' for head in heads)}. Are these labels of "
        "several raters, or different dimensions?",
        [("raters", "Labels of several raters, and the final label"), ("dimensions", "Different dimensions")],
        MAP_OPTION,
        how=f"Labels of several raters: {as_raters}. Different dimensions: {as_dimensions}.",
    )


def _option(dimension: str, rater: str, column: str) -> str:
    """As one word of the shell."""
    return shlex.quote(f"{dimension}{BY}{rater}={column}")


def _doubled(sheet: SheetMapping, number: int, title: str) -> Iterator[SheetQuestion]:
    """Columns that their heads make the same dimension by the same rater."""
    groups: dict[tuple[str, str, str], list[int]] = defaultdict(list)
    heads = guess_heads(sheet)
    for place in sheet.places("answer"):
        column = sheet.columns[place]
        groups[loose(column.dimension), column.rater.casefold(), heads[place]].append(place)
    for (_, rater, _), places in groups.items():
        columns = [sheet.columns[place] for place in places]
        if len(columns) < 2:
            continue
        whose = f" by {columns[0].rater}" if rater else ""
        heads_shown = ", ".join(
            f"“{column.name}” (#{place + 1})" for column, place in zip(columns, places, strict=True)
        )
        yield SheetQuestion(
            f"doubled:{number}:{columns[0].dimension}:{rater}",
            f"{len(columns)} columns{_of(title)} hold “{columns[0].dimension}”{whose}: {heads_shown}. Which one counts "
            "where they differ? Or name the columns that hold what they are.",
            [("twice", "The same label, given twice"), ("levels", "Levels of a path, from the top")],
            DUPLICATES_OPTION,
        )


def row_questions(
    mapping: BookMapping, tally: RowTally, sheet: GatheredSheet, conflicts: Sequence[str], named: Collection[str] = ()
) -> list[SheetQuestion]:
    """What has to be confirmed of the rows. `named` are the roles whose columns were named, which is not questioned."""
    found = []
    if len(sheet.raters) == 1 and "rater" not in named:
        (rater,) = sheet.raters.values()
        found.append(
            SheetQuestion(
                "one_rater",
                f"All labels are read as those of one rater, “{rater}”. Which column has the rater (rater=COLUMN)?",
                [("yes", f"All labels are by one rater, “{rater}”")],
                MAP_OPTION,
            )
        )
    if not sheet.raters and sheet.finals and "rater" not in named:
        found += _final_alone(mapping)
    for title, n_rows in tally.n_rows.items():
        n_units = len(tally.units[title])
        if n_rows >= ROWS_LEAST and n_rows >= ROWS_PER_ITEM * n_units and "item" not in named:
            items = plural(n_units, "item")
            found.append(
                SheetQuestion(
                    f"few_items:{title}",
                    f"{n_rows:,} rows{_of(title)} are about {items}. Which columns hold the item, the rater and the "
                    "part (item=COLUMN rater=COLUMN part=COLUMN)?",
                    [
                        ("faults", "Rows of one item are its parts: several problems in one issue"),
                        ("one", "Rows of one item belong together"),
                    ],
                    MAP_OPTION,
                )
            )
    if conflicts:
        shown = " ".join(conflicts[:SHOWN]) + (f" And {len(conflicts) - SHOWN:,} more." if conflicts[SHOWN:] else "")
        found.append(
            SheetQuestion(
                DUPLICATES_OPTION,
                f"{plural(len(conflicts), 'label was', 'labels were')} given twice, differently. Which one counts? "
                f"{shown}",
                [(FIRST, "The first one"), (LAST, "The last one"), (REJECT, "Neither: reject both")],
                DUPLICATES_OPTION,
            )
        )
    if tally.blanks:
        words = ", ".join(f"“{name}” ({n:,})" for name, n in tally.blanks.most_common())
        found.append(
            SheetQuestion(
                BLANK_OPTION,
                f"Rows with other labels leave dimensions blank that take several values: {words}, first in "
                f"{tally.first_blank}. Does a blank mean “none of these”, or that there is no rating?",
                [(EMPTY, "None of these: the empty set"), (NONE, "No rating")],
                BLANK_OPTION,
            )
        )
    return [replace(each, chosen=mapping.answers.get(each.key, "")) for each in found]


def _final_alone(mapping: BookMapping) -> Iterator[SheetQuestion]:
    """Whether labels are final that a guess takes for such, where the file has no labels of raters."""
    guessed = [sheet for sheet in mapping.sheets if sheet.is_used and sheet.place("version") < 0]
    if not guessed or any(sheet.place("rater") >= 0 for sheet in guessed):
        return
    answers = [column for sheet in guessed for column in sheet.columns if column.role == "answer"]
    names = dict.fromkeys(_option(column.dimension, mapping.final, column.name) for column in answers)
    yield SheetQuestion(
        "final_alone",
        "By its name, the file has final labels, and it has no labels of raters. Is that right?",
        [("yes", "All labels are final")],
        MAP_OPTION,
        how=f"If it is: {' '.join(names)}. Else name the column of the rater (rater=COLUMN) or a rater in place of "
        f"{mapping.final}.",
    )


def scale_questions(mapping: BookMapping, sheet: GatheredSheet, multi: Collection[str]) -> list[SheetQuestion]:
    """What dimensions of a new study may be whose values are whole numbers; categories, unless another is chosen."""
    values: dict[str, set[str]] = defaultdict(set)
    for rows in (*sheet.answers.values(), *sheet.finals.values()):
        for row in rows:
            for name, text in row.values:
                if text and not ASKS.fullmatch(text):
                    values[loose(name)].add(text)
    found = []
    for name in sheet.dimensions:
        given = values.get(loose(name), set())
        if loose(name) in multi or len(given) < SCALE_LEAST or not all(SCALE_VALUE.fullmatch(text) for text in given):
            continue
        in_order = sorted(given, key=int)
        found.append(
            SheetQuestion(
                SCALE + loose(name),
                f"The values of “{name}” are whole numbers from {in_order[0]} to {in_order[-1]}. Is it a scale?",
                [
                    (ORDINAL, "Ordinal: categories in this order"),
                    (NUMBER, "Number"),
                    (SINGLE, "Neither: categories without an order"),
                ],
                SCALE_OPTION,
                mapping.answers.get(SCALE + loose(name), SINGLE),
            )
        )
    return found


def scales(mapping: BookMapping) -> dict[str, str]:
    """Of dimensions that are a scale, as `loose` gives their names, the kind that was chosen."""
    given = {key.removeprefix(SCALE): kind for key, kind in mapping.answers.items() if key.startswith(SCALE)}
    return {name: kind for name, kind in given.items() if kind in (ORDINAL, NUMBER)}


def answer(mapping: BookMapping, key: str, chosen: str) -> None:
    """Keeps an answer, and changes what sheets and columns are where it says so."""
    mapping.answers[key] = chosen
    kind, _, rest = key.partition(":")
    number = rest.partition(":")[0]
    sheets = mapping.sheets
    if kind != "few_items" and number.isdecimal() and len(number) < 6 and int(number) < len(sheets):
        sheets = [sheet for sheet in sheets if _heads(sheet) == _heads(mapping.sheets[int(number)])]
    for sheet in sheets:
        if kind == "doubled":
            sheet.twice = chosen == "twice"
        elif kind == "few_items" and sheet.form != LONG:
            sheet.parts = chosen == "faults"
        elif kind in ("suffixes", "pairs") and chosen == "dimensions":
            as_dimensions(sheet)
        elif kind == "suffixes":
            take_suffixes(sheet, suffixes_of([column.name for column in sheet.columns if column.role == "answer"]))
        elif kind == "pairs":
            take_pairs(sheet, pairs_of(sheet))


# Labels that were given twice


def conflicts(sheet: GatheredSheet, reader: ValueReader | None, multi: Collection[str], how: str = "") -> list[str]:
    """Sentences on labels that one rater gave one part twice, differently; with `how` they are settled and refused."""
    found = []
    groups = [(rows, item) for (_, item, _), rows in sheet.answers.items()]
    groups += [(rows, item) for (_, item), rows in sheet.finals.items()]
    for rows, item in groups:
        if len(rows) < 2:
            continue
        given: dict[tuple[str, str], dict[str, list[int]]] = {}
        for place, row in enumerate(rows):
            for name, text in row.values:
                if text and loose(name) not in multi:
                    key, meaning = _meaning(reader, name, text)
                    given.setdefault((row.part, key), {}).setdefault(meaning, []).append(place)
        for (part, key), meanings in given.items():
            if len(meanings) > 1:
                title = next(name for row in rows for name, _ in row.values if _key(reader, name) == key)
                places = sorted(place for each in meanings.values() for place in each)
                found.append(_sentence(sheet, rows, places, title, item))
                if how:
                    _settle(sheet, rows, places, (part, key), how, reader, found[-1])
    return found


def _key(reader: ValueReader | None, name: str) -> str:
    dimension = reader.dimension(name) if reader else None
    return dimension.key if dimension else loose(name)


def _meaning(reader: ValueReader | None, name: str, text: str) -> tuple[str, str]:
    dimension = reader.dimension(name) if reader else None
    if reader is None or dimension is None:
        return loose(name), EMPTY_SET if is_empty_set(text) else fold_value(text)
    try:
        return dimension.key, repr(reader.read(dimension, text))
    except RejectedValue:
        return dimension.key, fold_value(text)


def _text(row: SheetRow, title: str) -> str:
    return next((text for name, text in row.values if loose(name) == loose(title) and text), "")


def _sentence(sheet: GatheredSheet, rows: Sequence[SheetRow], places: Sequence[int], title: str, item: str) -> str:
    said = [f"“{_text(rows[place], title)[:60]}” ({rows[place].where})" for place in places[: SHOWN + 1]]
    name = sheet.items[item].identifier if item in sheet.items else item
    return f"{rows[places[0]].rater} labeled “{title}” of {name} twice: {' and '.join(said)}."


def _settle(
    sheet: GatheredSheet,
    rows: list[SheetRow],
    places: Sequence[int],
    key: tuple[str, str],
    how: str,
    reader: ValueReader | None,
    sentence: str,
) -> None:
    taken = {FIRST: places[0], LAST: places[-1]}.get(how, -1)
    for place in places:
        if place == taken:
            continue
        row = rows[place]
        word = "Neither was imported." if taken < 0 else f"The one in {rows[taken].where} was imported."
        sheet.refuse(row, f"{sentence} {word}")
        values = tuple((name, text) for name, text in row.values if _key(reader, name) != key[1])
        rows[place] = replace(row, values=values)
