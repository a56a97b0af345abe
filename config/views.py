"""Pages of the house itself: health, and what is shown when something is not there or breaks."""

import logging

from django.conf import settings
from django.db import DatabaseError, connection
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.template.loader import get_template
from redis import Redis
from redis.exceptions import RedisError

logger = logging.getLogger(__name__)


def healthz(request: HttpRequest) -> HttpResponse:
    """200 while Postgres and Redis answer, else 503 saying which does not."""
    found = {"database": "ok", "redis": "ok"}
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except DatabaseError:
        logger.exception("Postgres does not answer")
        found["database"] = "does not answer"
    try:
        address = settings.REDIS_URL.replace("redis+socket://", "unix://")
        with Redis.from_url(address, socket_timeout=2, socket_connect_timeout=2) as redis:
            redis.ping()
    except (RedisError, OSError):
        logger.exception("Redis does not answer")
        found["redis"] = "does not answer"
    return JsonResponse(found, status=200 if set(found.values()) == {"ok"} else 503)


def is_api(request: HttpRequest) -> bool:
    return request.path == "/api" or request.path.startswith("/api/")


def error_page(request: HttpRequest, status: int, title: str, message: str, code: str) -> HttpResponse:
    """An error as a page, or in the API's shape for addresses under /api/."""
    if is_api(request):
        return JsonResponse({"code": code, "message": message, "fields": {}}, status=status)
    context = {"status": status, "title": title, "message": message}
    return render(request, "errors/error.html", context, status=status)


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    message = "There is nothing at this address, or it is not open to you."
    return error_page(request, 404, "Not found", message, "not_found")


def forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    return error_page(request, 403, "Not allowed", "You may not do this.", "forbidden")


def unreadable(request: HttpRequest, exception: Exception) -> HttpResponse:
    return error_page(request, 400, "Not understood", "The request can't be read.", "unreadable")


def server_error(request: HttpRequest) -> HttpResponse:
    """A page that needs neither database nor session, since either may be what broke."""
    message = "Something broke on the server. What you saved before is safe; try again in a moment."
    if is_api(request):
        return JsonResponse({"code": "server_error", "message": message, "fields": {}}, status=500)
    return HttpResponse(get_template("errors/500.html").render({"message": message}), status=500)
