"""Security headers of every response, including static files, the API, and errors."""

from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase

PLAIN_POLICY = "default-src 'none'; frame-ancestors 'none'; sandbox"
"""What is no page (a file, JSON) runs nothing and has no place of its own, should a browser show it all the same."""
NOT_ASKED_FOR = (
    "accelerometer", "autoplay", "camera", "display-capture", "encrypted-media", "geolocation", "gyroscope",
    "magnetometer", "microphone", "midi", "payment", "picture-in-picture", "screen-wake-lock", "usb",
    "xr-spatial-tracking",
)  # fmt: skip
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": ", ".join(f"{feature}=()" for feature in NOT_ASKED_FOR),
    "X-Frame-Options": "DENY",
    "X-Robots-Tag": "noindex, nofollow",
    "X-Permitted-Cross-Domain-Policies": "none",
}


class Headers:
    """Sets the headers of every answer that does not say otherwise; it stands around all other middleware.

    Nothing but static files is kept anywhere: pages and answers are those of one person.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        answer = self.get_response(request)
        for name, value in HEADERS.items():
            answer.headers.setdefault(name, value)
        if answer.status_code >= 400 or not request.path.startswith(settings.STATIC_URL):
            answer.headers.setdefault("Cache-Control", "private, no-store")
        if not answer.headers.get("Content-Type", "").startswith("text/html"):
            answer.headers["Content-Security-Policy"] = PLAIN_POLICY
        return answer
