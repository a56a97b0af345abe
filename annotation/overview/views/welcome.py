"""Welcome page of a visitor, and sign-in to the demo with one click."""

from django.contrib.auth import logout
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST

from accounts.sessions import sign_in
from annotation.core.demo_people import SLUG, demo_people, is_demo_open

TRIED_AS = (("demo-alice", "rater"), ("demo-ada", "adjudicator"), ("demo-olga", "owner"))
"""Whom a visitor can try the demo as, each with the role."""


@never_cache
def welcome(request: HttpRequest) -> HttpResponse:
    """What Concord does, for whom, and how to sign in; the demo where it is loaded and open."""
    people = demo_people() if is_demo_open(request) else {}
    roles = [(name, role) for name, role in TRIED_AS if name in people]
    return render(request, "annotation/overview/welcome.html", {"demo_roles": roles})


@require_POST
def sign_in_to_demo(request: HttpRequest) -> HttpResponse:
    """Signs in as the person of the demo named by `person`, in place of a demo person who is signed in.

    404 where the demo is not open or has no such person; someone with an account of their own is not signed out.
    """
    people = demo_people() if is_demo_open(request) else {}
    person = people.get(request.POST.get("person", ""))
    if person is None:
        raise Http404
    if request.user.is_authenticated:
        if request.user.username not in people:
            return redirect("home")
        logout(request)
    sign_in(request, person, is_independent=True)
    return redirect("study", SLUG)
