"""Readers of result pages: a member, staff, or the holder of a reader link."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from annotation.core.access import Seat, get_seat, get_seat_by_link
from annotation.core.errors import NotFound
from annotation.core.pages import me

OPENED = "reader_links"
"""Of the session: slug of a study → the link by which it is read."""


def open_to_reader_links(view: Callable[..., HttpResponseBase]) -> Callable[..., HttpResponseBase]:
    """Lets in who is signed in, and who opened a reader link of the study; others are asked to sign in.

    The view asks `reading_seat` for the place of who reads.
    """
    for_people = login_required(view)

    @wraps(view)
    def opened(request: HttpRequest, slug: str, *arguments: Any, **words: Any) -> HttpResponseBase:
        if request.user.is_authenticated or slug not in request.session.get(OPENED, {}):
            return for_people(request, slug, *arguments, **words)
        return view(request, slug, *arguments, **words)

    return opened


def reading_seat(request: HttpRequest, slug: str) -> Seat:
    """The place of who reads: their own where they have one, else that of the link they opened. Raises NotFound."""
    link = request.session.get(OPENED, {}).get(slug)
    if request.user.is_authenticated:
        try:
            return get_seat(me(request), slug)
        except NotFound:
            if link is None:
                raise
    return get_seat_by_link(link, slug)
