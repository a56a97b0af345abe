"""Trend of the agreement page: the primary coefficient of each dimension by round."""

from collections.abc import Sequence
from dataclasses import dataclass

from annotation.agreement_report.queries.coefficients import DimensionReport, Headline
from annotation.agreement_report.views.tables import IntervalBar, Links, bar
from annotation.models import Round


@dataclass(frozen=True)
class TrendCell:
    """The primary coefficient of a dimension in a round."""

    headline: Headline
    position: int
    bar: IntervalBar | None
    url: str


@dataclass(frozen=True)
class TrendLine:
    """A round, the address of its own numbers, and the primary coefficient of each dimension, None without one."""

    round: Round
    is_chosen: bool
    url: str
    cells: Sequence[TrendCell | None]


def trend(
    reports: Sequence[DimensionReport], rounds: Sequence[Round], chosen: Sequence[Round], links: Links
) -> list[TrendLine]:
    """Round by round, in their order."""
    lines = []
    for round_ in sorted(rounds, key=lambda each: each.number):
        cells: list[TrendCell | None] = []
        for each in (report for report in reports if report.across.dimension.has_coefficients):
            head = each.trend.get(round_.number)
            if head is None:
                cells.append(None)
                continue
            dimension = each.across.dimension
            drawn = bar(head.value, head.ci_low, head.ci_high, head.threshold)
            address = links.units(dimension.key, round=str(round_.number), when="before")
            cells.append(TrendCell(head, dimension.position, drawn, address))
        lines.append(
            TrendLine(round_, len(chosen) == 1 and round_ in chosen, links.page(round=str(round_.number)), cells)
        )
    return lines
