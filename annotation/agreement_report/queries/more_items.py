"""Sample size: how many more units narrow the interval of a coefficient to a wanted width."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from agreement import PlannedUnits, units_for_width
from annotation.agreement_report.queries.coefficients import Headline
from annotation.core.errors import Invalid

WIDTH = 0.2
"""The width that is offered first: intervals that are wider are warned of."""
NARROWEST, WIDEST = 0.001, 2.0


def width_of(given: str) -> float | None:
    """The width that an address or command asks for, None where it asks for none. Raises Invalid."""
    if not given.strip():
        return None
    try:
        width = float(given)
    except ValueError:
        width = 0.0
    if not NARROWEST <= width <= WIDEST:
        words = f"Enter the width of the whole interval, from {NARROWEST} to {WIDEST:g}, such as {WIDTH:.2f}."
        raise Invalid("Agreement request not valid.", fields={"width": [words]})
    return width


def units_needed(head: Headline, width: float) -> PlannedUnits:
    """How many more units the primary coefficient of a dimension needs."""
    return units_for_width(width, head.units, head.se, head.undefined, _width(head.ci_low, head.ci_high))


def with_units_needed(entries: Sequence[dict[str, Any]], width: float | None) -> list[dict[str, Any]]:
    """The entries with `planned` in each coefficient; as they are where no width is asked for."""
    if width is None:
        return list(entries)
    return [
        {
            **entry,
            "coefficients": [
                {**each, "planned": asdict(_planned(each, entry["units"], width))} for each in entry["coefficients"]
            ],
        }
        for entry in entries
    ]


def _planned(coefficient: dict[str, Any], units: int, width: float) -> PlannedUnits:
    printed = _width(coefficient["ci_low"], coefficient["ci_high"])
    return units_for_width(width, units, coefficient["se"], coefficient["undefined"], printed)


def _width(low: float | None, high: float | None) -> float | None:
    return None if low is None or high is None else high - low
