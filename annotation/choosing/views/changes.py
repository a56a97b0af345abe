"""Changed issues page: issues that changed since raters read them, and moving their pins."""

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from accounts.models import User
from annotation.choosing.actions import pinning as actions
from annotation.choosing.queries import changes as queries
from annotation.core.access import OWNER, Seat, get_item_at, get_seat
from annotation.core.bulk_jobs import pinning_of
from annotation.core.errors import ConcordError, Forbidden, NotFound, Stale
from annotation.core.pages import job_progress
from annotation.core.paging import page_of
from annotation.models import BulkJob, Item
from shared.forms import form_page, in_messages
from shared.wording import plural


def _seat(request: HttpRequest, slug: str) -> Seat:
    assert isinstance(request.user, User)
    seat = get_seat(request.user, slug)
    seat.require_reading()
    return seat


@login_required
@require_safe
def changes(request: HttpRequest, slug: str) -> HttpResponse:
    """Items that changed since they were pinned, what changed, and what GitHub was asked."""
    seat = _seat(request, slug)
    return job_progress(request, lambda: _job(seat)) or _list(request, seat)


def _job(seat: Seat) -> BulkJob | None:
    return pinning_of(seat.study) if seat.has_role(OWNER) else None


def _list(request: HttpRequest, seat: Seat, status: int = 200) -> HttpResponse:
    is_owner = seat.has_role(OWNER)
    rows, counts = queries.counted_changes(seat)
    page = page_of(request, queries.for_list(rows))
    context = {
        "seat": seat,
        "study": seat.study,
        "tab": "items",
        "is_owner": is_owner,
        "page": page,
        "lines": queries.change_lines(seat, page.rows),
        "n": counts.n,
        "job": _job(seat),
        "n_new_states": counts.n_new_states if is_owner else 0,
        "most": queries.COUNTED_MOST,
        "questions": list(actions.QUESTIONS.items()),
        "runs": queries.runs_of(seat.study, seat.user) if is_owner else [],
    }
    return render(request, "annotation/choosing/changes.html", context, status=status)


@login_required
@form_page
def item_changes(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """What differs between the pinned and the newest state of an item's issue; a POST pins the newest.

    `?since=` is the key of another state that is to be compared with the newest, or how its SHA-256 begins.
    """
    seat = _seat(request, slug)
    item = get_item_at(seat, pk)
    if item.issue is None:
        raise NotFound(f"{item.identifier} has no issue, so it has no changes.")
    status = 200
    if request.method == "POST":
        try:
            if actions.repin_item(seat=seat, item=item, seen=request.POST.get("seen", "")):
                messages.success(request, f"Raters of {item.identifier} read its newest snapshot from now on.")
            return redirect("item_changes", slug, pk)
        except Stale as error:
            messages.error(request, error.message)
            status = error.status
    return _one(request, seat, item, status)


def _one(request: HttpRequest, seat: Seat, item: Item, status: int) -> HttpResponse:
    context = {
        "seat": seat,
        "study": seat.study,
        "tab": "items",
        "is_owner": seat.has_role(OWNER),
        "item": item,
        "change": queries.item_change(seat, item, request.GET.get("since", "")),
    }
    return render(request, "annotation/choosing/item_changes.html", context, status=status)


@login_required
@require_POST
def repin_all(request: HttpRequest, slug: str) -> HttpResponse:
    """Pins the newest state of every item that has one."""
    seat = _seat(request, slug)
    seat.require(OWNER)
    with in_messages(request):
        n = actions.repin_items(seat=seat, everything=True)
        if isinstance(n, int):
            words = f"{plural(n, 'item')} re-pinned. Raters read the newest snapshots from now on."
            messages.success(request, words if n else "All items were already at their newest snapshot.")
    return redirect("changes", slug)


@login_required
@require_POST
def ask_github(request: HttpRequest, slug: str) -> HttpResponse:
    """Starts the fetches that answer what the owner wants to know of GitHub."""
    seat = _seat(request, slug)
    try:
        runs = actions.ask_github(seat=seat, what=request.POST.get("what"))
    except Forbidden:
        raise
    except ConcordError as error:
        messages.error(request, error.message)
        return _list(request, seat, status=error.status)
    n = len(runs)
    messages.success(request, f"{n} fetch{'' if n == 1 else 'es'} started. Progress is shown below.")
    return redirect("changes", slug)
