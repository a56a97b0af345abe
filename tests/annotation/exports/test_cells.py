"""Cells of sheets: the empty set, what can't be seen, and names that look like paths."""

import csv
import io
from typing import Any

import pytest

from annotation.core.access import get_seat
from annotation.core.sheet_tables import open_table
from annotation.exports.columns import COLUMNS, cell, write
from annotation.exports.queries import rows
from annotation.imports.actions.ratings import ImportReport, import_ratings
from annotation.imports.sheets.document_trees import tree_of
from annotation.imports.sheets.values import RejectedValue, ValueReader
from annotation.models import Rating, Resolution, ResolutionValue
from taxonomy.checking import load
from tests import builders as make
from tests.annotation.stored_rows import verdicts

FIX = """
slug: fixes
title: Fixes
dimensions:
  - key: fix
    title: Fix
    kind: multi
    required: false
    categories: [{key: config, name: Config}, {key: code, name: Code}]
  - key: symptom
    title: Symptom
    kind: single
    required: false
    categories:
      - key: io
        name: Input
        categories: [{key: output, name: Output}]
      - {key: both, name: Input / Output}
      - {key: crash, name: Crash}
"""


def take(text: str, *, new: bool = False, **more: Any) -> ImportReport:
    if new:
        make.study(text=FIX)
    return import_ratings(user=make.user("olga"), study="study", file=text.encode(), name="sheet.csv", **more)


def long(*lines: str) -> str:
    return "item,rater,dimension,value\n" + "\n".join(lines) + "\n"


@pytest.mark.django_db
def test_an_empty_set_is_an_answer_and_a_blank_is_none() -> None:
    report = take(
        long("a,bob,fix,[]", "a,carol,fix,[ ]", "b,bob,fix,[]", "b,carol,fix,", "b,carol,symptom,Crash"), new=True
    )
    assert (report.refusals, report.n_ratings) == ([], 4)
    assert verdicts()["a", 1, "fix"] == ("agreed", None, ())
    assert verdicts()["b", 1, "fix"][1] == "one_sided"
    assert Rating.objects.filter(category=None, proposal=None).count() == 3


@pytest.mark.django_db
def test_an_empty_set_and_a_value_contradict_each_other() -> None:
    report = take(
        long("a,bob,fix,[]", "a,bob,fix,Code", "b,bob,fix,Code", "b,bob,fix,[]", "c,bob,symptom,[]"), new=True
    )
    assert [(each.line, each.reason.split(";")[0].split(",")[0]) for each in report.refusals] == [
        (3, "“Fix” has a value here"),
        (5, "“Fix” is “[]” here"),
        (6, "“[]” is an empty set"),
    ]


@pytest.mark.django_db
def test_a_final_empty_set_is_a_decision_without_a_value() -> None:
    lines = ("a,bob,fix,Code", "a,carol,fix,Config", "a,final,fix,[]", "a,bob,symptom,Crash", "a,final,symptom,[]")
    report = take(long(*lines), new=True)
    assert (report.refusals, report.n_resolutions + report.n_left_blank) == ([], 2)
    assert Resolution.objects.count() == 2 and not ResolutionValue.objects.exists()


@pytest.mark.django_db
def test_an_empty_set_makes_a_new_dimension_take_several_values() -> None:
    take(long("a,bob,fix,[]", "a,carol,fix,Code; Config", "b,bob,fix,Code"), create=True)
    seat = get_seat(make.user("olga"), "study")
    (dimension,) = seat.study.taxonomy.versions.get().dimensions.all()
    assert dimension.kind == "multi"
    found = {tuple(values) for _, _, values in [(*key[:2], value[2] or ()) for key, value in verdicts().items()]}
    assert found == {(), ("code",)}


@pytest.mark.django_db
@pytest.mark.parametrize("what", ["ratings", "labels"])
def test_our_own_csv_has_the_empty_set_as_brackets(what: str) -> None:
    take(long("a,bob,fix,[]", "b,bob,fix,Code", "c,bob,symptom,Crash"), new=True)
    seat = get_seat(make.user("olga"), "study")

    def read(**options: Any) -> list[dict[str, str]]:
        return list(csv.DictReader(io.StringIO(b"".join(rows.file_pieces(seat, what, "csv", options)).decode())))

    assert [(row["values"], row["original_values"]) for row in read()] == [("[]",) * 2, ("code",) * 2, ("crash",) * 2]
    if what == "labels":
        assert [(row["fix"], row["symptom"]) for row in read(shape="wide")] == [("[]", ""), ("code", ""), ("", "crash")]


def test_only_values_are_sets() -> None:
    assert (cell([]), cell([], is_set=True), cell(None, is_set=True)) == ("", "[]", "")
    row = dict.fromkeys(COLUMNS["resolutions"], "")
    made = b"".join(write("resolutions", "csv", [row | {"values": [], "reported_as": [], "decided_at": None}]))
    assert made.decode().splitlines()[1].count("[]") == 1


def test_a_list_of_parquet_without_values_is_an_empty_set() -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    file = io.BytesIO()
    pq.write_table(pa.table({"item": ["a", "b", "c"], "fix": [["x", "y"], [], None]}), file)
    file.seek(0)
    assert [row.cells[1] for row in open_table(file).rows] == ["x; y", "[]", ""]


def read(text: str, dimension: str = "symptom") -> Any:
    reader = ValueReader(tree_of(load(FIX)))
    found = reader.dimension(dimension)
    assert found is not None
    try:
        return reader.read(found, text)
    except RejectedValue as refused:
        return str(refused)


def test_a_whole_name_with_a_slash_is_no_path() -> None:
    assert read("Input / Output") == ("both",)
    assert read("input / output") == ("both",)
    assert read("output") == ("output",)


@pytest.mark.parametrize("sign", ["\u200b", "\ufeff", "\u2060", "\u00ad", "\u200e"])
def test_what_cannot_be_seen_is_removed(sign: str) -> None:
    assert read(f"{sign}Cr{sign}ash{sign}") == ("crash",)
    assert read(f"Config;{sign}code", "fix") == ("config", "code")


@pytest.mark.django_db
def test_what_cannot_be_seen_makes_no_other_item_rater_or_round() -> None:
    lines = [
        "item,rater,round,dimension,value",
        "a\u200b,bob,1,sym\u200bptom,Crash\u200b",
        "a,b\u200bob,1\ufeff,symptom,crash",
    ]
    report = take("\n".join(lines), new=True)
    assert (report.n_items, report.n_raters, len(report.rounds), report.refusals) == (1, 1, 1, [])
