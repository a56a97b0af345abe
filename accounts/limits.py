"""How often something may be tried, by whom; counted in the cache, from the first try on.

While Redis is away nothing is counted and everybody may go on: the passwords still have to be right.
"""

import hashlib
import logging
import time
from dataclasses import dataclass
from typing import NamedTuple

from django.core.cache import cache
from django.http import HttpRequest

from accounts.addresses import block, client_address
from accounts.errors import TooMany

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Limit:
    """So many tries in so many seconds."""

    name: str
    n_most: int
    seconds: int


NAME_AND_ADDRESS = Limit("sign-in", 10, 300)
NAME = Limit("sign-in-name", 60, 300)
ADDRESS = Limit("sign-in-address", 100, 300)
RESETS_OF_EMAIL = Limit("reset-email", 3, 3600)
RESETS_OF_ADDRESS = Limit("reset-address", 20, 3600)
LINKS = Limit("links", 60, 300)
INVITED_BY_EMAIL = Limit("invited-by-e-mail", 60, 3600)
"""Of one person, who writes to addresses that nobody here has to have."""


class Counted(NamedTuple):
    """A try that was counted: where, and how long to wait before the next one (0: it may be made)."""

    keys: list[str]
    wait_seconds: int


def count(*tried: tuple[Limit, str]) -> Counted:
    """Counts one try under each of these; by whom is kept as a digest."""
    now, keys, wait = time.time(), [], 0
    for limit, by in tried:
        key = f"limit:{limit.name}:{hashlib.sha256(by.encode()).hexdigest()[:32]}"
        try:
            n = counted_up(key, limit.seconds)
            if n == 1:
                cache.set(f"{key}:until", now + limit.seconds, limit.seconds)
            if n > limit.n_most:
                until = cache.get(f"{key}:until", now + limit.seconds)
                wait = max(wait, int(until - now) + 1)
        except ValueError:  # Redis is away
            logger.warning("Redis does not answer, so tries are not counted")
            return Counted([], 0)
        keys.append(key)
    return Counted(keys, wait)


def give_back(counted: Counted) -> None:
    """A try that went well is none to be afraid of."""
    for key in counted.keys:
        try:
            cache.decr(key)
        except ValueError:  # Redis is away
            return


def count_sign_in(request: HttpRequest, username: str) -> Counted:
    """By name and address together, by each alone; the last two are wide, or one could lock out others."""
    name, address = username.strip().casefold(), block(client_address(request))
    return count((NAME_AND_ADDRESS, f"{name} {address}"), (NAME, name), (ADDRESS, address))


def require_room(request: HttpRequest, limit: Limit, by: str = "") -> None:
    """Raises TooMany where the visitor, or what is named, has tried too often."""
    wait = count((limit, by or block(client_address(request)))).wait_seconds
    if wait:
        raise TooMany(f"This was tried too often. Wait {in_minutes(wait)}, then try again.", wait_seconds=wait)


def in_minutes(seconds: int) -> str:
    minutes = max(1, round(seconds / 60))
    return "a minute" if minutes == 1 else f"{minutes} minutes"


def counted_up(key: str, seconds: int) -> int:
    """How many there are now; the first of a window makes the key, which goes with the window."""
    try:
        return cache.incr(key)
    except ValueError:
        return 1 if cache.add(key, 1, seconds) else cache.incr(key)
