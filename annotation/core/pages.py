"""Page frame of a study: the user and the header."""

from collections.abc import Callable
from typing import Any, TypeVar

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from accounts.models import User
from annotation.core.access import OWNER, Seat
from annotation.models import BulkJob


def me(request: HttpRequest) -> User:
    """Who is signed in; the view lets in nobody else."""
    assert isinstance(request.user, User)
    return request.user


View = TypeVar("View", bound=Callable[..., Any])


def in_archive_too(view: View) -> View:
    """Marks a view that may do something to a study which is archived: no answer, decision or setting changes by it."""
    view.in_archive_too = True  # type: ignore[attr-defined]
    return view


def study_page(
    request: HttpRequest,
    seat: Seat,
    template: str,
    tab: str,
    *,
    status: int = 200,
    **context: Any,
) -> HttpResponse:
    """A page of a study under its header; the template is named with its feature, as in `rounds/round`."""
    context |= {"seat": seat, "study": seat.study, "tab": tab, "is_owner": seat.has_role(OWNER)}
    return render(request, f"annotation/{template}.html", context, status=status)


def job_progress(request: HttpRequest, find: Callable[[], BulkJob | None]) -> HttpResponse | None:
    """The part of a page that loads itself while a job is at work, where it is what is asked for; then all of the page.

    None for every other request, which finds no job.
    """
    if request.headers.get("HX-Target") != "bulk-job":
        return None
    job = find()
    answer = render(request, "annotation/rounds/_bulk_job.html", {"job": job})
    if job is None or not job.is_at_work:
        answer["HX-Refresh"] = "true"
    return answer
