"""Own items of a rater beside the current one: all, skipped, flagged, and returned."""

from typing import cast

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from accounts.models import User
from annotation.core.access import RATER, Seat, get_own_assignment_of, get_round, get_seat
from annotation.labeling.queries import assignments as queries
from annotation.labeling.queries.desk import lines_of, list_lines, place_before
from annotation.models import Assignment, Membership, Round
from annotation.proposals import queries as proposal_queries


@login_required
@never_cache
@require_GET
def own_list(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """The list as `?show=` wants it, with how many there are of each; `?here=` is the assignment at hand."""
    seat, round_ = _seat_and_round(request, slug, number)
    context = list_context(seat, round_, list_filter(request), _here(request))
    return render(request, "annotation/labeling/_own_list.html", context | {"study": seat.study, "round": round_})


@login_required
@never_cache
@require_GET
def own_counts(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """The line above the list with how many were skipped, flagged and came back; no page waits for it."""
    seat, round_ = _seat_and_round(request, slug, number)
    here = _here(request)
    context = {
        "study": seat.study,
        "round": round_,
        "here": Assignment.public_id_of(here) if here else None,
        "show": list_filter(request),
        "counts": queries.own_counts(round_, _rater(seat), _back(seat, round_)),
    }
    return render(request, "annotation/labeling/_shown.html", context)


@login_required
@never_cache
@require_GET
def earlier(request: HttpRequest, slug: str, number: int, place: int) -> HttpResponse:
    """More of the list: the finished items before a place, of those that `?show=` wants; with `?later` all after it."""
    seat, round_ = _seat_and_round(request, slug, number)
    if "later" in request.GET:
        own = list_lines(queries.later(round_, _rater(seat), place), seat.study.slug, round_, None, queries.BEHIND)
        return render(
            request,
            "annotation/labeling/_lines.html",
            {**vars(own), "before": None, "study": seat.study, "round": round_, "show": "all"},
        )
    show = list_filter(request)
    found = queries.earlier_assignments(
        round_, _rater(seat), place, show, _back(seat, round_) if show == "back" else []
    )
    context = {
        "lines": lines_of(found, seat.study.slug, round_, None),
        "before": place_before(found, show),
        "study": seat.study,
        "round": round_,
        "show": show,
    }
    return render(request, "annotation/labeling/_lines.html", context)


@login_required
@never_cache
@require_GET
def of_item(request: HttpRequest, slug: str, number: int) -> JsonResponse:
    """Where one's own label of `?item=` is, for answers that a browser kept before assignments had UUIDs."""
    seat, round_ = _seat_and_round(request, slug, number)
    named = get_own_assignment_of(seat, round_, request.GET.get("item", "")).public_id
    return JsonResponse({"assignment": named, "url": reverse("label_one", args=[slug, number, named])})


def list_context(seat: Seat, round_: Round, show: str, here: int | None) -> dict[str, object]:
    """What the list needs where the rater asked for a part of it; `here` is the assignment at hand."""
    rater, back = _rater(seat), _back(seat, round_)
    if show == "all":
        own = Assignment.objects.filter(pk=here or 0, round=round_, rater=rater)
        at = own.values_list("position", flat=True).first()
        lists = vars(list_lines(queries.nearby_assignments(round_, rater, at), seat.study.slug, round_, here))
    else:
        found = queries.earlier_assignments(round_, rater, None, show, back)
        lists = {"lines": lines_of(found, seat.study.slug, round_, here), "before": place_before(found, show)}
    return {
        "show": show,
        "here": Assignment.public_id_of(here) if here else None,
        "counts": queries.own_counts(round_, rater, back),
        **lists,
    }


def _seat_and_round(request: HttpRequest, slug: str, number: int) -> tuple[Seat, Round]:
    seat = get_seat(cast(User, request.user), slug)
    seat.require(RATER)
    return seat, get_round(seat, number)


def _rater(seat: Seat) -> Membership:
    assert seat.membership is not None
    return seat.membership


def list_filter(request: HttpRequest) -> str:
    """The part of the list that an address asks for; all of it where it asks for nothing that there is."""
    asked = request.GET.get("show", "")
    return asked if asked in queries.SHOWN else "all"


def _here(request: HttpRequest) -> int | None:
    return Assignment.number_of(request.GET.get("here", ""))


def _back(seat: Seat, round_: Round) -> list[int]:
    """The rater's assignments of this round whose proposals were answered."""
    return [pk for each in proposal_queries.came_back(seat.user, round_) for pk, _ in each.items]
