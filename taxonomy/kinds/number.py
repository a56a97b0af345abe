"""Number questions. Pure."""

import math
import re
from collections.abc import Mapping
from typing import ClassVar

from .base import LONGEST_SHOWN, NUMBER, Kind, QuestionLike, Value, Values, WrongValue, register

WRITTEN = re.compile(r"[+-]?(\d+(?:\.\d*)?|\.\d+)(e[+-]?\d+)?", re.IGNORECASE | re.ASCII)
"""Digits without groups: “1 000”, “1_000” and “1,5” are read differently in different places."""

LARGEST = 1e100
"""Of larger numbers neither squares nor sums are numbers that files and pages can have."""


class Number(Kind):
    name = variable = "number"
    words = described = "a number"
    synonyms = ("float", "int", "integer", "numeric")
    column = NUMBER
    level = "interval"
    widget = "number"
    attributes: ClassVar[Mapping[str, str]] = {"type": "text", "inputmode": "decimal"}
    arrow_type = "double"
    table_type = "number"

    def read(self, question: QuestionLike, given: object) -> Values | None:
        number = finite(given)
        if number is None:
            raise WrongValue("Enter a number.")
        if abs(number) > LARGEST:
            raise WrongValue(f"Enter a number from −{LARGEST:g} to {LARGEST:g}.")
        return (number,)

    def parse(self, text: str) -> object:
        text = text.strip()
        return float(text) if WRITTEN.fullmatch(text) else text

    def read_cell(self, question: QuestionLike, text: str) -> Values:
        if (number := finite(self.parse(text))) is not None:
            return self.read(question, number) or ()
        raise WrongValue(
            f"“{text[:LONGEST_SHOWN]}” is not a number. Use digits and a decimal point, such as 1.5 or 1000."
        )

    def value_in(self, cell: str) -> float:
        return float(cell)

    def word(self, value: Value) -> str:
        return number_words(float(value))


def number_words(value: float) -> str:
    """`3`, `3.5`, `1e+20`: the shortest text that is read as the same number again, and as no other."""
    return str(int(value)) if float(value).is_integer() and abs(value) < 1e15 else repr(value)


def finite(given: object) -> float | None:
    """A number as a finite float, or None for anything else; a whole number may be too large to be one."""
    if isinstance(given, bool) or not isinstance(given, int | float):
        return None
    try:
        number = float(given)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


A_NUMBER = register(Number())
