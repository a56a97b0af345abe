"""Leaving pages: leave a study, remove a member, close an account, each with a confirmation."""

from django.contrib import messages
from django.contrib.auth import logout
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST

from accounts.confirmation import confirmation_of
from accounts.forms import CloseForm
from annotation.core.access import OWNER, Seat, get_member_at, get_seat
from annotation.core.errors import Conflict, Forbidden, Invalid
from annotation.core.pages import me, study_page
from annotation.members.actions import leaving as actions
from annotation.members.queries.leaving import offers_of
from annotation.models import Membership
from annotation.rounds.actions.absence import set_away
from annotation.rounds.queries import leaves
from shared.errors import TooMany
from shared.forms import explaining, form_page, is_sent_as_shown, status_of


@login_required
@form_page
def leave(request: HttpRequest, slug: str) -> HttpResponse:
    """What becomes of one's own items and access, and the button for it."""
    seat = get_seat(me(request), slug)
    if request.method == "POST":
        left = actions.leave_study(seat=seat)
        code = f" under {left.member.code}" if left.member.code else ""
        messages.success(request, f"You left “{seat.study.title}”. Your labels stay there{code}.")
        return redirect("studies")
    if seat.membership is None:
        raise Forbidden("You are not a member of this study. As staff you see every study.")
    return _page(request, seat, seat.membership, is_own=True)


@login_required
@form_page
def remove_member(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    seat = get_seat(me(request), slug)
    seat.require(OWNER)
    member = get_member_at(seat, pk)
    if request.method == "POST":
        left = actions.remove_member(seat=seat, member=member)
        done = "no longer has access" if member.user else "is no longer invited"
        ended = left.offers.sentence if left.offers else ""
        messages.success(request, f"{left.name} {done}.{ended}")
        return redirect("studies") if left.member.former_user_id == seat.user.pk else redirect("members", slug)
    if member.user is None and not member.is_invited:
        raise Conflict(f"{member.signed_name} has no access to this study.")
    return _page(request, seat, member, is_own=False)


@login_required
@require_POST
def away(request: HttpRequest, slug: str) -> HttpResponse:
    """Pauses one's own assignments until a day, or, for an owner, those of a rater; without a day it ends the pause."""
    seat = get_seat(me(request), slug)
    if is_sent_as_shown(request, "until"):
        messages.info(request, "Nothing was changed.")
        return redirect("members", slug)
    try:
        member = set_away(seat=seat, until=request.POST.get("until", ""), user=request.POST.get("user", ""))
    except Invalid as error:
        messages.error(request, " ".join(sentence for each in error.fields.values() for sentence in each))
    else:
        who = "You are" if member.pk == (seat.membership and seat.membership.pk) else f"{member} is"
        until = f"away until {member.away_until:%-d %B %Y}" if member.away_until else "back"
        messages.success(request, f"{who} {until}.")
    return redirect("members", slug)


def _page(request: HttpRequest, seat: Seat, member: Membership, *, is_own: bool) -> HttpResponse:
    lines = leaves(seat, member)
    offers = offers_of(seat.study, member.user) if member.user and member.has_role(OWNER) else None
    return study_page(
        request, seat, "members/leave", "members", member=member, lines=lines, offers=offers, is_own=is_own
    )


@login_required
@form_page
def close_account(request: HttpRequest) -> HttpResponse:
    """For who types their user name; nobody can undo it."""
    user = me(request)
    form = CloseForm(request.POST if request.method == "POST" else None, has_password=user.has_usable_password())
    if request.method == "POST" and form.is_valid():
        with explaining(form, passing=TooMany):
            confirmation = confirmation_of(request, form.own_password)
            actions.close_account(user=user, typed=form.cleaned_data["typed"], confirmation=confirmation)
            logout(request)
            messages.success(request, "Your account is closed.")
            return redirect("sign_in")
    context = {"form": form, "studies": actions.studies_to_leave(user)}
    return render(request, "accounts/close.html", context, status=status_of(form))
