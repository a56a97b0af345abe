"""Callers of long requests: whether the person or token may still ask, also while an answer is sent."""

import copy
from collections.abc import Callable, Iterable, Iterator

from django.contrib.auth import get_user
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from accounts.api import TokenAuthentication, bears_token
from accounts.models import User
from config.views import is_api
from shared.errors import Forbidden
from shared.watched_streams import watched


def has_token(request: HttpRequest) -> bool:
    """Whether a request to the API comes with a token, valid or not."""
    return is_api(request) and bears_token(request)


def present_user(request: HttpRequest) -> User | None:
    """The person who is signed in or has a valid token, as of now; nothing of it is kept in the request."""
    if has_token(request):
        try:
            found = TokenAuthentication().authenticate(Request(request))
        except AuthenticationFailed:
            return None
        return found and found[0]
    apart = copy.copy(request)
    apart.session = type(request.session)(request.session.session_key)
    user = get_user(apart)
    return user if isinstance(user, User) else None


def is_known(request: HttpRequest) -> bool:
    """Whether a person who is signed in or a valid token asks, as of now."""
    return present_user(request) is not None


class LongAnswers:
    """Ends an answer that is made while it is sent when its token is revoked, its reader signed out or no longer staff.

    An answer can be read as slowly as its reader likes, and holds what was stored until then. Looks once a second.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self.get_response(request)
        is_made = response.streaming and getattr(response, "file_to_stream", None) is None
        if is_made and not response.is_async and (has_token(request) or request.user.is_authenticated):  # type: ignore[attr-defined]
            response.streaming_content = _while_known(request, response.streaming_content)  # type: ignore[attr-defined]
        return response


def _while_known(request: HttpRequest, pieces: Iterable[bytes]) -> Iterator[bytes]:
    is_for_staff = getattr(request.user, "is_staff", False)

    def look() -> None:
        user = present_user(request)
        if user is None:
            raise Forbidden("You were signed out while this file was sent. Sign in, then download it again.")
        if is_for_staff and not user.is_staff:
            raise Forbidden("You were removed from staff while this file was sent. Download it again.")

    return watched(pieces, look)
