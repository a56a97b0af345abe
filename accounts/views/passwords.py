"""Password reset pages: request by e-mail, and a new password by a link."""

from contextlib import suppress

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from kombu.exceptions import OperationalError

from accounts import actions, jobs, queries
from accounts.access import get_password_link
from accounts.forms import EmailForm, FirstPasswordForm
from accounts.models import User
from shared.errors import Invalid, NotFound
from shared.forms import explaining, form_page
from shared.rate_limits import LINKS, RESETS_OF_ADDRESS, require_room
from shared.site_links import absolute
from shared.wording import series


@form_page
@never_cache
def lost_password(request: HttpRequest) -> HttpResponse:
    """Says the same, and as quickly, whether or not the address is someone's: a worker looks for it.

    So it does above the limit of an address, where the worker sends no more: a stranger may have used it up.
    """
    form = EmailForm(request.POST or None)
    is_sent = False
    if settings.SENDS_EMAIL and form.is_valid():
        address = form.cleaned_data["email"]
        require_room(request, RESETS_OF_ADDRESS)
        jobs.send_password_links.delay(address, absolute("/"))
        is_sent = True
    context = {"form": form, "is_sent": is_sent, "sends": settings.SENDS_EMAIL}
    return render(request, "accounts/lost_password.html", context, status=422 if form.errors else 200)


@form_page
@never_cache
@sensitive_post_parameters("new")
def new_password(request: HttpRequest, token: str) -> HttpResponse:
    """The page of a link; it does not sign in, so that a link alone opens nothing but this."""
    require_room(request, LINKS)
    try:
        link = get_password_link(token)
    except NotFound as error:
        return render(request, "accounts/link_over.html", {"message": error.message}, status=404)
    form = FirstPasswordForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        is_from_elsewhere = not link.by_email or queries.is_to_former_address(link)
        is_recovery = is_from_elsewhere and link.of_study is None
        with explaining(form, caught=Invalid):
            ended = actions.use_password_link(link=link, new=form.cleaned_data["new"])
            if settings.SENDS_EMAIL and link.user.email:
                with suppress(OperationalError):  # the password is set; every page of the person tells it, too
                    jobs.send_link_notice.delay(link.user.pk, link.user.email)
            messages.success(
                request, "Your new password is set, and all API tokens of the account were revoked. Sign in with it."
            )
            if ended:
                messages.warning(
                    request,
                    f"Removed, because they were added in the last 30 days: {series(ended)}. Add them again under "
                    "“My settings” if they are yours.",
                )
            if is_recovery and (left := queries.ways_in_of(User.objects.get(pk=link.user_id))):
                messages.warning(
                    request,
                    f"These also open your account: {'; '.join(left)}. Sign in, then remove under “My settings” what "
                    "is not yours.",
                )
            return redirect("sign_in")
    context = {"form": form, "person": link.user}
    return render(request, "accounts/new_password.html", context, status=422 if form.errors else 200)
