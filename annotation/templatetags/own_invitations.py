"""Template tag for an account's own invitations."""

from django import template
from django.db.models import QuerySet

from accounts.models import User
from annotation.invitations.queries.own_invitations import invitations_of
from annotation.models import Membership

register = template.Library()


@register.simple_tag
def own_invitations(user: User) -> QuerySet[Membership]:
    """The invitations that wait for the answer of this account."""
    return invitations_of(user)
