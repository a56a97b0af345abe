"""Item pages of REST lists: a page contains whole items, and its cursor reveals nothing."""

from collections.abc import Callable, Iterable
from typing import Any

import pyarrow as pa
from drf_spectacular.utils import OpenApiParameter, extend_schema_field, inline_serializer
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.utils.urls import replace_query_param

from annotation.core.api_pages import pages_of
from annotation.core.errors import Unreadable
from annotation.exports.columns import COLUMNS, OF_EVIDENCE
from annotation.labels.queries import rows as label_rows
from shared.public_ids import public_id, row_number_of
from shared.request_checks import page_size

PAGE, MOST_PER_PAGE = 500, 5000
CHARACTERS_MOST = 20_000_000


def page_of_items(
    request: Request,
    found: Iterable[tuple[label_rows.Place, list[Any]]],
    n_characters: Callable[[Any], int] = lambda row: 0,
) -> Response:
    """A page of whole items: at least the page's size of rows unless they run out; `next` goes on after the item.

    It is the last item that has rows. One whose rows are withheld moves no cursor, which would tell that it is there.
    Where `n_characters` says how long the texts of a row are, a page is full with CHARACTERS_MOST, too.
    """
    gathered: list[Any] = []
    left = CHARACTERS_MOST
    last: label_rows.Place = (0, 0)
    size = page_size(request, PAGE, MOST_PER_PAGE)
    following = None
    for place, here in found:
        if (len(gathered) >= size or left <= 0) and here:
            following = replace_query_param(request.build_absolute_uri(), "cursor", encode_cursor(request, last))
            break
        if here:
            gathered.extend(here)
            left -= sum(map(n_characters, here))
            last = place
    return Response(
        {"results": [row if isinstance(row, dict) else label_rows.as_dict(row) for row in gathered], "next": following}
    )


def encode_cursor(request: Request, place: label_rows.Place) -> str:
    """A place as a cursor, from which nothing can be read: the number of its round above the position in it.

    It fits the list that it comes from alone: what is a position here is the number of a row elsewhere.
    """
    return public_id(_kind(request), place[0] << 32 | place[1])


def _kind(request: Request) -> str:
    return f"cursor of {request.path}"


def cursor_of(request: Request) -> label_rows.Place:
    """Where the page begins. Raises Unreadable."""
    given = request.query_params.get("cursor")
    if not given:
        return (0, 0)
    number = row_number_of(_kind(request), given)
    if number is None:
        raise Unreadable("The cursor is not valid.", code="bad_cursor")
    return number >> 32, number & 0xFFFFFFFF


ALWAYS = {
    "item",
    "part",
    "round",
    "round_label",
    "round_kind",
    "rater",
    "role",
    "dimension",
    "method",
    "memo",
    "raters",
    "training",
    "revision",
    "taxonomy_version",
    "screened_out",
}
"""Columns that are never null."""


VALUE = {"oneOf": [{"type": "string"}, {"type": "boolean"}, {"type": "number"}]}


CURSOR = OpenApiParameter("cursor", str, description="Where a page begins, as the `next` of the page before says.")


PAGE_SIZE = OpenApiParameter(
    "page_size", int, description="The minimum number of rows on a page. The rows of an item are never split."
)


@extend_schema_field({"type": "array", "items": VALUE, "nullable": True})
class ValuesField(serializers.JSONField):
    """Keys of categories, or the value of another kind of dimension; null where no value can be told."""


def pages_of_rows(what: str) -> Any:
    """A page of rows that also leave as files, with their columns."""
    fields = {column: _field(column, kind) for column, kind in {**COLUMNS, **OF_EVIDENCE}[what].items()}
    word = "ClosingChange" if what == "changes" else what.removesuffix("s").capitalize()  # a study has changes too
    return pages_of(inline_serializer(f"{word}Row", fields), f"{word}Page")


def _field(column: str, kind: pa.DataType) -> serializers.Field[Any, Any, Any, Any]:
    options: dict[str, Any] = {"allow_null": column not in ALWAYS}
    if column in ("values", "original_values"):
        return ValuesField()
    if pa.types.is_list(kind):
        child: Any = serializers.CharField() if pa.types.is_string(kind.value_type) else serializers.DictField()
        return serializers.ListField(child=child, **options)
    if pa.types.is_boolean(kind):
        return serializers.BooleanField(**options)
    if pa.types.is_integer(kind):
        return serializers.IntegerField(**options)
    if pa.types.is_timestamp(kind):
        return serializers.DateTimeField(**options)
    return serializers.CharField(**options)
