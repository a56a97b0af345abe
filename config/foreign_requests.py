"""Foreign requests: those that load, frame or download something here are refused, and others are known as such."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse, HttpResponseBase

from config.views import error_page, is_api
from shared.errors import OpenedElsewhere
from shared.foreign_requests import FILE_OPENED, is_foreign, is_navigation, noting_origin

REFUSED = "A page of another site asked your browser for this. Open the address itself."


class ForeignRequests:
    """Refuses images, frames, scripts and the like that pages of other sites, or of sibling hosts, load from here.

    They show nothing there, but a request is an act: it counts as reading, or as a try. People follow links from
    anywhere, except to files: a window that stays where it was tells the page that opened it that there is a file.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if not is_foreign(request):
            return self.get_response(request)
        if not is_navigation(request):
            if is_api(request):
                return error_page(request, 403, "Not allowed", REFUSED, "foreign")
            return HttpResponse(REFUSED, status=403, content_type="text/plain; charset=utf-8")
        with noting_origin(request):
            answer = self.get_response(request)
        if not answer.get("Content-Disposition", "").startswith("attachment"):
            return answer
        refusal = error_page(request, 403, "Not allowed", FILE_OPENED, OpenedElsewhere.code)
        refusal._resource_closers.extend(answer._resource_closers)  # type: ignore[attr-defined]
        return refusal
