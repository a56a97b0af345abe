"""Figures of analysis as specifications: shares as bars with their intervals, curves, and boxes by group.

As in `annotation.charts`: data in, a document out, colours by the names of the style sheets.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from annotation.charts import SCREEN, Look, axis_of_names, hue, whole

COLUMN, PAGE = 238.0, 493.0
"""The widths of a column (84 mm) and of a page (174 mm) of a journal, in points."""
MOST_PANELS = 6
STEPS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.25, 0.5, 1.0)
DASHES = ([1, 0], [5, 3], [2, 2], [8, 2, 2, 2], [1, 3], [6, 2, 1, 2])


@dataclass(frozen=True)
class Bar:
    """A share with its interval: in which row and panel it stands (from 0), its words, and what is behind it."""

    row: int
    panel: int
    n: int
    share: float | None
    low: float | None
    high: float | None
    words: str
    url: str = ""


@dataclass(frozen=True)
class Bars:
    """Rows of shares by name, in one panel or in several side by side; `axis` says of what they are shares."""

    title: str
    axis: str
    rows: Sequence[str]
    panels: Sequence[str]
    bars: Sequence[Bar]
    position: int = 0


def bars(found: Bars, look: Look = SCREEN, width: float = PAGE) -> dict[str, Any]:
    """Bars with the number beside each; whiskers are intervals of 95 %. On paper it is as wide as is said.

    Names have the room that they need, up to a third of a page, or nearly half of a column.
    """
    letter = look.letter
    n_panels = max(1, len(found.panels))
    whole_width = width if look.is_paper else 900.0 if n_panels > 1 else 760.0
    names = min((max((len(name) for name in found.rows), default=1) * 0.56 + 1) * letter, 0.42 * whole_width)
    gap = 1.2 * letter
    inner = max((whole_width - names - 2 * letter - gap * (n_panels - 1)) / n_panels, 3 * letter)
    highest = max((each.high or each.share or 0 for each in found.bars if each.n), default=0) or 1
    panels = [_panel_of_bars(found, at, inner, highest, names, look) for at in range(n_panels)]
    spec: dict[str, Any] = panels[0] if n_panels == 1 else {"hconcat": panels, "spacing": gap}
    return whole(spec | ({"title": found.title} if look.is_paper else {}), look)


def _panel_of_bars(found: Bars, at: int, width: float, highest: float, names: float, look: Look) -> dict[str, Any]:
    letter = look.letter
    values = [_bar(each, look) for each in found.bars if each.panel == at and each.n]
    y = {
        "field": "row",
        "type": "ordinal",
        "scale": {"domain": list(range(len(found.rows))), "padding": 0.25},
        "axis": (axis_of_names(found.rows, "", look) | {"labelLimit": names, "title": None}) if at == 0 else None,
    }
    # Room for what is written right of the longest whisker.
    room = min(0.6, 6.5 * letter / max(width, 1))
    x = {
        "field": "share",
        "type": "quantitative",
        "scale": {"domain": [0, highest / (1 - room)], "nice": False},
        "axis": {
            "title": found.axis if at == 0 else None,
            "titleAnchor": "start",
            "format": "%",
            "values": _ticks(highest, 2 if len(found.panels) > 2 else 4),
            "grid": True,
        },
    }
    colour = f"var({hue(found.position)})"
    bar: dict[str, Any] = {"type": "bar", "color": colour, "opacity": 0.75, "height": {"band": 1}}
    if not look.is_paper:
        bar["cursor"] = "pointer"
    said = {} if look.is_paper else {"tooltip": {"field": "words"}}
    whisker = {"type": "rule", "color": "var(--text)", "strokeWidth": 0.09 * letter}
    text = {"type": "text", "align": "left", "dx": 0.35 * letter, "color": "var(--text)", "fontSize": letter}
    spec: dict[str, Any] = {
        "width": width,
        "height": {"step": 1.75 * letter},
        "data": {"values": values},
        "encoding": {"y": y},
        "layer": [
            {"mark": bar, "encoding": {"x": x, **said}},
            {"mark": whisker, "encoding": {"x": x | {"field": "low"}, "x2": {"field": "high"}}},
            {"mark": text, "encoding": {"x": x | {"field": "end"}, "text": {"field": "text"}, **said}},
        ],
    }
    if len(found.panels) > 1:
        name, _, n = found.panels[at].rpartition(", ")
        spec["title"] = {"text": name, "subtitle": n, "limit": width, "offset": 0.4 * letter}
    return spec


def _ticks(highest: float, most: int) -> list[float]:
    """Round shares from 0 up to the highest, and none beyond all."""
    step = next(each for each in STEPS if highest / each <= most)
    return [round(step * at, 4) for at in range(int(min(highest, 1.0) / step + 1e-9) + 1)]


def _bar(each: Bar, look: Look) -> dict[str, Any]:
    end = max(each.share or 0, each.high or 0)
    written = f"{each.n:,}" if each.share is None else f"{each.n:,} ({each.share * 100:.1f} %)"
    found: dict[str, Any] = {"row": each.row, "share": each.share, "low": each.low, "high": each.high, "end": end}
    found["text"] = written
    return found if look.is_paper else found | {"words": each.words, "url": each.url}


@dataclass(frozen=True)
class Curve:
    """A line by its points (x, y), with words and an address for each point where there are any."""

    name: str
    points: Sequence[tuple[float, float]]
    words: Sequence[str] = ()
    urls: Sequence[str] = ()
    is_quiet: bool = False


@dataclass(frozen=True)
class Curves:
    """Some lines in one panel; `cut` is a mark on the x axis, `is_share` says that y are shares."""

    title: str
    x_axis: str
    y_axis: str
    curves: Sequence[Curve]
    cut: float | None = None
    is_share: bool = False
    is_log: bool = False
    is_step: bool = False
    position: int = 0


def curves(found: Curves, look: Look = SCREEN, width: float = PAGE) -> dict[str, Any]:
    """Lines told apart by dashes and by their names in a legend."""
    letter = look.letter
    values = [
        {"x": x, "y": y, "name": each.name}
        | ({} if look.is_paper else {"words": _at(each.words, at), "url": _at(each.urls, at)})
        for each in found.curves
        for at, (x, y) in enumerate(each.points)
        if not found.is_log or x > 0
    ]
    names = [each.name for each in found.curves]
    x = {
        "field": "x",
        "type": "quantitative",
        "scale": {"type": "log"} if found.is_log else {"nice": False, "zero": True},
        "axis": {"title": found.x_axis, "titleAnchor": "end", "grid": False, "tickCount": 6},
    }
    y = {
        "field": "y",
        "type": "quantitative",
        "scale": {"domain": [0, 1]} if found.is_share else {"zero": True},
        "axis": {"title": found.y_axis, "titleAnchor": "end", "tickCount": 5}
        | ({"format": "%"} if found.is_share else {}),
    }
    shades = [f"var({hue(found.position + at)})" for at in range(len(names))]
    dashes = [DASHES[at % len(DASHES)] for at in range(len(names))]
    legend: dict[str, Any] = {"title": None, "orient": "top", "labelLimit": 14 * letter, "symbolSize": 20 * letter}
    legend["columns"] = 1 if look.is_paper and width <= COLUMN else 3
    by_name = {"field": "name", "type": "nominal"}
    apart = {
        "color": by_name | {"scale": {"domain": names, "range": shades}, "legend": legend if len(names) > 1 else None},
        "strokeDash": by_name
        | {"scale": {"domain": names, "range": dashes}, "legend": legend if len(names) > 1 else None},
    }
    line: dict[str, Any] = {"type": "line", "strokeWidth": 0.14 * letter}
    if found.is_step:
        line["interpolate"] = "step-after"
    layers: list[dict[str, Any]] = [{"mark": line, "encoding": {"x": x, "y": y, **apart}}]
    if not look.is_paper:
        point = {"type": "point", "size": 7 * letter, "filled": True, "opacity": 0.001, "cursor": "pointer"}
        layers.append({"mark": point, "encoding": {"x": x, "y": y, "tooltip": {"field": "words"}}})
    if found.cut is not None:
        layers.append(_cut(found.cut, letter))
    spec = {
        "width": (width - 5 * letter) if look.is_paper else 640,
        "height": (11 if look.is_paper else 16) * letter,
        "data": {"values": values},
        "layer": layers,
    }
    return whole(spec | ({"title": found.title} if look.is_paper else {}), look)


def _at(listed: Sequence[str], place: int) -> str:
    return listed[place] if place < len(listed) else ""


def _cut(cut: float, letter: float) -> dict[str, Any]:
    at = {"x": {"datum": cut, "type": "quantitative"}}
    text = {"type": "text", "align": "left", "dx": 0.3 * letter, "y": letter, "color": "var(--bad)", "text": f"{cut:g}"}
    rule = {"type": "rule", "color": "var(--bad)", "strokeDash": [5, 3], "strokeWidth": 1}
    return {"data": {"values": [{}]}, "layer": [{"mark": rule, "encoding": at}, {"mark": text, "encoding": at}]}


@dataclass(frozen=True)
class Box:
    """The numbers of a group: 5, 25, 50, 75 and 95 percentiles, in a row of its own."""

    row: int
    quantiles: tuple[float, float, float, float, float]
    words: str
    url: str = ""


@dataclass(frozen=True)
class Boxes:
    """Groups by name with their numbers."""

    title: str
    axis: str
    rows: Sequence[str]
    boxes: Sequence[Box]
    is_log: bool = False
    position: int = 0


def boxes(found: Boxes, look: Look = SCREEN, width: float = PAGE) -> dict[str, Any]:
    """Boxes from the first to the third quartile with the median; whiskers from the 5th to the 95th percentile."""
    letter = look.letter
    names = min(max((len(name) for name in found.rows), default=1) * 0.6 + 1, 20) * letter
    values = []
    for each in found.boxes:
        at = dict(zip(("p5", "p25", "p50", "p75", "p95"), each.quantiles, strict=True))
        if found.is_log:
            at = {name: max(value, 0.5) for name, value in at.items()}
        values.append({"row": each.row} | at | ({} if look.is_paper else {"words": each.words, "url": each.url}))
    y = {
        "field": "row",
        "type": "ordinal",
        "scale": {"domain": list(range(len(found.rows))), "padding": 0.3},
        "axis": axis_of_names(found.rows, "", look) | {"labelLimit": names, "title": None},
    }
    x = {
        "type": "quantitative",
        "scale": {"type": "log", "nice": False} if found.is_log else {"zero": True},
        "axis": {"title": found.axis, "titleAnchor": "end", "tickCount": 6},
    }
    said = {} if look.is_paper else {"tooltip": {"field": "words"}}
    colour = f"var({hue(found.position)})"
    box: dict[str, Any] = {"type": "bar", "color": colour, "opacity": 0.6, "height": {"band": 0.9}}
    if not look.is_paper:
        box["cursor"] = "pointer"
    rule = {"type": "rule", "color": "var(--text)", "strokeWidth": 0.09 * letter}
    middle = {"type": "tick", "color": "var(--text)", "thickness": 0.2 * letter, "size": 1.4 * letter}
    spec = {
        "width": (width - names - 2 * letter) if look.is_paper else 560,
        "height": {"step": 1.9 * letter},
        "data": {"values": values},
        "encoding": {"y": y},
        "layer": [
            {"mark": rule, "encoding": {"x": x | {"field": "p5"}, "x2": {"field": "p95"}}},
            {"mark": box, "encoding": {"x": x | {"field": "p25"}, "x2": {"field": "p75"}, **said}},
            {"mark": middle, "encoding": {"x": x | {"field": "p50"}, **said}},
        ],
    }
    return whole(spec | ({"title": found.title} if look.is_paper else {}), look)
