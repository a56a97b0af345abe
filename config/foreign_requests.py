"""Foreign requests: those that load, frame or download something here are refused, and others are known as such."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse, HttpResponseBase

from config.views import error_page, is_api
from shared.errors import OpenedElsewhere
from shared.foreign_requests import OPENED, is_foreign, is_navigation, noting_origin

REFUSED = "A page of another site asked your browser for this. Open the address itself."


class ForeignRequests:
    """Refuses images, frames, scripts and the like that pages of other sites, or of sibling hosts, load from here.

    They show nothing there, but a request is an act: it counts as reading, or as a try. People follow links from
    anywhere, to pages: a window that stays where it was, because a file came or nothing, tells the page that opened it.
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
        if answer.has_header("Location") or _is_shown(answer):
            return answer
        refusal = error_page(request, 403, "Not allowed", OPENED, OpenedElsewhere.code)
        refusal._resource_closers.extend(answer._resource_closers)  # type: ignore[attr-defined]
        return refusal


def _is_shown(answer: HttpResponseBase) -> bool:
    """Whether a window shows an answer, as any page of ours; browsers keep files, and go nowhere for no content."""
    is_page = answer.get("Content-Type", "").startswith(("text/html", "application/json"))
    return is_page and answer.status_code != 204 and not answer.has_header("Content-Disposition")
