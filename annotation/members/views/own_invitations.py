"""An account's own invitations to studies: the buttons that accept and decline them."""

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST

from accounts.models import User
from annotation.core.pages import me
from annotation.members.actions import own_invitations as actions
from annotation.members.queries.own_invitations import invitation_to


def invitation_instead(request: HttpRequest, slug: str) -> HttpResponse | None:
    """The invitation with its buttons, for an account that was invited to this study and has not answered."""
    found = invitation_to(request.user, slug) if isinstance(request.user, User) else None
    if found is None:
        return None
    return render(request, "annotation/invitations/own_invitation.html", {"own_invitations": [found]})


@login_required
@require_POST
def accept(request: HttpRequest, key: str) -> HttpResponse:
    member = actions.accept(user=me(request), key=key)
    code = f" Your answers are stored under {member.code}." if member.code else ""
    messages.success(request, f"You are now {' and '.join(member.roles)} of “{member.study.title}”.{code}")
    return redirect("study", member.study.slug)


@login_required
@require_POST
def decline(request: HttpRequest, key: str) -> HttpResponse:
    actions.decline(user=me(request), key=key)
    messages.success(request, "You declined the invitation. The owner of the study sees that.")
    return redirect("home")
