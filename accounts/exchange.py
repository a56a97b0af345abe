"""What the API takes and gives: JSON that can be stored, and JSON whatever the Accept header says."""

import re
from collections.abc import Iterator
from typing import Any

from rest_framework.exceptions import NotAcceptable, ParseError
from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.parsers import JSONParser
from rest_framework.request import Request

from accounts.errors import Invalid

DEEPEST = 50
UNSTORABLE = re.compile("[\0\ud800-\udfff]")


class StorableJson(JSONParser):
    """JSON without what Postgres can't hold: U+0000 and halves of surrogate pairs. Raises Invalid with the fields."""

    def parse(self, stream: Any, media_type: str | None = None, parser_context: Any = None) -> Any:
        too_deep = ParseError(f"The JSON is nested more than {DEEPEST} levels deep.")
        try:
            found = super().parse(stream, media_type, parser_context)
        except RecursionError as error:
            raise too_deep from error
        fields: dict[str, list[str]] = {}
        for path, text in texts(found):
            if len(path) > DEEPEST:
                raise too_deep
            if wrong := unstorable(text):
                name = ".".join(printable(part) for part in path)
                fields.setdefault(name, []).append(f"The character U+{ord(wrong):04X} can't be stored; leave it out.")
        if fields:
            raise Invalid("The request holds characters that can't be stored.", fields=fields)
        return found


def texts(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], str]]:
    """Every string of a JSON value, keys included, with where it stands; numbers and the like as empty strings."""
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


def unstorable(text: str) -> str | None:
    """The first character that Postgres can't hold as text, if there is one."""
    found = UNSTORABLE.search(text)
    return found[0] if found else None


def printable(text: str) -> str:
    return UNSTORABLE.sub("\ufffd", text[:100])


class JsonAnyway(DefaultContentNegotiation):
    """The usual choice of an answer's format; where nothing fits the Accept header, the first one and no 406."""

    def select_renderer(self, request: Request, renderers: Any, format_suffix: str | None = None) -> Any:
        try:
            return super().select_renderer(request, renderers, format_suffix)
        except NotAcceptable:
            return renderers[0], renderers[0].media_type
