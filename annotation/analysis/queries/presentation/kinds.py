"""Presentation of each kind of analysis."""

from collections.abc import Callable
from dataclasses import dataclass

from annotation.analysis.queries.presentation.blocks import AnalysisPresentation
from annotation.analysis.queries.presentation.counts import (
    present_combinations,
    present_counts,
    present_marks,
    present_profiles,
)
from annotation.analysis.queries.presentation.cross_tables import present_crosstab, present_flow
from annotation.analysis.queries.presentation.numbers import present_numbers, present_saturation
from annotation.analysis.queries.presentation.question import AnalysisRequest
from annotation.core.errors import NotFound


@dataclass(frozen=True)
class AnalysisPage:
    """A page of analysis: its title, what it is for in a sentence, what answers it."""

    key: str
    title: str
    what_for: str
    answer: Callable[[AnalysisRequest], AnalysisPresentation]


KINDS = {
    kind.key: kind
    for kind in (
        AnalysisPage(
            "counts",
            "Counts",
            "How often each category is the agreed label, in total and by group.",
            present_counts,
        ),
        AnalysisPage(
            "crosstab",
            "Cross table",
            "How often the categories of two dimensions occur together, and whether they are associated.",
            present_crosstab,
        ),
        AnalysisPage(
            "flow",
            "Flow",
            "From symptom to root cause to fix, within each stage.",
            present_flow,
        ),
        AnalysisPage(
            "shares",
            "Share of a yes/no dimension",
            "How many parts of each category have a mark, such as “only distributed”.",
            present_marks,
        ),
        AnalysisPage(
            "numbers",
            "Numbers",
            "Days open, comments, changed lines: quantiles, the share at or below a cutoff, and whether groups differ.",
            present_numbers,
        ),
        AnalysisPage(
            "profiles",
            "Profiles",
            "Whether two repositories or stages have the same ranking of categories.",
            present_profiles,
        ),
        AnalysisPage(
            "saturation",
            "Saturation",
            "Whether labeling more items still adds new categories.",
            present_saturation,
        ),
        AnalysisPage(
            "combinations",
            "Combinations",
            "Which values of several dimensions often occur together.",
            present_combinations,
        ),
    )
}


def get_kind(key: str) -> AnalysisPage:
    """Raises NotFound for a page that there is not."""
    if key not in KINDS:
        raise NotFound(f"Unknown analysis “{key[:40]}”. Use one of {', '.join(KINDS)}.")
    return KINDS[key]
