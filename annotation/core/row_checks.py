"""Row checks: single values and JSON columns that come from a file of someone else."""

import math
import re
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, timedelta
from typing import Any

from django.utils import timezone
from django.utils.dateparse import parse_date, parse_datetime

from shared.names import visible

FIRST_YEAR, LAST_YEAR = 1970, 2100


Check = Callable[[Any], bool]


def is_anything(value: Any) -> bool:
    return True


def is_text(value: Any) -> bool:
    return isinstance(value, str)


def is_whole(value: Any) -> bool:
    return type(value) is int


def is_from_to(least: float, most: float) -> Check:
    """A number within bounds, both included."""
    return lambda value: is_number(value) and least <= value <= most


def is_yes_or_no(value: Any) -> bool:
    return isinstance(value, bool)


def is_empty_mapping(value: Any) -> bool:
    return bool(value == {})


def is_number(value: Any) -> bool:
    return type(value) in (int, float) and math.isfinite(value)


_TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d{1,6})?(Z|[+-]\d\d(:\d\d)?)", re.ASCII)


def is_time(value: Any) -> bool:
    """Whether it is a time of a year within bounds, in a form of which Python and PostgreSQL read the same."""
    try:
        found = datetime.fromisoformat(value) if isinstance(value, str) and _TIME.fullmatch(value) else None
    except ValueError:
        return False
    return found is not None and FIRST_YEAR <= found.year <= LAST_YEAR


def is_at_most_ahead(ahead: timedelta) -> Check:
    """A time that is no further in the future, as clocks may be."""

    def check(value: Any) -> bool:
        found = parse_datetime(value) if isinstance(value, str) else None
        return found is not None and found.replace(tzinfo=found.tzinfo or UTC) <= timezone.now() + ahead

    return check


def is_day(value: Any) -> bool:
    found: date | None = parse_date(value) if isinstance(value, str) else None
    return found is not None and FIRST_YEAR <= found.year <= LAST_YEAR


def is_visible(value: Any) -> bool:
    """Whether nothing in a name is hidden or turns the text around, as in names that people type."""
    return isinstance(value, str) and visible(value) == value


def none_or(check: Check) -> Check:
    return lambda value: value is None or check(value)


def one_of(words: Any) -> Check:
    known = frozenset(words)
    return lambda value: isinstance(value, str) and value in known


def list_of(check: Check) -> Check:
    return lambda value: isinstance(value, list) and all(map(check, value))


def pair_of(first: Check, second: Check) -> Check:
    return lambda value: isinstance(value, list) and len(value) == 2 and first(value[0]) and second(value[1])


def mapping_of(check: Check) -> Check:
    return lambda value: isinstance(value, dict) and all(map(check, value.values()))


def record_of(
    needed: Mapping[str, Check], more: Mapping[str, Check] | None = None, *, is_closed: bool = False
) -> Check:
    """A mapping with the `needed` keys, those of `more` that it has in their form, and no other one if `is_closed`."""
    other = more or {}

    def check(value: Any) -> bool:
        return (
            isinstance(value, dict)
            and all(name in value and each(value[name]) for name, each in needed.items())
            and all(each(value[name]) for name, each in other.items() if name in value)
            and not (is_closed and value.keys() - needed.keys() - other.keys())
        )

    return check


def both_of(first: Check, second: Check) -> Check:
    return lambda value: first(value) and second(value)


def either_of(*checks: Check) -> Check:
    return lambda value: any(check(value) for check in checks)


ANY_MAPPING = mapping_of(is_anything)


SHORT_TEXT = none_or(is_text)


FIGURE = none_or(is_number)


DRAFT_PART = {
    "labels": ANY_MAPPING,
    "proposals": mapping_of(none_or(record_of({}, {"name": SHORT_TEXT, "memo": SHORT_TEXT}))),
    "memo": is_text,
    "evidence": list_of(ANY_MAPPING),
}


DRAFT = record_of(
    {},
    {
        **DRAFT_PART,
        "parts": list_of(record_of({}, DRAFT_PART)),
        "confidence": none_or(is_whole),
        "flag": is_yes_or_no,
        "base": none_or(is_whole),
        "at": FIGURE,
        "seen": FIGURE,
        "by": SHORT_TEXT,
        "seconds": FIGURE,
    },
)
"""What the labeling page keeps of an answer that is being typed (`readState` and `Drafts.draft` of its script)."""
