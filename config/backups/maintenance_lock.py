"""Maintenance lock: a restore needs the data folder alone, and `up` pauses for it.

A restore holds `restore.lock`, which `up` checks a few times a second. `up` holds `serving.lock` while its processes
run. The kernel releases both, however either ends.
"""

import fcntl
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import IO

from config import embedded

ASIDE_SECONDS = 60.0
LOOK_SECONDS = 2.0


class NotAlone(Exception):
    """Someone else restores, or does not step aside; the message says who."""


@contextmanager
def alone(data_dir: Path) -> Iterator[None]:
    """Nobody else restores, and no `up` works on this data folder, until the block is left. Raises NotAlone."""
    with embedded.open_lock(data_dir, "restore") as wish, embedded.open_lock(data_dir, "serving") as serving:
        if not _taken_within(LOOK_SECONDS, wish):
            raise NotAlone("Another restore is at work on this data folder; wait until it is done.")
        if not _taken_within(ASIDE_SECONDS, serving):
            raise NotAlone("`manage.py up` does not step aside; stop it with Ctrl-C and start the restore again.")
        yield


def is_wanted(data_dir: Path) -> bool:
    """Whether someone restores, or waits to."""
    with embedded.open_lock(data_dir, "restore") as wish:
        return not embedded.try_lock(wish, fcntl.LOCK_SH)


class ServingClaim:
    """The claim of an `up` that its processes work on the data folder."""

    def __init__(self, data_dir: Path) -> None:
        self._data_dir = data_dir
        self._claim: IO[str] | None = None

    def take(self) -> bool:
        """False while someone restores."""
        if is_wanted(self._data_dir):
            return False
        claim = embedded.open_lock(self._data_dir, "serving")
        if not embedded.try_lock(claim, fcntl.LOCK_SH):
            claim.close()
            return False
        self._claim = claim
        return True

    def fileno(self) -> int:
        """The file of the claim. Processes that share it keep the claim until they end, also where `up` was killed."""
        assert self._claim
        return self._claim.fileno()

    def leave(self) -> None:
        if self._claim:
            with closing(self._claim):
                self._claim = None


def _taken_within(seconds: float, lock: IO[str]) -> bool:
    ends_at = time.monotonic() + seconds
    while not embedded.try_lock(lock, fcntl.LOCK_EX):
        if time.monotonic() > ends_at:
            return False
        time.sleep(0.05)
    return True
