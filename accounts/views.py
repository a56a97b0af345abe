"""Sign-in, sign-out and a person's own page."""

from django import forms
from django.contrib import messages
from django.contrib.auth import update_session_auth_hash
from django.contrib.auth.decorators import login_required
from django.contrib.auth.views import LoginView, LogoutView
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_POST

from accounts import actions
from accounts.access import get_own_token, who
from accounts.errors import Invalid
from accounts.forms import PasswordForm, ProfileForm, SignInForm, TokenForm
from accounts.queries import tokens_of


class SignIn(LoginView):
    """Who is signed in already is sent on."""

    template_name = "accounts/sign_in.html"
    form_class = SignInForm
    redirect_authenticated_user = True

    def form_invalid(self, form: forms.Form) -> HttpResponse:
        return self.render_to_response(self.get_context_data(form=form), status=422)


class SignOut(LogoutView):
    http_method_names = ["post", "options"]


@login_required
@never_cache
def me(request: HttpRequest) -> HttpResponse:
    """Name, password, tokens, theme."""
    return _page(request)


@login_required
@require_POST
def change_profile(request: HttpRequest) -> HttpResponse:
    form = ProfileForm(request.POST)
    if form.is_valid():
        try:
            actions.rename_user(user=who(request), **form.cleaned_data)
        except Invalid as error:
            _explain(form, error)
        else:
            messages.success(request, "Your name and address are saved.")
            return redirect("me")
    return _page(request, profile=form)


@login_required
@require_POST
@sensitive_post_parameters("old", "new")
def change_password(request: HttpRequest) -> HttpResponse:
    form = PasswordForm(request.POST)
    if form.is_valid():
        try:
            actions.change_password(user=who(request), **form.cleaned_data)
        except Invalid as error:
            _explain(form, error)
        else:
            update_session_auth_hash(request, who(request))
            messages.success(request, "Your password is changed. Other browsers were signed out.")
            return redirect("me")
    return _page(request, password=form)


@login_required
@require_POST
@never_cache
def make_token(request: HttpRequest) -> HttpResponse:
    """Answers with the page that shows the new token: it is nowhere else, so there is no address to come back to."""
    form = TokenForm(request.POST)
    if form.is_valid():
        try:
            _, plaintext = actions.make_token(
                user=who(request),
                name=form.cleaned_data["name"],
                scope=form.cleaned_data["scope"],
                expires_at=form.expires_at,
            )
        except Invalid as error:
            _explain(form, error)
        else:
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
    plaintext: str = "",
    status: int = 0,
) -> HttpResponse:
    user = who(request)
    refused = any(form is not None and form.errors for form in (profile, password, token))
    context = {
        "profile": profile or ProfileForm(initial={"full_name": user.get_full_name(), "email": user.email}),
        "password": password or PasswordForm(),
        "token": token or TokenForm(),
        "plaintext": plaintext,
        "tokens": tokens_of(user),
    }
    return render(request, "accounts/me.html", context, status=status or (422 if refused else 200))


def _explain(form: forms.Form, error: Invalid) -> None:
    """Puts what an action refused beside the fields it speaks of."""
    placed = {name: sentences for name, sentences in error.fields.items() if name in form.fields}
    for name, sentences in placed.items():
        for sentence in sentences:
            form.add_error(name, sentence)
    if not placed:
        form.add_error(None, error.message)
