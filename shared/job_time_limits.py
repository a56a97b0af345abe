"""Time limits of jobs, and the message of a job that was stopped at its limit."""

import time
from typing import Any

BATCHES_SECONDS, WHOLE_SECONDS = 900, 3600
BATCHES: dict[str, Any] = {"soft_time_limit": BATCHES_SECONDS, "time_limit": BATCHES_SECONDS + 60}
"""For a job that works in batches and hands over after a turn: so long a batch may take, about."""
WHOLE: dict[str, Any] = {"soft_time_limit": WHOLE_SECONDS, "time_limit": WHOLE_SECONDS + 60}
"""For a job that makes or stores something whole."""
TURN_SECONDS = 300
"""How long a job in batches works before it sends itself again, so that others get their turn."""
QUERY_CANCELED = "57014"


def stop_sentence(limit_seconds: int, advice: str) -> str:
    """The sentence for a job that was stopped."""
    return f"This job was stopped because it took longer than {limit_seconds // 60} minutes. {advice}"


def is_statement_limit(error: BaseException) -> bool:
    """Whether the database ended a statement because it took too long; the same again would take as long."""
    return getattr(error.__cause__, "pgcode", None) == QUERY_CANCELED


class TaskTurn:
    """The turn of one task at a job: without end in a command, some minutes in a worker."""

    def __init__(self, seconds: float | None) -> None:
        self._ends_at = None if seconds is None else time.monotonic() + seconds

    def is_over(self) -> bool:
        return self._ends_at is not None and time.monotonic() > self._ends_at
