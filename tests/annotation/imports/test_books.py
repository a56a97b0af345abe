"""Uploads of many forms are guessed, mapped and read: heads below titles, merged cells, raters in columns or sheets."""

import csv
import io
import zipfile
from collections.abc import Mapping, Sequence
from typing import Any

import openpyxl
import orjson
import pytest

from annotation.core.errors import Invalid, Unreadable
from annotation.imports.actions.ratings import import_ratings
from annotation.imports.sheets import GatheredSheet, gather
from annotation.imports.sheets.books import SheetBook, open_book
from annotation.imports.sheets.guesses import guess_book, split_rater
from annotation.imports.sheets.mapping import BookMapping, BookReader, check_mapping
from annotation.imports.sheets.shifted_values import doubts
from annotation.models import Membership
from tests import builders as make

Rows = Sequence[Sequence[Any]]


def xlsx(sheets: Mapping[str, Rows], merged: Mapping[str, Sequence[str]] | None = None) -> bytes:
    book = openpyxl.Workbook()
    book.remove(book.active)  # type: ignore[arg-type]
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(list(row))
        for place in (merged or {}).get(name, ()):
            sheet.merge_cells(place)
    content = io.BytesIO()
    book.save(content)
    return content.getvalue()


def opened(content: bytes, name: str = "labels.xlsx") -> tuple[SheetBook, BookMapping]:
    book = open_book(io.BytesIO(content), name)
    return book, guess_book(book)


def read(book: SheetBook, mapping: BookMapping) -> GatheredSheet:
    check_mapping(mapping, book)
    return gather(BookReader(book, mapping).rows(), mapping.final)


def told(sheet: GatheredSheet) -> list[tuple[str, ...]]:
    """Round, item, rater, part, dimension, value of every answer and decision, in the order of the file."""
    every = [row for rows in (*sheet.answers.values(), *sheet.finals.values()) for row in rows]
    return [
        (row.round, row.item, row.rater, row.part, name, text) for row in every for name, text in row.values if text
    ]


FAULTS: Rows = [
    ["Link", "Stage", "Symptom", "Notes"],
    ["https://github.com/acme/rocket/issues/1", "setup", "crash", None],
    ["https://github.com/acme/rocket/issues/2", "training", "hang", "slow, too"],
    ["https://github.com/acme/rocket/issues/3", "training", "crash", None],
    ["https://github.com/acme/rocket/issues/4", "setup", "crash", None],
]


def test_a_sheet_of_each_rater_and_a_final_one_are_guessed_with_heads_that_say_final() -> None:
    final = [["Link", "Stage Final", "Symptom (final)"], *([row[0], row[1], row[2]] for row in FAULTS[1:])]
    book, mapping = opened(xlsx({"alice": FAULTS, "Bob": FAULTS, "Final": final}), "round 3.xlsx")
    assert [(each.rater, each.round) for each in mapping.sheets] == [("alice", "3"), ("Bob", "3"), ("final", "3")]
    sheet = read(book, mapping)
    assert list(sheet.raters) == ["alice", "bob"] and len(sheet.finals) == 4
    assert list(sheet.dimensions) == ["Stage", "Symptom"]
    assert [row.memo for row in sheet.answers["3", "acme/rocket#2", "alice"]] == ["slow, too"]


def test_a_head_below_a_title_blank_columns_and_notes_at_the_end_are_no_answers() -> None:
    rows = [["Labels of the pilot"], [], [None, None], *FAULTS, [], ["Total: 4"], [None, None, None, "checked by Bob"]]
    book, mapping = opened(xlsx({"pilot": rows}))
    assert mapping.sheets[0].head == 4
    assert [each[1:] for each in told(read(book, mapping))][:2] == [
        ("acme/rocket#1", "pilot", "1", "Stage", "setup"),
        ("acme/rocket#1", "pilot", "1", "Symptom", "crash"),
    ]
    assert len(read(book, mapping).items) == 4


def test_rows_below_a_merged_item_are_its_faults_and_blank_ones_are_none() -> None:
    rows = [
        ["Issue", "Symptom"],
        ["#1", "crash"],
        [None, "hang"],
        ["#2", "hang"],
        [None, None],
        ["#3", "crash"],
        [None, "slow"],
    ]
    book, mapping = opened(xlsx({"alice": rows}, {"alice": ["A2:A3", "A4:A5"]}))
    mapping.repository = "acme/rocket"
    assert [(item, part, value) for _, item, _, part, _, value in told(read(book, mapping))] == [
        ("acme/rocket#1", "1", "crash"),
        ("acme/rocket#1", "2", "hang"),
        ("acme/rocket#2", "1", "hang"),
        ("acme/rocket#3", "1", "crash"),
        ("acme/rocket#3", "2", "slow"),
    ]


def test_a_merged_answer_holds_for_all_its_rows() -> None:
    rows = [["Issue", "Stage", "Symptom"], ["a", "setup", "crash"], ["b", None, "hang"], ["c", "training", "crash"]]
    book, mapping = opened(xlsx({"alice": rows}, {"alice": ["B2:B3"]}))
    assert ("1", "b", "alice", "1", "Stage", "setup") in told(read(book, mapping))


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        ("item,R1,R2,final", {("r1", "label"), ("r2", "label"), ("final", "label")}),
        ("item,Alice,Bob,Final", {("alice", "label"), ("bob", "label"), ("final", "label")}),
        ("item,symptom_r1,symptom_r2,symptom_final", {("r1", "symptom"), ("r2", "symptom"), ("final", "symptom")}),
        (
            "item,Rater 1 Symptom,Rater 2 Symptom,Final Symptom",
            {("rater 1", "symptom"), ("rater 2", "symptom"), ("final", "symptom")},
        ),
    ],
    ids=["codes", "names", "dimension and code", "code and dimension"],
)
def test_one_column_per_rater_is_seen_by_heads_or_by_one_vocabulary(head: str, expected: set[tuple[str, str]]) -> None:
    rows = "".join(f"{n},{'crash' if n % 2 else 'hang'},{'crash' if n % 3 else 'hang'},crash\n" for n in range(1, 13))
    book, mapping = opened(f"{head}\n{rows}".encode(), "labels.csv")
    assert mapping.sheets[0].form == "raters"
    sheet = read(book, mapping)
    given = {
        (row.rater, row.values[0][0]) for rows in (*sheet.answers.values(), *sheet.finals.values()) for row in rows
    }
    assert given == expected and len(sheet.finals) == 12


def test_one_sheet_per_round_with_the_rater_in_a_column() -> None:
    rows: list[list[Any]] = [["id", "coder", "symptom"], [1, "alice", "crash"], [1, "bob", "hang"]]
    rows += [[2, "alice", "hang"], [2, "bob", "hang"]]
    book, mapping = opened(xlsx({"Round 1": rows, "round2": rows}))
    sheet = read(book, mapping)
    assert (
        list(sheet.rounds) == ["1", "2"] and list(sheet.raters) == ["alice", "bob"] and list(sheet.items) == ["1", "2"]
    )
    assert {row.part for rows in sheet.answers.values() for row in rows} == {"1"}


def test_the_long_form_is_seen_by_its_heads() -> None:
    content = b"round,item,rater,dimension,value\n1,a,bob,symptom,crash\n1,a,bob,symptom,hang\n"
    book, mapping = opened(content, "labels.csv")
    assert mapping.sheets[0].form == "long"
    assert [each[3:] for each in told(read(book, mapping))] == [("1", "symptom", "crash"), ("1", "symptom", "hang")]


def test_several_columns_of_one_dimension_are_levels_of_a_path_and_a_pending_one_is_pending() -> None:
    content = b"item,rater,stage,leaf\na,bob,Setup,Hang\nb,bob,Setup,PENDING\nc,bob,Setup,\nd,bob,,\n"
    book, mapping = opened(content, "labels.csv")
    for column in mapping.sheets[0].columns:
        column.role, column.dimension = ("answer", "symptom") if column.name in ("stage", "leaf") else (column.role, "")
    assert [each[-1] for each in told(read(book, mapping))] == ["Setup / Hang", "PENDING", "Setup"]


def test_links_behind_cells_dates_numbers_formulas_and_hidden_sheets_are_read_as_values() -> None:
    book_ = openpyxl.Workbook()
    sheet = book_.active
    assert sheet is not None
    sheet.title = "alice"
    sheet.append(["Issue", "Symptom", "Lines"])
    for n in range(1, 4):
        sheet.append([f"Issue {n}", "crash" if n % 2 else "hang", 12.0])
        sheet.cell(n + 1, 1).hyperlink = f"https://github.com/acme/rocket/issues/{n}"
    sheet["C4"] = "=1+1"
    hidden = book_.create_sheet("old")
    hidden.append(["Issue", "Symptom"])
    hidden.append(["x", "y"])
    hidden.sheet_state = "hidden"
    content = io.BytesIO()
    book_.save(content)
    book, mapping = opened(content.getvalue())
    assert [each.is_used for each in mapping.sheets] == [True, False] and book.sheets[0].n_uncomputed == 1
    sheet_read = read(book, mapping)
    assert list(sheet_read.items) == [f"acme/rocket#{n}" for n in range(1, 4)]
    assert ("Lines", "12") in {each[4:] for each in told(sheet_read)}


def test_rows_shifted_to_either_side_are_pointed_out_and_shifted_back() -> None:
    stages, causes, fixes = ["setup", "training"], ["bug", "typo", "config"], ["patch", "upgrade", "revert"]
    rows: list[list[Any]] = [["item", "stage", "cause", "fix", "memo"]]
    rows += [[f"i{n}", stages[n % 2], causes[n % 3], fixes[n % 3], None] for n in range(30)]
    rows.append(["left", "bug", "patch", None, None])
    rows.append(["right", "setup", "setup", "typo", "revert"])
    rows.append(["head", "stage", "cause", "fix", None])
    book, mapping = opened(xlsx({"alice": rows}))
    found = doubts(book, mapping)
    assert [(each.line, each.shift, each.usual) for each in found] == [
        (32, "insert:1", "keep"),
        (33, "remove:2", "keep"),
        (34, "", "leave"),
    ]
    assert "to the left" in found[0].words and "to the right" in found[1].words and "name of a column" in found[2].words
    mapping.rows = {each.place: each.shift or each.usual for each in found}
    values = {(item, name): text for _, item, _, _, name, text in told(read(book, mapping))}
    assert (values["left", "cause"], values["left", "fix"]) == ("bug", "patch") and ("left", "stage") not in values
    assert [values["right", name] for name in ("stage", "cause", "fix")] == ["setup", "typo", "revert"]
    assert not any(item == "head" for item, _ in values)


def test_a_full_row_of_rare_values_is_no_shift() -> None:
    rows = [["item", "stage", "cause"], *([f"i{n}", "setup", "bug"] for n in range(20)), ["x", "training", "rare"]]
    book, mapping = opened(xlsx({"alice": rows}))
    assert doubts(book, mapping) == []


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Symptom R1", ("symptom", "r1")),
        ("rater_2", ("", "rater 2")),
        ("Final Stage", ("stage", "final")),
        ("root cause", ("root cause", "")),
        ("agreed label", ("label", "final")),
    ],
)
def test_a_head_is_told_apart_into_dimension_and_rater(name: str, expected: tuple[str, str]) -> None:
    assert split_rater(name) == expected


def test_several_files_in_one_zip_are_all_read_and_each_refusal_names_its_sheet() -> None:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr("round1/alice.csv", "item,symptom\na,crash\n,hang\n")
        archive.writestr("__MACOSX/._alice.csv", "x")
        archive.writestr("bob.xlsx", xlsx({"bob": [["item", "symptom"], ["a", "hang"]]}))
    book, mapping = opened(content.getvalue(), "all.zip")
    mapping.sheets[1].fills = False
    sheet = read(book, mapping)
    assert set(sheet.raters) == {"alice", "bob"}
    assert [(each.sheet, each.line) for each in sheet.refusals] == [("alice.csv", 3)]


@pytest.mark.parametrize(
    ("content", "name", "reason"),
    [
        (b"\xd0\xcf\x11\xe0old", "old.xls", "old workbook"),
        (b"\x1f\x8bgz", "a.csv.gz", "compressed"),
        (b"PK\x03\x04cut off", "a.xlsx", "incomplete or damaged"),
        (b"", "a.csv", "empty"),
        (b'{"a": 1}', "a.json", "Unknown JSON"),
        (b'[{"a": ', "a.json", "neither JSON nor JSON Lines"),
    ],
)
def test_what_is_no_table_is_refused_in_words(content: bytes, name: str, reason: str) -> None:
    with pytest.raises(Unreadable, match=reason):
        open_book(io.BytesIO(content), name)


def test_an_upload_of_too_many_rows_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("annotation.imports.sheets.books.ROWS_MAX", 3)
    with pytest.raises(Unreadable, match="more than 3 rows"):
        open_book(io.BytesIO(b"item,symptom\na,x\nb,x\nc,x\n"), "a.csv")


def test_a_zip_in_a_zip_and_one_that_unpacks_to_too_much_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    inner = io.BytesIO()
    with zipfile.ZipFile(inner, "w") as archive:
        archive.writestr("a.csv", "item,x\na,b\n")
    outer = io.BytesIO()
    with zipfile.ZipFile(outer, "w") as archive:
        archive.writestr("a.zip", inner.getvalue())
    with pytest.raises(Unreadable, match="ZIP file inside a ZIP file"):
        open_book(outer, "a.zip")
    monkeypatch.setattr("annotation.imports.sheets.books.EXPANDED_BYTES_MAX", 5)
    with pytest.raises(Unreadable, match="gigabyte"):
        open_book(inner, "a.zip")


def test_what_is_missing_is_said_by_sheet() -> None:
    book, mapping = opened(b"a,b\n1,2\n", "x.csv")
    for column in mapping.sheets[0].columns:
        column.role = ""
    mapping.sheets[0].is_used = True
    with pytest.raises(Invalid) as refused:
        check_mapping(mapping, book)
    assert "No column contains the item" in refused.value.message and "sheets.0" in refused.value.fields


# Label Studio and doccano

HANG = {"from_name": "symptom", "type": "choices", "value": {"choices": ["hang"]}}
BOX = {"from_name": "box", "type": "labels", "value": {"labels": ["A"]}}
TASKS = [
    {
        "id": 7,
        "data": {"url": "https://github.com/acme/rocket/issues/1", "text": "x" * 900},
        "annotations": [
            {
                "completed_by": {"id": 1, "email": "alice@example.org"},
                "lead_time": 12.4,
                "result": [
                    {"from_name": "symptom", "type": "choices", "value": {"choices": ["crash"]}},
                    {"from_name": "fixes", "type": "choices", "value": {"choices": ["code", "config"]}},
                    {"from_name": "stage", "type": "taxonomy", "value": {"taxonomy": [["Training", "Hang"]]}},
                    {"from_name": "hard", "type": "rating", "value": {"rating": 4}},
                    {"from_name": "why", "type": "textarea", "value": {"text": ["one", "two"]}},
                ],
            },
            {"completed_by": 2, "result": [HANG]},
            {"completed_by": 3, "was_cancelled": True, "result": []},
        ],
    },
    {
        "id": 8,
        "data": {"url": "https://github.com/acme/rocket/issues/2"},
        "annotations": [{"completed_by": 2, "result": [BOX]}],
    },
]  # fmt: skip


def test_tasks_of_label_studio_become_answers_of_their_annotators_on_the_field_with_addresses() -> None:
    book, mapping = opened(orjson.dumps(TASKS), "project.json")
    sheet = read(book, mapping)
    assert [(item, rater, name, text) for _, item, rater, _, name, text in told(sheet)] == [
        ("acme/rocket#1", "alice@example.org", "symptom", "crash"),
        ("acme/rocket#1", "alice@example.org", "fixes", "code"),
        ("acme/rocket#1", "alice@example.org", "fixes", "config"),
        ("acme/rocket#1", "alice@example.org", "stage", "Training / Hang"),
        ("acme/rocket#1", "alice@example.org", "hard", "4"),
        ("acme/rocket#1", "alice@example.org", "why", "one\ntwo"),
        ("acme/rocket#1", "annotator 2", "symptom", "hang"),
    ]
    assert book.sheets[0].several == {"fixes"} and [each.line for each in sheet.refusals] == [2]
    assert "labels" in sheet.refusals[0].reason


@pytest.mark.parametrize("kind", ["json", "csv"])
def test_short_tasks_of_label_studio_have_a_column_for_each_question(kind: str) -> None:
    records: list[dict[str, Any]] = [
        {
            "id": n,
            "url": f"https://github.com/acme/rocket/issues/{n}",
            "symptom": "crash" if n % 2 else "hang",
            "fixes": {"choices": ["code", "config"]} if n == 1 else "code",
            "stage": [["Training", "Hang"]],
            "annotator": 1,
            "annotation_id": 10 + n,
            "lead_time": 3.5,
            "created_at": "2024-01-01",
        }
        for n in range(1, 7)
    ]
    if kind == "json":
        content = orjson.dumps(records)
    else:
        text = io.StringIO()
        writer = csv.DictWriter(text, list(records[0]))
        writer.writeheader()
        for each in records:
            writer.writerow({k: orjson.dumps(v).decode() if isinstance(v, dict | list) else v for k, v in each.items()})
        content = text.getvalue().encode()
    book, mapping = opened(content, f"project.{kind}")
    values = told(read(book, mapping))
    first = {(name, text) for _, item, _, _, name, text in values if item.endswith("#1")}
    assert first == {("symptom", "crash"), ("fixes", "code; config"), ("stage", "Training / Hang")}
    assert {rater for _, _, rater, *_ in values} == {"1"}


@pytest.mark.parametrize("key", ["label", "labels", "categories", "cats"])
def test_a_file_of_each_annotator_in_a_zip_of_doccano(key: str) -> None:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for name, label in (("alice", "crash"), ("bob", "hang")):
            lines = [orjson.dumps({"id": n, "text": "t" * 600, key: [label], "Comments": ["why"]}) for n in (1, 2)]
            archive.writestr(f"{name}.jsonl", b"\n".join(lines))
    book, mapping = opened(content.getvalue(), "project.zip")
    sheet = read(book, mapping)
    assert [(item, rater, text) for _, item, rater, _, _, text in told(sheet)] == [
        ("1", "alice", "crash"), ("2", "alice", "crash"), ("1", "bob", "hang"), ("2", "bob", "hang"),
    ]  # fmt: skip
    assert sheet.answers["1", "1", "alice"][0].memo == "why" and list(sheet.dimensions) == ["label"]


def test_a_csv_of_doccano_is_read_as_its_json_also_from_the_shell(db: None) -> None:
    rows = 'id,text,venue,label,Comments\n7,"t, ""u""",chat,crash#hang,why\n8,v,,C#,\n9,w,,,\n'
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr("alice.csv", rows)
        archive.writestr("bob.csv", "id,text,label\n7,t,crash\n")
    book, mapping = opened(content.getvalue(), "project.zip")
    sheet = read(book, mapping)
    assert [(item, rater, text) for _, item, rater, _, _, text in told(sheet)] == [
        ("7", "alice", "crash"), ("7", "alice", "hang"), ("8", "alice", "C#"), ("7", "bob", "crash"),
    ]  # fmt: skip
    assert book.sheets[0].several == {"label"} and sheet.answers["1", "7", "alice"][0].memo == "why"
    report = import_ratings(
        user=make.user("olga"), study="d", file=rows.encode(), name="all.csv", attributes=["venue"], create=True
    )
    assert (report.n_ratings, report.n_attributes, report.n_refused) == (2, 1, 0)
    assert list(Membership.objects.filter(code="R1").values_list("name", flat=True)) == ["annotator"]


def test_older_exports_of_doccano_name_users_and_marks_of_words_are_refused() -> None:
    lines = [
        {"id": 1, "text": "a", "annotations": [{"label": 2, "user": 1}, {"label": 3, "user": 2}]},
        {"id": 2, "text": "b", "label": [[0, 2, "ORG"]]},
    ]
    book, mapping = opened(b"\n".join(map(orjson.dumps, lines)), "all.jsonl")
    sheet = read(book, mapping)
    assert [(rater, text) for _, _, rater, _, _, text in told(sheet)] == [("user 1", "2"), ("user 2", "3")]
    assert "are on words" in sheet.refusals[0].reason


def test_the_beginning_of_a_book_has_the_first_lines_of_each_sheet() -> None:
    long, short = (
        [["item", "rater", "symptom"]] + [[f"i{n}", "bob", "hang"] for n in range(999)],
        [["a", "b"], ["1", "2"]],
    )
    book, mapping = opened(xlsx({"Long": long, "Short": short}))
    assert book.beginning(3_004) is book
    cut = book.beginning(300)
    assert [len(sheet.lines) for sheet in cut.sheets] == [99, 2]
    assert [sheet.lines[0] for sheet in cut.sheets] == [sheet.lines[0] for sheet in book.sheets]
    assert [len(sheet.lines) for sheet in book.sheets] == [1_000, 2]
    assert len(list(BookReader(cut, mapping).rows())) == 99
