"""Content types of requests: only the kind of the body and the boundary of its parts reach Django.

Django would read addresses and bodies by any codec of Python that a request names, also one that unpacks bytes, and
fails before any middleware by a name that it doesn't know.
"""

from codecs import lookup
from collections.abc import Callable, Iterable
from typing import Any

from django.utils.http import parse_header_parameters

CHARSET = "concord.charset"
"""The key under which the environment of a request tells a charset other than UTF-8 that it named."""
UTF_8 = ("utf-8", "ascii")


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
    """The kind with its boundary, and the charset where it is not UTF-8. What can't be read names no charset."""
    try:
        kind, named = parse_header_parameters(content_type)
    except (ValueError, LookupError):
        return content_type.partition(";")[0].strip().lower(), ""
    boundary = f'; boundary="{named["boundary"]}"' if "boundary" in named else ""
    return kind + boundary, "" if _is_utf_8(named.get("charset", "utf-8")) else named["charset"]


def _is_utf_8(charset: str) -> bool:
    try:
        return lookup(charset).name in UTF_8
    except (LookupError, ValueError):
        return False
