"""Provider sign-in pages: a form and then a link, so that the form policy needs no exception."""

import logging

from allauth.socialaccount.providers.github.views import oauth2_callback as github_callback
from allauth.socialaccount.providers.oauth2.client import OAuth2Error
from django.contrib.sessions.backends.base import UpdateError
from django.contrib.sessions.exceptions import SessionInterrupted
from django.core.exceptions import ImproperlyConfigured
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render, resolve_url
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe
from requests import RequestException

from accounts import openid
from accounts.providers import INVITATION, LOGIN, get_provider, holding_accounts, refusal, way_to
from shared.rate_limits import LINKS, require_room

logger = logging.getLogger(__name__)
UNREADABLE = (
    RequestException, OAuth2Error, LookupError, ValueError, TypeError, AttributeError, ImproperlyConfigured
)  # fmt: skip
"""What allauth raises where a provider is away or answers something else than it should, such as an endless ID."""


@require_POST
@never_cache
def sign_in_with(request: HttpRequest, key: str) -> HttpResponse:
    """Answers with a page that leads on to the provider: a redirect after a form would need the policy's leave."""
    after = request.POST.get("next", "")
    if not url_has_allowed_host_and_scheme(
        after, allowed_hosts={request.get_host()}, require_https=request.is_secure()
    ):
        after = ""
    if not after.startswith("/invitations/"):
        request.session.pop(INVITATION, None)
    return onward(request, key, LOGIN, after or resolve_url("home"))


def onward(request: HttpRequest, key: str, process: str, after: str) -> HttpResponse:
    """Answers with the page that leads on to a provider. Raises SessionInterrupted where the session has ended."""
    provider = get_provider(key)
    require_room(request, LINKS)
    try:
        address = way_to(request, provider, process=process, after=after)
    except UpdateError as error:
        raise SessionInterrupted(str(error)) from error
    except UNREADABLE:
        logger.warning("%s can't be reached", provider.name, exc_info=True)
        return refusal(
            request, f"{provider.name} does not respond. Try again in a minute, or sign in with your password.", 503
        )
    return render(request, "accounts/onward.html", {"provider": provider, "address": address})


@require_safe
@never_cache
def come_back(request: HttpRequest, provider_id: str) -> HttpResponse:
    """Where a provider sends people back to, with its word of who they are.

    Raises SessionInterrupted where the session has ended.
    """
    provider = get_provider(provider_id)
    require_room(request, LINKS)
    answer: HttpResponse
    try:
        with holding_accounts():
            answer = github_callback(request) if provider.key == "github" else openid.come_back(request, provider_id)
    except UpdateError as error:
        raise SessionInterrupted(str(error)) from error
    except UNREADABLE:
        logger.warning("%s gave an answer that can't be read", provider.name, exc_info=True)
        return refusal(request, f"{provider.name} sent an invalid response. Try again in a minute.", 503)
    return answer
