"""What the local GitHub answers is what GitHub's OpenAPI description says, and what is not would be seen."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
import requests

from tests.github import File, GitHub, Mannequin, World, made_up
from tests.github.openapi import Recorder, wrong_with_answer, wrong_with_request

Ask = Callable[..., requests.Response]


@pytest.fixture
def ask(github: GitHub) -> Ask:
    """A GET with a token, which follows no redirect."""

    def ask(path: str, headers: dict[str, str] | None = None, **query: Any) -> requests.Response:
        given = {"Authorization": "Bearer t"} | (headers or {})
        return requests.get(f"{github.url}{path}", query, headers=given, allow_redirects=False, timeout=10)

    return ask


@pytest.mark.github
def test_every_kind_of_answer_is_as_described(world: World, github: GitHub, ask: Ask, monkeypatch: pytest.MonkeyPatch):
    recorder = Recorder()
    monkeypatch.setattr(github, "recorder", recorder)
    home, other = made_up(world, "o/r", 40), world.repository("o/other")
    world.repository("o/old").rename("o/new")
    world.repository("o/secret", private=True)
    world.repository("o/silent", has_issues=False)
    world.repository("o/blocked", blocked=True)
    eventful = home.issue(user=Mannequin("old-hand"), labels=["bug"])
    eventful.comment("by a machine", "helper[bot]")
    eventful.comment("by nobody", None)
    eventful.lock()
    eventful.unlock()
    eventful.label("hang")
    eventful.unlabel("hang")
    eventful.assign("olga")
    eventful.put_into_milestone("1.0")
    eventful.mark_as_duplicate(home.issue("The first of its kind"))
    eventful.reactions, eventful.issue_type = {"+1": 2, "eyes": 1}, "Bug"
    eventful.close_by(home.pull_request(files=[File("a.py", 1, 2), File("b.py", 3, 0, "added")]))
    eventful.reopen()
    fix = home.commit("Fix it\n\nAll of it.", user=None)
    eventful.close_by(fix)
    converted, moved, deleted = home.issue(), home.issue(), home.issue()
    converted.convert_to_discussion()
    moved.transfer(other)
    deleted.delete()
    pull = home.pull_request()
    pull.merge()
    n = eventful.number
    wanted = {
        "/repos/o/r": 200,
        "/rate_limit": 200,
        "/repos/o/r/issues?state=all&sort=updated&direction=asc&per_page=100&since=2024-01-01T00:00:00Z": 200,
        "/repos/o/r/issues?state=closed&labels=bug&page=2&per_page=3": 200,
        "/repos/o/r/issues/comments?sort=updated&direction=asc&per_page=100": 200,
        f"/repos/o/r/issues/{n}": 200,
        f"/repos/o/r/issues/{n}/comments": 200,
        f"/repos/o/r/issues/{n}/events": 200,
        f"/repos/o/r/issues/{n}/timeline": 200,
        f"/repos/o/r/issues/{converted.number}/timeline": 200,
        f"/repos/o/r/issues/{pull.number}": 200,
        f"/repos/o/r/pulls/{pull.number}": 200,
        f"/repos/o/r/pulls/{pull.number}/files": 200,
        f"/repos/o/r/commits/{fix.sha}": 200,
        f"/repos/o/r/issues/{moved.number}": 301,
        f"/repos/o/r/issues/{moved.number}/timeline": 301,
        f"/repos/o/r/issues/{deleted.number}": 410,
        "/repos/o/old/issues?state=all": 301,
        "/repos/o/silent/issues": 410,
        "/repos/o/blocked": 451,
        "/repos/o/secret": 404,
        "/repos/o/r/issues/999": 404,
        "/repos/o/r/pulls/1": 404,
        f"/repos/o/r/commits/{'0' * 40}": 404,
    }
    assert {path: ask(path).status_code for path in wanted} == wanted
    etag = ask(f"/repos/o/r/issues/{n}").headers["ETag"]
    assert ask(f"/repos/o/r/issues/{n}", {"If-None-Match": etag}).status_code == 304
    github.tokens = {"another"}
    assert ask("/repos/o/r").status_code == 401
    github.tokens = {"t"}
    assert ask("/repos/o/secret").status_code == 200
    github.limit("t").remaining = 0
    assert ask("/repos/o/r").status_code == 403
    assert recorder.wrong == []
    assert len(recorder.seen) > 2 * len(wanted)


@pytest.mark.github
def test_an_answer_that_is_not_as_described_is_seen(world: World, ask: Ask):
    issue = world.repository("o/r").issue()
    path = f"/repos/o/r/issues/{issue.number}"
    value = ask(path).json()
    assert list(wrong_with_answer(path, 200, value)) == []
    for spoiled in (
        value | {"title": None},
        value | {"comments": "3"},
        value | {"state_reason": "unknown"},
        value | {"invented": 1},
        value | {"user": value["user"] | {"invented": 1}},
        {name: each for name, each in value.items() if name != "locked"},
    ):
        assert list(wrong_with_answer(path, 200, spoiled)), spoiled
    assert list(wrong_with_answer(path, 200, value | {"body": None, "closed_by": None})) == []
    assert list(wrong_with_answer(path, 204, None)) == [
        "/repos/{owner}/{repo}/issues/{issue_number} does not answer with 204."
    ]


@pytest.mark.github
@pytest.mark.parametrize(
    ("path", "query", "is_good"),
    [
        ("/repos/o/r/issues", {"state": "all", "per_page": "100", "since": "2024-01-01T00:00:00Z"}, True),
        ("/repositories/12/issues/comments", {"sort": "updated", "page": "3"}, True),
        ("/repos/o/r/issues", {"state": "any"}, False),
        ("/repos/o/r/issues", {"per_page": "101"}, False),
        ("/repos/o/r/issues", {"updated_since": "2024-01-01"}, False),
        ("/repos/o/r/issues/comments", {"state": "all"}, False),
        ("/repos/o/r/isues", {}, False),
    ],
)
def test_a_request_that_github_does_not_describe_is_seen(path: str, query: dict[str, str], is_good: bool):
    assert (list(wrong_with_request(path, query)) == []) == is_good


def test_what_did_not_change_is_free_of_charge_for_who_signs_in(world: World, github: GitHub, ask: Ask):
    world.repository("o/r").issue()
    etag = ask("/repos/o/r/issues").headers["ETag"]
    assert github.limit("t").remaining == 4999
    assert ask("/repos/o/r/issues", {"If-None-Match": etag}).status_code == 304
    assert github.limit("t").remaining == 4999
    world.repositories[0].issue()
    assert ask("/repos/o/r/issues", {"If-None-Match": etag}).status_code == 200
    assert github.limit("t").remaining == 4998
    url = f"{github.url}/repos/o/r"
    etag = requests.get(url, timeout=10).headers["ETag"]
    requests.get(url, headers={"If-None-Match": etag}, timeout=10)
    assert github.limit(None).remaining == 4998


def test_a_transferred_issue_leads_to_where_it_is_now(world: World, github: GitHub, ask: Ask):
    here, there = world.repository("o/r"), world.repository("o/there")
    issue = here.issue("Moved")
    issue.comment("and its comment")
    now = issue.transfer(there)
    answer = ask("/repos/o/r/issues/1")
    assert answer.headers["Location"] == f"{github.url}/repositories/{there.id}/issues/{now.number}"
    assert requests.get(answer.headers["Location"], timeout=10).json()["title"] == "Moved"
    assert ask("/repos/o/r/issues", state="all").json() == []


def test_lists_since_a_time_include_its_own_second(world: World, ask: Ask):
    home = world.repository("o/r")
    for _ in range(3):
        home.issue()
    since = "2024-01-01T00:00:02Z"
    assert home.issues[2].updated_at == datetime.fromisoformat(since).astimezone(UTC)
    for order in ({"sort": "updated", "direction": "asc"}, {"sort": "created", "direction": "asc"}):
        assert [row["number"] for row in ask("/repos/o/r/issues", since=since, **order).json()] == [2, 3]
