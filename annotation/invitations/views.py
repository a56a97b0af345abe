"""Own invitations of an account: buttons that accept and decline."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from accounts.models import User
from annotation.invitations.queries.own_invitations import invitation_to


def invitation_instead(request: HttpRequest, slug: str) -> HttpResponse | None:
    """The invitation with its buttons, for an account that was invited to this study and has not answered."""
    found = invitation_to(request.user, slug) if isinstance(request.user, User) else None
    if found is None:
        return None
    return render(request, "annotation/invitations/own_invitation.html", {"own_invitations": [found]})
