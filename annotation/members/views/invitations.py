"""Invitations by link: created on the Members page, accepted at a URL of their own."""

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_POST
from kombu.exceptions import OperationalError

from accounts import jobs
from accounts.forms import NewAccountForm
from accounts.models import User
from accounts.providers import AT_THE_DOOR, INVITATION, at_the_door, providers
from accounts.sessions import sign_in
from annotation.core.access import OWNER, Seat, get_invitation, get_seat
from annotation.core.errors import Invalid, NotFound
from annotation.core.pages import me
from annotation.invitations.actions import invitations as actions
from annotation.invitations.queries.invitations import living_invitation
from annotation.members.forms import InvitationForm
from annotation.members.views.members import members_page
from annotation.models import Invitation
from shared.forms import explaining, form_page, status_of
from shared.rate_limits import INVITED_BY_EMAIL, LINKS, UNKNOWN_NAMES, give_back, require_room
from shared.site_links import absolute

CAME_SINCE = (
    "Someone came back from another site to this page after it was shown to you. No account was made. Check whom it "
    "names now, then send it again."
)


@login_required
@require_POST
@never_cache
def invite(request: HttpRequest, slug: str) -> HttpResponse:
    """Answers with the page that shows the new link: it is nowhere else."""
    seat = get_seat(me(request), slug)
    seat.require(OWNER)
    form = InvitationForm(request.POST)
    if not form.is_valid():
        return members_page(request, seat, status=422, invitation=form)
    if form.cleaned_data["email"] and settings.SENDS_EMAIL:
        require_room(request, INVITED_BY_EMAIL, str(seat.user.pk))
    with explaining(form):
        made, plaintext = actions.invite(seat=seat, **form.cleaned_data)
        link = absolute(reverse("invitation", args=[plaintext]))
        is_sent = bool(made.email) and settings.SENDS_EMAIL and _sent(seat, made, link)
        return members_page(request, seat, status=201, link=link, made=made, is_sent=is_sent)
    return members_page(request, seat, status=status_of(form), invitation=form)


def _sent(seat: Seat, made: Invitation, link: str) -> bool:
    text = (
        f"{seat.user.signed_name} invited you to the study “{seat.study.title}” on Concord as "
        f"{' and '.join(made.roles)}.\n\nAccept here until {made.expires_at:%-d %B %Y}:\n{link}\n\nIf you did "
        "not expect this, ignore this e-mail.\n"
    )
    try:
        jobs.send_later(made.email, f"An invitation to “{seat.study.title}”", text)
    except OperationalError:
        return False
    return True


@login_required
@require_POST
def withdraw(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    seat = get_seat(me(request), slug)
    seat.require(OWNER)
    actions.withdraw_invitation(seat=seat, invitation=get_invitation(seat, pk))
    messages.success(request, "The invitation is withdrawn. People who used it stay members.")
    return redirect("members", slug)


@form_page
@never_cache
@sensitive_post_parameters("password")
def invitation(request: HttpRequest, token: str) -> HttpResponse:
    """For who is signed in one button; for others sign-in, a provider or a new account. A link that is over is 404."""
    require_room(request, LINKS)
    user = request.user if isinstance(request.user, User) else None
    try:
        found = living_invitation(token, by=user)
        if request.method == "POST" and user is not None:
            return _accept(request, user, token)
    except NotFound as error:
        request.session.pop(INVITATION, None)
        return render(request, "accounts/link_over.html", {"message": error.message}, status=404)
    stranger = None if user else at_the_door(request)
    initial = {"email": found.email}
    if stranger:
        initial = {"username": stranger.called, "full_name": stranger.full_name, "email": stranger.email or found.email}
    given = request.POST if request.method == "POST" else None
    form = NewAccountForm(given, initial=initial, with_password=stranger is None)
    if given is not None:
        if form.is_valid() and given.get("stranger", "") != (stranger.key if stranger else ""):
            form.add_error(None, CAME_SINCE)
        if form.is_valid():
            key = (stranger.provider, stranger.uid, stranger.called) if stranger else None
            with explaining(form):
                counted = require_room(request, UNKNOWN_NAMES)
                try:
                    made, member = actions.join(plaintext=token, provider=key, **form.cleaned_data)
                except NotFound as error:
                    return render(request, "accounts/link_over.html", {"message": error.message}, status=404)
                except Invalid:  # before the name was looked up
                    give_back(counted)
                    raise
                give_back(counted)
                sign_in(request, made)
                for kept in (AT_THE_DOOR, INVITATION):
                    request.session.pop(kept, None)
                messages.success(
                    request, f"Welcome. You joined “{member.study.title}” as {' and '.join(member.roles)}."
                )
                return redirect("study", member.study.slug)
    elif user is None and stranger is None and providers():
        request.session[INVITATION] = token
    context = {
        "invitation": found,
        "study": found.study,
        "form": form,
        "stranger": stranger,
        "providers": [] if stranger else providers(),
        "after": request.path,
    }
    return render(request, "annotation/members/invitation.html", context, status=status_of(form))


def _accept(request: HttpRequest, user: User, token: str) -> HttpResponse:
    member = actions.accept_invitation(user=user, plaintext=token)
    code = f" Your labels appear there under {member.code}." if member.code else ""
    messages.success(request, f"You joined “{member.study.title}” as {' and '.join(member.roles)}.{code}")
    return redirect("study", member.study.slug)
