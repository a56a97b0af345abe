"""The demo's password, which everybody knows."""

from django.conf import settings
from django.core.exceptions import ValidationError
from django.http import HttpRequest

from accounts.addresses import client_address, is_loopback
from accounts.models import User

DEMO_PASSWORD = "two-raters-agree"
DEMO_NAMES = "demo-"
REFUSED = (
    "This is the demo's password, which everybody knows: it works only in a browser on the machine that Concord runs "
    "on, and only while no other machine can reach it."
)


class NotTheDemos:
    """Refuses the demo's password for everybody but the demo's people."""

    def validate(self, password: str, user: User | None = None) -> None:
        if password == DEMO_PASSWORD and not (user and user.username.startswith(DEMO_NAMES)):
            raise ValidationError("This is the demo's password, which everybody knows. Choose another.")

    def get_help_text(self) -> str:
        return "Your password can't be that of the demo."


def is_refused(password: str, request: HttpRequest) -> bool:
    """Whether it is the demo's, and the request comes, or could come, from another machine."""
    if password != DEMO_PASSWORD:
        return False
    is_passed_on = bool({"X-Forwarded-For", "Forwarded"} & set(request.headers))
    return is_passed_on or not (settings.LOOPBACK_ONLY and is_loopback(client_address(request)))
