"""Pages of REST lists, and the shape of a job."""

from collections.abc import Callable
from typing import Any

from drf_spectacular.utils import OpenApiParameter, inline_serializer
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.settings import api_settings
from rest_framework.views import APIView

PAGE = [OpenApiParameter("cursor", str), OpenApiParameter("page_size", int)]
IDEMPOTENCY_KEY = OpenApiParameter(
    "Idempotency-Key", str, OpenApiParameter.HEADER, description="The same key and body again give what the first made."
)
ROUND = OpenApiParameter("round", int, description="Only this round.")
ROUND_LABEL = OpenApiParameter(
    "round_label", str, description="Only the round that was imported from a sheet with this label."
)
DIMENSION = OpenApiParameter("dimension", str, description="Only this dimension.")
VERSION = OpenApiParameter(
    "version",
    int,
    description="Mapped to this version of the taxonomy. Where no mapping exists, values are null with the reason in "
    "`unmapped`.",
)


class JobShape(serializers.Serializer[Any]):
    """A job at work on a large sample or round, or on many items, or one that failed."""

    id = serializers.CharField()
    state = serializers.ChoiceField(["queued", "running", "failed"])
    done = serializers.IntegerField()
    total = serializers.IntegerField()
    error = serializers.CharField(required=False, help_text="Why it failed.")


def pages_of(shape: type[serializers.Serializer[Any]] | serializers.Serializer[Any], name: str = "") -> Any:
    """The schema of a page of a list, named after the shape of its rows if it has no `name`."""
    row = shape if isinstance(shape, type) else type(shape)
    fields = {"results": row(many=True), "next": serializers.URLField(allow_null=True)}
    return inline_serializer(name or row.__name__.removesuffix("Shape") + "Page", fields)


def list_page(view: APIView, request: Request, rows: Any, shown: Callable[[Any], Any]) -> Response:
    """A page of a list, as on every list."""
    pagination: Any = api_settings.DEFAULT_PAGINATION_CLASS
    pages = pagination()
    found = pages.paginate_queryset(rows, request, view)
    answer: Response = pages.get_paginated_response([shown(row) for row in found])
    return answer
