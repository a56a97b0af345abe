"""Outages: which error means that the database, disk, Redis, or storage is away, and the message for it."""

import errno
from dataclasses import dataclass

import psycopg2
from django.db import Error as DatabaseProblem
from django.db import InterfaceError
from kombu.exceptions import OperationalError as BrokerAway
from redis.exceptions import RedisError

DISK_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
NOT_WRITABLE = {errno.EROFS, errno.EIO, errno.EACCES}
READ_ONLY = "25006"
TOO_LONG = {"57014", "25P03", "57P05"}  # by statement_timeout, or a transaction without a statement for too long
LOST = (
    "server closed the connection",
    "connection has been closed",
    "connection already closed",
    "connection not open",
    "no connection to the server",
    "could not receive data from server",
    "could not send data to server",
    "connection timed out",
    "lost synchronization with server",
    "server sent data",
    "SSL SYSCALL error",
    "SSL error",
)
"""How the driver puts it that a connection is lost; its class of error is OperationalError or not, as it happens."""
BUSY = {"40001", "40P01", "55P03"}  # a deadlock and the like: the same again goes well


@dataclass(frozen=True)
class Outage:
    """Something that Concord rests on and that is not there; `part` is its name in logs."""

    part: str
    message: str
    retry_seconds: int


SAFE = "Your saved work is safe."
DATABASE = Outage("database", f"The database does not respond. {SAFE} Try again in a moment.", 5)
CROWDED = Outage("database", f"The database has no free connection. {SAFE} Try again in a moment.", 5)
BUSY_DATABASE = Outage("database", "Someone else changed this at the same time. Nothing was saved. Try again.", 1)
READ_ONLY_DATABASE = Outage(
    "database", f"The database does not accept changes at the moment. {SAFE} Try again later.", 30
)
TOO_SLOW = Outage(
    "time limit",
    "This took longer than the server allows for one request, so it was stopped and nothing was saved. "
    f"{SAFE} Request less at once, or try again when the server is less busy.",
    30,
)
NO_ROOM = (
    f"The server's disk is full, so this was not saved. {SAFE} Tell the server's operator, and try again when "
    "there is space."
)
DATABASE_FULL, FILES_FULL = Outage("database's disk", NO_ROOM, 60), Outage("disk for files", NO_ROOM, 60)
FILES = Outage("storage of files", f"The server can't write its files at the moment. {SAFE} Try again later.", 30)
REDIS = Outage("redis", f"A part of the server does not respond. {SAFE} Try again in a moment.", 5)


def outage_of(error: BaseException | None) -> Outage | None:
    """What is away, read from an error or from what it was raised for; None where the error is of another kind."""
    while error is not None:
        if found := _outage(error):
            return found
        error = error.__cause__
    return None


def _outage(error: BaseException) -> Outage | None:
    match error:
        case InterfaceError() | psycopg2.InterfaceError():
            return DATABASE
        case DatabaseProblem():
            return _of_database(getattr(error.__cause__, "pgcode", None), error)
        case psycopg2.Error():
            return _of_database(error.pgcode, error)
        case RedisError() | BrokerAway():
            return REDIS
        case OSError():
            if error.errno in DISK_FULL:
                return FILES_FULL
            return FILES if error.errno in NOT_WRITABLE else None
    return FILES if type(error).__module__.partition(".")[0] == "botocore" else None


def _of_database(code: str | None, error: BaseException) -> Outage | None:
    """By the code that PostgreSQL gives (Appendix A of its manual); no code at all means that it did not answer."""
    if code is None:
        return DATABASE if type(error).__name__ == "OperationalError" or is_lost(error) else None
    if code in {"53100", "58030"}:
        return DATABASE_FULL
    if code == "53300":
        return CROWDED
    if code in BUSY:
        return BUSY_DATABASE
    if code in TOO_LONG:
        return TOO_SLOW
    if code == READ_ONLY:
        return READ_ONLY_DATABASE
    return DATABASE if code[:2] in {"08", "53", "57", "58"} else None


def is_lost(error: BaseException) -> bool:
    """Whether an error without a code is that of a connection that is gone."""
    said = str(error)
    return isinstance(error, DatabaseProblem | psycopg2.Error) and any(words in said for words in LOST)
