"""Own invitations of an account: buttons that accept and decline."""

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from annotation.core.pages import me
from annotation.invitations.actions import own_invitations as actions
from annotation.members.actions import leaving


@login_required
@require_POST
def accept(request: HttpRequest, key: str) -> HttpResponse:
    member = actions.accept(user=me(request), key=key)
    code = f" Your answers are stored under {member.code}." if member.code else ""
    messages.success(request, f"You joined “{member.study.title}” as {' and '.join(member.roles)}.{code}")
    return redirect("study", member.study.slug)


@login_required
@require_POST
def decline(request: HttpRequest, key: str) -> HttpResponse:
    leaving.decline(user=me(request), key=key)
    messages.success(request, "You declined the invitation. The owner of the study sees that.")
    return redirect("home")
