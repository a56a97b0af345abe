"""`manage.py fetch` in the foreground."""

import json
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from accounts.models import User
from ingest.models import FetchRun, Issue
from tests.github import made_up

pytestmark = pytest.mark.django_db


def run(*arguments: str) -> str:
    out = StringIO()
    call_command("fetch", *arguments, stdout=out, stderr=StringIO())
    return out.getvalue()


def test_a_repository_is_fetched_and_counted(world):
    made_up(world, "o/r", 30)
    said = run("o/r")
    assert said.startswith(f"o/r: {Issue.objects.count()} rows, {Issue.objects.count()} new, 0 changed")


def test_refused_rows_are_counted_and_listed_and_do_not_fail(tmp_path, db):
    path = tmp_path / "issues.jsonl"
    path.write_text('{"number":1,"title":"a"}\n{bad\n')
    said = run("--file", str(path), "--repository", "o/r")
    assert "1 new" in said
    assert "1 rejected" in said
    assert "line 2: This is not valid JSON" in said


def test_json_is_one_object_alone(tmp_path, db):
    path = tmp_path / "issues.jsonl"
    path.write_text('{"number":1,"title":"a"}\n{bad\n')
    User.objects.create_user("ann")
    found: dict[str, Any] = json.loads(run("--file", str(path), "--repository", "o/r", "--json", "--user", "ann"))
    assert (found["state"], found["n_new"], found["n_refused"]) == ("done", 1, 1)
    assert found["refusals"][0]["line"] == 2
    assert FetchRun.objects.get().created_by.username == "ann"


def test_what_fails_says_why(github, tmp_path):
    with pytest.raises(CommandError, match="no/where is not at GitHub"):
        run("no/where")
    with pytest.raises(SystemExit) as ended:
        run("no/where", "--json")
    assert ended.value.code == 1
    with pytest.raises(CommandError, match="owner/name"):
        run("nonsense")
    with pytest.raises(CommandError, match="can't be read"):
        run("--file", str(tmp_path / "missing.json"))
    with pytest.raises(CommandError, match="either"):
        run()
    with pytest.raises(CommandError, match=r"^Name issues by their numbers, from 1, at most 100,000 of them\.$"):
        run("o/r", "--what", "presence")


def test_options_that_would_be_passed_over_are_refused(github, tmp_path):
    path = tmp_path / "issues.jsonl"
    path.write_text('{"number":1,"title":"a"}')
    with pytest.raises(CommandError, match="--since, --numbers can't be used for a file"):
        run("--file", str(path), "--repository", "o/r", "--since", "last", "--numbers", "1")
    with pytest.raises(CommandError, match="--map, --private can't be used for a repository at GitHub"):
        run("o/r", "--private", "--map", "number=#")
    with pytest.raises(CommandError, match="presence or closing_changes"):
        run("o/r", "--numbers", "1,2")
    assert not FetchRun.objects.exists()


def test_a_short_limit_is_waited_for(world, github):
    import time

    made_up(world, "o/r", 30)
    limit = github.limit()
    limit.remaining, limit.reset_at = 1, int(time.time()) + 1
    run("o/r")
    assert Issue.objects.exists()


def test_a_github_that_is_out_of_reach_ends_the_command_after_three_attempts(db, settings, monkeypatch):
    settings.GITHUB_API_URL = "http://127.0.0.1:9"
    monkeypatch.setattr("ingest.runs.RETRY_SECONDS", (0, 0, 0, 600))
    with pytest.raises(CommandError, match="3 attempts failed. Continue the run"):
        run("o/r")
    assert FetchRun.objects.get().state == "failed"


def test_a_file_from_which_nothing_came_ends_with_an_error(tmp_path, db):
    path = tmp_path / "page.json"
    path.write_text("<html>Sign in</html>")
    with pytest.raises(CommandError, match="Every row was rejected"):
        run("--file", str(path), "--repository", "o/r")
    with pytest.raises(SystemExit) as ended:
        run("--file", str(path), "--repository", "o/r", "--json")
    assert ended.value.code == 1


def test_a_label_with_a_comma_is_put_in_quotes(world):
    home = world.repository("o/r")
    for labels in (["with,comma"], ["with", "comma"], ["with,comma", "bug"]):
        home.issue(labels=labels)
    run("o/r", "--labels", '"with,comma", bug')
    assert list(Issue.objects.values_list("number", flat=True)) == [3]


def test_a_table_without_numbers_is_numbered(tmp_path, db):
    path = tmp_path / "issues.csv"
    path.write_text("label,title,body\nbug,It hangs,Two nodes\nquestion,How to,Please\n")
    with pytest.raises(CommandError, match="If there is none, number the rows"):
        run("--file", str(path), "--repository", "lab/nlbse")
    run("--file", str(path), "--repository", "lab/nlbse", "--number-rows")
    assert [str(issue) for issue in Issue.objects.order_by("number")] == ["lab/nlbse#1", "lab/nlbse#2"]
    with pytest.raises(CommandError, match="--number-rows can't be used for a repository at GitHub"):
        run("o/r", "--number-rows")


def test_the_estimate_is_shown_before_the_fetch_and_alone(world, github):
    made_up(world, "o/r", 30)
    github.limit().total = github.limit().remaining = 60
    errors = StringIO()
    call_command("fetch", "o/r", "--estimate", stdout=(out := StringIO()), stderr=errors)
    assert out.getvalue().startswith("About 3 requests. GitHub allows 60 an hour without a token, and ")
    assert not FetchRun.objects.exists()
    assert json.loads(run("o/r", "--estimate", "--json"))["n_requests"] == 3
    call_command("fetch", "o/r", stdout=StringIO(), stderr=errors)
    assert errors.getvalue().startswith("About 3 requests.")
    assert Issue.objects.exists()
    with pytest.raises(CommandError, match="no/where is not at GitHub"):
        run("no/where", "--estimate")
