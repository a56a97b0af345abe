"""Errors: the base classes of every app's errors, which pages and the API answer in one form."""

import errno
from collections.abc import Mapping, Sequence


class ConcordError(Exception):
    """A refusal in words.

    `code` is a short name for programs; `fields` maps the path of an input field to its sentences.
    """

    status = 400
    code = "error"

    def __init__(self, message: str, *, code: str = "", fields: Mapping[str, Sequence[str]] | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.code = code or self.code
        self.fields = {name: list(sentences) for name, sentences in (fields or {}).items()}


class Unreadable(ConcordError):
    """The input can't be read at all."""

    status = 400
    code = "unreadable"


class Forbidden(ConcordError):
    """Known, but not allowed to this person or token."""

    status = 403
    code = "forbidden"


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
