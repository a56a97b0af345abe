"""The issues of a study as a file: read by raters, what closed it, and nobody by name."""

import csv
import io
import json
from typing import Any

import pyarrow.parquet as pq
import pytest
from django.core.management import call_command
from django.test import Client

from annotation.choosing.actions.items import items_for
from annotation.choosing.actions.pinning import repin_items
from annotation.choosing.actions.samples import screen_items
from annotation.core import issue_texts
from annotation.core.access import get_item
from annotation.exports.actions import request_export
from annotation.exports.api import item_pages
from annotation.exports.jobs import EXPORTS
from annotation.imports.queries.ratings import stored_issues
from annotation.imports.sheets.gathered_rows import item_name
from annotation.models import RoundItem, Study
from annotation.studies.actions.studies import change_study
from ingest.models import ClosingChange, Issue
from shared import chunks
from tests import builders as make
from tests.annotation.choosing.test_samples import Caller
from tests.asserts import assert_queries

pytestmark = pytest.mark.django_db


def sent(name: str = "olga", format: str = "jsonl", study: str = "study") -> list[dict[str, Any]]:
    client = Client()
    client.force_login(make.user(name))
    answer = client.get(f"/studies/{study}/exports/issues.{format}")
    assert answer.status_code == 200
    body = b"".join(answer.streaming_content)  # type: ignore[attr-defined]
    if format == "csv":
        return list(csv.DictReader(io.StringIO(body.decode(), newline="")))
    return [json.loads(line) for line in body.splitlines()]


@pytest.fixture
def study(world: Any, fetch: Any) -> Study:
    """One issue by alice with a comment by bob, closed by a pull request; and an identifier without an issue."""
    issue = world.repository("o/r").issue(
        "Hangs, says @bob", "Ask @Bob or alice@example.org.\n```\n@dataclass\n```", user="alice"
    )
    issue.comment("Thanks @alice", "bob")
    assert fetch().state == "done"
    stored = Issue.objects.select_related("repository").get()
    ClosingChange.objects.create(
        issue=stored, kind="pull_request", identifier="o/r#9", merged_at="2024-05-01T00:00:00Z", additions=7,
        deletions=2, n_files=1,
    )  # fmt: skip
    Issue.objects.update(changes_known=True)
    made = make.study()
    items_for(make.owner_seat(made), [stored])
    made.items.create(identifier="post 17")
    return made


def test_people_stand_under_pseudonyms_in_every_column(study):
    rows = [row for row in sent() if row["title"]]
    text = json.dumps(rows).lower()
    assert "alice" not in text and "bob" not in text
    (row,) = rows
    (comment,) = row["comments"]
    assert row["author"] in comment["body"]
    assert comment["author"] in row["title"] and comment["author"] in row["body"]
    assert "@dataclass" in row["body"]


def test_another_study_gives_the_same_person_another_name(study):
    other = make.study("other", text=make.SYMPTOMS.replace("slug: symptoms", "slug: others"))
    items_for(make.owner_seat(other), list(Issue.objects.select_related("repository")))
    here, there = ({row["author"] for row in sent(study=slug)} - {None} for slug in ("study", "other"))
    assert len(here) == len(there) == 1 and here != there


def test_the_owner_may_decide_that_people_keep_their_names(study):
    change_study(seat=make.owner_seat(study), changes={"pseudonymise": False})
    row = next(row for row in sent() if row["title"])
    assert (row["author"], row["comments"][0]["author"]) == ("alice", "bob")


def test_what_closed_an_issue_is_told_in_lines_and_files(study):
    row = next(row for row in sent() if row["title"])
    assert (row["closed_by"], row["additions"], row["deletions"], row["files"]) == (["o/r#9"], 7, 2, 1)


def test_an_identifier_without_an_issue_is_a_row_of_its_own(study):
    row = next(row for row in sent() if row["item"] == "post 17")
    assert row["title"] is None and row["screening"] == "unscreened"


def test_comments_are_json_in_csv(study):
    row = next(row for row in sent(format="csv") if row["title"])
    assert len(json.loads(row["comments"])) == 1


def test_the_state_that_raters_read_is_told_and_not_a_later_one(study, world, fetch):
    issue = world.named("o/r").issues[1]
    issue.edit(title="Something else")
    fetch()
    assert next(row for row in sent() if row["title"])["title"].startswith("Hangs")


def test_answers_that_were_given_on_another_state_than_the_exported_one_are_counted_as_far_as_one_may_know() -> None:
    made = make.study()
    round_ = make.open_round(made, 2)
    for who in ("bob", "carol"):
        make.submit(round_, who, 1, {"symptom": ["crash"]})
    make.new_state(1, title="Renamed")
    repin_items(seat=make.owner_seat(made), items=["acme/rocket#1"])
    for who, n in (("olga", 2), ("bob", 1)):  # of an open round a rater knows their own answers
        rows = Caller(who).get("studies/study/issues/").json()["results"]
        assert [row["n_answers_on_other_states"] for row in rows] == [n, 0] and rows[0]["title"] == "Renamed"
        assert [row["n_answers_on_other_states"] for row in sent(who)] == [n, 0]
    page = Client()
    page.force_login(make.user("olga"))
    assert "that raters read" not in page.get("/studies/study/exports/").content.decode()


def test_the_command_and_rest_give_the_same_rows(study, tmp_path):
    path = tmp_path / "issues.jsonl"
    call_command("export", "study", "--what", "issues", "--out", str(path))
    client = Client()
    client.force_login(make.user("olga"))
    over_rest = client.get("/api/v1/studies/study/issues/").json()
    by_command = [json.loads(line) for line in path.read_text().splitlines()]
    assert by_command == sent()
    assert [row["item"] for row in over_rest["results"]] == [row["item"] for row in by_command]
    assert over_rest["next"] is None


@pytest.mark.parametrize(("name", "status"), [("olga", 200), ("ada", 200), ("bob", 200), ("rea", 200), ("zoe", 404)])
def test_members_get_the_issues_and_nobody_else(study, name, status):
    client = Client()
    client.force_login(make.user(name))
    assert client.get("/api/v1/studies/study/issues/").status_code == status


def test_it_takes_the_same_number_of_queries_for_one_issue_and_for_many(study, world, fetch):
    from annotation.core.issue_texts import issue_rows

    with assert_queries(8):
        list(issue_rows(study))
    for number in range(30):
        world.named("o/r").issue(f"Number {number}").comment("Yes.")
    fetch()
    items_for(make.owner_seat(study), list(Issue.objects.select_related("repository")))
    with assert_queries(8):
        assert len(list(issue_rows(study))) > 30


def test_long_texts_make_small_chunks_and_short_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    made = make.study()
    make.open_round(made, 60)
    for number in range(1, 61):
        make.new_state(number, body="x" * 1_000)
    repin_items(seat=make.owner_seat(made), items=[f"acme/rocket#{number}" for number in range(1, 61)])
    monkeypatch.setattr(chunks, "CHARACTERS_AT_ONCE", 5_000)
    monkeypatch.setattr(item_pages, "CHARACTERS_MOST", 7_000)
    sizes: list[int] = []
    read = issue_texts._threads
    monkeypatch.setattr(issue_texts, "_threads", lambda asked: sizes.append(len(asked)) or read(asked))
    rows = [row for _, row in issue_texts.issue_rows(made)]
    assert [len(row.body) for row in rows] == [1_000] * 60 and sizes == [5] * 12
    caller, found, address = Caller("olga"), [], "studies/study/issues/"
    while address:
        page = caller.get(address).json()
        found.append([row["item"] for row in page["results"]])
        address = (page["next"] or "").partition("/api/v1/")[2]
    assert {len(page) for page in found[:-1]} == {7}
    assert [item for page in found for item in page] == [row.item for row in rows]


def test_people_in_memos_do_not_leave_by_name():
    round_ = make.open_round(make.study(), 1)
    make.submit(round_, "bob", 1, {"symptom": ["crash"]}, memo="as @alice says")
    client = Client()
    client.force_login(make.user("olga"))
    body = b"".join(client.get("/studies/study/exports/ratings.csv").streaming_content)  # type: ignore[attr-defined]
    assert b"alice" not in body and b"as @person-" in body


def test_a_repository_that_was_renamed_has_one_name_everywhere_and_is_found_by_the_former(study, world, fetch):
    seat, olga = make.owner_seat(study), Caller("olga")
    study.items.create(identifier="x/own#1")
    world.named("o/r").rename("lab/renamed")
    assert fetch().state == "done"
    world.named("lab/renamed").issue("A later one")
    fetch("lab/renamed")
    items_for(seat, Issue.objects.select_related("repository"))
    names = [("lab/renamed#1", "lab/renamed"), ("lab/renamed#2", "lab/renamed")]
    assert [(row["item"], row["repository"]) for row in sent() if row["title"]] == names
    assert sorted(study.items.values_list("identifier", flat=True)) == [
        "lab/renamed#1", "lab/renamed#2", "post 17", "x/own#1",
    ]  # fmt: skip
    line = study.audit_events.get(verb="repository renamed")
    assert line.detail == {"former": "o/r", "repository": "lab/renamed", "n": 1}
    for search in ("repo:o/r", "repo:LAB/Renamed"):
        found = olga.get(f"issues/?search={search}").json()["results"]
        assert [row["item"] for row in found] == ["lab/renamed#2", "lab/renamed#1"]
    assert get_item(seat, "o/r#1").identifier == "lab/renamed#1"
    for number, names in enumerate((["o/r#1", "o/r#2"], ["lab/renamed#2"]), 1):
        asked = {"kind": "main", "raters": ["bob"], "raters_per_item": 1, "issues": names}
        answer = olga.post("studies/study/rounds/", asked)
        assert answer.status_code == 201, answer.json()
        assert answer.json()["number"] == number
    places = RoundItem.objects.order_by("round", "position").values_list("item__identifier", flat=True)
    assert list(places) == ["lab/renamed#1", "lab/renamed#2", "lab/renamed#2"]
    assert repin_items(seat=seat, items=["o/r#1"]) == 0
    assert screen_items(seat=seat, screening="in", items=["o/r#1", "x/own#1"]).n == 2
    assert stored_issues(seat.user, [item_name("O/R#2")]).keys() == {"o/r#2"}


def test_sums_over_what_closed_an_issue_are_in_every_file(study: Study) -> None:
    """Each alone fits into 32 bits, and their sum does not."""
    most = 2**31 - 1
    sizes = {"additions": most, "deletions": most, "n_files": most, "merged_at": "2024-05-01T00:00:00Z"}
    for number in (11, 12):
        identifier = f"o/r#{number}"
        ClosingChange.objects.create(
            issue=Issue.objects.get(), kind="pull_request", identifier=identifier, number=number, **sizes
        )
    seat = make.owner_seat(study)
    for what in ("issues", "items"):
        export = request_export(seat=seat, what=what, format="parquet", options={}, send=False)
        EXPORTS.work(export.pk)
        export.refresh_from_db()
        assert export.state == "done", export.error
        with export.file.open("rb") as file:
            (row,) = [row for row in pq.read_table(file).to_pylist() if row["item"] == "o/r#1"]
        assert (row["additions"], row["deletions"], row["files"]) == (2 * most + 7, 2 * most + 2, 2 * most + 1)
