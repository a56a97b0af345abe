"""Repository pages: what is stored of each repository, and the forms that fetch more."""

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST

from accounts.permissions import may_use_tokens
from ingest import queries
from ingest.access import get_repository
from ingest.actions import visibility
from ingest.actions.fetches import estimate_asked, start_fetch
from ingest.actions.uploads import take_upload
from ingest.files.export_columns import TITLES
from ingest.forms import FetchForm, UploadForm
from ingest.github.estimates import Estimate
from ingest.models import Repository
from ingest.views.paging import parse_key
from shared.forms import explaining

RUNS_SHOWN = 10
PAGE_RUNS = 25
PAGE_REPOSITORIES = 100
FORMAT_WORDS = {"csv": "CSV", "jsonl": "JSON Lines", "parquet": "Parquet"}


@login_required
def repositories(request: HttpRequest) -> HttpResponse:
    """What is stored of which repository, and the forms to fetch more."""
    return _repositories(request)


@login_required
def repository(request: HttpRequest, owner: str, name: str, host: str = "") -> HttpResponse:
    """One repository: what is stored of it, and the fetches of it that this person may see."""
    found = get_repository(request.user, f"{host}/{owner}/{name}" if host else f"{owner}/{name}")
    before = parse_key(request.GET.get("before"))
    runs = list(queries.runs_of(request.user, found, before=before)[: PAGE_RUNS + 1])
    context = {
        "repository": found,
        "runs": runs[:PAGE_RUNS],
        "may_change_visibility": found.github_id is None
        and (request.user.is_staff or found.added_by_id == request.user.pk),
        "downloads": _downloads(found),
        "is_first_page": before is None,
        "next_url": f"?before={runs[PAGE_RUNS - 1].pk}#fetches" if len(runs) > PAGE_RUNS else None,
    }
    return render(request, "ingest/repository.html", context)


def _downloads(repository: Repository) -> list[tuple[str, list[tuple[str, str]]]]:
    """Of each kind of file its title, and the name and URL of each format."""
    place = f"/api/v1/repositories/{repository.full_name}/"
    return [
        (title, [(words, f"{place}{what}/?format={format}") for format, words in FORMAT_WORDS.items()])
        for what, title in TITLES.items()
    ]


@login_required
@require_POST
def fetch_repository(request: HttpRequest) -> HttpResponse:
    """Starts a fetch; with the button for the estimate, shows what it would take instead."""
    form = FetchForm(request.POST, auto_id="fetch_%s")
    if form.is_valid():
        with explaining(form):
            if "estimate" in request.POST:
                found = estimate_asked(user=request.user, **form.asked())  # type: ignore[arg-type]
                return _repositories(request, fetch_form=form, estimate=found)
            run = start_fetch(user=request.user, **form.asked())  # type: ignore[arg-type]
            return redirect("fetch", run.pk)
    return _repositories(request, fetch_form=form)


@login_required
@require_POST
def upload_file(request: HttpRequest) -> HttpResponse:
    form = UploadForm(request.POST, request.FILES, auto_id="upload_%s")
    if form.is_valid():
        with explaining(form):
            taken = take_upload(user=request.user, **form.cleaned_data)  # type: ignore[arg-type]
            return redirect(taken)
    return _repositories(request, upload_form=form)


@login_required
@require_POST
def change_visibility(request: HttpRequest) -> HttpResponse:
    """Opens an uploaded repository to everyone or makes it private; goes back to the page that the button was on."""
    found = get_repository(request.user, request.POST.get("repository", ""))
    private = request.POST.get("private") == "1"
    found = visibility.change_visibility(repository=found, user=request.user, private=private)  # type: ignore[arg-type]
    readers = "Only its uploaders, staff and the studies that use it see" if private else "Everyone who signs in sees"
    messages.success(request, f"{readers} {found.full_name} now.")
    return redirect("operations" if request.POST.get("back") == "operations" else found)


def _repositories(
    request: HttpRequest,
    fetch_form: FetchForm | None = None,
    upload_form: UploadForm | None = None,
    estimate: Estimate | None = None,
) -> HttpResponse:
    """The page; 422 when one of the forms comes back with errors. Four queries, one more on later pages."""
    after = parse_key(request.GET.get("after"))
    rows = list(queries.repositories(request.user, after=after)[: PAGE_REPOSITORIES + 1])
    more, rows = len(rows) > PAGE_REPOSITORIES, rows[:PAGE_REPOSITORIES]
    runs = queries.runs(request.user)
    last = runs.in_bulk([row.last_run_id for row in rows if row.last_run_id])
    context = {
        "rows": [(row, last.get(row.last_run_id)) for row in rows],
        "is_first_page": after is None,
        "next_url": f"?after={rows[-1].pk}" if more else None,
        "runs": runs[:RUNS_SHOWN] if after is None else [],
        "fetch_form": fetch_form or FetchForm(initial={"state": "all"}, auto_id="fetch_%s"),
        "uploads": queries.uploads(request.user)[:RUNS_SHOWN],
        "estimate": estimate,
        "upload_form": upload_form or UploadForm(auto_id="upload_%s"),
        "may_use_tokens": may_use_tokens(request.user),  # type: ignore[arg-type]
    }
    status = 422 if (fetch_form or upload_form) and not estimate else 200
    return render(request, "ingest/repositories.html", context, status=status)
