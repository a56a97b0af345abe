"""The local GitHub's GraphQL takes what GitHub's public schema takes, within GitHub's bounds and at its prices."""

from collections.abc import Callable
from typing import Any

import pytest
import requests

from tests.github import File, GitHub, Mannequin, World, made_up
from tests.github.graphql import price, read

pytestmark = pytest.mark.github

Query = Callable[..., dict[str, Any]]

ISSUES = """
query($first: Int, $after: String, $since: DateTime) {
  repository(owner: "o", name: "r") {
    issues(first: $first, after: $after, orderBy: {field: UPDATED_AT, direction: ASC}, filterBy: {since: $since}) {
      totalCount
      pageInfo { hasNextPage endCursor }
      nodes { number }
    }
  }
}
"""


@pytest.fixture
def query(github: GitHub) -> Query:
    """Asks with a token; the answer with `data`, `errors` or both."""

    def query(text: str, **variables: Any) -> dict[str, Any]:
        sent = {"query": text, "variables": variables}
        answer = requests.post(f"{github.url}/graphql", json=sent, headers={"Authorization": "bearer t"}, timeout=10)
        assert answer.status_code == 200, answer.text
        value: dict[str, Any] = answer.json()
        return value

    return query


def repository(inside: str) -> str:
    return f'{{ repository(owner: "o", name: "r") {{ {inside} }} }}'


def error_of(answer: dict[str, Any]) -> tuple[Any, str]:
    (error,) = answer["errors"]
    return error.get("type"), error["message"]


def test_who_has_no_token_is_refused_though_rest_needs_none(world: World, github: GitHub):
    world.repository("o/r")
    assert requests.get(f"{github.url}/repos/o/r", timeout=10).status_code == 200
    answer = requests.post(f"{github.url}/graphql", json={"query": "{ viewer { login } }"}, timeout=10)
    assert answer.status_code == 401


@pytest.mark.parametrize(
    ("inside", "message"),
    [
        ("issues(first: 1) { nodes { nosuch } }", "Cannot query field 'nosuch' on type 'Issue'."),
        ("issues(frist: 1) { nodes { id } }", "Unknown argument 'frist' on field 'Repository.issues'."),
        ("issues(first: 1, states: open) { nodes { id } }", "Value 'open' does not exist in 'IssueState' enum."),
        ("issues(first: 1) { nodes { author { databaseId } } }", "Cannot query field 'databaseId' on type 'Actor'."),
    ],
)
def test_a_query_that_is_wrong_at_github_is_wrong_here(world: World, query: Query, inside: str, message: str):
    world.repository("o/r").issue()
    answer = query(repository(inside))
    assert "data" not in answer
    assert any(error["message"].startswith(message) for error in answer["errors"]), answer


def test_a_variable_that_does_not_fit_is_refused_before_anything_is_asked(world: World, query: Query):
    world.repository("o/r")
    answer = query(ISSUES, first="many")
    assert "data" not in answer
    assert "Variable '$first' has invalid value" in error_of(answer)[1]


@pytest.mark.parametrize(
    ("inside", "kind"),
    [
        ("issues { nodes { id } }", "MISSING_PAGINATION_BOUNDARIES"),
        ("issues(first: 101) { nodes { id } }", "EXCESSIVE_PAGINATION"),
        ('issues(first: 1, after: "nonsense") { nodes { id } }', "INVALID_CURSOR_ARGUMENTS"),
        ("issue(number: 99) { id }", "NOT_FOUND"),
        ("discussion(number: 1) { id }", "NOT_FOUND"),
        ("pullRequest(number: 1) { id }", "NOT_FOUND"),
    ],
)
def test_githubs_bounds_hold(world: World, query: Query, inside: str, kind: str):
    world.repository("o/r").issue()
    answer = query(repository(inside))
    assert error_of(answer)[0] == kind
    assert answer["errors"][0]["path"][0] == "repository"


def test_more_nodes_than_github_gives_at_once_are_refused(world: World, query: Query):
    world.repository("o/r")
    inside = "issues(first: 100) { nodes { comments(first: 100) { nodes { reactions(first: 100) { totalCount } } } } }"
    assert error_of(query(repository(inside)))[0] == "MAX_NODE_LIMIT_EXCEEDED"


@pytest.mark.parametrize(
    ("inside", "points", "nodes"),
    [
        ("name", 1, 0),
        ("issues(first: 100) { nodes { id } }", 1, 100),
        ("issues(first: 50) { nodes { comments(first: 60) { nodes { id } } } }", 1, 3_050),
        (
            "issues(first: 50) { nodes { comments(first: 60) { nodes { reactions(first: 5) { totalCount } } } } }",
            31,
            18_050,
        ),
    ],
)
def test_a_query_costs_what_githubs_formula_says(inside: str, points: int, nodes: int):
    document = read(repository(inside)).document
    assert document is not None
    found = price(document, {})
    assert (found.n_points, found.n_nodes) == (points, nodes)


def test_githubs_own_example_of_a_price():
    """The example of docs.github.com, "Rate limits and query limits for the GraphQL API": 5,101 requests, 51 points."""
    text = """{ viewer { repositories(first: 100) { nodes {
        issues(first: 50) { nodes { labels(first: 60) { nodes { id } } } } } } } }"""
    document = read(text).document
    assert document is not None
    assert price(document, {}).n_points == 51


def test_points_are_a_budget_of_their_own(world: World, github: GitHub, query: Query):
    world.repository("o/r")
    answer = query("{ rateLimit { cost limit remaining used nodeCount resetAt } }")
    assert {**answer["data"]["rateLimit"], "resetAt": ""} == {
        "cost": 1,
        "limit": 5000,
        "remaining": 4999,
        "used": 1,
        "nodeCount": 0,
        "resetAt": "",
    }
    assert github.limit("t").remaining == 5000
    github.limit("t", "graphql").remaining = 0
    assert error_of(query(repository("id")))[0] == "RATE_LIMITED"


def test_a_list_that_moves_neither_loops_nor_skips(world: World, github: GitHub, query: Query):
    home = world.repository("o/r")
    for _ in range(20):
        home.issue()
    seen: list[int] = []
    after = None
    for turn in range(20):
        page = query(ISSUES, first=4, after=after)["data"]["repository"]["issues"]
        seen += [node["number"] for node in page["nodes"]]
        after = page["pageInfo"]["endCursor"]
        if not page["pageInfo"]["hasNextPage"]:
            break
        if turn < 3:
            home.issues[turn + 1].edit(title="moved to the end")
    assert set(seen) == set(range(1, 21))
    assert seen[-3:] == [1, 2, 3]
    assert len(seen) == 23


def test_since_includes_its_own_second(world: World, query: Query):
    home = world.repository("o/r")
    for _ in range(5):
        home.issue()
    page = query(ISSUES, first=10, since="2024-01-01T00:00:04Z")["data"]["repository"]["issues"]
    assert [node["number"] for node in page["nodes"]] == [4, 5]
    assert page["totalCount"] == 2


def test_what_closed_an_issue_is_told(world: World, query: Query):
    home = world.repository("o/r")
    by_pull, by_commit, by_hand = home.issue(), home.issue(), home.issue()
    pull = home.pull_request(files=[File("a.py", 3, 1), File("b/c.py", 10, 0, "added")])
    by_pull.close_by(pull)
    commit = home.commit("Fix #2")
    by_commit.close_by(commit)
    by_hand.close("not_planned")
    text = repository("""
        issues(first: 10) { nodes { stateReason timelineItems(first: 5, itemTypes: [CLOSED_EVENT]) { nodes {
          ... on ClosedEvent { closer {
            __typename
            ... on PullRequest { number merged additions deletions changedFiles files(first: 10) { nodes { path } } }
            ... on Commit { oid messageHeadline additions }
          } }
        } } } }""")
    found = [
        (node["stateReason"], node["timelineItems"]["nodes"][0]["closer"])
        for node in query(text)["data"]["repository"]["issues"]["nodes"]
    ]
    as_pull = {"number": pull.number, "merged": True, "additions": 13, "deletions": 1, "changedFiles": 2}
    files = {"files": {"nodes": [{"path": "a.py"}, {"path": "b/c.py"}]}}
    assert found == [
        ("COMPLETED", {"__typename": "PullRequest"} | as_pull | files),
        ("COMPLETED", {"__typename": "Commit", "oid": commit.sha, "messageHeadline": "Fix #2", "additions": 1}),
        ("NOT_PLANNED", None),
    ]


def test_issues_that_are_gone_are_null_with_an_error_and_in_no_list(world: World, query: Query):
    home, other = world.repository("o/r"), world.repository("o/s")
    deleted, moved, kept = home.issue(), home.issue(), home.issue()
    deleted.delete()
    moved.transfer(other)
    assert query(repository("issues(first: 5) { nodes { number } }"))["data"]["repository"]["issues"]["nodes"] == [
        {"number": kept.number}
    ]
    ids = [f"I_{issue.id}" for issue in (deleted, moved, kept)]
    answer = query("query($ids: [ID!]!) { nodes(ids: $ids) { ... on Issue { number } } }", ids=ids)
    assert answer["data"]["nodes"] == [None, None, {"number": kept.number}]
    assert [(error["type"], error["path"]) for error in answer["errors"]] == [
        ("NOT_FOUND", ["nodes", 0]),
        ("NOT_FOUND", ["nodes", 1]),
    ]


def test_an_issue_that_became_a_discussion_says_so(world: World, query: Query):
    issue = world.repository("o/r").issue()
    discussion = issue.convert_to_discussion()
    text = repository("""issue(number: 1) { closed locked timelineItems(
        first: 1, itemTypes: [CONVERTED_TO_DISCUSSION_EVENT]) { nodes {
            ... on ConvertedToDiscussionEvent { discussion { number url } } } } }""")
    found = query(text)["data"]["repository"]["issue"]
    url = f"https://github.com/o/r/discussions/{discussion.number}"
    event = {"discussion": {"number": discussion.number, "url": url}}
    assert found == {"closed": True, "locked": True, "timelineItems": {"nodes": [event]}}


def test_who_wrote_is_a_user_a_bot_a_mannequin_or_nobody(world: World, query: Query):
    home = world.repository("o/r")
    for user in ("bob", "helper[bot]", Mannequin("old-hand"), None):
        home.issue(user=user)
    found = query(repository("issues(first: 9) { nodes { author { __typename login } } }"))
    assert [node["author"] for node in found["data"]["repository"]["issues"]["nodes"]] == [
        {"__typename": "User", "login": "bob"},
        {"__typename": "Bot", "login": "helper"},
        {"__typename": "Mannequin", "login": "old-hand"},
        None,
    ]


def test_ids_of_issues_pass_32_bits_and_then_only_the_full_one_tells(world: World, query: Query):
    issue = world.repository("o/r").issue()
    found = query(repository("issue(number: 1) { databaseId fullDatabaseId }"))["data"]["repository"]["issue"]
    assert found == {"databaseId": None, "fullDatabaseId": str(issue.id)}
    assert issue.id > 2**31


def test_a_private_repository_is_not_found_by_who_may_not_read_it(world: World, github: GitHub, query: Query):
    world.repository("o/r", private=True)
    assert error_of(query(repository("id")))[0] == "NOT_FOUND"
    github.tokens = {"t"}
    assert query(repository("isPrivate"))["data"]["repository"] == {"isPrivate": True}


@pytest.mark.parametrize("fault", ["partial", "resources"])
def test_a_fault_of_one_node_leaves_the_others(world: World, github: GitHub, query: Query, fault: str):
    made_up(world, "o/r", 5)
    github.fault(fault, "/graphql")
    answer = query(repository("issues(first: 3) { nodes { number } }"))
    assert answer["data"]["repository"]["issues"]["nodes"] == [{"number": 1}, {"number": 2}, None]
    assert answer["errors"][0]["path"] == ["repository", "issues", "nodes", 2]
    assert "errors" not in query(repository("issues(first: 3) { nodes { number } }"))


def test_a_query_that_takes_too_long_is_502_with_a_sentence(world: World, github: GitHub):
    world.repository("o/r")
    github.fault("timeout", "/graphql")
    sent = {"query": repository("id")}
    answer = requests.post(f"{github.url}/graphql", json=sent, headers={"Authorization": "bearer t"}, timeout=10)
    assert answer.status_code == 502
    assert "Something went wrong while executing your query" in answer.json()["errors"][0]["message"]
