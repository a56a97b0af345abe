"""GitHub client on PyGithub: REST and GraphQL, one request at a time, without repeats, errors as sentences."""

import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import requests

from ingest.errors import FetchFailed, FetchMustWait
from ingest.github.graphql_queries import TYPE_OF_ISSUE
from ingest.github.tokens import TIMEOUT_SECONDS, Key, Keys, server_time
from ingest.records import all_storable

PAGE_ROWS = 100
REDIRECTS_MAX = 3
_LINK = re.compile(r'<([^>]+)>;\s*rel="(\w+)"')
_PAGE = re.compile(r"[?&]page=(\d{1,7})(?!\d)", re.ASCII)
_UNSTORABLE = re.compile(r"\\u(?:0000|d[89a-f])", re.IGNORECASE)
MOVED = frozenset({301, 302, 307, 308})
GONE = frozenset({404, 410})
_TOO_MUCH = frozenset({"RESOURCE_LIMITS_EXCEEDED", "MAX_NODE_LIMIT_EXCEEDED", "SERVICE_UNAVAILABLE", "TIMEOUT"})
_NOT_ALLOWED = frozenset({"FORBIDDEN", "INSUFFICIENT_SCOPES", "UNAUTHORIZED"})


class TooMuch(FetchMustWait):
    """GitHub did not get the answer together in time: asking for less may help."""


class BadCursor(FetchMustWait):
    """GitHub no longer knows the place in a list to go on from."""


class GraphqlMissing(FetchFailed):
    """This host or token does not let us ask by GraphQL; REST may do."""


@dataclass(frozen=True, slots=True)
class RestResponse:
    """A readable answer: the JSON value, and where the next and the last page are.

    `etag` goes with the next question like it; `unchanged` says that GitHub answered 304, without a value. Any other
    `status` than 200 and 304 was asked for by the caller; `location` is where a moved thing is now.
    """

    value: Any
    next: str | None = None
    last_page: int | None = None
    status: int = 200
    etag: str | None = None
    unchanged: bool = False
    location: str | None = None


@dataclass(frozen=True, slots=True)
class GraphqlProblem:
    """What GraphQL could not give: the kind (NOT_FOUND, FORBIDDEN …), in words, and where in the answer."""

    kind: str
    message: str
    path: tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class GraphqlReply:
    """An answer to a GraphQL query; what `problems` point at is null in `data`."""

    data: Mapping[str, Any]
    problems: tuple[GraphqlProblem, ...] = ()


@dataclass(frozen=True, slots=True)
class _RawResponse:
    status: int
    headers: Mapping[str, str]
    text: str


class Client:
    """GitHub's interfaces at `base_url`, with the tokens used in turn.

    `n_requests` counts what was asked, `n_unchanged_answers` those of them answered with 304, `n_left` what the
    tokens may still ask, `clock` GitHub's time (of the epoch) at the last answer. `n_slowed` is how
    often a secondary limit had come in a row before.
    """

    def __init__(self, base_url: str, tokens: Sequence[str] = (), *, n_slowed: int = 0) -> None:
        self.base_url = base_url.rstrip("/")
        self.n_requests = 0
        self.n_unchanged_answers = 0
        self.n_left: int | None = None
        self.clock: float | None = None
        self._has_types = True
        self._keys = Keys(self.base_url, tokens, n_slowed)

    @property
    def has_tokens(self) -> bool:
        return self._keys.given

    def n_allowed(self, budget: str) -> int | None:
        """What GitHub allows a token in an hour, or who has none; None before it said anything."""
        return self._keys.n_allowed(budget)

    def repository(self, owner: str, name: str) -> Mapping[str, Any]:
        """The repository, where it is now if it moved; raises FetchFailed when it is not there."""
        value = self.get(f"/repos/{owner}/{name}", what=f"{owner}/{name}").value
        if not isinstance(value, Mapping) or "full_name" not in value:
            raise FetchMustWait("GitHub's answer about the repository can't be read.")
        return value

    def rows(
        self, path: str, parameters: Mapping[str, Any] | None = None, *, what: str = "", etag: str | None = None
    ) -> RestResponse:
        """A page of a listing; `path` may be the `next` of an earlier answer. Raises FetchFailed or FetchMustWait."""
        answer = self.get(path, parameters, what=what, etag=etag)
        if not answer.unchanged and not isinstance(answer.value, list):
            raise FetchMustWait("GitHub's answer is not a list.")
        return answer

    def get(
        self,
        path: str,
        parameters: Mapping[str, Any] | None = None,
        *,
        what: str = "",
        etag: str | None = None,
        also: Collection[int] = (),
    ) -> RestResponse:
        """One answer, with another token when one is used up; raises FetchFailed or FetchMustWait.

        With the `etag` of an earlier answer, one that is still the same comes back `unchanged` and costs nothing.
        Statuses named in `also` (a redirect, 404, 410 …) come back as an answer; other redirects are followed.
        """
        path = self._here(path)
        given = dict(parameters or {})
        for _ in range(REDIRECTS_MAX + 1):
            raw = self._answer("core", "GET", path, given, etag)
            if raw.status == 304 and etag:
                self.n_unchanged_answers += 1
                return RestResponse(None, status=304, etag=raw.headers.get("etag", etag), unchanged=True)
            location = raw.headers.get("redirected-to")
            if raw.status in also:
                return RestResponse(_json(raw.text), status=raw.status, location=location)
            if raw.status == 200:
                return _readable(raw)
            if raw.status not in MOVED or not location:
                raise self._refusal(raw, what)
            if not location.startswith((f"{self.base_url}/", "/")) or location.startswith("//"):
                raise FetchFailed("GitHub redirects to a URL that can't be followed.")
            path, given = self._here(location), {} if "?" in location else given
        raise FetchFailed("GitHub redirects in a circle.")

    def graphql(
        self, query: str, variables: Mapping[str, Any], *, what: str = "", may_be_empty: bool = False
    ) -> GraphqlReply:
        """The answer to a query; what single parts could not be given stands in its problems.

        An answer in which nothing at all is given is a refusal, unless it `may_be_empty`.
        Raises FetchFailed, FetchMustWait, and of these TooMuch, BadCursor and GraphqlMissing.
        """
        while True:
            key = self._keys.free("graphql")
            asked = query if self._has_types else query.replace(TYPE_OF_ISSUE, "")
            raw = self._ask(key, "graphql", "POST", key.requester.graphql_url, {"query": asked, "variables": variables})
            if self._may_ask_again(key, "graphql", raw):
                continue
            value = _json(raw.text)
            problems = _problems(value, self._keys.hidden)
            if TYPE_OF_ISSUE in asked and any(
                p.kind == "undefinedField" and "issueType" in p.message for p in problems
            ):
                self._has_types = False  # an older GitHub Enterprise: then nothing tells the types
                continue
            if any(self._is_limit(key, problem, raw) for problem in problems):
                continue
            key.n_slowed = 0
            reply = self._reply(raw, value, problems, what)
            if may_be_empty or any(part is not None for part in reply.data.values()):
                return reply
            raise _graphql_refusal(problems, what)

    def _reply(self, raw: _RawResponse, value: Any, problems: tuple[GraphqlProblem, ...], what: str) -> GraphqlReply:
        if raw.status in {502, 503, 504}:
            raise TooMuch(f"GitHub could not complete its answer (status {raw.status}).")
        if raw.status in MOVED | {404, 405, 406, 410}:
            raise GraphqlMissing(f"GitHub's GraphQL interface is not reachable (status {raw.status}).")
        if raw.status != 200:
            refusal = self._refusal(raw, what)
            if raw.status == 403 and _is_about_the_token(refusal.message):
                raise GraphqlMissing(refusal.message)
            raise refusal
        if not isinstance(value, Mapping) or not (problems or isinstance(value.get("data"), Mapping)):
            raise FetchMustWait("GitHub's answer is not valid JSON. It may be incomplete.")
        if stopper := next(filter(None, (_stopper(problem) for problem in problems)), None):
            raise stopper
        data = value.get("data")
        if isinstance(data, Mapping):
            return GraphqlReply(data, problems)
        raise _graphql_refusal(problems, what)

    def _answer(
        self, budget: str, verb: str, path: str, parameters: Mapping[str, Any], etag: str | None = None
    ) -> _RawResponse:
        """An answer that is no refusal of the token it was asked with."""
        while True:
            key = self._keys.free(budget)
            raw = self._ask(key, budget, verb, path, None, parameters, etag)
            if self._may_ask_again(key, budget, raw):
                continue
            if raw.status < 400:
                key.n_slowed = 0
            return raw

    def _may_ask_again(self, key: Key, budget: str, raw: _RawResponse) -> bool:
        """Whether the token, and not the question, was refused: then another token's turn comes."""
        if raw.status == 401 and self._keys.given:
            key.refused = True
            return True
        return raw.status in {403, 429} and key.limited(budget, raw.status, raw.headers, raw.text)

    def _is_limit(self, key: Key, problem: GraphqlProblem, raw: _RawResponse) -> bool:
        """GraphQL says with status 200 that a limit was reached."""
        if problem.kind in {"RATE_LIMITED", "RATE_LIMIT"}:
            if not key.limited("graphql", 403, raw.headers, problem.message):
                key.rest_until_renewed("graphql", raw.headers)
            return True
        if "secondary rate limit" in problem.message.lower():
            return key.limited("graphql", 403, raw.headers, problem.message)
        return False

    def _here(self, address: str) -> str:
        """A link's path at our own base address: tokens go nowhere else. Raises FetchFailed where none is."""
        path = address
        if address.startswith(("http://", "https://")):
            path = re.sub(r"^https?://[^/]+", "", address)
            path = path.removeprefix(re.sub(r"^https?://[^/]+", "", self.base_url))
        if not path.startswith("/") or path.startswith("//"):
            raise FetchFailed("GitHub names a URL that can't be followed.")
        return path

    def _ask(
        self,
        key: Key,
        budget: str,
        verb: str,
        path: str,
        content: Any = None,
        parameters: Mapping[str, Any] | None = None,
        etag: str | None = None,
    ) -> _RawResponse:
        self.n_requests += 1
        given = {name: str(value) for name, value in (parameters or {}).items()}
        headers = {"Accept": "application/vnd.github+json", "X-GitHub-Api-Version": "2022-11-28"}
        if etag:
            headers["If-None-Match"] = etag
        try:
            raw = _RawResponse(*key.requester.requestJson(verb, path, given, headers, content, key.connection))
        except requests.Timeout as error:
            late = TooMuch if content is not None else FetchMustWait
            raise late(f"GitHub did not respond within {TIMEOUT_SECONDS} seconds.") from error
        except requests.RequestException as error:
            raise FetchMustWait("The connection to GitHub broke before the answer was complete.") from error
        key.note(budget, raw.headers)
        self.n_left = self._keys.n_left(budget)
        self.clock = server_time(raw.headers)
        return raw

    def not_found(self, what: str) -> FetchFailed:
        """What is said of something that is not there; of something that may not be read, the same."""
        return FetchFailed(f"{_not_there(what)}. Check the name.{self._keys.refused_ones}")

    def _refusal(self, raw: _RawResponse, what: str) -> FetchFailed | FetchMustWait:
        message = self._keys.hidden(_message(raw.text)) or "no reason given"
        subject = what or "This"
        if raw.status >= 500:
            return FetchMustWait(f"GitHub has an error of its own (status {raw.status}).{self._keys.refused_ones}")
        reasons = {
            401: "GitHub requires a token. Set GITHUB_TOKENS.",
            403: f"GitHub denies access to {subject}: {message}.",
            404: f"{_not_there(subject)}. Check the name.",
            410: f"{subject} has no issues at GitHub: they are switched off or gone.",
            451: f"{subject} is blocked at GitHub for legal reasons.",
        }
        reason = reasons.get(raw.status, f"GitHub answered with status {raw.status}: {message}.")
        return FetchFailed(f"{reason}{self._keys.refused_ones}")


def _not_there(subject: str) -> str:
    return f"{subject} is not at GitHub, or it is private and the token may not read it"


def _value(text: str) -> Any:
    """The value with its texts as they can be stored; raises ValueError and RecursionError."""
    value = json.loads(text)
    return all_storable(value) if _UNSTORABLE.search(text) else value


def _json(text: str) -> Any:
    """The value, or None where the text is not JSON."""
    try:
        return _value(text)
    except (ValueError, RecursionError):
        return None


def _readable(raw: _RawResponse) -> RestResponse:
    try:
        value = _value(raw.text)
    except (ValueError, RecursionError) as error:
        raise FetchMustWait("GitHub's answer is not valid JSON. It may be incomplete.") from error
    links = {rel: address for address, rel in _LINK.findall(raw.headers.get("link", ""))}
    page = _PAGE.search(links.get("last", ""))
    return RestResponse(value, links.get("next"), int(page.group(1)) if page else None, etag=raw.headers.get("etag"))


def _message(text: str) -> str:
    value = _json(text)
    message = value.get("message") if isinstance(value, Mapping) else None
    return message[:300].rstrip(".") if isinstance(message, str) else ""


def _problems(value: Any, hidden: Any) -> tuple[GraphqlProblem, ...]:
    rows = value.get("errors") if isinstance(value, Mapping) else None
    found = []
    for row in rows if isinstance(rows, list) else ():
        if isinstance(row, Mapping):
            more = row.get("extensions")
            kind = row.get("type") or (more.get("code") if isinstance(more, Mapping) else None) or ""
            path = row.get("path")
            message = hidden(str(row.get("message") or "no reason given"))[:300].rstrip(".")
            steps = tuple(path) if isinstance(path, list) else ()
            told = all(isinstance(step, str | int) for step in steps)
            found.append(GraphqlProblem(str(kind), message, steps if told else ()))
    return tuple(found)


def _stopper(problem: GraphqlProblem) -> FetchMustWait | None:
    """What makes the whole answer useless, whatever else it brought."""
    words = problem.message.lower()
    if problem.kind in _TOO_MUCH or "something went wrong while executing" in words or "timed out" in words:
        return TooMuch(f"GitHub could not give that much at once: {problem.message}.")
    if "cursor" in words and ("valid" in words or problem.kind == "INVALID_CURSOR_ARGUMENTS"):
        return BadCursor(f"GitHub lost the place in the list: {problem.message}.")
    return None


def _graphql_refusal(problems: Sequence[GraphqlProblem], what: str) -> FetchFailed | FetchMustWait:
    """Why nothing at all was given."""
    subject = what or "This"
    for problem in problems:
        if problem.kind == "NOT_FOUND":
            return FetchFailed(f"{_not_there(subject)}.")
        if problem.kind in _NOT_ALLOWED or _is_about_the_token(problem.message):
            refusal = GraphqlMissing if _is_about_the_token(problem.message) else FetchFailed
            return refusal(f"GitHub denies access to {subject}: {problem.message}.")
        if problem.kind in {"undefinedField", "argumentNotAccepted", "undefinedType"}:
            return GraphqlMissing(f"This GitHub's GraphQL interface is too old: {problem.message}.")
    reason = problems[0].message if problems else "it gave no reason"
    return FetchMustWait(f"GitHub answered with nothing: {reason}.")


def _is_about_the_token(message: str) -> bool:
    return "not accessible by" in message.lower()
