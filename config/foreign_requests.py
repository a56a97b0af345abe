"""Foreign requests: what a page of another site has a browser load from this one, with the session of its user."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse

REFUSED = "A page of another site asked your browser for this. Open the address itself."


class ForeignRequests:
    """Refuses images, frames, scripts and the like that pages of other sites, or of sibling hosts, load from here.

    They show nothing there, but a request is an act: it counts as reading, or as a try. Browsers tell by Fetch Metadata
    where a request comes from and what for, of HTTPS and loopback addresses. People follow links from anywhere.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if not _is_foreign(request):
            return self.get_response(request)
        if request.path.startswith("/api/"):
            return JsonResponse({"code": "foreign", "message": REFUSED, "fields": {}}, status=403)
        return HttpResponse(REFUSED, status=403, content_type="text/plain; charset=utf-8")


def _is_foreign(request: HttpRequest) -> bool:
    told = request.headers
    if told.get("Sec-Fetch-Site", "") not in ("cross-site", "same-site"):
        return False
    is_opened = told.get("Sec-Fetch-Mode") == "navigate" and told.get("Sec-Fetch-Dest", "document") == "document"
    return not is_opened or "prefetch" in told.get("Sec-Purpose", "")
