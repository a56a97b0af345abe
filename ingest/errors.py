"""What can go wrong while issues come in."""

from accounts.errors import ConcordError, Conflict, Invalid, NotFound

__all__ = ["Conflict", "FetchError", "FetchFailed", "FetchMustWait", "Invalid", "NotFound", "RowError", "TooLarge"]


class TooLarge(Invalid):
    """An upload above the limit."""

    code = "too_large"


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

    `wait_seconds` says when; `counts` is false for a rate limit, which may come any number of times.
    """

    def __init__(self, message: str, *, wait_seconds: float | None = None, counts: bool = True) -> None:
        super().__init__(message)
        self.wait_seconds = wait_seconds
        self.counts = counts
