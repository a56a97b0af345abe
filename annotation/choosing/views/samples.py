"""Sample pages: filter, draw, drawn issues, items of a study, and their screening."""

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from annotation.analysis.queries.filters import ItemsWithLabels, items_with, label_filters
from annotation.assignments.actions.reading_log import PAGE, note_results
from annotation.choosing.actions import samples as actions
from annotation.choosing.forms import ItemFilter, SampleForm
from annotation.choosing.queries import samples as queries
from annotation.choosing.queries.changes import n_changed
from annotation.choosing.views.frames import flow_file, frame_file
from annotation.core.access import ADJUDICATOR, OWNER, Seat, get_item_at, get_sample, get_seat
from annotation.core.bulk_jobs import job_of
from annotation.core.download_log import record_download
from annotation.core.errors import ConcordError, Conflict, Invalid
from annotation.core.pages import job_progress, me, study_page
from annotation.core.paging import edges_of, page_of
from annotation.core.reader_pages import open_to_reader_links, reading_seat
from annotation.core.strata import repositories_lately
from annotation.labels.columns import Ints
from annotation.models import Item, Round, Study
from ingest.queries import repositories
from ingest.selections import selection, selections
from shared.forms import explaining, form_page, status_of
from shared.wording import plural

PAGE_AND_ONE = 51


@login_required
@form_page
def samples(request: HttpRequest, slug: str) -> HttpResponse:
    """The samples drawn, `?sample=` with its issues; the owner counts a frame and draws from it.

    `?selection=` fills the form with a ready-made selection.
    """
    seat = get_seat(me(request), slug)
    given = request.POST if request.method == "POST" else None
    if "sample" in request.GET and (
        part := job_progress(request, lambda: job_of(get_sample(seat, request.GET["sample"])))
    ):
        return part
    lines = queries.sample_lines(seat.study)
    started = selection(request.GET["selection"]) if request.GET.get("selection") else None
    initial = SampleForm.initial_of(started.filter if started else _only_repository(seat))
    form = SampleForm(given, initial=initial, samples=[line.sample for line in lines])
    drafted = None
    if given is not None:
        seat.require(OWNER)
        with explaining(form, filter_keywords="any_keyword"):
            if form.is_valid():
                if "count" in given:
                    drafted = queries.draft(seat, form.filter, queries.SampleRequest(**form.wish), is_draw=False)
                else:
                    sample = actions.draw_sample(seat=seat, filter=form.filter, **form.wish)
                    if job_of(sample) is None:
                        messages.success(request, f"{sample} is drawn: {plural(sample.size, 'issue')}.")
                    return redirect(f"{request.path}?sample={sample.pk}")
    shown = get_sample(seat, request.GET["sample"]) if "sample" in request.GET else lines[0].sample if lines else None
    is_owner = seat.has_role(OWNER)
    return study_page(
        request,
        seat,
        "choosing/samples",
        "rounds",
        status=status_of(form),
        form=form,
        draft=drafted,
        lines=lines,
        chosen=shown,
        job=job_of(shown) if shown else None,
        flow=queries.flow(shown) if shown else [],
        page=page_of(request, queries.drawn_issues(seat, shown), key="position") if shown else None,
        may_screen=seat.has_role(OWNER, ADJUDICATOR),
        may_discard=is_owner and shown is not None and not Round.objects.filter(sample=shown).exists(),
        repositories=repositories(seat.user)[:200] if is_owner else [],
        selections=queries.selection_lines(seat.user, selections()) if is_owner else [],
        started=started,
    )


def _only_repository(seat: Seat) -> dict[str, list[str]]:
    """The filter that the form begins with: the study's repository, where it uses exactly one."""
    used = repositories_lately(seat.study) if seat.has_role(OWNER) else []
    return {"repository": used} if len(used) == 1 else {}


@login_required
@require_POST
def frame(request: HttpRequest, slug: str) -> HttpResponse:
    """What the filter in the form leaves now, the size that follows and the shares of the strata: a part of the page.

    What someone is still filling in is no error of theirs: the part says what is missing, with 200.
    """
    seat = get_seat(me(request), slug)
    seat.require(OWNER)
    given = request.POST.copy()
    given["count"] = "1"
    form = SampleForm(given, samples=list(queries.samples_of(seat.study)))
    drafted = None
    if form.is_valid():
        with explaining(form, filter_keywords="any_keyword"):
            drafted = queries.draft(seat, form.filter, queries.SampleRequest(**form.wish), is_draw=False)
    return render(request, "annotation/choosing/_frame.html", {"draft": drafted, "form": form})


@login_required
@require_safe
def download_frame(request: HttpRequest, slug: str, pk: int, format: str) -> StreamingHttpResponse:
    """The frame of a sample as a file."""
    seat = get_seat(me(request), slug)
    sample = get_sample(seat, pk)
    answer = frame_file(seat, sample, format)
    record_download(seat=seat, what="frame", format=format, method=request.method, sample=sample.pk)
    return answer


@login_required
@require_safe
def download_flow(request: HttpRequest, slug: str, pk: int, format: str) -> HttpResponse:
    """The flow table of a sample as CSV or Markdown."""
    seat = get_seat(me(request), slug)
    sample = get_sample(seat, pk)
    answer = flow_file(seat, sample, format)
    record_download(seat=seat, what="flow", format=format, method=request.method, sample=sample.pk)
    return answer


@login_required
@require_POST
def fetch_selection(request: HttpRequest, slug: str) -> HttpResponse:
    """Starts fetches of what a ready-made selection names and is not stored yet."""
    seat = get_seat(me(request), slug)
    seat.require(OWNER)
    chosen = selection(request.POST.get("selection"))
    runs = actions.fetch_selection(user=seat.user, chosen=chosen)
    names = ", ".join(run.title for run in runs)
    messages.success(
        request, f"Fetching {names}: see Repositories." if runs else "All its repositories are stored or being fetched."
    )
    return redirect(f"{reverse('samples', args=[slug])}?selection={chosen.slug}")


@login_required
@require_POST
def screen_sample(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """Makes items of a sample's issues and leads to the list where they are screened."""
    seat = get_seat(me(request), slug)
    actions.take_in(seat=seat, sample=get_sample(seat, pk))
    return redirect(f"{reverse('items', args=[slug])}?sample={pk}")


@login_required
@require_POST
def discard_sample(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """Deletes a sample that no round uses."""
    seat = get_seat(me(request), slug)
    sample = get_sample(seat, pk)
    try:
        actions.discard_sample(seat=seat, sample=sample)
        messages.success(request, f"{sample} was discarded. The audit log keeps its filter and seed.")
    except Conflict as error:
        messages.error(request, error.message)
    return redirect("samples", slug)


@open_to_reader_links
@form_page
def items(request: HttpRequest, slug: str) -> HttpResponse:
    """Every item of the study with how far it is in each round: counts, nobody's values.

    POST screens all items that the bar above the table leaves, or (`item`) one of them.
    """
    seat = reading_seat(request, slug)
    rounds = list(seat.study.rounds.order_by("number"))
    drawn = list(queries.samples_of(seat.study))
    form = ItemFilter(request.GET, numbers=[each.number for each in rounds], samples=drawn)
    form.is_valid()
    chosen = form.cleaned_data
    rows = queries.items_of(
        seat.study,
        search=chosen.get("search") or "",
        in_titles=seat.sees_issues,
        round_=next((each for each in rounds if each.number == chosen.get("round")), None),
        screening=chosen.get("screening") or "",
        sample=chosen.get("sample"),
        seat=seat,
    )
    labels = _with_labels(request, seat, chosen.get("round"))
    if labels is not None:
        is_plain = request.method != "POST" and not any(chosen.values())
        rows = rows.filter(pk__in=_near(request, labels.items) if is_plain else labels.items.tolist())
    status, refusal = 200, ""
    if request.method == "POST":
        if not form.is_valid():
            raise Conflict("The round or sample whose items you opened is not there any more. Nothing was changed.")
        try:
            done = actions.screen_items(
                seat=seat,
                rows=rows,
                screening=request.POST.get("screening"),
                reason=request.POST.get("reason", ""),
                expected=request.POST.get("shown"),
            )
        except ConcordError as error:
            if error.status != 422:
                raise
            status, refusal = 422, next(iter(error.fields.values()), [error.message])[0]
        else:
            messages.success(request, said_of_screening(done, request.POST.get("screening", ""), seat.study))
            return redirect(reverse("items", args=[slug]))
    page = page_of(request, rows)
    may_screen = seat.has_role(OWNER, ADJUDICATOR)
    is_offered = may_screen and any(chosen.values()) and labels is None
    n_shown, shown = queries.shown_state(rows) if is_offered else (None, "")
    return study_page(
        request,
        seat,
        "choosing/items",
        "items",
        status=status,
        refusal=refusal,
        form=form,
        page=page,
        lines=queries.item_lines(seat, page.rows),
        is_filtered=any(chosen.values()) or labels is not None,
        labels=labels,
        label_words=[(name, value) for name in LABEL_WORDS for value in request.GET.getlist(name) if value],
        may_screen=may_screen,
        counts=queries.screening_counts(seat.study),
        n_changed=n_changed(seat),
        n_shown=n_shown,
        shown=shown,
        reasons=queries.reasons_of(seat.study) if may_screen else [],
    )


LABEL_WORDS = ("version", "level", "parts", "where")


def _with_labels(request: HttpRequest, seat: Seat, round_number: int | None) -> ItemsWithLabels | None:
    """The items whose labels the address asks for (`?label=symptom:crash`), none where it does not; raises Invalid."""
    words = [word for word in request.GET.getlist("label") if word]
    if not words:
        return None
    seat.require_reading()
    version = request.GET.get("version", "")
    if version and not (version.isascii() and version.isdecimal() and len(version) < 10):
        raise Invalid("Items not valid.", fields={"version": ["Enter a whole number."]})
    found = items_with(
        seat,
        label_filters(words),
        round_number=round_number,
        version=int(version) if version else None,
        levels=request.GET.getlist("level"),
        where=request.GET.getlist("where"),
        parts=request.GET.get("parts", ""),
    )
    note_results(seat, "items by label", PAGE, round_number)
    return found


def _near(request: HttpRequest, items: Ints) -> list[int]:
    """Those of many ids that the page can show: so the database is asked for few, however many have these labels."""
    after, before = edges_of(request, Item)
    if before is not None and after is None:
        chosen = items[items < before][-PAGE_AND_ONE:]
    else:
        chosen = items[items > (after or 0)][:PAGE_AND_ONE]
    found: list[int] = chosen.tolist()
    return found


def said_of_screening(done: actions.ScreeningResult, screening: str, study: Study) -> str:
    words = {"in": "screened in", "out": "screened out"}.get(screening, "unscreened")
    said = f"{done.n} item is {words}." if done.n == 1 else f"{done.n} items are {words}."
    if done.n_left_rounds:
        said += f" {done.n_left_rounds} places in draft rounds were removed."
    if done.n_in_open_rounds:
        said += f" Raters of open rounds no longer get {done.n_in_open_rounds} of them."
    if done.n_labeled and screening == Item.Screening.OUT:
        is_kept = study.screened_out == Study.ScreenedOut.KEEP
        become = "stay in the results, marked as screened out" if is_kept else "no longer count"
        said += f" {done.n_labeled} of them had labels, which {become} (see Settings)."
    return said


@login_required
@require_POST
def screen_item(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """Screens one item; for htmx the answer is its row."""
    seat = get_seat(me(request), slug)
    found: Item = get_item_at(seat, pk)
    refusal, status = "", 200
    try:
        done = actions.screen_items(
            seat=seat,
            rows=Item.objects.filter(pk=found.pk),
            screening=request.POST.get("screening"),
            reason=request.POST.get("reason", ""),
        )
        said = said_of_screening(done, request.POST.get("screening", ""), seat.study)
    except ConcordError as error:
        if error.status != 422:
            raise
        refusal, status, said = next(iter(error.fields.values()), [error.message])[0], 422, ""
    if "HX-Request" not in request.headers:
        (messages.error if refusal else messages.success)(request, refusal or said)
        return redirect("items", slug)
    (line,) = queries.item_lines(seat, [queries.items_of(seat.study).get(pk=pk)])
    context: dict[str, Any] = {
        "line": line,
        "study": seat.study,
        "seat": seat,
        "may_screen": True,
        "refusal": refusal,
        "typed": request.POST.get("reason", ""),
        "counts": queries.screening_counts(seat.study),
        "is_apart": True,
    }
    return render(request, "annotation/choosing/_item_line.html", context, status=status)
