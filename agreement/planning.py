"""Planning of sample size: how many more units with two ratings narrow a confidence interval."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

from agreement.intervals import Z

NO_ERROR = "There is no standard error to plan from."
ALL_ALIKE = (
    "The standard error is 0, because every unit contributes the same to the coefficient, as where no two ratings "
    "differ or all do. Nothing can be planned from that."
)
NOT_NARROW = (
    "The printed interval is wider than this, although the standard error says that there are units enough. It can't "
    "be relied on with so few units or disagreements: label more, then plan again."
)
TINY = 1e-9


@dataclass(frozen=True)
class PlannedUnits:
    """Units for a 95% interval that is `width` wide in all; the last three are None with `undefined`, the reason."""

    width: float
    units: int
    width_now: float | None
    units_needed: int | None
    more_units: int | None
    undefined: str | None = None


def units_for_width(
    width: float, units: int, se: float | None, undefined: str | None = None, printed: float | None = None
) -> PlannedUnits:
    """How many units with two ratings or more give an interval of this width, from a pilot of `units` of them.

    n · (2 · 1.96 · se / width)², rounded up: the variance of the coefficient is taken as Q / n, and Q as that of the
    pilot. Cantor 1996, doi:10.1037/1082-989X.1.2.150, plans so for Cohen's kappa of two categories; the published
    variances of the others have the same form. An approximation: further units are taken to be like those of the pilot,
    and units with one rating to matter little. `undefined` is the reason why the coefficient has no value, if it has
    none, and `printed` the width of the interval that is reported: where that is wider than wanted, no plan says that
    the units are enough. Raises ValueError unless the width is above 0.
    """
    if width <= 0:
        raise ValueError("An interval has a width above 0.")
    if undefined is None and (se is None or se < TINY):
        undefined = NO_ERROR if se is None else ALL_ALIKE
    if undefined is not None or se is None:
        return PlannedUnits(width, units, None, None, None, undefined)
    width_now = 2 * Z * se
    # A width that was reached exactly needs no unit more for the sake of rounding.
    needed = ceil(units * (width_now / width) ** 2 - TINY)
    if needed <= units and printed is not None and printed > width + TINY:
        return PlannedUnits(width, units, None, None, None, NOT_NARROW)
    return PlannedUnits(width, units, width_now, needed, max(0, needed - units))
