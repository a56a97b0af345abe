"""Files of issues, read row by row (pure)."""

import io
import json

import pytest

from ingest.files import json_rows
from ingest.files.json_rows import read_rows
from tests.published import VLLM, needs_vllm

HERE = ("github.com", "o", "r")


def read(content: bytes | str, repository=HERE):
    """(line, number or reason or "pull request") of each row."""
    content = content.encode() if isinstance(content, str) else content
    rows = read_rows(io.BytesIO(content), repository)
    return [
        (row.line, row.record.number if row.record else "pull request" if row.is_pull_request else row.refusal)
        for row in rows
    ]


def issue(number: int, **more) -> dict:
    return {"number": number, "title": f"Issue {number}"} | more


@pytest.mark.parametrize(
    ("content", "found"),
    [
        ('{"number":1,"title":"a"}\n\n{"number":2,"title":"b"}\n', [(1, 1), (3, 2)]),
        ('[{"number":1,"title":"a"},\n{"number":2,"title":"b"}]', [(1, 1), (2, 2)]),
        (
            '[{"number":1,"title":"a"}][{"number":2,"title":"b"}]\n[\n{"number":3,"title":"c"}]',
            [(1, 1), (1, 2), (3, 3)],
        ),
        ('[[{"number":1,"title":"a"}],\n[{"number":2,"title":"b"}]]', [(1, 1), (2, 2)]),
        ('[{"number":1,"title":"a"}]\n[{"number":2,"title":"b"}]\n', [(1, 1), (2, 2)]),
        ('{\n  "number": 1,\n  "title": "a"\n}\n{\n  "number": 2,\n  "title": "b"\n}\n', [(1, 1), (5, 2)]),
        ('{"total_count": 1, "items": [{"number":1,"title":"a"}]}', [(1, 1)]),
        ("", []),
        ("[]", []),
        (b'\xef\xbb\xbf{"number":1,"title":"a"}', [(1, 1)]),
        ('{"number":1.0,"title":"a"}', [(1, 1)]),
        ('[{"number":1,"title":"a"}]'.encode("utf-16"), [(1, 1)]),
    ],
    ids=[
        "lines",
        "array",
        "arrays",
        "nested",
        "array lines",
        "spread out",
        "search",
        "nothing",
        "none",
        "bom",
        "number of a table",
        "utf-16",
    ],
)
def test_every_form_of_json_is_read(content, found):
    assert read(content) == found


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("{bad", "This is not valid JSON: Expecting property name enclosed in double quotes at character 2."),
        ('{"title": "a"}', "The number is missing."),
        ('{"number": 3}', "The title is missing."),
        ('{"number": 3, "title": "  "}', "The title is missing."),
        ('{"number": "3", "title": "a"}', "number is a text, not a whole number."),
        ('{"number": 3.5, "title": "a"}', "number is 3.5, not a whole number."),
        ('{"number": 1e400, "title": "a"}', "number is inf, not a whole number."),
        ('{"number": true, "title": "a"}', "number is true or false, not a whole number."),
        ('{"number": 0, "title": "a"}', "number is 0, which no issue has."),
        ('{"number": 99999999999, "title": "a"}', "number is 99999999999, which no issue has."),
        ('{"number": 3, "title": 7}', "title is a number, not a text."),
        ('{"number": 3, "title": "a", "body": []}', "body is a list, not a text."),
        ('{"number": 3, "title": "a", "state": "merged"}', "state is “merged”, not open or closed."),
        ('{"number": 3, "title": "a", "labels": "bug"}', "labels is a text, not a list."),
        ('{"number": 3, "title": "a", "labels": [1]}', "A label is neither a name nor an object with a name."),
        ('{"number": 3, "title": "a", "comments": "4"}', "comments is a text, neither a list nor a count."),
        ('{"number": 3, "title": "a", "comments": [1]}', "A comment is a number, not an object."),
        ('{"number": 3, "title": "a", "created_at": "soon"}', "created_at is “soon”, not a date and time."),
        ('{"number": 3, "title": "a", "user": 5}', "The author is a number, not an object."),
        ('{"number": 3, "title": "a", "html_url": "http://[x"}', "“http://[x” is not a URL."),
        (
            '{"number": 3, "title": "a", "html_url": "https://github.com/p/q/issues/3"}',
            "This issue is of p/q, not of o/r.",
        ),
        ('"text"', "This is a text, not an object with the fields of an issue."),
        ("[" * 100_000, "This is not valid JSON: it is nested too deeply."),
        ('{"number": ' + "9" * 5000 + ', "title": "a"}', "This is not valid JSON: a number is too long."),
    ],
)
def test_a_bad_row_is_refused_with_its_line_and_the_good_ones_arrive(row, reason):
    assert read(f'{{"number":1,"title":"a"}}\n{row}\n{{"number":2,"title":"b"}}') == [(1, 1), (2, reason), (3, 2)]


@pytest.mark.parametrize("bad", ['{"number":2,"title":"b" oops}', '{"number":2,"title":"b\\q"}', "7", "null"])
def test_a_bad_item_of_an_array_does_not_take_the_next_one_along(bad):
    rows = read(f'[{{"number":1,"title":"a"}},\n{bad},\n{{"number":3,"title":"c"}}]')
    assert [line for line, _ in rows] == [1, 2, 3]
    assert [rows[0][1], rows[2][1]] == [1, 3]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ('[{"number":1,"title":"a"},\n{"number":2,"ti', "The file ends in the middle of this row."),
        ('[{"number":1,"title":"a"},\n', "The file ends inside the list that begins in line 1. The rest is missing."),
    ],
)
def test_a_truncated_array_gives_what_came_before_the_cut(content, reason):
    assert read(content) == [(1, 1), (2, reason)]


def test_a_line_that_is_cut_off_says_where():
    rows = read('{"number":1,"title":"a"}\n{"number":2,"title":"b')
    assert rows == [(1, 1), (2, "This is not valid JSON: Unterminated string starting at character 21.")]


def test_bytes_that_are_not_utf8_refuse_their_row_only():
    rows = read(b'{"number":1,"title":"a"}\n{"number":2,"title":"\xe9"}\n{"number":3,"title":"c"}')
    assert rows == [(1, 1), (2, "This row has bytes that are not UTF-8. Save the file as UTF-8."), (3, 3)]


def test_nul_and_half_surrogates_become_replacement_signs():
    (row,) = read_rows(io.BytesIO(b'{"number":1,"title":"a\\u0000\\ud83d","body":"\\ud83d\\ude00"}'), HERE)
    assert row.record and (row.record.title, row.record.body) == ("a\ufffd\ufffd", "\U0001f600")


def test_an_issue_that_comes_twice_is_refused_the_second_time():
    assert read('{"number":1,"title":"a"}\n{"number":1,"title":"b"}')[1] == (2, "o/r#1 is already in this file.")


def test_pull_requests_are_told_apart():
    rows = [
        issue(1, pull_request={"url": "x"}),
        issue(2, html_url="https://github.com/o/r/pull/2"),
        issue(3, pull_request=None),
        issue(4, isPullRequest=True),
    ]
    assert [found for _, found in read(json.dumps(rows))] == ["pull request", "pull request", 3, "pull request"]


def test_the_repository_comes_from_the_row_or_is_given():
    rows = [
        issue(1, html_url="https://github.com/A/b/issues/1"),
        issue(2, url="https://api.github.com/repos/c/d/issues/2", repository_url="https://api.github.com/repos/c/d"),
        issue(3, repository={"nameWithOwner": "e/f"}),
        issue(4, repository="g/h"),
        issue(5, html_url="https://git.example.org/i/j/issues/5"),
        issue(6),
    ]
    found = [
        row.record.identifier if row.record else row.refusal for row in read_rows(io.BytesIO(json.dumps(rows).encode()))
    ]
    assert found == [
        "A/b#1",
        "c/d#2",
        "e/f#3",
        "g/h#4",
        "git.example.org/i/j#5",
        "It is not known which repository this issue is of; name it with the file, as owner/name.",
    ]


def test_the_output_of_gh_is_understood():
    row = {
        "number": 7,
        "title": "Hang",
        "body": "b",
        "state": "CLOSED",
        "stateReason": "NOT_PLANNED",
        "author": {"id": "U_kg", "is_bot": True, "login": "app/dependabot"},
        "labels": [{"id": "LA", "name": "bug", "color": "f00"}],
        "createdAt": "2024-01-01T10:00:00Z",
        "closedAt": "2024-01-02T10:00:00Z",
        "url": "https://github.com/o/r/issues/7",
        "comments": [
            {
                "id": "IC_kw",
                "author": {"login": "carol"},
                "body": "Same here",
                "createdAt": "2024-01-01T11:00:00Z",
                "url": "https://github.com/o/r/issues/7#issuecomment-4711",
            }
        ],
    }
    (found,) = read_rows(io.BytesIO(json.dumps([row]).encode()))
    record = found.record
    assert record
    assert (record.state, record.state_reason, record.author_login) == ("closed", "not_planned", "dependabot[bot]")
    assert (record.github_labels, record.n_comments) == (("bug",), 1)
    (comment,) = record.comments
    assert (comment.author_login, comment.author_id, comment.github_id) == ("carol", None, 4711)


def test_unknown_comments_are_not_the_same_as_none():
    known, unknown = (
        row.record
        for row in read_rows(
            io.BytesIO(b'[{"number":1,"title":"a","comments":[]},{"number":2,"title":"a","comments":0}]'), HERE
        )
    )
    assert known.comments == () and unknown.comments is None
    assert known.sha256 != unknown.sha256


@pytest.mark.parametrize("size", [7, 64, 1000])
def test_where_chunks_end_makes_no_difference(monkeypatch, size):
    content = json.dumps([issue(n, body='"}]{[\\' * 40) for n in range(1, 40)], indent=1)
    whole = read(content)
    monkeypatch.setattr(json_rows, "CHUNK_CHARACTERS", size)
    assert read(content) == whole
    assert len(whole) == 39


def test_a_row_without_end_is_refused_at_constant_memory(monkeypatch):
    monkeypatch.setattr(json_rows, "ROW_CHARACTERS_MAX", 1000)
    monkeypatch.setattr(json_rows, "CHUNK_CHARACTERS", 100)
    long = '{"number":1,"title":"' + "x" * 5000 + '"}'
    assert [line for line, _ in read(f'{long}\n{{"number":2,"title":"b"}}')] == [1, 2]
    assert read(f'{long}\n{{"number":2,"title":"b"}}')[1] == (2, 2)
    assert "longer than" in str(read(f"[{long}]")[0][1])


@needs_vllm
def test_the_issues_of_vllm_come_in_whole():
    with VLLM.open("rb") as file:
        rows = list(read_rows(file))
    assert len(rows) == 470 == sum(row.record is not None for row in rows)
    assert max(len(row.record.body or "") for row in rows if row.record) == 118_055
    assert {row.record.repository for row in rows if row.record} == {("github.com", "vllm-project", "vllm")}


@pytest.mark.parametrize("layout", [json.dumps, lambda value: json.dumps(value, indent=1), "wrapped", "crlf"])
@pytest.mark.parametrize(
    "wrapper", [{}, {"total": 3, "next": {"page": 2}}, {"about": "x" * 2 * json_rows.CHUNK_CHARACTERS}]
)
def test_the_issues_of_an_object_are_taken_out_of_it(layout, wrapper):
    issues = [{"number": n, "title": f"Issue {n}", "body": 'a "}" and ]'} for n in (1, 2, 3)]
    if callable(layout):
        text = layout({"issues": issues} | wrapper)
    else:  # an issue to a line, and the brackets around them
        rest = json.dumps(wrapper)[1:-1]
        text = '{"issues": [\n' + ",\n".join(map(json.dumps, issues)) + "\n]" + (f",\n{rest}" if rest else "") + "}"
    rows = list(read_rows(io.BytesIO(text.replace("\n", "\r\n" if layout == "crlf" else "\n").encode()), HERE))
    assert [(row.record and row.record.number, row.refusal) for row in rows] == [(1, ""), (2, ""), (3, "")]
    if layout == "wrapped":
        assert [row.line for row in rows] == [2, 3, 4]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('{"issues": [{"number": 1, "title": "a"}]}\n{"issues": [{"number": 2, "title": "b"}]}', [1, 2]),
        ('{"issues": [\n{"number": 1, "title": "a"}\n]}\n{"issues": [\n{"number": 2, "title": "b"}\n]}', [1, None]),
        ('{"issues": [\n{"number": 1, "title": "a"},\n{"number": 2, "ti', [1, None]),
        ('{"issues": "none", "number": 1, "title": "a"}', [1]),
        ('{"issues": [{"number": 7, "title": "inner"}], "number": 1, "title": "outer"}', [1]),
    ],
)
def test_nothing_after_the_issues_of_an_object_is_passed_over(text, found):
    rows = read_rows(io.BytesIO(text.encode()), HERE)
    assert [row.record.number if row.record else None for row in rows] == found
