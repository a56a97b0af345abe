"""Fetches over REST."""

from typing import Any

from django.core.files.uploadedfile import UploadedFile
from django.http import StreamingHttpResponse
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.generics import ListAPIView
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from ingest import queries
from ingest.access import get_run
from ingest.actions.fetches import NUMBERS_MAX, cancel_run, continue_run, estimate_asked, start_asked
from ingest.actions.uploads import take_file
from ingest.api.callers import MayFetch, caller
from ingest.errors import Invalid, NotFound
from ingest.files.refusals import CONTENT_TYPES, write_refusals
from ingest.models import FetchRun, Refusal
from shared.entries_field import EntriesField
from shared.errors import Unreadable
from shared.json_formats import StorableJson
from shared.storable_json import check_storable, read_json_field


class RefusalLine(serializers.Serializer[Any]):
    """A row that could not come in."""

    line = serializers.IntegerField(allow_null=True)
    reason = serializers.CharField()
    row = serializers.CharField()


class ContradictionLine(serializers.Serializer[Any]):
    """A value of the source that was not taken: another one is stored, and nothing says which is newer."""

    issue = serializers.CharField()
    name = serializers.CharField(help_text="created_at, closed_at, n_comments, html_url or author_association.")
    told = serializers.CharField()
    kept = serializers.CharField()


class RunAnswer(serializers.ModelSerializer[FetchRun]):
    """A run as it stands; `refusals` and `contradictions` are the first hundred of each."""

    repository: Any = serializers.CharField(allow_null=True)
    file = serializers.CharField(allow_null=True)
    seconds_left = serializers.IntegerField(allow_null=True, help_text="By the pace so far.")
    requested: Any = serializers.DictField()
    created_by: Any = serializers.CharField(allow_null=True)
    refusals = RefusalLine(many=True)
    contradictions = ContradictionLine(many=True)

    class Meta:
        model = FetchRun
        fields = (
            "id", "kind", "repository", "file", "requested", "state", "waiting_until", "error", "n_seen", "n_new",
            "n_changed", "n_unchanged", "n_refused", "n_contradictions", "n_pull_requests", "n_comments",
            "n_closing_changes", "n_requests", "n_unchanged_answers", "n_requests_left", "n_expected", "n_bytes",
            "n_bytes_read", "seconds_left", "created_by", "created_at", "started_at", "finished_at", "refusals",
            "contradictions",
        )  # fmt: skip

    def to_representation(self, run: FetchRun) -> dict[str, Any]:
        return queries.run_as_document(run, refusals_most=self.context.get("refusals_most", 100))


class FetchRequest(serializers.Serializer[Any]):
    """What to fetch from GitHub; or as a form, a file."""

    repository = serializers.CharField(required=False, help_text="owner/name")
    state = serializers.ChoiceField(["all", "open", "closed"], default="all")
    labels = EntriesField(child=serializers.CharField(), default=list)
    since = serializers.CharField(
        allow_null=True, default=None, help_text="A date, or a date and time; or `last`: since the last complete fetch."
    )
    what = serializers.ChoiceField(
        ["issues", "presence", "closing_changes"],
        default="issues",
        help_text="Issues; or of stored issues (`numbers`) whether they still exist, or their closing changes.",
    )
    numbers = EntriesField(child=serializers.IntegerField(), default=list, max_length=NUMBERS_MAX)


class FileRequest(serializers.Serializer[Any]):
    """A file of issues."""

    file = serializers.FileField()
    repository = serializers.CharField(required=False, help_text="For rows that don't say where they are from.")
    private = serializers.BooleanField(
        default=True,
        help_text="Only you, staff and the studies that use the issues see them; otherwise everyone who signs in does.",
    )
    columns = serializers.CharField(
        required=False,
        help_text='Of CSV and XLSX: a JSON object, {"number": "Issue #", "title": "Summary", …}; otherwise they are '
        "guessed, if that is beyond doubt.",
    )
    sheet = serializers.CharField(required=False, help_text="Of a workbook; otherwise the first one.")
    number_rows = serializers.BooleanField(
        default=False,
        help_text="Of CSV and XLSX without numbers: row 1 becomes issue 1. Use a repository name of your own.",
    )


class EstimateAnswer(serializers.Serializer[Any]):
    """About what a fetch takes of GitHub's limit, and what a token would change."""

    n_requests = serializers.IntegerField()
    n_requests_per_hour = serializers.IntegerField(help_text="What GitHub allows, with this server's tokens.")
    n_requests_left = serializers.IntegerField(allow_null=True, help_text="Of this hour; null: GitHub did not say.")
    seconds_waiting = serializers.IntegerField(help_text="At least so long the fetch waits for the limit.")
    has_token = serializers.BooleanField(help_text="Whether this server has a token.")
    n_requests_with_token = serializers.IntegerField()
    seconds_waiting_with_token = serializers.IntegerField()
    message = serializers.CharField(help_text="The same as text.")


class EstimateFetch(APIView):
    """How many requests a fetch would take, and how long; it asks GitHub two or three requests and stores nothing."""

    permission_classes = (MayFetch,)
    parser_classes = (StorableJson,)

    @extend_schema(
        request=FetchRequest,
        responses={
            200: EstimateAnswer,
            409: OpenApiResponse(description="GitHub does not answer, or has no such repository"),
            422: OpenApiResponse(description="`fields` says where"),
        },
    )
    def post(self, request: Request) -> Response:
        return Response(estimate_asked(user=caller(request), **_asked(request)).as_document())


class Fetches(ListAPIView[FetchRun]):
    """The caller's fetches, newest first; POST starts one."""

    permission_classes = (MayFetch,)
    parser_classes = (StorableJson, MultiPartParser)
    serializer_class = RunAnswer
    ordering = ("-pk",)

    def get_queryset(self) -> Any:
        return queries.runs(caller(self.request))

    def get_serializer_context(self) -> dict[str, Any]:
        return {**super().get_serializer_context(), "refusals_most": 0}

    @extend_schema(
        request={"application/json": FetchRequest, "multipart/form-data": FileRequest},
        responses={202: RunAnswer, 422: OpenApiResponse(description="`fields` says where")},
    )
    def post(self, request: Request) -> Response:
        if not hasattr(request.data, "get"):
            raise Unreadable("Send a JSON object, or a form with a file.")
        if request.FILES or (request.content_type or "").startswith("multipart/"):
            run = self._take_file(request)
        else:
            run = start_asked(user=caller(request), **_asked(request))
        return Response(queries.run_as_document(run), status=202)

    def _take_file(self, request: Request) -> FetchRun:
        given: Any = request.data
        file = request.FILES.get("file")
        if not isinstance(file, UploadedFile):
            raise Invalid("File missing.", fields={"file": ["Send the file as the field “file”."]})
        return take_file(
            user=caller(request),
            file=file,
            repository=given.get("repository"),
            private=_yes_or_no(given, "private", default=True),
            columns=_columns(given.get("columns")),
            sheet=given.get("sheet") or "",
            number_rows=_yes_or_no(given, "number_rows", default=False),
        )


def _asked(request: Request) -> dict[str, Any]:
    """What is asked of GitHub; raises Invalid."""
    sent = FetchRequest(data=request.data)
    sent.is_valid(raise_exception=True)
    if not sent.validated_data.get("repository"):
        raise Invalid("Name a repository.", fields={"repository": ["Write it as owner/name."]})
    asked: dict[str, Any] = sent.validated_data
    return asked


def _yes_or_no(given: Any, name: str, *, default: bool) -> bool:
    """A field of a form that is true or false; raises Invalid."""
    if given.get(name) is None:
        return default
    try:
        return bool(serializers.BooleanField().run_validation(given.get(name)))
    except serializers.ValidationError:
        sentence = "Use true or false."
        raise Invalid(f"The field {name} can't be read.", fields={name: [sentence]}) from None


def _columns(given: str | None) -> dict[str, str]:
    """Field → name of a column; raises Invalid."""
    try:
        columns = read_json_field(given) if given else {}
    except ValueError:
        columns = None
    if isinstance(columns, dict) and all(isinstance(name, str) for name in columns.values()):
        check_storable(columns)
        return columns
    sentence = 'Send a JSON object of fields and names of columns, such as {"number": "Issue #", "title": "Summary"}.'
    raise Invalid("Columns not valid.", fields={"columns": [sentence]})


class Refusals(ListAPIView[Refusal]):
    """The rows of a run that were refused, in the order they came; with `format`, all of them as a file."""

    permission_classes = (MayFetch,)
    serializer_class = RefusalLine
    ordering = ("pk",)

    def get_queryset(self) -> Any:
        return get_run(caller(self.request), self.kwargs["run_id"]).refusals.all()

    @extend_schema(
        parameters=[OpenApiParameter("format", str, enum=["json", *CONTENT_TYPES], description="As a file.")]
    )
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Any:
        format = request.query_params.get("format", "json")
        if format == "json":
            return super().get(request, *args, **kwargs)
        if format not in CONTENT_TYPES:
            raise NotFound(f"Unknown format “{format[:20]}”. Use one of {', '.join(CONTENT_TYPES)}.")
        run = get_run(caller(request), kwargs["run_id"])
        rows = write_refusals(format, queries.refused_rows(run))
        name = f'attachment; filename="refused-rows-{run.pk}.{format}"'
        headers = {"Content-Disposition": name}
        return StreamingHttpResponse(rows, content_type=CONTENT_TYPES[format], headers=headers)


class OneFetch(APIView):
    """A run as it stands, with its first hundred refusals."""

    permission_classes = (MayFetch,)

    @extend_schema(responses=RunAnswer)
    def get(self, request: Request, run_id: int) -> Response:
        return Response(queries.run_as_document(get_run(caller(request), run_id)))


class ContinueFetch(APIView):
    """Goes on with a run that failed, waits or was cancelled."""

    permission_classes = (MayFetch,)

    @extend_schema(request=None, responses={202: RunAnswer, 409: OpenApiResponse(description="at work or done")})
    def post(self, request: Request, run_id: int) -> Response:
        run = continue_run(run=get_run(caller(request), run_id), user=caller(request))
        return Response(queries.run_as_document(run), status=202)


class CancelFetch(APIView):
    """Stops a run; what it brought stays."""

    permission_classes = (MayFetch,)

    @extend_schema(request=None, responses={200: RunAnswer, 409: OpenApiResponse(description="over already")})
    def post(self, request: Request, run_id: int) -> Response:
        run = cancel_run(run=get_run(caller(request), run_id), user=caller(request))
        return Response(queries.run_as_document(run))
