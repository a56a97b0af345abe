"""Foreign requests: what a page of another site has a browser ask of this one, with the session of its user."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from django.http import HttpRequest

from shared.errors import OpenedElsewhere

_is_opened_elsewhere: ContextVar[bool] = ContextVar("is_opened_elsewhere", default=False)
OPENED = "A page of another site opened this. Open it here if you want to."


def is_foreign(request: HttpRequest) -> bool:
    """Whether a page of another site, or of a sibling host, began it, as browsers tell by Fetch Metadata.

    They do so of HTTPS and loopback addresses. What redirects lead to counts as begun by the first page.
    """
    return request.headers.get("Sec-Fetch-Site", "") in ("cross-site", "same-site")


def is_navigation(request: HttpRequest) -> bool:
    """Whether a window shows the answer, as with a link: no image, frame or script, and nothing that is prefetched."""
    told = request.headers
    is_opened = told.get("Sec-Fetch-Mode") == "navigate" and told.get("Sec-Fetch-Dest", "document") == "document"
    return is_opened and "prefetch" not in told.get("Sec-Purpose", "")


@contextmanager
def noting_origin(request: HttpRequest) -> Iterator[None]:
    token = _is_opened_elsewhere.set(is_foreign(request))
    try:
        yield
    finally:
        _is_opened_elsewhere.reset(token)


def require_opened_here() -> None:
    """Raises OpenedElsewhere for a file that a page of another site opens: it counts as downloaded by its reader."""
    if is_opened_elsewhere():
        raise OpenedElsewhere(OPENED)


def is_opened_elsewhere() -> bool:
    """Whether the present request is foreign: the page may have begun it without its user, and stopped it at once."""
    return _is_opened_elsewhere.get()
