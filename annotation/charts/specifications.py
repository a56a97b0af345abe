"""Specifications of charts in Vega-Lite: common parts, and trends of agreement.

Colors are names of the style sheets: `var(--dimension-2)`, or a share of one on the background (`tint`). A browser
resolves them inside the SVG, so a chart follows the theme and prints in the colors of paper. For a file `on_paper`
resolves them. The `url` of a datum leads to the items behind a mark, and `words` describe them; files have neither.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agreement import bound, decimals, interval_words
from annotation.charts.lettering import LINE, in_lines

SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
HUES = 8
COLUMN, PAGE = 238.0, 493.0
"""The widths of a column (84 mm) and of a page (174 mm) of a journal, in points."""
PADDING = 4
PAPER = {
    "--ground": "#ffffff",
    "--well": "#f3f1ec",
    "--line": "#d9d5cc",
    "--line-strong": "#8d877b",
    "--text": "#000000",
    "--muted": "#4a463e",
    "--bad": "#a8261b",
    "--dimension-1": "#0b66a6",
    "--dimension-2": "#a8520f",
    "--dimension-3": "#0a7358",
    "--dimension-4": "#94477f",
    "--dimension-5": "#7a6200",
    "--dimension-6": "#286f8f",
    "--dimension-7": "#6d5a4a",
    "--dimension-8": "#55606b",
}
"""The colours of paper, as static/css/tokens.css has them for print, with darker greys: a figure is made smaller."""


@dataclass(frozen=True)
class ChartStyle:
    """What differs between a page and paper: the size of letters in px (on paper a px is a point) and their font."""

    letter: float = 12
    font: str = "system-ui, -apple-system, Segoe UI, Roboto, Noto Sans, Liberation Sans, sans-serif"
    is_paper: bool = False

    @property
    def cell(self) -> float:
        """The side of a cell of a matrix, in px."""
        return 2 * self.letter


SCREEN = ChartStyle()
PRINT = ChartStyle(8, "Helvetica, Arial, Liberation Sans, DejaVu Sans, sans-serif", True)


def hue(position: int) -> str:
    """The token of a dimension's hue, by its place in the version, from 0."""
    return f"--dimension-{position % HUES + 1}"


@dataclass(frozen=True)
class TrendPoint:
    """A coefficient in a round; the interval may be missing."""

    round: int
    value: float
    low: float | None
    high: float | None
    is_after: bool = False
    url: str = ""


@dataclass(frozen=True)
class Panel:
    """The trend of one dimension."""

    key: str
    title: str
    coefficient: str
    position: int
    threshold: float | None
    rounds: Sequence[int]
    points: Sequence[TrendPoint]


def trend(panel: Panel, look: ChartStyle = SCREEN) -> dict[str, Any]:
    """A coefficient round by round, with intervals and the threshold: a chart as wide as its container."""
    width: Any = 17 * look.letter if look.is_paper else "container"
    return complete_specification(_panel(panel, look) | {"width": width}, look)


def trends(panels: Sequence[Panel], look: ChartStyle = PRINT) -> dict[str, Any]:
    """All panels in one figure, three in a row."""
    drawn = [_panel(panel, look) | {"width": 17 * look.letter} for panel in panels]
    return complete_specification({"concat": drawn, "columns": 3, "spacing": 2.5 * look.letter}, look)


def _panel(panel: Panel, look: ChartStyle) -> dict[str, Any]:
    color = f"var({hue(panel.position)})"
    values = [_datum(point, panel, look) for point in panel.points]
    room = 17 * look.letter if look.is_paper else 320.0
    edges = [edge for point in panel.points for edge in (point.value, point.low) if edge is not None]
    lowest = min([0.0, *edges])
    x = {
        "field": "round",
        "type": "ordinal",
        "scale": {"domain": list(panel.rounds), "paddingOuter": 0.3},
        "axis": {"title": "Round", "labelAngle": 0, "grid": False},
    }
    y = {
        "field": "value",
        "type": "quantitative",
        "scale": {"domain": [max(-1.0, lowest), 1.0], "nice": False, "clamp": True},
        "axis": {"title": None, "values": [at for at in (-1, -0.5, 0, 0.5, 1) if at >= lowest], "format": ".1f"},
    }
    said = {"tooltip": {"field": "words"}} if not look.is_paper else {}
    before, after = "!datum.is_after", "datum.is_after"
    bar = {"type": "rule", "color": color, "strokeWidth": 0.5 * look.letter, "opacity": 0.35}
    layers: list[dict[str, Any]] = [
        {
            "transform": [{"filter": f"{before} && isValid(datum.low)"}],
            "mark": bar,
            "encoding": {"x": x, "y": y | {"field": "low"}, "y2": {"field": "high"}},
        },
        {
            "transform": [{"filter": before}],
            "mark": {"type": "line", "color": color, "strokeWidth": 1.5},
            "encoding": {"x": x, "y": y},
        },
        {
            "transform": [{"filter": after}],
            "mark": {"type": "line", "color": color, "strokeWidth": 1, "strokeDash": [2, 2], "opacity": 0.7},
            "encoding": {"x": x, "y": y},
        },
        _points(
            after, x, y, said, {"shape": "diamond", "fill": "var(--ground)", "stroke": color, "strokeWidth": 1.2}, look
        ),
        _points(
            before, x, y, said, {"shape": "circle", "fill": color, "stroke": "var(--ground)", "strokeWidth": 1}, look
        ),
    ]
    if panel.threshold is not None:
        layers.insert(0, _threshold(panel.threshold, y, look))
    return {
        "title": {"text": in_lines(panel.title, room, look.letter, is_bold=True), "subtitle": panel.coefficient},
        "height": 9 * look.letter,
        "data": {"values": values},
        "layer": layers,
    }


def _threshold(threshold: float, y: Mapping[str, Any], look: ChartStyle) -> dict[str, Any]:
    at = {"y": {**y, "field": "threshold"}}
    words = {
        "type": "text",
        "align": "left",
        "x": 2,
        "dy": -0.4 * look.letter,
        "baseline": "bottom",
        "color": "var(--bad)",
    }
    return {
        "data": {"values": [{"threshold": threshold, "text": bound(threshold)}]},
        "layer": [
            {"mark": {"type": "rule", "color": "var(--bad)", "strokeDash": [5, 3], "strokeWidth": 1}, "encoding": at},
            {"mark": words, "encoding": at | {"text": {"field": "text"}}},
        ],
    }


def _points(
    which: str,
    x: Mapping[str, Any],
    y: Mapping[str, Any],
    said: Mapping[str, Any],
    how: Mapping[str, Any],
    look: ChartStyle,
) -> dict[str, Any]:
    mark = {"type": "point", "size": 0.45 * look.letter**2, "opacity": 1, **how}
    if not look.is_paper:
        mark["cursor"] = "pointer"
    return {"transform": [{"filter": which}], "mark": mark, "encoding": {"x": x, "y": y, **said}}


def _datum(point: TrendPoint, panel: Panel, look: ChartStyle) -> dict[str, Any]:
    found = {
        "round": point.round,
        "value": point.value,
        "low": point.low,
        "high": point.high,
        "is_after": point.is_after,
    }
    if look.is_paper:
        return found
    when = ", after discussion" if point.is_after else ""
    interval = interval_words(point.low, point.high, None, 2)
    between = f", 95% CI {interval}" if interval else ""
    words = f"{panel.title}, round {point.round}{when}: {decimals(point.value)}{between}"
    return found | {"url": point.url, "words": words}


def axis_of_names(names: Sequence[str], title: str, look: ChartStyle) -> dict[str, Any]:
    """An axis over places from 0 that shows their names; the names travel as a JSON list inside an expression."""
    shown = f"{vega_list(names)}[datum.value]"
    return {"title": title, "labelExpr": shown, "domain": False, "ticks": False, "grid": False}


def vega_list(names: Sequence[str | Sequence[str]]) -> str:
    """Names, or names in lines, as a list of Vega's expression language."""
    return f"[{', '.join(_quoted(name) if isinstance(name, str) else vega_list(name) for name in names)}]"


def _quoted(name: str) -> str:
    """A name as a string of Vega's expression language."""
    return '"' + re.sub(r'[\\"\x00-\x1f\u2028\u2029]', lambda sign: f"\\u{ord(sign[0]):04x}", name) + '"'


def complete_specification(spec: dict[str, Any], look: ChartStyle) -> dict[str, Any]:
    """A specification with what all figures share: letters, colours of axes and titles."""
    letter = look.letter
    axis = {
        "labelColor": "var(--text)" if look.is_paper else "var(--muted)",
        "titleColor": "var(--muted)",
        "gridColor": "var(--line)",
        "domainColor": "var(--line-strong)",
        "tickColor": "var(--line-strong)",
        "labelFontSize": letter,
        "titleFontSize": letter,
        "titleFontWeight": "normal",
        "titleLineHeight": LINE * letter,
        "tickSize": 3,
    }
    title = {
        "anchor": "start",
        "frame": "group",
        "color": "var(--text)",
        "fontSize": letter,
        "fontWeight": 600,
        "subtitleColor": "var(--muted)",
        "subtitleFontSize": letter,
        "offset": 0.75 * letter,
        "lineHeight": LINE * letter,
        "subtitleLineHeight": LINE * letter,
    }
    return {
        "$schema": SCHEMA,
        "background": "var(--ground)" if look.is_paper else None,
        "padding": PADDING if look.is_paper else 2,
        **spec,
        "config": {
            "aria": False,
            "font": look.font,
            "view": {"stroke": None},
            "axis": axis,
            "title": title,
            "legend": {"labelColor": "var(--text)", "labelFontSize": letter, "symbolStrokeColor": "var(--text)"},
            "text": {"fontSize": letter, "color": "var(--text)"},
        },
    }


def head_of(title: str, room: float, letter: float, subtitle: str = "") -> dict[str, Any]:
    """The title of a figure on paper, in lines no wider than the figure."""
    found: dict[str, Any] = {"text": in_lines(title, room, letter, 4, is_bold=True), "frame": "bounds"}
    if subtitle:
        found["subtitle"] = in_lines(subtitle, room, letter, 4)
    return found


def on_paper(spec: Any) -> Any:
    """A specification with the colours of paper in the place of names."""
    if isinstance(spec, dict):
        return {key: on_paper(value) for key, value in spec.items()}
    if isinstance(spec, list):
        return [on_paper(value) for value in spec]
    if not isinstance(spec, str):
        return spec
    if (name := NAMED.fullmatch(spec)) and name[1] in PAPER:
        return PAPER[name[1]]
    if (name := TINTED.fullmatch(spec)) and name[1] in PAPER:
        return _mixed(PAPER[name[1]], PAPER["--ground"], int(name[2]) / 100)
    return spec


NAMED = re.compile(r"var\((--[\w-]+)\)")
TINTED = re.compile(r"color-mix\(in srgb, var\((--[\w-]+)\) (\d+)%, var\(--ground\)\)")


def tint(token: str, percent: int) -> str:
    """So much of a colour on the ground."""
    return f"var({token})" if percent == 100 else f"color-mix(in srgb, var({token}) {percent}%, var(--ground))"


def _mixed(color: str, ground: str, share: float) -> str:
    pairs = zip(_channels(color), _channels(ground), strict=True)
    return "#" + "".join(f"{round(share * one + (1 - share) * other):02x}" for one, other in pairs)


def _channels(color: str) -> list[int]:
    return [int(color[at : at + 2], 16) for at in (1, 3, 5)]
