"""Paging of long tables by key, without counting."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from django.db.models import Model, QuerySet
from django.http import HttpRequest

from shared.public_ids import public_id, row_number_of

Row = TypeVar("Row", bound=Model)


@dataclass(frozen=True)
class PageOf(Generic[Row]):
    """The rows of one page, and the addresses of those beside it."""

    rows: Sequence[Row]
    previous_url: str
    next_url: str


def page_of(request: HttpRequest, rows: QuerySet[Row], *, key: str = "pk", size: int = 50) -> PageOf[Row]:
    """The page that `?after=` or `?before=` points to, by a unique whole number; one query.

    `key` is its column, with `-` for descending. It stands in the address encrypted, for each table otherwise.

    What is no such key is passed over, so a mangled address gives the first page.
    """
    column, descending = key.lstrip("-"), key.startswith("-")
    kind = _kind(rows.model, column)
    after, before = edges_of(request, rows.model, column)
    backwards = before is not None and after is None
    edge = before if backwards else after
    if edge is not None:
        upwards = descending == backwards
        rows = rows.filter(**{f"{column}__{'gt' if upwards else 'lt'}": edge})
    found = list(rows.order_by(column if descending == backwards else f"-{column}")[: size + 1])
    has_more, found = len(found) > size, found[:size]
    if backwards:
        found.reverse()
    has_previous = has_more if backwards else after is not None
    has_next = has_more or backwards
    return PageOf(
        found,
        _address(request, "before", public_id(kind, getattr(found[0], column))) if found and has_previous else "",
        _address(request, "after", public_id(kind, getattr(found[-1], column))) if found and has_next else "",
    )


def edges_of(request: HttpRequest, model: type[Model], column: str = "pk") -> tuple[int | None, int | None]:
    """The keys in `?after=` and `?before=` of a table's pages."""
    after, before = (row_number_of(_kind(model, column), request.GET.get(name, "")) for name in ("after", "before"))
    return after, before


def _kind(model: type[Model], column: str) -> str:
    return f"page of {model._meta.label} by {column}"


def _address(request: HttpRequest, name: str, value: str) -> str:
    query = request.GET.copy()
    for each in ("after", "before"):
        query.pop(each, None)
    query[name] = value
    return f"{request.path}?{query.urlencode()}"
