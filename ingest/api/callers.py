"""Callers of the API: who may fetch, and the answer for a repository's former name."""

from drf_spectacular.utils import OpenApiResponse
from rest_framework.request import Request

from accounts.api import scope
from accounts.models import User

MayFetch = scope(write="manage")
MOVED = OpenApiResponse(description="The repository has a new name. `Location` is its URL.")


def caller(request: Request) -> User:
    """Who calls; `scope` has let nobody anonymous through."""
    assert isinstance(request.user, User)
    return request.user
