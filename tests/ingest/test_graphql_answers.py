"""What GitHub may answer to a question in GraphQL, word for word: refused, without sense, without end."""

from typing import Any

import pytest

from ingest.github.graphql_nodes import parse_graphql_issue
from ingest.github.rest_objects import parse_issue
from ingest.models import ClosingChange, Issue, Refusal
from tests.github import GitHub
from tests.ingest.canned_server import Canned, canned

pytestmark = [pytest.mark.django_db, pytest.mark.github]


@pytest.fixture(autouse=True)
def token(github: GitHub, settings: Any) -> None:
    github.tokens = {"t"}
    settings.GITHUB_TOKENS = ["t"]


REPOSITORY = {
    "id": 7, "full_name": "o/r", "html_url": "https://github.com/o/r", "private": False, "has_issues": True,
}  # fmt: skip


def node(n: int, /, **changes: Any) -> dict[str, Any]:
    """An issue as GraphQL gives it."""
    none = {"pageInfo": {"hasNextPage": False, "endCursor": None}, "nodes": []}
    shape = {
        "id": f"I_{n}", "number": n, "title": f"issue {n}", "body": "", "state": "OPEN",
        "stateReason": None, "locked": False, "createdAt": "2024-01-01T00:00:00Z",
        "updatedAt": f"2024-01-01T00:00:{n:02}Z", "closedAt": None,
        "url": f"https://github.com/o/r/issues/{n}", "author": None, "labels": none,
        "comments": none | {"totalCount": 0}, "timelineItems": {"nodes": []}, "closedByPullRequestsReferences": none,
    }  # fmt: skip
    return shape | changes


def page(nodes: list[Any], *errors: dict[str, Any]) -> dict[str, Any]:
    issues = {"totalCount": len(nodes), "pageInfo": {"hasNextPage": False, "endCursor": "c"}, "nodes": nodes}
    value = {"data": {"repository": {"nameWithOwner": "o/r", "hasIssuesEnabled": True, "issues": issues}}}
    return value | ({"errors": list(errors)} if errors else {})


def error(*path: Any, kind: str = "FORBIDDEN", message: str = "Not for you") -> dict[str, Any]:
    return {"type": kind, "message": message, "path": ["repository", "issues", "nodes", *path]}


@pytest.fixture
def server(settings: Any) -> Any:
    with canned() as found:
        settings.GITHUB_API_URL = found.url
        yield found.say(200, REPOSITORY)


def test_a_deleted_account_is_the_same_however_it_is_told():
    by_rest = {"number": 1, "title": "issue 1", "body": None, "state": "open", "labels": [], "comments": []}
    by_rest |= {"html_url": "https://github.com/o/r/issues/1"}
    told = parse_graphql_issue(node(1)).sha256
    for user in (None, {"login": "ghost", "id": 10137}):
        assert parse_issue(by_rest | {"user": user, "state_reason": None}).sha256 == told


def test_an_issue_that_may_not_be_read_is_refused_and_the_rest_arrives(server: Canned, fetch: Any) -> None:
    server.say(200, page([node(1), None, node(3), node(4, comments=None)], error(1), error(3, "comments")))
    run = fetch()
    assert (run.state, run.n_new, run.n_refused) == ("done", 2, 2)
    assert sorted(Issue.objects.values_list("number", flat=True)) == [1, 3]
    one, two = Refusal.objects.order_by("pk")
    assert one.reason == two.reason == "GitHub could not give this issue: Not for you."
    assert two.row == "https://github.com/o/r/issues/4"


def test_a_pull_request_that_may_not_be_seen_keeps_no_issue_out(server: Canned, fetch: Any) -> None:
    linked = {"pageInfo": {"hasNextPage": False, "endCursor": "c"}, "nodes": [None]}
    hidden = node(1, closedByPullRequestsReferences=linked, timelineItems={"nodes": [None]})
    server.say(200, page([hidden], error(0, "closedByPullRequestsReferences", "nodes", 0)))
    run = fetch()
    assert (run.state, run.n_new, run.n_refused) == ("done", 1, 0)
    assert ClosingChange.objects.count() == 0
    assert Issue.objects.get().changes_known


def test_a_token_that_may_not_see_pull_requests_leaves_what_closed_an_issue_unknown(server: Canned, fetch: Any) -> None:
    errors = [error(0, "closedByPullRequestsReferences"), error(1, "timelineItems")]
    server.say(200, page([node(1, closedByPullRequestsReferences=None), None], *errors))
    run = fetch()
    assert (run.state, run.n_new, run.n_refused) == ("done", 1, 1)
    assert not Issue.objects.get().changes_known
    assert Refusal.objects.get().reason == "GitHub could not give this issue: Not for you."


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"title": " "}, "The title is missing."),
        ({"number": None, "url": None}, "The number is missing."),
        ({"state": "MERGED"}, "state is “merged”, not open or closed."),
        ({"createdAt": "yesterday"}, "created_at is “yesterday”, not a date and time."),
        ({"url": "https://github.com/o/other/issues/1"}, "This issue is of o/other, not of o/r."),
        ({"url": "https://github.com/o/r/pull/1"}, "This is a pull request among issues."),
        ({"labels": None}, "GitHub did not give the labels of this issue."),
        ({"comments": {"nodes": [None]}}, "A comment of this issue can't be read."),
        ({"comments": {"nodes": [{"body": "x", "author": None}]}}, "A comment of this issue has no number."),
        ({"author": {"databaseId": 1}}, "The author has no name."),
    ],
)
def test_a_node_that_makes_no_sense_is_refused_with_the_reason(
    server: Canned, fetch: Any, changes: Any, reason: str
) -> None:
    server.say(200, page([node(1, **changes), node(2)]))
    run = fetch()
    assert (run.state, run.n_new) == ("done", 1)
    assert Refusal.objects.get().reason == reason


@pytest.mark.parametrize(
    "refusal",
    [
        (404, {"message": "Not Found"}),
        (403, {"message": "Resource not accessible by integration"}),
        (200, {"errors": [{"message": "Field 'x' doesn't exist", "extensions": {"code": "undefinedField"}}]}),
    ],
)
def test_where_there_is_no_graphql_for_us_the_listings_do_and_the_run_says_so(
    server: Canned, fetch: Any, refusal: Any
) -> None:
    server.say(*refusal).say(200, [])
    run = fetch()
    assert (run.state, run.n_new) == ("done", 0)
    assert [asked.path.partition("?")[0] for asked in server.asked if "/issues" in asked.path]
    assert run.cursor["way"] == "listings"
    assert "GraphQL" in run.cursor["note"]


def test_a_page_without_end_is_noticed(server: Canned, fetch: Any) -> None:
    value = page([node(1)])
    value["data"]["repository"]["issues"]["pageInfo"]["hasNextPage"] = True
    server.say(200, value)
    run = fetch()
    assert run.state == "waiting"
    assert run.error == "GitHub's pages lead in a circle."
    assert len(server.asked) < 6
