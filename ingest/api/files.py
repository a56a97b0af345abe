"""Issue files over REST: issues, comments, and changes as pages, or as files that are streamed."""

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
from django.db.models import QuerySet
from django.http import StreamingHttpResponse
from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_view, inline_serializer
from rest_framework import serializers
from rest_framework.generics import ListAPIView
from rest_framework.request import Request

from accounts.api import AnyAccept, format_of
from accounts.models import User
from ingest.access import get_repository
from ingest.api.callers import MayFetch, caller
from ingest.errors import NotFound
from ingest.files.export_columns import COLUMNS
from ingest.files.export_rows import ROWS_WITH_TEXTS, change_row, changes_of, comment_row, issue_row, places_of, rows_of
from ingest.models import ClosingChange, Issue, Repository, SnapshotComment
from shared.row_files import CONTENT_TYPES, FORMATS, write_rows

FORMAT = OpenApiParameter(
    "format", str, enum=["json", *FORMATS], description="Streams all rows as a file; json, the default, answers a page."
)


def stream_file(what: str, format: str, rows: Iterator[dict[str, Any]], name: str) -> StreamingHttpResponse:
    """All rows as a file, written while it is sent."""
    pieces = write_rows(COLUMNS[what], format, rows, chunk=ROWS_WITH_TEXTS)
    headers = {"Content-Disposition": f'attachment; filename="{name}.{format}"'}
    return StreamingHttpResponse(pieces, content_type=CONTENT_TYPES[format], headers=headers)


def _shape(what: str) -> Any:
    """The rows as the OpenAPI document describes them."""
    fields = {name: _field(name, kind) for name, kind in COLUMNS[what].items()}
    return inline_serializer(f"Stored{what.removesuffix('s').capitalize()}", fields, many=True)


def _field(name: str, kind: pa.DataType) -> serializers.Field[Any, Any, Any, Any]:
    if pa.types.is_list(kind):
        is_struct = pa.types.is_struct(kind.value_type)
        child: Any = serializers.DictField() if is_struct else serializers.CharField()
        return serializers.ListField(child=child, allow_null=name == "events")
    if pa.types.is_boolean(kind):
        return serializers.BooleanField(allow_null=True)
    if pa.types.is_integer(kind):
        return serializers.IntegerField(allow_null=True)
    if pa.types.is_timestamp(kind):
        return serializers.DateTimeField(allow_null=True)
    return serializers.CharField(allow_null=True)


class _FileRow(serializers.BaseSerializer[Any]):
    """A row as the files have it."""

    def to_representation(self, instance: Issue | SnapshotComment | ClosingChange) -> dict[str, Any]:
        if isinstance(instance, Issue):
            return {name: value for name, value in issue_row(instance).items() if name in COLUMNS["issues"]}
        if isinstance(instance, SnapshotComment):
            return comment_row(instance)
        return change_row(instance, instance.issue.identifier)


def _readable(repository: Repository, user: User) -> QuerySet[Issue]:
    """The issues of a repository, none once the user may not see it any more."""
    return Issue.objects.takeable_by(user).filter(repository=repository, current_snapshot__isnull=False)


def _rows_while_readable(what: str, repository: Repository, user: User) -> Iterator[dict[str, Any]]:
    """All rows; raises NotFound in place of the others once the user may not see the repository any more."""
    yield from rows_of(what, _readable(repository, user))
    if not Repository.objects.visible_to(user).filter(pk=repository.pk).exists():
        raise NotFound("You can’t read this repository any more. The file ended before all of it was sent.")


class _StoredFile(ListAPIView[Any]):
    """What is stored of a repository that the caller may see."""

    permission_classes = (MayFetch,)
    content_negotiation_class = AnyAccept
    serializer_class: Any = _FileRow
    what = ""

    def _repository(self) -> Repository:
        place = (self.kwargs.get("host"), self.kwargs["owner"], self.kwargs["name"])
        return get_repository(caller(self.request), "/".join(filter(None, place)))

    def _issues(self) -> QuerySet[Issue]:
        return _readable(self._repository(), caller(self.request))

    def get(self, request: Request, *args: Any, **kwargs: Any) -> Any:
        if format := format_of(request):
            rows = _rows_while_readable(self.what, self._repository(), caller(request))
            return stream_file(self.what, format, rows, f"{self.kwargs['owner']}-{self.kwargs['name']}-{self.what}")
        return super().get(request, *args, **kwargs)


@extend_schema_view(
    get=extend_schema(operation_id="repository_issues", parameters=[FORMAT], responses=_shape("issues"))
)
class IssuesOfRepository(_StoredFile):
    """The issues of a repository with their texts, as they are now, in the order in which they came in."""

    what = "issues"
    ordering = ("pk",)

    def get_queryset(self) -> Any:
        return self._issues().select_related("repository", "current_snapshot", "activity")


@extend_schema_view(
    get=extend_schema(operation_id="repository_comments", parameters=[FORMAT], responses=_shape("comments"))
)
class CommentsOfRepository(_StoredFile):
    """The comments of a repository's issues, thread after thread."""

    what = "comments"
    ordering = ("snapshot_id", "position")

    def get_queryset(self) -> Any:
        return places_of(self._issues())


@extend_schema_view(
    get=extend_schema(operation_id="repository_changes", parameters=[FORMAT], responses=_shape("changes"))
)
class ChangesOfRepository(_StoredFile):
    """The pull requests and commits that closed a repository's issues, and those linked that were not merged."""

    what = "changes"
    ordering = ("issue_id", "pk")

    def get_queryset(self) -> Any:
        return changes_of(self._issues())


@extend_schema_view(get=extend_schema(operation_id="repository_issues_of_another_host"))
class IssuesOfAnotherHost(IssuesOfRepository):
    """The issues of a repository that is not on github.com."""


@extend_schema_view(get=extend_schema(operation_id="repository_comments_of_another_host"))
class CommentsOfAnotherHost(CommentsOfRepository):
    """The comments of a repository that is not on github.com."""


@extend_schema_view(get=extend_schema(operation_id="repository_changes_of_another_host"))
class ChangesOfAnotherHost(ChangesOfRepository):
    """The changes of a repository that is not on github.com."""
