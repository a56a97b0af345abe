"""Sign-in, sign-out and a person's own page."""

from django import forms
from django.contrib import messages
from django.contrib.auth import update_session_auth_hash
from django.contrib.auth.decorators import login_required
from django.contrib.auth.views import LoginView, LogoutView
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.utils.decorators import method_decorator
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import ensure_csrf_cookie
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


@method_decorator(ensure_csrf_cookie, name="dispatch")
class SignInAgain(SignIn):
    """For a page that stays open when its session has ended: signs in the person whose page it is, and nobody else.

    A GET says who is signed in now (`person`, null: nobody) and brings the cookie that a POST needs; a POST takes
    `username`, `password` and `person`, the id of whose page it is. What the sign-in page refuses is refused here.
    """

    redirect_authenticated_user = False
    http_method_names = ["get", "post", "options"]

    def get(self, request: HttpRequest, *args: object, **kwargs: object) -> HttpResponse:
        return JsonResponse({"person": request.user.pk})

    def form_valid(self, form: SignInForm) -> HttpResponse:  # type: ignore[override]
        found, present = form.get_user(), self.request.user
        if str(found.pk) != self.request.POST.get("person"):
            return self._refuse("This page belongs to somebody else. Open it anew to go on under this name.", 409)
        if present.is_authenticated and present.pk != found.pk:
            name = present.get_username()
            return self._refuse(f"{name} is signed in in this browser now. Sign {name} out first, then try again.", 409)
        super().form_valid(form)
        return JsonResponse({"person": found.pk})

    def form_invalid(self, form: forms.Form) -> HttpResponse:
        return self._refuse(" ".join(str(text) for texts in form.errors.values() for text in texts), 422)

    def _refuse(self, message: str, status: int) -> HttpResponse:
        return JsonResponse({"message": message}, status=status)


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
