"""Published tables and random ones, as patterns."""

import json
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from agreement import Patterns
from tests.simulation import WHOLE

CASES = Path(__file__).parent / "cases"
QUICK = settings(
    max_examples=3000 if WHOLE else 50,
    deadline=None,
    derandomize=not WHOLE,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)

Table = list[list[Any]]


def read(name: str) -> dict[str, Any]:
    return json.loads((CASES / f"{name}.json").read_text())


def patterns_of(case: dict[str, Any]) -> Patterns:
    """A case given as a two-rater table, as counts per unit, as ratings per unit, or as sets per unit."""
    if "table" in case:
        rows = range(len(case["table"]))
        return Patterns.from_counts([((a, b), case["table"][a][b]) for a in rows for b in rows], categories=rows)
    if "counts" in case:
        rows = [[k for k, n in enumerate(unit) for _ in range(n)] for unit in case["counts"]]
        return Patterns.from_table(rows, categories=range(len(case["counts"][0])))
    if "sets" in case:
        rows = [[None if value is None else frozenset(value) for value in unit] for unit in case["sets"]]
        return Patterns.from_table(rows)
    if case.get("by_position"):
        names = {category: f"level {k}" for k, category in enumerate(case["categories"])}
        rows = [[names[value] for value in unit] for unit in case["ratings"]]
        return Patterns.from_table(rows, categories=list(names.values()))
    return Patterns.from_table(case["ratings"], categories=case.get("categories"))


@st.composite
def rating_tables(
    draw: st.DrawFn, *, raters: tuple[int, int] = (2, 5), categories: int = 4, gaps: bool = True, units: int = 25
) -> Table:
    """Units × raters with small whole numbers, None where there is a gap; often skewed towards 1."""
    width = draw(st.integers(*raters))
    values = [st.integers(1, categories), st.just(1)]
    if gaps:
        values.append(st.none())
    unit = st.lists(st.one_of(*values), min_size=width, max_size=width)
    return draw(st.lists(unit, min_size=1, max_size=units))
