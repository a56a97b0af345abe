"""Paging of API lists by key, without counting."""

from collections.abc import Sequence
from typing import Any

from django.core.exceptions import ValidationError
from django.core.signing import BadSignature, Signer
from django.db import DataError
from django.db.models import Q, QuerySet
from rest_framework.pagination import BasePagination
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.utils.urls import replace_query_param

from shared.errors import Unreadable
from shared.public_ids import public_id, row_number_of
from shared.request_checks import page_size


class Pages(BasePagination):
    """Lists in pages: `{"results", "next"}`, following a key instead of counting.

    The view's `ordering` names columns that are never null and together unique (default `("pk",)`; `-` for
    descending; `__` follows relations that are already selected). A plain sequence is paged by position. `?page_size=`
    takes up to 1000. Numbers stand encrypted in the cursor, for each list otherwise, and the cursor is signed. Cost:
    one query of page_size + 1 rows.
    """

    page_size = 100
    page_size_max = 1000

    def paginate_queryset(self, queryset: Any, request: Request, view: Any = None) -> list[Any]:
        self.address = request.build_absolute_uri()
        self.size = page_size(request, self.page_size, self.page_size_max)
        self.next: str | None = None
        if not isinstance(queryset, QuerySet):
            self.list = request.path
            return self._slice(queryset, self._cursor(request))
        ordering = getattr(view, "ordering", None) or ("pk",)
        self.ordering = (ordering,) if isinstance(ordering, str) else tuple(ordering)
        self.list = f"{request.path} by {' '.join(self.ordering)}"
        after = self._cursor(request)
        rows: Any = queryset.order_by(*self.ordering)
        if after is not None:
            if len(after) != len(self.ordering):
                raise Unreadable("The cursor does not belong to this list.", code="bad_cursor")
            rows = _following(rows, self.ordering, after, self.size + 1)
        found = list(rows[: self.size + 1])
        if len(found) > self.size:
            self._point([value_of(found[self.size - 1], name) for name in self.ordering])
        return found[: self.size]

    def get_paginated_response(self, data: Any) -> Response:
        return Response({"results": data, "next": self.next})

    def get_paginated_response_schema(self, schema: dict[str, Any]) -> dict[str, Any]:
        address = {"type": "string", "format": "uri", "nullable": True}
        return {"type": "object", "required": ["results", "next"], "properties": {"results": schema, "next": address}}

    def get_schema_operation_parameters(self, view: Any) -> list[dict[str, Any]]:
        return [
            {"name": "cursor", "in": "query", "required": False, "schema": {"type": "string"}},
            {
                "name": "page_size",
                "in": "query",
                "required": False,
                "schema": {"type": "integer", "minimum": 1, "maximum": self.page_size_max},
            },
        ]

    def _cursor(self, request: Request) -> list[Any] | None:
        given = request.query_params.get("cursor")
        if given is None:
            return None
        try:
            parts: list[str] = self._signer().unsign_object(given)
        except BadSignature as error:
            raise Unreadable("The cursor is not valid.", code="bad_cursor") from error
        numbers = [row_number_of(f"cursor of {self.list}", part) for part in parts]
        return [part if number is None else number for part, number in zip(parts, numbers, strict=True)]

    def _slice(self, rows: Sequence[Any], after: list[Any] | None) -> list[Any]:
        start = after[0] if after else 0
        if not isinstance(start, int) or start < 0:
            raise Unreadable("The cursor does not belong to this list.", code="bad_cursor")
        if len(rows) > start + self.size:
            self._point([start + self.size])
        return list(rows[start : start + self.size])

    def _point(self, cursor: list[Any]) -> None:
        kind = f"cursor of {self.list}"
        parts = [public_id(kind, part) if isinstance(part, int) else str(part) for part in cursor]
        self.next = replace_query_param(self.address, "cursor", self._signer().sign_object(parts))

    def _signer(self) -> Signer:
        """Nobody else makes a cursor: trying numbers would tell the numbers of one's own rows."""
        return Signer(salt=f"cursor of {self.list}")


def _following(rows: QuerySet[Any], ordering: Sequence[str], after: Sequence[Any], n: int) -> Sequence[Any]:
    """The next `n` rows after a key. Raises Unreadable where the key fits the columns in no way."""
    try:
        return list(rows.filter(beyond(ordering, after))[:n])
    except (ValidationError, ValueError, TypeError, OverflowError, DataError) as error:
        raise Unreadable("The cursor does not belong to this list.", code="bad_cursor") from error


def value_of(row: Any, name: str) -> Any:
    """The value of an ordering column in a row, which is an object or a dict."""
    name = name.lstrip("-")
    if isinstance(row, dict):
        return row[name]
    for part in name.split("__"):
        row = getattr(row, part)
    return row


def beyond(ordering: Sequence[str], after: Sequence[Any]) -> Q:
    """The rows that come after a key, in a form that an index on the first column can serve."""
    found = Q()
    equal = Q()
    for name, value in zip(ordering, after, strict=True):
        column, side = name.lstrip("-"), "lt" if name.startswith("-") else "gt"
        found |= equal & Q(**{f"{column}__{side}": value})
        equal &= Q(**{column: value})
    first = ordering[0]
    return Q(**{f"{first.lstrip('-')}__{'lte' if first.startswith('-') else 'gte'}": after[0]}) & found
