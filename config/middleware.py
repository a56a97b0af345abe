"""Middleware: errors become pages, archived studies are read-only, sessions note their last use."""

import logging
from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.exceptions import ObjectDoesNotExist
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.shortcuts import render, resolve_url
from django.template.loader import get_template
from django.utils.cache import patch_vary_headers
from django_htmx.http import HttpResponseClientRedirect

from accounts.known_browsers import set_cookie
from accounts.sessions import note_seen
from annotation.core.access import changing, noting_deciders, set_changing
from annotation.core.errors import Blind
from config import renamed_repositories
from config.outages import Outage, outage_of
from config.request_log import number_of
from ingest.errors import Moved
from shared.errors import ConcordError, Invalid, NotFound, TooMany
from shared.storable_json import check_storable

logger = logging.getLogger(__name__)
PROBES = ("/healthz", "/readyz", "/metrics")
SAFE = ("GET", "HEAD", "OPTIONS", "TRACE")
TITLES = {
    400: "Not understood",
    403: "Not allowed",
    404: "Not found",
    409: "Not now",
    422: "Not valid",
    429: "Too often",
}


def is_htmx(request: HttpRequest) -> bool:
    return request.headers.get("HX-Request") == "true"


class Probes:
    """Health checks and metrics are asked of one process under any name; nothing in their answers depends on it."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if request.path in PROBES:
            request.META["HTTP_HOST"] = urlsplit(settings.SITE_URL).netloc
        return self.get_response(request)


class SeenSessions:
    """Notes, once an hour, that a session is in use, and marks the browser in which someone signs in."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self.get_response(request)
        note_seen(request)
        set_cookie(request, response)
        return response


def unavailable(request: HttpRequest, outage: Outage) -> HttpResponse:
    """503 in words, by a page that needs neither database nor session; in place for htmx, in its shape for the API."""
    logger.warning("%s: answered 503", outage.part)
    context = {"number": number_of(request), "status": 503, "title": "Not available just now"}
    context |= {"message": outage.message, "fields": {}}
    answer: HttpResponse
    if request.path.startswith("/api/"):
        answer = JsonResponse({"code": "unavailable", "message": outage.message, "fields": {}}, status=503)
    elif is_htmx(request):
        answer = in_place(HttpResponse(get_template("errors/_error.html").render(context), status=503))
    else:
        answer = HttpResponse(get_template("errors/bare.html").render(context), status=503)
    answer["Retry-After"] = str(outage.retry_seconds)
    answer["Cache-Control"] = "no-store"
    return answer


def in_place(answer: HttpResponse) -> HttpResponse:
    """Has htmx show an error among the messages, and leave the page and its address alone."""
    answer["HX-Retarget"] = "#messages"
    answer["HX-Reswap"] = "innerHTML"
    answer["HX-Push-Url"] = "false"
    return answer


class ErrorPages:
    """A ConcordError becomes an error page with its status, or a message in place for htmx; /api/ is left alone."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self.get_response(request)
        if request.path.startswith("/api/"):
            return response
        patch_vary_headers(response, ["HX-Request"])
        if is_htmx(request) and response.status_code == 302:
            target = response.headers["Location"]
            if target.partition("?")[0] == resolve_url(settings.LOGIN_URL):
                return HttpResponseClientRedirect(target)
        return response

    def process_view(
        self, request: HttpRequest, view: object, arguments: object, words: dict[str, object]
    ) -> HttpResponse | None:
        """What has a NUL in its path is nowhere: PostgreSQL keeps no such text, and refuses to look for it.

        The parameters of a page are read without it, and a form with one is rejected, by its field.
        """
        if any(isinstance(word, str) and "\0" in word for word in words.values()):
            raise Http404
        if request.path.startswith("/api/"):
            return None
        if any("\0" in text for _, texts in request.GET.lists() for text in texts):
            kept: Any = request.GET.copy()
            for name, texts in request.GET.lists():
                kept.setlist(name, [text.replace("\0", "") for text in texts])
            request.GET = kept
        if request.method == "POST":
            try:
                check_storable({name: "".join(texts) for name, texts in request.POST.lists()})
            except Invalid as error:
                return page_of(request, error)
        return None

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        if request.path.startswith("/api/"):
            return None
        if (outage := outage_of(error)) is not None and not isinstance(error, ConcordError):
            return unavailable(request, outage)
        if isinstance(error, ObjectDoesNotExist):  # removed by someone else in between, as over REST
            return page_of(request, NotFound("This is no longer here. Someone may have removed it just now."))
        if not isinstance(error, ConcordError):
            return None
        if isinstance(error, Moved) and (address := renamed_repositories.address_of(request, error)):
            return HttpResponse(status=renamed_repositories.status_of(request), headers={"Location": address})
        return page_of(request, error)


def page_of(request: HttpRequest, error: ConcordError) -> HttpResponse:
    """The page of an error, or its message in place for htmx."""
    context = {
        "status": error.status,
        "title": TITLES.get(error.status, "Not possible"),
        "message": error.message,
        "fields": error.fields,
        "code": error.code,
    }
    if is_htmx(request):
        answer = in_place(render(request, "errors/_error.html", context, status=error.status))
    else:
        answer = render(request, "errors/error.html", context, status=error.status)
    if isinstance(error, TooMany):
        answer["Retry-After"] = str(error.wait_seconds)
    return answer


class PresentRoles:
    """What an owner or adjudicator asked for is shown only if they may still read it when it is ready.

    It takes a while to make, and may contain answers that came in after they lost the role or became a rater.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if request.method not in SAFE:
            return self.get_response(request)
        with noting_deciders() as seats:
            response = self.get_response(request)
        if response.status_code >= 300 or all(seat.still_decides() for seat in seats.values()):
            return response
        error = Blind("Your role in this study changed while this was prepared. Open it again.")
        response.close()
        if request.path.startswith("/api/"):
            return JsonResponse({"code": error.code, "message": error.message, "fields": {}}, status=error.status)
        return page_of(request, error)


class ArchivedStudyGuard:
    """A request that may change something gets no seat in a study that is archived, whichever page or endpoint it is.

    Views marked with `in_archive_too` are left out: those that take it out again, make files of it or delete it.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        with changing(False):
            return self.get_response(request)

    def process_view(
        self, request: HttpRequest, view: Callable[..., HttpResponseBase], args: Sequence[Any], kwargs: dict[str, Any]
    ) -> None:
        marked = getattr(view, "cls", view)
        set_changing(request.method not in SAFE and not getattr(marked, "in_archive_too", False))
