"""Confirmation of identity: a signed-in user signs in again before a change that could give the account away.

A stolen session is then not enough to set a password or e-mail address, to create a token, to link a way to sign in, or
to close the account.
"""

import time
from dataclasses import dataclass

from django.http import HttpRequest

from accounts.models import User
from shared.errors import Invalid, TooMany
from shared.rate_limits import CONFIRMATIONS, count, give_back, in_minutes

PROVIDER_SECONDS = 600
_AT_PROVIDER = "at_provider"


@dataclass(frozen=True)
class Confirmation:
    """What someone shows again: their password, or when they last signed in by a provider in this session."""

    password: str = ""
    at_provider: float | None = None


def note_provider_sign_in(request: HttpRequest) -> None:
    """Writes into the session that a provider just said who this is."""
    request.session[_AT_PROVIDER] = time.time()


def confirmation_of(request: HttpRequest, password: str = "") -> Confirmation:
    return Confirmation(password, request.session.get(_AT_PROVIDER))


def is_confirmed_by_provider(at_provider: float | None) -> bool:
    return at_provider is not None and 0 <= time.time() - at_provider < PROVIDER_SECONDS


def require_confirmed(user: User, confirmation: Confirmation, *, field: str = "password") -> None:
    """Raises Invalid unless the password is right, or, for who has none, they just signed in by a provider.

    Raises TooMany after too many wrong passwords, whichever form asked for them; `field` is the form's name of it.
    """
    if not user.has_usable_password():
        if is_confirmed_by_provider(confirmation.at_provider):
            return
        raise Invalid(
            "Sign in with your provider once more, then try again within 10 minutes. Nothing was changed.",
            code="sign_in_again",
        )
    counted = count((CONFIRMATIONS, str(user.pk)))
    if counted.wait_seconds:
        wait = in_minutes(counted.wait_seconds)
        raise TooMany(f"There were too many wrong passwords. Wait {wait}.", wait_seconds=counted.wait_seconds)
    if not user.check_password(confirmation.password):
        sentence = "This is not your password." if confirmation.password else "Enter your password to confirm this."
        raise Invalid("Nothing was changed.", fields={field: [sentence]})
    give_back(counted)
