"""Errors of ingest."""

from shared.errors import ConcordError, Conflict, Forbidden, Invalid, NotFound, Unreadable

__all__ = [
    "Conflict",
    "FetchError",
    "FetchFailed",
    "FetchMustWait",
    "Forbidden",
    "Invalid",
    "Moved",
    "NotFound",
    "RowError",
    "TooLarge",
    "Unreadable",
    "Unsigned",
]


class TooLarge(Invalid):
    """An upload above the limit."""

    code = "too_large"


class Moved(NotFound):
    """A repository that has another name now: `name` is its host, owner and name; its addresses lead there."""

    def __init__(self, message: str, name: tuple[str, str, str]) -> None:
        super().__init__(message)
        self.name = name


class Unsigned(ConcordError):
    """A message whose sender does not know the secret."""

    status = 401
    code = "unsigned"


class RowError(ValueError):
    """One row that can't be an issue; the text is the reason in words."""


class FetchError(ConcordError):
    """A fetch could not go on; the text goes into the run's row."""

    status = 409
    code = "fetch_stopped"


class FetchFailed(FetchError):
    """Going on by itself would not help: a wrong token, a repository that is not there."""


class FetchMustWait(FetchError):
    """Worth trying again later.

    `wait_seconds` says when; `counts` is false for a rate limit, which may come any number of times; `n_slowed` is
    how many times in a row GitHub said to slow down without saying for how long.
    """

    def __init__(
        self, message: str, *, wait_seconds: float | None = None, counts: bool = True, n_slowed: int = 0
    ) -> None:
        super().__init__(message)
        self.wait_seconds = wait_seconds
        self.counts = counts
        self.n_slowed = n_slowed
