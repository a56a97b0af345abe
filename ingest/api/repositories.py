"""Repositories over REST."""

from typing import Any

from rest_framework import serializers
from rest_framework.generics import ListAPIView

from ingest import queries
from ingest.api.callers import MayFetch, caller
from ingest.models import Repository


class RepositoryAnswer(serializers.ModelSerializer[Repository]):
    """A repository and what is stored of it, as it was last counted; null: not counted yet, or never told."""

    repository = serializers.CharField(help_text="owner/name, or host/owner/name")

    class Meta:
        model = Repository
        fields = ("repository", "private", "complete_until", "n_issues", "n_open", "n_comments", "n_closing_changes")

    def to_representation(self, repository: Repository) -> dict[str, Any]:
        return queries.repository_as_document(repository)


class Repositories(ListAPIView[Repository]):
    """Repositories of which something is stored, as far as the caller may see them, by name."""

    permission_classes = (MayFetch,)
    serializer_class = RepositoryAnswer
    ordering = ("owner", "name", "pk")

    def get_queryset(self) -> Any:
        return Repository.objects.visible_to(caller(self.request))
