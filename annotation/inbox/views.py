"""Inbox page: mentions, and work that waits."""

from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from annotation.assignments.actions.reading_log import PAGE, note_inbox
from annotation.core.errors import NotFound
from annotation.core.pages import me
from annotation.core.paging import page_of
from annotation.inbox.actions import read_lines
from annotation.inbox.queries import lines_of, n_unread, with_places
from annotation.models import Assignment, InboxLine


@login_required
@never_cache
@require_safe
def inbox(request: HttpRequest) -> HttpResponse:
    """One's own lines, newest first, in pages."""
    page = page_of(request, with_places(lines_of(me(request))), key="-pk")
    note_inbox(me(request), page.rows, PAGE)
    return render(request, "annotation/inbox/inbox.html", {"page": page, "n_unread": n_unread(me(request))})


@login_required
@never_cache
@require_safe
def open_line(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Goes to what a line tells of; from then on it is read."""
    line = with_places(lines_of(me(request))).filter(pk=InboxLine.number_of(pk) or 0).first()
    if line is None:
        raise NotFound("This inbox line was not found, or it is hidden while you are a rater in its round.")
    if request.method == "GET" and line.read_at is None:
        read_lines(user=me(request), lines=[line.public_id])
    return redirect(address_of(line))


@login_required
@require_POST
def read_all(request: HttpRequest) -> HttpResponse:
    n = read_lines(user=me(request))
    messages.success(
        request, f"{n} line{'' if n == 1 else 's'} marked as read." if n else "All lines are already read."
    )
    return redirect("inbox")


def address_of(line: InboxLine) -> str:
    """Where a line leads."""
    place = [line.round.study.slug, line.round.number]
    if line.kind == InboxLine.Kind.RESOLVING:
        return reverse("resolve", args=place)
    if line.kind == InboxLine.Kind.MENTION and line.remark is not None:
        about = line.remark.dimension
        wanted = f"?place={line.remark.part}.{about.key}" if about else ""
        return reverse("resolve_item", args=[*place, line.remark.item_id]) + wanted + f"#remark-{line.remark.public_id}"
    if line.kind == InboxLine.Kind.ARBITER and line.item_id is not None:
        own = Assignment.objects.filter(round=line.round, item=line.item, rater=line.member).first()
        if own is not None:
            return reverse("label_one", args=[*place, own.public_id])
    return reverse("label", args=place)
