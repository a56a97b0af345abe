"""Figures at the size of print: as wide as was asked for, with names whole and nothing over the edge."""

import re
from collections.abc import Mapping
from typing import Any

import pytest

from annotation.charts import lettering
from annotation.charts.analysis import Box, Boxes, Curve, Curves, ShareBar, ShareBars, _ticks, bars, boxes, curves
from annotation.charts.drawing import draw_each
from annotation.charts.heat_map import HeatCell, HeatMap, heat_map
from annotation.charts.lettering import in_lines, width_of
from annotation.charts.specifications import COLUMN, PAGE, PRINT, on_paper

LONG = "Checkpoint cannot be loaded after resuming on another number of devices"
NAMES = [
    "Crash",
    LONG,
    "a-rather-long-organisation/colossal-training",
    "Größe ≥ 4 – naïve",
    "中文类别名称很长很长很长很长很长很长",
]
TITLE = "Symptom by the stage of training in which it was first seen, within each repository"
N = "n\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}12"


def some_bars(n_panels: int) -> ShareBars:
    panels = [f"{NAMES[at % 5]}, n = {at}" for at in range(n_panels)] if n_panels > 1 else [""]
    drawn = [
        ShareBar(row, panel, row * 30, row * 0.2 + panel * 0.02, row * 0.15, row * 0.2 + 0.1, "")
        for row in range(len(NAMES))
        for panel in range(n_panels)
    ]
    return ShareBars(TITLE, "share, with 95% CI", NAMES, panels, drawn)


def some_boxes() -> Boxes:
    drawn = [Box(row, (1, 5 + row, 30, 70, 300 * (row + 1)), "") for row in range(len(NAMES))]
    return Boxes(
        TITLE, "days, logarithmic: box 25 to 75%, whiskers 5 to 95%", [f"{each}, {N}" for each in NAMES], drawn
    )


def some_curves() -> Curves:
    lines = [Curve(f"{name}, {N}", [(x, min(1, x / 100)) for x in range(0, 300, 9)]) for name in NAMES]
    return Curves(TITLE, "days", "share at or below", lines, cut=10, is_share=True, is_step=True)


def cross(n_rows: int, n_columns: int, written: str = "12▲") -> HeatMap:
    cells = [HeatCell(row, at, written, 2, "") for row in range(n_rows) for at in range(n_columns)]
    rows, columns = ([f"{NAMES[at % 5]} {at}" for at in range(n)] for n in (n_rows, n_columns))
    return HeatMap(TITLE, "Colour: share of the parts of the row, in steps.", 0, rows, columns, "", "", cells, True)


def widths(*specs: Mapping[str, Any]) -> list[tuple[float, str]]:
    """Of each figure its width in points, and all words in it."""
    found = []
    for drawn in draw_each([(on_paper(spec), "svg") for spec in specs]):
        svg = drawn.decode()
        width = re.search(r' width="([\d.]+)pt"', svg)
        assert width is not None
        words = " ".join(re.findall(r">([^<>]+)<", svg)).replace("&gt;", ">").replace("&amp;", "&")
        found.append((float(width[1]), words))
    return found


@pytest.mark.parametrize("width", [COLUMN, PAGE])
def test_figures_are_as_wide_as_was_asked_for_and_their_names_are_whole(width: float) -> None:
    specs = [bars(some_bars(n), PRINT, width) for n in (1, 2, 5)]
    specs += [boxes(some_boxes(), PRINT, width), curves(some_curves(), PRINT, width)]
    for wide, words in widths(*specs):
        assert width - 8 <= wide <= width + 1.5
        assert "…" not in words
        whole = re.sub(r"\W", "", words)
        for name in (*NAMES, TITLE):
            assert re.sub(r"\W", "", name) in whole


def test_a_cross_table_fits_a_page_however_many_columns_it_has() -> None:
    few, some, many = (heat_map(cross(5, n), PRINT, PAGE) for n in (4, 18, 44))
    for wide, _ in widths(few, some, many):
        assert wide <= PAGE + 1.5
    angles = [each["layer"][0]["encoding"]["x"]["axis"]["labelAngle"] for each in (few, some, many)]
    assert angles == [-45, -90, -90]
    in_cells = [any(layer["mark"].get("fontSize") for layer in each["layer"]) for each in (few, some, many)]
    assert in_cells == [True, True, False]


def test_rows_with_names_in_lines_do_not_make_a_cross_table_taller_than_a_page() -> None:
    tall = heat_map(cross(40, 18), PRINT, PAGE)
    assert tall["height"]["step"] * 40 <= 700


def test_panels_that_would_be_too_narrow_stand_below_each_other_and_begin_at_one_height() -> None:
    spec = bars(some_bars(5), PRINT, COLUMN)
    assert [len(line["hconcat"]) if "hconcat" in line else 1 for line in spec["vconcat"]] == [2, 2, 1]
    for line in spec["vconcat"][:2]:
        assert len({len(each["title"]["text"]) for each in line["hconcat"]}) == 1


def test_a_share_of_nought_is_written_where_there_is_one_panel() -> None:
    found = ShareBars(
        "Mark",
        "share",
        ["None has it", "Some"],
        [""],
        [ShareBar(0, 0, 0, 0.0, 0.0, 0.2, ""), ShareBar(1, 0, 1, 0.5, 0.1, 0.9, "")],
    )
    assert [each["text"] for each in bars(found, PRINT)["data"]["values"]] == ["0 (0.0%)", "1 (50.0%)"]


@pytest.mark.parametrize(("highest", "letters"), [(0.17, 3.5), (0.3, 4), (0.95, 4), (1.0, 20), (0.004, 30)])
def test_marks_of_an_axis_are_round_and_stand_apart(highest: float, letters: float) -> None:
    found = _ticks(highest, letters)
    assert len(found) > 1 and found[0] == 0 and found[-1] <= highest
    assert (found[1] - found[0]) / highest * letters >= 2.5


def test_words_are_broken_between_words_and_only_where_they_must_be_inside_of_one() -> None:
    assert in_lines("Hang and timeout", 200, 8) == ["Hang and timeout"]
    assert in_lines("Hang and timeout", 40, 8) == ["Hang and", "timeout"]
    assert in_lines("a/b-c", 200, 8) == ["a/b-c"]
    assert in_lines("deep-training/framework", 60, 8) == ["deep-training/", "framework"]
    assert in_lines("Misconfiguration", 30, 8)[0].endswith("-")
    assert in_lines("", 30, 8) == [""]
    for name in NAMES:
        assert all(width_of(line, 8) <= 50 for line in in_lines(name, 50, 8, 99))


def test_of_too_many_lines_the_last_ends_with_an_ellipsis_before_the_number() -> None:
    lines = in_lines(LONG, 60, 8, 2, end=" (7)")
    assert len(lines) == 2 and lines[-1].endswith("… (7)")


def test_a_name_of_any_length_is_measured_as_far_as_it_could_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    """A row of a confusion matrix may be named by a whole set of categories."""
    n_measured = 0
    measure = lettering._width

    def counted(sign: str) -> float:
        nonlocal n_measured
        n_measured += 1
        return measure(sign)

    monkeypatch.setattr(lettering, "_width", counted)
    lines = in_lines("a category whose name goes on and on; " * 500, 200, 8, end=" (7)")
    assert len(lines) == 5 and lines[-1].endswith("… (7)")
    n_letters, n_measured = n_measured, 0
    in_lines("a category whose name goes on and on; " * 5, 200, 8)
    assert n_letters < 20 * n_measured
