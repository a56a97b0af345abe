"""Image page: the one document that may load an image from another host, after a click."""

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from ingest.errors import NotFound
from ingest.rendering.images import signed_address, sources_of


@require_safe
def image(request: HttpRequest) -> HttpResponse:
    """An image in a frame of one of our pages; whoever has its signed address may see it, as reviewers do by a link.

    Nothing runs there, nothing but this image and our style sheet is loaded, and nobody else may frame it.
    """
    address = signed_address(request.GET.get("address", ""), request.GET.get("mark", ""))
    if not (sources := sources_of(address)):
        raise NotFound("No image at this URL.")
    answer = render(request, "ingest/image.html", {"address": address})
    policy = [
        "default-src 'none'", f"img-src {' '.join(sources)}", "style-src 'self'", "base-uri 'none'",
        "form-action 'none'", "frame-ancestors 'self'",
        "sandbox allow-same-origin",  # no script: the page around reads how large the image is
    ]  # fmt: skip
    if settings.HTTPS:
        policy.append("upgrade-insecure-requests")
    answer["Content-Security-Policy"] = "; ".join(policy)
    answer["X-Frame-Options"] = "SAMEORIGIN"
    answer["Referrer-Policy"] = "no-referrer"
    return answer
