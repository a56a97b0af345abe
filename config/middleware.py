"""Turns errors raised in page views into pages that say what happened and how to go on."""

from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render, resolve_url
from django.utils.cache import patch_vary_headers
from django_htmx.http import HttpResponseClientRedirect

from accounts.errors import ConcordError

TITLES = {400: "Not understood", 403: "Not allowed", 404: "Not found", 409: "Not now", 422: "Not valid"}


def is_htmx(request: HttpRequest) -> bool:
    return request.headers.get("HX-Request") == "true"


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

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        if not isinstance(error, ConcordError) or request.path.startswith("/api/"):
            return None
        context = {
            "status": error.status,
            "title": TITLES.get(error.status, "Not possible"),
            "message": error.message,
            "fields": error.fields,
        }
        if is_htmx(request):
            answer = render(request, "errors/_error.html", context, status=error.status)
            answer["HX-Retarget"] = "#messages"
            answer["HX-Reswap"] = "innerHTML"
            answer["HX-Push-Url"] = "false"
            return answer
        return render(request, "errors/error.html", context, status=error.status)
