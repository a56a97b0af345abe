"""Asks GitHub through PyGithub: one request at a time, nothing repeated or slept over, every refusal in words."""

import json
import math
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any

import github
import requests

from ingest.errors import FetchFailed, FetchMustWait

PAGE_ROWS = 100
TIMEOUT_SECONDS = 20
SECONDARY_WAIT_SECONDS = 60
_LINK = re.compile(r'<([^>]+)>;\s*rel="(\w+)"')
_PAGE = re.compile(r"[?&]page=(\d+)")


@dataclass(frozen=True, slots=True)
class Answer:
    """A readable answer: the JSON value, and where the next and the last page are."""

    value: Any
    next: str | None
    last_page: int | None


class _Key:
    """One token (or none) with the time until which GitHub will not take it."""

    def __init__(self, base_url: str, token: str | None) -> None:
        self.blocked_until = 0.0
        self.refused = False
        api = github.Github(
            auth=github.Auth.Token(token) if token else None,
            base_url=base_url,
            timeout=TIMEOUT_SECONDS,
            user_agent="Concord",
            per_page=PAGE_ROWS,
            retry=0,
            seconds_between_requests=0,
            seconds_between_writes=0,
            lazy=True,
        )
        self.requester = api.requester


class Client:
    """GitHub's REST interface at `base_url`, with the tokens used in turn; `n_requests` counts what was asked."""

    def __init__(self, base_url: str, tokens: Sequence[str] = ()) -> None:
        self.base_url = base_url.rstrip("/")
        self.n_requests = 0
        self._keys = [_Key(self.base_url, token) for token in tokens] or [_Key(self.base_url, None)]
        self._has_tokens = bool(tokens)

    def repository(self, owner: str, name: str) -> Mapping[str, Any]:
        """The repository, where it is now if it moved; raises FetchFailed when it is not there."""
        value = self.get(f"/repos/{owner}/{name}", what=f"{owner}/{name}").value
        if not isinstance(value, Mapping) or "full_name" not in value:
            raise FetchMustWait("GitHub's answer about the repository can't be read.")
        return value

    def rows(self, path: str, parameters: Mapping[str, Any] | None = None, *, what: str = "") -> Answer:
        """A page of a listing; `path` may be the `next` of an earlier answer. Raises FetchFailed or FetchMustWait."""
        answer = self.get(path, parameters, what=what)
        if not isinstance(answer.value, list):
            raise FetchMustWait("GitHub answered with something that is not a list.")
        return answer

    def get(self, path: str, parameters: Mapping[str, Any] | None = None, *, what: str = "") -> Answer:
        """One answer, with another token when one is used up; raises FetchFailed or FetchMustWait."""
        if not path.startswith("/") and not path.startswith(f"{self.base_url}/"):
            path = self._here(path)
        while True:
            key = self._free_key()
            status, headers, text = self._ask(key, path, parameters)
            self._note_limit(key, headers)
            if status == 401 and self._has_tokens:
                key.refused = True
                continue
            if status in {403, 429} and self._limited(key, status, headers, text):
                continue
            if status != 200:
                raise _refusal(status, text, what)
            return _readable(headers, text)

    def _here(self, address: str) -> str:
        """A link's path at our own base address: tokens go nowhere else."""
        rest = re.sub(r"^https?://[^/]+", "", address)
        prefix = re.sub(r"^https?://[^/]+", "", self.base_url)
        return rest.removeprefix(prefix) if prefix else rest

    def _free_key(self) -> _Key:
        usable = [key for key in self._keys if not key.refused]
        if not usable:
            tokens = "The token in GITHUB_TOKENS is" if len(self._keys) == 1 else "All tokens in GITHUB_TOKENS are"
            raise FetchFailed(f"GitHub does not accept the token. {tokens} wrong or has expired; put in a new one.")
        free = [key for key in usable if key.blocked_until <= time.time()]
        if free:
            return free[0]
        wait_seconds = max(1.0, min(key.blocked_until for key in usable) - time.time())
        hint = "" if self._has_tokens else " Without a token GitHub allows 60 requests an hour; set GITHUB_TOKENS."
        raise FetchMustWait(
            f"GitHub's rate limit is used up; the run goes on when it is renewed.{hint}",
            wait_seconds=wait_seconds,
            counts=False,
        )

    def _ask(self, key: _Key, path: str, parameters: Mapping[str, Any] | None) -> tuple[int, Mapping[str, str], str]:
        self.n_requests += 1
        given = {name: str(value) for name, value in (parameters or {}).items()}
        accept = {"Accept": "application/vnd.github+json", "X-GitHub-Api-Version": "2022-11-28"}
        try:
            return key.requester.requestJson("GET", path, given, accept)
        except requests.Timeout as error:
            raise FetchMustWait(f"GitHub did not answer within {TIMEOUT_SECONDS} seconds.") from error
        except requests.RequestException as error:
            raise FetchMustWait("The connection to GitHub broke before the answer was complete.") from error
        except (RuntimeError, AssertionError) as error:
            raise FetchFailed(f"GitHub sends to an address that can't be followed: {error}") from error

    def _note_limit(self, key: _Key, headers: Mapping[str, str]) -> None:
        """A used-up token rests until its limit is renewed, by the server's clock."""
        if headers.get("x-ratelimit-remaining") == "0":
            reset = _number(headers.get("x-ratelimit-reset"))
            key.blocked_until = time.time() + max(1.0, (reset or 0) - _server_time(headers)) + 1

    def _limited(self, key: _Key, status: int, headers: Mapping[str, str], text: str) -> bool:
        """Whether a 403 or 429 is a limit; then the token rests."""
        wait = _number(headers.get("retry-after"))
        secondary = status == 429 or "secondary rate limit" in text.lower() or "abuse detection" in text.lower()
        if wait is not None or (secondary and key.blocked_until <= time.time()):
            key.blocked_until = time.time() + max(1.0, SECONDARY_WAIT_SECONDS if wait is None else wait)
        return key.blocked_until > time.time()


def _number(text: str | None) -> float | None:
    try:
        value = float(text) if text else None
    except ValueError:
        return None
    return value if value is not None and math.isfinite(value) else None


def _server_time(headers: Mapping[str, str]) -> float:
    try:
        return parsedate_to_datetime(headers["date"]).timestamp()
    except (KeyError, ValueError, TypeError):
        return time.time()


def _readable(headers: Mapping[str, str], text: str) -> Answer:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise FetchMustWait("GitHub's answer is not valid JSON: it may have been cut off.") from error
    links = {rel: address for address, rel in _LINK.findall(headers.get("link", ""))}
    page = _PAGE.search(links.get("last", ""))
    return Answer(value, links.get("next"), int(page.group(1)) if page else None)


def _refusal(status: int, text: str, what: str) -> FetchFailed | FetchMustWait:
    message = _message(text)
    subject = what or "This"
    if status >= 500:
        return FetchMustWait(f"GitHub has a fault of its own (status {status}).")
    reasons = {
        401: "GitHub asks for a token; set GITHUB_TOKENS.",
        403: f"GitHub does not let us read {subject}: {message or 'no reason given'}.",
        404: f"{subject} is not at GitHub, or it is private and the token may not read it; check the name.",
        410: f"{subject} has no issues at GitHub: they are switched off or gone.",
        451: f"{subject} is blocked at GitHub for legal reasons.",
    }
    return FetchFailed(reasons.get(status, f"GitHub answered with status {status}: {message or 'no reason given'}."))


def _message(text: str) -> str:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return ""
    message = value.get("message") if isinstance(value, Mapping) else None
    return message[:300].rstrip(".") if isinstance(message, str) else ""
