"""Repositories over REST."""

from typing import Any

from drf_spectacular.utils import OpenApiResponse, extend_schema, extend_schema_view
from rest_framework import serializers
from rest_framework.generics import ListAPIView
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from ingest import queries
from ingest.access import get_repository
from ingest.actions.visibility import change_visibility
from ingest.api.callers import MOVED, MayFetch, caller
from ingest.models import Repository


class RepositoryAnswer(serializers.ModelSerializer[Repository]):
    """A repository and what is stored of it, as it was last counted; null: not counted yet, or never told."""

    repository = serializers.CharField(help_text="owner/name, or host/owner/name")

    class Meta:
        model = Repository
        fields = ("repository", "private", "complete_until", "n_issues", "n_open", "n_comments", "n_closing_changes")

    def to_representation(self, repository: Repository) -> dict[str, Any]:
        return queries.repository_as_document(repository)


class VisibilityRequest(serializers.Serializer[Any]):
    """Who sees an uploaded repository."""

    private = serializers.BooleanField(
        help_text="Only its uploaders, staff and the studies that use its issues see it; otherwise everyone does."
    )


class Repositories(ListAPIView[Repository]):
    """Repositories of which something is stored, as far as the caller may see them, by name."""

    permission_classes = (MayFetch,)
    serializer_class = RepositoryAnswer
    ordering = ("owner", "name", "pk")

    def get_queryset(self) -> Any:
        return Repository.objects.visible_to(caller(self.request))


class OneRepository(APIView):
    """A repository and what is stored of it; PATCH opens an uploaded one to everyone, or makes it private."""

    permission_classes = (MayFetch,)

    @extend_schema(operation_id="repository", responses={200: RepositoryAnswer, 301: MOVED})
    def get(self, request: Request, owner: str, name: str, host: str = "") -> Response:
        found = get_repository(caller(request), f"{host}/{owner}/{name}" if host else f"{owner}/{name}")
        return Response(queries.repository_as_document(found))

    @extend_schema(
        operation_id="repository_change",
        request=VisibilityRequest,
        responses={
            200: RepositoryAnswer,
            307: MOVED,
            409: OpenApiResponse(description="It was fetched from GitHub, or other people contributed to it."),
        },
    )
    def patch(self, request: Request, owner: str, name: str, host: str = "") -> Response:
        found = get_repository(caller(request), f"{host}/{owner}/{name}" if host else f"{owner}/{name}")
        sent = VisibilityRequest(data=request.data)
        sent.is_valid(raise_exception=True)
        changed = change_visibility(repository=found, user=caller(request), private=sent.validated_data["private"])
        return Response(queries.repository_as_document(changed))


@extend_schema_view(
    get=extend_schema(operation_id="repository_of_another_host"),
    patch=extend_schema(operation_id="repository_of_another_host_change"),
)
class RepositoryOfAnotherHost(OneRepository):
    """A repository that is not on github.com."""
