"""Question kinds, one class each in a module of its own; importing this package registers them. Pure.

A new kind is a module in this folder that registers a subclass of `Kind`. Features ask a kind what it declares, never
what it is called.
"""

from importlib import import_module
from pkgutil import iter_modules

from .base import (
    BOOLEAN,
    CATEGORY,
    COLUMNS,
    KINDS,
    LONGEST_TEXT,
    NUMBER,
    TEXT,
    HasKind,
    Kind,
    QuestionLike,
    Value,
    Values,
    WrongValue,
    register,
    sources,
)

__all__ = [
    "BOOLEAN",
    "CATEGORY",
    "COLUMNS",
    "KINDS",
    "LONGEST_TEXT",
    "NUMBER",
    "TEXT",
    "HasKind",
    "Kind",
    "QuestionLike",
    "Value",
    "Values",
    "WrongValue",
    "register",
    "sources",
]

ORDER = ("single", "multi", "boolean", "ordinal", "number", "text")
"""The first kinds, in the order of pages and files; others follow."""

for _name in (*ORDER, *sorted(each.name for each in iter_modules(__path__))):
    import_module(f"{__name__}.{_name}")
