"""How GitHub is asked: once per question, with the tokens in turn, and every refusal in words."""

import logging
import threading
import time
from collections.abc import Iterator
from contextlib import suppress

import pytest

from ingest.errors import FetchError, FetchFailed, FetchMustWait
from ingest.github import tokens
from ingest.github.client import BadCursor, Client, GraphqlMissing, GraphqlProblem, TooMuch
from tests.ingest.canned_server import Canned, canned

SECONDARY = {"message": "You have exceeded a secondary rate limit. Please wait a few minutes before you try again."}
QUERY = "query { viewer { login } }"


@pytest.fixture
def server() -> Iterator[Canned]:
    with canned() as found:
        yield found


def refused(client: Client, ask: str = "rest") -> FetchError:
    with pytest.raises(FetchError) as refusal:
        client.get("/repos/o/r") if ask == "rest" else client.graphql(QUERY, {})
    return refusal.value


@pytest.mark.parametrize("status", [202, 400, 403, 404, 410, 422, 429, 451, 500, 502, 503, 504])
@pytest.mark.parametrize("ask", ["rest", "graphql"])
def test_whatever_the_status_it_costs_one_request_and_no_time(server, status, ask):
    server.say(status, {"message": "No"})
    client = Client(server.url, ["t"])
    began = time.monotonic()
    assert refused(client, ask).message
    assert (len(server.asked), client.n_requests) == (1, 1)
    assert time.monotonic() - began < 1


@pytest.mark.parametrize(("ask", "kind"), [("rest", FetchMustWait), ("graphql", TooMuch)])
def test_an_answer_that_does_not_come_is_not_waited_for_without_end(server, monkeypatch, ask, kind):
    monkeypatch.setattr(tokens, "TIMEOUT_SECONDS", 0.1)
    server.say(200, {}).go_on = threading.Event()
    try:
        assert type(refused(Client(server.url, ["t"]), ask)) is kind
        assert len(server.asked) == 1
    finally:
        server.go_on.set()


def test_requests_follow_each_other_without_a_pause(server):
    server.say(200, {"data": {"viewer": {"login": "olga"}}})
    client = Client(server.url, ["t"])
    began = time.monotonic()
    for _ in range(10):
        client.get("/rate_limit")
        client.graphql(QUERY, {})
    assert len(server.asked) == 20
    assert time.monotonic() - began < 2  # with PyGithub's own 0.25 s between requests it would be five


def test_a_value_is_taken_as_it_came_and_nothing_is_asked_for_lazily(server):
    server.say(200, [{"number": 1, "pull_request": {"url": "https://api.github.com/repos/o/r/pulls/1"}}])
    answer = Client(server.url, ["t"]).rows("/repos/o/r/issues")
    assert answer.value[0]["pull_request"]["url"]
    assert len(server.asked) == 1


def test_a_redirect_keeps_the_parameters_and_is_counted(server):
    server.say(301, {"message": "Moved"}, Location=f"{server.url}/repositories/7/issues").say(200, [])
    client = Client(server.url)
    assert client.rows("/repos/o/r/issues", {"per_page": 100}).value == []
    assert [asked.path for asked in server.asked] == [
        "/repos/o/r/issues?per_page=100",
        "/repositories/7/issues?per_page=100",
    ]
    assert client.n_requests == 2


@pytest.mark.parametrize("where", ["https://elsewhere.example/repos/o/r", "//elsewhere.example/repos/o/r"])
def test_a_token_is_not_carried_to_another_host(server, where):
    server.say(301, None, Location=where)
    assert refused(Client(server.url, ["t"])).message == "GitHub redirects to a URL that can't be followed."
    assert len(server.asked) == 1


ELSEWHERE = ["@{0}/x", ".{0}/x", ":1@{0}/x", "//{0}/x", "HTTP://{0}/x", "ftp://{0}/x", "http://{0}", "x"]
ELSEWHERE += ["{1}@{0}/x", "{1}.{0}/x", "{1}:1@{0}/x", "{1}//{0}/x"]


@pytest.mark.parametrize("way", ["a link", "a redirect", "where something is now"])
@pytest.mark.parametrize("base", ["", "/api/v3"])
@pytest.mark.parametrize("address", ELSEWHERE)
def test_no_link_and_no_redirect_changes_the_host_that_is_asked(server, way, base, address):
    with canned() as elsewhere:
        elsewhere.say(200, [])
        address = address.format(elsewhere.url.removeprefix("http://"), f"{server.url}{base}")
        client = Client(f"{server.url}{base}", ["t"])
        if way == "a link":
            server.say(200, [], Link=f'<{address}>; rel="next"')
            link = client.rows("/repos/o/r/issues").next
        else:
            server.say(301, None, Location=address)
            link = client.get("/repos/o/r", also={301}).location if way != "a redirect" else "/repos/o/r"
        with suppress(FetchFailed):
            client.get(link)
        assert not elsewhere.asked and all(asked.path.startswith(f"{base}/") for asked in server.asked)


def test_redirects_in_a_circle_end(server):
    server.say(302, None, Location="/repos/o/r")
    assert "circle" in refused(Client(server.url)).message
    assert len(server.asked) < 6


@pytest.mark.parametrize("status", [301, 404, 410])
def test_a_status_that_was_asked_for_is_an_answer(server, status):
    server.say(status, {"message": "Not Found"}, Location=f"{server.url}/repositories/8/issues/3")
    answer = Client(server.url).get("/repos/o/r/issues/1", also=(301, 404, 410))
    assert (answer.status, answer.location) == (status, f"{server.url}/repositories/8/issues/3")
    assert len(server.asked) == 1


def test_an_answer_that_is_still_the_same_comes_without_a_value(server):
    server.say(200, [1], ETag='W/"a"').say(304, None, ETag='W/"a"')
    client = Client(server.url)
    first = client.rows("/repos/o/r/issues")
    again = client.rows("/repos/o/r/issues", etag=first.etag)
    assert (first.etag, first.unchanged, again.unchanged, again.value) == ('W/"a"', False, True, None)
    assert server.asked[1].headers["If-None-Match"] == 'W/"a"'
    assert (client.n_requests, client.n_unchanged_answers) == (2, 1)


@pytest.mark.parametrize(
    ("base", "address"), [("", "/graphql"), ("/api/v3", "/api/graphql"), ("/github", "/github/graphql")]
)
def test_graphql_is_asked_beside_the_rest_address(server, base, address):
    server.say(200, {"data": {"viewer": {"login": "olga"}}})
    assert Client(f"{server.url}{base}", ["t"]).graphql(QUERY, {}).data == {"viewer": {"login": "olga"}}
    assert (server.asked[0].method, server.asked[0].path) == ("POST", address)


def test_graphql_at_github_itself_has_its_own_address():
    key = Client("https://api.github.com", ["t"])._keys.free("graphql")
    assert key.requester.graphql_url == "https://api.github.com/graphql"


def test_budgets_of_rest_and_graphql_are_apart(server):
    spent = {"X_RateLimit_Remaining": "0", "X_RateLimit_Reset": str(int(time.time()) + 900)}
    server.say(200, {"data": {"a": 1}}, X_RateLimit_Resource="graphql", **spent).say(200, [])
    client = Client(server.url, ["t"])
    client.graphql(QUERY, {})
    assert 800 < (refused(client, "graphql").wait_seconds or 0) < 910
    assert client.rows("/repos/o/r/issues").value == []
    assert client.n_requests == 2


def test_one_token_is_used_until_it_rests_then_the_one_with_most_left(server):
    for left in ("1", "0", "20", "0", "30"):
        reset = {"X_RateLimit_Reset": str(int(time.time()) + 900)}
        server.say(200, {"a": 1}, X_RateLimit_Remaining=left, X_RateLimit_Resource="core", **reset)
    client = Client(server.url, ["a", "b", "c"])
    for _ in range(5):
        client.get("/repos/o/r")
    used = [asked.headers["Authorization"].partition(" ")[2] for asked in server.asked]
    assert used == ["a", "a", "b", "b", "c"]
    assert client.n_left == 30


def test_a_wrong_token_is_dropped_and_named_by_its_place_alone(server):
    server.say(401, {"message": "Bad credentials"}).say(404, {"message": "Not Found"})
    refusal = refused(Client(server.url, ["ghp_secret1", "ghp_secret2"]))
    assert "token number 1 in GITHUB_TOKENS" in refusal.message
    assert "secret" not in refusal.message
    assert [asked.headers["Authorization"] for asked in server.asked] == ["token ghp_secret1", "token ghp_secret2"]


@pytest.mark.parametrize("ask", ["rest", "graphql"])
def test_no_token_that_is_good_ends_the_fetch(server, ask):
    server.say(401, {"message": "Bad credentials"})
    refusal = refused(Client(server.url, ["a", "b"]), ask)
    assert isinstance(refusal, FetchFailed)
    assert len(server.asked) == 2


@pytest.mark.parametrize("status", [200, 403, 429])
@pytest.mark.parametrize(("given", "seconds"), [({"Retry_After": "37"}, 37), ({}, 60)])
def test_a_secondary_limit_lasts_as_long_as_it_says_or_a_minute(server, status, given, seconds):
    if status == 200:
        server.say(200, {"errors": [SECONDARY]}, **given)
    else:
        server.say(status, SECONDARY, **given)
    refusal = refused(Client(server.url, ["t"]), "graphql")
    assert isinstance(refusal, FetchMustWait)
    assert seconds - 2 < (refusal.wait_seconds or 0) <= seconds
    assert not refusal.counts
    assert len(server.asked) == 1


def test_a_secondary_limit_that_repeats_lasts_twice_as_long_each_time(server):
    server.say(403, SECONDARY)
    waits, n_slowed = [], 0
    for _ in range(9):
        refusal = refused(Client(server.url, ["t"], n_slowed=n_slowed))
        assert isinstance(refusal, FetchMustWait)
        waits.append(round(refusal.wait_seconds or 0))
        n_slowed = refusal.n_slowed
    assert waits == [60, 120, 240, 480, 960, 1920, 3600, 3600, 3600]


def test_a_secondary_limit_stops_the_token_for_everything_and_another_goes_on(server):
    server.say(403, SECONDARY).say(200, {"data": {"a": 1}})
    client = Client(server.url, ["a", "b"])
    assert client.graphql(QUERY, {}).data == {"a": 1}
    client.get("/repos/o/r")
    assert [asked.headers["Authorization"] for asked in server.asked] == ["token a", "token b", "token b"]


def test_a_used_up_budget_waits_for_its_renewal_by_githubs_clock(server):
    day = "Sat, 01 Jan 2022 00:00:00 GMT"
    error = {"errors": [{"type": "RATE_LIMITED", "message": "API rate limit exceeded for user ID 1."}]}
    reset = str(1640995200 + 600)
    server.say(200, error, Date=day, X_RateLimit_Reset=reset)
    refusal = refused(Client(server.url, ["t"]), "graphql")
    assert isinstance(refusal, FetchMustWait)
    assert len(server.asked) == 1
    assert 590 < (refusal.wait_seconds or 0) < 610


@pytest.mark.parametrize(
    ("status", "value", "kind", "words"),
    [
        (502, "<html>Unicorn</html>", TooMuch, "status 502"),
        (504, {"message": "Timeout"}, TooMuch, "status 504"),
        (200, "<html>Unicorn</html>", FetchMustWait, "incomplete"),
        (200, '{"data": {"viewer": {"log', FetchMustWait, "incomplete"),
        (200, {"data": None}, FetchMustWait, "incomplete"),
        (200, [], FetchMustWait, "incomplete"),
        (404, {"message": "Not Found"}, GraphqlMissing, "not reachable"),
        (403, {"message": "Resource not accessible by integration"}, GraphqlMissing, "not accessible"),
        (403, {"message": "Resource protected by organization SAML enforcement."}, FetchFailed, "SAML"),
        (200, {"errors": [{"message": "Something went wrong while executing your query."}]}, TooMuch, "that much"),
        (200, {"errors": [{"type": "RESOURCE_LIMITS_EXCEEDED", "message": "x"}]}, TooMuch, "that much"),
        (200, {"errors": [{"type": "SERVICE_UNAVAILABLE", "message": "x"}]}, TooMuch, "that much"),
        (200, {"data": {"a": None}, "errors": [{"type": "NOT_FOUND", "message": "x"}]}, FetchFailed, "not at GitHub"),
        (200, {"data": {"a": None}, "errors": [{"type": "FORBIDDEN", "message": "SAML"}]}, FetchFailed, "SAML"),
        (200, {"errors": [{"message": "`x` does not appear to be a valid cursor."}]}, BadCursor, "place"),
        (200, {"errors": [{"message": "Field 'a'", "extensions": {"code": "undefinedField"}}]}, GraphqlMissing, "old"),
    ],
)  # fmt: skip
def test_each_way_in_which_graphql_refuses_has_its_kind_and_words(server, status, value, kind, words):
    server.say(status, value)
    refusal = refused(Client(server.url, ["t"]), "graphql")
    assert type(refusal) is kind
    assert words in refusal.message
    assert len(server.asked) == 1


def test_what_graphql_could_not_give_comes_beside_what_it_could(server):
    error = {"type": "NOT_FOUND", "path": ["nodes", 1], "message": "Could not resolve to a node."}
    server.say(200, {"data": {"nodes": [{"id": "a"}, None]}, "errors": [error]})
    reply = Client(server.url, ["t"]).graphql(QUERY, {})
    assert reply.data["nodes"][0] == {"id": "a"}
    assert reply.problems == (GraphqlProblem("NOT_FOUND", "Could not resolve to a node", ("nodes", 1)),)


def test_tokens_appear_in_no_message_and_no_log(server, caplog):
    caplog.set_level(logging.DEBUG)
    server.say(403, {"message": "The token ghp_verysecret may not do this"})
    client = Client(server.url, ["ghp_verysecret"])
    for ask in ("rest", "graphql"):
        assert "may not do this" in refused(client, ask).message
        assert "verysecret" not in refused(client, ask).message
    assert "verysecret" not in "".join(line for line in caplog.text.splitlines() if "may not do this" not in line)
