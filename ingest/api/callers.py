"""Who calls, and who may fetch."""

from rest_framework.request import Request

from accounts.api import scope
from accounts.models import User

MayFetch = scope(write="manage")


def caller(request: Request) -> User:
    """Who calls; `scope` has let nobody anonymous through."""
    assert isinstance(request.user, User)
    return request.user
