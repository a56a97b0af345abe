"""User settings page: profile, tokens, sessions, shortcuts, linked providers."""

from contextlib import suppress
from datetime import timedelta

from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.auth import update_session_auth_hash
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render, resolve_url
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_POST
from kombu.exceptions import OperationalError

from accounts import actions, jobs
from accounts.access import get_own_token, get_used_link, who
from accounts.confirmation import confirmation_of, require_confirmed
from accounts.forms import (
    ConnectForm,
    FirstPasswordForm,
    ImageHostsForm,
    KeysForm,
    MailsForm,
    PasswordForm,
    ProfileForm,
    TokenForm,
)
from accounts.known_browsers import remember
from accounts.models import User
from accounts.permissions import is_public_account
from accounts.providers import CONNECT, get_provider, providers
from accounts.queries import (
    address_changed_since,
    connections_of,
    has_first_password,
    password_links_of,
    sessions_of,
    tokens_of,
)
from accounts.sessions import began_with
from accounts.views.providers import onward
from shared.errors import Invalid, NotFound
from shared.forms import explaining, form_page, in_messages


@login_required
@never_cache
def me(request: HttpRequest) -> HttpResponse:
    """Name, theme, keys, sign-in, sessions, tokens."""
    return _page(request)


@login_required
@require_POST
def change_profile(request: HttpRequest) -> HttpResponse:
    user = who(request)
    form = ProfileForm(request.POST, has_password=user.has_usable_password())
    if form.is_valid():
        address, was_changed = user.email, address_changed_since(user, timezone.now() - timedelta(days=1))
        with explaining(form, caught=Invalid):
            actions.rename_user(
                user=user,
                full_name=form.cleaned_data["full_name"],
                email=form.cleaned_data["email"],
                confirmation=confirmation_of(request, form.own_password),
            )
            if settings.SENDS_EMAIL and address and user.email != address and not was_changed:
                with suppress(OperationalError):  # the address is saved, and the log has it
                    jobs.send_later(address, "Your e-mail address for Concord was changed", _moved(user))
            messages.success(request, "Your name and address are saved.")
            return redirect("me")
    return _page(request, profile=form)


def _moved(user: User) -> str:
    return (
        f"{user.display_name},\n\nthe e-mail address of {user.username} was changed. E-mails to {user.username}, such "
        "as links for a new password, go to the new address from now on.\n\nIf this was not you, tell the server's "
        "operator at once.\n"
    )


@login_required
@require_POST
@sensitive_post_parameters("old", "new")
def change_password(request: HttpRequest) -> HttpResponse:
    """Who has none yet, and signs in by a provider, sets a first one."""
    user = who(request)
    has_one = user.has_usable_password()
    form = PasswordForm(request.POST) if has_one else FirstPasswordForm(request.POST)
    if form.is_valid():
        given = {"user": user, "keep": request.session.session_key, **form.cleaned_data}
        with explaining(form, caught=Invalid):
            if has_one:
                actions.change_password(**given)
            else:
                actions.first_password(confirmation=confirmation_of(request), **given)
            update_session_auth_hash(request, user)
            remember(request, user)
            messages.success(request, _password_done(form) if has_one else "Your password is set.")
            return redirect("me")
    return _page(request, password=form)


def _password_done(form: forms.Form) -> str:
    tokens = "all API tokens were revoked" if form.cleaned_data["revoke_tokens"] else "API tokens still work"
    return f"Your password is changed. Other browsers were signed out; {tokens}."


@login_required
@require_POST
def choose_theme(request: HttpRequest) -> HttpResponse:
    actions.choose_theme(user=who(request), theme=request.POST.get("theme", ""))
    return HttpResponse(status=204)


@login_required
@require_POST
def choose_keys(request: HttpRequest) -> HttpResponse:
    """All keys from the form of the page; `single` alone from the box in the sheet of keys."""
    user = who(request)
    if set(request.POST) - {"csrfmiddlewaretoken"} == {"only_single"}:
        actions.choose_keys(user=user, keys=user.keys | {"single": request.POST["only_single"] == "1"})
        return HttpResponse(status=204)
    form = KeysForm(request.POST)
    if form.is_valid():
        with explaining(form, caught=Invalid):
            actions.choose_keys(user=user, keys=form.cleaned_data)
            messages.success(request, "Your keys are saved. They apply from the next page on.")
            return redirect("me")
    return _page(request, keys=form)


@login_required
@require_POST
def choose_image_hosts(request: HttpRequest) -> HttpResponse:
    """All hosts from the form of the page; `host` adds one, from beside an image that was shown."""
    user = who(request)
    if host := request.POST.get("host"):
        actions.choose_image_hosts(user=user, hosts=[*user.image_hosts, host])
        return HttpResponse(status=204)
    form = ImageHostsForm(request.POST)
    if form.is_valid():
        with explaining(form, caught=Invalid):
            actions.choose_image_hosts(user=user, hosts=form.cleaned_data["hosts"].split())
            messages.success(request, "Your image hosts are saved.")
            return redirect("me")
    return _page(request, image_hosts=form)


@login_required
@require_POST
def choose_mails(request: HttpRequest) -> HttpResponse:
    form = MailsForm(request.POST)
    if not form.is_valid():
        return _page(request, mails=form)
    actions.choose_mails(user=who(request), wanted=form.cleaned_data["mails"])
    messages.success(request, "Your choice of e-mails is saved.")
    return redirect("me")


@form_page
@never_cache
def mails_off(request: HttpRequest, token: str) -> HttpResponse:
    """The link at the end of an e-mail: one button turns all of them off, without signing in."""
    try:
        person = actions.person_of_mails(token)
    except NotFound:
        return render(request, "accounts/mails_off.html", {"is_over": True}, status=404)
    if request.method == "POST":
        actions.choose_mails(user=person, wanted=[])
    return render(request, "accounts/mails_off.html", {"is_off": request.method == "POST"})


@login_required
@require_POST
def end_session(request: HttpRequest, number: str) -> HttpResponse:
    actions.end_session(user=who(request), number=number)
    messages.success(request, "That browser is signed out.")
    return redirect("me")


@login_required
@require_POST
def end_other_sessions(request: HttpRequest) -> HttpResponse:
    n = actions.end_other_sessions(user=who(request), keep=request.session.session_key)
    messages.success(request, f"{n} other session{' was' if n == 1 else 's were'} signed out.")
    return redirect("me")


@login_required
@require_POST
@never_cache
def connect(request: HttpRequest, key: str) -> HttpResponse:
    """Leads on to a provider by which the person wants to sign in from now on, once they confirmed who they are."""
    provider, user = get_provider(key), who(request)
    form = ConnectForm(request.POST, has_password=user.has_usable_password())
    if form.is_valid():
        with explaining(form, caught=Invalid):
            require_confirmed(user, confirmation_of(request, form.own_password))
            return onward(request, provider.key, CONNECT, resolve_url("me"))
    return _page(request, connecting=form)


@login_required
@require_POST
def disconnect(request: HttpRequest, account_id: int) -> HttpResponse:
    with in_messages(request):
        actions.disconnect_provider(user=who(request), account_id=account_id)
        messages.success(request, "The account is disconnected.")
    return redirect("me")


@login_required
@require_POST
def confirm_link(request: HttpRequest, link_id: int) -> HttpResponse:
    """Ends the notice that a password was set by a link."""
    link = get_used_link(link_id)
    actions.confirm_password_link(link=link, by=who(request), began_with=began_with(request))
    messages.success(request, "Confirmed. The notice is removed.")
    return redirect("operations" if link.user_id != who(request).pk else "me")


@login_required
@require_POST
@never_cache
def make_token(request: HttpRequest) -> HttpResponse:
    """Answers with the page that shows the new token: it is nowhere else, so there is no address to come back to."""
    user = who(request)
    form = TokenForm(request.POST, has_password=user.has_usable_password())
    if form.is_valid():
        with explaining(form, caught=Invalid):
            _, plaintext = actions.make_own_token(
                confirmation=confirmation_of(request, form.own_password),
                user=user,
                name=form.cleaned_data["name"],
                scope=form.cleaned_data["scope"],
                expires_at=form.expires_at,
            )
            return _page(request, plaintext=plaintext, status=201)
    return _page(request, token=form)


@login_required
@require_POST
def revoke_token(request: HttpRequest, token_id: int) -> HttpResponse:
    token = actions.revoke_token(token=get_own_token(who(request), token_id))
    messages.success(request, f"The token “{token.name}” no longer works.")
    return redirect("me")


def _page(
    request: HttpRequest,
    *,
    profile: forms.Form | None = None,
    password: forms.Form | None = None,
    token: forms.Form | None = None,
    keys: forms.Form | None = None,
    image_hosts: forms.Form | None = None,
    mails: forms.Form | None = None,
    connecting: forms.Form | None = None,
    plaintext: str = "",
    status: int = 0,
) -> HttpResponse:
    user = who(request)
    has_password, is_public = user.has_usable_password(), is_public_account(user)
    forms_sent = (profile, password, token, keys, image_hosts, mails, connecting)
    refused = any(form is not None and form.errors for form in forms_sent)
    connections = connections_of(user)
    connected = {each.key for each in connections}
    context = {
        "profile": profile
        or ProfileForm(initial={"full_name": user.get_full_name(), "email": user.email}, has_password=has_password),
        "password": password or (PasswordForm() if has_password else FirstPasswordForm()),
        "keys": keys or KeysForm(initial=KeysForm.of(user)),
        "image_hosts": image_hosts or ImageHostsForm(initial=ImageHostsForm.of(user)),
        "mails": mails or MailsForm(initial=MailsForm.of(user)),
        "sends_email": settings.SENDS_EMAIL,
        "sessions": sessions_of(user, request.session.session_key, only_this=is_public),
        "unconnected": [each for each in providers() if each.key not in connected],
        "connections": connections,
        "connecting": connecting or ConnectForm(has_password=has_password),
        "links": password_links_of(user),
        "has_first_password": has_first_password(user),
        "token": token or TokenForm(has_password=has_password),
        "sign_in_again": [] if has_password else [each for each in providers() if each.key in connected],
        "plaintext": plaintext,
        "tokens": tokens_of(user),
        "is_public": is_public,
    }
    return render(request, "accounts/me.html", context, status=status or (422 if refused else 200))
