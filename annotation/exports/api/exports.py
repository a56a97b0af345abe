"""Exports over REST: request, status, download, cancel, delete."""

from typing import Any
from uuid import UUID

from django.http.response import HttpResponseBase
from django.urls import reverse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.api import AnyAccept
from annotation.assignments.actions.reading_log import FILE, note_reading, note_results
from annotation.core.access import OWNER, Seat, get_export
from annotation.core.api_bodies import Body, StringField
from annotation.core.api_pages import PAGE, list_page, pages_of
from annotation.core.api_requests import caller, seat_of
from annotation.core.download_log import record_download
from annotation.exports import actions
from annotation.exports.columns import CONTENT_TYPES
from annotation.exports.package_options import LICENCES, TEXTS
from annotation.exports.queries.files import (
    exports_of,
    hides_state,
    is_closed_to,
    is_hidden,
    require_download,
    rounds_held,
    shown_error,
)
from annotation.exports.queries.kinds import KINDS
from annotation.exports.queries.options import REFUSED, SHAPES
from annotation.exports.views.downloads import OTHER_TYPES, file_response
from annotation.labels.queries.rows import REVISIONS
from annotation.models import Export
from shared.entries_field import EntriesField


class ExportBody(Body):
    """The file that is wanted. Each kind takes the options that concern it."""

    refusal = REFUSED
    documents = (
        *("format", "round", "round_label", "dimension", "version", "raters", "revision", "shape"),
        *("texts", "pseudonymise", "licence", "authors"),
    )

    what = StringField(f"Use one of {', '.join(KINDS)}.", help_text=f"{', '.join(KINDS)}.")
    format = serializers.CharField(
        required=False, help_text="csv, jsonl, parquet or zip; else the first that the kind has."
    )
    round = serializers.IntegerField(required=False)
    round_label = serializers.CharField(
        required=False, help_text="In place of `round`: what the sheet that the round came from calls it."
    )
    dimension = serializers.CharField(required=False)
    version = serializers.IntegerField(required=False)
    raters = EntriesField(child=serializers.CharField(), required=False, help_text="Codes.")
    revision = serializers.ChoiceField(REVISIONS, required=False)
    shape = serializers.ChoiceField(SHAPES, required=False)
    texts = serializers.ChoiceField(list(TEXTS), required=False, help_text="Of a package: the texts of the issues.")
    pseudonymise = serializers.BooleanField(
        required=False, help_text="Of a package: people by pseudonyms, as if left out."
    )
    licence = serializers.ChoiceField(list(LICENCES), required=False, help_text="Of a package.")
    authors = EntriesField(
        child=serializers.CharField(), required=False, help_text="Of a package: whom to cite, as Family, Given."
    )


HIDDEN = "hidden"


class ExportShape(serializers.Serializer[Any]):
    """A file that was asked for, and what became of it."""

    id = serializers.UUIDField()
    study = serializers.CharField()
    number = serializers.IntegerField()
    what = serializers.CharField()
    format = serializers.CharField()
    options = serializers.DictField()
    state = serializers.ChoiceField(
        [*Export.State.choices, (HIDDEN, "hidden while you rate in an open round, or owe an answer as a third rater")]
    )
    step = serializers.CharField(help_text="What is being done; empty while who asks may not open the file.")
    rows = serializers.IntegerField(
        allow_null=True, help_text="Null, as bytes and sha256, while who asks may not open the file."
    )
    rows_expected = serializers.IntegerField(allow_null=True)
    rounds = serializers.ListField(child=serializers.IntegerField(), help_text="Whose answers are in it.")
    left_out = serializers.ListField(
        child=serializers.IntegerField(), help_text="Rounds that are not in it, because who asked was blind in them."
    )
    bytes = serializers.IntegerField(allow_null=True)
    sha256 = serializers.CharField(allow_null=True)
    error = serializers.CharField(allow_null=True)
    created_by = serializers.CharField()
    created_at = serializers.DateTimeField()
    started_at = serializers.DateTimeField(allow_null=True, help_text="Null, as done_at, where the state is hidden.")
    done_at = serializers.DateTimeField(allow_null=True)
    download = serializers.URLField(allow_null=True)


def export_answer(request: Request, seat: Seat, export: Export) -> dict[str, Any]:
    """An export as REST shows it; without length, hash and step to someone who may not open it."""
    hides, shows_state = is_hidden(seat, export), not hides_state(seat, export)
    download = request.build_absolute_uri(reverse("api_export_download", args=[export.public_id]))
    return {
        "id": export.public_id,
        "study": export.study.slug,
        "number": export.number,
        "what": export.what,
        "format": export.format,
        "options": export.asked,
        "state": export.state if shows_state else HIDDEN,
        "step": "" if hides else export.step,
        "rows": None if hides else export.n_rows,
        "rows_expected": None if hides else export.n_expected,
        "rounds": [] if is_closed_to(seat, export) else export.rounds,
        "left_out": export.left_out,
        "bytes": None if hides else export.n_bytes,
        "sha256": None if hides else export.sha256 or None,
        "error": (shown_error(seat, export) or None) if shows_state else None,
        "created_by": export.created_by.username,
        "created_at": export.created_at,
        "started_at": export.started_at if shows_state else None,
        "done_at": export.done_at if shows_state else None,
        "download": download if export.state == Export.State.DONE and shows_state else None,
    }


class ExportsOfStudy(APIView):
    """The files that were made of a study, newest first, and a new one; for its owners."""

    in_archive_too = True
    ordering = ("-number",)

    @extend_schema(responses=pages_of(ExportShape), parameters=PAGE, operation_id="studies_exports_list")
    def get(self, request: Request, slug: str) -> Response:
        seat = seat_of(request, slug)
        if not seat.user.is_staff:
            seat.require(OWNER)
        return list_page(self, request, exports_of(seat.study), lambda each: export_answer(request, seat, each))

    @extend_schema(request=ExportBody, responses={202: ExportShape})
    def post(self, request: Request, slug: str) -> Response:
        seat, body = seat_of(request, slug), ExportBody.of(request)
        seat.require(OWNER)
        what, format = body.pop("what", None), body.pop("format", None)
        return Response(
            export_answer(request, seat, actions.request_export(seat=seat, what=what, format=format, options=body)),
            status=202,
        )


class OneExport(APIView):
    """A file that was asked for: how far it is; DELETE removes it."""

    in_archive_too = True

    @extend_schema(responses=ExportShape)
    def get(self, request: Request, pk: UUID) -> Response:
        return Response(export_answer(request, *get_export(caller(request), pk)))

    @extend_schema(request=None, responses={200: ExportShape})
    def delete(self, request: Request, pk: UUID) -> Response:
        seat, export = get_export(caller(request), pk)
        return Response(export_answer(request, seat, actions.remove_export(seat=seat, export=export)))


class CancelExport(APIView):
    """Stops the making of a file."""

    in_archive_too = True

    @extend_schema(request=None, responses=ExportShape)
    def post(self, request: Request, pk: UUID) -> Response:
        seat, export = get_export(caller(request), pk)
        return Response(export_answer(request, seat, actions.cancel_export(seat=seat, export=export)))


FILE_TYPES = [*CONTENT_TYPES.values(), *OTHER_TYPES.values()]


class DownloadExport(APIView):
    """The file, whatever storage holds it."""

    content_negotiation_class = AnyAccept

    @extend_schema(
        responses={
            **{(200, kind.partition(";")[0]): OpenApiTypes.BINARY for kind in FILE_TYPES},
            302: OpenApiResponse(description="To the file, where the storage signs its addresses."),
            409: OpenApiResponse(description="The file does not exist yet, or was deleted."),
        }
    )
    def get(self, request: Request, pk: UUID) -> HttpResponseBase:
        seat, export = get_export(caller(request), pk)
        require_download(seat, export)
        answer = file_response(export)
        note_reading(seat, rounds_held(export), f"export {export.number}", FILE)
        note_results(seat, f"export {export.number}", FILE)
        record_download(seat=seat, what=export.what, format=export.format, method=request.method, export=export.number)
        return answer
