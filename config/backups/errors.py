"""Errors of backups."""

from shared.errors import ConcordError


class BackupFailed(ConcordError):
    """No backup was made, and nothing is left of the attempt."""

    code = "backup_failed"


class NoDirectWay(BackupFailed):
    """Only a PgBouncer is known, which gives each transaction another connection."""


class Damaged(ConcordError):
    """The file is no backup, or not all of it."""

    code = "damaged"


class NotRestored(ConcordError):
    """Nothing was restored; what was there is as it was."""

    code = "not_restored"
