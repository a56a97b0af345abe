"""Duplicates page of a sample: the search, the groups, and excluded issues."""

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from annotation.choosing.actions import duplicates as actions
from annotation.choosing.queries import duplicates as queries
from annotation.choosing.queries.samples import reasons_of
from annotation.choosing.views.samples import said_of_screening
from annotation.core.access import ADJUDICATOR, OWNER, get_sample, get_seat
from annotation.core.errors import Invalid
from annotation.core.pages import job_progress, me, study_page
from annotation.core.paging import page_of
from annotation.labels.screening import OUT
from annotation.models import BulkJob
from shared.forms import form_page

PAGE_ROWS = 200


@login_required
@form_page
def sample_duplicates(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """The groups; a POST searches (`search`), or screens out what is chosen (`issues`), or `all` but the first ones."""
    seat = get_seat(me(request), slug)
    seat.require(OWNER, ADJUDICATOR)
    sample = get_sample(seat, pk)
    job = queries.search_of(sample)
    if part := job_progress(request, lambda: job):
        return part
    refusal, status = "", 200
    if request.method == "POST" and "search" in request.POST:
        actions.find_duplicates(seat=seat, sample=sample)
        return redirect("sample_duplicates", slug, pk)
    if request.method == "POST":
        chosen = ["all"] if "all" in request.POST else request.POST.getlist("issues")
        try:
            done = actions.exclude_duplicates(
                seat=seat,
                sample=sample,
                issues=chosen,
                reason=request.POST.get("reason", ""),
                expected=request.POST.get("suggested") if chosen == ["all"] else None,
            )
        except Invalid as error:
            refusal, status = next(iter(error.fields.values()))[0], 422
        else:
            messages.success(request, said_of_screening(done, OUT, seat.study))
            return redirect(request.get_full_path())
    rows = queries.likely_duplicates(seat, sample)
    page = page_of(request, rows, size=PAGE_ROWS)
    return study_page(
        request,
        seat,
        "choosing/duplicates",
        "rounds",
        status=status,
        sample=sample,
        job=job if job and job.state != BulkJob.State.DONE else None,
        search=job if job and job.state == BulkJob.State.DONE else None,
        hidden=queries.hidden_search(seat, sample),
        page=page,
        refusal=refusal,
        reason=request.POST.get("reason", "") or actions.REASON,
        reasons=list(dict.fromkeys([actions.REASON, *reasons_of(seat.study)])),
        found=queries.n_found(rows),
        suggested=queries.suggested_state(rows) if page.next_url or page.previous_url else "",
    )
