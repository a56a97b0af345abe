"""Raters page of an open round: leaving, joining, and shares."""

from collections.abc import Callable

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_POST

from annotation.assignments import queries
from annotation.core.access import OWNER, get_member_at, get_round, get_round_rater, get_seat
from annotation.core.errors import ConcordError, Forbidden, NotFound
from annotation.core.pages import me, study_page
from annotation.models import Membership, Round
from annotation.resolving.actions import third_rater_requests as third_raters
from annotation.rounds.actions import raters as actions
from annotation.rounds.queries import leaves
from shared.forms import form_page, in_messages, is_sent_as_shown
from shared.wording import plural


@login_required
@form_page
def withdraw_rater(request: HttpRequest, slug: str, number: int, code: str) -> HttpResponse:
    """What becomes of a rater's items when they leave the round, and the button for it."""
    seat = get_seat(me(request), slug)
    seat.require(OWNER)
    round_ = get_round(seat, number)
    seat.require_queue(round_)
    row = get_round_rater(round_, code)
    if request.method == "POST":
        with in_messages(request):
            found = actions.withdraw_rater(seat=seat, number=number, rater=code)
            if not found.n_later:
                messages.success(request, f"{row.rater} left round {number}. {found.sentence}.")
        return redirect("round", slug, number)
    if row.left_at is not None or round_.state != Round.State.OPEN:
        return redirect("round", slug, number)
    return study_page(
        request,
        seat,
        "rounds/withdraw_rater",
        "rounds",
        rater=row.rater,
        lines=[(round_, row, queries.leaving(round_, row))],
        round=round_,
    )


@login_required
@require_POST
def remind_third_rater(request: HttpRequest, slug: str, number: int, code: str) -> HttpResponse:
    return _to_third_rater(request, slug, number, code, third_raters.remind_third_rater, "was reminded of")


@login_required
@require_POST
def withdraw_third_rater(request: HttpRequest, slug: str, number: int, code: str) -> HttpResponse:
    return _to_third_rater(request, slug, number, code, third_raters.withdraw_third_rater, "is no longer asked for")


def _to_third_rater(
    request: HttpRequest, slug: str, number: int, code: str, does: Callable[..., tuple[Membership, int]], did: str
) -> HttpResponse:
    seat = get_seat(me(request), slug)
    seat.require(OWNER)
    with in_messages(request):
        member, n = does(seat=seat, number=number, rater=code)
        messages.success(request, f"{member} {did} {n} unanswered item{'' if n == 1 else 's'}.")
    return redirect(reverse("round", args=[slug, number]) + "#third-raters")


@login_required
@form_page
def withdraw_from_study(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """What becomes of a member's items in all open rounds when they are withdrawn from them, and the button for it."""
    seat = get_seat(me(request), slug)
    seat.require(OWNER)
    member = get_member_at(seat, pk)
    if request.method == "POST":
        found = actions.withdraw_from_study(seat=seat, member=member)
        rounds = " ".join(f"Round {round_.number}: {each.sentence}." for round_, each in found)
        does = "is leaving" if any(each.n_later for _, each in found) else "left"
        messages.success(request, f"{member} {does} {plural(len(found), 'open round')}. {rounds}")
        return redirect("members", slug)
    lines = leaves(seat, member)
    return study_page(request, seat, "rounds/withdraw_rater", "members", rater=member, lines=lines)


@login_required
@require_POST
def add_rater(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """Puts a rater into an open round; asks first where someone could read answers that are in."""
    seat = get_seat(me(request), slug)
    user, insists = request.POST.get("user", ""), request.POST.get("unblinded") == "1"
    try:
        quota = _quota(request)
        added = actions.add_rater(seat=seat, number=number, user=user, quota=quota, unblinded=insists)
    except (Forbidden, NotFound):
        raise
    except ConcordError as error:
        if error.code == "not_blind_any_more":
            said, most, round_ = error.message, request.POST.get("quota", ""), get_round(seat, number)
            return study_page(
                request,
                seat,
                "rounds/unblinded_rater",
                "rounds",
                status=409,
                error=said,
                round=round_,
                user=user,
                quota=most,
            )
        messages.error(request, _said(error))
    else:
        n = added.n_given
        if added.job is not None:
            return redirect("round", slug, number)
        given = f" with {n} item{'' if n == 1 else 's'}" if n else ""
        messages.success(request, f"{added.round_rater.rater} is in round {number}{given}.")
    return redirect("round", slug, number)


@login_required
@require_POST
def change_quota(request: HttpRequest, slug: str, number: int, code: str) -> HttpResponse:
    """Changes how many items a rater takes at most."""
    seat = get_seat(me(request), slug)
    if is_sent_as_shown(request, "quota"):
        seat.require(OWNER)
        messages.info(request, "Nothing was changed.")
        return redirect("round", slug, number)
    try:
        row = actions.change_quota(seat=seat, number=number, rater=code, quota=_quota(request))
    except (Forbidden, NotFound):
        raise
    except ConcordError as error:
        messages.error(request, _said(error))
    else:
        most = "as many items as there are" if row.quota is None else f"at most {plural(row.quota, 'item')}"
        messages.success(request, f"The quota of {row.rater} in round {number} is {most}.")
    return redirect("round", slug, number)


def _quota(request: HttpRequest) -> int | None:
    """The quota that was typed, None for an empty field; a word that is no number becomes one that is refused."""
    typed = request.POST.get("quota", "").strip()
    if not typed:
        return None
    return int(typed) if typed.isascii() and typed.isdecimal() and len(typed) < 10 else -1


def _said(error: ConcordError) -> str:
    return " ".join(sentence for sentences in error.fields.values() for sentence in sentences) or error.message
