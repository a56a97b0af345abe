"""Taxonomies over REST: documents in and out, versions, publishing, differences."""

import hashlib
import re
from collections.abc import Iterable
from typing import Any

from django.http import HttpResponse
from django.urls import path
from django.utils.decorators import method_decorator
from django.views.decorators.cache import cache_control
from django.views.decorators.http import condition
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema, inline_serializer
from rest_framework import serializers
from rest_framework.generics import ListAPIView
from rest_framework.parsers import BaseParser, MultiPartParser
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.models import User
from shared.errors import Invalid, Unreadable
from taxonomy import schema
from taxonomy.access import get_maintained_taxonomy, get_maintained_version, get_taxonomy, get_version
from taxonomy.actions import (
    discard_draft,
    load_document,
    new_draft,
    publish_version,
    replace_draft,
    retire_version,
    start_draft,
)
from taxonomy.errors import StaleDraft
from taxonomy.models import Taxonomy, TaxonomyVersion
from taxonomy.parsing import BYTES_MAX
from taxonomy.queries import (
    VersionComparison,
    appendix_of,
    compare_versions,
    document,
    taxonomies,
    taxonomy_with_versions,
)


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
        found: bytes | str = sent["document"]
        return found
    given = sent.get("file")
    if given is None:
        raise Unreadable("Document missing: send it as the body, or as the file “file” of a form.")
    return given if isinstance(given, str) else given.read(BYTES_MAX + 1)


def caller(request: Request) -> User:
    """Who calls; `scope` has let nobody anonymous through."""
    assert isinstance(request.user, User)
    return request.user


class VersionLine(serializers.ModelSerializer[TaxonomyVersion]):
    """A version without its content: who made, wrote, published and retired it, and when."""

    created_by: Any = serializers.SlugRelatedField("username", read_only=True)
    edited_by: Any = serializers.SlugRelatedField("username", read_only=True, allow_null=True)
    published_by: Any = serializers.SlugRelatedField("username", read_only=True, allow_null=True)
    retired_by: Any = serializers.SlugRelatedField("username", read_only=True, allow_null=True)

    class Meta:
        model = TaxonomyVersion
        fields = (
            "number",
            "state",
            "title",
            "note",
            "revision",
            "created_by",
            "created_at",
            "edited_by",
            "edited_at",
            "published_by",
            "published_at",
            "retired_by",
            "retired_at",
        )


class TaxonomyLine(serializers.ModelSerializer[Taxonomy]):
    """A taxonomy with the versions that the caller may read, newest first."""

    mark = serializers.CharField(
        read_only=True, help_text="“screening” where a study’s screening rounds ask it; empty for all others."
    )
    maintainers: Any = serializers.SlugRelatedField("username", many=True, read_only=True)
    versions = VersionLine(source="readable_versions", many=True)

    class Meta:
        model = Taxonomy
        fields = ("slug", "title", "mark", "maintainers", "versions")


def version_answer(version: TaxonomyVersion, status: int = 200) -> Response:
    """The document with the version's number, state and people; three queries. A draft's revision is its ETag."""
    said = VersionLine(version).data
    answer = Response({**schema.plain(document(version)), **{name: said[name] for name in BESIDE}}, status=status)
    if version.is_draft:
        answer["ETag"] = f'"{version.revision}"'
    return answer


BESIDE = tuple(name for name in VersionLine.Meta.fields if name not in ("title", "note"))
"""What an answer says of a version beside its document."""

_ETAG = re.compile(r'\s*(?:W/)?"?([0-9]{1,9})"?\s*')


def expected_revision(request: Request) -> int | None:
    """The revision that `If-Match` names; None where there is no such header, or it names any. Raises Invalid."""
    given = request.headers.get("If-Match", "*").strip()
    if given == "*":
        return None
    found = _ETAG.fullmatch(given)
    if found is None:
        sentence = 'Send the revision that you read, such as "3", as the ETag of the draft gave it.'
        raise Invalid("If-Match names no revision. Nothing was saved.", fields={"If-Match": [sentence]})
    return int(found[1])


class StaleWriteView(APIView):
    """Answers a stale write with 409 and, beside the one error shape, what is newer."""

    def handle_exception(self, exc: Exception) -> Response:
        answer = super().handle_exception(exc)
        if isinstance(exc, StaleDraft):
            answer.data["newer"] = exc.newer
            answer["ETag"] = f'"{exc.newer["revision"]}"'
        return answer


def diff_answer(found: VersionComparison) -> dict[str, Any]:
    """A comparison; categories that were kept are counted, and left out where no field differs."""
    counts: dict[str, int] = {}
    for change in found.changes:
        counts[change.kind] = counts.get(change.kind, 0) + 1
    specs = tuple(
        {(dimension.key, spec.key): spec for dimension in each.dimensions for spec, _ in dimension.walk()}
        for each in (found.old_document, found.new_document)
    )
    dimensions = tuple(
        {each.key: each for each in side.dimensions} for side in (found.old_document, found.new_document)
    )
    return {
        "slug": found.old_document.slug,
        "from": found.old.number,
        "to": found.new.number,
        "versions": [VersionLine(each).data for each in (found.old, found.new)],
        "counts": counts,
        "dimensions": [
            {
                "kind": change.kind,
                "dimension": change.dimension,
                "fields": list(change.fields),
                "differences": differences(
                    dimensions[0].get(change.dimension), dimensions[1].get(change.dimension), change.fields
                ),
            }
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
                "fields": list(change.fields),
                "differences": differences(
                    specs[0].get((change.dimension, change.old or "")),
                    specs[1].get((change.dimension, change.new or "")),
                    change.fields,
                ),
            }
            for change in found.changes
            if change.is_seen
        ],
    }


def differences(old: Any, new: Any, fields: Iterable[str]) -> dict[str, dict[str, Any]]:
    """The fields named of two specs, before and after, as a document writes them."""
    return {name: {"old": written(getattr(old, name)), "new": written(getattr(new, name))} for name in fields}


def written(value: Any) -> Any:
    """A value of a spec as JSON has it."""
    if isinstance(value, schema.AppliesWhen):
        return {"dimension": value.dimension, "is": list(value.values)}
    return list(value) if isinstance(value, tuple) else value


DIFF_SHAPE = inline_serializer(
    "TaxonomyDiff",
    {
        "slug": serializers.CharField(),
        "from": serializers.IntegerField(),
        "to": serializers.IntegerField(),
        "versions": VersionLine(many=True),
        "counts": serializers.DictField(child=serializers.IntegerField()),
        "dimensions": serializers.ListField(child=serializers.DictField()),
        "changes": serializers.ListField(child=serializers.DictField()),
    },
)
SCHEMA_SECONDS = 3600  # how long a reader may keep the schema without asking
DOCUMENT_REQUEST = dict.fromkeys(("application/yaml", "text/yaml", "text/plain"), OpenApiTypes.STR) | {
    "application/json": {
        "type": "object",
        "description": schema.SCHEMA["description"],
        "externalDocs": {"url": "/api/v1/taxonomies/schema.json", "description": "The JSON Schema of a document."},
    },
    "multipart/form-data": {
        "type": "object",
        "properties": {"file": {"type": "string", "format": "binary"}},
        "required": ["file"],
    },
}
VERSION_SHAPE = OpenApiResponse(
    OpenApiTypes.OBJECT,
    description="The document (5.4) with `number`, `state`, `revision`, and who made, wrote, published and retired it, "
    "and when. A draft has its revision as `ETag`.",
)
STALE_SHAPE = OpenApiResponse(
    inline_serializer(
        "StaleDraft",
        {
            "code": serializers.CharField(),
            "message": serializers.CharField(),
            "fields": serializers.DictField(child=serializers.ListField(child=serializers.CharField())),
            "newer": inline_serializer(
                "NewerDraft",
                {
                    "revision": serializers.IntegerField(),
                    "edited_by": serializers.CharField(allow_null=True),
                    "edited_at": serializers.DateTimeField(allow_null=True),
                },
                required=False,
            ),
        },
    ),
    description="It is in another state, or (`code` is `stale`, `newer` says more) the draft has another revision than "
    "`If-Match` names. Nothing was stored.",
)
CONFLICT_SHAPE = OpenApiResponse(description="It is in another state.")
IF_MATCH = OpenApiParameter(
    "If-Match",
    str,
    OpenApiParameter.HEADER,
    description='The revision that you read, as the ETag gave it: "3". Without it, or with *, the last writer wins.',
)
ETAG = OpenApiParameter(
    "ETag", str, OpenApiParameter.HEADER, response=[200, 201], description="The revision, for drafts alone."
)


class Taxonomies(ListAPIView[Taxonomy]):
    """All taxonomies of which the caller may read a version; a document makes a new one."""

    parser_classes = DOCUMENT_PARSERS
    serializer_class = TaxonomyLine
    ordering = ("slug",)

    def get_queryset(self) -> Any:
        if getattr(self, "swagger_fake_view", False):
            return Taxonomy.objects.none()
        return taxonomies(caller(self.request))

    @extend_schema(request=DOCUMENT_REQUEST, responses={201: VERSION_SHAPE, 409: CONFLICT_SHAPE}, parameters=[ETAG])
    def post(self, request: Request) -> Response:
        version = load_document(user=caller(request), text=given_text(request))
        return version_answer(version, status=201)


class OneTaxonomy(APIView):
    """A taxonomy with the versions that the caller may read."""

    @extend_schema(responses=TaxonomyLine)
    def get(self, request: Request, slug: str) -> Response:
        found = taxonomy_with_versions(get_taxonomy(caller(request), slug), caller(request))
        return Response(TaxonomyLine(found).data)


class Versions(APIView):
    """A document becomes the next version, a draft."""

    parser_classes = DOCUMENT_PARSERS

    @extend_schema(request=DOCUMENT_REQUEST, responses={201: VERSION_SHAPE}, parameters=[ETAG])
    def post(self, request: Request, slug: str) -> Response:
        taxonomy = get_maintained_taxonomy(caller(request), slug)
        version = new_draft(user=caller(request), taxonomy=taxonomy, text=given_text(request))
        return version_answer(version, status=201)


class Drafts(APIView):
    """The newest published version becomes the next draft, as it stands."""

    @extend_schema(request=None, responses={201: VERSION_SHAPE, 409: CONFLICT_SHAPE}, parameters=[ETAG])
    def post(self, request: Request, slug: str) -> Response:
        taxonomy = get_maintained_taxonomy(caller(request), slug)
        return version_answer(start_draft(user=caller(request), taxonomy=taxonomy), status=201)


class OneVersion(StaleWriteView):
    """A version as its document; a draft can be replaced and discarded."""

    parser_classes = DOCUMENT_PARSERS

    @extend_schema(responses=VERSION_SHAPE, parameters=[ETAG])
    def get(self, request: Request, slug: str, number: int) -> Response:
        return version_answer(get_version(caller(request), slug, number))

    @extend_schema(
        request=DOCUMENT_REQUEST, responses={200: VERSION_SHAPE, 409: STALE_SHAPE}, parameters=[IF_MATCH, ETAG]
    )
    def put(self, request: Request, slug: str, number: int) -> Response:
        version = get_maintained_version(caller(request), slug, number)
        expected = expected_revision(request)
        version = replace_draft(user=caller(request), version=version, text=given_text(request), expected=expected)
        return version_answer(version)

    @extend_schema(request=None, responses={204: None, 409: STALE_SHAPE}, parameters=[IF_MATCH])
    def delete(self, request: Request, slug: str, number: int) -> Response:
        version = get_maintained_version(caller(request), slug, number)
        discard_draft(user=caller(request), version=version, expected=expected_revision(request))
        return Response(status=204)


class Publish(StaleWriteView):
    """A draft is frozen for good, so that rounds can use it."""

    @extend_schema(request=None, responses={200: VERSION_SHAPE, 409: STALE_SHAPE}, parameters=[IF_MATCH])
    def post(self, request: Request, slug: str, number: int) -> Response:
        version = get_maintained_version(caller(request), slug, number)
        expected = expected_revision(request)
        return version_answer(publish_version(user=caller(request), version=version, expected=expected))


class Retire(APIView):
    """A published version goes out of use: no new round is made or opened under it; what was labelled stays."""

    @extend_schema(request=None, responses={200: VERSION_SHAPE, 409: CONFLICT_SHAPE})
    def post(self, request: Request, slug: str, number: int) -> Response:
        version = get_maintained_version(caller(request), slug, number)
        return version_answer(retire_version(user=caller(request), version=version))


class Diff(APIView):
    """What became of each dimension and category from one version to another; `?format=md` for a paper's appendix."""

    @extend_schema(
        responses={(200, "application/json"): DIFF_SHAPE, (200, "text/markdown"): OpenApiTypes.STR},
        parameters=[OpenApiParameter("format", str, enum=["json", "md"])],
    )
    def get(self, request: Request, slug: str, old: int, new: int) -> Response | HttpResponse:
        format = request.query_params.get("format", "json")
        if format not in ("json", "md"):
            raise Invalid("Unknown format.", fields={"format": ["Use json or md."]})
        found = compare_versions(get_version(caller(request), slug, old), get_version(caller(request), slug, new))
        if format == "md":
            return HttpResponse(appendix_of(found), content_type="text/markdown; charset=utf-8")
        return Response(diff_answer(found))


def _schema_etag(*_: object) -> str:
    return f'"{hashlib.sha256(schema.schema_text().encode()).hexdigest()[:32]}"'


@method_decorator([cache_control(public=True, max_age=SCHEMA_SECONDS), condition(_schema_etag)], "dispatch")
class DocumentSchema(APIView):
    """The JSON Schema (2020-12) of a document, for editors and checks; anyone may read it, signed in or not."""

    permission_classes = [AllowAny]
    authentication_classes: list[Any] = []

    @extend_schema(responses={(200, "application/schema+json"): OpenApiTypes.OBJECT}, auth=[])
    def get(self, request: Request) -> HttpResponse:
        return HttpResponse(schema.schema_text(), content_type="application/schema+json")


urlpatterns = [
    path("taxonomies/schema.json", DocumentSchema.as_view(), name="api_taxonomy_schema"),
    path("taxonomies/", Taxonomies.as_view(), name="api_taxonomies"),
    path("taxonomies/<slug:slug>/", OneTaxonomy.as_view(), name="api_taxonomy"),
    path("taxonomies/<slug:slug>/versions/", Versions.as_view(), name="api_taxonomy_versions"),
    path("taxonomies/<slug:slug>/versions/<int:number>/", OneVersion.as_view(), name="api_taxonomy_version"),
    path("taxonomies/<slug:slug>/drafts/", Drafts.as_view(), name="api_taxonomy_drafts"),
    path("taxonomies/<slug:slug>/versions/<int:number>/retire/", Retire.as_view(), name="api_retire_version"),
    path("taxonomies/<slug:slug>/versions/<int:number>/publish/", Publish.as_view(), name="api_publish_version"),
    path("taxonomies/<slug:slug>/versions/<int:old>/diff/<int:new>/", Diff.as_view(), name="api_taxonomy_diff"),
]
