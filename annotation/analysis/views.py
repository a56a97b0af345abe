"""Analysis pages, their figures and tables as files, and saved analyses."""

from collections.abc import Sequence
from contextlib import AbstractContextManager

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from annotation.agreement_report.views.charts import FORMATS, Chart
from annotation.analysis.actions import remove_analysis, save_analysis
from annotation.analysis.queries.labels import study_labels
from annotation.analysis.queries.presentation.blocks import AnalysisMenu, AnalysisPresentation
from annotation.analysis.queries.presentation.kinds import KINDS, AnalysisPage, get_kind
from annotation.analysis.queries.presentation.provenance import from_which
from annotation.analysis.queries.presentation.question import AnalysisQuery, AnalysisRequest
from annotation.analysis.queries.saved import get_analysis, saved_analyses
from annotation.assignments.actions import reading_log
from annotation.charts.drawing import TYPES, draw
from annotation.charts.specifications import COLUMN, PAGE, PRINT, SCREEN, on_paper
from annotation.core.access import ADJUDICATOR, OWNER, Seat, get_seat
from annotation.core.download_log import record_download
from annotation.core.errors import Invalid, NotFound
from annotation.core.pages import me, study_page
from annotation.core.reader_pages import open_to_reader_links, reading_seat
from annotation.core.withheld_items import withheld_words
from annotation.exports.queries.rows import in_sight
from annotation.labels.columns import LEVELS
from annotation.labels.queries.version_mapping import versions_to_tell_in
from annotation.models import Analysis
from taxonomy.models import TaxonomyVersion

WIDTHS = {"column": COLUMN, "page": PAGE}
MOST_TO_LEAVE_OUT = 300
LEVEL_WORDS = {"leaf": "as labeled", "parent": "parent level", "root": "top level"}


@open_to_reader_links
@require_safe
def analyses(request: HttpRequest, slug: str) -> HttpResponse:
    """What can be asked of the agreed labels, what is saved, and which labels there are."""
    seat = reading_seat(request, slug)
    seat.require_reading()
    found = study_labels(seat)
    reading_log.note_results(seat, "analysis", reading_log.PAGE)
    return study_page(
        request,
        seat,
        "analysis/analyses",
        "analysis",
        kinds=[(kind, reverse("analysis_kind", args=[slug, kind.key])) for kind in KINDS.values()],
        saved=[(each, KINDS[each.kind].title) for each in saved_analyses(seat) if each.kind in KINDS],
        hidden=found.hidden,
        withheld=withheld_words(seat, found.rounds),
        n_parts=found.n_parts,
        n_waiting=found.n_waiting,
    )


@open_to_reader_links
@require_safe
def analysis_kind(request: HttpRequest, slug: str, kind: str) -> HttpResponse:
    """One analysis, as its address asks for it."""
    seat = reading_seat(request, slug)
    seat.require_reading()
    found = get_kind(kind)
    return _page(request, seat, found, AnalysisQuery.read(kind, request.GET))


@open_to_reader_links
@require_safe
def saved_analysis(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """A saved analysis under its own address, computed anew from the labels of this moment."""
    seat = reading_seat(request, slug)
    seat.require_reading()
    saved = get_analysis(seat, number)
    kind = get_kind(saved.kind)
    return _page(request, seat, kind, AnalysisQuery.saved(saved), saved)


@login_required
@require_POST
def save(request: HttpRequest, slug: str, kind: str) -> HttpResponse:
    """Keeps the question of the address with the study."""
    seat = get_seat(me(request), slug)
    found = get_kind(kind)
    question = AnalysisQuery.read(kind, request.GET)
    try:
        made = save_analysis(seat=seat, title=request.POST.get("title", ""), kind=kind, question=question.words)
    except Invalid as error:
        if "title" not in error.fields:
            raise
        return _page(request, seat, found, question, refusal=error.fields["title"][0], status=422)
    messages.success(request, f"Saved as analysis {made.number}.")
    return redirect("saved_analysis", slug, made.number)


@login_required
@require_POST
def remove(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    seat = get_seat(me(request), slug)
    remove_analysis(seat=seat, analysis=get_analysis(seat, number))
    messages.success(request, f"Analysis {number} is deleted.")
    return redirect("analyses", slug)


@open_to_reader_links
@require_safe
def figure(request: HttpRequest, slug: str, kind: str, key: str, format: str) -> HttpResponse:
    """A figure of the analysis that the address asks for, as wide as a column or a page (`width`)."""
    seat = reading_seat(request, slug)
    seat.require_reading()
    found = get_kind(kind)
    if format not in TYPES:
        raise NotFound(f"Figures are {', '.join(TYPES)}.")
    width = request.GET.get("width", "page")
    if width not in WIDTHS:
        raise Invalid("This figure can't be drawn.", fields={"width": [f"Write {' or '.join(WIDTHS)}."]})
    question = AnalysisQuery.read(kind, request.GET)
    with _noted(seat, question):
        figures = found.answer(AnalysisRequest(seat, question)).figures
    _record(request, seat, f"figure: {kind}", format, question)
    if key not in figures:
        raise NotFound(f"Figure “{key[:40]}” not found{'. Figures: ' + ', '.join(figures) if figures else ''}.")
    drawn = draw(on_paper(figures[key].draw(PRINT, WIDTHS[width])), format)
    return _file(drawn, TYPES[format], f"{slug}-{key}-{width}.{format}")


@open_to_reader_links
@require_safe
def table(request: HttpRequest, slug: str, kind: str, key: str, format: str) -> HttpResponse:
    """A table of the analysis that the address asks for, as CSV or for LaTeX."""
    seat = reading_seat(request, slug)
    seat.require_reading()
    found = get_kind(kind)
    if format not in ("csv", "tex"):
        raise NotFound("Tables are csv, tex.")
    question = AnalysisQuery.read(kind, request.GET)
    asked = AnalysisRequest(seat, question)
    with _noted(seat, question):
        answer = found.answer(asked)
    _record(request, seat, f"table: {kind}", format, question)
    if key not in answer.tables:
        raise NotFound(f"Table “{key[:40]}” not found.")
    shown = answer.tables[key]
    name = f"{slug}-{key}.{format}"
    if format == "csv":
        return _file(shown.as_csv(), "text/csv; charset=utf-8", name)
    caption = f"{shown.title}. {seat.study.title}. {' '.join([*answer.said_of(key), *from_which(asked)])}"
    return _file(shown.as_latex(caption).encode(), "text/x-tex; charset=utf-8", name)


def _noted(seat: Seat, question: AnalysisQuery, door: str = reading_log.FILE) -> AbstractContextManager[None]:
    return reading_log.noting_results(seat, "analysis", door, question.number("round"))


def _record(request: HttpRequest, seat: Seat, what: str, format: str, question: AnalysisQuery) -> None:
    """A line of the audit, whether or not there is anything to draw: it tells what was asked for, not what came out."""
    filters: dict[str, object] = {
        name: values[0] if len(values) == 1 else list(values) for name, values in question.words.items()
    }
    if (number := question.number("round")) is not None:
        filters["round"] = number
    record_download(seat=seat, what=what, format=format, method=request.method, **filters)


def _file(body: bytes, kind: str, name: str) -> HttpResponse:
    answer = HttpResponse(body, content_type=kind)
    answer["Content-Disposition"] = f'attachment; filename="{name}"'
    answer["Cache-Control"] = "private, no-store"
    return answer


def _page(
    request: HttpRequest,
    seat: Seat,
    kind: AnalysisPage,
    question: AnalysisQuery,
    saved: Analysis | None = None,
    *,
    refusal: str = "",
    status: int = 200,
) -> HttpResponse:
    asked = AnalysisRequest(seat, question)
    with _noted(seat, question, reading_log.PAGE):
        answer = kind.answer(asked)
    slug = seat.study.slug
    query = question.query()
    sections = []
    for section in answer.sections:
        chart = None
        if section.figure is not None:
            drawn = section.figure
            files = [
                (words, _address("analysis_figure", slug, kind.key, drawn.key, form, query))
                for form, words in FORMATS.items()
            ]
            chart = Chart(drawn.key, drawn.draw(SCREEN, PAGE), drawn.words, files, drawn.is_map)
        tables = []
        if section.table is not None:
            tables = [
                (words, _address("analysis_table", slug, kind.key, section.table.key, form, query))
                for form, words in (("csv", "CSV"), ("tex", "LaTeX"))
            ]
        sections.append((section, chart, tables, bool(section.table and len(section.table.rows) > 0)))
    versions = versions_to_tell_in(seat)
    return study_page(
        request,
        seat,
        "analysis/analysis",
        "analysis",
        status=status,
        kind=kind,
        kinds=[(each, reverse("analysis_kind", args=[slug, each.key])) for each in KINDS.values()],
        answer=answer,
        sections=sections,
        choices=[*answer.choices, *_shared(asked, answer, versions)],
        without=_without(asked, answer),
        kept=[("where", each) for each in question.words.get("where", ())],
        n_without=len(question.words.get("left_out", ())),
        json_url=f"{reverse('api_study', args=[slug])}analysis/{kind.key}/?{asked.rest_query()}",
        from_which=from_which(asked),
        hidden=asked.labeled.hidden,
        withheld=withheld_words(seat, asked.labeled.rounds),
        day=timezone.now(),
        saved=saved,
        may_save=seat.has_role(OWNER, ADJUDICATOR) and bool(answer.sections),
        may_remove=saved is not None and (seat.has_role(OWNER) or saved.created_by_id == seat.user.pk),
        title_given=request.POST.get("title", answer.title)[:200],
        save_url=f"{reverse('save_analysis', args=[slug, kind.key])}?{query}",
        refusal=refusal,
        page_url=f"{reverse('analysis_kind', args=[slug, kind.key])}?{query}",
    )


def _address(name: str, slug: str, kind: str, key: str, format: str, query: str) -> str:
    return f"{reverse(name, args=[slug, kind, key, format])}{'?' if query else ''}{query}"


def _shared(
    asked: AnalysisRequest, answer: AnalysisPresentation, versions: Sequence[TaxonomyVersion]
) -> list[AnalysisMenu]:
    """The choices that every analysis has, as far as they can change something here."""
    columns, question = asked.labeled.columns, asked.question
    found = []
    rounds = [each.number for each in in_sight(asked.seat, None)]
    if len(rounds) > 1:
        listed = [("", "all together"), *((str(number), f"Round {number}") for number in rounds)]
        found.append(AnalysisMenu("round", "Labels of", listed, question.one("round")))
    if len(versions) > 1:
        listed = [("", "as they stand"), *((str(each.number), f"version {each.number}") for each in versions)]
        found.append(AnalysisMenu("version", "Taxonomy version", listed, question.one("version")))
    dimensions = [asked.dimensions[key] for key in answer.read if key in asked.dimensions]
    if any(parent >= 0 for column in dimensions for parent in column.categories.parents):
        chosen = question.one("level")
        found.append(AnalysisMenu("level", "Level", list(LEVEL_WORDS.items()), chosen if chosen in LEVELS else "leaf"))
    if bool(columns.in_several_parts.any()):
        listed = [("all", "all parts"), ("single", "items in one part")]
        found.append(AnalysisMenu("parts", "Parts", listed, question.one("parts") or "all"))
    if dimensions:
        found.append(AnalysisMenu("fold", "Fold below n", (), question.one("fold"), control="number"))
    return found


def _without(asked: AnalysisRequest, answer: AnalysisPresentation) -> list[tuple[str, list[tuple[str, str, bool]]]]:
    """By dimension its categories, with whether they are left out."""
    gone = asked.question.words.get("left_out", ())
    return [
        (
            column.title,
            [
                (f"{key}:{category}", name, f"{key}:{category}" in gone)
                for category, name in zip(column.categories.keys, column.categories.names, strict=True)
            ],
        )
        for key in answer.read
        if (column := asked.dimensions.get(key)) is not None and 1 < len(column.categories) <= MOST_TO_LEAVE_OUT
    ]
