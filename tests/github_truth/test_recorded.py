"""Exchanges with the real GitHub that others recorded: Concord reads them, and the local GitHub answers in their shape.

They are those of octokit/fixtures (MIT), normalised there, in `tests/data/github-exchanges`.
"""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
import requests

from ingest.errors import FetchFailed
from ingest.github.client import Client
from ingest.github.rest_objects import parse_issue
from tests.github import GitHub, World
from tests.published import EXCHANGES

REAL = "https://api.github.com"
OWNER = "octokit-fixture-org"
OF_OWNERS = {  # told to who may change the repository, as the one who recorded could
    *("allow_auto_merge", "allow_forking", "allow_merge_commit", "allow_rebase_merge", "allow_squash_merge"),
    *("allow_update_branch", "delete_branch_on_merge", "organization", "permissions", "temp_clone_token"),
    *("is_template", "topics", "web_commit_signoff_required", "use_squash_pr_title_as_default"),
    *("merge_commit_message", "merge_commit_title", "squash_merge_commit_message", "squash_merge_commit_title"),
    *("security_and_analysis",),
}
SINCE_THEN = {"user_view_type", "has_discussions", "status", "type"}  # what GitHub has added to its answers since
OF_SAFETY = {  # headers for browsers, and about the rights of a token
    *("access-control-allow-origin", "access-control-expose-headers", "content-security-policy", "connection"),
    *("referrer-policy", "strict-transport-security", "x-accepted-oauth-scopes", "x-content-type-options"),
    *("x-frame-options", "x-oauth-scopes", "x-xss-protection", "last-modified"),
}


@cache
def recorded(name: str) -> tuple[dict[str, Any], ...]:
    return tuple(json.loads((EXCHANGES / f"{name}.json").read_text(encoding="utf-8")))


@contextmanager
def replay(*exchanges: dict[str, Any]) -> Iterator[Client]:
    """A client of a server that answers as recorded, whatever the verb."""

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, format: str, *args: Any) -> None:
            """Quiet."""

        def do_GET(self) -> None:
            found = next((each for each in exchanges if _taken_apart(each["path"]) == _taken_apart(self.path)), None)
            if found is None:
                self.send_error(404)
                return
            here = f"http://127.0.0.1:{server.server_address[1]}"
            body = json.dumps(found["response"]).replace(REAL, here).encode()
            self.send_response_only(found["status"])
            for header, text in (found["headers"] | {"content-length": str(len(body))}).items():
                self.send_header(header, str(text).replace(REAL, here))
            self.end_headers()
            self.wfile.write(body)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield Client(f"http://127.0.0.1:{server.server_address[1]}", ["t"])
    finally:
        server.shutdown()
        server.server_close()


def test_pages_are_followed_by_their_links_to_the_last():
    exchanges = recorded("paginate-issues")
    with replay(*exchanges) as client:
        answer = client.rows(exchanges[0]["path"])
        assert answer.last_page == 5
        rows = list(answer.value)
        while answer.next:
            answer = client.rows(answer.next)
            rows += answer.value
    records = [parse_issue(row) for row in rows]
    assert [record.number for record in records] == list(range(13, 0, -1))
    assert {(record.owner, record.name, record.state) for record in records} == {(OWNER, "paginate-issues", "open")}
    assert {(record.locked, record.state_reason, record.body) for record in records} == {(False, "", "")}
    assert client.n_requests == 5


@pytest.mark.parametrize(("status", "place"), [(301, 1), (307, 3)])
def test_a_renamed_repository_is_found_under_its_new_name(status: int, place: int):
    exchanges = recorded("rename-repository")
    assert exchanges[place]["status"] == status
    with replay(exchanges[place], exchanges[2]) as client:
        found = client.repository(OWNER, "rename-repository")
    assert found["full_name"] == f"{OWNER}/rename-repository-newname"


def test_a_repository_is_read():
    with replay(*recorded("get-repository")) as client:
        found = client.repository(OWNER, "hello-world")
    assert (found["full_name"], found["private"]) == (f"{OWNER}/hello-world", False)


def test_what_github_refuses_fails_in_its_words():
    exchange = recorded("errors")[0]
    with replay(exchange) as client, pytest.raises(FetchFailed, match="422: Validation Failed"):
        client.rows(exchange["path"])


def test_labels_are_read():
    made, labels = recorded("add-labels-to-issue")
    record = parse_issue(made["response"] | {"labels": labels["response"]})
    assert sorted(record.github_labels or ()) == sorted(["Foo", "bAr", "baZ"])
    assert parse_issue(made["response"]).github_labels in ([], ())


def test_found_issues_are_read():
    exchange = recorded("search-issues")[0]
    records = [parse_issue(row) for row in exchange["response"]["items"]]
    assert {record.name for record in records} == {"search-issues"}
    assert len(records) == exchange["response"]["total_count"] == 2


def test_locking_answers_with_no_body():
    exchanges = recorded("lock-issue")
    assert {(each["status"], each["response"]) for each in exchanges} == {(204, "")}


def of_issue(github: GitHub) -> tuple[dict[str, Any], requests.Response, Callable[[Any], Any]]:
    for _ in range(13):
        github.world.named(f"{OWNER}/r").issue()  # type: ignore[union-attr]
    exchange = recorded("paginate-issues")[1]
    return exchange, _get(github, f"/repos/{OWNER}/r/issues", per_page=3, page=2), lambda value: value[0]


def of_repository(github: GitHub) -> tuple[dict[str, Any], requests.Response, Callable[[Any], Any]]:
    return recorded("get-repository")[0], _get(github, f"/repos/{OWNER}/r"), lambda value: value


def of_redirect(github: GitHub) -> tuple[dict[str, Any], requests.Response, Callable[[Any], Any]]:
    github.world.repositories[0].rename("a/b")
    return recorded("rename-repository")[1], _get(github, f"/repos/{OWNER}/r"), lambda value: value


def of_label(github: GitHub) -> tuple[dict[str, Any], requests.Response, Callable[[Any], Any]]:
    github.world.repositories[0].issue(labels=["Foo"])
    exchange = recorded("add-labels-to-issue")[1]
    answer = _get(github, f"/repos/{OWNER}/r/issues")
    return exchange, answer, lambda value: value[0].get("labels", [value[0]])[0]


def _get(github: GitHub, path: str, **query: Any) -> requests.Response:
    headers = {"Authorization": "token t"}
    return requests.get(f"{github.url}{path}", query, headers=headers, allow_redirects=False, timeout=10)


@pytest.mark.parametrize("example", [of_issue, of_repository, of_redirect, of_label])
def test_the_local_github_answers_in_the_recorded_shape(world: World, github: GitHub, example: Callable[..., Any]):
    world.repository(f"{OWNER}/r")
    exchange, answer, chosen = example(github)
    assert answer.status_code == exchange["status"]
    ours, real = set(_paths(chosen(answer.json()))), set(_paths(chosen(exchange["response"])))
    assert {path for path in real - ours if not set(path) & OF_OWNERS} == set()
    assert {path for path in ours - real if not set(path) & SINCE_THEN} == set()


@pytest.mark.parametrize("example", [of_issue, of_repository, of_redirect])
def test_the_local_github_sends_the_recorded_headers(world: World, github: GitHub, example: Callable[..., Any]):
    world.repository(f"{OWNER}/r")
    exchange, answer, _ = example(github)
    names = {name.lower() for name in answer.headers}
    assert set(exchange["headers"]) - OF_SAFETY - names == set()
    assert answer.headers["Content-Type"] == exchange["headers"]["content-type"]
    if "link" in exchange["headers"]:
        real = exchange["headers"]["link"].replace(f"{REAL}/repositories/1000", f"{github.url}/repositories/ID")
        assert answer.headers["Link"].replace(str(world.repositories[0].id), "ID") == real


def _taken_apart(path: str) -> tuple[str, list[tuple[str, str]]]:
    parts = urlsplit(path)
    return parts.path, sorted(parse_qsl(parts.query))


def _paths(value: Any, so_far: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The names of all fields, those inside others included."""
    if isinstance(value, dict):
        for name, each in value.items():
            yield (*so_far, name)
            yield from _paths(each, (*so_far, name))
