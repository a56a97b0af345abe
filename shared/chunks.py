"""Chunks of rows, bounded by their number and by how much text they hold. Pure."""

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

CHARACTERS_AT_ONCE = 10_000_000
"""A chunk ends with the row that reaches it. Each character takes up to ten bytes while a file is written."""

T = TypeVar("T")


def n_characters(value: object) -> int:
    """How long all texts within a value are: a dict, list, tuple or object with attributes has those that it holds."""
    if isinstance(value, str):
        return len(value)
    if isinstance(value, dict):
        return sum([n_characters(each) for each in value.values() if each])
    if isinstance(value, list | tuple):
        return sum([n_characters(each) for each in value if each])
    held = getattr(value, "__dict__", None)
    return n_characters(held) if held else 0


def chunks(rows: Iterable[T], n_most: int, n_characters_of: Callable[[T], int] = n_characters) -> Iterator[list[T]]:
    """The rows in lists of up to `n_most`, shorter where their texts reach CHARACTERS_AT_ONCE."""
    chunk: list[T] = []
    left = CHARACTERS_AT_ONCE
    for row in rows:
        chunk.append(row)
        left -= n_characters_of(row)
        if len(chunk) >= n_most or left <= 0:
            yield chunk
            chunk, left = [], CHARACTERS_AT_ONCE
    if chunk:
        yield chunk
