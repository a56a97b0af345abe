"""Storable JSON: rejects values that PostgreSQL can't hold, such as U+0000, infinity, and endless nesting."""

import json
import math
import re
from collections.abc import Iterator
from typing import Any

import orjson

from shared.errors import Invalid, Unreadable

DEEPEST = 50
BODY_VALUES_MAX = 1_000_000
"""So many values, counted by their marks, the body of a request may hold: each takes up to 30 times its bytes."""
FIELD_VALUES_MAX = 50_000
"""So many values, counted in the same way, one field of a form may hold."""
UNSTORABLE = re.compile("[\\0\\ud800-\\udfff]")


def n_values(text: bytes | str) -> int:
    """At most how many values JSON holds, before it is read: its marks, those in texts included."""
    if isinstance(text, str):
        return text.count("{") + text.count("[") + text.count(",")
    return text.count(b"{") + text.count(b"[") + text.count(b",")


def require_few_values(body: bytes) -> None:
    """Raises Invalid for the body of a request with more than BODY_VALUES_MAX values, before it is read."""
    if n_values(body) > BODY_VALUES_MAX:
        raise Invalid(
            f"The request has more than {BODY_VALUES_MAX:,} values, counted by the characters {{, [ and the comma. "
            "Send it in parts."
        )


def read_json(body: bytes) -> Any:
    """The value of a request's body. Raises Invalid for too many values, ValueError and RecursionError for no JSON."""
    require_few_values(body)
    return json.loads(body)


def read_json_field(text: str) -> Any:
    """The value of a form's field. Raises ValueError for too many values, before it is read, and for no JSON.

    What is nested more than 1,024 levels deep is none.
    """
    sent = text.encode()
    if n_values(sent) > FIELD_VALUES_MAX:
        raise ValueError(f"A field has more than {FIELD_VALUES_MAX:,} values.")
    return orjson.loads(sent)


def check_storable(value: Any) -> None:
    """Raises Invalid with the place of each text that can't be stored.

    Raises Unreadable where it is nested too deeply, or holds a number beyond all bounds, as 1e999 is.
    """
    fields: dict[str, list[str]] = {}
    for path, text in texts(value):
        if len(path) > DEEPEST:
            raise Unreadable(f"The JSON is nested more than {DEEPEST} levels deep.")
        if wrong := unstorable(text):
            name = ".".join(printable(part) for part in path)
            fields.setdefault(name, []).append(f"Remove the character U+{ord(wrong):04X}: it can't be stored.")
    if fields:
        raise Invalid("The request contains characters that can't be stored.", fields=fields)


def is_too_deep(value: Any) -> bool:
    """Whether lists and mappings are nested in it more than DEEPEST levels deep."""
    level = [value]
    for _ in range(DEEPEST + 1):
        level = [
            inner
            for each in level
            if isinstance(each, dict | list)
            for inner in (each.values() if isinstance(each, dict) else each)
        ]
    return bool(level)


def texts(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], str]]:
    """Every string of a JSON value, keys included, with where it stands; raises Unreadable for what is not finite."""
    waiting: list[tuple[tuple[str, ...], Any]] = [(path, value)]
    while waiting:
        where, here = waiting.pop()
        if len(where) > DEEPEST:
            yield where, ""
        elif isinstance(here, dict):
            for key, inner in here.items():
                yield (*where, key), key
                waiting.append(((*where, key), inner))
        elif isinstance(here, list):
            waiting.extend(((*where, str(number)), inner) for number, inner in enumerate(here))
        elif isinstance(here, str):
            yield where, here
        elif isinstance(here, float) and not math.isfinite(here):
            raise Unreadable("The JSON contains a number that is too large or not a number.")


def unstorable(text: str) -> str | None:
    """The first character that Postgres can't hold as text, if there is one."""
    found = UNSTORABLE.search(text)
    return found[0] if found else None


def printable(text: str) -> str:
    return UNSTORABLE.sub("\ufffd", text[:100])
