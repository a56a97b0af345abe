"""The list of a rater's own items beside the one at hand: all of them, the skipped, the flagged, what came back."""

from dataclasses import dataclass
from typing import cast

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from accounts.models import User
from annotation.access import RATER, Seat, get_own_assignment_of, get_round, get_seat
from annotation.models import Assignment, Membership, Round
from annotation.queries import labelling as queries
from annotation.queries import proposals


@dataclass(frozen=True)
class Line:
    """One of the rater's own items in the list; without a URL where it is yet to come."""

    position: int
    identifier: str
    state: str
    is_flagged: bool
    mark: str
    url: str
    is_here: bool

    @property
    def name(self) -> str:
        """The identifier without the owner: the list is narrow."""
        return self.identifier.rpartition("/")[2] or self.identifier


@login_required
@never_cache
@require_GET
def own_list(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """The list as `?show=` wants it, with how many there are of each; `?here=` is the assignment at hand."""
    seat, round_ = _seat_and_round(request, slug, number)
    context = shown(seat, round_, wanted(request), _here(request))
    return render(request, "annotation/labelling/_own_list.html", context | {"study": seat.study, "round": round_})


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
        "show": wanted(request),
        "counts": queries.own_counts(round_, _rater(seat), _back(seat, round_)),
    }
    return render(request, "annotation/labelling/_shown.html", context)


@login_required
@never_cache
@require_GET
def earlier(request: HttpRequest, slug: str, number: int, place: int) -> HttpResponse:
    """More of the list: the finished items before a place, of those that `?show=` wants; with `?later` all after it."""
    seat, round_ = _seat_and_round(request, slug, number)
    if "later" in request.GET:
        context = lists(queries.later(round_, _rater(seat), place), seat.study.slug, round_, None, queries.BEHIND)
        return render(
            request,
            "annotation/labelling/_lines.html",
            context | {"before": None, "study": seat.study, "round": round_, "show": "all"},
        )
    show = wanted(request)
    found = queries.before(round_, _rater(seat), place, show, _back(seat, round_) if show == "back" else [])
    context = {
        "lines": lines_of(found, seat.study.slug, round_, None),
        "before": place_before(found, show),
        "study": seat.study,
        "round": round_,
        "show": show,
    }
    return render(request, "annotation/labelling/_lines.html", context)


@login_required
@never_cache
@require_GET
def of_item(request: HttpRequest, slug: str, number: int) -> JsonResponse:
    """Where one's own label of `?item=` is, for answers that a browser kept before assignments had UUIDs."""
    seat, round_ = _seat_and_round(request, slug, number)
    named = get_own_assignment_of(seat, round_, request.GET.get("item", "")).public_id
    return JsonResponse({"assignment": named, "url": reverse("label_one", args=[slug, number, named])})


def shown(seat: Seat, round_: Round, show: str, here: int | None) -> dict[str, object]:
    """What the list needs where the rater asked for a part of it; `here` is the assignment at hand."""
    rater, back = _rater(seat), _back(seat, round_)
    if show == "all":
        own = Assignment.objects.filter(pk=here or 0, round=round_, rater=rater)
        at = own.values_list("position", flat=True).first()
        listed = lists(queries.around(round_, rater, at), seat.study.slug, round_, here)
    else:
        found = queries.before(round_, rater, None, show, back)
        listed = {"lines": lines_of(found, seat.study.slug, round_, here), "before": place_before(found, show)}
    return {
        "show": show,
        "here": Assignment.public_id_of(here) if here else None,
        "counts": queries.own_counts(round_, rater, back),
        **listed,
    }


def lists(
    near: list[Assignment], slug: str, round_: Round, here: int | None, most: int = queries.NEAR + queries.AHEAD
) -> dict[str, object]:
    """The lines of these assignments, and the places before and after which there may be more."""
    more = near[most:]
    near = near[:most]
    return {
        "lines": lines_of(near, slug, round_, here),
        "before": place_before(near),
        "after": near[-1].position if more else None,
    }


def lines_of(near: list[Assignment], slug: str, round_: Round, here: int | None) -> list[Line]:
    """Finished items, the one at hand and, of a planned round, those to come; the next one leads to its page.

    A pool assigns an item when its rater gets there.
    """
    lines = []
    next_url = reverse("label", args=[slug, round_.number])
    for each in near:
        is_finished, is_here = each.state in Assignment.FINISHED, each.pk == here
        if not (is_finished or is_here or round_.mode == Round.Mode.PLANNED):
            continue
        url = reverse("label_one", args=[slug, round_.number, each.public_id]) if is_finished or is_here else next_url
        lines.append(
            Line(
                position=each.position,
                identifier=each.item.identifier,
                state=each.state if is_finished else "now" if is_here or next_url else "later",
                is_flagged=each.current is not None and each.current.is_flagged,
                mark=_mark(each),
                url=url,
                is_here=is_here,
            )
        )
        if not is_finished:
            next_url = ""
    return lines


def place_before(listed: list[Assignment], show: str = "all") -> int | None:
    """The place before which there may be more; of a part of the list only where this page of it is full."""
    if not listed or listed[0].position <= 1 or (show != "all" and len(listed) < queries.BEHIND):
        return None
    return listed[0].position


def _mark(assignment: Assignment) -> str:
    answer = assignment.current
    if answer is None:
        return ""
    if answer.n_proposals:
        return "a category is proposed"
    return "unsure" if answer.confidence == 1 else ""


def _seat_and_round(request: HttpRequest, slug: str, number: int) -> tuple[Seat, Round]:
    seat = get_seat(cast(User, request.user), slug)
    seat.require(RATER)
    return seat, get_round(seat, number)


def _rater(seat: Seat) -> Membership:
    assert seat.membership is not None
    return seat.membership


def wanted(request: HttpRequest) -> str:
    """The part of the list that an address asks for; all of it where it asks for nothing that there is."""
    asked = request.GET.get("show", "")
    return asked if asked in queries.SHOWN else "all"


def _here(request: HttpRequest) -> int | None:
    return Assignment.number_of(request.GET.get("here", ""))


def _back(seat: Seat, round_: Round) -> list[int]:
    """The rater's assignments of this round whose proposals were answered."""
    return [pk for each in proposals.came_back(seat.user, round_) for pk, _ in each.items]
