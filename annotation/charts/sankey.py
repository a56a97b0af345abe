"""Sankey diagram: positions of nodes and bands, drawn by Vega in pages and files."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from annotation.charts.lettering import LINE, MOST_LINES, in_lines
from annotation.charts.specifications import PADDING, PAGE, SCREEN, ChartStyle, hue

SCHEMA = "https://vega.github.io/schema/vega/v6.json"
TONES = (88, 74, 60, 46)
"""How much of its hue each node of a step has, over and over: neighbours differ without colours, too."""


@dataclass(frozen=True)
class SankeyNode:
    """A category at a step: what passes it, its name, its words, and what is behind it."""

    step: int
    key: str
    name: str
    n: int
    words: str
    url: str = ""


@dataclass(frozen=True)
class SankeyBand:
    """What goes from a node of a step to one of the next."""

    step: int
    start: str
    end: str
    n: int
    words: str
    url: str = ""


@dataclass(frozen=True)
class Sankey:
    """Nodes in the order in which they stand below each other, and the bands between them."""

    title: str
    steps: Sequence[str]
    nodes: Sequence[SankeyNode]
    bands: Sequence[SankeyBand]


@dataclass(frozen=True)
class _Size:
    width: float
    names: float
    thick: float
    gap: float
    per_part: float


def sankey(found: Sankey, look: ChartStyle = SCREEN, width: float = PAGE) -> dict[str, Any]:
    """A specification of Vega: steps from left to right, each node as high as what passes it.

    Names stand right of their nodes; those of the last step too, in lines where there is little room. Thin nodes are
    set apart, so that names have it.
    """
    letter = look.letter
    size = _sized(found, letter, (width if look.is_paper else 960.0) - 2 * PADDING)
    tops = _tops(found, size, letter)
    nodes, labels = [], []
    for node, (x, top, high, shade) in tops.items():
        said = {} if look.is_paper else {"words": node.words, "url": node.url}
        nodes.append({"x": x, "y": top, "width": size.thick, "height": high, "fill": shade, **said})
        lines = _label(node, size, letter)
        y = top + high / 2 - (len(lines) - 1) * LINE * letter / 2
        labels.append({"x": x + size.thick + 0.4 * letter, "y": y, "text": lines, **said})
    heads = [
        {"x": _x(step, found, size), "y": 0.0, "text": _head(title, size, letter)}
        for step, title in enumerate(found.steps)
    ]
    pointer = {} if look.is_paper else {"cursor": {"value": "pointer"}}
    tooltip = {} if look.is_paper else {"tooltip": {"field": "words"}}
    text = {"font": {"value": look.font}, "fontSize": {"value": letter}, "fill": {"value": "var(--text)"}}
    text |= {"lineHeight": {"value": LINE * letter}}
    spec: dict[str, Any] = {
        "$schema": SCHEMA,
        "background": "var(--ground)" if look.is_paper else None,
        "padding": PADDING if look.is_paper else 2,
        "width": size.width,
        "height": max((top + high for _, top, high, _ in tops.values()), default=letter) + 0.4 * letter,
        "autosize": "pad" if not look.is_paper else "none",
        "data": [
            {"name": "bands", "values": _bands(found, tops, size, look)},
            {"name": "nodes", "values": nodes},
            {"name": "labels", "values": labels},
            {"name": "heads", "values": heads},
        ],
        "marks": [
            {
                "type": "path",
                "from": {"data": "bands"},
                "encode": {
                    "enter": {"path": {"field": "path"}, "fill": {"field": "fill"}, **pointer, **tooltip},
                    "update": {"fillOpacity": {"value": 0.32}},
                    "hover": {"fillOpacity": {"value": 0.62}},
                },
            },
            {
                "type": "rect",
                "from": {"data": "nodes"},
                "encode": {
                    "enter": {name: {"field": name} for name in ("x", "y", "width", "height", "fill")}
                    | pointer
                    | tooltip
                },
            },
            _text("labels", text | {"baseline": {"value": "middle"}} | pointer | tooltip),
            _text("heads", text | {"baseline": {"value": "top"}, "fontWeight": {"value": 600}}),
        ],
        "config": {"aria": False},
    }
    if look.is_paper:
        spec["title"] = {
            "text": in_lines(found.title, size.width, letter, 4, is_bold=True),
            "anchor": "start",
            "frame": "group",
            "lineHeight": LINE * letter,
            "color": "var(--text)",
            "font": look.font,
            "fontSize": letter,
            "offset": 0.8 * letter,
        }
        spec["autosize"] = "pad"
    return spec


def _text(data: str, enter: dict[str, Any]) -> dict[str, Any]:
    fields = {name: {"field": name} for name in ("x", "y", "text")}
    return {"type": "text", "from": {"data": data}, "encode": {"enter": fields | enter}}


def _sized(found: Sankey, letter: float, width: float) -> _Size:
    by_step: dict[int, list[SankeyNode]] = defaultdict(list)
    for node in found.nodes:
        by_step[node.step].append(node)
    most = max((len(each) for each in by_step.values()), default=1)
    total = max((sum(node.n for node in each) for each in by_step.values()), default=1) or 1
    # As much beside the nodes of the last step as there is between the others.
    names = min(19 * letter, width / max(len(found.steps), 1) - 1.7 * letter)
    gap = 0.55 * letter
    body = max(most * 1.15 * letter, 16 * letter)
    return _Size(width, names, 0.9 * letter, gap, body / total)


def _x(step: int, found: Sankey, size: _Size) -> float:
    between = (size.width - size.names - size.thick) / max(len(found.steps) - 1, 1)
    return step * between


def _tops(found: Sankey, size: _Size, letter: float) -> dict[SankeyNode, tuple[float, float, float, str]]:
    """Of each node x, top, height and colour."""
    tops: dict[SankeyNode, tuple[float, float, float, str]] = {}
    heads = (0.7 + LINE * max((len(_head(title, size, letter)) for title in found.steps), default=1)) * letter
    for step in range(len(found.steps)):
        here = [node for node in found.nodes if node.step == step]
        top = heads
        for place, node in enumerate(here):
            high = max(node.n * size.per_part, 0.12 * letter)
            # The middle of a thin node is as far below the one before as their names are high.
            room = LINE * letter * len(_label(node, size, letter))
            top += max(0.0, (room - high) / 2)
            tone = TONES[place % len(TONES)]
            shade = f"color-mix(in srgb, var({hue(step)}) {tone}%, var(--ground))"
            tops[node] = (_x(step, found, size), top, high, shade)
            top += high + size.gap + max(0.0, (room - high) / 2) * 0.8
    return tops


def _bands(
    found: Sankey, tops: dict[SankeyNode, tuple[float, float, float, str]], size: _Size, look: ChartStyle
) -> list[dict[str, Any]]:
    place = {(node.step, node.key): node for node in found.nodes}
    order = {(node.step, node.key): at for at, node in enumerate(found.nodes)}
    left: dict[SankeyNode, float] = {node: top for node, (_, top, _, _) in tops.items()}
    right: dict[SankeyNode, float] = dict(left)
    drawn = []
    sizes: dict[SankeyNode, tuple[int, int]] = defaultdict(lambda: (0, 0))
    for band in found.bands:
        start, end = place[band.step, band.start], place[band.step + 1, band.end]
        sizes[start] = (sizes[start][0] + band.n, sizes[start][1])
        sizes[end] = (sizes[end][0], sizes[end][1] + band.n)
    for band in sorted(
        found.bands, key=lambda each: (each.step, order[each.step, each.start], order[each.step + 1, each.end])
    ):
        start, end = place[band.step, band.start], place[band.step + 1, band.end]
        # With several values to a part more may leave a node than passes it: bands share its height.
        high_out = band.n * tops[start][2] / max(sizes[start][0], start.n, 1)
        high_in = band.n * tops[end][2] / max(sizes[end][1], end.n, 1)
        x0, x1 = tops[start][0] + size.thick, tops[end][0]
        y0, y1 = right[start], left[end]
        right[start] += high_out
        left[end] += high_in
        bend = (x0 + x1) / 2
        path = (
            f"M{x0:.1f},{y0:.1f}C{bend:.1f},{y0:.1f} {bend:.1f},{y1:.1f} {x1:.1f},{y1:.1f}"
            f"L{x1:.1f},{y1 + high_in:.1f}C{bend:.1f},{y1 + high_in:.1f} {bend:.1f},{y0 + high_out:.1f}"
            f" {x0:.1f},{y0 + high_out:.1f}Z"
        )
        said = {} if look.is_paper else {"words": band.words, "url": band.url}
        drawn.append({"path": path, "fill": tops[start][3], **said})
    return drawn


def _label(node: SankeyNode, size: _Size, letter: float) -> list[str]:
    """The name of a node in lines, what passes it at the end of the last."""
    return in_lines(node.name, size.names, letter, MOST_LINES, end=f" ({node.n:,})")


def _head(title: str, size: _Size, letter: float) -> list[str]:
    return in_lines(title, size.names + size.thick, letter, MOST_LINES, is_bold=True)
