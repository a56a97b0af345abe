"""What GitHub may answer to a question in GraphQL, word for word: refused, without sense, without end."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from ingest.errors import RowError
from ingest.files import export_rows
from ingest.github.graphql_nodes import parse_graphql_issue
from ingest.github.rest_objects import LABELS_MAX, parse_issue
from ingest.models import Activity, ClosingChange, Issue, Refusal
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


ODD = ["x", {"a": 1}, [1], [[1]], -5, 1.5, True, 2**31, 2**63, "9" * 5000, "a\x00b", "a\ud800b"]


def told_with(odd: Any) -> dict[str, Any]:
    """All that GraphQL tells of an issue beside its text, with one odd value in each place."""
    reactions = [odd, {"content": odd, "reactors": {"totalCount": 3}}, {"content": "HEART", "reactors": odd}]
    reactions += [{"content": "THUMBS_UP", "reactors": {"totalCount": odd}}]
    events = [odd, {"__typename": odd}, {"__typename": "ClosedEvent", "reason": odd, "canonical": odd}]
    events += [{"__typename": "LabeledEvent", "label": each} for each in (odd, {"name": odd})]
    events += [{"__typename": "MilestonedEvent", "milestoneTitle": odd, "fromRepository": {"url": odd}}]
    pull = {"__typename": "PullRequest", "id": "P", "url": "https://github.com/o/r/pull/9", "title": odd}
    pull |= {"additions": odd, "deletions": odd, "changedFiles": odd, "mergedAt": "2024-01-01T00:00:00Z"}
    pull |= {"files": {"nodes": [{"path": odd, "additions": odd, "deletions": odd}]}, "mergeCommit": odd}
    linked = {"pageInfo": {"hasNextPage": False, "endCursor": None}, "nodes": [pull]}
    return {
        "reactionGroups": reactions, "history": {"nodes": events}, "issueType": {"name": odd},
        "comments": {"totalCount": odd, "nodes": []}, "closedByPullRequestsReferences": linked,
    }  # fmt: skip


@pytest.mark.parametrize("odd", ODD, ids=[repr(odd)[:12] for odd in ODD])
def test_no_value_of_an_answer_is_stored_that_no_page_and_no_file_can_read(
    server: Canned, fetch: Any, odd: Any
) -> None:
    value = page([node(1, **told_with(odd)), node(2)])
    value["data"]["repository"]["issues"]["totalCount"] = odd
    server.say(200, value)
    run = fetch()
    assert (run.state, run.n_new, run.n_refused) == ("done", 2, 0), run.error
    told = Activity.objects.get(issue__number=1).told
    assert all(type(n) is int and kind in {"+1", "heart"} for kind, n in told["reactions"].items())
    assert {each["kind"] for each in told["events"]} == {"closed", "labeled", "milestoned"}
    assert [row["item"] for row in export_rows.rows_of("issues", Issue.objects.all())] == ["o/r#1", "o/r#2"]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"labels": {"nodes": [{"name": "L" * 300_000}]}}, "A label has more than 500 characters."),
        ({"comments": {"nodes": [{"fullDatabaseId": "9" * 5000}]}}, "A comment of this issue has no number."),
        ({"comments": {"nodes": [{"fullDatabaseId": str(2**63)}]}}, "A comment of this issue has no number."),
        ({"url": "https://[\x00"}, "“https://[\ufffd” is not a URL."),
        ({"history": {"nodes": [{"__typename": "ClosedEvent", "createdAt": "\x00"}]}}, "not a date and time."),
    ],
)
def test_an_issue_that_can_not_be_stored_is_refused_in_words(
    server: Canned, fetch: Any, changes: Any, reason: str
) -> None:
    server.say(200, page([node(1, **changes), node(2)]))
    run = fetch()
    assert (run.state, run.n_new, run.n_refused) == ("done", 1, 1), run.error
    assert reason in Refusal.objects.get().reason


@pytest.mark.parametrize(
    "about",
    [
        {"html_url": "https://evil.example/o\x00/r"},
        {"full_name": "o\x00/r", "html_url": ""},
        {"id": 2**63},
        {"id": "7"},
        {"id": None},
        {"id": True},
    ],
)
def test_a_repository_that_can_not_be_stored_stops_the_run_in_words(
    settings: Any, fetch: Any, about: dict[str, Any]
) -> None:
    with canned() as server:
        settings.GITHUB_API_URL = server.url
        server.say(200, REPOSITORY | about)
        run = fetch()
    assert run.state in {"failed", "waiting"} and run.error and "Unexpected" not in run.error


@pytest.mark.parametrize("status", [200, 403, 429])
@pytest.mark.parametrize(
    "headers",
    [
        {"Retry_After": "1e18"},
        {"Retry_After": "-1e18"},
        {"X_RateLimit_Reset": "1e300", "X_RateLimit_Remaining": "0", "X_RateLimit_Limit": "1e300"},
        {"X_RateLimit_Reset": "inf", "X_RateLimit_Remaining": "nan", "X_RateLimit_Limit": "x"},
        {"X_RateLimit_Remaining": "1e300", "X_RateLimit_Limit": "1e300", "X_RateLimit_Reset": "x"},
        {"Date": "Mon, 01 Jan 99999999999999999999 00:00:00 GMT"},
        {"Date": "Mon, 01 Jan 0001 00:00:00 +2300"},
        {"Link": f'<https://api.github.com/x?page={"9" * 5000}>; rel="last"'},
    ],
)
def test_headers_without_sense_let_a_run_wait_or_end_in_words(
    settings: Any, fetch: Any, status: int, headers: dict[str, str]
) -> None:
    settings.GITHUB_TOKENS = []
    with canned() as server:
        settings.GITHUB_API_URL = server.url
        server.say(200, REPOSITORY, **headers).say(status, [] if status == 200 else {"message": "No\x00"}, **headers)
        run = fetch()
    assert run.state in {"done", "failed", "waiting"} and "Unexpected" not in run.error
    assert run.waiting_until is None or run.waiting_until < timezone.now() + timedelta(days=2)


def test_an_issue_has_at_most_a_thousand_labels() -> None:
    """At GitHub it has at most a hundred, and each list of issues reads all."""
    row = {"number": 1, "title": "t", "repository": "o/r"}
    most = parse_issue(row | {"labels": [f"l{n}" for n in range(LABELS_MAX)]})
    assert len(most.github_labels or ()) == LABELS_MAX
    with pytest.raises(RowError, match="The issue has 1,001 labels. At most 1,000 are allowed."):
        parse_issue(row | {"labels": [f"l{n}" for n in range(LABELS_MAX + 1)]})
