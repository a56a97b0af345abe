"""Welcome page of a visitor, and sign-in to the demo with one click."""

from django.contrib.auth import logout
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST

from accounts.sessions import sign_in
from annotation.core.access import get_seat
from annotation.core.demo_people import SLUG, demo_people, is_demo_open
from annotation.overview.views.next_step import next_step
from annotation.rounds.queries import round_lines

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

    A visitor comes to the overview; someone who switches person comes to the work that waits for that person, if any.
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
        seat = get_seat(person, SLUG)
        lines = round_lines(seat.study.rounds.all(), seat=seat, with_raters=True)
        step = next_step(seat, lines, n_raters=len(people), n_samples=1)
        return redirect(step.address if step.is_own else reverse("study", args=[SLUG]))
    sign_in(request, person, is_independent=True)
    return redirect("study", SLUG)
