"""Errors of studies."""

from shared.errors import ConcordError, Conflict, Forbidden, Invalid, NotFound, OpenedElsewhere, Unreadable

__all__ = [
    "Blind",
    "ConcordError",
    "Conflict",
    "Forbidden",
    "Invalid",
    "MinimumNotReached",
    "NotFound",
    "OpenedElsewhere",
    "Stale",
    "UnfitLabels",
    "Unreadable",
    "WrongState",
]


class Blind(Forbidden):
    """Hidden while the round is open and this person rates in it."""

    code = "blind"


class UnfitLabels(Invalid):
    """Not valid for the labels that there are: to be told so is to read them."""


class WrongState(Conflict):
    """The round, assignment or study is not in the state for it."""

    code = "wrong_state"


class MinimumNotReached(Conflict):
    """A rater has not reached the round's minimum on training items, and gets no other items yet."""

    code = "below_minimum"


class Stale(Conflict):
    """Someone else was quicker; `newer` is what they wrote."""

    code = "stale"

    def __init__(self, message: str, *, newer: dict[str, object]) -> None:
        super().__init__(message)
        self.newer = newer
