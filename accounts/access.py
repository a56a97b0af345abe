"""Access to accounts: looks up a user, token, or password link, and checks that the caller may use it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

from django.http import HttpRequest
from django.utils import timezone

from accounts.models import ApiToken, PasswordLink, User, digest
from shared.errors import NotFound


def who(request: HttpRequest) -> User:
    """Who is asking, in a view that only lets people in who are signed in."""
    return cast(User, request.user)


def get_own_token(user: User, token_id: int) -> ApiToken:
    """One of this person's tokens; raises NotFound for anyone else's."""
    token = ApiToken.objects.filter(user=user, pk=token_id).first()
    if token is None:
        raise NotFound("Token not found.")
    return token


@dataclass(frozen=True)
class LinkKeeper:
    """What studies have to say of a link that an owner made: whether the owner could make it now, and its record."""

    may_still_make: Callable[[PasswordLink], bool]
    record_use: Callable[[PasswordLink], None]


keepers_of_links: list[LinkKeeper] = []


def links_of_owners(keeper: LinkKeeper) -> None:
    """Registers what is asked before an owner's link is opened or used, and told when it is used."""
    if keeper not in keepers_of_links:
        keepers_of_links.append(keeper)


def get_password_link(plaintext: str) -> PasswordLink:
    """The link that an address stands for; raises NotFound for one that is not good any more, or never was."""
    return get_good_link(digest=digest(plaintext))


def get_good_link(**which: Any) -> PasswordLink:
    """A link that may be opened and used now; raises NotFound for one that was used or has ended.

    One that staff or the owner of a study made has also ended once they could not make it now, and one of an owner once
    its person signed in.
    """
    rows = PasswordLink.objects.select_related("user", "made_by").filter(used_at=None, expires_at__gt=timezone.now())
    link = rows.filter(**which, user__is_active=True).first()
    if link is None or (link.made_by is not None and not _is_as_it_was(link)):
        raise NotFound("This password link was already used or has expired. Ask the person who sent it for a new one.")
    return link


def _is_as_it_was(link: PasswordLink) -> bool:
    """Whether nothing came in between that ends a link of staff or an owner."""
    signed_in_at = link.user.last_login
    if link.of_study is not None and signed_in_at is not None and signed_in_at >= link.created_at:
        return False
    return all(each.may_still_make(link) for each in keepers_of_links)


def get_used_link(link_id: int) -> PasswordLink:
    """A link that a password was set by; who may confirm it is for the action to know. Raises NotFound."""
    link = PasswordLink.objects.select_related("user").filter(pk=link_id, used_at__isnull=False).first()
    if link is None:
        raise NotFound("Link not found.")
    return link


def get_user(username: str) -> User:
    """A person by name, whatever its case; raises NotFound."""
    user = User.named(username).first()
    if user is None:
        raise NotFound(f"No user is named {username.strip()}.", code="no_such_user")
    return user
