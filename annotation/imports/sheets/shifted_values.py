"""Shifted values: rows with values of a neighboring dimension, and headers among the values."""

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from annotation.imports.sheets.books import SheetBook
from annotation.imports.sheets.mapping import (
    INSERT,
    KEEP,
    LEAVE,
    LONG,
    REMOVE,
    BookMapping,
    SheetMapping,
    block,
    fill_cells,
    shift_cells,
)
from annotation.imports.sheets.values import ASKS, fold_value, loose

OWN_SHARE_MOST = 0.25
CELLS_SHOWN = 12

Vocabulary = Mapping[str, Counter[str]]
"""Dimension (loosely spelled) → how often each value, without case, stands in its columns."""


@dataclass(frozen=True)
class RowDoubt:
    """A row that looks wrong: where, why, and what can be done with it (`shift` is empty where it can't be moved)."""

    number: int
    line: int
    sheet: str
    words: str
    cells: Sequence[str]
    shift: str
    usual: str = KEEP

    @property
    def place(self) -> str:
        """As `BookMapping.rows` names it."""
        return f"{self.number}:{self.line}"


def vocabulary(book: SheetBook, mapping: BookMapping) -> dict[str, Counter[str]]:
    """The values of each dimension over all sheets that count."""
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for sheet, each in zip(book.sheets, mapping.sheets, strict=True):
        if not each.is_used or each.form == LONG:
            continue
        places = [(place, loose(each.columns[place].dimension)) for place in each.places("answer")]
        for line, cells in fill_cells(sheet, each):
            if not line.fault:
                for place, dimension in places:
                    if text := fold_value(cells[place]):
                        found[dimension][text] += 1
    return found


def doubts(book: SheetBook, mapping: BookMapping, known: Vocabulary | None = None) -> list[RowDoubt]:
    """Rows that look shifted by one column or hold heads, in their order; `known` adds values of a taxonomy."""
    words = vocabulary(book, mapping)
    for dimension, values in (known or {}).items():
        words.setdefault(dimension, Counter()).update(values)
    heads = {
        fold_value(name): name
        for each in mapping.sheets
        if each.is_used
        for column in each.columns
        for name in (column.dimension, column.name)
        if name
    }
    found = []
    for number, (sheet, each) in enumerate(zip(book.sheets, mapping.sheets, strict=True)):
        if not each.is_used or each.form == LONG:
            continue
        for line, cells in fill_cells(sheet, each):
            if line.fault:
                continue
            doubt = _headed(each, cells, heads) or _shifted(each, cells, words)
            if doubt:
                sentence, shift, usual = doubt
                shown = [cells[place].strip() for place in block(each)][:CELLS_SHOWN]
                title = book.title_of(number)
                found.append(RowDoubt(number, line.line, title, sentence, shown, shift, usual))
    return found


def _headed(mapping: SheetMapping, cells: Sequence[str], heads: Mapping[str, str]) -> tuple[str, str, str] | None:
    """A row with the name of a column where a value should stand: a head that is repeated, or a slip."""
    for place in mapping.places("answer"):
        text = fold_value(cells[place])
        if text and text in heads and (text != fold_value(mapping.columns[place].name) or _is_head(cells, heads)):
            column = mapping.columns[place].name
            return f"“{cells[place].strip()}” is the name of a column, but it is in “{column}”.", "", LEAVE
    return None


def _is_head(cells: Sequence[str], heads: Mapping[str, str]) -> bool:
    texts = [fold_value(cell) for cell in cells if cell.strip()]
    return sum(text in heads for text in texts) * 2 > len(texts)


def _shifted(mapping: SheetMapping, cells: Sequence[str], words: Vocabulary) -> tuple[str, str, str] | None:
    """Values of the neighbouring column, one or several side by side, beside a cell that is blank or says the same.

    One is enough where it hardly ever stands in its own column; two are, where they stand more often in the other.
    """
    answers = dict.fromkeys(place for place in block(mapping) if mapping.columns[place].role == "answer")
    for way, name in ((1, "left"), (-1, "right")):
        run: list[int] = []
        for place in reversed(answers) if way == 1 else answers:
            beside = place + way
            is_same = way == -1 and fold_value(cells[beside]) == fold_value(cells[place])
            is_free = beside in answers and (is_same or not cells[beside].strip())
            own, there = _counts(mapping, answers, cells, place, way, words)
            if there > own and (run or is_free):
                run.append(place)
            elif run:
                break
        shares = [_share(mapping, answers, cells, place, way, words) for place in run]
        if not run or (len(run) < 2 and shares[0] > OWN_SHARE_MOST):
            continue
        first = min(run)
        home = mapping.columns[first + way].name
        sentence = (
            f"This row looks shifted by one column to the {name}: “{cells[first].strip()}” is in "
            f"“{mapping.columns[first].name}”, but it is a value of “{home}”."
        )
        return sentence, _move(mapping, cells, first, way), KEEP
    return None


def _counts(
    mapping: SheetMapping, answers: Collection[int], cells: Sequence[str], place: int, way: int, words: Vocabulary
) -> tuple[int, int]:
    """How often the text of a cell stands in columns of its own dimension, and of the one beside."""
    text, beside = fold_value(cells[place]), place + way
    if not text or ASKS.fullmatch(text) or beside not in answers:
        return 0, 0
    one, other = mapping.columns[place], mapping.columns[beside]
    if one.rater != other.rater or one.dimension == other.dimension:
        return 0, 0
    return tuple(words.get(loose(each.dimension), Counter())[text] for each in (one, other))  # type: ignore[return-value]


def _share(
    mapping: SheetMapping, answers: Collection[int], cells: Sequence[str], place: int, way: int, words: Vocabulary
) -> float:
    own, there = _counts(mapping, answers, cells, place, way, words)
    return own / there if there else 1.0


def _move(mapping: SheetMapping, cells: Sequence[str], first: int, way: int) -> str:
    """The way back for a row whose first stray cell is `first`; "" where a value would be lost."""
    if way == 1:
        fate = f"{INSERT}:{first}"
    elif fold_value(cells[first - 1]) == fold_value(cells[first]):
        fate = f"{REMOVE}:{first}"
    elif not cells[first - 1].strip():
        fate = f"{REMOVE}:{first - 1}"
    else:
        return ""
    before = [cell for cell in cells if cell.strip()]
    after = [cell for cell in shift_cells(cells, mapping, fate) if cell.strip()]
    lost = len(before) - len(after) - (way == -1 and fate == f"{REMOVE}:{first}")
    return fate if not lost and shift_cells(cells, mapping, fate) != list(cells) else ""
