"""Rate limits: attempts counted in Redis, and per process while Redis is away."""

import hashlib
import threading
import time
from dataclasses import dataclass
from typing import NamedTuple

from django.core.cache import cache
from django.http import HttpRequest

from shared.addresses import block, client_address
from shared.errors import TooMany
from shared.foreign_requests import is_foreign


@dataclass(frozen=True)
class Limit:
    """So many tries in so many seconds."""

    name: str
    n_most: int
    seconds: int


NAME_AND_ADDRESS = Limit("sign-in", 10, 300)
ADDRESS = Limit("sign-in-address", 100, 300)
KNOWN_BROWSER = Limit("sign-in-browser", 10, 300)
"""Of a browser that has signed in as the same person before; no other limit of sign-in applies to it."""
CONFIRMATIONS = Limit("confirm-password", 10, 300)
"""Of a signed-in person who is asked for the password again."""
UNAVAILABLE_IDS = Limit("unavailable-ids", 20, 3600)
"""Of a person who creates something under an ID that is taken or reserved."""
RESETS_OF_EMAIL = Limit("reset-email", 3, 3600)
"""Of an address: e-mails with links for a new password, whatever number of accounts has it."""
RESETS_OF_ADDRESS = Limit("reset-address", 20, 3600)
LINKS = Limit("links", 60, 300)
UNKNOWN_NAMES = Limit("unknown-names", 10, 3600)
"""Of one person: user names that nobody has, typed where members are added.

Of one address: user names that no account was created under, typed where an invitation is accepted.
"""
INVITED_BY_EMAIL = Limit("invited-by-e-mail", 60, 3600)
"""Of one person, who writes to addresses that nobody here has to have."""


class ProcessCounts:
    """The counts of this process, for as long as Redis is away."""

    n_most = 50_000
    """Above this the counts that expire first are dropped."""

    def __init__(self) -> None:
        self._counts: dict[str, tuple[int, float]] = {}
        self._lock = threading.Lock()

    def up(self, key: str, seconds: float, by: int = 1) -> int:
        """The count after this try."""
        with self._lock:
            n, until = self._living(key)
            if not until and len(self._counts) >= self.n_most:
                self._drop()
            self._counts[key] = (max(0, n + by), until or time.time() + seconds)
            return self._counts[key][0]

    def get(self, key: str) -> tuple[int, float]:
        """The count, and until when it lasts; (0, 0.0) where there is none."""
        with self._lock:
            return self._living(key)

    def clear(self) -> None:
        with self._lock:
            self._counts.clear()

    def _living(self, key: str) -> tuple[int, float]:
        n, until = self._counts.get(key, (0, 0.0))
        return (n, until) if until > time.time() else (0, 0.0)

    def _drop(self) -> None:
        by_end = sorted(self._counts, key=lambda key: self._counts[key][1])
        for key in by_end[: self.n_most // 10]:
            del self._counts[key]


process_counts = ProcessCounts()


class CountedTry(NamedTuple):
    """A try that was counted: where, and how long to wait before the next one (0: it may be made)."""

    keys: list[str]
    wait_seconds: int


def count(*tried: tuple[Limit, str]) -> CountedTry:
    """Counts one try under each of these, up to the first that refuses it; by whom is kept as a digest."""
    keys: list[str] = []
    for limit, by in tried:
        key = _key(limit, by)
        n = counted_up(key, limit.seconds)
        keys.append(key)
        if n == 1:
            cache.set(f"{key}:until", time.time() + limit.seconds, limit.seconds)
        if n > limit.n_most:
            return CountedTry(keys, _wait_seconds(limit, key))
    return CountedTry(keys, 0)


def require_tries_left(limit: Limit, by: str) -> None:
    """Raises TooMany where no further try may be made; counts none."""
    key = _key(limit, by)
    if max(cache.get(key, 0), process_counts.get(key)[0]) >= limit.n_most:
        _refuse(_wait_seconds(limit, key))


def give_back(counted: CountedTry) -> None:
    """A try that succeeded is not counted."""
    for key in counted.keys:
        try:
            cache.decr(key)
        except ValueError:  # Redis is away
            process_counts.up(key, 1, -1)


def count_sign_in(request: HttpRequest, username: str, browser: str = "") -> CountedTry:
    """By name and address together, then by address; by `browser` alone where it has signed in as this person before.

    A name alone is never counted, so nobody can keep someone else out.
    """
    if browser:
        return count((KNOWN_BROWSER, browser))
    name, address = username.strip().casefold(), block(client_address(request))
    return count((NAME_AND_ADDRESS, f"{name} {address}"), (ADDRESS, address))


def require_room(request: HttpRequest, limit: Limit, by: str = "") -> CountedTry:
    """Raises TooMany where the visitor, or what is named, has tried too often.

    A link that a page of another site opened is no try of the visitor, and is not counted. Anyone can claim that of
    their request: nobody guesses a secret link by it, but names and e-mails are counted whatever it says.
    """
    by = by or block(client_address(request))
    if limit is LINKS and is_foreign(request):
        require_tries_left(limit, by)
        return CountedTry([], 0)
    return require_tries(limit, by)


def require_tries(limit: Limit, by: str) -> CountedTry:
    """Counts a try; raises TooMany where it is one too many."""
    counted = count((limit, by))
    _refuse(counted.wait_seconds)
    return counted


def _refuse(wait: int) -> None:
    if wait:
        raise TooMany(f"Too many attempts. Wait {in_minutes(wait)}, then try again.", wait_seconds=wait)


def in_minutes(seconds: int) -> str:
    minutes = max(1, round(seconds / 60))
    return "a minute" if minutes == 1 else f"{minutes} minutes"


def counted_up(key: str, seconds: int) -> int:
    """How many there are now; the first of a window makes the key, which goes with the window.

    While Redis is away, how many this process has counted since.
    """
    try:
        return int(cache.incr(key))
    except ValueError:
        if cache.add(key, 1, seconds):
            return 1
    try:
        return int(cache.incr(key))
    except ValueError:  # Redis is away
        return process_counts.up(key, seconds)


def _key(limit: Limit, by: str) -> str:
    return f"limit:{limit.name}:{hashlib.sha256(by.encode()).hexdigest()[:32]}"


def _wait_seconds(limit: Limit, key: str) -> int:
    now = time.time()
    until = cache.get(f"{key}:until") or process_counts.get(key)[1] or now + limit.seconds
    return max(0, int(until - now)) + 1
