"""Body limits: a request that is too large is rejected before its body is read."""

from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from config.views import is_api, too_large

IN_MEMORY = frozenset({"", "application/json", "application/x-www-form-urlencoded"})
"""Kinds of bodies that are read into memory as a whole."""
BESIDE_A_FILE = 1 << 20
"""For the other fields of a form with a file."""


class BodyLimits:
    """Refuses bodies above DATA_UPLOAD_MAX_MEMORY_SIZE; files, of people and tokens, above UPLOAD_BYTES_MAX.

    It stands behind the middleware that says who is signed in, and before anything that looks into the body.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        length = request.META.get("CONTENT_LENGTH") or "0"
        n_bytes = int(length) if length.isascii() and length.isdecimal() else 0
        if n_bytes > settings.DATA_UPLOAD_MAX_MEMORY_SIZE and n_bytes > (most := _most(request)):
            return too_large(request, most)
        return self.get_response(request)


def _most(request: HttpRequest) -> int:
    least: int = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
    if request.content_type in IN_MEMORY:
        return least
    has_token = is_api(request) and "Authorization" in request.headers
    if not has_token and not request.user.is_authenticated:
        return least
    return max(least, settings.UPLOAD_BYTES_MAX + BESIDE_A_FILE)
