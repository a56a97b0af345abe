"""Issues over REST."""

from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema, extend_schema_view
from rest_framework import serializers
from rest_framework.generics import ListAPIView
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.api import AnyAccept, format_of
from ingest import queries
from ingest.access import get_issue, get_snapshot
from ingest.api.callers import MOVED, MayFetch, caller
from ingest.api.files import FORMAT, stream_file
from ingest.files.export_rows import rows_of
from ingest.github.rest_objects import EVENTS
from ingest.models import ClosingChange, Issue
from ingest.search.grammar import QUALIFIERS

ASKED = ("repository", "state", "label", "search", "changes", "presence")


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
    author_association = serializers.CharField(
        help_text="The author's in the repository, as GitHub last sent it: OWNER, MEMBER, CONTRIBUTOR, NONE and so on."
    )
    snapshot = serializers.CharField(help_text="SHA-256 of this state of the issue.")

    def to_representation(self, issue: Issue) -> dict[str, Any]:
        return queries.issue_as_line(issue)


class CommentAnswer(serializers.Serializer[Any]):
    """A comment."""

    author = serializers.CharField()
    body = serializers.CharField()
    created_at = serializers.DateTimeField(allow_null=True)


class ClosingChangeAnswer(serializers.ModelSerializer[ClosingChange]):
    """A pull request or commit that closed the issue; or (`closes` is false) a linked pull request, not merged."""

    class Meta:
        model = ClosingChange
        fields = (
            "kind", "identifier", "number", "title", "html_url", "author_login", "created_at", "merged_at", "closes",
            "additions", "deletions", "n_files", "paths", "path_additions", "path_deletions",
        )  # fmt: skip


class EventAnswer(serializers.Serializer[Any]):
    """Something that happened to the issue."""

    kind = serializers.ChoiceField(EVENTS)
    at = serializers.DateTimeField(allow_null=True)
    actor = serializers.CharField(help_text="Empty: a deleted account.")
    detail = serializers.CharField(help_text="The label, who was assigned, the milestone, or why it was closed.")


class SnapshotLine(serializers.Serializer[Any]):
    """One state of the issue; its text is at `snapshots/{sha256}/`."""

    sha256 = serializers.CharField()
    fetched_at = serializers.DateTimeField()


class IssueAnswer(IssueLine):
    """An issue with its text; null: `comments` that are not known, and what no source has told."""

    body = serializers.CharField()
    locked = serializers.BooleanField()
    presence = serializers.ChoiceField(Issue.Presence.choices, help_text="Whether it is still at GitHub.")
    moved_to = serializers.CharField(help_text="Where a transferred or converted issue is now.")
    checked_at = serializers.DateTimeField(allow_null=True, help_text="When GitHub was asked last.")
    comments = CommentAnswer(many=True, allow_null=True)
    closing_changes = ClosingChangeAnswer(many=True, allow_null=True)
    events = EventAnswer(many=True, allow_null=True)
    reactions = serializers.DictField(
        child=serializers.IntegerField(), allow_null=True, help_text="By kind: +1, heart …"
    )
    type = serializers.CharField(allow_null=True, help_text="Of the issue: Bug, Feature …")
    snapshots = SnapshotLine(many=True, help_text="Those that you may read, newest first, the first thousand.")


class Issues(ListAPIView[Issue]):
    """Issues stored here, the last to arrive first; with `format`, all of them with their texts as a file."""

    permission_classes = (MayFetch,)
    content_negotiation_class = AnyAccept
    serializer_class = IssueLine
    ordering: tuple[str, ...] = ("-pk",)

    def get_queryset(self) -> Any:
        words = {name: self.request.query_params.get(name, "") for name in ASKED}
        self.ordering = queries.issue_order(words["search"])
        return queries.issues(caller(self.request), **words, is_complete=True)

    @extend_schema(
        parameters=[
            OpenApiParameter("repository", OpenApiTypes.STR, description="owner/name"),
            OpenApiParameter("state", OpenApiTypes.STR, enum=["open", "closed", "all"]),
            OpenApiParameter("label", OpenApiTypes.STR, description="The name of a GitHub label, in any case."),
            OpenApiParameter("changes", OpenApiTypes.STR, enum=["yes", "no"], description="Has a closing change."),
            OpenApiParameter("presence", OpenApiTypes.STR, enum=Issue.Presence.values),
            OpenApiParameter(
                "search",
                OpenApiTypes.STR,
                description='Words, "a phrase", -without, #number, and GitHub\'s qualifiers: '
                f"{', '.join(f'{name}:' for name in QUALIFIERS)}.",
            ),
            FORMAT,
        ],
        responses={
            200: IssueLine(many=True),
            409: OpenApiResponse(description="The search index is being built; a search for words would miss issues."),
        },
    )
    def get(self, request: Request, *args: Any, **parts: Any) -> Any:
        if format := format_of(request):
            rows = rows_of("issues", self.get_queryset(), Issue.objects.visible_to(caller(request)))
            return stream_file("issues", format, rows, "issues")
        return super().get(request, *args, **parts)


class SuggestionLine(serializers.Serializer[Any]):
    """A search that completes what was typed."""

    search = serializers.CharField()
    means = serializers.CharField(help_text="What its last part means.")


class SearchSuggestions(APIView):
    """Searches that complete what was typed: qualifiers, and labels and repositories that you may see."""

    permission_classes = (MayFetch,)

    @extend_schema(
        operation_id="search_suggestions",
        parameters=[OpenApiParameter("search", OpenApiTypes.STR, description="The text typed so far.")],
        responses=SuggestionLine(many=True),
    )
    def get(self, request: Request) -> Response:
        found = queries.search_suggestions(caller(request), request.query_params.get("search", ""))
        return Response(SuggestionLine(found, many=True).data)


class OneIssue(APIView):
    """An issue as it is now, with body, comments and what closed it."""

    permission_classes = (MayFetch,)

    @extend_schema(operation_id="issue", responses={200: IssueAnswer, 301: MOVED})
    def get(self, request: Request, owner: str, name: str, number: int, host: str = "") -> Response:
        user = caller(request)
        found = get_issue(user, f"{host}/{owner}/{name}" if host else f"{owner}/{name}", number)
        return Response(queries.issue_with_history(user, found))


class OneSnapshot(APIView):
    """An issue as it was in one of its snapshots."""

    permission_classes = (MayFetch,)

    @extend_schema(operation_id="snapshot", responses={200: IssueAnswer, 301: MOVED})
    def get(self, request: Request, owner: str, name: str, number: int, sha256: str, host: str = "") -> Response:
        user = caller(request)
        found = get_issue(user, f"{host}/{owner}/{name}" if host else f"{owner}/{name}", number)
        return Response(queries.issue_with_history(user, found, get_snapshot(user, found, sha256)))


@extend_schema_view(get=extend_schema(operation_id="issue_of_another_host"))
class IssueOfAnotherHost(OneIssue):
    """An issue whose repository is not on github.com."""


@extend_schema_view(get=extend_schema(operation_id="snapshot_of_another_host"))
class SnapshotOfAnotherHost(OneSnapshot):
    """A snapshot of an issue whose repository is not on github.com."""
