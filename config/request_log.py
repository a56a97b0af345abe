"""Request log: one line for each request, with an ID that its answer, jobs, and error page show."""

import re
import time
import uuid
from collections.abc import Callable

import structlog
from django.conf import settings
from django.http import HttpRequest, HttpResponseBase
from django.utils.functional import SimpleLazyObject

logger = structlog.get_logger(__name__)
HEADER = "X-Request-ID"
CLEAN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{7,63}")
QUIET = frozenset({"healthz", "readyz", "metrics"})
"""Asked every few seconds; told of only where they went wrong."""


class RequestLog:
    """Gives a request its number and tells how it went: method, name of the address, status, milliseconds, who.

    Neither addresses with what was searched for, nor names, nor texts. Costs no query.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        started = time.perf_counter()
        number = number_of(request)
        with structlog.contextvars.bound_contextvars(request_id=number):
            response = self.get_response(request)
            response[HEADER] = number
            tell(request, response.status_code, round((time.perf_counter() - started) * 1000, 1))
        return response


def number_of(request: HttpRequest) -> str:
    """The request's number: a trusted proxy's where it is clean and short, else a new one. Stays with the request."""
    number: str | None = getattr(request, "number", None)
    if number is None:
        given = request.headers.get(HEADER, "") if settings.TRUSTED_PROXIES else ""
        number = given if CLEAN.fullmatch(given) else uuid.uuid4().hex[:16]
        request.number = number  # type: ignore[attr-defined]
    return number


def tell(request: HttpRequest, status: int, ms: float) -> None:
    """Writes the line of a request that was answered."""
    name = view_of(request)
    is_slow = ms >= settings.SLOW_REQUEST_MS
    told = {"method": request.method, "view": name, "status": status, "ms": ms, "user": _user_id(request)}
    if is_slow:
        told["slow"] = True
    if status >= 500:
        logger.error("request", **told)
    elif is_slow:
        logger.warning("request", **told)
    elif status < 400 and (name in QUIET or not name):
        logger.debug("request", **told)
    else:
        logger.info("request", **told)


def view_of(request: HttpRequest) -> str:
    """The name of an address, or its pattern without what stood in it; empty for files and for what nobody knows."""
    match = request.resolver_match
    return (match.view_name or match.route) if match else ""


def _user_id(request: HttpRequest) -> int | None:
    """Who asked, if anybody looked: looking would cost two queries."""
    user = request.__dict__.get("_cached_user") or request.__dict__.get("user")
    return None if isinstance(user, SimpleLazyObject) else getattr(user, "pk", None)
