"""Methods page: text for a paper, to copy and to download."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_safe

from annotation.agreement_report.queries.across_rounds import visible_rounds
from annotation.assignments.actions.reading_log import FILE, PAGE, note_results
from annotation.core.download_log import record_download
from annotation.core.errors import NotFound
from annotation.core.pages import study_page
from annotation.core.reader_pages import open_to_reader_links, reading_seat
from annotation.core.withheld_items import withheld_words
from annotation.methods import (
    STANDARD,
    Facts,
    as_latex,
    as_text,
    checklist,
    checklist_as_markdown,
    head_of,
    latex,
    n_answered,
    rows,
    under_heads,
    whole_markdown,
)
from annotation.methods.outline import paragraph
from annotation.methods.queries import methods as method_queries

TAGS = {"yes": "state-good", "partly": "state-warn", "missing": "state-bad", "not needed": "state-off"}
LEVELS = {
    "essential": "Essential attributes",
    "desirable": "Desirable attributes",
    "extraordinary": "Extraordinary attributes",
    "antipattern": "Antipatterns",
}


def _as_plain(facts: Facts) -> str:
    return as_text(paragraph(facts))


def _as_markdown(facts: Facts) -> str:
    return f"{whole_markdown(facts)}\n{checklist_as_markdown(facts)}"


def _groups(facts: Facts, page: str) -> list[tuple[str, list[tuple[str, list[str]]]]]:
    """By dimension its head and its rows, each with the address of its place on the page of agreement."""
    found: dict[str, tuple[str, list[tuple[str, list[str]]]]] = {}
    for row in rows(facts):
        key = row.dimension.key
        address = f"{page}{'' if row.round is None else f'?round={row.round}'}#{key}"
        found.setdefault(key, (head_of(row.dimension), []))[1].append((address, row.under_head(under_heads(facts))))
    return list(found.values())


FILES: dict[str, tuple[str, Callable[[Facts], str]]] = {
    "txt": ("text/plain; charset=utf-8", _as_plain),
    "md": ("text/markdown; charset=utf-8", _as_markdown),
    "tex": ("application/x-tex; charset=utf-8", as_latex),
}


@open_to_reader_links
@require_safe
def methods(request: HttpRequest, slug: str) -> HttpResponse:
    """The methods paragraph, the checklist and the table, filled in from the study, with what is missing marked."""
    seat = reading_seat(request, slug)
    seat.require_reading()
    facts = method_queries.methods(seat)
    checks = checklist(facts)
    note_results(seat, "methods", PAGE)
    return study_page(
        request,
        seat,
        "methods/methods",
        "agreement",
        facts=facts,
        withheld=withheld_words(seat, visible_rounds(seat)),
        paragraphs=paragraph(facts),
        levels=[
            (title, [(check, TAGS[check.answer]) for check in checks if check.level == level])
            for level, title in LEVELS.items()
        ],
        n_answered=n_answered(checks),
        n_checks=len(checks),
        standard=STANDARD,
        heads=under_heads(facts),
        groups=_groups(facts, reverse("agreement", args=[slug])),
        latex=latex(facts),
        formats=[("txt", "Plain text"), ("md", "Markdown"), ("tex", "LaTeX")],
        json_url=reverse("api_methods", args=[slug]),
    )


@open_to_reader_links
@require_safe
def download_methods(request: HttpRequest, slug: str, format: str) -> HttpResponse:
    """The paragraph as plain text; with table and checklist as Markdown; with the table as LaTeX."""
    seat = reading_seat(request, slug)
    seat.require_reading()
    if format not in FILES:
        raise NotFound(f"Unknown file methods.{format}. Use one of {', '.join(FILES)}.")
    content_type, written = FILES[format]
    note_results(seat, "methods", FILE)
    record_download(seat=seat, what="methods", format=format, method=request.method)
    response = HttpResponse(written(method_queries.methods(seat)), content_type=content_type)
    response["Content-Disposition"] = f'attachment; filename="{slug}-methods.{format}"'
    return response
