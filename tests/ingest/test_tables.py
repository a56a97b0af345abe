"""Tables are read row by row; cells mean something or are refused with their column; columns are guessed."""

import csv
import datetime
import io
import time
import tracemalloc
import zipfile
from contextlib import suppress
from typing import Any

import openpyxl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ingest.errors import Invalid, RowError, Unreadable
from ingest.files.json_rows import BATCH_ROWS
from ingest.tables import (
    TableReader,
    checked_guess,
    column_names,
    first_rows,
    guess,
    is_table,
    lay_out,
    open_table,
    read_rows,
    sample,
    without_identifying,
    workbooks,
)
from ingest.tables.values import read_labels, read_time
from tests.simulation import examples

OURS = ("github.com", "o", "r")
PLAIN = {"number": "number", "title": "title"}


def workbook(*rows: Any, more: dict[str, list[Any]] | None = None) -> bytes:
    book = openpyxl.Workbook()
    book.active.title = "Issues"
    for row in rows:
        book.active.append(row)
    for name, those in (more or {}).items():
        sheet = book.create_sheet(name)
        for row in those:
            sheet.append(row)
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def rows(content: bytes | str, mapping: dict[str, str] | None = None, **more: Any) -> list[tuple[int, Any]]:
    """Line, and what the issue says or why there is none."""
    file = io.BytesIO(content if isinstance(content, bytes) else content.encode())
    found = read_rows(file, mapping or PLAIN, more.get("repository", OURS), more.get("sheet", ""))
    return [(row.line, row.refusal or (row.record and row.record.identifier) or "pull request") for row in found]


def one(head: str, row: str, mapping: dict[str, str], repository: Any = OURS) -> Any:
    """The record of the only row, or the reason for which it was refused."""
    (found,) = read_rows(io.BytesIO(f"{head}\n{row}\n".encode()), mapping, repository)
    return found.refusal or found.record


# Reading

TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=30)


@settings(max_examples=examples(150), deadline=None)
@given(
    st.lists(st.tuples(TEXT, TEXT, TEXT), max_size=8),
    st.sampled_from(",;\t|"),
    st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]),
    st.sampled_from([(csv.QUOTE_MINIMAL, "\r\n"), (csv.QUOTE_ALL, "\r\n"), (csv.QUOTE_ALL, "\n")]),
)
def test_whatever_is_written_as_csv_comes_back(cells, delimiter, encoding, dialect):
    quoting, end = dialect  # with QUOTE_MINIMAL and "\n" Python writes a bare "\r" without quotes, as if a line ended
    text = io.StringIO()
    writer = csv.writer(text, delimiter=delimiter, quoting=quoting, lineterminator=end)
    writer.writerows([("a", "b", "c"), *cells])
    table = open_table(io.BytesIO(text.getvalue().encode(encoding)))
    assert list(table.columns) == ["a", "b", "c"]
    wanted = [row for row in cells if any(cell and not cell.isspace() for cell in row)]
    assert [(tuple(row.cells), row.fault) for row in table.rows] == [(row, "") for row in wanted]


@settings(max_examples=examples(30), deadline=None)
@given(st.lists(st.tuples(TEXT, TEXT), min_size=1, max_size=6))
def test_a_row_is_read_from_the_same_line_in_which_its_text_stands(cells):
    text = io.StringIO()
    csv.writer(text).writerows([("a", "b"), *cells])
    lines = text.getvalue().replace("\r\n", "\n").replace("\r", "\n").split("\n")
    for row in open_table(io.BytesIO(text.getvalue().encode())).rows:
        first = row.text.replace("\r\n", "\n").replace("\r", "\n").split("\n")[0]
        assert lines[row.line - 1] == first


def test_rows_are_refused_with_their_line_and_whole_and_the_others_arrive():
    content = 'number,title,body\n1,"a\nb",x\n2,only two\n3,c,d,e\nx,"d\ne",f\n\n4,"q"q,r\n5,e,ok\n1,again,x\n'
    mapping = PLAIN | {"body": "body"}
    found = list(read_rows(io.BytesIO(content.encode()), mapping, OURS))
    assert [row.line for row in found] == [2, 4, 5, 6, 9, 10, 11]
    assert [bool(row.refusal) for row in found] == [False, True, True, True, True, False, True]
    assert "fewer cells" in found[1].refusal
    assert "4 cells under 3 columns" in found[2].refusal
    assert found[3].refusal == "number: “x” is not the number of an issue."
    assert found[3].text == 'x,"d\ne",f'
    assert found[6].refusal == "o/r#1 is already in this file."


def test_bytes_of_windows_1252_are_refused_by_row_or_for_the_head():
    assert rows(b"number,title\n1,caf\xe9\n2,ok\n") == [
        (2, "The row has bytes that are not UTF-8. Save the file as UTF-8."),
        (3, "o/r#2"),
    ]
    with pytest.raises(Unreadable, match="Windows-1252"):
        open_table(io.BytesIO(b"num\xe9ro,title\n1,a\n"))
    with pytest.raises(Unreadable, match="UTF-16 without a mark"):
        open_table(io.BytesIO("number,title\n1,a\n".encode("utf-16-le")))


def test_excels_line_about_the_delimiter_is_obeyed():
    assert rows("sep=;\nnumber;title, of the issue\n1;a\n", {"number": "number", "title": "title, of the issue"}) == [
        (3, "o/r#1")
    ]


@pytest.mark.slow
def test_a_line_without_end_does_not_fill_the_memory():
    content = io.BytesIO(b"number,title\n1," + b"x" * (60 << 20) + b"\n2,ok\n")
    tracemalloc.start()
    found = list(read_rows(content, PLAIN, OURS))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found[-1].record.number == 2
    assert peak < 80 << 20


def test_a_workbook_gives_texts_numbers_and_dates():
    content = workbook(
        ["Number", "Title", "Created", "Labels", None],
        [1, "A", datetime.datetime(2024, 4, 3, 10, 30), "bug; help wanted", None],
        [2.0, "B", datetime.date(2024, 4, 3), None, None],
        [None, None, None, None, None],
        ["x", "C", 45385, None, None],
    )
    mapping = {"number": "Number", "title": "Title", "created_at": "Created", "labels": "Labels"}
    found = list(read_rows(io.BytesIO(content), mapping, OURS))
    assert [row.line for row in found] == [2, 3, 5]
    assert found[0].record.created_at == datetime.datetime(2024, 4, 3, 10, 30, tzinfo=datetime.UTC)
    assert found[0].record.github_labels == ("bug", "help wanted")
    assert (found[1].record.number, found[1].record.created_at.day) == (2, 3)
    assert found[2].text == "x,C,45385,"


def test_another_sheet_is_read_by_its_name():
    content = workbook(["about"], more={"All issues": [["number", "title"], [7, "Seven"]]})
    assert rows(content, sheet="All issues") == [(2, "o/r#7")]
    assert list(open_table(io.BytesIO(content)).sheets) == ["Issues", "All issues"]
    with pytest.raises(Unreadable, match="no sheet “None such”. It has “Issues”, “All issues”"):
        rows(content, sheet="None such")


def test_a_sample_skips_sheets_without_a_head_line():
    content = workbook(more={"Second": [["number", "title"], [7, "Seven"]]})
    found = sample(io.BytesIO(content))
    assert (found.sheet, list(found.columns), found.n_rows) == ("Second", ["number", "title"], 1)


def test_control_characters_of_a_workbook_are_those_that_were_meant():
    assert workbooks._unescaped("a_x000D_\nb _x001B_[0m _x0041_") == "a\r\nb \x1b[0m _x0041_"


def archive(**parts: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as written:
        for name, content in parts.items():
            written.writestr(name, content)
    return out.getvalue()


def test_bombs_are_refused_before_they_are_unpacked(monkeypatch):
    monkeypatch.setattr(workbooks, "EXPANDED_BYTES_MAX", 1 << 20)
    with pytest.raises(Unreadable, match="larger than a gigabyte"):
        open_table(io.BytesIO(archive(**{"xl/worksheets/sheet1.xml": b" " * (2 << 20)})))
    monkeypatch.undo()
    monkeypatch.setattr(workbooks, "PART_BYTES_MAX", 1 << 20)
    with pytest.raises(Unreadable, match="larger than any spreadsheet program creates"):
        open_table(io.BytesIO(archive(**{"xl/styles.xml": b" " * (2 << 20)})))
    content = workbook(["number", "title"], [1, "a"])
    entity = b'<!DOCTYPE a [<!ENTITY b "bbbb"><!ENTITY c "&b;&b;">]>'
    with zipfile.ZipFile(io.BytesIO(content)) as source:
        parts = {name: source.read(name) for name in source.namelist()}
    sheet = parts["xl/worksheets/sheet1.xml"]
    parts["xl/worksheets/sheet1.xml"] = entity + sheet[sheet.index(b"<worksheet") :]
    with pytest.raises(Unreadable, match="can't be read"):
        rows(archive(**parts))


def test_a_row_far_down_is_no_million_of_rows():
    content = workbook(["number", "title"], [1, "a"])
    with zipfile.ZipFile(io.BytesIO(content)) as source:
        parts = {name: source.read(name) for name in source.namelist()}
    sheet = parts["xl/worksheets/sheet1.xml"].replace(b'<row r="2"', b'<row r="2000000000"')
    parts["xl/worksheets/sheet1.xml"] = sheet
    with pytest.raises(Unreadable, match="more than 1,048,576 lines"):
        rows(archive(**parts))


@pytest.mark.parametrize("content", [b"PK\x03\x04nothing", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", b"", b"\n\n"])
def test_what_is_no_table_is_said_to_be_none(content):
    with pytest.raises(Unreadable):
        open_table(io.BytesIO(content))


@pytest.mark.parametrize(
    ("name", "start", "expected"),
    [
        ("a.csv", b"number", True),
        ("a.TSV", b"number", True),
        ("a.csv", b"\xef\xbb\xbf [{", False),
        ("a.json", b"{", False),
        ("a.xlsx", b"PK\x03\x04", True),
        ("a", b"PK\x03\x04", True),
        ("a.xls", b"\xd0\xcf\x11\xe0", True),
        ("a.txt", b"{", False),
    ],
)
def test_tables_are_told_from_json(name, start, expected):
    assert is_table(name, start) is expected


@pytest.mark.parametrize("kind", ["csv", "xlsx"])
def test_reading_goes_on_from_the_place_where_it_stopped(kind):
    n = BATCH_ROWS + 50
    cells = [["number", "title"], *([k, f"Issue {k}"] for k in range(1, n + 1)), [1, "again"]]
    text = io.StringIO()
    csv.writer(text).writerows(cells)
    content = text.getvalue().encode() if kind == "csv" else workbook(*cells)
    first = next(TableReader(io.BytesIO(content), PLAIN, OURS).batches())
    assert len(first.rows) == BATCH_ROWS
    rest = [row for batch in TableReader(io.BytesIO(content), PLAIN, OURS, first.place).batches() for row in batch.rows]
    assert [row.record.number for row in rest[:-1]] == list(range(BATCH_ROWS + 1, n + 1))
    assert rest[-1].refusal == "o/r#1 is already in this file."


# What a row says


def test_every_field_comes_in():
    head = "Id;Title;Text;State;Why;Tags;Who;Opened;Touched;Shut;Page;Talk"
    row = (
        'https://github.com/O/r/issues/5;Hang;It hangs;CLOSED;Not planned;"bug|help";@ann;2024-04-03;'
        "3 April 2024 10:00;13/04/2024;https://github.com/o/r/issues/5;3"
    )
    mapping = dict(
        zip(
            ["identifier", "title", "body", "state", "state_reason", "labels", "author", "created_at", "updated_at",
             "closed_at", "html_url", "n_comments"],
            head.split(";"),
            strict=True,
        )
    )  # fmt: skip
    record = one(head, row, mapping, None)
    assert record.identifier == "o/r#5"
    assert (record.title, record.body, record.state, record.state_reason) == (
        "Hang",
        "It hangs",
        "closed",
        "not_planned",
    )
    assert (record.github_labels, record.author_login, record.n_comments) == (("bug", "help"), "ann", 3)
    assert [when.isoformat()[:16] for when in (record.created_at, record.updated_at, record.closed_at)] == [
        "2024-04-03T00:00",
        "2024-04-03T10:00",
        "2024-04-13T00:00",
    ]
    assert record.comments is None


def test_what_has_no_column_is_not_known_and_an_empty_cell_says_what_it_can():
    record = one("number,title", "1,a", PLAIN)
    assert (record.body, record.state, record.github_labels, record.author_login) == (None, None, None, None)
    record = one("number,title,body,labels,author", "1,a,,,", PLAIN | {k: k for k in ("body", "labels", "author")})
    assert (record.body, record.github_labels, record.author_login) == ("", (), None)


@pytest.mark.parametrize(
    ("head", "row", "reason"),
    [
        ("number,title", ",a", "The number is missing."),
        ("number,title", "1,", "The title is missing."),
        ("number,title", "0,a", "number: “0” is a number which no issue has."),
        ("number,title,state", "1,a,merged", "state: “merged” is neither open nor closed."),
        ("number,title,state_reason", "1,a,because", "state_reason: “because” is not one of"),
        ("number,title,created_at", "1,a,03/04/2024", "can be 2024-04-03 or 2024-03-04"),
        ("number,title,created_at", "1,a,45385", "Format the column as a date"),
        ("number,title,n_comments", "1,a,many", "n_comments: “many” is not a count."),
        ("number,title,html_url", "1,a,somewhere", "html_url: “somewhere” is not a URL."),
        ("number,title,identifier", "1,a,o/r#2", "The row has number 2 and number 1."),
        ("number,title,repository", "1,a,p/q", "This issue is of p/q, not of o/r."),
        ("number,title,repository", "1,a,nowhere", "repository: “nowhere” is not a repository"),
        ("number,title,author", "1,a,Ann Smith", "author: “Ann Smith” is not the login of an account."),
    ],
)
def test_a_value_that_is_wrong_is_refused_with_its_column(head, row, reason):
    assert reason in one(head, row, {key: key for key in head.split(",")})


def test_a_pull_request_is_left_out_and_an_issue_without_repository_is_refused():
    mapping = {"html_url": "url", "title": "title"}
    assert rows("url,title\nhttps://github.com/o/r/pull/3,a\n", mapping) == [(2, "pull request")]
    mapping = {"identifier": "url", "title": "title"}
    assert rows("url,title\nhttps://github.com/o/r/pull/3,a\n", mapping) == [(2, "pull request")]
    assert "not known which repository" in one("number,title", "1,a", PLAIN, None)


def test_addresses_of_the_api_name_the_issue():
    mapping = {"identifier": "url", "title": "title"}
    record = one("url,title", "https://api.github.com/repos/o/r/issues/9,a", mapping, None)
    assert (record.identifier, record.html_url) == ("o/r#9", "https://github.com/o/r/issues/9")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("bug", ["bug"]),
        ("bug, help wanted", ["bug", "help wanted"]),
        ("a, b; c", ["a, b", "c"]),
        ("bug|help|bug", ["bug", "help"]),
        ('["a, b", "c"]', ["a, b", "c"]),
        ("['a', 'b']", ["a", "b"]),
        ("('it\\'s', \"b\",)", ["it's", "b"]),
        ('[{"name": "a", "color": "fff"}]', ["a"]),
        ("[needs triage], b", ["[needs triage]", "b"]),
        ("[]", []),
    ],
)
def test_labels_are_apart_by_what_sets_them_apart(text, expected):
    assert read_labels(text) == expected


@pytest.mark.parametrize("text", ["[" * 100_000, "[" + "-" * 100_000 + "1]", "['" + "\\" * 100_000])
def test_a_cell_of_brackets_is_no_list_of_labels(text):
    with pytest.raises(RowError, match="too long to be the name of a label"):
        read_labels(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2024-04-03", "2024-04-03T00:00:00"),
        ("2024-04-03T10:00:00Z", "2024-04-03T10:00:00"),
        ("2024-04-03 10:00:00 UTC", "2024-04-03T10:00:00"),
        ("2024-04-03 10:00:00+02:00", "2024-04-03T08:00:00"),
        ("2024/04/03 9:05", "2024-04-03T09:05:00"),
        ("13/04/2024 1:05 PM", "2024-04-13T13:05:00"),
        ("04/13/2024", "2024-04-13T00:00:00"),
        ("4/4/2024", "2024-04-04T00:00:00"),
        ("3 April 2024", "2024-04-03T00:00:00"),
        ("Apr 3, 2024, 12:30 AM", "2024-04-03T00:30:00"),
        ("Wed, 03 Apr 2024 10:00:00 GMT", "2024-04-03T10:00:00"),
        ("Wed Apr 03 10:00:00 2024 +0200", "2024-04-03T08:00:00"),
        ("03-Apr-2024", "2024-04-03T00:00:00"),
        ("1712131200", "2024-04-03T08:00:00"),
        ("1712131200000", "2024-04-03T08:00:00"),
    ],
)
def test_dates_are_read_where_they_can_mean_one_day(text, expected):
    assert read_time(text).isoformat() == f"{expected}+00:00"


@pytest.mark.parametrize(
    "text", ["03/04/2024", "3.4.2024", "3/4/24", "45385.5", "yesterday", "12:00", "2024-13-01", "2024-04-03 10:00 PST"]
)
def test_dates_that_can_mean_two_days_or_none_are_refused(text):
    with pytest.raises(RowError):
        read_time(text)


def test_a_long_text_is_no_date_and_is_not_searched_for_one():
    began = time.process_time()
    with pytest.raises(RowError):
        read_time("T" * 30_000)
    assert time.process_time() - began < 1


@settings(max_examples=examples(200), deadline=None)
@given(st.text(max_size=40) | st.from_regex(r"[0-9/.: APMapm+-]{0,25}", fullmatch=True))
def test_no_text_breaks_the_reading_of_dates(text):
    with suppress(RowError):
        assert read_time(text).tzinfo


# Columns


def guessed(head: str, *cells: str) -> dict[str, str]:
    return dict(guess(head.split(","), [row.split(",") for row in cells]).mapping)


@pytest.mark.parametrize(
    ("head", "row", "expected"),
    [
        ("Issue #,Summary,Created At,createdBy", "12,It hangs,2024-04-03,ann",
         {"number": "Issue #", "title": "Summary", "created_at": "Created At", "author": "createdBy"}),
        ("id,number,title,url,html_url,comments",
         "1234567890,5,Hang,https://api.github.com/repos/o/r/issues/5,https://github.com/o/r/issues/5,3",
         {"number": "number", "title": "title", "identifier": "url", "html_url": "html_url",
          "n_comments": "comments"}),
        ("Issue,Title", "o/r#5,It hangs", {"identifier": "Issue", "title": "Title"}),
        ("Issue,Title", "5,It hangs", {"number": "Issue", "title": "Title"}),
        ("no,issue", "5,It hangs after a while", {"number": "no", "title": "issue"}),
        ("where,what", "https://github.com/o/r/issues/5,It hangs after a while",
         {"identifier": "where", "title": "what"}),
        ("Title,URL,Status,Labels,Repository", "It hangs,https://github.com/o/r/issues/5,In progress,bug,o/r",
         {"title": "Title", "html_url": "URL", "labels": "Labels", "repository": "Repository"}),
        ("number,title,state,closed", "5,Hang,open,false", {"number": "number", "title": "title", "state": "state"}),
    ],
)  # fmt: skip
def test_columns_are_guessed_by_name_and_by_what_stands_in_them(head, row, expected):
    assert guessed(head, row) == expected


def test_two_columns_that_would_do_are_doubted_and_not_chosen():
    found = guess(["number", "Title", "title"], [["1", "a", "b"]])
    assert "title" not in found.mapping
    assert found.doubts == {"title": ["Title", "title"]}
    with pytest.raises(Invalid) as refused:
        checked_guess(["number", "Title", "title"], [["1", "a", "b"]])
    assert refused.value.fields["columns"] == [
        "Title can be “Title” or “title”.",
        "The columns are: number, Title, title.",
        "Guessed: number=number.",
    ]


def test_a_guess_that_lacks_the_title_says_so():
    with pytest.raises(Invalid, match="can't be identified for certain") as refused:
        checked_guess(["number", "x"], [["1", "y"]])
    assert refused.value.fields["columns"][0] == "Choose the column of the title."


def test_every_column_has_a_name_of_its_own():
    assert column_names(["a", "", "a", "a (2)", "", "a"]) == ["a", "Column 2", "a (3)", "a (2)", "Column 5", "a (4)"]


@settings(max_examples=examples(100), deadline=None)
@given(st.lists(st.sampled_from(["", "a", "a (2)", "Column 2", "Column 1", "b"]), max_size=12))
def test_names_of_columns_are_never_alike(head):
    names = column_names(head)
    assert len(set(names)) == len(head)
    assert all(names)


def test_a_mapping_that_does_not_fit_names_the_columns():
    with pytest.raises(Invalid, match="The columns are: Number, T.") as refused:
        lay_out(["Number", "T"], {"number": "number", "title": "Title", "colour": "T"})
    assert refused.value.fields["columns"][0] == "Column “Title” not found."
    assert "“colour” can't be mapped" in refused.value.fields["columns"][1]
    assert lay_out(["Number", "T"], {"number": "number", "title": "T"}).places == {"number": 0, "title": 1}


def test_a_sample_counts_rows_up_to_a_bound(monkeypatch):
    content = "number,title\n" + "".join(f"{k},a\n" for k in range(1, 51))
    found = sample(io.BytesIO(content.encode()), count_up_to=40)
    assert (len(found.rows), found.n_rows) == (30, 41)
    assert first_rows.TablePreview.from_json(found.as_json()) == found
    assert [row.record.number for row in found.preview(PLAIN, OURS)] == list(range(1, 11))


def test_rows_without_a_number_are_numbered_where_that_is_asked_for():
    content = io.BytesIO(b"label,title\nbug,It hangs\nbug\nquestion,How to\n")
    found = list(read_rows(content, {"title": "title", "labels": "label"}, OURS, number_rows=True))
    assert [row.record and (row.record.number, row.record.title) for row in found] == [
        (1, "It hangs"),
        None,  # it is short, and the rows after it keep their numbers
        (3, "How to"),
    ]
    columns, rows = ["id", "title", "Title"], [["7", "It hangs", ""], ["9", "It crashes", ""]]
    assert "number" not in without_identifying(guess(columns, rows)).mapping
    assert checked_guess(["id", "title"], [row[:2] for row in rows], number_rows=True) == {"title": "title"}
    with pytest.raises(Invalid, match="Either number the rows or name a column for number, not both"):
        lay_out(["id", "title"], {"number": "id", "title": "title"}, number_rows=True)
