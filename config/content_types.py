"""Content types of requests: only the kind of the body and the boundary of its parts reach Django.

Django would read addresses and bodies by any codec of Python that a request names, also one that unpacks bytes, and
fails before any middleware by a name that it doesn't know.
"""

import re
from codecs import lookup
from collections.abc import Callable, Iterable
from typing import Any

from django.utils.http import parse_header_parameters

CHARSET = "concord.charset"
"""The key under which the environment of a request tells a charset other than UTF-8 that it named."""
UTF_8 = ("utf-8", "ascii")
KIND = re.compile(r"[0-9a-z!#$&^_.+-]+/[0-9a-z!#$&^_.+-]+")
BOUNDARY = re.compile(r"[0-9A-Za-z'()+_,./:=? -]{0,199}[0-9A-Za-z'()+_,./:=?-]")
"""The signs of RFC 6838 and 2046. Others could begin another parameter when the type is written again."""


class PlainContentTypes:
    """A WSGI application in front of another one, which then reads everything as UTF-8."""

    def __init__(self, application: Callable[..., Iterable[bytes]]) -> None:
        self.application = application

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        given = environ.get("CONTENT_TYPE", "")
        if ";" in given:
            environ["CONTENT_TYPE"], environ[CHARSET] = plain(given)
        return self.application(environ, start_response)


def plain(content_type: str) -> tuple[str, str]:
    """The kind with its boundary, and the charset where it is not UTF-8. What can't be read is no kind, and none."""
    try:
        kind, named = parse_header_parameters(content_type)
    except (ValueError, LookupError):
        kind, named = content_type.partition(";")[0].strip().lower(), {}
    boundary = named.get("boundary", "")
    kept = kind if KIND.fullmatch(kind) else ""
    if kept and BOUNDARY.fullmatch(boundary):
        kept += f'; boundary="{boundary}"'
    return kept, "" if _is_utf_8(named.get("charset", "utf-8")) else named["charset"]


def _is_utf_8(charset: str) -> bool:
    try:
        return lookup(charset).name in UTF_8
    except (LookupError, ValueError):
        return False
