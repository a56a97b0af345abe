"""Fetches and issues over REST."""

from typing import Any

from django.core.files.uploadedfile import UploadedFile
from django.urls import path
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.generics import ListAPIView
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.api import scope
from accounts.errors import Unreadable
from accounts.exchange import StorableJson
from accounts.models import User
from ingest import queries
from ingest.access import get_issue, get_run
from ingest.actions import cancel_run, continue_run, start_fetch, start_file_fetch
from ingest.errors import Invalid
from ingest.models import FetchRun, Issue, Snapshot

MayFetch = scope(write="manage")


class RefusalLine(serializers.Serializer[Any]):
    """A row that could not come in."""

    line = serializers.IntegerField(allow_null=True)
    reason = serializers.CharField()
    row = serializers.CharField()


class RunAnswer(serializers.ModelSerializer[FetchRun]):
    """A run as it stands; `refusals` are the first hundred."""

    repository: Any = serializers.CharField(allow_null=True)
    file = serializers.CharField(allow_null=True)
    requested: Any = serializers.DictField()
    created_by: Any = serializers.CharField(allow_null=True)
    refusals = RefusalLine(many=True)

    class Meta:
        model = FetchRun
        fields = (
            "id", "kind", "repository", "file", "requested", "state", "waiting_until", "error", "n_seen", "n_new",
            "n_changed", "n_unchanged", "n_refused", "n_pull_requests", "n_comments", "n_requests", "n_expected",
            "created_by", "created_at", "started_at", "finished_at", "refusals",
        )  # fmt: skip

    def to_representation(self, run: FetchRun) -> dict[str, Any]:
        return queries.run_as_document(run, refusals_most=self.context.get("refusals_most", 100))


class FetchRequest(serializers.Serializer[Any]):
    """What to fetch from GitHub; or as a form, a file."""

    repository = serializers.CharField(required=False, help_text="owner/name")
    state = serializers.ChoiceField(["all", "open", "closed"], default="all")
    labels = serializers.ListField(child=serializers.CharField(), default=list)
    since = serializers.CharField(allow_null=True, default=None, help_text="A date, or a date and time.")


class FileRequest(serializers.Serializer[Any]):
    """A file of issues."""

    file = serializers.FileField()
    repository = serializers.CharField(required=False, help_text="For rows that don't say where they are from.")
    private = serializers.BooleanField(default=False)


class IssueLine(serializers.Serializer[Any]):
    """An issue without its text."""

    item = serializers.CharField()
    repository = serializers.CharField()
    number = serializers.IntegerField()
    title = serializers.CharField()
    state = serializers.CharField()
    state_reason = serializers.CharField()
    labels = serializers.ListField(child=serializers.CharField())
    author = serializers.CharField()
    n_comments = serializers.IntegerField(allow_null=True)
    created_at = serializers.DateTimeField(allow_null=True)
    updated_at = serializers.DateTimeField(allow_null=True)
    closed_at = serializers.DateTimeField(allow_null=True)
    html_url = serializers.CharField()
    snapshot = serializers.CharField(help_text="SHA-256 of this state of the issue.")

    def to_representation(self, issue: Issue) -> dict[str, Any]:
        return queries.issue_as_line(issue)


class CommentAnswer(serializers.Serializer[Any]):
    """A comment."""

    author = serializers.CharField()
    body = serializers.CharField()
    created_at = serializers.DateTimeField(allow_null=True)


class IssueAnswer(IssueLine):
    """An issue with its text; `comments` is null where they are not known."""

    body = serializers.CharField()
    locked = serializers.BooleanField()
    comments = CommentAnswer(many=True, allow_null=True)


def issue_answer(issue: Issue, snapshot: Snapshot | None = None) -> dict[str, Any]:
    """An issue with body and comments, as it is now or as that snapshot has it; one query."""
    return queries.issue_as_document(issue, snapshot)


def caller(request: Request) -> User:
    """Who calls; `scope` has let nobody anonymous through."""
    assert isinstance(request.user, User)
    return request.user


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
        given: Any = request.data
        if not hasattr(given, "get"):
            raise Unreadable("Send a JSON object, or a form with a file.")
        if request.FILES or (request.content_type or "").startswith("multipart/"):
            run = self._take_file(request)
        else:
            sent = FetchRequest(data=given)
            sent.is_valid(raise_exception=True)
            if not sent.validated_data.get("repository"):
                raise Invalid("Name a repository.", fields={"repository": ["Write it as owner/name."]})
            run = start_fetch(user=caller(request), **sent.validated_data)
        return Response(queries.run_as_document(run), status=202)

    def _take_file(self, request: Request) -> FetchRun:
        given: Any = request.data
        file = request.FILES.get("file")
        if not isinstance(file, UploadedFile):
            raise Invalid("There is no file.", fields={"file": ["Send the file as the field “file”."]})
        private = str(given.get("private", "")).lower() in {"1", "true", "on", "yes"}
        return start_file_fetch(user=caller(request), file=file, repository=given.get("repository"), private=private)


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
        run = continue_run(run=get_run(caller(request), run_id))
        return Response(queries.run_as_document(run), status=202)


class CancelFetch(APIView):
    """Stops a run; what it brought stays."""

    permission_classes = (MayFetch,)

    @extend_schema(request=None, responses={200: RunAnswer, 409: OpenApiResponse(description="over already")})
    def post(self, request: Request, run_id: int) -> Response:
        return Response(queries.run_as_document(cancel_run(run=get_run(caller(request), run_id))))


class Issues(ListAPIView[Issue]):
    """Issues stored here, the last to arrive first."""

    permission_classes = (MayFetch,)
    serializer_class = IssueLine
    ordering = ("-pk",)

    def get_queryset(self) -> Any:
        words = {name: self.request.query_params.get(name, "") for name in ("repository", "state", "label", "search")}
        return queries.issues(caller(self.request), **words)

    @extend_schema(
        parameters=[
            OpenApiParameter("repository", OpenApiTypes.STR, description="owner/name"),
            OpenApiParameter("state", OpenApiTypes.STR, enum=["open", "closed", "all"]),
            OpenApiParameter("label", OpenApiTypes.STR, description="The name of a GitHub label."),
            OpenApiParameter("search", OpenApiTypes.STR, description='Words, "a phrase", -without; or a number.'),
        ]
    )
    def get(self, request: Request, *args: Any, **parts: Any) -> Response:
        return super().get(request, *args, **parts)


class OneIssue(APIView):
    """An issue as it is now, with body and comments."""

    permission_classes = (MayFetch,)

    @extend_schema(responses=IssueAnswer)
    def get(self, request: Request, owner: str, name: str, number: int, host: str = "") -> Response:
        repository = f"{host}/{owner}/{name}" if host else f"{owner}/{name}"
        return Response(issue_answer(get_issue(caller(request), repository, number)))


urlpatterns = [
    path("fetches/", Fetches.as_view()),
    path("fetches/<int:run_id>/", OneFetch.as_view()),
    path("fetches/<int:run_id>/continue/", ContinueFetch.as_view()),
    path("fetches/<int:run_id>/cancel/", CancelFetch.as_view()),
    path("issues/", Issues.as_view()),
    path("issues/<str:owner>/<str:name>/<int:number>/", OneIssue.as_view()),
    path("issues/<str:host>/<str:owner>/<str:name>/<int:number>/", OneIssue.as_view()),
]
