"""Tokens of GitHub in rotation: remaining requests, waiting times, and one connection for each request."""

import math
import time
from collections.abc import ItemsView, Mapping, Sequence
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import Any

import requests
import requests.adapters

from ingest.errors import FetchFailed, FetchMustWait
from ingest.identifiers import NUMBER_MAX

TIMEOUT_SECONDS = 20
SECONDARY_WAIT_SECONDS = 60
LONGEST_WAIT_SECONDS = 3600
LONGEST_REST_SECONDS = 24 * 3600
"""After which a token is tried again, whatever a header says."""
SPARE_SECONDS = 1
EVERYTHING = ""
LIMITS = frozenset({"x-ratelimit-remaining", "x-ratelimit-limit", "x-ratelimit-reset"})
SHORTEST_SECRET = 8
REQUESTS_WITHOUT_TOKEN = 60
"""What GitHub allows an address in an hour that sends no token."""


class _PlainResponse:
    """An answer as PyGithub expects it, without what makes PyGithub ask again by itself."""

    def __init__(self, response: requests.Response) -> None:
        self.status = response.status_code
        self._response = response

    def getheaders(self) -> ItemsView[str, str]:
        given = {name.lower(): value for name, value in self._response.headers.items()}
        # PyGithub reads these as numbers, too, and raises where they are none.
        headers = {k: v for k, v in given.items() if k not in LIMITS or number_in(v) is not None}
        if "location" in headers:
            headers["redirected-to"] = headers.pop("location")
        return headers.items()

    def read(self) -> str:
        self._response.encoding = "utf-8"
        return self._response.text


class _Session(requests.Session):
    """Looks for no redirect: requests would read on in the body of one, even where it broke off."""

    def get_redirect_target(self, resp: requests.Response) -> None:
        return None


class _Connection:
    """Asks once: PyGithub's own would follow a 301 without its parameters, and sleep a minute over a 202."""

    def __init__(self, base_url: str) -> None:
        self._origin = "/".join(base_url.split("/")[:3])
        self._session = _Session()
        self._session.auth = lambda request: request  # a .netrc has no say
        for scheme in ("https://", "http://"):
            self._session.mount(scheme, requests.adapters.HTTPAdapter(max_retries=0))

    def request(self, verb: str, url: str, content: Any, headers: dict[str, str], stream: bool = False) -> None:
        self._asked = {"method": verb, "url": f"{self._origin}{url}", "data": content, "headers": headers}

    def getresponse(self) -> _PlainResponse:
        response = self._session.request(**self._asked, timeout=TIMEOUT_SECONDS, allow_redirects=False)
        if response.status_code == 202:
            raise FetchMustWait("GitHub is still preparing its answer.")
        return _PlainResponse(response)

    def close(self) -> None:
        self._session.close()


class Key:
    """One token (or none): its place among the tokens, and for each budget what is left and until when it rests.

    GitHub counts REST ("core") and GraphQL apart; a secondary limit stops the token for everything.
    """

    is_slowed = False
    """Whether it was a secondary limit that stopped it last: it asked too quickly, and the hour is not used up."""

    def __init__(self, base_url: str, token: str | None, place: int, n_slowed: int) -> None:
        self.token = token
        self.place = place
        self.refused = False
        self.n_slowed = n_slowed
        self.left: dict[str, int] = {}
        self.allowed: dict[str, int] = {}
        self._rests_until: dict[str, float] = {}
        self.connection: Any = _Connection(base_url)
        from github import Auth, Github  # 260 modules, which only a process that fetches needs

        self.requester = Github(
            auth=Auth.Token(token) if token else None,
            base_url=base_url,
            user_agent="Concord",
            retry=0,
            seconds_between_requests=0,
            seconds_between_writes=0,
            lazy=True,
        ).requester

    def rests_until(self, budget: str) -> float:
        return max(self._rests_until.get(budget, 0.0), self._rests_until.get(EVERYTHING, 0.0))

    def note(self, budget: str, headers: Mapping[str, str]) -> None:
        """What the headers say is left; a used-up token rests until its limit is renewed, by the server's clock."""
        remaining = number_in(headers.get("x-ratelimit-remaining"))
        if remaining is None:
            return
        budget = headers.get("x-ratelimit-resource") or budget
        self.left[budget] = _count(remaining)
        if (allowed := number_in(headers.get("x-ratelimit-limit"))) is not None:
            self.allowed[budget] = _count(allowed)
        if remaining <= 0:
            self.rest_until_renewed(budget, headers)

    def rest_until_renewed(self, budget: str, headers: Mapping[str, str]) -> None:
        self.is_slowed = False
        reset = number_in(headers.get("x-ratelimit-reset")) or 0
        self._rest(budget, max(1.0, reset - server_time(headers)) + SPARE_SECONDS)

    def limited(self, budget: str, status: int, headers: Mapping[str, str], text: str) -> bool:
        """Whether a refusal is a limit, by GitHub's order: Retry-After, a used-up budget, a secondary limit.

        A secondary limit that does not say how long is a minute, and twice as long each time it repeats.
        """
        words = text.lower()
        names_secondary = "secondary rate limit" in words or "abuse detection" in words
        is_used_up = headers.get("x-ratelimit-remaining") == "0" and not names_secondary
        wait = number_in(headers.get("retry-after"))
        if wait is not None:
            self._rest(EVERYTHING, max(1.0, wait))
            self.is_slowed = not is_used_up
            return True
        if is_used_up:
            return True
        if status == 429 or names_secondary:
            self.is_slowed = True
            self.n_slowed += 1
            seconds = SECONDARY_WAIT_SECONDS * 2 ** min(self.n_slowed - 1, 10)
            self._rest(EVERYTHING, min(seconds, LONGEST_WAIT_SECONDS))
            return True
        if "rate limit exceeded" in words:
            self.rest_until_renewed(budget, headers)
            return True
        return False

    def _rest(self, budget: str, seconds: float) -> None:
        until = time.time() + min(seconds, LONGEST_REST_SECONDS)
        self._rests_until[budget] = max(self._rests_until.get(budget, 0.0), until)


class Keys:
    """The tokens of a run. One is used until it rests; then the one with most left takes over."""

    def __init__(self, base_url: str, tokens: Sequence[str], n_slowed: int = 0) -> None:
        self.given = bool(tokens)
        given: Sequence[str | None] = tokens or [None]
        self._keys = [Key(base_url, token, place, n_slowed) for place, token in enumerate(given, 1)]
        self._in_use = self._keys[0]

    def free(self, budget: str) -> Key:
        """A key that may ask now; raises FetchMustWait with the time until one may, FetchFailed if none ever will."""
        usable = [key for key in self._keys if not key.refused]
        if not usable:
            tokens = "The token in GITHUB_TOKENS is" if len(self._keys) == 1 else "All tokens in GITHUB_TOKENS are"
            raise FetchFailed(f"GitHub does not accept the token. {tokens} wrong or has expired. Set a new one.")
        now = time.time()
        free = [key for key in usable if key.rests_until(budget) <= now]
        if free:
            if self._in_use not in free:
                self._in_use = max(free, key=lambda key: (key.left.get(budget, math.inf), -key.place))
            return self._in_use
        first = min(usable, key=lambda key: key.rests_until(budget))
        if first.is_slowed:
            reason = (
                "GitHub asked Concord to slow down (secondary rate limit: too many requests within a short time). The "
                "hourly limit is not used up. The run continues after the pause that GitHub requested."
            )
        else:
            hint = f" Without a token GitHub allows {REQUESTS_WITHOUT_TOKEN} requests an hour; set GITHUB_TOKENS."
            reason = (
                "GitHub's hourly rate limit (primary rate limit) is used up. The run continues when it is renewed."
                f"{'' if self.given else hint}"
            )
        raise FetchMustWait(
            f"{reason}{self.refused_ones}",
            wait_seconds=max(1.0, first.rests_until(budget) - now),
            counts=False,
            n_slowed=min(key.n_slowed for key in usable),
        )

    @property
    def refused_ones(self) -> str:
        """Which tokens GitHub does not accept, in words; empty where there is nothing to say."""
        places = [key.place for key in self._keys if key.refused]
        if not places:
            return ""
        named = ", ".join(map(str, places))
        return f" GitHub does not accept token number {named} in GITHUB_TOKENS: it is wrong or has expired."

    def n_left(self, budget: str) -> int | None:
        """What the tokens may still ask, as far as GitHub said; None before it said anything."""
        known = [key.left[budget] for key in self._keys if budget in key.left and not key.refused]
        return _count(sum(known)) if known else None

    def n_allowed(self, budget: str) -> int | None:
        """What one token may ask in an hour, as far as GitHub said."""
        return next((key.allowed[budget] for key in self._keys if budget in key.allowed), None)

    def hidden(self, text: str) -> str:
        """The text without any token in it."""
        for key in self._keys:
            if key.token and len(key.token) >= SHORTEST_SECRET:
                text = text.replace(key.token, "…")
        return text


def number_in(text: str | None) -> float | None:
    """A finite number in a header."""
    try:
        value = float(text) if text else None
    except ValueError:
        return None
    return value if value is not None and math.isfinite(value) else None


def _count(number: float) -> int:
    """A count as a column holds it."""
    return int(min(max(0, number), NUMBER_MAX))


def server_time(headers: Mapping[str, str]) -> float:
    """GitHub's clock at an answer, in seconds of the epoch; ours where it does not say."""
    try:
        return parsedate_to_datetime(headers["date"]).astimezone(UTC).timestamp()
    except (KeyError, ValueError, TypeError, OverflowError):
        return time.time()
