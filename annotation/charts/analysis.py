"""Charts of analyses: bars of shares with intervals, curves, and boxes by group.

As in `specifications.py`: data in, a document out, with the names of colors of the style sheets.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import floor, log10
from typing import Any

from annotation.charts.lettering import LINE, MOST_LINES, RowNames, first_line, in_lines, rows_of, width_of
from annotation.charts.specifications import (
    PADDING,
    PAGE,
    SCREEN,
    ChartStyle,
    complete_specification,
    head_of,
    hue,
    vega_list,
)
from taxonomy.kinds.number import number_words

LEAST_PANEL, NARROW_PANEL = 6, 14
"""In letters: narrower than the one panels are not drawn, narrower than the other they hold no counts."""
PERCENT = "round(datum.value * 1000) / 10 + ' %'"
MARGIN = 0.6
LEAST_TICK = 3.0
"""In letters: what is between names and bars and at the right of a panel, and between two marks of an axis."""
MOST_PANELS = 6
STEPS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.25, 0.5, 1.0)
DASHES = ([1, 0], [5, 3], [2, 2], [8, 2, 2, 2], [1, 3], [6, 2, 1, 2])


@dataclass(frozen=True)
class ShareBar:
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
class ShareBars:
    """Rows of shares by name, in one panel or in several side by side; `axis` says of what they are shares."""

    title: str
    axis: str
    rows: Sequence[str]
    panels: Sequence[str]
    bars: Sequence[ShareBar]
    position: int = 0


def bars(found: ShareBars, look: ChartStyle = SCREEN, width: float = PAGE) -> dict[str, Any]:
    """Bars with the number beside each; whiskers are intervals of 95 %. On paper it is as wide as is said.

    Names stand in lines where they are longer than two fifths of the width (a third beside several panels). Panels
    that would be too narrow side by side stand below each other; narrow ones have shares without counts.
    """
    letter = look.letter
    n_panels = max(1, len(found.panels))
    room = (width if look.is_paper else 900.0 if n_panels > 1 else 760.0) - 2 * PADDING - 1
    rows = rows_of(found.rows, (0.42 if n_panels == 1 else 0.34) * room, letter, 1.75 * letter)
    gap = 1.2 * letter
    free = room - rows.room - MARGIN * letter + gap
    abreast = min(n_panels, max(1, int(free / ((LEAST_PANEL + MARGIN) * letter + gap))))
    abreast = -(-n_panels // -(-n_panels // abreast))
    # Panels are set on whole px.
    inner = max(free / abreast - gap - MARGIN * letter - (abreast > 1) * 1.5, 3 * letter)
    highest = max((each.high or each.share or 0 for each in found.bars if _is_drawn(each, found)), default=0) or 1
    lines = [list(range(start, min(start + abreast, n_panels))) for start in range(0, n_panels, abreast)]
    drawn = [
        [_panel_of_bars(found, at, rows, inner, highest, look, is_first=at == line[0]) for at in line] for line in lines
    ]
    for line in drawn:
        most = max(len(each["title"]["text"]) if "title" in each else 0 for each in line)
        for each in line:
            if "title" in each:  # their panels begin at one height
                each["title"]["text"] = [""] * (most - len(each["title"]["text"])) + each["title"]["text"]
    across = [line[0] if len(line) == 1 else {"hconcat": line, "spacing": gap} for line in drawn]
    spec: dict[str, Any] = across[0] if len(across) == 1 else {"vconcat": across, "spacing": 1.5 * letter}
    if look.is_paper:
        own = spec.get("title")
        spec = spec if own is None else {"hconcat": [spec]}
        spec = spec | {"title": head_of(found.title, room, letter)}
    return complete_specification(spec, look)


def _is_drawn(each: ShareBar, found: ShareBars) -> bool:
    """Of several panels those without any are left blank: there are many of them."""
    return bool(each.n) or (len(found.panels) == 1 and each.share is not None)


def _panel_of_bars(
    found: ShareBars, at: int, rows: RowNames, width: float, highest: float, look: ChartStyle, *, is_first: bool
) -> dict[str, Any]:
    letter = look.letter
    is_narrow = width < NARROW_PANEL * letter
    values = [_bar(each, look, rows, is_narrow) for each in found.bars if each.panel == at and _is_drawn(each, found)]
    # Room for what is written right of the longest whisker.
    widest = max((width_of(each["text"], letter) for each in values), default=0.0) + 0.6 * letter
    room = min(0.75, widest / max(width, 1))
    x = {
        "field": "share",
        "type": "quantitative",
        "scale": {"domain": [0, highest / (1 - room)], "nice": False},
        "axis": {
            "title": in_lines(found.axis, width + letter, letter, 4) if at == 0 else None,
            "titleAnchor": "start",
            "labelExpr": PERCENT,
            "values": _ticks(highest, width * (1 - room) / letter),
            "labelOverlap": False,
            "grid": True,
        },
    }
    y = place_of_rows(rows)
    middle = y | {"field": "y"}
    color = f"var({hue(found.position)})"
    bar: dict[str, Any] = {"type": "rect", "color": color, "opacity": 0.75}
    if not look.is_paper:
        bar["cursor"] = "pointer"
    said = {} if look.is_paper else {"tooltip": {"field": "words"}}
    whisker = {"type": "rule", "color": "var(--text)", "strokeWidth": 0.09 * letter}
    text = {"type": "text", "align": "left", "dx": 0.35 * letter, "color": "var(--text)", "fontSize": letter}
    spec: dict[str, Any] = {
        "width": width,
        "height": rows.height,
        "data": {"values": values},
        "layer": [
            {
                "mark": bar,
                "encoding": {
                    "x": x,
                    "x2": {"datum": 0},
                    "y": y | {"field": "top"},
                    "y2": {"field": "bottom"},
                    **said,
                },
            },
            {"mark": whisker, "encoding": {"x": x | {"field": "low"}, "x2": {"field": "high"}, "y": middle}},
            {
                "mark": text,
                "encoding": {"x": x | {"field": "end"}, "y": middle, "text": {"field": "text"}, **said},
            },
        ],
    }
    spec["layer"] += names_of_rows(rows, width, look) if is_first else [frame(0, width + MARGIN * letter)]
    if len(found.panels) > 1:
        name, _, n = found.panels[at].rpartition(", ")
        lines = in_lines(name, width + letter, letter, 3 * MOST_LINES, is_bold=True)
        spec["title"] = {"text": lines, "subtitle": n, "offset": 0.4 * letter}
    return spec


def place_of_rows(rows: RowNames) -> dict[str, Any]:
    """The y of rows in px from above."""
    return {
        "type": "quantitative",
        "scale": {"domain": [0, rows.height], "reverse": True, "nice": False, "zero": False},
        "axis": None,
    }


def names_of_rows(rows: RowNames, width: float, look: ChartStyle) -> list[dict[str, Any]]:
    """The names left of a panel, and a frame that is as wide as they may be: so the figure is as wide as was said."""
    letter = look.letter
    values = [
        {"y": first_line(middle, lines, letter), "lines": list(lines)}
        for middle, lines in zip(rows.middles, rows.lines, strict=True)
    ]
    mark = {
        "type": "text",
        "align": "right",
        "baseline": "middle",
        "x": -MARGIN * letter,
        "lineHeight": LINE * letter,
        "color": "var(--text)" if look.is_paper else "var(--muted)",
    }
    encoding = {"y": place_of_rows(rows) | {"field": "y"}, "text": {"field": "lines"}}
    drawn = {"data": {"values": values}, "mark": mark, "encoding": encoding}
    return [drawn, frame(-MARGIN * letter - rows.room, width + MARGIN * letter)]


def frame(left: float, right: float) -> dict[str, Any]:
    """Nothing that is seen, from the left to the right: what a figure measures itself by."""
    return {
        "data": {"values": [{}]},
        "mark": {"type": "rect", "x": left, "x2": right, "y": 0, "y2": 1, "opacity": 0, "tooltip": None},
    }


def _ticks(highest: float, letters: float) -> list[float]:
    """Round shares from 0 up to the highest, and none beyond all, as many as there is room for in so many letters."""
    least = max(highest / 5, LEAST_TICK * highest / letters)
    step = next((each for each in STEPS if each >= least), STEPS[-1])
    if step > highest:  # one mark beside 0 is the most there is room for
        tenth = 10.0 ** floor(log10(highest)) / 2
        step = floor(highest / tenth + 1e-9) * tenth
    return [round(step * at, 4) for at in range(int(min(highest, 1.0) / step + 1e-9) + 1)]


def _bar(each: ShareBar, look: ChartStyle, rows: RowNames, is_narrow: bool) -> dict[str, Any]:
    end = max(each.share or 0, each.high or 0)
    share = "" if each.share is None else f"{each.share * 100:.1f}%"
    written = f"{each.n:,}" if not share else share if is_narrow else f"{each.n:,} ({share})"
    found: dict[str, Any] = {"share": each.share, "low": each.low, "high": each.high, "end": end, "text": written}
    found |= rows.place(each.row)
    return found if look.is_paper else found | {"words": each.words, "url": each.url}


@dataclass(frozen=True)
class Curve:
    """A line by its points (x, y), with words and an address for each point where there are any."""

    name: str
    points: Sequence[tuple[float, float]]
    words: Sequence[str] = ()
    urls: Sequence[str] = ()


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


def curves(found: Curves, look: ChartStyle = SCREEN, width: float = PAGE) -> dict[str, Any]:
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
        | ({"labelExpr": PERCENT} if found.is_share else {}),
    }
    shades = [f"var({hue(found.position + at)})" for at in range(len(names))]
    dashes = [DASHES[at % len(DASHES)] for at in range(len(names))]
    room = (width if look.is_paper else 720.0) - 2 * PADDING
    legend = _legend(names, room - 5.5 * letter, letter)
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
        "width": room + 2 * PADDING,
        "autosize": {"type": "fit-x", "contains": "padding"},
        "height": (11 if look.is_paper else 16) * letter,
        "data": {"values": values},
        "layer": layers,
    }
    return complete_specification(spec | ({"title": head_of(found.title, room, letter)} if look.is_paper else {}), look)


def _legend(names: Sequence[str], room: float, letter: float) -> dict[str, Any]:
    """As many names abreast as there is room for, in lines where one is longer than all there is."""
    symbol = 4.5 * letter
    longest = max((width_of(name, letter) for name in names), default=letter)
    abreast = max(1, min(3, int(room / (longest + symbol))))
    lines = [in_lines(name, room - symbol, letter) for name in names]
    return {
        "title": None,
        "orient": "top",
        "columns": abreast,
        "labelLimit": room,
        "labelExpr": f"{vega_list(lines)}[indexof({vega_list(names)}, datum.value)]",
        "symbolSize": 20 * letter,
    }


def _at(listed: Sequence[str], place: int) -> str:
    return listed[place] if place < len(listed) else ""


def _cut(cut: float, letter: float) -> dict[str, Any]:
    at = {"x": {"datum": cut, "type": "quantitative"}}
    words = number_words(cut)
    text = {"type": "text", "align": "left", "dx": 0.3 * letter, "y": letter, "color": "var(--bad)", "text": words}
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


def boxes(found: Boxes, look: ChartStyle = SCREEN, width: float = PAGE) -> dict[str, Any]:
    """Boxes from the first to the third quartile with the median; whiskers from the 5th to the 95th percentile."""
    letter = look.letter
    room = (width if look.is_paper else 760.0) - 2 * PADDING - 1
    rows = rows_of(found.rows, 0.42 * room, letter, 1.9 * letter)
    inner = room - rows.room - 2 * MARGIN * letter
    values = []
    for each in found.boxes:
        at = dict(zip(("p5", "p25", "p50", "p75", "p95"), each.quantiles, strict=True))
        if found.is_log:
            at = {name: max(value, 0.5) for name, value in at.items()}
        values.append(at | rows.place(each.row) | ({} if look.is_paper else {"words": each.words, "url": each.url}))
    x = {
        "type": "quantitative",
        "scale": {"type": "log", "nice": False} if found.is_log else {"zero": True},
        "axis": {
            "title": in_lines(found.axis, inner + rows.room, letter, 4),
            "titleAnchor": "end",
            "tickCount": min(6, int(inner / (4 * letter))),
            "labelFlush": True,
            "labelOverlap": "greedy",
        },
    }
    y = place_of_rows(rows)
    said = {} if look.is_paper else {"tooltip": {"field": "words"}}
    box: dict[str, Any] = {"type": "rect", "color": f"var({hue(found.position)})", "opacity": 0.6}
    if not look.is_paper:
        box["cursor"] = "pointer"
    rule = {"type": "rule", "color": "var(--text)", "strokeWidth": 0.09 * letter}
    middle = {"type": "rule", "color": "var(--text)", "strokeWidth": 0.2 * letter}
    around = {"y": y | {"field": "top"}, "y2": {"field": "bottom"}}
    spec = {
        "width": inner,
        "height": rows.height,
        "data": {"values": values},
        "layer": [
            {"mark": rule, "encoding": {"x": x | {"field": "p5"}, "x2": {"field": "p95"}, "y": y | {"field": "y"}}},
            {"mark": box, "encoding": {"x": x | {"field": "p25"}, "x2": {"field": "p75"}, **around, **said}},
            {"mark": middle, "encoding": {"x": x | {"field": "p50"}, **around, **said}},
            *names_of_rows(rows, inner, look),
        ],
    }
    return complete_specification(spec | ({"title": head_of(found.title, room, letter)} if look.is_paper else {}), look)
