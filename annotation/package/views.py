"""Replication package page: its contents, the people in it, and a button that creates it."""

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse

from annotation.core.access import OWNER, get_seat
from annotation.core.errors import Forbidden
from annotation.core.pages import in_archive_too, me, study_page
from annotation.exports.actions import request_export
from annotation.models import Round
from annotation.package.forms import PackageForm
from annotation.package.queries.package import in_sight
from annotation.package.queries.tables import n_answers
from shared.forms import explaining, form_page
from shared.site_links import absolute


@in_archive_too
@login_required
@form_page
def package(request: HttpRequest, slug: str) -> HttpResponse:
    """Asks for the package; for owners. Its row and file stand among the exports."""
    seat = get_seat(me(request), slug)
    seat.require(OWNER)
    form = PackageForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        with explaining(form, passing=Forbidden):
            request_export(seat=seat, what="package", format="zip", options=form.options)
            return redirect(f"{reverse('exports', args=[slug])}#made")
    rounds = in_sight(seat)
    every = Round.objects.filter(study=seat.study).exclude(state__in=[Round.State.DRAFT, Round.State.UNDONE])
    hidden = every.exclude(pk__in=[each.pk for each in rounds]).order_by("number")
    return study_page(
        request,
        seat,
        "package/package",
        "exports",
        status=422 if form.errors else 200,
        form=form,
        rounds=rounds,
        n_answers=n_answers(rounds),
        hidden=list(hidden.values_list("number", flat=True)),
        address=absolute(f"/api/v1/studies/{slug}/exports/"),
    )
