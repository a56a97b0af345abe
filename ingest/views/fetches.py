"""Fetch page: progress of a run, its errors, and rejected rows."""

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST

from accounts.access import who
from ingest import queries
from ingest.access import get_run
from ingest.actions.fetches import cancel_run, continue_run
from ingest.views.paging import parse_key
from shared.site_links import onward

PAGE_ROWS = 50
CONTRADICTIONS_SHOWN = 100


@login_required
@never_cache
def fetch(request: HttpRequest, run_id: int) -> HttpResponse:
    """One run: how far it is, what stopped it, what was refused."""
    run = get_run(request.user, run_id)
    after = parse_key(request.GET.get("after")) or 0
    shown = list(queries.refusals(run).filter(pk__gt=after)[: PAGE_ROWS + 1]) if run.n_refused else []
    context = {
        "run": run,
        "refusals": shown[:PAGE_ROWS],
        "contradictions": queries.contradictions(run, CONTRADICTIONS_SHOWN),
        "row_shown": queries.ROW_SHOWN,
        "next_url": _more(request, shown[PAGE_ROWS - 1].pk) if len(shown) > PAGE_ROWS else None,
        "next": onward(request.GET.get("next")),
        "n_refusals_stored_most": queries.REFUSALS_KEPT,
    }
    return render(request, "ingest/fetch.html", context)


@login_required
@never_cache
def fetch_progress(request: HttpRequest, run_id: int) -> HttpResponse:
    """The part of a run's page that asks again by itself until the run is over; then the whole page is loaded."""
    run = get_run(request.user, run_id)
    answer = render(request, "ingest/_run.html", {"run": run, "next": onward(request.GET.get("next"))})
    if run.is_over:
        answer["HX-Refresh"] = "true"
    return answer


@login_required
@require_POST
def continue_fetch(request: HttpRequest, run_id: int) -> HttpResponse:
    continue_run(run=get_run(request.user, run_id), user=who(request))
    return redirect(onward(request.POST.get("next")) or reverse("fetch", args=[run_id]))


@login_required
@require_POST
def cancel_fetch(request: HttpRequest, run_id: int) -> HttpResponse:
    cancel_run(run=get_run(request.user, run_id), user=who(request))
    return redirect(onward(request.POST.get("next")) or reverse("fetch", args=[run_id]))


def _more(request: HttpRequest, after: int) -> str:
    """The URL of the next page of rejected rows."""
    query = request.GET.copy()
    query["after"] = str(after)
    return f"?{query.urlencode(safe='/')}#refusals"
