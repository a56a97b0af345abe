"""Template tags and filters for discussions and the inbox."""

from typing import Any

from django import template

from accounts.models import User
from annotation.inbox.queries import n_unread
from annotation.models import Membership, Study

register = template.Library()


@register.simple_tag(takes_context=True)
def inbox_count(context: Any) -> int:
    """How many unread lines the one who looks has; one query, once in a request."""
    request = context.get("request")
    user = getattr(request, "user", None)
    if not isinstance(user, User):
        return 0
    if not hasattr(request, "inbox_count"):
        request.inbox_count = n_unread(user)
    found: int = request.inbox_count
    return found


@register.filter
def author_name(member: Membership, study: Study) -> str:
    """A rater by code, or by name where the study shows names; who has no code, by name."""
    return member.signed_name if study.names_shown or not member.code else member.code


@register.filter
def named(code: str, names: dict[str, str]) -> str:
    """The name that goes with a code, where the study shows names; else nothing."""
    return names.get(code, "") if names else ""
