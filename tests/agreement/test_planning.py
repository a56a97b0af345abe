"""How many more units narrow an interval: against larger samples of the same pattern, and where nothing can be told."""

import numpy as np
import pytest

from agreement import Patterns, summary, units_for_width
from tests.simulation import examples

PILOT = [(("a", "a"), 20), (("a", "b"), 6), (("b", "b"), 14), (("b", "c"), 3), (("c", "c"), 9), (("c", "a"), 4)]


def errors(rows) -> dict[str, tuple[int, float]]:
    entry = summary(Patterns.from_counts(rows), kind="ordinal", metric="interval", intervals=False)
    return {each["name"]: (entry["units"], each["se"]) for each in entry["coefficients"] if each["se"] is not None}


def test_four_times_the_pilot_has_half_its_width_for_every_coefficient():
    larger = errors([(row, 4 * n) for row, n in PILOT])
    assert len(larger) == 10
    for name, (units, se) in errors(PILOT).items():
        plan = units_for_width(se * 1.96, units, se)
        assert plan.width_now == pytest.approx(2 * 1.96 * se, rel=1e-4)
        assert plan.units_needed == pytest.approx(4 * units, abs=1) and plan.more_units == plan.units_needed - units
        assert 2 * 1.96 * larger[name][1] == pytest.approx(plan.width, rel=0.02), name


def test_with_units_rated_once_more_that_are_rated_twice_come_near_the_width_that_was_planned():
    once = [(("a", None), 30), (("b", None), 10), ((None, "c"), 10)]
    for name, (units, se) in errors(PILOT + once).items():
        width = se * 1.96
        more = units_for_width(width, units, se).more_units
        reached = errors([(row, n * (units + more) / units) for row, n in PILOT] + once)[name][1]
        assert 2 * 1.96 * reached == pytest.approx(width, rel=0.1), name


def test_planned_studies_have_the_width_on_average():
    rng = np.random.default_rng(1)
    p = np.array([n for _, n in PILOT]) / 56
    widths, wanted = [], 0.2
    for _ in range(examples(400)):
        pilot = [(row, n) for (row, _), n in zip(PILOT, rng.multinomial(80, p), strict=True)]
        needed = units_for_width(wanted, *errors(pilot)["cohen_kappa"]).units_needed
        study = [(row, n) for (row, _), n in zip(PILOT, rng.multinomial(needed, p), strict=True)]
        widths.append(2 * 1.96 * errors(study)["cohen_kappa"][1])
    assert np.mean(widths) == pytest.approx(wanted, rel=0.05)


def test_an_interval_that_is_narrow_enough_needs_no_more():
    plan = units_for_width(0.2, 100, 0.05)
    assert (plan.units_needed, plan.more_units) == (97, 0)
    assert units_for_width(2 * 1.959963984540054 * 0.05, 100, 0.05).more_units == 0


def test_no_plan_of_no_more_units_stands_beside_a_printed_interval_that_is_wider():
    plan = units_for_width(0.2, 100, 0.05, printed=1.0)
    assert (plan.units_needed, plan.more_units, plan.width_now) == (None, None, None)
    assert "printed interval is wider" in plan.undefined
    assert units_for_width(0.2, 100, 0.05, printed=0.2).more_units == 0
    assert units_for_width(0.2, 10, 0.2, printed=0.9).more_units == 144


@pytest.mark.parametrize(
    ("se", "undefined", "reason"),
    [
        (None, None, "There is no standard error to plan from."),
        (0.0, None, "every unit contributes the same"),
        (None, "No unit was rated by two raters.", "No unit was rated by two raters."),
    ],
)
def test_without_a_standard_error_nothing_is_planned(se: float | None, undefined: str | None, reason: str):
    plan = units_for_width(0.2, 30, se, undefined)
    assert (plan.units_needed, plan.more_units, plan.width_now) == (None, None, None) and reason in plan.undefined
    with pytest.raises(ValueError):
        units_for_width(0, 30, 0.1)
