"""Missing values of a sheet: usual ways to write that there is no label, and numbers with a comma. Pure.

Both are questions, because a category may have such a name, and a comma may separate thousands.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from annotation.imports.sheets.columns import SheetRow
from annotation.imports.sheets.questions import NONE, SheetQuestion
from annotation.imports.sheets.values import SEPARATORS, RejectedValue, ValueReader, fold_value, loose, words_of
from ingest.tables.files import TableRow

USUAL = frozenset(
    {"na", "n/a", "n.a.", "#n/a", "#na", "<na>", "nan", "-nan", "null", "nil", "none", "missing"}
    | {"-", "--", "---", "–", "—", "?", "??", "???", ".", "..", "..."}
)
"""As `fold_value` gives them: what pandas, R, SPSS, and people write in place of a value."""
LENGTH_MAX = 200
MISSING_OPTION, DECIMAL_OPTION = "missing", "decimal"
MISSING = f"{MISSING_OPTION}:"
VALUE = "value"
MARKS = POINT, COMMA = ("point", "comma")
WITH_COMMA = re.compile(r"[+-]?[\d.]*,\d+")
BY_COMMA = re.compile(r"[+-]?(?:\d+|\d{1,3}(?:\.\d{3})+)(?:,\d+)?")


def answers_of(missing: Iterable[str], not_missing: Iterable[str], decimal: str) -> dict[str, str]:
    """The answers to the questions, by key, as options give them."""
    found = {MISSING + fold_value(text): NONE for text in missing if text.strip()}
    found |= {MISSING + fold_value(text): VALUE for text in not_missing if text.strip()}
    return found | ({DECIMAL_OPTION: decimal} if decimal else {})


@dataclass
class _Found:
    """One way to write a missing value: as it was typed first, where, and how often in which dimension."""

    text: str
    where: str
    n: Counter[str] = field(default_factory=Counter)


@dataclass
class MissingValues:
    """Reads rows by the answers that were given, and counts what has to be asked.

    `reader` is None for a new study; then `meanings` say what values stand for (dimension as `loose` gives it, and
    value as `fold_value` does). `multi` are the dimensions that take several values.
    """

    answers: Mapping[str, str]
    reader: ValueReader | None
    multi: Collection[str] = ()
    meanings: Collection[tuple[str, str]] = ()
    _found: dict[str, _Found] = field(default_factory=dict)
    _with_comma: dict[str, tuple[str, str]] = field(default_factory=dict)
    _keys: dict[str, str] = field(default_factory=dict)
    _values: dict[tuple[str, str], bool] = field(default_factory=dict)

    def read(self, rows: Iterable[TableRow | SheetRow]) -> Iterator[TableRow | SheetRow]:
        """The rows with a blank for each value that is missing, and with numbers as they are meant.

        Files of Concord have what their raters gave.
        """
        for row in rows:
            if isinstance(row, SheetRow) and row.values and not row.version and not row.revision:
                values = tuple((name, self._read(row, name, text) if text else text) for name, text in row.values)
                if values != row.values:
                    row = replace(row, values=values)
            yield row

    def _read(self, row: SheetRow, name: str, text: str) -> str:
        if loose(name) in self.multi and SEPARATORS.search(text):
            words = words_of(text)
            given = [word for word in words if self._given(row, name, word)]
            return text if given == words else "; ".join(given)
        if not self._given(row, name, text):
            return ""
        return self._number(self.reader, row, name, text) if self.reader else text

    def _given(self, row: SheetRow, name: str, text: str) -> bool:
        """Whether a text is a value."""
        key = self._key(text)
        if not key or self._is_value(name, key, text):
            return True
        found = self._found.setdefault(key, _Found(" ".join(text.split()), row.where))
        found.n[name] += 1
        return self.answers.get(MISSING + key) != NONE

    def _key(self, text: str) -> str:
        """A text as it is asked about; "" for any that is not."""
        if len(text) > LENGTH_MAX:
            return ""
        if text not in self._keys:
            key = fold_value(text)
            self._keys[text] = key if key in USUAL or MISSING + key in self.answers else ""
        return self._keys[text]

    def _is_value(self, name: str, key: str, text: str) -> bool:
        """Whether a dimension has a value of just this name, or someone decided what it means."""
        if (name, key) not in self._values:
            self._values[name, key] = self._is_known(name, key, text)
        return self._values[name, key]

    def _is_known(self, name: str, key: str, text: str) -> bool:
        if self.reader is None:
            return (loose(name), key) in self.meanings
        dimension = self.reader.dimension(name)
        if dimension is None:
            return True  # The row is rejected for its dimension.
        if dimension.is_free_text or (dimension.is_open and MISSING + key in self.answers):
            return False
        try:
            self.reader.read(dimension, text)
        except RejectedValue:
            return False
        return True

    def _number(self, reader: ValueReader, row: SheetRow, name: str, text: str) -> str:
        dimension = reader.dimension(name)
        if dimension is None or not dimension.question_kind.is_number:
            return text
        text = text.strip()
        if WITH_COMMA.fullmatch(text):
            self._with_comma.setdefault(name, (text, row.where))
        if self.answers.get(DECIMAL_OPTION) == COMMA and BY_COMMA.fullmatch(text):
            return text.replace(".", "").replace(",", ".")
        return text

    def questions(self) -> list[SheetQuestion]:
        """What has to be confirmed, each with its answer."""
        return [*(self._missing(key, each) for key, each in self._found.items()), *self._decimal()]

    def _missing(self, key: str, found: _Found) -> SheetQuestion:
        places = ", ".join(f"“{name}” ({n:,})" for name, n in found.n.most_common())
        value = "A category of this name" if self.reader is None else "A value, as it is written"
        return SheetQuestion(
            MISSING + key,
            f"“{found.text}” often stands for a missing value. It is in {places}, first in {found.where}. Is it a "
            "missing value?",
            [(NONE, "Missing: no rating"), (VALUE, value)],
            MISSING_OPTION,
            self.answers.get(MISSING + key, ""),
        )

    def _decimal(self) -> Iterator[SheetQuestion]:
        if not self._with_comma:
            return
        places = ", ".join(f"“{name}” (“{text}”, {where})" for name, (text, where) in self._with_comma.items())
        text = next((text for text, _ in self._with_comma.values() if BY_COMMA.fullmatch(text)), "1,5")
        yield SheetQuestion(
            DECIMAL_OPTION,
            f"Numbers are written with a comma: {places}. Is it the decimal mark?",
            [
                (COMMA, f"The decimal mark: “{text}” is {text.replace('.', '').replace(',', '.')}"),
                (POINT, "Not the decimal mark: numbers with a comma are rejected"),
            ],
            DECIMAL_OPTION,
            self.answers.get(DECIMAL_OPTION, ""),
        )
