"""Errors: the base classes of every app's errors, which pages and the API answer in one form."""

import errno
from collections.abc import Mapping, Sequence
from itertools import islice

FIELDS_MAX = 100
SENTENCES_MAX = 10
"""So many fields, and sentences of a field, an error names: a request can have a hundred thousand wrong names."""


class ConcordError(Exception):
    """A refusal in words.

    `code` is a short name for programs; `fields` maps the path of an input field to its sentences, the first hundred
    fields and ten sentences of each.
    """

    status = 400
    code = "error"

    def __init__(self, message: str, *, code: str = "", fields: Mapping[str, Sequence[str]] | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.code = code or self.code
        first = islice((fields or {}).items(), FIELDS_MAX)
        self.fields = {name: _first_ones(sentences) for name, sentences in first}


def _first_ones(sentences: Sequence[str]) -> list[str]:
    """The first sentences of a field, and how many more there are."""
    n_more = len(sentences) - SENTENCES_MAX
    return [*sentences[:SENTENCES_MAX], *([f"And {n_more:,} more."] if n_more > 0 else [])]


class Unreadable(ConcordError):
    """The input can't be read at all."""

    status = 400
    code = "unreadable"


class Forbidden(ConcordError):
    """Known, but not allowed to this person or token."""

    status = 403
    code = "forbidden"


class OpenedElsewhere(Forbidden):
    """A page of another site opened what its reader has to open: a file, or what is recorded as read."""

    code = "opened_elsewhere"


class NotFound(ConcordError):
    """Not there, or this person may not know that it is."""

    status = 404
    code = "not_found"


class Conflict(ConcordError):
    """The wrong state for it, or stale."""

    status = 409
    code = "conflict"


class Invalid(ConcordError):
    """Readable but not valid; `fields` says where."""

    status = 422
    code = "invalid"


class TooMany(ConcordError):
    """Tried too often; after `wait_seconds` it may be tried again."""

    status = 429
    code = "throttled"

    def __init__(self, message: str, *, wait_seconds: int) -> None:
        super().__init__(message)
        self.wait_seconds = wait_seconds


class StorageAway(OSError):
    """The storage of files does not answer; the same goes well later. No refusal, but an outage like a full disk."""

    def __init__(self) -> None:
        super().__init__(errno.EIO, "the storage of files does not answer")
