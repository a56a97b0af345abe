"""The REST interface of the local GitHub (version 2022-11-28): which address answers what."""

import bisect
import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from tests.github import shapes
from tests.github.world import Comment, Event, Issue, PullRequest, Repository, stamp

if TYPE_CHECKING:
    from tests.github.server import Asked, GitHub

DOCS = "https://docs.github.com"
LIMITS_PAGE = f"{DOCS}/rest/overview/rate-limits-for-the-rest-api"
SECONDARY_PAGE = f"{LIMITS_PAGE}#about-secondary-rate-limits"


@dataclass
class Reply:
    """An answer before it goes out."""

    status: int
    value: Any
    headers: dict[str, str] = field(default_factory=dict)

    @cached_property
    def body(self) -> bytes:
        if isinstance(self.value, bytes):
            return self.value
        return b"" if self.value is None else json.dumps(self.value, separators=(",", ":")).encode()

    def become(self, status: int, value: Any) -> None:
        """Another answer, under the same headers of the request."""
        self.status, self.value, self.headers = status, value, {}
        self.__dict__.pop("body", None)


def message(text: str, status: int, page: str = f"{DOCS}/rest") -> dict[str, str]:
    """The shape of GitHub's errors."""
    return {"message": text, "documentation_url": page, "status": str(status)}


def _not_found() -> Reply:
    return Reply(404, message("Not Found", 404))


def _moved(to: str) -> Reply:
    page = f"{DOCS}/rest/guides/best-practices-for-using-the-rest-api#follow-redirects"
    return Reply(301, {"message": "Moved Permanently", "url": to, "documentation_url": page}, {"Location": to})


def answer(github: "GitHub", asked: "Asked") -> Reply:
    """What GitHub answers to a GET."""
    if asked.path == "/rate_limit":
        limits = {name: github.limit(asked.token, name).shape() for name in ("core", "graphql", "search")}
        return Reply(200, {"resources": limits, "rate": limits["core"]})
    found = re.fullmatch(r"/repos/([^/]+/[^/]+)(/.*)?", asked.path)
    if found:
        repository = github.world.named(found[1])
        moved = github.world.moved.get(found[1].lower())
        if repository is None and moved is not None:
            query = f"?{urlencode(asked.query)}" if asked.query else ""
            return _moved(f"{github.url}/repositories/{moved.id}{found[2] or ''}{query}")
    else:
        found = re.fullmatch(r"/repositories/(\d+)(/.*)?", asked.path)
        repository = found and next((r for r in github.world.repositories if r.id == int(found[1])), None)
    if not found or not repository or (repository.private and not github.may_read_private(asked.token)):
        return _not_found()
    if repository.blocked:
        block = {"reason": "dmca", "created_at": "2024-01-01T00:00:00Z", "html_url": f"{shapes.WEB}/github/dmca"}
        return Reply(451, {"message": "Repository access blocked", "block": block})
    return _in_repository(github, repository, found[2] or "", asked)


def _in_repository(github: "GitHub", repository: Repository, rest: str, asked: "Asked") -> Reply:
    api = github.url
    if not rest:
        return Reply(200, shapes.repository(api, repository, alone=True))
    if rest.startswith("/issues") and not repository.has_issues:
        return Reply(410, message("Issues has been disabled in this repository.", 410))
    if rest in {"/issues", "/issues/comments"}:
        return _listing(github, repository, rest, asked)
    one = re.fullmatch(r"/(issues|pulls|commits)/(\w+)(/\w+)?", rest)
    if not one:
        return _not_found()
    kind, name, part = one[1], one[2], one[3] or ""
    if kind == "commits":
        commit = repository.commits.get(name)
        return Reply(200, shapes.commit(api, commit)) if commit and not part else _not_found()
    if not name.isdecimal():
        return _not_found()
    issue = repository.issues.get(int(name))
    if issue is None:
        return _gone(github, repository, int(name), kind, part)
    return _of_pull(github, issue, rest, part, asked) if kind == "pulls" else _of(github, issue, rest, part, asked)


def _gone(github: "GitHub", repository: Repository, number: int, kind: str, part: str) -> Reply:
    if kind != "issues" or number not in repository.gone:
        return _not_found()
    to = repository.gone[number]
    if to is None:
        return Reply(410, message("This issue was deleted", 410))
    return _moved(f"{github.url}/repositories/{to.repository.id}/issues/{to.number}{part}")


def _of(github: "GitHub", issue: Issue, rest: str, part: str, asked: "Asked") -> Reply:
    api = github.url
    if not part:
        return Reply(200, shapes.issue(api, issue, alone=True))
    if part == "/comments":
        rows = issue.comments
        if since := _since(asked):
            rows = [row for row in rows if (stamp(row.updated_at) or "") >= since]
        return _page(github, issue.repository, rest, asked, rows, lambda row: shapes.comment(api, row))
    if part == "/events":
        return _page(github, issue.repository, rest, asked, issue.events, lambda row: shapes.event(api, row))
    if part == "/timeline":
        both: list[Event | Comment] = [*issue.events, *issue.comments]
        both.sort(key=lambda row: (row.created_at, row.id))
        return _page(github, issue.repository, rest, asked, both, lambda row: shapes.timeline(api, row))
    return _not_found()


def _of_pull(github: "GitHub", issue: Issue, rest: str, part: str, asked: "Asked") -> Reply:
    if not isinstance(issue, PullRequest) or part not in {"", "/files"}:
        return _not_found()
    if part:
        return _page(
            github,
            issue.repository,
            rest,
            asked,
            issue.files,
            lambda row: shapes.file(github.url, issue.repository, row),
        )
    return Reply(200, shapes.pull_request(github.url, issue))


def _since(asked: "Asked") -> str | None:
    """The time from which on (its own second included), as times are written here."""
    try:
        return stamp(datetime.fromisoformat(asked.query["since"]))
    except (KeyError, ValueError):
        return None


def _listing(github: "GitHub", repository: Repository, rest: str, asked: "Asked") -> Reply:
    """All issues or all comments of a repository."""
    query = asked.query
    key = query.get("sort", "created")
    is_sorted = rest == "/issues" or "sort" in query
    wanted = query.get("state", "open")
    labels = frozenset(filter(None, query.get("labels", "").split(",")))
    place: Callable[[Any], Any] = {"comments": lambda row: (str(len(row.comments)).zfill(9), row.id)}.get(
        key, lambda row: (stamp(getattr(row, f"{key}_at")), row.id)
    )

    def rows() -> list[Any]:
        issues = repository.issues.values()
        if rest == "/issues":
            found: list[Any] = [row for row in issues if wanted in {"all", row.state} and labels <= set(row.labels)]
        else:
            found = [comment for row in issues for comment in row.comments]
        return sorted(found, key=place) if is_sorted else found

    listed = repository.sorted(("rest", rest, key, is_sorted, wanted, labels), rows)
    if since := _since(asked):
        if is_sorted and key == "updated":
            listed = listed[bisect.bisect_left(listed, (since, 0), key=place) :]
        else:
            listed = [row for row in listed if (stamp(row.updated_at) or "") >= since]
    if is_sorted and query.get("direction", "desc") == "desc":
        listed = listed[::-1]
    shape = shapes.issue if rest == "/issues" else shapes.comment
    return _page(github, repository, rest, asked, listed, lambda row: shape(github.url, row))


def _page(
    github: "GitHub", repository: Repository, rest: str, asked: "Asked", rows: list[Any], shape: Callable[[Any], Any]
) -> Reply:
    """A page of a listing by its number, with links to the others."""
    query = asked.query
    size = max(1, min(100, _number(query.get("per_page"), 30)))
    page = max(1, _number(query.get("page"), 1))
    last = max(1, -(-len(rows) // size))
    links = []
    for name, number in (("prev", page - 1), ("next", page + 1), ("last", last), ("first", 1)):
        if (name in {"next", "last"} and page < last) or (name in {"prev", "first"} and page > 1):
            address = f"{github.url}/repositories/{repository.id}{rest}?{urlencode(query | {'page': str(number)})}"
            links.append(f'<{address}>; rel="{name}"')
    shown = rows[(page - 1) * size : page * size]
    return Reply(200, [shape(row) for row in shown], {"Link": ", ".join(links)} if links else {})


def _number(text: str | None, otherwise: int) -> int:
    return int(text) if text and text.isdecimal() else otherwise
