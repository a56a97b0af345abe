"""Backup: a snapshot of the database and the files that its rows name, made while people work."""

import logging
import socket
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic
from typing import Any

import psycopg2
from django.conf import settings
from django.core.files.base import ContentFile
from django.db import DatabaseError

from accounts.audit import record
from accounts.models import ServerEvent
from config import embedded
from config.backups import archive, postgres, stored_files
from config.backups.archive import Manifest
from config.backups.errors import BackupFailed
from config.database import turn_at_tables
from shared.errors import StorageAway

log = logging.getLogger(__name__)
NEWEST_POSTGRES = 18
ENDING = ".backup"
NO_ROOM = "53100"
Say = Callable[[str], None]


@dataclass(frozen=True, kw_only=True)
class Backup:
    """A backup that was made."""

    path: Path
    n_bytes: int
    sha256: str
    seconds: float
    manifest: Manifest

    @property
    def n_files(self) -> int:
        return len(self.manifest.under(archive.FILES))

    @property
    def n_rows(self) -> int:
        return sum(table["rows"] for table in self.manifest.tables.values())

    def as_json(self) -> dict[str, Any]:
        return {
            "path": str(self.path),
            "bytes": self.n_bytes,
            "sha256": self.sha256,
            "seconds": round(self.seconds, 2),
            "id": self.manifest.id,
            "concord": self.manifest.concord,
            "made_at": self.manifest.made_at,
            "rows": self.n_rows,
            "files": self.n_files,
            "missing": self.manifest.missing,
            "tables": self.manifest.tables,
        }


def make_backup(path: Path, *, is_migrating: bool = False) -> Backup:
    """Writes a backup to `path`, or into that folder under the time as a name; whole or not at all.

    Reads one snapshot, so nothing that comes meanwhile is half in it. Holds off migrations unless it is called by who
    holds them off already (`is_migrating`). Raises BackupFailed.
    """
    began = monotonic()
    target = _target(path)
    try:
        with (
            nullcontext() if is_migrating else turn_at_tables(shared=True),
            archive.atomic_file(target) as file,
            archive.ArchiveWriter(file) as writing,
            _snapshot() as (connection, snapshot),
        ):
            manifest = _about(connection)
            missing = _add_files(writing, stored_files.names(connection))
            with postgres.open_dump(snapshot) as dump:
                writing.add(archive.DUMP, dump)
            manifest = replace(
                manifest, tables=postgres.count_and_sum(connection), objects=postgres.objects(connection),
                members=writing.members, missing=missing,
            )  # fmt: skip
            n_bytes, sha256 = writing.close(manifest)
    except embedded.ServersUnavailable as error:
        raise BackupFailed(str(error)) from error
    except (psycopg2.Error, DatabaseError) as error:
        if getattr(error, "pgcode", "") == NO_ROOM:
            raise BackupFailed(
                f"PostgreSQL has no room left on its disk, and needs a little even to be read ({str(error).strip()}). "
                "Make room there, a few megabytes will do, and start the backup again."
            ) from error
        raise BackupFailed(f"The database did not give its rows: {str(error).strip()}") from error
    except postgres.ToolFailed as error:
        raise BackupFailed(f"The database could not be dumped: {error}") from error
    except StorageAway as error:
        raise BackupFailed(f"No backup was made: {error.strerror}.") from error
    except OSError as error:
        raise BackupFailed(f"{target} can't be written: {error.strerror or error}. Nothing is left of it.") from error
    made = Backup(path=target, n_bytes=n_bytes, sha256=sha256, seconds=monotonic() - began, manifest=manifest)
    if not is_migrating:  # the audit may be a table that is about to be made
        remember(made)
    return made


def make_backup_before(what: str, *, is_migrating: bool = False) -> Backup:
    """A backup in DATA_DIR/backups, named for what is about to be done. Raises BackupFailed."""
    folder = settings.DATA_DIR / "backups"
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise BackupFailed(f"There is no place for it: {folder} can't be made ({error.strerror}).") from error
    return make_backup(folder / f"before-{what}-{_now()}{ENDING}", is_migrating=is_migrating)


def last_backup() -> dict[str, Any] | None:
    """What the server's audit holds about the last backup, on whatever machine it was made: path, bytes, made_at …"""
    event = ServerEvent.objects.filter(verb=postgres.BACKUP_MADE).first()
    return event.detail if event else None


def _now() -> str:
    return datetime.now(UTC).strftime("%Y%m%d-%H%M%S")


def _target(path: Path) -> Path:
    path = path.expanduser().absolute()
    if path.is_dir():
        path = path / f"concord-{_now()}{ENDING}"
    if not path.parent.is_dir():
        raise BackupFailed(f"There is no folder {path.parent}. Make it (`mkdir -p '{path.parent}'`) and start again.")
    if path.exists() and not archive.is_backup(path):
        raise BackupFailed(
            f"{path} already exists and is not a Concord backup, so it was not overwritten. Choose another name."
        )
    return path


@contextmanager
def _snapshot() -> Iterator[tuple[Any, str]]:
    """A connection that sees the database as it is at one moment, and the name under which others see the same."""
    with postgres.own_connection("concord backup") as connection:
        if connection.server_version // 10_000 > NEWEST_POSTGRES:
            raise BackupFailed(
                f"This is PostgreSQL {connection.server_version // 10_000}, and the pg_dump that comes with Concord "
                f"reads servers up to {NEWEST_POSTGRES}. Back the server up by its own means."
            )
        postgres.fetch_rows(connection, "BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        [(found, snapshot)] = postgres.fetch_rows(
            connection, "SELECT to_regclass('public.django_migrations'), pg_export_snapshot()"
        )
        if not found:
            raise BackupFailed(
                "There is nothing to back up: this database has no tables of Concord. Is DATA_DIR right?"
            )
        yield connection, snapshot


def _about(connection: Any) -> Manifest:
    applied = postgres.fetch_rows(connection, "SELECT app, name FROM django_migrations ORDER BY app, name")
    return Manifest(
        id=str(uuid.uuid4()),
        concord=settings.CONCORD_VERSION,
        made_at=datetime.now(UTC).isoformat(timespec="seconds"),
        postgres=connection.server_version // 10_000,
        migrations=[list(row) for row in applied],
    )


def _add_files(writing: archive.ArchiveWriter, names: list[str]) -> list[str]:
    """Takes the stored files in; gives the names of those that are gone."""
    missing = []
    for name in names:
        try:
            source = stored_files.storage().open(name)
        except FileNotFoundError:
            missing.append(name)
            continue
        with source:
            writing.add(archive.FILES + name, source)
    for path in stored_files.data_files():
        with ContentFile(path.read_bytes()) as source:
            writing.add(archive.KEPT + path.name, source)
    return missing


def remember(made: Backup) -> None:
    """Write into the server's audit that it was made; passed over where the database cannot take that."""
    told = {name: value for name, value in made.as_json().items() if name not in ("tables", "missing")}
    try:
        record(verb=postgres.BACKUP_MADE, machine=socket.gethostname(), **told)
    except DatabaseError:
        log.warning("The audit does not show that a backup was made", exc_info=True)
