"""Limits of request bodies: too large ones are rejected unread, others are read before the sender is looked up."""

import shutil
import tempfile
from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponse, UnreadablePostError
from django.http.response import HttpResponseBase

from config.content_types import CHARSET
from config.signed_in import has_token, is_known
from config.views import other_charset, too_large

IN_MEMORY = frozenset({"", "application/json", "application/x-www-form-urlencoded"})
"""Kinds of bodies that are read into memory as a whole."""
BESIDE_A_FILE = 1 << 20
"""For the other fields of a form with a file."""


class BodyLimits:
    """Refuses bodies above DATA_UPLOAD_MAX_MEMORY_SIZE; files, of people and tokens, above UPLOAD_BYTES_MAX.

    Also forms and JSON that say that they are not UTF-8, which would be read as what they are not.

    A body can come as slowly as its sender likes. So everything that the answer depends on, a session, a token, a role,
    is looked up after it has come. It stands before anything that does. Files are stored only for people and tokens
    that are known when the request begins; whether they still are is then asked again.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        has_body = request.method not in ("GET", "HEAD", "OPTIONS")
        if has_body and request.META.get(CHARSET) and request.content_type in (*IN_MEMORY, "multipart/form-data"):
            return other_charset(request, request.META[CHARSET])
        length = request.META.get("CONTENT_LENGTH") or "0"
        n_bytes = int(length) if length.isascii() and length.isdecimal() else 0
        least = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
        most = least if request.content_type in IN_MEMORY else max(least, settings.UPLOAD_BYTES_MAX + BESIDE_A_FILE)
        try:
            if n_bytes > most:
                return too_large(request, most)
            if n_bytes <= least:
                request.body  # noqa: B018
            elif is_known(request):
                _read_to_disk(request)
            elif not has_token(request):  # a wrong token is answered 401
                return too_large(request, least)
        except UnreadablePostError:
            return HttpResponse(status=400)  # nobody is there any more
        return self.get_response(request)


def _read_to_disk(request: HttpRequest) -> None:
    """Reads the files of a form, or any other large body into a file without a name from which the request goes on."""
    if request.method == "POST" and request.content_type == "multipart/form-data":
        request.POST  # noqa: B018
        return
    file = tempfile.TemporaryFile(dir=settings.FILE_UPLOAD_TEMP_DIR)  # noqa: SIM115 - it ends with the request
    shutil.copyfileobj(request, file)
    file.seek(0)
    request._stream, request._read_started = file, False  # type: ignore[attr-defined]
