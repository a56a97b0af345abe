"""Files become rows of text, rows become answers, and what can't be taken is refused with its line and the reason."""

import io
import json
from collections.abc import Sequence

import openpyxl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from annotation.core.errors import Invalid, Unreadable
from annotation.imports.sheets import (
    GatheredSheet,
    ReadAnswer,
    ValueReader,
    document_from_values,
    gather,
    lay_out,
    open_table,
    read_answer,
    read_decisions,
)
from annotation.imports.sheets.columns import SheetRow, rows_of
from annotation.imports.sheets.document_trees import tree_of
from annotation.imports.sheets.spellings import apply_spellings
from annotation.imports.sheets.values import SUGGESTED_MAX, RejectedValue
from annotation.labels.consensus import PENDING
from taxonomy.checking import load
from taxonomy.schema import AppliesWhen
from taxonomy.tree import TreeCategory, TreeDimension, VersionTree


def table_of(content: bytes) -> tuple[list[str], list[tuple[int, list[str], str]]]:
    table = open_table(io.BytesIO(content))
    return list(table.columns), [(row.line, list(row.cells), row.fault) for row in table.rows]


def gathered(text: str, dimensions: Sequence[str] = (), final: str = "final", **mapping: str) -> GatheredSheet:
    table = open_table(io.BytesIO(text.encode()))
    return gather(rows_of(lay_out(table.columns, mapping, dimensions), table.rows), final)


# Files


@pytest.mark.parametrize(
    "content",
    [
        b"item,rater\na,bob\n",
        b"\xef\xbb\xbfitem,rater\r\na,bob\r\n",
        b"item;rater\na;bob",
        b'"item"\t"rater"\na\tbob\n\n',
        "item,rater\na,bob\n".encode("utf-16"),
        b'item,"rater"\n"a","bob"\n',
        b" item , rater ,\na,bob,\n,,\n",
    ],
    ids=["commas", "byte order mark", "semicolons", "tabs", "UTF-16", "quotes", "blank edges"],
)
def test_a_csv_is_read_whatever_its_delimiter_and_byte_order_mark(content: bytes) -> None:
    assert table_of(content) == (["item", "rater"], [(2, ["a", "bob"], "")])


def test_lines_are_those_of_the_file_where_cells_hold_line_breaks_and_rows_are_blank() -> None:
    _, rows = table_of(b'item,memo\na,"one\ntwo"\n\n,\nb,three\n')
    assert [(line, cells) for line, cells, _ in rows] == [(2, ["a", "one\ntwo"]), (6, ["b", "three"])]


def test_a_semicolon_in_quotes_does_not_decide_the_delimiter() -> None:
    columns, _ = table_of(b'"a;b;c;d",item\n1,2\n')
    assert columns == ["a;b;c;d", "item"]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"a,bob,more", "3 cells under 2 columns"),
        (b"a,b\xe9b", "not UTF-8"),
        (b"a,b\x00b", "U+0000"),
        (b'a,"b"ob', "not valid CSV"),
    ],
)
def test_a_bad_row_is_refused_with_its_line_and_the_next_one_arrives(line: bytes, reason: str) -> None:
    _, rows = table_of(b"item,rater\nx,ann\n" + line + b"\ny,eve\n")
    assert [row[0] for row in rows] == [2, 3, 4]
    assert reason in rows[1][2] and not rows[0][2] and not rows[2][2]
    assert rows[2][1] == ["y", "eve"]


def test_a_quotation_mark_that_is_never_closed_is_named_by_the_line_where_it_opens() -> None:
    _, rows = table_of(b'item,rater\nx,ann\ny,"bob\nz,eve\n')
    assert rows[0] == (2, ["x", "ann"], "")
    assert rows[1][0] == 3 and "never closed" in rows[1][2]


def test_an_xlsx_gives_text_as_a_csv_would_hold_it() -> None:
    book = openpyxl.Workbook()
    for row in (["item", "part", "yes", "n", "none"], ["a", 1, True, 2.5, None], [], ["b", 2.0, False, "x", None]):
        book.active.append(row)
    file = io.BytesIO()
    book.save(file)
    columns, rows = table_of(file.getvalue())
    assert columns == ["item", "part", "yes", "n", "none"]
    assert rows == [(2, ["a", "1", "true", "2.5", ""], ""), (4, ["b", "2", "false", "x", ""], "")]


def test_a_parquet_file_gives_the_same_and_counts_its_rows_from_one() -> None:
    file = io.BytesIO()
    table = pa.table({"item": ["a", "b"], "part": [1.0, None], "yes": [True, False], "values": [["x", "y"], None]})
    parquet.write_table(table, file)
    assert table_of(file.getvalue()) == (
        ["item", "part", "yes", "values"],
        [(1, ["a", "1", "true", "x; y"], ""), (2, ["b", "", "false", ""], "")],
    )


@pytest.mark.parametrize(
    "content", [b"", b"PK\x03\x04 no workbook", b"PAR1 no parquet"], ids=["empty", "zip", "parquet"]
)
def test_a_file_that_is_none_is_unreadable(content: bytes) -> None:
    with pytest.raises(Unreadable):
        table_of(content)


# Columns


def test_a_missing_column_is_named_together_with_those_that_are_there() -> None:
    with pytest.raises(Invalid) as refused:
        lay_out(["item_url", "rater", "stage"], {}, ["stage"])
    assert list(refused.value.fields) == ["item"]
    assert "item_url, rater, stage" in refused.value.message


@pytest.mark.parametrize(
    ("columns", "mapping", "dimensions", "field"),
    [
        (["item", "rater"], {}, ["stage"], "stage"),
        (["item", "rater"], {"item": "link"}, ["rater"], "item"),
        (["item", "item", "rater"], {}, ["rater"], "item"),
        (["item", "rater", "dimension"], {}, [], "value"),
        (["item", "rater", "stage"], {"colour": "stage"}, ["stage"], "map.colour"),
    ],
)
def test_columns_that_cannot_be_found_are_refused_by_field(columns, mapping, dimensions, field) -> None:
    with pytest.raises(Invalid) as refused:
        lay_out(columns, mapping, dimensions)
    assert field in refused.value.fields


def test_a_dimension_can_be_mapped_to_a_column_and_unit_stands_for_part() -> None:
    sheet = gathered("Item,rater,unit,leaf\na,bob,2,crash\n", ["symptom"], symptom="leaf")
    ((key, (row,)),) = sheet.answers.items()
    assert key == ("", "a", "bob")
    assert (row.part, row.values) == ("2", (("symptom", "crash"),))


# Gathering


def test_an_issue_is_one_item_whether_named_or_by_its_address_and_whatever_its_case() -> None:
    sheet = gathered(
        "item,rater,dimension,value\n"
        "acme/rocket#7,bob,symptom,crash\n"
        "https://github.com/Acme/Rocket/issues/7,carol,symptom,hang\n"
        "https://stackoverflow.com/questions/7,carol,symptom,hang\n"
    )
    assert [name.identifier for name in sheet.items.values()] == [
        "acme/rocket#7",
        "https://stackoverflow.com/questions/7",
    ]
    assert [item for _, item, _ in sheet.answers] == ["acme/rocket#7", "acme/rocket#7", *list(sheet.items)[1:]]


def test_rows_of_the_final_rater_stand_apart_whatever_their_case() -> None:
    sheet = gathered("item,rater,dimension,value\na,bob,s,x\na, Agreed  On,s,x\n", final="agreed on")
    assert list(sheet.raters) == ["bob"] and list(sheet.finals) == [("", "a")]


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (",bob,s,x,1,", "has no item"),
        ("a,,s,x,1,", "has no rater"),
        ("a,bob,,x,1,", "has no dimension"),
        ("a,bob,s,x,,", "has no round"),
        ("a,bob,s,x,1,soon", "not a number of seconds"),
        ("a," + "b" * 151 + ",s,x,1,", "longer than 150"),
        ("a" * 501 + ",bob,s,x,1,", "longer than 500"),
    ],
)
def test_a_row_that_lacks_something_is_refused_with_its_line(row: str, reason: str) -> None:
    sheet = gathered(f"item,rater,dimension,value,round,seconds\na,eve,s,x,1,3\n{row}\nb,eve,s,x,1,2.5\n")
    assert [(refusal.line, reason in refusal.reason) for refusal in sheet.refusals] == [(3, True)]
    assert len(sheet.answers) == 2 and list(sheet.raters) == ["eve"]


def test_parts_are_numbered_alike_for_all_raters_of_an_item() -> None:
    sheet = gathered(
        "item,rater,part,dimension,value\n"
        "a,bob,10,s,x\na,bob,2,s,x\na,carol,10,s,x\nb,bob,late,s,x\nb,bob,early,s,x\nc,bob,,s,x\n"
    )
    assert sheet.part_numbers("", "a") == {"10": 2, "2": 1}
    assert sheet.part_numbers("", "b") == {"late": 1, "early": 2}
    assert sheet.part_numbers("", "c") == {"1": 1}


# A taxonomy from values


def test_spellings_that_differ_in_case_and_blanks_are_one_category_named_by_the_most_frequent() -> None:
    sheet = gathered(
        "item,rater,issue_type,Fix Pattern,nothing\n"
        "a,bob,Fault,change  hardware,\n"
        "b,bob, fault ,PENDING,\n"
        "c,bob,fault,pending: new one,\n"
        "d,bob,how-to  Question,Change hardware,\n"
        "d,final,FAULT,change hardware,\n",
        ["issue_type", "Fix Pattern", "nothing"],
    )
    document = document_from_values(sheet, slug="s", title="S")
    assert document["dimensions"] == [
        {
            "key": "issue_type",
            "title": "Issue type",
            "kind": "single",
            "required": False,
            "categories": [{"key": "fault", "name": "fault"}, {"key": "how-to-question", "name": "how-to Question"}],
        },
        {
            "key": "fix-pattern",
            "title": "Fix Pattern",
            "kind": "single",
            "required": False,
            "categories": [{"key": "change-hardware", "name": "change hardware"}],
        },
    ]


def test_keys_are_unique_and_no_text_means_two_categories() -> None:
    sheet = gathered("item,rater,s\na,b,a b\na,b,a b\nb,b,a-b\nc,b,a & b\nd,b,タイムアウト\n", ["s"])
    (dimension,) = document_from_values(sheet, slug="s", title="S")["dimensions"]
    assert {each["name"]: each["key"] for each in dimension["categories"]} == {
        "a b": "a-b-2",
        "a-b": "a-b",
        "a & b": "a-and-b",
        "タイムアウト": "category",
    }


def test_a_dimension_answered_just_where_another_has_certain_values_hangs_on_it() -> None:
    faults = "".join(f"f{n},bob,Fault,crash,yes\n" for n in range(20))
    questions = "".join(f"q{n},bob,how-to,,yes\n" for n in range(10))
    blank = "b1,bob,,hang,yes\n"
    sheet = gathered("item,rater,kind,symptom,seen\n" + faults + questions + blank, ["kind", "symptom", "seen"])
    kind, symptom, seen = document_from_values(sheet, slug="s", title="S")["dimensions"]
    assert symptom["applies_when"] == {"dimension": "kind", "is": ["fault"]}
    assert "applies_when" not in kind
    fewer = questions.partition("\n")[2]
    sheet = gathered("item,rater,kind,symptom,seen\n" + faults + fewer, ["kind", "symptom", "seen"])
    assert all("applies_when" not in each for each in document_from_values(sheet, slug="s", title="S")["dimensions"])
    assert "applies_when" not in seen


@pytest.mark.parametrize(
    "more",
    [
        "q,bob,how-to,crash\n",
        "".join(f"x{n},bob,Fault,\n" for n in range(5)),
        "".join(f"x{n},bob,,crash\n" for n in range(5)),
    ],
    ids=["also elsewhere", "often blank there", "often under a blank"],
)
def test_a_dimension_that_does_not_quite_follow_another_hangs_on_nothing(more: str) -> None:
    rows = "".join(f"f{n},bob,Fault,crash\nq{n},bob,how-to,\n" for n in range(20))
    sheet = gathered("item,rater,kind,symptom\n" + rows + more, ["kind", "symptom"])
    assert all("applies_when" not in each for each in document_from_values(sheet, slug="s", title="S")["dimensions"])


CELL = st.sampled_from(["", "a", "b", "c", "PENDING"])
FEW_ROWS = st.lists(st.lists(CELL, min_size=3, max_size=3), min_size=1, max_size=6)


@given(FEW_ROWS, st.integers(1, 24))
def test_what_hangs_on_what_follows_from_the_parts_alone(rows: list[list[str]], times: int) -> None:
    rows = rows * times
    lines = "".join(f"i{n},bob,{','.join(row)}\n" for n, row in enumerate(rows))
    sheet = gathered("item,rater,x,y,z\n" + lines, ["x", "y", "z"])
    try:
        made = document_from_values(sheet, slug="s", title="S")["dimensions"]
    except Invalid:
        return
    for each in made:
        column = "xyz".index(each["key"])
        expected = None
        for above in (one["key"] for one in made if one["key"] < each["key"]):
            at = "xyz".index(above)
            values = {row[at] for row in rows if row[column] and row[at] not in ("", "PENDING")}
            answered = [row for row in rows if row[column]]
            given_there = [row for row in rows if row[at] not in ("", "PENDING")]
            inside = [row for row in given_there if row[at] in values]
            if (
                values
                and len(given_there) - len(inside) >= 10
                and sum(bool(row[column]) for row in inside) >= 0.9 * len(inside)
                and sum(not row[at] for row in answered) <= 0.05 * len(answered)
            ):
                expected = {"dimension": above, "is": sorted(values)}
                break
        assert each.get("applies_when") == expected


def test_a_sheet_without_values_and_a_column_of_free_text_make_no_taxonomy() -> None:
    with pytest.raises(Invalid, match="no values"):
        document_from_values(gathered("item,rater,s\na,b,\n", ["s"]), slug="s", title="S")
    rows = "".join(f"{n},b,note {n}\n" for n in range(1001))
    with pytest.raises(Invalid, match="free text"):
        document_from_values(gathered(f"item,rater,s\n{rows}", ["s"]), slug="s", title="S")


# Reading against a version


def dimension(key: str, kind: str, *categories: tuple[str, ...], when: AppliesWhen | None = None) -> TreeDimension:
    """A dimension whose categories are written as names from the root; a key is its path in small letters."""
    branches = {path[:-1] for path in categories}
    return TreeDimension(
        id=1,
        key=key,
        title=key.title(),
        kind=kind,
        required=True,
        applies_when=when,
        help="",
        position=1,
        categories=tuple(
            TreeCategory(
                id=place,
                key="-".join(path).lower(),
                name=path[-1],
                keys=tuple("-".join(path[: n + 1]).lower() for n in range(len(path))),
                names=path,
                position=place,
                selectable=path not in branches,
            )
            for place, path in enumerate(categories)
        ),
    )


TREE = VersionTree(
    id=1,
    slug="t",
    number=1,
    title="T",
    note="",
    dimensions=(
        dimension("kind", "single", ("Fault",), ("Question",)),
        dimension(
            "symptom",
            "single",
            ("Setup",),
            ("Setup", "Crash"),
            ("Setup", "Hang"),
            ("Training",),
            ("Training", "Hang"),
            when=AppliesWhen("kind", ("fault",)),
        ),
        dimension("fixes", "multi", ("Code",), ("Version",), ("A; b",)),
        dimension("only_distributed", "boolean"),
        dimension("lines", "number"),
        dimension("cause", "text"),
    ),
)


def read(text: str, **more: object) -> tuple[ReadAnswer, list[tuple[int, str]]]:
    """The answer in rows of part, dimension, value, memo below a head line, and what was refused."""
    sheet = gathered("item,rater,part,dimension,value,memo\n" + "".join(f"a,bob,{line}\n" for line in text.split("\n")))
    refused: list[tuple[int, str]] = []
    answer = read_answer(
        ValueReader(TREE),
        sheet.answers["", "a", "bob"],
        sheet.part_numbers("", "a"),
        lambda row, reason: refused.append((row.line, reason)),
    )
    return answer, refused


@pytest.mark.parametrize(
    ("line", "values"),
    [
        ("symptom,setup-crash", {"symptom": ("setup-crash",)}),
        ("Symptom,crash", {"symptom": ("setup-crash",)}),
        ("symptom,training  /  HANG", {"symptom": ("training-hang",)}),
        ("symptom,pending", {"symptom": (PENDING,)}),
        ("fixes,Code; version", {"fixes": ("code", "version")}),
        ("fixes,a; B", {"fixes": ("a; b",)}),
        ("Only-Distributed,YES", {"only_distributed": (True,)}),
        ("only_distributed,0", {"only_distributed": (False,)}),
        ("lines,12.5", {"lines": (12.5,)}),
        ("cause,some words", {"cause": ("some words",)}),
        ("cause,PENDING", {"cause": ("PENDING",)}),
        ("cause,pending: review", {"cause": ("pending: review",)}),
    ],
)
def test_a_value_is_found_by_key_name_or_path(line: str, values: dict[str, object]) -> None:
    answer, refused = read(f"1,{line},")
    assert (refused, answer.parts[0].values) == ([], values)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("symptom,hang", "“Setup / Hang”, “Training / Hang”"),
        ("symptom,crahs", "nearest is “Setup / Crash”"),
        ("symptom,training", "only groups others"),
        ("fixes,code; nothing", "“nothing” is not a category"),
        ("only_distributed,maybe", "neither true nor false"),
        ("lines,many", "not a number"),
        ("lines,nan", "not a number"),
        ("lines,PENDING", "no categories"),
        ("symptoms,crash", "nearest is “symptom”"),
    ],
)
def test_a_value_that_cannot_be_taken_is_refused_with_line_and_reason(line: str, reason: str) -> None:
    answer, refused = read(f"1,kind,fault,\n1,{line},\n1,lines,3,".replace("1,lines,3,", "2,lines,3,"))
    assert [(number, reason in sentence) for number, sentence in refused] == [(3, True)]
    assert answer.parts[0].values == {"kind": ("fault",)} and answer.parts[1].values == {"lines": (3.0,)}


def test_several_rows_are_several_values_of_a_multi_dimension_and_the_same_value_counts_once() -> None:
    answer, refused = read("1,fixes,version,\n1,fixes,code,\n1,fixes,Code,\n1,kind,fault,\n1,kind,Fault,")
    assert answer.parts[0].values == {"fixes": ("code", "version"), "kind": ("fault",)} and not refused


def test_a_second_value_of_a_single_dimension_is_refused_and_names_the_line_of_the_first() -> None:
    answer, refused = read("1,kind,fault,\n1,kind,question,\n1,kind,pending,")
    assert answer.parts[0].values == {"kind": ("fault",)}
    assert [line for line, _ in refused] == [3, 4] and "line 2" in refused[0][1]


def test_a_value_whose_dimension_is_ruled_out_is_refused_but_not_under_a_blank_answer() -> None:
    answer, refused = read("1,symptom,crash,\n1,kind,question,\n2,symptom,crash,\n3,symptom,crash,\n3,kind,PENDING,")
    assert [part.values for part in answer.parts] == [
        {"kind": ("question",)},
        {"symptom": ("setup-crash",)},
        {"kind": (PENDING,), "symptom": ("setup-crash",)},
    ]
    assert refused == [(2, "“Symptom” does not apply where “Kind” is question.")]


def test_proposals_carry_their_name_and_memo_and_memos_of_a_part_are_put_together() -> None:
    answer, _ = read("1,kind,Pending:  Dead   link ,no such page\n1,lines,3,no such page\n1,cause,x,twice")
    (part,) = answer.parts
    assert (part.proposals["kind"].name, part.proposals["kind"].memo) == ("Dead link", "no such page")
    assert part.memo == "no such page\ntwice"


def test_what_the_final_rater_decided_left_blank_or_left_pending() -> None:
    sheet = gathered(
        "item,rater,kind,symptom,fixes,cause,memo\n"
        "a,final,fault,crash,code,,because\na,final,fault,,version,,\nb,final,PENDING,,,,\n",
        ["kind", "symptom", "fixes", "cause"],
    )
    refused: list[int] = []
    found = {
        item: read_decisions(ValueReader(TREE), rows, {"1": 1}, lambda row, _: refused.append(row.line))
        for (_, item), rows in sheet.finals.items()
    }
    decided, blanks = found["a"]
    assert [(each.dimension, each.values, each.notes.rationale) for each in decided] == [
        ("kind", ("fault",), "because"),
        ("symptom", ("setup-crash",), "because"),
        ("fixes", ("code", "version"), "because"),
    ]
    assert [each.dimension for each in blanks] == ["cause"]
    assert refused == [4] and not found["b"][0] and "kind" not in {each.dimension for each in found["b"][1]}


def test_values_that_are_paths_become_a_tree_whose_steps_can_be_chosen() -> None:
    values = ["Training / Hang", "training / hang", "Training / OOM", "Setup / Hang", "hang", "Training"]
    rows = "".join(f"{n},a,{value}\n" for n, value in enumerate(values, start=1))
    sheet = gathered(f"item,rater,s\n{rows}", ["s"])
    (dimension,) = document_from_values(sheet, slug="s", title="S", levels=["s"])["dimensions"]
    assert dimension["categories"] == [
        {
            "key": "training",
            "name": "Training",
            "categories": [{"key": "training-hang", "name": "Hang"}, {"key": "oom", "name": "OOM"}],
        },
        {"key": "setup", "name": "Setup", "categories": [{"key": "setup-hang", "name": "Hang"}]},
        {"key": "hang", "name": "hang"},
    ]
    reader = ValueReader(tree_of(load(json.dumps(document_from_values(sheet, slug="s", title="S", levels=["s"])))))
    found = [reader.read(reader.tree.by_key["s"], value) for value in values]
    assert found == [("training-hang",), ("training-hang",), ("oom",), ("setup-hang",), ("hang",), ("training",)]


@pytest.mark.parametrize("several", [(), ("Fix Pattern",)], ids=["one value", "several values"])
def test_a_decision_about_a_value_applies_however_the_value_is_written(several: Sequence[str]) -> None:
    sheet = b"item,rater,Fix Pattern\na,bob,bugg\nb,bob,BUGG\nc,bob,  Bugg \nd,bob,No  Idea\ne,bob,Other\n"
    table = open_table(io.BytesIO(sheet))
    rows = rows_of(lay_out(table.columns, {}, ["Fix Pattern"]), table.rows)
    meanings = {("fix pattern", "bugg"): "fault", ("fix pattern", "no idea"): ""}
    found = [row.values for row in apply_spellings(rows, meanings, several) if isinstance(row, SheetRow)]
    assert [text for row in found for _, text in row] == ["fault", "fault", "fault", "", "Other"]


def test_of_very_many_unknown_values_the_first_thousand_name_the_nearest_category() -> None:
    """To find it takes milliseconds."""
    known = tuple(TreeCategory(n, f"cat-{n}", f"Category number {n}", (), ("x",), n) for n in range(500))
    dimension = TreeDimension(1, "d", "D", "single", True, None, "", 0, known)
    reader = ValueReader(VersionTree(1, "t", 1, "T", "", (dimension,)))
    reasons = []
    for number in range(6_000):
        with pytest.raises(RejectedValue) as refused:
            reader.read(dimension, f"Categorx nomber x{number}")
        reasons.append(str(refused.value))
    assert ["The nearest is" in reason for reason in reasons] == [number < SUGGESTED_MAX for number in range(6_000)]
    assert reasons[-1].endswith("is not a category of “D”.")
