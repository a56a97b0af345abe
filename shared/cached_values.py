"""Cached values: dataclasses and named tuples are stored in the cache as plain values, never as pickled classes.

Another version of Concord reads a cached value only if the classes still have the same fields. Otherwise the value
counts as missing and is computed again.
"""

from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from datetime import date, datetime
from enum import Enum
from typing import Any

from django.core.cache import cache

MARK = "\x00class"
ATOMS = frozenset({str, int, float, bool, type(None), bytes, date, datetime})


def keep(key: str, value: object, seconds: int, classes: Iterable[type]) -> None:
    """Keeps a value whose objects are of these classes; flat lists and arrays stay as they are, and cost nothing."""
    cache.set(key, to_plain(value, {each: each.__name__ for each in classes}), seconds)


def find(key: str, classes: Iterable[type]) -> Any:
    """What is kept, its objects of these classes made again; None where nothing is, or something else."""
    found = cache.get(key)
    try:
        return None if found is None else from_plain(found, {each.__name__: each for each in classes})
    except (KeyError, TypeError, ValueError):
        return None


def to_plain(value: Any, names: Mapping[type, str]) -> Any:
    """The value with dictionaries in place of objects. Raises KeyError for an object of a class that has no name."""
    if type(value) in ATOMS:
        return value
    if isinstance(value, Enum):
        return value.value
    if hasattr(value, "_fields") or is_dataclass(value):
        kept = getattr(value, "_fields", None) or [each.name for each in fields(value) if each.init]
        return {MARK: names[type(value)], **{name: to_plain(getattr(value, name), names) for name in kept}}
    if isinstance(value, list | tuple):
        if ATOMS.issuperset(map(type, value)):
            return value
        return type(value)(to_plain(each, names) for each in value)
    if isinstance(value, Mapping):
        return {key: to_plain(each, names) for key, each in value.items()}
    return value


def from_plain(value: Any, classes: Mapping[str, type]) -> Any:
    """The value that was made plain. Raises KeyError for a class that is not named, TypeError for other fields."""
    if isinstance(value, list | tuple):
        if ATOMS.issuperset(map(type, value)):
            return value
        return type(value)(from_plain(each, classes) for each in value)
    if isinstance(value, dict):
        given = {key: from_plain(each, classes) for key, each in value.items() if key != MARK}
        return classes[value[MARK]](**given) if MARK in value else given
    return value
