"""Answers that are sent for as long as their reader may have them."""

import time
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")

LOOK_SECONDS = 1.0
"""How long pieces are handed out without a look."""


def watched(pieces: Iterable[T], look: Callable[[], None]) -> Iterator[T]:
    """The pieces, until `look` raises: it is called before a piece when the last look is a second ago."""
    following, looked_at = iter(pieces), time.monotonic()
    while True:
        if time.monotonic() - looked_at > LOOK_SECONDS:
            look()
            looked_at = time.monotonic()
        try:
            piece = next(following)
        except StopIteration:
            return
        yield piece
