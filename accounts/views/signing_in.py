"""Sign-in and sign-out pages, with sign-in inside another page."""

from typing import Any

from django.contrib import messages
from django.contrib.auth.views import LoginView, LogoutView
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.urls import reverse
from django.utils.decorators import method_decorator
from django.utils.html import format_html
from django.views.decorators.csrf import ensure_csrf_cookie

from accounts.actions import told_of_links
from accounts.forms import SignInForm
from accounts.models import User
from accounts.providers import providers
from accounts.queries import has_first_password
from accounts.sessions import sign_in


def patient(answer: HttpResponse, wait_seconds: int) -> HttpResponse:
    """Says when it may be tried again, where it must be waited."""
    if wait_seconds:
        answer["Retry-After"] = str(wait_seconds)
    return answer


class SignIn(LoginView):
    """Who is signed in already is sent on."""

    template_name = "accounts/sign_in.html"
    form_class = SignInForm
    redirect_authenticated_user = True

    def get_context_data(self, **more: Any) -> dict[str, Any]:
        return super().get_context_data(**more) | {"providers": providers()}

    def form_valid(self, form: SignInForm) -> HttpResponse:  # type: ignore[override]
        self.enter(form)
        return HttpResponseRedirect(self.get_success_url())

    def form_invalid(self, form: SignInForm) -> HttpResponse:  # type: ignore[override]
        answer = self.render_to_response(self.get_context_data(form=form), status=429 if form.wait_seconds else 422)
        return patient(answer, form.wait_seconds)

    def enter(self, form: SignInForm) -> None:
        """Signs in who was found, and tells them what happened to their account meanwhile."""
        user = form.get_user()
        assert isinstance(user, User)
        sign_in(self.request, user)
        if has_first_password(user):
            words = "You signed in with the password that was generated for you, which others may have seen."
            place = f"{reverse('me')}#password"
            messages.warning(self.request, format_html('{} <a href="{}">Choose your own password</a>', words, place))
        for link in told_of_links(user=user):
            became = "and it was used" if link.used_at else "and it was not used"
            by = link.made_by.signed_name if link.made_by else "Someone"
            messages.warning(
                self.request,
                f"{by} created a password link for you on {link.created_at:%-d %B %Y}, {became}. If you did "
                "not request it, tell the server's operator.",
            )


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
            return self._refuse("This page belongs to another user. Reload it to continue under this name.", 409)
        if present.is_authenticated and present.pk != found.pk:
            name = present.get_username()
            return self._refuse(f"{name} is signed in in this browser. Sign out {name} first, then try again.", 409)
        self.enter(form)
        return JsonResponse({"person": found.pk})

    def form_invalid(self, form: SignInForm) -> HttpResponse:  # type: ignore[override]
        said = " ".join(str(text) for texts in form.errors.values() for text in texts)
        return patient(self._refuse(said, 429 if form.wait_seconds else 422), form.wait_seconds)

    def _refuse(self, message: str, status: int) -> HttpResponse:
        return JsonResponse({"message": message}, status=status)


class SignOut(LogoutView):
    http_method_names = ["post", "options"]
