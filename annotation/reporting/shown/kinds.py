"""The analyses that there are, each with what answers it."""

from collections.abc import Callable
from dataclasses import dataclass

from annotation.errors import NotFound
from annotation.reporting.shown.counting import combined, marked, profiled, tallied
from annotation.reporting.shown.crossing import crossed, flowed
from annotation.reporting.shown.measuring import measured, saturated
from annotation.reporting.shown.parts import Answer
from annotation.reporting.shown.question import Asked


@dataclass(frozen=True)
class Kind:
    """A page of analysis: its title, what it is for in a sentence, what answers it."""

    key: str
    title: str
    what_for: str
    answer: Callable[[Asked], Answer]


KINDS = {
    kind.key: kind
    for kind in (
        Kind(
            "counts",
            "Counts",
            "How often each category was agreed on, in all and by group.",
            tallied,
        ),
        Kind(
            "crosstab",
            "Cross table",
            "How often the categories of two dimensions meet, and whether they hang together.",
            crossed,
        ),
        Kind(
            "flow",
            "Flow",
            "From symptom to root cause to fix, within each stage.",
            flowed,
        ),
        Kind(
            "shares",
            "Share of a mark",
            "How many parts of each category carry a mark, such as “only distributed”.",
            marked,
        ),
        Kind(
            "numbers",
            "Numbers",
            "Days open, comments, changed lines: quantiles, the share at or under a cut, and whether groups differ.",
            measured,
        ),
        Kind(
            "profiles",
            "Profiles",
            "Whether two repositories or stages have the same order of categories.",
            profiled,
        ),
        Kind(
            "saturation",
            "Saturation",
            "Whether labelling more items still brings new categories.",
            saturated,
        ),
        Kind(
            "combinations",
            "Combinations",
            "Which values of several dimensions come together often.",
            combined,
        ),
    )
}


def get_kind(key: str) -> Kind:
    """Raises NotFound for a page that there is not."""
    if key not in KINDS:
        raise NotFound(f"There is no analysis “{key[:40]}”; there are {', '.join(KINDS)}.")
    return KINDS[key]
