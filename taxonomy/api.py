"""Taxonomies over REST: documents in and out, versions, publishing, differences."""

from typing import Any

from django.urls import path
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiResponse, extend_schema, inline_serializer
from rest_framework import serializers
from rest_framework.generics import ListAPIView
from rest_framework.parsers import BaseParser, MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.api import scope
from accounts.errors import Unreadable
from accounts.models import User
from taxonomy import schema
from taxonomy.access import get_maintained_taxonomy, get_maintained_version, get_taxonomy, get_version
from taxonomy.actions import load_document, new_draft, publish_version, replace_draft
from taxonomy.models import Taxonomy, TaxonomyVersion
from taxonomy.queries import Comparison, compared, document, taxonomies, taxonomy_with_versions
from taxonomy.reading import BYTES_MAX


class TextParser(BaseParser):
    """Hands on the bytes of a document as they came, so that errors can name line and column."""

    media_type = "text/plain"

    def parse(self, stream: Any, media_type: str | None = None, parser_context: Any = None) -> dict[str, bytes]:
        return {"document": stream.read(BYTES_MAX + 1)}


class JsonTextParser(TextParser):
    media_type = "application/json"


class YamlTextParser(TextParser):
    media_type = "application/yaml"


class OldYamlTextParser(TextParser):
    media_type = "application/x-yaml"


class TextYamlParser(TextParser):
    media_type = "text/yaml"


class TextXYamlParser(TextParser):
    media_type = "text/x-yaml"


DOCUMENT_PARSERS = [
    JsonTextParser,
    YamlTextParser,
    OldYamlTextParser,
    TextYamlParser,
    TextXYamlParser,
    TextParser,
    MultiPartParser,
]


def given_text(request: Request) -> bytes | str:
    """The document of a request: its body, or the file or text `file` of a form."""
    sent: Any = request.data
    if isinstance(sent.get("document"), bytes):
        return sent["document"]
    given = sent.get("file")
    if given is None:
        raise Unreadable("There is no document: send it as the body, or as the file “file” of a form.")
    return given if isinstance(given, str) else given.read(BYTES_MAX + 1)


def caller(request: Request) -> User:
    """Who calls; `scope` has let nobody anonymous through."""
    assert isinstance(request.user, User)
    return request.user


class VersionLine(serializers.ModelSerializer[TaxonomyVersion]):
    """A version without its content."""

    class Meta:
        model = TaxonomyVersion
        fields = ("number", "state", "title", "note", "created_at", "published_at")


class TaxonomyLine(serializers.ModelSerializer[Taxonomy]):
    """A taxonomy with the versions that the caller may read, newest first."""

    maintainers: Any = serializers.SlugRelatedField("username", many=True, read_only=True)
    versions = VersionLine(source="readable_versions", many=True)

    class Meta:
        model = Taxonomy
        fields = ("slug", "title", "maintainers", "versions")


def version_answer(version: TaxonomyVersion) -> dict[str, Any]:
    """The document with the version's number, state and time of publishing; three queries."""
    return {
        **schema.plain(document(version)),
        "number": version.number,
        "state": version.state,
        "published_at": version.published_at,
    }


def diff_answer(found: Comparison) -> dict[str, Any]:
    """A comparison; categories that were kept are counted and left out."""
    counts: dict[str, int] = {}
    for change in found.changes:
        counts[change.kind] = counts.get(change.kind, 0) + 1
    return {
        "slug": found.old_document.slug,
        "from": found.old.number,
        "to": found.new.number,
        "counts": counts,
        "dimensions": [
            {"kind": change.kind, "dimension": change.dimension, "fields": list(change.fields)}
            for change in found.dimensions
        ],
        "changes": [
            {
                "kind": change.kind,
                "also": list(change.also),
                "dimension": change.dimension,
                "old": change.old,
                "new": change.new,
                "old_path": list(change.old_path),
                "new_path": list(change.new_path),
            }
            for change in found.changes
            if change.kind != "kept"
        ],
    }


DIFF_SHAPE = inline_serializer(
    "TaxonomyDiff",
    {
        "slug": serializers.CharField(),
        "from": serializers.IntegerField(),
        "to": serializers.IntegerField(),
        "counts": serializers.DictField(child=serializers.IntegerField()),
        "dimensions": serializers.ListField(child=serializers.DictField()),
        "changes": serializers.ListField(child=serializers.DictField()),
    },
)
DOCUMENT_REQUEST = {
    media_type: OpenApiTypes.OBJECT if media_type == "application/json" else OpenApiTypes.STR
    for media_type in ("application/json", "application/yaml", "text/yaml", "text/plain")
} | {
    "multipart/form-data": {
        "type": "object",
        "properties": {"file": {"type": "string", "format": "binary"}},
        "required": ["file"],
    }
}
VERSION_SHAPE = OpenApiResponse(
    OpenApiTypes.OBJECT, description="The document (5.4) with `number`, `state` and `published_at`."
)


class Taxonomies(ListAPIView[Taxonomy]):
    """All taxonomies of which the caller may read a version; a document makes a new one."""

    permission_classes = [scope("manage")]
    parser_classes = DOCUMENT_PARSERS
    serializer_class = TaxonomyLine
    ordering = ("slug",)

    def get_queryset(self) -> Any:
        if getattr(self, "swagger_fake_view", False):
            return Taxonomy.objects.none()
        return taxonomies(caller(self.request))

    @extend_schema(request=DOCUMENT_REQUEST, responses={201: VERSION_SHAPE})
    def post(self, request: Request) -> Response:
        version = load_document(user=caller(request), text=given_text(request))
        return Response(version_answer(version), status=201)


class OneTaxonomy(APIView):
    """A taxonomy with the versions that the caller may read."""

    permission_classes = [scope("manage")]

    @extend_schema(responses=TaxonomyLine)
    def get(self, request: Request, slug: str) -> Response:
        found = taxonomy_with_versions(get_taxonomy(caller(request), slug), caller(request))
        return Response(TaxonomyLine(found).data)


class Versions(APIView):
    """A document becomes the next version, a draft."""

    permission_classes = [scope("manage")]
    parser_classes = DOCUMENT_PARSERS

    @extend_schema(request=DOCUMENT_REQUEST, responses={201: VERSION_SHAPE})
    def post(self, request: Request, slug: str) -> Response:
        taxonomy = get_maintained_taxonomy(caller(request), slug)
        version = new_draft(user=caller(request), taxonomy=taxonomy, text=given_text(request))
        return Response(version_answer(version), status=201)


class OneVersion(APIView):
    """A version as its document; a draft can be replaced."""

    permission_classes = [scope("manage")]
    parser_classes = DOCUMENT_PARSERS

    @extend_schema(responses=VERSION_SHAPE)
    def get(self, request: Request, slug: str, number: int) -> Response:
        return Response(version_answer(get_version(caller(request), slug, number)))

    @extend_schema(request=DOCUMENT_REQUEST, responses=VERSION_SHAPE)
    def put(self, request: Request, slug: str, number: int) -> Response:
        version = get_maintained_version(caller(request), slug, number)
        version = replace_draft(user=caller(request), version=version, text=given_text(request))
        return Response(version_answer(version))


class Publish(APIView):
    """A draft is frozen for good, so that rounds can use it."""

    permission_classes = [scope("manage")]

    @extend_schema(request=None, responses=VERSION_SHAPE)
    def post(self, request: Request, slug: str, number: int) -> Response:
        version = get_maintained_version(caller(request), slug, number)
        return Response(version_answer(publish_version(user=caller(request), version=version)))


class Diff(APIView):
    """What became of each dimension and category from one version to another."""

    permission_classes = [scope("manage")]

    @extend_schema(responses=DIFF_SHAPE)
    def get(self, request: Request, slug: str, old: int, new: int) -> Response:
        found = compared(get_version(caller(request), slug, old), get_version(caller(request), slug, new))
        return Response(diff_answer(found))


urlpatterns = [
    path("taxonomies/", Taxonomies.as_view(), name="api_taxonomies"),
    path("taxonomies/<slug:slug>/", OneTaxonomy.as_view(), name="api_taxonomy"),
    path("taxonomies/<slug:slug>/versions/", Versions.as_view(), name="api_taxonomy_versions"),
    path("taxonomies/<slug:slug>/versions/<int:number>/", OneVersion.as_view(), name="api_taxonomy_version"),
    path("taxonomies/<slug:slug>/versions/<int:number>/publish/", Publish.as_view(), name="api_publish_version"),
    path("taxonomies/<slug:slug>/versions/<int:old>/diff/<int:new>/", Diff.as_view(), name="api_taxonomy_diff"),
]
