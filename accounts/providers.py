"""Sign-in providers: GitHub and OpenID Connect, and which account a provider's identity belongs to.

allauth talks to the provider. This module alone decides which account that is, and whether it may sign in.
"""

import logging
import secrets
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from allauth.core.exceptions import ImmediateHttpResponse
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter, get_adapter
from allauth.socialaccount.models import SocialLogin
from allauth.socialaccount.providers.base.constants import AuthError
from allauth.socialaccount.providers.oauth2.client import OAuth2Error
from allauth.socialaccount.providers.openid_connect.provider import OpenIDConnectProvider
from django.conf import settings
from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render, resolve_url
from django.utils.crypto import salted_hmac

from accounts.actions import connect_provider
from accounts.confirmation import note_provider_sign_in
from accounts.identities import identity
from accounts.models import User
from accounts.openid import NONCE, is_answer
from accounts.queries import proves_person
from accounts.sessions import sign_in
from shared.errors import Conflict, NotFound
from shared.names import clean_name

logger = logging.getLogger(__name__)

LOGIN, CONNECT = "login", "connect"
INVITATION = "invitation"
"""Where a session keeps the link of an invitation while its bearer is at a provider."""
AT_THE_DOOR = "at_the_door"
"""Where it keeps who came back from a provider with an invitation, and has no account yet."""


@dataclass(frozen=True)
class Provider:
    """A provider by the word in its addresses and the name on its button."""

    key: str
    name: str


def providers() -> list[Provider]:
    """Those that are configured, in the order of their buttons."""
    return [Provider(key, name) for key, name in settings.SIGN_IN_PROVIDERS.items()]


def get_provider(key: str) -> Provider:
    """A configured provider by the word in an address; raises NotFound."""
    found = next((each for each in providers() if each.key == key), None)
    if found is None:
        raise NotFound("Unknown sign-in method.")
    return found


def way_to(request: HttpRequest, provider: Provider, *, process: str, after: str) -> str:
    """The address at the provider where someone says who they are; the session holds the state that comes back."""
    there = get_adapter().get_provider(request, provider.key)
    nonce: dict[str, Any] = {}
    if isinstance(there, OpenIDConnectProvider):
        once = secrets.token_urlsafe(24)
        nonce = {NONCE: once, "auth_params": {**there.get_auth_params(), NONCE: once}}
    answer = there.redirect(request, process=process, next_url=after, **nonce)
    return str(answer["Location"])


@dataclass(frozen=True)
class Stranger:
    """Someone whom a provider knows and Concord does not."""

    provider: str
    uid: str
    called: str
    full_name: str
    email: str

    @property
    def provider_name(self) -> str:
        return settings.SIGN_IN_PROVIDERS.get(self.provider, self.provider)

    @property
    def key(self) -> str:
        """What the form of a new account sends, so that it makes one only for who was named beside it."""
        return salted_hmac("concord.stranger", f"{self.provider} {self.uid}").hexdigest()


def at_the_door(request: HttpRequest) -> Stranger | None:
    """Who came back from a provider to this page of an invitation and has no account yet.

    Another invitation that is opened in the browser, then or later, can be another person's.
    """
    kept = request.session.get(AT_THE_DOOR, {})
    if kept.get("page") != request.path:
        return None
    return Stranger(**{name: value for name, value in kept.items() if name != "page"})


_held: ContextVar[ExitStack] = ContextVar("_held")


@contextmanager
def holding_accounts() -> Iterator[None]:
    """Around an answer to whoever comes back from a provider: accounts are held from `_hold` on until it is made.

    Not before: meanwhile a provider is asked, and the session is written to, which a link for a new password ends
    after it holds the account.
    """
    with ExitStack() as held:
        _held.set(held)
        yield


def _hold(**whose: Any) -> None:
    _held.get().enter_context(transaction.atomic())
    list(User.objects.select_for_update(no_key=True, of=("self",)).filter(**whose).order_by())


class ProviderAdapter(DefaultSocialAccountAdapter):
    """An account at a provider is a person's when they said so here; never because an e-mail address is the same."""

    def populate_user(self, request: HttpRequest, sociallogin: SocialLogin, data: Any) -> Any:
        """Keeps how they are called there: allauth would write down all that the provider says, at each sign-in.

        What the provider calls them by means them at its address alone, so that no other server speaks for them after
        an operator changed it. Holds the account that the identity belongs to before allauth looks for it: a link for
        a new password that is being used ends the connection before or after this sign-in, never in its middle.
        """
        account = sociallogin.account
        account.extra_data = {"called": _called(sociallogin)}
        account.uid = identity(account.provider, account.uid)
        _hold(socialaccount__provider=account.provider, socialaccount__uid=account.uid)
        return super().populate_user(request, sociallogin, data)

    def pre_social_login(self, request: HttpRequest, sociallogin: SocialLogin) -> None:
        """Answers whoever comes back from a provider; nothing of allauth's own sign-in and sign-up is left to do."""
        if not is_answer(sociallogin):
            raise OAuth2Error("the token answers another question")
        come_back = _connected if sociallogin.state.get("process") == CONNECT else _let_in
        raise ImmediateHttpResponse(come_back(request, sociallogin))

    def on_authentication_error(
        self, request: HttpRequest, provider: Any, error: Any = None, exception: Any = None, extra_context: Any = None
    ) -> None:
        """Someone turned back, or the provider's answer can't be used: one page says so, and how to go on."""
        name = getattr(provider, "name", "the provider")
        if error == AuthError.CANCELLED:
            said = f"Sign-in with {name} was cancelled."
        else:
            logger.warning("%s was not believed, or refused: %s", name, exception or request.GET.get("error", error))
            said = (
                f"{name} didn't confirm your identity. Try again. If it keeps failing, contact the server's operator."
            )
        raise ImmediateHttpResponse(refusal(request, said))


def refusal(request: HttpRequest, said: str, status: int = 403) -> HttpResponse:
    return render(request, "accounts/provider_failed.html", {"message": said}, status=status)


def _connected(request: HttpRequest, login: SocialLogin) -> HttpResponse:
    if not request.user.is_authenticated:
        return HttpResponseRedirect(resolve_url(settings.LOGIN_URL))
    name = login.account.get_provider().name
    try:
        connect_provider(
            user=request.user,
            provider=login.account.provider,
            uid=login.account.uid,
            called=login.account.extra_data["called"],
        )
    except Conflict as error:
        messages.error(request, error.message)
    else:
        messages.success(request, f"You can now sign in with {name}.")
    return HttpResponseRedirect(resolve_url("me"))


def _let_in(request: HttpRequest, login: SocialLogin) -> HttpResponse:
    name = login.account.get_provider().name
    after = login.get_redirect_url(request) or resolve_url(settings.LOGIN_REDIRECT_URL)
    if login.is_existing:
        if not login.user.is_active:
            return refusal(request, "This account may no longer sign in.")
        sign_in(request, login.user, is_independent=proves_person(login.account))
        note_provider_sign_in(request)
        return HttpResponseRedirect(after)
    if not request.session.get(INVITATION):
        said = (
            f"No account on this server is connected to this account at {name}. If you have an account here, "
            f"sign in with its password and connect {name} under My settings. Otherwise ask the owner of a "
            "study for an invitation."
        )
        return refusal(request, said)
    request.session[AT_THE_DOOR] = {
        "page": after,
        "provider": login.account.provider,
        "uid": login.account.uid,
        "called": login.account.extra_data["called"],
        "full_name": clean_name(login.user.get_full_name())[:250],
        "email": clean_name(login.user.email or ""),
    }
    return HttpResponseRedirect(after)


def _called(login: SocialLogin) -> str:
    """What the provider calls them, to know the connection by."""
    said = login.account.extra_data
    said = {**said, **(said.get("id_token") or {}), **(said.get("userinfo") or {})}
    words = [said.get(name) for name in ("login", "preferred_username", "email", "name")]
    return next(filter(None, (clean_name(str(each))[:150] for each in words if each)), login.account.uid)
