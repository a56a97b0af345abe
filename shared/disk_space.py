"""Disk space of the data folder, with a reserve for labeling.

A full disk stops the database. So what takes much space and can wait (imports, the search index, files) stops while
less than the reserve is free. Labels may use the reserve.
"""

import shutil
import time

from django.conf import settings

from shared.errors import ConcordError

RESERVE_MOST, RESERVE_LEAST = 500 << 20, 64 << 20
LOOK_SECONDS = 1.0
NOTHING = "Nothing was saved. Try again when there is space. The Operations page shows how much is free."


class NoRoom(ConcordError):
    """Less than the reserve is free, and this would take more of it."""

    status = 503
    code = "unavailable"

    def __init__(self, what: str = NOTHING) -> None:
        super().__init__(f"The server's disk is almost full, and the rest is reserved for labeling. {what}")


class _DiskReading:
    """What a look at the disk found last: a batch has no second one made for it."""

    at = -1e9
    is_short = False


def reserve(n_total: int) -> int:
    """Bytes kept free of a disk of this size: DISK_RESERVE_MEGABYTES, else 2% of it, from 64 to 500 MB."""
    given: int = settings.DISK_RESERVE_BYTES
    return given or max(RESERVE_LEAST, min(RESERVE_MOST, n_total // 50))


def is_short() -> bool:
    """Whether less than the reserve is free; a disk that can't be looked at is not short. Looks once a second."""
    if time.monotonic() - _DiskReading.at > LOOK_SECONDS:
        try:
            usage = shutil.disk_usage(settings.DATA_DIR)
            _DiskReading.is_short = usage.free < reserve(usage.total)
        except OSError:
            _DiskReading.is_short = False
        _DiskReading.at = time.monotonic()
    return _DiskReading.is_short


def require_room(what: str = NOTHING) -> None:
    """Raises NoRoom while less than the reserve is free."""
    if is_short():
        raise NoRoom(what)


def forget() -> None:
    """Has the disk looked at again."""
    _DiskReading.at = -1e9
