"""From a person and an identifier to what they may touch."""

from typing import cast

from django.http import HttpRequest
from django.utils import timezone

from accounts.errors import NotFound
from accounts.models import ApiToken, PasswordLink, User, digest


def who(request: HttpRequest) -> User:
    """Who is asking, in a view that only lets people in who are signed in."""
    return cast(User, request.user)


def get_own_token(user: User, token_id: int) -> ApiToken:
    """One of this person's tokens; raises NotFound for anyone else's."""
    token = ApiToken.objects.filter(user=user, pk=token_id).first()
    if token is None:
        raise NotFound("There is no such token.")
    return token


def get_password_link(plaintext: str) -> PasswordLink:
    """The link that an address stands for; raises NotFound for one that was used, has ended or never was."""
    rows = PasswordLink.objects.select_related("user").filter(used_at=None, expires_at__gt=timezone.now())
    link = rows.filter(digest=digest(plaintext), user__is_active=True).first()
    if link is None:
        raise NotFound(
            "This link for a new password was used already, or has ended. Whoever sent it to you can make a new one."
        )
    return link


def get_used_link(link_id: int) -> PasswordLink:
    """A link that a password was set by; who may confirm it is for the action to know. Raises NotFound."""
    link = PasswordLink.objects.select_related("user").filter(pk=link_id, used_at__isnull=False).first()
    if link is None:
        raise NotFound("There is no such link.")
    return link


def get_user(username: str) -> User:
    """A person by name, whatever its case; raises NotFound."""
    user = User.objects.filter(username__iexact=username.strip()).first()
    if user is None:
        raise NotFound(f"There is nobody named {username.strip()}.", code="no_such_user")
    return user
