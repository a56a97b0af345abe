"""Known browsers: a signed cookie lets a user sign in while others guess the password.

The cookie signs nobody in. It gives the browser its own count of wrong passwords for that user. A new password ends it.
"""

import secrets
from hashlib import sha256

from django.conf import settings
from django.core import signing
from django.http import HttpRequest, HttpResponseBase

from accounts.models import User

SALT = "accounts.known_browsers"
PEOPLE_MOST = 5
MAX_AGE_SECONDS = 60 * 60 * 24 * 365
_SIGNED_IN = "_concord_signed_in"


def remember(request: HttpRequest, user: User) -> None:
    """Notes that someone signed in in this browser, or chose a new password there; `set_cookie` tells the browser."""
    setattr(request, _SIGNED_IN, user)


def set_cookie(request: HttpRequest, response: HttpResponseBase) -> None:
    """Writes the cookie where someone signed in during this request."""
    user = getattr(request, _SIGNED_IN, None)
    if user is None:
        return
    browser, people = _read(request)
    people = {str(user.pk): _mark(user)} | {pk: mark for pk, mark in people.items() if pk != str(user.pk)}
    kept = dict(list(people.items())[:PEOPLE_MOST])
    response.set_cookie(
        settings.KNOWN_BROWSER_COOKIE_NAME,
        signing.dumps([browser or secrets.token_urlsafe(12), kept], salt=SALT),
        max_age=MAX_AGE_SECONDS,
        secure=settings.HTTPS,
        httponly=True,
        samesite="Lax",
    )


def known_browser(request: HttpRequest, username: str) -> str:
    """What this browser is called as one that has signed in as this person; empty where it has not."""
    browser, people = _read(request)
    if not people:
        return ""
    user = User.named(username).filter(pk__in=people).first()
    if user is None or not secrets.compare_digest(people[str(user.pk)], _mark(user)):
        return ""
    return f"{user.pk} {browser}"


def _read(request: HttpRequest) -> tuple[str, dict[str, str]]:
    sent = request.COOKIES.get(settings.KNOWN_BROWSER_COOKIE_NAME, "")
    if not sent:
        return "", {}
    try:
        browser, people = signing.loads(sent, salt=SALT, max_age=MAX_AGE_SECONDS)
    except (signing.BadSignature, ValueError):
        return "", {}
    return str(browser), {str(pk): str(mark) for pk, mark in people.items()}


def _mark(user: User) -> str:
    """Changes with the password."""
    return sha256(f"{SALT} {user.pk} {user.password}".encode()).hexdigest()[:32]
