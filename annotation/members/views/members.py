"""Members page: members with their roles, and forms to add and invite people."""

from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from annotation.core.access import OWNER, RATER, Seat, get_seat
from annotation.core.demo_people import is_demo_person
from annotation.core.errors import Stale
from annotation.core.member_lists import members_of
from annotation.core.pages import me, study_page
from annotation.invitations.queries.invitations import invitation_lines
from annotation.members.actions import members as member_actions
from annotation.members.forms import InvitationForm, MemberForm
from annotation.members.queries.leaving import offers_of, owner_who_stops
from annotation.members.queries.password_links import members_created_by
from annotation.models import Membership
from shared.errors import TooMany
from shared.forms import explaining, form_page, status_of


@login_required
@form_page
def members(request: HttpRequest, slug: str) -> HttpResponse:
    """Everybody in the study; the owner adds people and changes their roles."""
    seat = get_seat(me(request), slug)
    given = request.POST if request.method == "POST" else None
    form = MemberForm(given, initial={"roles": [RATER]})
    if given is not None:
        seat.require(OWNER)
        if form.is_valid():
            if "confirmed" not in given and (page := _former_owner(request, seat, form)):
                return page
            with explaining(form, passing=TooMany, user="username"):  # its page has the header Retry-After
                try:
                    placed = member_actions.set_member(seat=seat, **form.chosen)
                except Stale as error:
                    messages.error(request, error.message)
                    return redirect("members", slug)
                member, ended = placed.membership, placed.offers.sentence if placed.offers else ""
                roles = " and ".join(member.roles)
                done = f"is now {roles}" if member.user else f"is invited as {roles} and can be named in rounds"
                messages.success(request, f"{member.signed_name} {done}.{ended}")
                if placed.notice:
                    messages.warning(request, placed.notice)
                return redirect("members", slug)
    return members_page(request, seat, status=status_of(form), form=form)


def _former_owner(request: HttpRequest, seat: Seat, form: MemberForm) -> HttpResponse | None:
    """The page that asks once more where an owner stops being one and what they handed out ends with that."""
    found = owner_who_stops(seat.study, form.cleaned_data["username"], form.cleaned_data["roles"])
    offers = offers_of(seat.study, found.user) if found is not None and found.user is not None else None
    if not offers:
        return None
    given = [(name, value) for name in form.fields for value in request.POST.getlist(name)]
    shown = {"member": found, "offers": offers, "roles": form.cleaned_data["roles"], "given": given}
    return study_page(request, seat, "members/former_owner", "members", **shown)


PRESENT = (Membership.State.MEMBER, Membership.State.INVITED, Membership.State.NAME_ONLY)


def members_page(
    request: HttpRequest,
    seat: Seat,
    *,
    status: int = 200,
    form: MemberForm | None = None,
    invitation: InvitationForm | None = None,
    **shown: Any,
) -> HttpResponse:
    """The page of a study's people; `shown` is a link that was just made."""
    everybody = members_of(seat.study)
    present = [each for each in everybody if each.state in PRESENT]
    is_owner, is_public = seat.has_role(OWNER), is_demo_person(seat.user)
    return study_page(
        request,
        seat,
        "members/members",
        "members",
        status=status,
        form=form or MemberForm(initial={"roles": [RATER]}),
        invitation=invitation or InvitationForm(),
        invitations=invitation_lines(seat.study) if is_owner else [],
        sends_email=settings.SENDS_EMAIL,
        members=present,
        former=[each for each in everybody if each.state not in PRESENT],
        has_password_link=_with_password_link(seat, present) if not is_public else set(),
        is_public=is_public,
        roles=Membership.Role.values,
        **shown,
    )


def _with_password_link(seat: Seat, members: Sequence[Membership]) -> set[int]:
    """The members for whom the page offers a password link; what the person may not see can still forbid it."""
    people = {each.pk for each in members if each.user_id and each.user_id != seat.user.pk and not each.is_machine}
    if seat.user.is_staff:
        return people
    return people & members_created_by(seat.study) if seat.has_role(OWNER) else set()
