"""Imports of ratings over REST: a sheet as the body, or as the file of a form."""

import io
from collections.abc import Mapping
from typing import Any

from django.conf import settings
from django.core.files.base import File
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema, inline_serializer
from rest_framework import serializers
from rest_framework.parsers import BaseParser, MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.api import AnyAccept, format_of
from annotation.assignments.actions.reading_log import FILE, REST, note_reading
from annotation.core.access import OWNER, Seat, get_workbook
from annotation.core.api_pages import DIMENSION, ROUND, ROUND_LABEL, VERSION
from annotation.core.api_requests import (
    choice_in_address,
    dimension_in_address,
    number_in_address,
    round_number_in_address,
    seat_of,
)
from annotation.core.download_log import filters_of, record_download
from annotation.core.errors import Invalid, Unreadable
from annotation.exports.api.item_pages import CURSOR, PAGE_SIZE, cursor_of, page_of_items, pages_of_rows
from annotation.exports.queries import rows
from annotation.exports.queries.options import SHAPES
from annotation.imports.actions.ratings import import_ratings
from annotation.imports.actions.workbooks import import_later
from annotation.imports.sheets.plans import SheetOptions
from annotation.labels.queries.rows import REVISIONS
from annotation.models import Workbook
from ingest.api.files import FORMAT

JOB_BYTES = 2 * 1024 * 1024
"""A job imports a larger sheet."""


class SheetParser(BaseParser):
    """Hands on the bytes of a sheet as they came."""

    media_type = "text/csv"

    def parse(self, stream: Any, media_type: str | None = None, parser_context: Any = None) -> dict[str, bytes]:
        return {"sheet": stream.read(settings.UPLOAD_BYTES_MAX + 1)}


class PlainParser(SheetParser):
    media_type = "text/plain"


class BytesParser(SheetParser):
    media_type = "application/octet-stream"


class ParquetParser(SheetParser):
    media_type = "application/vnd.apache.parquet"


class WorkbookParser(SheetParser):
    media_type = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"


SHEET_PARSERS = [MultiPartParser, SheetParser, PlainParser, BytesParser, ParquetParser, WorkbookParser]
_SAID = {
    "map": "FIELD=COLUMN, repeated: which column has item, rater, round, part …, a dimension, or an attribute.",
    "dimensions": "Columns that hold one dimension each, separated by commas; none for the long form.",
    "attributes": "Columns that say something of the item itself, separated by commas.",
    "final": "The rater whose rows are what was decided (`final`).",
    "duplicates": "`reject`, `first` or `last`: which of the labels that one rater gave twice, differently.",
    "blank": "`none` or `empty`: what a blank means for a dimension that takes several values, in a row with other "
    "labels.",
    "missing": "Values that mean no rating (`n/a,-`), separated by commas. A category of that name is a category.",
    "not_missing": "Values that are labels, although they look like a missing value, separated by commas.",
    "decimal": "`point` or `comma`: the decimal mark of numbers with a comma.",
    "guess": "`true`: all sheets of a workbook are read as the page would guess them.",
}
SHEET_OPTIONS = [
    OpenApiParameter(name, str, many=name == "map", description=f"{said} With a file it is a field of the form.")
    for name, said in _SAID.items()
]
SHEET_FORM = {
    "type": "object",
    "properties": {
        "file": {"type": "string", "format": "binary"},
        **{
            name: {"type": "array", "items": {"type": "string"}} if name == "map" else {"type": "string"}
            for name in _SAID
        },
    },
}


class ImportReportShape(serializers.Serializer[Any]):
    """What came of a sheet: counts, rounds, and the rows that were refused, each with its line and the reason."""

    study = serializers.CharField()
    new = serializers.BooleanField()
    taxonomy = inline_serializer(
        "ImportTaxonomy", {"slug": serializers.CharField(), "version": serializers.IntegerField()}
    )
    n_rows = serializers.IntegerField(help_text="Rows of the file that give a label or were rejected.")
    n_rows_without_label = serializers.IntegerField(help_text="Further rows, which give no label.")
    n_ratings = serializers.IntegerField(help_text="New ratings: one per dimension, also of several values.")
    n_resolutions = serializers.IntegerField()
    n_left_blank = serializers.IntegerField()
    n_unchanged = serializers.IntegerField(help_text="Answers and resolutions that were there before.")
    n_ratings_unchanged = serializers.IntegerField(help_text="Ratings that were there before.")
    n_attributes = serializers.IntegerField()
    n_items = serializers.IntegerField()
    n_raters = serializers.IntegerField()
    n_refused = serializers.IntegerField()
    unblinded = serializers.ListField(
        child=serializers.CharField(),
        help_text="Codes of raters who could read answers of a round before the sheet was imported: their labels "
        "do not count before discussion.",
    )
    rounds = inline_serializer(
        "ImportRound",
        {
            "number": serializers.IntegerField(),
            "label": serializers.CharField(),
            "state": serializers.CharField(),
            "new": serializers.BooleanField(),
            "n_items": serializers.IntegerField(help_text="Items of the sheet with a label there."),
            "newest": serializers.BooleanField(
                help_text="Whether it is the newest round of the study: its labels count for items of several rounds."
            ),
        },
        many=True,
    )
    refusals = inline_serializer(
        "ImportRefusal",
        {
            "line": serializers.IntegerField(),
            "reason": serializers.CharField(),
            "row": serializers.CharField(),
            "sheet": serializers.CharField(required=False),
        },
        many=True,
    )


class ImportJobShape(serializers.Serializer[Any]):
    """The import of a large sheet, which a job does."""

    id = serializers.CharField()
    state = serializers.ChoiceField(Workbook.State.choices)
    done = serializers.IntegerField(help_text="Items stored so far.")
    total = serializers.IntegerField()
    error = serializers.CharField(required=False, help_text="Why it failed; nothing was stored.")
    report = ImportReportShape(allow_null=True, help_text="Once it is done.")


class ImportOfStudy(APIView):
    """How far an import of one's own into the study is, and its report."""

    @extend_schema(responses=ImportJobShape)
    def get(self, request: Request, slug: str, number: int) -> Response:
        return Response(import_as_document(get_workbook(seat_of(request, slug), number)))


def import_as_document(workbook: Workbook) -> dict[str, Any]:
    """The job of an import in an answer, with its report once it is done."""
    failed = {"error": workbook.error} if workbook.state == Workbook.State.FAILED else {}
    counts = {"done": workbook.n_done, "total": workbook.n_total}
    return {
        "id": str(workbook.pk),
        "state": workbook.state,
        **counts,
        **failed,
        "report": workbook.report if workbook.state == Workbook.State.DONE else None,
    }


def import_sent_sheet(request: Request, seat: Seat) -> tuple[dict[str, Any], int]:
    """Brings in the ratings of a request; its report and 201, or the row of the job that imports a large sheet and 202.

    `map` (item=COLUMN, repeated), `dimensions`, `attributes`, `final`, `duplicates`, `blank`, `missing`, `not_missing`,
    `decimal` and `guess` are options. They are in the address, or in the form beside the file. Raises Forbidden for
    all but the owner, Unreadable, Invalid with the fields.
    """
    seat.require(OWNER)
    sent: Any = request.data
    given = sent.get("sheet") or sent.get("file")
    if not given:
        raise Unreadable("No sheet found. Send it as the body (text/csv), or as the file “file” of a form.")
    size = len(given) if isinstance(given, bytes) else given.size
    if size > settings.UPLOAD_BYTES_MAX:
        raise Invalid(f"The sheet is larger than {settings.UPLOAD_BYTES_MAX // 2**20} MB.", code="too_large")
    options = request.query_params if isinstance(given, bytes) else sent
    if options is sent and request.query_params:
        sentence = "With a file, send it as a form field."
        raise Invalid("Sheet not imported.", fields={name: [sentence] for name in request.query_params})
    asked: dict[str, Any] = {
        "mapping": _mapping(options.getlist("map")),
        "dimensions": [name for name in options.get("dimensions", "").split(",") if name.strip()],
        "attributes": [name for name in options.get("attributes", "").split(",") if name.strip()],
        "final": options.get("final") or "final",
        "guess": options.get("guess") in ("true", "1"),
        "duplicates": options.get("duplicates") or "",
        "blank": options.get("blank") or "",
        "missing": [text for text in options.get("missing", "").split(",") if text.strip()],
        "not_missing": [text for text in options.get("not_missing", "").split(",") if text.strip()],
        "decimal": options.get("decimal") or "",
    }
    if size > JOB_BYTES:
        file = File(io.BytesIO(given), "sheet") if isinstance(given, bytes) else given
        return import_as_document(import_later(seat=seat, file=file, options=SheetOptions(**asked))), 202
    report = import_ratings(user=seat.user, study=seat.study.slug, file=given, name=getattr(given, "name", ""), **asked)
    return report.as_document(), 201


def _mapping(pairs: list[str]) -> Mapping[str, str]:
    wrong = [pair for pair in pairs if "=" not in pair]
    if wrong:
        raise Invalid("Sheet not imported.", fields={"map": [f"“{wrong[0]}” is not FIELD=COLUMN."]})
    return dict(pair.split("=", 1) for pair in pairs)


class Ratings(APIView):
    """What raters gave: a rater reads only their own, others all but the rounds they are blind in.

    The owner sends a CSV, XLSX or Parquet file to bring in ratings from elsewhere. A job imports one above 2 MB.
    """

    content_negotiation_class = AnyAccept
    parser_classes = SHEET_PARSERS

    @extend_schema(
        parameters=[
            ROUND,
            ROUND_LABEL,
            DIMENSION,
            VERSION,
            FORMAT,
            OpenApiParameter("revision", str, enum=list(REVISIONS)),
            OpenApiParameter(
                "shape", str, enum=list(SHAPES), description="Of a file: wide has a row for each part and rater."
            ),
            CURSOR,
            PAGE_SIZE,
        ],
        responses={200: pages_of_rows("ratings")},
    )
    def get(self, request: Request, slug: str) -> Any:
        seat = seat_of(request, slug)
        format = format_of(request)
        asked: dict[str, Any] = {
            "round_number": round_number_in_address(request, seat),
            "dimension": dimension_in_address(request, seat),
            "revision": choice_in_address(request, "revision", REVISIONS, None),
            "version": number_in_address(request, "version"),
        }
        shape = choice_in_address(request, "shape", SHAPES, SHAPES[0])
        options = {**asked, "shape": "wide"} if shape == "wide" else asked
        if format:
            answer: Any = rows.stream_rows(seat, "ratings", format, options=options)
        else:
            answer = page_of_items(request, rows.ratings(seat, **asked, after=cursor_of(request)))
        note_reading(seat, rows.read_of_others(seat, asked["round_number"]), "ratings", FILE if format else REST)
        if format:
            record_download(seat=seat, what="ratings", format=format, method=request.method, **filters_of(options))
        return answer

    @extend_schema(
        parameters=SHEET_OPTIONS,
        request={"text/csv": OpenApiTypes.STR, "multipart/form-data": SHEET_FORM},
        responses={201: ImportReportShape, 202: ImportJobShape},
    )
    def post(self, request: Request, slug: str) -> Response:
        document, status = import_sent_sheet(request, seat_of(request, slug))
        return Response(document, status=status)
