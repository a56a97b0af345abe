"""Figures of the agreement page as files, with the same options and permissions."""

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from annotation.agreement_report.queries.across_rounds import visible_rounds
from annotation.agreement_report.queries.coefficients import report
from annotation.agreement_report.views.agreement import SLICE, read_choice
from annotation.agreement_report.views.charts import NAMES, figure
from annotation.agreement_report.views.tables import section
from annotation.assignments.actions.reading_log import FILE, note_results
from annotation.charts.drawing import TYPES, draw
from annotation.charts.specifications import PRINT, on_paper
from annotation.core.download_log import record_download
from annotation.core.errors import Invalid, NotFound
from annotation.core.reader_pages import open_to_reader_links, reading_seat
from annotation.models import Round


@open_to_reader_links
@require_safe
def agreement_figure(request: HttpRequest, slug: str, name: str, format: str) -> HttpResponse:
    """The trend over rounds, or the confusion or the pairs of raters of one `dimension`, as SVG, PNG or PDF."""
    seat = reading_seat(request, slug)
    seat.require_reading()
    if name not in NAMES or format not in TYPES:
        raise NotFound(f"Unknown figure {name}.{format}. Use one of {', '.join(NAMES)} as {', '.join(TYPES)}.")
    asked, found_rounds, links = read_choice(request, seat)
    round_ = found_rounds.round
    if name != "trend" and asked.dimension is None:
        raise Invalid("This figure can't be drawn.", fields={"dimension": ["Name a dimension."]})
    rounds = visible_rounds(seat)
    chosen = found_rounds.rounds
    compared = [] if round_ is not None and round_.kind == Round.Kind.SCREENING else rounds
    number = round_.number if round_ else None
    reports = (
        report(seat, compared, chosen, asked, round_number=number, is_headline=found_rounds.is_headline)
        if chosen
        else []
    )
    # Also where there is nothing to draw: a line tells what someone asked for, not what came out.
    filters: dict[str, object] = {key: value for key, value in request.GET.items() if key in (*SLICE, "dimension")}
    if round_ is not None:
        filters["round"] = round_.number
    note_results(seat, "agreement", FILE)
    record_download(seat=seat, what=f"figure: {name}", format=format, method=request.method, **filters)
    sections = [] if name == "trend" else [section(each, links) for each in reports]
    spec = figure(name, reports, sections, compared, links, PRINT)
    if spec is None:
        raise NotFound("No data to draw yet.")
    answer = HttpResponse(draw(on_paper(spec), format), content_type=TYPES[format])
    of = f"-{asked.dimension}" if asked.dimension else ""
    at = f"-round-{number}" if number else ""
    answer["Content-Disposition"] = f'attachment; filename="{slug}-{name}{of}{at}.{format}"'
    answer["Cache-Control"] = "private, no-store"
    return answer
