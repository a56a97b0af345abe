"""The kinds of questions, one class each; importing this package registers them; pure.

A new kind is a module here with a subclass of `Kind`, and a line below. Features ask a kind what it declares, never
what it is called.
"""

from taxonomy.kinds import single, multi, boolean, ordinal, number, text  # noqa: F401, I001 - the order of the schema
from taxonomy.kinds.base import (
    BOOLEAN,
    CATEGORY,
    COLUMNS,
    KINDS,
    LONGEST_TEXT,
    NUMBER,
    TEXT,
    Kind,
    OfKind,
    Question,
    Value,
    Values,
    WrongValue,
    nearest,
    register,
)

__all__ = [
    "BOOLEAN",
    "CATEGORY",
    "COLUMNS",
    "KINDS",
    "LONGEST_TEXT",
    "NUMBER",
    "TEXT",
    "Kind",
    "OfKind",
    "Question",
    "Value",
    "Values",
    "WrongValue",
    "nearest",
    "register",
]
