"""Pages of lists as GitHub's GraphQL has them: bounded, and with cursors that name a place by its value."""

import base64
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

PAGE_MAX = 100


class Refused(Exception):
    """An error with GitHub's word for its type."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class Page:
    """A part of a list, with cursors that name a place by value: a list that moves neither loops nor skips."""

    __slots__ = ("n", "nodes", "place", "rest_after", "rest_before")

    def __init__(self, n: int, nodes: list[Any], place: Callable[[Any], Any], before: bool, after: bool) -> None:
        self.n, self.nodes, self.place, self.rest_before, self.rest_after = n, nodes, place, before, after

    def cursor(self, node: Any) -> str:
        return base64.b64encode(b"cursor:v2:" + json.dumps(self.place(node)).encode()).decode()


@dataclass(frozen=True, slots=True)
class Edge:
    page: Page
    node: Any


def _place(cursor: str) -> Any:
    try:
        kind, place = base64.b64decode(cursor, validate=True).split(b":v2:")
        if kind == b"cursor":
            return json.loads(place)
    except ValueError:
        pass
    raise Refused("INVALID_CURSOR_ARGUMENTS", f"`{cursor}` does not appear to be a valid cursor.")


def page(
    name: str, rows: Sequence[Any], place: Callable[[Any], Any], given: dict[str, Any], *, descending: bool = False
) -> Page:
    """The page of `rows` (sorted by `place`) that first, last, after and before ask for; GitHub's bounds hold."""
    first, last = given.get("first"), given.get("last")
    if first is None and last is None:
        message = f"You must provide a `first` or `last` value to properly paginate the `{name}` connection."
        raise Refused("MISSING_PAGINATION_BOUNDARIES", message)
    for word, size in (("first", first), ("last", last)):
        if size is not None and size > PAGE_MAX:
            message = f"Requesting {size} records on the `{name}` connection exceeds the `{word}` limit of 100 records."
            raise Refused("EXCESSIVE_PAGINATION", message)
        if size is not None and size < 1:
            message = f"`{word}` on the `{name}` connection cannot be less than 1."
            raise Refused("INVALID_PAGINATION_ARGUMENTS", message)
    start, end = 0, len(rows)
    if descending:
        rows = rows[::-1]
    if given.get("after"):
        start = _found(rows, place, _place(given["after"]), descending, after=True)
    if given.get("before"):
        end = _found(rows, place, _place(given["before"]), descending, after=False)
    from_, to = start, end
    if first is not None:
        to = min(to, from_ + first)
    if last is not None:
        from_ = max(from_, to - last)
    return Page(len(rows), list(rows[from_:to]), place, from_ > 0, to < len(rows))


def _found(rows: Sequence[Any], place: Callable[[Any], Any], at: Any, descending: bool, *, after: bool) -> int:
    low, high = 0, len(rows)
    while low < high:
        middle = (low + high) // 2
        here = place(rows[middle])
        earlier = here > at if descending else here < at
        if earlier or (after and here == at):
            low = middle + 1
        else:
            high = middle
    return low
