"""Charts of the agreement page, each mark with a URL to the items behind it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.urls import reverse

from agreement import COEFFICIENTS, bound, decimals
from annotation.agreement_report.queries.coefficients import DimensionReport, Headline
from annotation.agreement_report.queries.options import MOST_RATERS
from annotation.agreement_report.views.tables import DimensionSection, Links
from annotation.charts.drawing import TYPES
from annotation.charts.heat_map import HeatCell, HeatMap, heat_map
from annotation.charts.specifications import ChartStyle, Panel, TrendPoint, trend, trends
from annotation.models import Round
from shared.wording import plural

NAMES = {"trend": "Trend over rounds", "confusion": "Confusion", "pairs": "Pairs of raters"}
"""The figures by the word of their address."""
FORMATS = {"svg": "SVG", "png": "PNG", "pdf": "PDF"}
BANDS = (0.8, 0.6, 0.4, 0.2)
"""A pair's kappa from the first on is quiet; below each it is one step hotter."""


@dataclass(frozen=True)
class Chart:
    """A figure of the page: its specification, what it shows in a sentence, and where its files are.

    `is_map` says that its cells can be gone through by keyboard.
    """

    key: str
    spec: Mapping[str, Any]
    words: str
    files: Sequence[tuple[str, str]]
    is_map: bool = False


def files_of(name: str, links: Links, **more: str) -> list[tuple[str, str]]:
    """(name of the format, address) of a figure in the slice that is shown."""
    query = urlencode({**links.slice, **more})
    return [
        (
            FORMATS[format],
            f"{reverse('agreement_figure', args=[links.slug, name, format])}{'?' if query else ''}{query}",
        )
        for format in TYPES
    ]


def panels(reports: Sequence[DimensionReport], rounds: Sequence[Round], links: Links) -> list[Panel]:
    """The trend of each dimension that has a value in two rounds or more."""
    numbers = sorted(round_.number for round_ in rounds)
    found = []
    for each in reports:
        head, key = each.headline, each.across.dimension.key
        points = [
            _point(number, line, key, links, is_after=is_after)
            for is_after, lines in ((False, each.trend), (True, each.trend_after))
            for number, line in sorted(lines.items())
            if line.value is not None and number in numbers
        ]
        if len({point.round for point in points}) > 1:
            position = each.across.dimension.position
            title, coefficient = each.across.dimension.title, COEFFICIENTS[head.coefficient].title
            found.append(Panel(key, title, coefficient, position, head.threshold, numbers, points))
    return found


def _point(number: int, line: Headline, key: str, links: Links, *, is_after: bool) -> TrendPoint:
    assert line.value is not None
    url = links.units(key, round=str(number), when="after" if is_after else "before")
    return TrendPoint(number, line.value, line.ci_low, line.ci_high, is_after, url)


def trend_charts(reports: Sequence[DimensionReport], rounds: Sequence[Round], links: Links) -> list[Chart]:
    return [
        Chart(f"trend-{panel.key}", trend(panel), _trend_words(panel), ()) for panel in panels(reports, rounds, links)
    ]


def _trend_words(panel: Panel) -> str:
    before = [f"round {point.round} {decimals(point.value)}" for point in panel.points if not point.is_after]
    threshold = "" if panel.threshold is None else f" The threshold is {bound(panel.threshold)}."
    return f"{panel.title}, {panel.coefficient} by round: {', '.join(before)}.{threshold}"


def confusion_map(section: DimensionSection) -> HeatMap | None:
    """The confusion matrix as a figure: agreement is quiet, differences are strong."""
    matrix = section.matrix
    if matrix is None:
        return None
    names = [f"{row.name}  {row.number}" for row in matrix.rows]
    one, other = matrix.raters if matrix.raters else ("One rater", "another")
    cells = [
        HeatCell(at, place, str(cell.n), cell.heat, cell.words, cell.url)
        for at, row in enumerate(matrix.rows)
        for place, cell in enumerate(row.cells)
        if cell
    ]
    return HeatMap(
        title=f"{section.title}: confusion",
        subtitle=f"Rows: {one}. Columns: {other}." if matrix.raters else "All pairs of raters pooled.",
        position=section.position,
        rows=names,
        columns=[str(row.number) for row in matrix.rows],
        row_axis="",
        column_axis=f"{other} said" if matrix.raters else "",
        cells=cells,
    )


def pair_map(section: DimensionSection) -> HeatMap | None:
    """Cohen's kappa of every two raters: the further apart, the stronger. None with fewer than three or very many."""
    pairs = [each for each in section.pairs if each["cohen_kappa"] is not None]
    codes = list(dict.fromkeys(code for place in (0, 1) for each in section.pairs for code in [each["raters"][place]]))
    if not 3 <= len(codes) <= MOST_RATERS or not pairs:
        return None
    codes.sort(key=lambda code: (len(code), code))
    place = {code: at for at, code in enumerate(codes)}
    cells = []
    for each in pairs:
        first, second = sorted(place[code] for code in each["raters"])
        kappa = each["cohen_kappa"]
        words = f"{codes[first]} and {codes[second]}: kappa {decimals(kappa)} over {plural(each['n'], 'unit')}"
        cells.append(HeatCell(second - 1, first, decimals(kappa), _heat_of(kappa), words, each["url"]))
    return HeatMap(
        title=f"{section.title}: Cohen's kappa of pairs of raters",
        subtitle="The stronger the color, the lower the agreement (steps at 0.8, 0.6, 0.4, 0.2).",
        position=section.position,
        rows=codes[1:],
        columns=codes[:-1],
        row_axis="",
        column_axis="",
        cells=cells,
    )


def _heat_of(kappa: float) -> int:
    return 1 + sum(kappa < band for band in BANDS)


def section_charts(section: DimensionSection, links: Links) -> dict[str, Chart]:
    """The figures of one dimension by name."""
    found = {}
    for name, drawn, words in (
        ("confusion", confusion_map(section), f"Confusion of categories in {section.title}"),
        ("pairs", pair_map(section), f"Cohen’s kappa of pairs of raters in {section.title}"),
    ):
        if drawn is not None:
            files = files_of(name, links, dimension=section.key)
            found[name] = Chart(f"{name}-{section.key}", heat_map(drawn), words, files, is_map=True)
    return found


def figure(
    name: str,
    reports: Sequence[DimensionReport],
    sections: Sequence[DimensionSection],
    rounds: Sequence[Round],
    links: Links,
    look: ChartStyle,
) -> Mapping[str, Any] | None:
    """The specification of a figure for a file; None where there is nothing to draw."""
    if name == "trend":
        drawn = panels(reports, rounds, links)
        return trends(drawn, look) if drawn else None
    build = {"confusion": confusion_map, "pairs": pair_map}[name]
    found = [each for section in sections if (each := build(section)) is not None]
    return heat_map(found[0], look) if found else None
