"""Two acts that meet: one happens while the other waits for its first lock."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from django.db import connection

LOCKS = re.compile(
    r"FOR (?:NO KEY )?UPDATE|FOR (?:KEY )?SHARE|pg_advisory_xact_lock|^\s*(?:INSERT|UPDATE|DELETE|WITH)\b"
)
OF_REQUESTS = re.compile(r"accounts_apitoken|accounts_session")
"""What every request may write, whatever it is about."""


class Meeting:
    """What happens at the first lock, and what it answered."""

    def __init__(self, act: Callable[[], Any]) -> None:
        self._act = act
        self._has_begun = False
        self.answer: Any = None

    def __call__(self, execute: Any, sql: Any, params: Any, many: bool, context: Any) -> Any:
        words = str(sql)
        if not self._has_begun and LOCKS.search(words) and not OF_REQUESTS.search(words):
            self._has_begun = True
            self.answer = self._act()
        return execute(sql, params, many, context)


@contextmanager
def meeting(act: Callable[[], Any]) -> Iterator[Meeting]:
    """Lets an act happen as soon as the block asks for its first lock, or writes, as if it had waited there for it.

    The block has read before what it reads without a lock. It must not be refused: its rollback takes the act back.
    """
    found = Meeting(act)
    with connection.execute_wrapper(found):
        yield found
