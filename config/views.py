"""Pages of the site itself: health checks and error pages."""

import logging
import sys

from django.conf import settings
from django.contrib.sessions.exceptions import SessionInterrupted
from django.core.exceptions import DisallowedHost, RequestDataTooBig, TooManyFieldsSent, TooManyFilesSent
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.template.loader import get_template
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from config import health
from config.middleware import unavailable
from config.outages import outage_of
from config.request_log import number_of

logger = logging.getLogger(__name__)


@require_safe
@never_cache
def healthz(request: HttpRequest) -> HttpResponse:
    """200 as long as this process answers; it asks nobody else."""
    return JsonResponse({"process": health.OK})


@require_safe
@never_cache
def readyz(request: HttpRequest) -> HttpResponse:
    """200 while each part answers, else 503; `?need=database,migrations` looks at those alone."""
    found = health.states()
    needed = set(request.GET.get("need", "").split(",")) & set(found) or set(found)
    is_ready = all(found[part] == health.OK for part in needed)
    return JsonResponse(found, status=200 if is_ready else 503)


def is_api(request: HttpRequest) -> bool:
    return request.path == "/api" or request.path.startswith("/api/")


def error_page(request: HttpRequest, status: int, title: str, message: str, code: str) -> HttpResponse:
    """An error as a page, or in the API's shape for addresses under /api/."""
    if is_api(request):
        return JsonResponse({"code": code, "message": message, "fields": {}}, status=status)
    context = {"status": status, "title": title, "message": message, "code": code}
    return render(request, "errors/error.html", context, status=status)


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    message = "Not found, or you don't have access."
    return error_page(request, 404, "Not found", message, "not_found")


def forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    return error_page(request, 403, "Not allowed", "You don't have permission to do this.", "forbidden")


def unreadable(request: HttpRequest, exception: Exception) -> HttpResponse:
    if isinstance(exception, RequestDataTooBig):
        return too_large(request, settings.DATA_UPLOAD_MAX_MEMORY_SIZE)
    message = next((words for kind, words in _REFUSED.items() if isinstance(exception, kind)), "")
    return error_page(request, 400, "Not understood", message or "The request is not valid.", "unreadable")


_REFUSED = {
    SessionInterrupted: "You were signed out before this request was answered. Sign in, and send it again.",
    DisallowedHost: "This site does not use the host name in the URL. Its operator can add it to ALLOWED_HOSTS.",
    TooManyFieldsSent: f"The form has more than {settings.DATA_UPLOAD_MAX_NUMBER_FIELDS:,} fields. Send it in parts.",
    TooManyFilesSent: f"There are more than {settings.DATA_UPLOAD_MAX_NUMBER_FILES} files. Send them in a ZIP file.",
}


def too_large(request: HttpRequest, most: int) -> HttpResponse:
    message = f"The request is larger than the limit of {most >> 20} MB. Send it in parts."
    return error_page(request, 413, "Too large", message, "too_large")


def other_charset(request: HttpRequest, charset: str) -> HttpResponse:
    message = f"The request says that its text is {charset[:40]}. Send it as UTF-8."
    return error_page(request, 415, "Not understood", message, "unsupported_media_type")


def forged(request: HttpRequest, reason: str = "") -> HttpResponse:
    """Where the token is missing that shows that a form is ours."""
    message = (
        "This form did not come from a page of this site, or someone signed in or out after the page was "
        "opened. Go back, reload the page and send it again. Your browser has to accept this site's cookies."
    )
    return error_page(request, 403, "Not sent", message, "forbidden")


def server_error(request: HttpRequest) -> HttpResponse:
    """A page that needs neither database nor session, since either may be what broke; 503 where something is away."""
    if (outage := outage_of(sys.exc_info()[1])) is not None:
        return unavailable(request, outage)
    logger.exception("broke")
    number = number_of(request)
    message = "Something went wrong. Your saved work is safe. Try again in a moment."
    if is_api(request):
        said = f"{message} If you report this, quote the reference {number}."
        return JsonResponse({"code": "server_error", "message": said, "fields": {}}, status=500)
    context = {"number": number, "status": 500, "title": "Something went wrong", "message": message}
    return HttpResponse(get_template("errors/bare.html").render(context), status=500)
