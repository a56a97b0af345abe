"""Heat map of a matrix: cells in steps of a hue, with their counts where there is room."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from annotation.charts.lettering import LINE, in_lines, width_of
from annotation.charts.specifications import (
    PADDING,
    PAGE,
    SCREEN,
    ChartStyle,
    axis_of_names,
    complete_specification,
    head_of,
    hue,
    tint,
)

HEATS = (18, 30, 42, 100, 100)
"""How much of the hue each of five heats has, from little to most; the last has an outline, too."""
MOST_WRITTEN = 40
"""A matrix of more rows has no room for figures in its cells."""
TALLEST = 700.0
"""In points: about the height of a page."""
LEAST_NAMES, MOST_NAMES, MOST_SLANTED = 9, 24, 26
"""In letters: the least room of names of rows, what they should have at least where there is more, and slanted ones."""


@dataclass(frozen=True)
class HeatCell:
    """A cell of a matrix: row and column from 0, what is written in it, and how hot it is (0 is quiet, 5 most)."""

    row: int
    column: int
    text: str
    heat: int
    words: str
    url: str = ""


@dataclass(frozen=True)
class HeatMap:
    """A matrix: names of the rows, short names of the columns, what its axes are, and the cells that hold something.

    `is_slanted` is for columns with whole names.
    """

    title: str
    subtitle: str
    position: int
    rows: Sequence[str]
    columns: Sequence[str]
    row_axis: str
    column_axis: str
    cells: Sequence[HeatCell]
    is_slanted: bool = False


def heat_map(found: HeatMap, look: ChartStyle = SCREEN, width: float = PAGE) -> dict[str, Any]:
    """A matrix in five steps of a hue; on a page a cell can be pointed at (signal `at`, {row, column}).

    It is as wide as its cells need. Names of rows stand in lines where that keeps it within `width`. On paper, names
    of columns stand upright where a page has no room for slanted ones, and cells that are too many hold no figures.
    """
    letter = look.letter
    n = len(found.columns)
    fit = _fitted(found, look, width)
    lines, step, high, is_written = fit.lines, fit.step, fit.high, fit.is_written
    x: dict[str, Any] = {
        "field": "column",
        "type": "ordinal",
        "scale": {"domain": list(range(n)), "padding": 0.04},
        "axis": axis_of_names(found.columns, found.column_axis, look)
        | {"orient": "top", "labelAngle": 0 if is_written else -90, "labelLimit": MOST_SLANTED * letter},
    }
    if found.is_slanted:
        x["axis"] |= {"labelAngle": -45 if fit.is_slanted else -90, "labelAlign": "left", "labelOverlap": False}
    y = {
        "field": "row",
        "type": "ordinal",
        "scale": {"domain": list(range(len(found.rows))), "padding": 0.04},
        "axis": {"title": found.row_axis or None, "titleAnchor": "start"}
        | {"labels": False, "domain": False, "ticks": False, "grid": False},
    }
    shades = ["var(--well)", *(tint(hue(found.position), part) for part in HEATS)]
    inks = ["var(--muted)", *("var(--ground)" if part == 100 else "var(--text)" for part in HEATS)]
    heats = list(range(len(shades)))
    color = {"field": "heat", "type": "ordinal", "legend": None}
    rect: dict[str, Any] = {
        "mark": {"type": "rect", "strokeWidth": 1.5},
        "encoding": {
            "fill": color | {"scale": {"domain": heats, "range": shades}},
            "stroke": {"condition": {"test": "datum.heat == 5", "value": "var(--text)"}, "value": None},
        },
    }
    written: dict[str, Any] = {
        "mark": {"type": "text", "fontSize": letter},
        "encoding": {"text": {"field": "text"}, "color": color | {"scale": {"domain": heats, "range": inks}}},
    }
    layers = [rect, written] if is_written else [rect]
    if not look.is_paper:
        for layer in layers:
            layer["mark"]["cursor"] = "pointer"
            layer["encoding"]["tooltip"] = {"field": "words"}
        layers.append(_pointer())
    spec: dict[str, Any] = {
        "width": {"step": step},
        "height": {"step": high},
        "data": {"values": [_cell(cell, look) for cell in found.cells]},
        "layer": [each | {"encoding": {"x": x, "y": y} | each.get("encoding", {})} for each in layers],
        "resolve": {"scale": {"color": "independent"}},
    }
    spec["layer"].append(_row_names(lines, y, look))
    if look.is_paper:
        room = max(width - 2 * PADDING, fit.names + n * step)
        spec["title"] = head_of(found.title, room, letter, found.subtitle)
    else:
        spec["params"] = [{"name": "at", "value": {"row": -1, "column": -1}}]
    return complete_specification(spec, look)


@dataclass(frozen=True)
class _Fit:
    """The sides of a cell, the lines of the names of rows and their width, and how cells and columns are written."""

    step: float
    high: float
    lines: Sequence[Sequence[str]]
    names: float
    is_written: bool
    is_slanted: bool


def _fitted(found: HeatMap, look: ChartStyle, width: float) -> _Fit:
    """Written cells below slanted names where there is room for them, else below upright ones, else blank ones."""
    letter, n = look.letter, len(found.columns)
    wide = max([look.cell, *(width_of(cell.text, letter) + 0.6 * letter for cell in found.cells)])
    overhang = _overhang(found, wide, letter)
    paper = PAGE - 2 * PADDING - letter
    least = LEAST_NAMES * letter
    if max(len(found.rows), n) <= MOST_WRITTEN:
        is_slanted = found.is_slanted and (not look.is_paper or n * wide + overhang + least <= paper)
        beside = n * wide + (overhang if is_slanted else 0.0)
        fit = _with_names(found, look, width, wide, look.cell, beside, 3)
        if not look.is_paper or (beside + least <= paper and fit.high * len(found.rows) <= TALLEST):
            return replace(fit, is_written=True, is_slanted=is_slanted)
    narrow = 0.75 * look.cell
    if look.is_paper:
        longest = max((width_of(name, letter) for name in found.rows), default=0.0)
        narrow = max(1.1 * letter, min(narrow, (paper - min(longest, MOST_NAMES * letter)) / max(n, 1)))
    return _with_names(found, look, width, narrow, narrow, n * narrow, 1)


def _with_names(
    found: HeatMap, look: ChartStyle, width: float, step: float, high: float, beside: float, most_lines: int
) -> _Fit:
    letter = look.letter
    edges = 2 * PADDING + letter + beside
    free = (width if look.is_paper else 960.0) - edges
    free = free if free >= LEAST_NAMES * letter else PAGE - edges
    most = max(LEAST_NAMES * letter, min(free, 1.5 * MOST_NAMES * letter))
    lines = [in_lines(name, most, letter, most_lines) for name in found.rows]
    high = max(high, (max(map(len, lines), default=1) * LINE + 0.3) * letter)
    names = max((width_of(line, letter) for each in lines for line in each), default=0.0)
    return _Fit(step, high, lines, names, is_written=False, is_slanted=False)


def _overhang(found: HeatMap, step: float, letter: float) -> float:
    """How far names that go up to the right reach beyond the last column."""
    if not found.is_slanted:
        return 0.0
    left = len(found.columns)
    over = [
        0.71 * min(width_of(name, letter), MOST_SLANTED * letter) - (left - at - 0.7) * step
        for at, name in enumerate(found.columns)
    ]
    return max([0.0, *over])


def _row_names(lines: Sequence[Sequence[str]], y: dict[str, Any], look: ChartStyle) -> dict[str, Any]:
    letter = look.letter
    mark = {
        "type": "text",
        "align": "right",
        "baseline": "middle",
        "x": -0.6 * letter,
        "dy": {"expr": f"datum.above * {-LINE * letter / 2}"},
        "lineHeight": LINE * letter,
        "color": "var(--text)" if look.is_paper else "var(--muted)",
    }
    values = [{"row": at, "lines": list(each), "above": len(each) - 1} for at, each in enumerate(lines)]
    return {"data": {"values": values}, "mark": mark, "encoding": {"y": y, "text": {"field": "lines"}}}


def _pointer() -> dict[str, Any]:
    """The outline of the cell that the keyboard is at."""
    return {
        "transform": [{"filter": "datum.row == at.row && datum.column == at.column"}],
        "mark": {"type": "rect", "fill": None, "stroke": "var(--focus)", "strokeWidth": 3},
    }


def _cell(cell: HeatCell, look: ChartStyle) -> dict[str, Any]:
    found = {"row": cell.row, "column": cell.column, "text": cell.text, "heat": cell.heat}
    return found if look.is_paper else found | {"words": cell.words, "url": cell.url}
