"""First study page: the guided path, each step of which can be left and resumed."""

from typing import Any
from urllib.parse import quote

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache

from accounts.models import User
from annotation.core.access import OWNER, RATER, Seat, get_seat
from annotation.core.demo_people import require_may_create_studies
from annotation.core.errors import ConcordError, NotFound
from annotation.core.pages import me
from annotation.invitations.actions.invitations import invite
from annotation.labels.registration import in_words, not_registered, primary_of
from annotation.overview.actions.demo import REPOSITORY
from annotation.overview.actions.first_study import open_first_round, set_raters, start_study, take_demo_issues
from annotation.overview.forms import CodebookForm, FirstRoundForm, IssuesForm, PeopleForm
from annotation.overview.queries import first_study as queries
from annotation.studies.actions.primary import newest_dimensions
from annotation.studies.queries.studies import usable_taxonomies
from ingest.access import get_run
from ingest.actions.fetches import start_fetch
from ingest.actions.uploads import take_file, take_upload
from ingest.errors import Invalid
from ingest.models import FetchRun, Upload
from shared.forms import explain, explaining, form_page, status_of
from shared.site_links import absolute, onward
from taxonomy.ready_made import presets

STEPS = (("issues", "Issues"), ("codebook", "Taxonomy"), ("people", "People"), ("round", "First round"))
ORIGIN = "start_origin"
"""In the session: the run or the repository that the path began with; `after`: a run that is newer than this ID."""
LINK_DAYS, LINK_PEOPLE = 14, 5


@login_required
@never_cache
@form_page
def issues(request: HttpRequest) -> HttpResponse:
    """Step 1: issues from GitHub, from a file, or those that are stored here."""
    user = me(request)
    require_may_create_studies(user)
    form = issues_form(user, request)
    if form.is_bound and form.is_valid():
        place = "file_repository" if form.cleaned_data["source"] == "file" else "repository"
        with explaining(form, columns="file", repository=place):
            return _take(request, user, form)
    return _page(request, "issues", status=status_of(form), form=form, next=onward(request.GET.get("next")))


def begin_path(request: HttpRequest) -> dict[str, Any]:
    """What the first page of someone without a study shows: step 1, or where they left the path."""
    repository, run = origin(request)
    is_begun = bool(repository) or (run is not None and (not run.is_over or queries.n_read(run) > 0))
    names = _steps("codebook" if is_begun else "issues")
    return {
        "steps": names,
        "form": issues_form(me(request)),
        "is_begun": is_begun,
        "begun_with": repository,
        "run": run,
    }


def issues_form(user: User, request: HttpRequest | None = None) -> IssuesForm:
    stored = queries.stored_repositories(user)
    stored = sorted(stored, key=lambda each: each.full_name == REPOSITORY)
    has_demo = any(each.full_name == REPOSITORY for each in stored)
    given = (request.POST, request.FILES) if request is not None and request.method == "POST" else (None, None)
    return IssuesForm(*given, stored=stored, has_demo=has_demo)


def _take(request: HttpRequest, user: User, form: IssuesForm) -> HttpResponse:
    chosen = form.cleaned_data
    following = onward(request.GET.get("next")) or reverse("start_codebook")
    if chosen["source"] == "stored":
        request.session[ORIGIN] = {"repository": chosen["stored"]}
        return redirect(following)
    if chosen["source"] == "github":
        run = start_fetch(user=user, repository=chosen["repository"])
    elif chosen["source"] == "demo":
        run = take_demo_issues(user=user)
    else:
        repository = chosen["file_repository"] or None
        try:
            run = take_file(user=user, file=chosen["file"], repository=repository)
        except Invalid as error:
            if "columns" not in error.fields:
                raise
            chosen["file"].seek(0)
            upload = take_upload(user=user, file=chosen["file"], repository=repository)
            assert isinstance(upload, Upload)
            newest = queries.newest_run(user)
            request.session[ORIGIN] = {"after": newest.pk if newest is not None else 0}
            messages.info(request, "Choose which column contains what. The import then leads back to your study.")
            return redirect(f"{upload.get_absolute_url()}?next={quote(following)}")
    request.session[ORIGIN] = {"run": run.pk}
    return redirect(following)


def origin(request: HttpRequest) -> tuple[str, FetchRun | None]:
    """The repository that the path began with (empty: not known yet), and the run that brings its issues."""
    user = me(request)
    kept = request.session.get(ORIGIN) or {}
    if "repository" in kept:
        return str(kept["repository"]), None
    try:
        run = get_run(user, kept["run"]) if "run" in kept else queries.newest_run(user, kept.get("after", 0))
    except NotFound:
        run = queries.newest_run(user)
    return (queries.repository_of(user, run), run) if run is not None else ("", None)


@login_required
@never_cache
@form_page
def codebook(request: HttpRequest) -> HttpResponse:
    """Step 2: the study gets its title and its taxonomy."""
    user = me(request)
    require_may_create_studies(user)
    repository, run = origin(request)
    if run is None and not repository and ORIGIN in request.session:
        return redirect("start")
    name = repository or (run.requested.get("repository") or "" if run is not None else "")
    given = (request.POST, request.FILES) if request.method == "POST" else (None, None)
    form = CodebookForm(
        *given,
        presets=presets(),
        taxonomies=usable_taxonomies(user),
        initial={"title": f"Issues of {name}"[:200] if name else "My first study"},
    )
    status, problems = 0, ()
    if form.is_bound and form.is_valid():
        chosen = form.cleaned_data
        try:
            study, draft = start_study(
                user=user,
                title=chosen["title"],
                source=chosen["source"],
                chosen=chosen | {"list": chosen["list_text"], "document": chosen["document_text"]},
                publishes="edit" not in request.POST,
            )
        except ConcordError as error:
            problems = getattr(error, "problems", ())
            explain(form, error) if not problems else form.add_error(None, error.message)
            status = 422 if error.status == 400 else error.status
        else:
            onward = reverse("start_people", args=[study.slug])
            if draft is None:
                return redirect(onward)
            edit = reverse("edit_taxonomy_version", args=[draft.taxonomy.slug, draft.number])
            return redirect(f"{edit}?next={onward}")
    return _page(
        request,
        "codebook",
        status=status or status_of(form),
        form=form,
        problems=problems,
        run=run,
        issues_words=queries.issues_in_words(user, repository, run),
    )


@login_required
@never_cache
@form_page
def people(request: HttpRequest, slug: str) -> HttpResponse:
    """Step 3: who labels; with `link` it only creates an invitation link and shows it once."""
    seat = get_seat(me(request), slug)
    seat.require(OWNER)
    form = PeopleForm(request.POST if request.method == "POST" else None)
    status, link = 0, ""
    if form.is_bound and "link" in request.POST:
        _, plaintext = invite(
            seat=seat, roles=[RATER], note="First round", email="", days=LINK_DAYS, n_most=LINK_PEOPLE
        )
        link = absolute(reverse("invitation", args=[plaintext]))
        status = 201
    elif form.is_bound and form.is_valid():
        with explaining(form):
            set_raters(seat=seat, names=form.user_names, labels_too=form.cleaned_data["labels_too"])
            return redirect("start_round", slug)
    return _page(
        request,
        "people",
        seat,
        status=status or status_of(form),
        form=form,
        link=link,
        link_days=LINK_DAYS,
        link_people=LINK_PEOPLE,
        raters=queries.raters_of(seat.study),
    )


@login_required
@never_cache
@form_page
def first_round(request: HttpRequest, slug: str) -> HttpResponse:
    """Step 4: opens the pilot, and leads to its first item."""
    seat = get_seat(me(request), slug)
    seat.require(OWNER)
    if seat.study.rounds.exists():
        return redirect("study", slug)
    repository, run = origin(request)
    raters = queries.raters_of(seat.study)
    stored = queries.stored_repositories(seat.user, first=repository)
    dimensions = newest_dimensions(seat.study.taxonomy)
    lacking = not_registered(seat.study.primary, dimensions)
    form = FirstRoundForm(
        request.POST if request.method == "POST" else None,
        stored=stored,
        preset=repository or (stored[0].full_name if stored else ""),
        raters=raters,
        user=seat.user,
    )
    if form.is_bound and form.is_valid():
        with explaining(form):
            made = open_first_round(seat=seat, **form.cleaned_data)
            messages.success(request, f"Round {made.number} is open. Its raters find it under “My work”.")
            is_rater = seat.membership is not None and any(each.pk == seat.membership.pk for each in raters)
            return redirect("label" if is_rater else "round", slug, made.number)
    return _page(
        request,
        "round",
        seat,
        status=status_of(form),
        form=form,
        raters=raters,
        run=run if run is not None and not (run.is_over and run.state == FetchRun.State.DONE) else None,
        next=request.path,
        stored=stored,
        lacking=[(each, in_words(primary_of(seat.study.primary, each.key, each.kind))) for each in lacking],
        labels_too=seat.membership is not None and seat.membership.has_role(RATER),
    )


def _steps(here: str, seat: Seat | None = None) -> list[dict[str, Any]]:
    at = [name for name, _ in STEPS].index(here)
    addresses = [reverse("start"), "", "", ""]
    if seat is not None:
        addresses = ["", "", reverse("start_people", args=[seat.study.slug]), ""]
    return [
        {
            "title": title,
            "is_done": place < at,
            "is_here": place == at,
            "address": addresses[place] if place < at else "",
        }
        for place, (_, title) in enumerate(STEPS)
    ]


def _page(
    request: HttpRequest, step: str, seat: Seat | None = None, *, status: int = 200, **context: Any
) -> HttpResponse:
    """A step of the path; `seat` once there is a study."""
    if seat is not None:
        context |= {"seat": seat, "study": seat.study, "draft": queries.draft_to_publish(seat.study)}
        context |= {"onward": reverse("start_round" if step == "round" else "start_people", args=[seat.study.slug])}
    context |= {"steps": _steps(step, seat)}
    return render(request, f"annotation/overview/first_study/{step}.html", context, status=status)
