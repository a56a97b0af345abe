"""Pages of repositories, fetches and issues."""

from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST

from accounts.errors import ConcordError
from ingest import queries
from ingest.access import get_issue, get_run
from ingest.actions import cancel_run, continue_run, start_fetch, start_file_fetch
from ingest.errors import Invalid
from ingest.forms import FetchForm, UploadForm, explain

PAGE_ROWS = 50
RUNS_SHOWN = 10
REPOSITORIES_SHOWN = 500


@login_required
def repositories(request: HttpRequest) -> HttpResponse:
    """What is fetched, and the forms to fetch more."""
    return _repositories(request)


@login_required
@require_POST
def fetch_repository(request: HttpRequest) -> HttpResponse:
    form = FetchForm(request.POST, auto_id="fetch_%s")
    if form.is_valid():
        try:
            run = start_fetch(user=request.user, **form.asked())  # type: ignore[arg-type]
        except ConcordError as error:
            explain(form, error)
        else:
            return redirect("fetch", run.pk)
    return _repositories(request, fetch_form=form)


@login_required
@require_POST
def upload_file(request: HttpRequest) -> HttpResponse:
    form = UploadForm(request.POST, request.FILES, auto_id="upload_%s")
    if form.is_valid():
        try:
            run = start_file_fetch(user=request.user, **form.cleaned_data)  # type: ignore[arg-type]
        except ConcordError as error:
            explain(form, error)
        else:
            return redirect("fetch", run.pk)
    return _repositories(request, upload_form=form)


def _repositories(
    request: HttpRequest, fetch_form: FetchForm | None = None, upload_form: UploadForm | None = None
) -> HttpResponse:
    """The page; 422 when one of the forms comes back with errors. Three queries."""
    rows = list(queries.repositories(request.user)[:REPOSITORIES_SHOWN])
    runs = queries.runs(request.user)
    last = runs.in_bulk([row.last_run_id for row in rows if row.last_run_id])
    context = {
        "rows": [(row, last.get(row.last_run_id)) for row in rows],
        "runs": runs[:RUNS_SHOWN],
        "fetch_form": fetch_form or FetchForm(initial={"state": "all"}, auto_id="fetch_%s"),
        "upload_form": upload_form or UploadForm(auto_id="upload_%s"),
    }
    status = 422 if fetch_form or upload_form else 200
    return render(request, "ingest/repositories.html", context, status=status)


@login_required
@never_cache
def fetch(request: HttpRequest, run_id: int) -> HttpResponse:
    """One run: how far it is, what stopped it, what was refused."""
    run = get_run(request.user, run_id)
    refusals = run.refusals.filter(pk__gt=_number(request.GET.get("after")) or 0)
    shown = list(refusals[: PAGE_ROWS + 1])
    context = {
        "run": run,
        "refusals": shown[:PAGE_ROWS],
        "next_url": f"?after={shown[PAGE_ROWS - 1].pk}#refusals" if len(shown) > PAGE_ROWS else None,
        "n_refusals_stored_most": queries.REFUSALS_KEPT,
    }
    return render(request, "ingest/fetch.html", context)


@login_required
@never_cache
def fetch_progress(request: HttpRequest, run_id: int) -> HttpResponse:
    """The part of a run's page that asks again by itself until the run is over; then the whole page is loaded."""
    run = get_run(request.user, run_id)
    answer = render(request, "ingest/_run.html", {"run": run})
    if run.is_over:
        answer["HX-Refresh"] = "true"
    return answer


@login_required
@require_POST
def continue_fetch(request: HttpRequest, run_id: int) -> HttpResponse:
    continue_run(run=get_run(request.user, run_id))
    return redirect("fetch", run_id)


@login_required
@require_POST
def cancel_fetch(request: HttpRequest, run_id: int) -> HttpResponse:
    cancel_run(run=get_run(request.user, run_id))
    return redirect("fetch", run_id)


@login_required
def issues(request: HttpRequest) -> HttpResponse:
    """Every issue stored that this person may see, in pages that follow a key."""
    words = {name: request.GET.get(name, "").strip() for name in ("repository", "state", "label", "search")}
    problem = ""
    try:
        found = queries.issues(request.user, **words)
    except Invalid as error:
        problem = " ".join(sentence for sentences in error.fields.values() for sentence in sentences) or error.message
        found = queries.issues(request.user).none()
    after, before = _number(request.GET.get("after")), _number(request.GET.get("before"))
    if before:
        back = list(found.filter(pk__gt=before).order_by("pk")[: PAGE_ROWS + 1])
        rows, more_before, more_after = back[:PAGE_ROWS][::-1], len(back) > PAGE_ROWS, True
    else:
        forth = list((found.filter(pk__lt=after) if after else found)[: PAGE_ROWS + 1])
        rows, more_before, more_after = forth[:PAGE_ROWS], bool(after), len(forth) > PAGE_ROWS
    context = {
        "rows": rows,
        "words": words,
        "asked": any(words.values()),
        "problem": problem,
        "repositories": queries.repositories(request.user)[:REPOSITORIES_SHOWN],
        "previous_url": _page_url(words, before=rows[0].pk) if rows and more_before else None,
        "next_url": _page_url(words, after=rows[-1].pk) if rows and more_after else None,
    }
    return render(request, "ingest/issues.html", context, status=422 if problem else 200)


@login_required
def issue(request: HttpRequest, owner: str, name: str, number: int, host: str = "") -> HttpResponse:
    """One issue as GitHub shows it, and which snapshots of it there are."""
    found = get_issue(request.user, f"{host}/{owner}/{name}" if host else f"{owner}/{name}", number)
    snapshots = list(found.snapshots.defer("body").select_related("run").order_by("-pk"))
    shown = found.current_snapshot
    if wanted := request.GET.get("snapshot"):
        shown = found.snapshots.filter(sha256__startswith=wanted[:64].replace("\x00", "")).first() or shown
    assert shown is not None
    context = {
        "issue": found,
        "snapshot": shown,
        "comments": list(shown.thread()) if shown.comments_known else [],
        "snapshots": snapshots,
    }
    return render(request, "ingest/issue.html", context)


def _number(text: str | None) -> int | None:
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 19 else None


def _page_url(words: dict[str, str], **key: Any) -> str:
    query = QueryDict(mutable=True)
    query.update({name: value for name, value in words.items() if value} | key)
    return f"?{query.urlencode()}"
