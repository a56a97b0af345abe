"""Foreign requests: those that load or frame something here are refused, and the others are known as such."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse

from shared.foreign_requests import is_foreign, is_navigation, noting_origin

REFUSED = "A page of another site asked your browser for this. Open the address itself."


class ForeignRequests:
    """Refuses images, frames, scripts and the like that pages of other sites, or of sibling hosts, load from here.

    They show nothing there, but a request is an act: it counts as reading, or as a try. People follow links from
    anywhere.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if not is_foreign(request) or is_navigation(request):
            with noting_origin(request):
                return self.get_response(request)
        if request.path.startswith("/api/"):
            return JsonResponse({"code": "foreign", "message": REFUSED, "fields": {}}, status=403)
        return HttpResponse(REFUSED, status=403, content_type="text/plain; charset=utf-8")
