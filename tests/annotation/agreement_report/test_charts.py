"""Specifications of figures: what is drawn, in which colours, and what files must not hold."""

import json
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from annotation.charts import drawing
from annotation.charts.drawing import CannotDraw, draw
from annotation.charts.heat_map import HEATS, HeatCell, HeatMap, heat_map
from annotation.charts.sankey import Sankey, SankeyBand, SankeyNode, sankey
from annotation.charts.specifications import COLUMN, PAPER, PRINT, Panel, TrendPoint, hue, on_paper, tint, trend, trends
from shared.errors import TooMany

TOKENS = Path(__file__).resolve().parents[3] / "static" / "css" / "tokens.css"


def panel(**more: Any) -> Panel:
    points = [
        TrendPoint(1, 0.5, 0.4, 0.6, url="/one/"),
        TrendPoint(2, 0.9, None, None),
        TrendPoint(2, 0.95, 0.9, 1.0, True),
    ]
    given = {"key": "d", "title": "Symptom", "coefficient": "Cohen's kappa", "position": 1, "threshold": 0.8}
    return Panel(**{**given, "rounds": [1, 2], "points": points, **more})


def matrix(names: tuple[str, ...] = ("Crash", "Hang"), **more: Any) -> HeatMap:
    cells = [HeatCell(0, 0, "7", 0, "Crash and Crash: 7", "/7/"), HeatCell(0, 1, "2", 5, "Crash and Hang: 2", "/2/")]
    given = {"title": "Symptom", "subtitle": "Rows: R1.", "position": 1, "columns": ["1", "2"], "cells": cells}
    return HeatMap(**{**given, "rows": names, "row_axis": "", "column_axis": "R2 said", **more})


def layers(spec: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    return [each for each in spec["layer"] if each.get("mark", {}).get("type") == kind]


def luminance(color: str) -> float:
    return sum(share * int(color[at : at + 2], 16) for share, at in ((0.2126, 1), (0.7152, 3), (0.0722, 5)))


def test_files_hold_neither_addresses_nor_names_of_colors() -> None:
    for spec in (trend(panel(), PRINT), trends([panel(), panel()]), heat_map(matrix(), PRINT)):
        written = json.dumps(on_paper(spec))
        assert "var(" not in written and "color-mix" not in written
        assert "/one/" not in written and "/7/" not in written and "Crash and Hang" not in written


def test_hues_of_paper_are_those_of_the_style_sheet() -> None:
    light = TOKENS.read_text().partition("@media print")[2]
    for position in range(8):
        assert re.search(rf"{hue(position)}: (#\w+);", light)[1] == PAPER[hue(position)]  # type: ignore[index]
    assert hue(8) == hue(0)


def test_heats_grow_darker_in_every_hue_also_without_color() -> None:
    assert on_paper(tint("--dimension-1", 50)) == "#85b2d2"
    for position in range(8):
        found = [luminance(on_paper(tint(hue(position), percent))) for percent in sorted(set(HEATS))]
        assert found == sorted(found, reverse=True) and min(a - b for a, b in pairwise(found)) > 12


def test_what_looks_like_a_color_of_nobody_stays_a_word() -> None:
    assert on_paper({"text": ["var(--unknown)", "plain"]}) == {"text": ["var(--unknown)", "plain"]}


def test_a_panel_has_a_threshold_only_where_one_was_fixed() -> None:
    assert '"threshold": 0.8' in json.dumps(trend(panel()))
    assert "threshold" not in json.dumps(trend(panel(threshold=None)))


def test_after_discussion_is_drawn_otherwise_than_before() -> None:
    before, after = (
        next(each["mark"] for each in layers(trend(panel()), "point") if each["transform"][0]["filter"] == which)
        for which in ("!datum.is_after", "datum.is_after")
    )
    assert before["shape"] != after["shape"] and before["fill"] != after["fill"]


@pytest.mark.parametrize(("lowest", "bottom"), [(0.4, 0.0), (-0.3, -0.3), (-1.0, -1.0)])
def test_the_scale_reaches_down_to_what_is_below_chance(lowest: float, bottom: float) -> None:
    spec = trend(panel(points=[TrendPoint(1, max(lowest, -0.2), lowest, 0.6)]))
    assert layers(spec, "point")[0]["encoding"]["y"]["scale"]["domain"] == [bottom, 1.0]


def test_names_of_categories_are_words_and_never_expressions() -> None:
    hostile = '"] + datum.url + ["', "a\\u0022\n\u2028b\\"
    expression = heat_map(matrix(columns=hostile), PRINT)["layer"][0]["encoding"]["x"]["axis"]["labelExpr"]
    listed = expression.removesuffix("[datum.value]")
    assert json.loads(listed) == list(hostile)
    assert '"' not in listed[2:-2].replace('", "', "")


def test_cells_of_a_page_say_what_they_are_and_where_they_lead() -> None:
    spec = heat_map(matrix())
    assert spec["data"]["values"][1] == {
        "row": 0, "column": 1, "text": "2", "heat": 5, "words": "Crash and Hang: 2", "url": "/2/",
    }  # fmt: skip
    assert spec["params"][0]["name"] == "at"


def test_a_flow_in_a_column_of_print_has_its_names_whole_in_lines() -> None:
    names = ["Misconfigured environment variable", "Communication setup failure", "Slow"]
    steps = ["Symptom", "Root cause", "Fix pattern"]
    nodes = [SankeyNode(step, name, name, 7, "") for step in range(3) for name in names]
    bands = [SankeyBand(step, name, name, 7, "") for step in range(2) for name in names]
    told = {each["name"]: each["values"] for each in sankey(Sankey("Flow", steps, nodes, bands), PRINT, COLUMN)["data"]}
    assert [" ".join(each["text"]) for each in told["labels"][:2]] == [
        "Misconfigured environment variable (7)",
        "Communication setup failure (7)",
    ]
    assert max(len(line) for each in told["labels"] for line in each["text"]) <= 19
    lowest = [each["y"] + (len(each["text"]) - 1) * 8.8 for each in told["labels"]]
    assert all(each["y"] > low for low, each in zip(lowest, told["labels"][1:3], strict=False))


def test_large_matrices_have_no_figures_in_their_cells() -> None:
    many = tuple(f"c{number}" for number in range(60))
    few, large = heat_map(matrix()), heat_map(matrix(many, columns=many))
    assert (len(layers(few, "text")), len(layers(large, "text"))) == (2, 1)  # names of rows are text, too
    angle = large["layer"][0]["encoding"]["x"]["axis"]["labelAngle"]
    assert angle == -90  # Cells as narrow as these leave no room for a name beside the next one.


@pytest.mark.slow
@pytest.mark.parametrize(("format", "begins"), [("svg", b"<svg "), ("png", b"\x89PNG\r\n\x1a\n"), ("pdf", b"%PDF-")])
def test_a_figure_is_drawn_in_each_format(format: str, begins: bytes) -> None:
    drawn = draw(on_paper(heat_map(matrix(), PRINT)), format)
    assert drawn.startswith(begins)
    if format == "svg":
        assert b"Crash" in drawn and re.search(rb' width="[\d.]+pt" height="[\d.]+pt"', drawn)


def test_what_cannot_be_drawn_says_so() -> None:
    with pytest.raises(CannotDraw):
        draw({"mark": "nonsense"}, "svg")
    with pytest.raises(KeyError):
        draw({}, "gif")


def test_a_figure_that_takes_too_long_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    drawing.DrawingProcess().end()  # the one of all tests may be there, and quick
    monkeypatch.setattr(drawing, "REQUEST_SECONDS", 0.01)
    monkeypatch.setattr(drawing, "DRAW", "import time; time.sleep(600)")
    with pytest.raises(CannotDraw, match=r"longer than 0\.01 seconds"):
        draw(on_paper(heat_map(matrix(("crash", "hang", "a third one")), PRINT)), "svg")


def test_who_finds_others_drawing_waits_for_a_while_and_is_told_to_come_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drawing, "WAIT_SECONDS", 0.01)
    with drawing._at_once, drawing._at_once, pytest.raises(TooMany, match="Other figures are being drawn"):
        draw(on_paper(heat_map(matrix(), PRINT)), "svg")
    assert draw(on_paper(heat_map(matrix(), PRINT)), "svg").startswith(b"<svg ")
