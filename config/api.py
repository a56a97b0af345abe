"""The API as a whole: its address book, its one error shape and its pages."""

import base64
import binascii
import json
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from django.core.exceptions import (
    ObjectDoesNotExist,
    PermissionDenied,
    RequestDataTooBig,
    SuspiciousOperation,
    ValidationError,
)
from django.db.models import Q, QuerySet
from django.http import Http404
from django.urls import include, path, re_path
from drf_spectacular.utils import extend_schema
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerSplitView
from rest_framework import exceptions
from rest_framework.pagination import BasePagination
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.utils.urls import replace_query_param
from rest_framework.views import APIView, set_rollback

from accounts.errors import ConcordError, NotFound, Unreadable

APPS = ("accounts", "taxonomy", "ingest", "annotation")
CODES = {
    400: "unreadable",
    401: "unauthenticated",
    403: "forbidden",
    404: "not_found",
    405: "method_not_allowed",
    406: "not_acceptable",
    413: "too_large",
    415: "unsupported_media_type",
    422: "invalid",
    429: "throttled",
}


def shape(status: int, message: str, *, code: str = "", fields: dict[str, list[str]] | None = None) -> Response:
    """The one error shape."""
    body = {"code": code or CODES.get(status, "error"), "message": message, "fields": fields or {}}
    return Response(body, status=status)


def error_answer(error: Exception, context: dict[str, Any]) -> Response | None:
    """What the API answers for an error; None lets anything unforeseen become a 500."""
    answer = _answer(error)
    if answer is not None:
        set_rollback()
    return answer


def _answer(error: Exception) -> Response | None:
    match error:
        case ConcordError():
            return shape(error.status, error.message, code=error.code, fields=error.fields)
        case exceptions.ValidationError():
            return shape(422, "Some fields are not valid.", fields=flat(error.detail))
        case ValidationError():
            fields = error.message_dict if hasattr(error, "error_dict") else {"": error.messages}
            return shape(422, "Some fields are not valid.", fields=fields)
        case Http404() | ObjectDoesNotExist():
            return shape(404, "There is nothing here, or you may not know that there is.")
        case PermissionDenied():
            return shape(403, "You may not do this.")
        case RequestDataTooBig():
            return shape(413, "The request is too large.")
        case SuspiciousOperation():
            return shape(400, "The request can't be read.")
        case exceptions.APIException():
            answer = shape(error.status_code, str(error.detail))
            if header := getattr(error, "auth_header", None):
                answer["WWW-Authenticate"] = header
            if wait := getattr(error, "wait", None):
                answer["Retry-After"] = str(max(1, round(wait)))
            return answer
    return None


def flat(detail: Any, name: str = "") -> dict[str, list[str]]:
    """Nested messages of a serializer as {path of the field: sentences}, the path joined by dots."""
    if isinstance(detail, dict):
        parts = ((key if key != "non_field_errors" else "", value) for key, value in detail.items())
    elif isinstance(detail, list) and any(isinstance(part, (dict, list)) for part in detail):
        parts = ((str(number), value) for number, value in enumerate(detail))
    else:
        return {name: [str(part) for part in (detail if isinstance(detail, list) else [detail])]}
    found: dict[str, list[str]] = {}
    for key, value in parts:
        if value:
            for inner, sentences in flat(value, ".".join(filter(None, (name, str(key))))).items():
                found.setdefault(inner, []).extend(sentences)
    return found


class Pages(BasePagination):
    """Lists in pages: `{"results", "next"}`, following a key instead of counting.

    The view's `ordering` names columns that are never null and together unique (default `("pk",)`; `-` for
    descending; `__` follows relations that are already selected). A plain sequence is paged by position. `?page_size=`
    takes up to 1000. Cost: one query of page_size + 1 rows.
    """

    page_size = 100
    page_size_max = 1000

    def paginate_queryset(self, queryset: Any, request: Request, view: Any = None) -> list[Any]:
        self.address = request.build_absolute_uri()
        self.size = self._size(request)
        self.next: str | None = None
        after = self._cursor(request)
        if not isinstance(queryset, QuerySet):
            return self._slice(queryset, after)
        ordering = getattr(view, "ordering", None) or ("pk",)
        self.ordering = (ordering,) if isinstance(ordering, str) else tuple(ordering)
        rows = queryset.order_by(*self.ordering)
        if after is not None:
            if len(after) != len(self.ordering):
                raise Unreadable("The cursor does not belong to this list.", code="bad_cursor")
            try:
                rows = rows.filter(beyond(self.ordering, after))
            except (ValidationError, ValueError, TypeError) as error:
                raise Unreadable("The cursor does not belong to this list.", code="bad_cursor") from error
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

    def _size(self, request: Request) -> int:
        given = request.query_params.get("page_size")
        if given is None:
            return self.page_size
        if not given.isascii() or not given.isdigit() or int(given[:9]) < 1:
            sentence = f"Write a whole number from 1 to {self.page_size_max}."
            raise Unreadable("The page size can't be read.", fields={"page_size": [sentence]})
        return min(int(given[:9]), self.page_size_max)

    def _cursor(self, request: Request) -> list[Any] | None:
        given = request.query_params.get("cursor")
        if given is None:
            return None
        try:
            cursor = json.loads(base64.urlsafe_b64decode(given + "=" * (-len(given) % 4)))
        except (binascii.Error, ValueError) as error:
            raise Unreadable("The cursor can't be read.", code="bad_cursor") from error
        if not isinstance(cursor, list) or not all(isinstance(part, (str, int, float)) for part in cursor):
            raise Unreadable("The cursor can't be read.", code="bad_cursor")
        return cursor

    def _slice(self, rows: Sequence[Any], after: list[Any] | None) -> list[Any]:
        start = after[0] if after else 0
        if not isinstance(start, int) or start < 0:
            raise Unreadable("The cursor does not belong to this list.", code="bad_cursor")
        if len(rows) > start + self.size:
            self._point([start + self.size])
        return list(rows[start : start + self.size])

    def _point(self, cursor: list[Any]) -> None:
        text = json.dumps(
            cursor, default=lambda value: value.isoformat() if hasattr(value, "isoformat") else str(value)
        )
        encoded = base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")
        self.next = replace_query_param(self.address, "cursor", encoded)


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


class NotHere(APIView):
    """Every other address under /api/: 404 in the one error shape."""

    permission_classes = [AllowAny]
    authentication_classes: list[Any] = []

    @extend_schema(exclude=True)
    def get(self, request: Request, **parts: str) -> Response:
        raise NotFound("There is no such address in this API; /api/v1/docs/ lists them.")

    post = put = patch = delete = get


class Docs(SpectacularSwaggerSplitView):
    """The browsable description; its script comes from its own address, so that the strict CSP holds here, too."""

    url_name = "schema"
    template_name = "api_docs.html"


urlpatterns: list[Any] = [
    path("schema/", SpectacularAPIView.as_view(), name="schema"),
    path("docs/", Docs.as_view(), name="api_docs"),
]
for app in APPS:
    if find_spec(f"{app}.api") is not None:
        urlpatterns.append(path("", include(import_module(f"{app}.api").urlpatterns)))
urlpatterns.append(re_path(r"^(?P<rest>.*)$", NotHere.as_view()))
