"""Estimate of a fetch before it runs: requests, duration under GitHub's limit, and with a token.

It sends two or three requests to GitHub and stores nothing.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ingest.errors import FetchMustWait
from ingest.github import listings
from ingest.github.graphql import BARE_AT_ONCE, COMMITS_AT_ONCE, ROOM, WEIGHTS
from ingest.github.graphql_nodes import closers, leave_out_changes, linked_pulls, unlinked_closers
from ingest.github.graphql_queries import CONNECTED, COUNTED, COUNTED_AT_ONCE, PAGE_ISSUES, counted
from ingest.github.pushed_commits import FEW
from ingest.github.rest_objects import parse_count
from ingest.github.run_state import LAST, RunState
from ingest.github.tokens import REQUESTS_WITHOUT_TOKEN
from ingest.models import Repository

POINTS_OF_TOKEN = 5_000
POINTS_OF_PAGE = 4
"""What GitHub takes for a page of issues by GraphQL, of the points that a token has in an hour."""
REQUESTS_OF_CHANGES = 3
"""What REST takes for the closing changes of an issue."""
REQUESTS_OF_COMMITS = 4
"""What GraphQL takes for the files of up to a hundred commits: themselves, two levels of folders, and texts."""
HOUR = 3600


@dataclass(frozen=True, slots=True)
class Estimate:
    """About how many requests a fetch takes, and at least how long it waits because of the hourly limit.

    `n_left` is what may still be asked in this hour, None where GitHub did not say. `with_token` is the estimate with a
    token, where the server has none.
    """

    n_requests: int
    n_per_hour: int
    n_left: int | None
    seconds_waiting: int
    has_token: bool
    with_token: "Estimate | None" = None

    @property
    def sentence(self) -> str:
        """The estimate in words."""
        allowed = (
            f"about {self.n_per_hour:,} an hour with its tokens"
            if self.has_token
            else f"{self.n_per_hour:,} an hour without a token"
        )
        left = f", and {self.n_left:,} are left now" if self.n_left is not None else ""
        wait = f"waits at least {_hours(self.seconds_waiting)}" if self.seconds_waiting else "does not have to wait"
        words = f"About {_requests(self.n_requests)}. GitHub allows {allowed}{left}. The fetch {wait}."
        if self.with_token:
            token = self.with_token
            waiting = f"at least {_hours(token.seconds_waiting)} of waiting" if token.seconds_waiting else "no waiting"
            words += f" With a token in GITHUB_TOKENS: about {_requests(token.n_requests)}, {waiting}."
        return words

    def as_document(self) -> dict[str, Any]:
        """For the API and the command."""
        return {
            "n_requests": self.n_requests,
            "n_requests_per_hour": self.n_per_hour,
            "n_requests_left": self.n_left,
            "seconds_waiting": self.seconds_waiting,
            "has_token": self.has_token,
            "n_requests_with_token": self.n_requests
            if self.has_token
            else self.with_token and self.with_token.n_requests,
            "seconds_waiting_with_token": self.seconds_waiting
            if self.has_token
            else self.with_token and self.with_token.seconds_waiting,
            "message": self.sentence,
        }


def estimate(job: RunState, *, n_tokens: int) -> Estimate:
    """The estimate of a run that is not stored; raises FetchFailed and FetchMustWait."""
    if numbers := job.run.requested.get("numbers"):
        return _of_numbers(job, numbers, n_tokens)
    found = job.look()
    path = f"/repos/{found['full_name']}"
    since = _since(job)
    return _with_tokens(job, path, since, n_tokens) if n_tokens else _without_token(job, path, since)


def _with_tokens(job: RunState, path: str, since: str | None, n_tokens: int) -> Estimate:
    owner, name = path.split("/")[2:4]
    chosen: dict[str, Any] = {"since": since} if since else {}
    if (state := job.run.requested.get("state") or "all") != "all":
        chosen["states"] = [state.upper()]
    if labels := job.run.requested.get("labels"):
        chosen["labels"] = labels[:1]
    variables = {"owner": owner, "name": name, "first": COUNTED_AT_ONCE, "filter": chosen}
    repository = job.ask(COUNTED, variables, what=f"{owner}/{name}").data.get("repository")
    issues = repository.get("issues") if isinstance(repository, Mapping) else None
    if not isinstance(issues, Mapping) or parse_count(issues.get("totalCount")) is None:
        raise _unreadable()
    rows = issues.get("nodes")
    n_more = _n_more(job, (owner, name), rows if isinstance(rows, list) else [], issues["totalCount"])
    points = n_tokens * (job.client.n_allowed("graphql") or POINTS_OF_TOKEN)
    return _by_graphql(issues["totalCount"], points, job.client.n_left, n_more=n_more + (2 if since else 0))


def _unreadable() -> FetchMustWait:
    return FetchMustWait("GitHub's answer about the repository can't be read.")


def _n_more(job: RunState, repository: tuple[str, str], nodes: Sequence[Any], n_issues: int) -> int:
    """Requests for what does not come with the pages of so many issues, by the first of them: long threads, the files
    of pull requests that are not linked or have many, and those of commits.

    What is in another repository is not counted for someone who may not know of it.
    """
    rows = [node for node in nodes if isinstance(node, dict)]
    here = tuple(part.lower() for part in repository)
    for node in rows:
        leave_out_changes(node, lambda owner, name: not job.is_restricted or (owner.lower(), name.lower()) == here)
    counts = [parse_count((node.get("comments") or {}).get("totalCount")) or 0 for node in rows]
    longer = [math.ceil(n / CONNECTED) - 1 for n in counts if n > CONNECTED]
    linked = [row for node in rows for row in linked_pulls(node)]
    large = {row.get("id") for row in linked if (parse_count(row.get("changedFiles")) or 0) > CONNECTED}
    pulls = large | {row["id"] for node in rows for row in unlinked_closers(node)}
    merges = {(row.get("mergeCommit") or {}).get("oid") for row in linked}
    closed_by = {row.get("oid") for node in rows for row in closers(node) if row["__typename"] == "Commit"}
    share = max(1.0, n_issues / len(rows)) if rows else 0.0
    n_commits = round(share * len(closed_by - merges))
    n_threads = math.ceil(share * sum(longer) * WEIGHTS["comments"] / ROOM)
    return (
        max([n_threads, *longer])
        + math.ceil(share * len(pulls) / BARE_AT_ONCE)
        + math.ceil(n_commits / COMMITS_AT_ONCE) * (1 if n_commits <= FEW else REQUESTS_OF_COMMITS)
        + min(n_commits, FEW)
    )


def _without_token(job: RunState, path: str, since: str | None) -> Estimate:
    def first(kind: str) -> Any:
        asked = listings.parameters(job, kind, since)
        return job.client.rows(f"{path}/{listings.PATHS[kind]}", asked, what=path.removeprefix("/repos/"))

    issues, comments = first("issues"), first("comments")
    n_issue_pages, n_comment_pages = issues.last_page or 1, comments.last_page or 1
    n_comment_requests = n_comment_pages
    if listings.may_ask_by_issue(job, stored=_stored(job)):
        n_threads = listings.n_thread_requests(issues)
        n_comment_requests = n_threads if n_threads <= 1 else min(n_comment_pages, 1 + n_threads)
    n_requests = 1 + n_issue_pages + n_comment_requests
    on_page = sum("pull_request" not in row for row in issues.value if isinstance(row, dict))
    n_issues = on_page if n_issue_pages == 1 else round(on_page * (n_issue_pages - 0.5))
    left, per_hour = job.client.n_left, job.client.n_allowed("core") or REQUESTS_WITHOUT_TOKEN
    return Estimate(
        n_requests,
        per_hour,
        left,
        _seconds_waiting(n_requests, per_hour, left),
        has_token=False,
        with_token=_by_graphql(n_issues, POINTS_OF_TOKEN, None, n_more=n_issues // 200 + (2 if since else 0)),
    )


def _by_graphql(n_issues: int, points: int, left: int | None, *, n_more: int) -> Estimate:
    """A request for the repository, the pages of issues, and `n_more`."""
    n_pages = max(1, math.ceil(n_issues / (PAGE_ISSUES - 1)))
    per_hour = points // POINTS_OF_PAGE
    n_requests = 1 + n_pages + n_more
    n_left = None if left is None else left // POINTS_OF_PAGE
    return Estimate(n_requests, per_hour, n_left, _seconds_waiting(n_requests, per_hour, n_left), has_token=True)


def _of_numbers(job: RunState, numbers: Sequence[int], n_tokens: int) -> Estimate:
    """Of a run that asks about given issues: without a token one by one."""
    if n_tokens:
        owner, name = str(job.look()["full_name"]).split("/")
        variables = {"owner": owner, "name": name}
        reply = job.ask(counted(numbers[:COUNTED_AT_ONCE]), variables, what=f"{owner}/{name}")
        if not isinstance(repository := reply.data.get("repository"), Mapping):
            raise _unreadable()
        n_more = _n_more(job, (owner, name), list(repository.values()), len(numbers))
        points = n_tokens * (job.client.n_allowed("graphql") or POINTS_OF_TOKEN)
        return _by_graphql(len(numbers), points, job.client.n_left, n_more=n_more)
    is_presence = job.run.requested.get("what") == "presence"
    with_token = _by_graphql(len(numbers), POINTS_OF_TOKEN, None, n_more=len(numbers) // 200)
    n_requests = 1 + len(numbers) * (1 if is_presence else REQUESTS_OF_CHANGES)
    waiting = _seconds_waiting(n_requests, REQUESTS_WITHOUT_TOKEN, None)
    return Estimate(n_requests, REQUESTS_WITHOUT_TOKEN, None, waiting, has_token=False, with_token=with_token)


def _seconds_waiting(n_requests: int, per_hour: int, left: int | None) -> int:
    """Whole hours: each renewal of the limit comes an hour after the one before."""
    more = n_requests - (per_hour if left is None else left)
    return HOUR * math.ceil(more / per_hour) if more > 0 else 0


def _since(job: RunState) -> str | None:
    since: str | None = job.run.requested.get("since")
    if since != LAST:
        return since
    stored = _stored(job)
    return stored.complete_until.strftime("%Y-%m-%dT%H:%M:%SZ") if stored and stored.complete_until else None


def _stored(job: RunState) -> Repository | None:
    found: Repository | None = Repository.objects.called(*job.run.requested["name"]).first()
    return found


def _requests(n: int) -> str:
    return f"{n:,} request{'' if n == 1 else 's'}"


def _hours(seconds: int) -> str:
    hours = seconds // HOUR
    if hours >= 48:
        return f"{hours // 24:,} days"
    return f"{hours} hour{'' if hours == 1 else 's'}"
