"""Figures of agreement in a package, from the numbers in it."""

from collections.abc import Mapping, Sequence
from typing import Any

from agreement import COEFFICIENTS
from annotation.charts.heat_map import HeatCell, HeatMap, heat_map
from annotation.charts.specifications import PRINT, Panel, TrendPoint, on_paper, trends
from taxonomy.kinds import KINDS

MOST_CELLS = 60
"""A confusion of more categories can't be read at the size of a page."""
STEPS = (0.05, 0.1, 0.2, 0.4)
Entry = Mapping[str, Any]


def agreement_figures(
    entries: Sequence[Entry], titles: Mapping[str, str], primary: Mapping[str, Mapping[str, Any]]
) -> dict[str, dict[str, Any]]:
    """Specifications by name: `trend`, and `confusion-KEY` of each dimension over all rounds before discussion.

    `entries` are those of results/agreement.json, `titles` of dimensions by key in their order, `primary` what was
    fixed for each.
    """
    found = {}
    positions = {key: place for place, key in enumerate(titles)}
    drawn = [
        panel for key in titles if (panel := _panel(entries, key, titles[key], positions[key], primary.get(key, {})))
    ]
    if drawn:
        found["trend"] = on_paper(trends(drawn, PRINT))
    for entry in entries:
        key = entry["dimension"]
        if f"confusion-{key}" in found:
            continue  # of the headline set, which stands behind all rounds together
        if entry["round"] is None and entry["when"] == "before" and not KINDS[entry["kind"]].is_open:
            drawing = _confusion(entry, titles[key], positions[key])
            if drawing is not None:
                found[f"confusion-{key}"] = on_paper(heat_map(drawing, PRINT))
    return found


def _panel(entries: Sequence[Entry], key: str, title: str, position: int, fixed: Mapping[str, Any]) -> Panel | None:
    name = fixed.get("coefficient", "krippendorff_alpha")
    points = []
    for entry in entries:
        if entry["dimension"] != key or entry["round"] is None:
            continue
        found = next(each for each in entry["coefficients"] if each["name"] == name)
        if found["value"] is not None:
            points.append(
                TrendPoint(entry["round"], found["value"], found["ci_low"], found["ci_high"], entry["when"] == "after")
            )
    rounds = sorted({point.round for point in points})
    if len(rounds) < 2:
        return None
    return Panel(key, title, COEFFICIENTS[name].title, position, fixed.get("threshold"), rounds, points)


def _confusion(entry: Entry, title: str, position: int) -> HeatMap | None:
    """How often each category of one rater met each of another's; differences are the stronger, the more there are."""
    names = list(dict.fromkeys(each[side] for each in entry["confusion"] for side in ("a", "b")))
    if not names or len(names) > MOST_CELLS:
        return None
    place = {name: at for at, name in enumerate(names)}
    most = sum(each["n"] for each in entry["confusion"] if each["a"] != each["b"]) or 1
    cells = [
        HeatCell(
            place[each["a"]],
            place[each["b"]],
            str(each["n"]),
            0 if each["a"] == each["b"] else 1 + sum(each["n"] / most > step for step in STEPS),
            "",
            "",
        )
        for each in entry["confusion"]
    ]
    codes = sorted({code for each in entry["by_pair"] for code in each["raters"]}, key=lambda code: (len(code), code))
    return HeatMap(
        title=f"{title}: confusion",
        subtitle=f"Rows: {codes[0]}. Columns: {codes[1]}." if len(codes) == 2 else "All pairs of raters pooled.",
        position=position,
        rows=[f"{name}  {at}" for at, name in enumerate(names, start=1)],
        columns=[str(at) for at in range(1, len(names) + 1)],
        row_axis="",
        column_axis="",
        cells=cells,
    )
