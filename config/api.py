"""API frame: the URLs of all apps and the one form of errors."""

import threading
from typing import Any, ClassVar

from django.core.exceptions import (
    ObjectDoesNotExist,
    PermissionDenied,
    RequestDataTooBig,
    SuspiciousOperation,
    ValidationError,
)
from django.http import Http404
from django.templatetags.static import static
from django.urls import include, path, re_path
from drf_spectacular.utils import extend_schema
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerSplitView
from rest_framework import exceptions
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView, set_rollback

from config import api_docs, renamed_repositories
from config.outages import outage_of
from ingest.errors import Moved
from shared.errors import ConcordError, NotFound, TooMany

SIDECAR = "drf_spectacular_sidecar/swagger-ui-dist"
CODES = {
    400: "unreadable",
    401: "unauthenticated",
    403: "forbidden",
    404: "not_found",
    405: "method_not_allowed",
    406: "not_acceptable",
    413: "too_large",
    415: "unsupported_media_type",
    422: "invalid",
    429: "throttled",
    503: "unavailable",
}


def shape(status: int, message: str, *, code: str = "", fields: dict[str, list[str]] | None = None) -> Response:
    """The one error shape."""
    body = {"code": code or CODES.get(status, "error"), "message": message, "fields": fields or {}}
    return Response(body, status=status)


def error_answer(error: Exception, context: dict[str, Any]) -> Response | None:
    """What the API answers for an error; None lets anything unforeseen become a 500."""
    answer = _answer(error, context["request"])
    if answer is not None:
        set_rollback()
    return answer


def _answer(error: Exception, request: Any) -> Response | None:
    if not isinstance(error, ConcordError) and (outage := outage_of(error)) is not None:
        answer = shape(503, outage.message)
        answer["Retry-After"] = str(outage.retry_seconds)
        return answer
    match error:
        case ConcordError():
            answer = shape(error.status, error.message, code=error.code, fields=error.fields)
            if isinstance(error, Moved) and (address := renamed_repositories.address_of(request, error)):
                answer.status_code = renamed_repositories.status_of(request)
                answer.data |= {"code": "moved"}
                answer["Location"] = address
            if isinstance(error, TooMany):
                answer["Retry-After"] = str(error.wait_seconds)
            return answer
        case exceptions.ValidationError():
            return shape(422, "Some fields are not valid.", fields=flat(error.detail))
        case ValidationError():
            fields = error.message_dict if hasattr(error, "error_dict") else {"": error.messages}
            return shape(422, "Some fields are not valid.", fields=fields)
        case Http404() | ObjectDoesNotExist():
            return shape(404, "Not found, or you don't have access.")
        case PermissionDenied():
            return shape(403, "You don't have permission to do this.")
        case RequestDataTooBig():
            return shape(413, "The request is too large.")
        case SuspiciousOperation():
            return shape(400, "The request is not valid.")
        case exceptions.APIException():
            answer = shape(error.status_code, str(error.detail))
            if header := getattr(error, "auth_header", None):
                answer["WWW-Authenticate"] = header
            if wait := getattr(error, "wait", None):
                answer["Retry-After"] = str(max(1, round(wait)))
            return answer
    return None


def flat(detail: Any, name: str = "") -> dict[str, list[str]]:
    """Nested messages of a serializer as {path of the field: sentences}, the path joined by dots."""
    if isinstance(detail, dict):
        parts = ((key if key != "non_field_errors" else "", value) for key, value in detail.items())
    elif isinstance(detail, list) and any(isinstance(part, (dict, list)) for part in detail):
        parts = ((str(number), value) for number, value in enumerate(detail))
    else:
        return {name: [str(part) for part in (detail if isinstance(detail, list) else [detail])]}
    found: dict[str, list[str]] = {}
    for key, value in parts:
        if value:
            for inner, sentences in flat(value, ".".join(filter(None, (name, str(key))))).items():
                found.setdefault(inner, []).extend(sentences)
    return found


class NotHere(APIView):
    """Every other address under /api/: 404 in the one error shape."""

    permission_classes = [AllowAny]
    authentication_classes: list[Any] = []

    @extend_schema(exclude=True)
    def get(self, request: Request, **parts: str) -> Response:
        raise NotFound('No such endpoint. URLs end in "/". See /api/v1/docs/.')

    post = put = patch = delete = options = get

    def http_method_not_allowed(self, request: Any, *args: Any, **parts: Any) -> Response:
        return self.get(request)


class Description(SpectacularAPIView):
    """The OpenAPI description, made once in a process: threads that make it at the same time break each other's."""

    made: ClassVar[Any] = None
    making = threading.Lock()

    @extend_schema(exclude=True)
    def get(self, request: Request, *args: Any, **parts: Any) -> Response:
        with self.making:
            if Description.made is None:
                Description.made = super().get(request, *args, **parts).data  # type: ignore[no-untyped-call]
        name = self._get_filename(request, self.api_version)  # type: ignore[no-untyped-call]
        return Response(Description.made, headers={"Content-Disposition": f'inline; filename="{name}"'})


class Docs(SpectacularSwaggerSplitView):
    """The browsable description; its script and its icons are files, so that the strict CSP applies here, too."""

    url_name = "schema"
    template_name = "api_docs.html"

    @staticmethod
    def _swagger_ui_resource(filename: str) -> str:
        return static(api_docs.sheet_path() if filename.endswith(".css") else f"{SIDECAR}/{filename}")


urlpatterns: list[Any] = [
    path("schema/", Description.as_view(), name="schema"),
    path("docs/", Docs.as_view(), name="api_docs"),
    path("", include("taxonomy.api")),
    path("", include("ingest.api")),
    path("", include("annotation.api_urls")),
    re_path(r"^(?P<rest>.*)$", NotHere.as_view()),
]
