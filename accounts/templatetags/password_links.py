"""Template tags for the notice that a password was set by a link."""

from dataclasses import dataclass

from django import template
from django.http import HttpRequest

from accounts.access import who
from accounts.models import PasswordLink
from accounts.queries import unconfirmed_links
from accounts.sessions import began_with

register = template.Library()


@dataclass(frozen=True)
class Notice:
    """A link that a password was set by, and whether this session may confirm it."""

    link: PasswordLink
    may_confirm: bool


@register.simple_tag
def password_notices(request: HttpRequest) -> list[Notice]:
    """What the person who is signed in has not confirmed."""
    session_link = began_with(request)
    return [Notice(each, session_link != each.pk) for each in unconfirmed_links(who(request))]


@register.simple_tag
def links_to_confirm() -> list[PasswordLink]:
    """Links of all people that nobody has confirmed, for staff."""
    return list(unconfirmed_links()[:50])
