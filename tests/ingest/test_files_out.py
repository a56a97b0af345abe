"""What was fetched leaves without a study: issues, comments and changes as files, for who may see the repository."""

import io
import json
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from ingest.errors import NotFound
from ingest.files import export_rows
from ingest.models import ClosingChange, Issue, Repository
from shared import chunks
from shared.row_files import write_rows
from tests import builders as make
from tests.annotation.core.test_api import Caller

pytestmark = pytest.mark.django_db
READERS = {
    "csv": lambda content: pd.read_csv(io.BytesIO(content)),
    "jsonl": lambda content: pd.read_json(io.BytesIO(content), lines=True),
    "parquet": lambda content: pd.read_parquet(io.BytesIO(content)),
}


def comment(n: int) -> dict[str, Any]:
    return {"user": {"login": "c", "id": 5}, "body": f"said {n}", "created_at": "2024-01-01T00:00:00Z", "id": n}


def lines(n: int, **more: Any) -> list[dict[str, Any]]:
    given = {"state": "closed", "body": "=1+1", "created_at": "2024-01-01T00:00:00Z", "user": {"login": "bob"}}
    return [
        {
            "number": k,
            "title": f"Hang {k}",
            "repository": "acme/rocket",
            "comments": [comment(10 * k), comment(10 * k + 1)],
        }
        | given
        | more
        for k in range(1, n + 1)
    ]


def fix(of: int, **more: Any) -> ClosingChange:
    issue = Issue.objects.get(number=of)
    Issue.objects.filter(pk=issue.pk).update(changes_known=True)
    given = {"kind": "pull_request", "identifier": f"acme/rocket#{of + 100}", "number": of + 100}
    sizes = {"additions": 3, "deletions": 1, "n_files": 2, "paths": ["a.py", "b.py"]}
    by_file = {"path_additions": [2, 1], "path_deletions": [0, 1], "merged_at": "2024-01-03T00:00:00Z"}
    return ClosingChange.objects.create(issue=issue, **(given | sizes | by_file | {"author_login": "dana"} | more))


def body(answer: Any) -> bytes:
    return b"".join(answer.streaming_content)


@pytest.fixture
def stored(take: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(export_rows, "ISSUES_AT_ONCE", 2)
    monkeypatch.setattr(export_rows, "COMMENTS_AT_ONCE", 3)
    take(lines(5))
    fix(1)
    fix(2, kind="commit", identifier="acme/rocket@abc", number=None, paths=[], path_additions=[], path_deletions=[])
    fix(3, merged_at=None, closes=False)


@pytest.mark.parametrize("format", list(READERS))
def test_issues_comments_and_changes_of_a_repository_are_files_and_pages(stored: None, format: str) -> None:
    ada = Caller("ada")

    def frame(what: str) -> pd.DataFrame:
        answer = ada.get(f"repositories/acme/rocket/{what}/?format={format}")
        assert answer.status_code == 200 and f"acme-rocket-{what}.{format}" in answer["Content-Disposition"]
        return READERS[format](body(answer))

    found = frame("issues")
    assert list(found["number"]) == [1, 2, 3, 4, 5]
    assert set(found["body"]) == {"'=1+1" if format == "csv" else "=1+1"}
    said = frame("comments")
    assert list(zip(said["item"], said["position"], said["body"], strict=True)) == [
        (f"acme/rocket#{k}", n + 1, f"said {10 * k + n}") for k in range(1, 6) for n in (0, 1)
    ]
    changes = frame("changes")
    assert list(changes["item"]) == [f"acme/rocket#{k}" for k in (1, 2, 3)]
    assert list(changes["merged"]) == [True, True, False] and list(changes["closes"]) == [True, True, False]
    assert list(changes["author"]) == ["dana"] * 3 and changes["sha"].iloc[1] == "abc"
    paths = changes["paths"].iloc[0]
    told = json.loads(paths) if isinstance(paths, str) else [dict(each) for each in paths]
    assert told == [
        {"path": "a.py", "additions": 2, "deletions": 0},
        {"path": "b.py", "additions": 1, "deletions": 1},
    ]
    pages, address = [], "repositories/acme/rocket/comments/?page_size=3"
    while address:
        page = ada.get(address.partition("/api/v1/")[2] or address).json()
        pages += [row["body"] for row in page["results"]]
        address = page["next"] or ""
    assert pages == list(said["body"])


def test_the_list_of_issues_is_a_file_with_the_same_filters(stored: None, take: Any) -> None:
    take(lines(2, repository="o/other", state="open"))
    answer = Caller("ada").get("issues/?format=jsonl&state=open")
    assert [json.loads(line)["item"] for line in body(answer).splitlines()] == ["o/other#1", "o/other#2"]
    assert Caller("ada").get("issues/?format=xlsx").status_code == 422


def test_private_repositories_leave_with_who_may_see_them_alone(stored: None, take: Any) -> None:
    take(lines(1, repository="acme/secret"), user=make.user("olga"), private=True)
    for what in ("issues", "comments", "changes"):
        address = f"repositories/acme/secret/{what}/?format=csv"
        assert (Caller("olga").get(address).status_code, Caller("ada").get(address).status_code) == (200, 404)
    assert "secret" not in body(Caller("ada").get("issues/?format=csv")).decode()


def test_a_file_takes_as_many_rows_at_once_whatever_its_length(stored: None) -> None:
    with CaptureQueriesContext(
        connection,
    ) as asked:
        found = list(export_rows.rows_of("comments", Issue.objects.filter(repository__name="rocket")))
    assert len(found) == 10
    assert max(query["sql"].count("LIMIT 3") for query in asked) == 1
    assert len(asked) == 4 + 5 + 5  # the keys of two issues at a time, and lengths and texts of three comments


def test_the_page_of_a_repository_offers_every_file(stored: None) -> None:
    Repository.objects.update(n_issues=5, n_open=0, n_comments=10)
    client = Client()
    client.force_login(make.user("ada"))
    page = client.get("/repositories/acme/rocket/").content.decode()
    for what in ("issues", "comments", "changes"):
        for format in READERS:
            address = f"/api/v1/repositories/acme/rocket/{what}/?format={format}"
            assert f'href="{address}"' in page
            assert client.get(address).status_code == 200


MOST = 2**31 - 1


@pytest.mark.parametrize("format", list(READERS))
def test_counts_as_large_as_a_source_may_give_are_in_every_file(take: Any, format: str) -> None:
    """Each alone fits into 32 bits, and their sum does not."""
    take(lines(1, reactions={"+1": MOST, "-1": MOST}))
    fix(1, additions=MOST, deletions=MOST, n_files=MOST, path_additions=[MOST] * 2, path_deletions=[MOST] * 2)
    ada = Caller("ada")
    for what, column, most in (("issues", "reactions", 2 * MOST), ("changes", "additions", MOST)):
        found = READERS[format](body(ada.get(f"repositories/acme/rocket/{what}/?format={format}")))
        assert list(found[column]) == [most]


@pytest.mark.parametrize("what", ["issues", "comments"])
def test_long_texts_are_read_and_written_one_by_one(stored: None, what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = list(export_rows.rows_of(what, Issue.objects.order_by("pk")))
    monkeypatch.setattr(chunks, "CHARACTERS_AT_ONCE", 1)
    with CaptureQueriesContext(connection) as asked:
        assert list(export_rows.rows_of(what, Issue.objects.order_by("pk"))) == whole
    assert len(asked) > sum(bool(row["body"]) for row in whole) > 3
    assert len(list(write_rows({"body": pa.string()}, "jsonl", whole))) > 3


@pytest.mark.parametrize("format", ["csv", "jsonl"])
@pytest.mark.parametrize("what", ["issues", "comments", "changes"])
def test_a_file_of_a_repository_ends_when_its_reader_may_not_read_it_any_more(
    stored: None, take: Any, monkeypatch: pytest.MonkeyPatch, what: str, format: str
) -> None:
    monkeypatch.setattr("ingest.api.files.ROWS_WITH_TEXTS", 1)
    pieces = iter(Caller("ada").get(f"repositories/acme/rocket/{what}/?format={format}").streaming_content)
    sent = [next(pieces)]
    Repository.objects.update(private=True)
    take(lines(7, title="Secret", comments=[comment(99)]), private=True)
    fix(4, title="Secret fix")
    with pytest.raises(NotFound, match="any more"):
        sent.extend(pieces)
    assert b"Secret" not in b"".join(sent) and b"said 99" not in b"".join(sent)


def test_no_comment_of_a_repository_that_became_private_is_read_within_a_batch_of_issues(
    take: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ingest.api.files.ROWS_WITH_TEXTS", 1)
    monkeypatch.setattr(export_rows, "COMMENTS_AT_ONCE", 1)
    take(lines(3))
    pieces = iter(Caller("ada").get("repositories/acme/rocket/comments/?format=jsonl").streaming_content)
    sent = [next(pieces)]
    Repository.objects.update(private=True)
    with pytest.raises(NotFound):
        sent.extend(pieces)
    assert len(sent) == 1


def test_a_search_sends_no_issue_that_became_private_while_it_was_sent(
    stored: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ingest.api.files.ROWS_WITH_TEXTS", 1)
    pieces = iter(Caller("ada").get("issues/?search=hang&format=jsonl").streaming_content)
    assert [json.loads(next(pieces))["number"] for _ in range(2)] == [1, 2]
    Repository.objects.update(private=True)
    assert list(pieces) == []
