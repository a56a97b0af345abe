"""Restore of a backup: into an empty Concord, or in place of one that is backed up first."""

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg2
from django.conf import settings
from django.db import DatabaseError
from django.db import connection as django_connection
from django.db.migrations.loader import MigrationLoader
from redis import Redis
from redis.exceptions import RedisError

from config import shell
from config.backups import archive, maintenance_lock, postgres, stored_files
from config.backups import backup as making
from config.backups.archive import BackupArchive, Manifest
from config.backups.backup import Say
from config.backups.errors import NotRestored
from config.database import UnfitDatabase, refuse_unfit

OTHERS_SECONDS = 10.0
POOL = ", and PgBouncer, which keeps connections for minutes after that,"
OURS = {"accounts", "annotation", "config", "ingest", "taxonomy"}
QUEUES = ("celery", "unacked", "unacked_index", "unacked_mutex")
"""Where Celery keeps its messages in Redis."""


@dataclass(frozen=True, kw_only=True)
class RestoreResult:
    """What was restored, and found to be what the backup holds."""

    path: Path
    manifest: Manifest
    n_files: int
    n_migrations: int
    replaced: Path | None
    seconds: float

    @property
    def n_rows(self) -> int:
        return sum(table["rows"] for table in self.manifest.tables.values())

    def as_json(self) -> dict[str, Any]:
        return {
            "path": str(self.path),
            "id": self.manifest.id,
            "concord": self.manifest.concord,
            "made_at": self.manifest.made_at,
            "verified": True,
            "rows": self.n_rows,
            "files": self.n_files,
            "missing": self.manifest.missing,
            "migrations": self.n_migrations,
            "replaced": str(self.replaced) if self.replaced else None,
            "seconds": round(self.seconds, 2),
            "tables": self.manifest.tables,
        }


def restore_backup(path: Path, *, replace: bool = False, say: Say = lambda sentence: None) -> RestoreResult:
    """Restores a backup and verifies each table and file; killed anywhere, it can be run again.

    Files come first, under their own names; then the database in one transaction, which ends only where every table has
    the rows that were backed up; then migrations, if the backup is of an older Concord. Raises ConcordError.
    """
    began = time.monotonic()
    with BackupArchive(path.expanduser().absolute()) as backup, postgres.past_the_pool():
        manifest = backup.manifest
        _refuse_newer(manifest)
        say(f"Backup of Concord {manifest.concord}, made at {manifest.made_at}. Reading all of it once …")
        backup.check()
        _refuse_unfit()
        with _alone(say):
            if _is_half_done(manifest):
                say("An earlier restore of this backup stopped after the database was there; going on from there.")
                replaced, names = None, set[str]()
            else:
                replaced, names = _make_room(replace, say)
            _put_files(backup)
            if not _is_half_done(manifest):
                _put_database(backup, say)
            _empty_redis()
            n_migrations = _migrate(say)
            _finish(names - {member.name.removeprefix(archive.FILES) for member in manifest.under(archive.FILES)})
    return RestoreResult(
        path=path,
        manifest=manifest,
        n_files=len(manifest.under(archive.FILES)),
        n_migrations=n_migrations,
        replaced=replaced,
        seconds=time.monotonic() - began,
    )


def _refuse_newer(manifest: Manifest) -> None:
    known = set(MigrationLoader(None).disk_migrations or ())
    unknown = [f"{app}.{name}" for app, name in manifest.migrations if app in OURS and (app, name) not in known]
    if unknown or _as_numbers(manifest.concord) > _as_numbers(settings.CONCORD_VERSION):
        raise NotRestored(
            f"The backup was made by Concord {manifest.concord}, and this is {settings.CONCORD_VERSION}, which is "
            "older and would not understand it. Restore it with that version or a later one."
            + (f" Unknown here: {', '.join(unknown[:5])}." if unknown else "")
        )


def _as_numbers(version: str) -> list[int]:
    return [int(part) for part in version.split(".") if part.isdecimal()]


@contextmanager
def _alone(say: Say) -> Iterator[None]:
    """Nobody else works on the data folder or the database until the block is left."""
    try:
        with maintenance_lock.alone(settings.DATA_DIR):
            django_connection.close()
            with postgres.own_connection("concord restore") as connection:
                ends_at = time.monotonic() + OTHERS_SECONDS
                while others := postgres.other_connections(connection):
                    if time.monotonic() > ends_at:
                        raise NotRestored(
                            f"Others work on this database: {', '.join(others[:5])}. Stop web, worker and beat on "
                            "every machine (`docker compose stop web worker beat`)"
                            f"{POOL if settings.DIRECT_DATABASE else ''} and start the restore again."
                        )
                    time.sleep(0.1)
            yield
    except maintenance_lock.NotAlone as error:
        raise NotRestored(str(error)) from error
    except psycopg2.Error as error:
        raise NotRestored(f"The database does not answer: {str(error).strip()}") from error


def _is_half_done(manifest: Manifest) -> bool:
    with postgres.own_connection("concord restore") as connection:
        return postgres.unfinished_restore(connection) == manifest.id


def _make_room(replace: bool, say: Say) -> tuple[Path | None, set[str]]:
    """Backs up what is there, if someone said that it may go; the backup, and the names of the files it had."""
    with postgres.own_connection("concord restore") as connection:
        filled = postgres.filled_tables(connection)
        if not filled:
            return None, set()
        if not replace:
            raise NotRestored(
                f"This database is not empty ({', '.join(filled[:5])}{' …' if len(filled) > 5 else ''}). Restore into "
                "a new one (another DATA_DIR or DATABASE_URL), or use --replace, which backs up the existing "
                "data and replaces them."
            )
        has_tables = "django_migrations" in postgres.tables(connection)
        names = set(stored_files.names(connection)) if has_tables else set()
    made = making.make_backup_before("restore")
    say(f"What was there is now in {made.path}.")
    return made.path, names


def _put_files(backup: BackupArchive) -> None:
    try:
        for member in backup.manifest.under(archive.FILES):
            with backup.stream(member.name) as content:
                stored_files.put(member.name.removeprefix(archive.FILES), content, member.sha256)
        for member in backup.manifest.under(archive.KEPT):
            stored_files.put_data_file(member.name.removeprefix(archive.KEPT), b"".join(backup.pieces(member.name)))
    except OSError as error:
        raise NotRestored(
            f"The files could not be stored: {error.strerror or error}. The database is as it was; start again when "
            "that is mended."
        ) from error


def _put_database(backup: BackupArchive, say: Say) -> None:
    n_rows = sum(table["rows"] for table in backup.manifest.tables.values())
    say(f"Restoring {len(backup.manifest.tables)} tables with {n_rows:,} rows, and looking that each is what it was …")
    try:
        with backup.stream(archive.DUMP) as dump:
            postgres.rebuild(dump, backup=backup.manifest.id, expected=backup.manifest.tables)
    except (postgres.ToolFailed, OSError) as error:
        raise NotRestored(f"The database could not be restored, and is as it was: {error}") from error
    with postgres.own_connection("concord restore") as connection:
        found = postgres.objects(connection)
        if found != backup.manifest.objects:
            raise NotRestored(f"The database is not what it was: {found} instead of {backup.manifest.objects}.")


def _migrate(say: Say) -> int:
    """Brings the tables up to this version; how many migrations that took."""
    n_before = _n_migrations()
    shell.migrate()
    n_made = _n_migrations() - n_before
    if n_made:
        say(f"The backup is of an older Concord; {n_made} migration{'' if n_made == 1 else 's'} made.")
    return n_made


def _n_migrations() -> int:
    with postgres.own_connection("concord restore") as connection:
        [(found,)] = postgres.fetch_rows(connection, "SELECT count(*) FROM django_migrations")
    return int(found)


def _finish(names: set[str]) -> None:
    """Gathers statistics, removes files of what was replaced, and says in the database that all is done."""
    with postgres.own_connection("concord restore") as connection:
        postgres.fetch_rows(connection, "ANALYZE")
        for name in names:
            with suppress(OSError):
                stored_files.storage().delete(name)
        postgres.finish(connection)
    django_connection.close()


def _redis() -> Redis:
    return Redis.from_url(settings.REDIS_URL.replace("redis+socket://", "unix://"), socket_timeout=10)


def _refuse_unfit() -> None:
    try:
        refuse_unfit()
    except (UnfitDatabase, DatabaseError) as error:
        raise NotRestored(str(error)) from error
    try:
        with _redis() as redis:
            redis.ping()
    except (RedisError, OSError) as error:
        raise NotRestored(f"Redis does not answer, and what it still contains must be removed: {error}") from error


def _empty_redis() -> None:
    """Removes what belonged to the old state: what is cached of it, and messages about its rows."""
    with _redis() as redis:
        for key in redis.scan_iter(f"{settings.CACHES['default']['KEY_PREFIX']}:*", count=1000):
            redis.delete(key)
        redis.delete(*QUEUES)
