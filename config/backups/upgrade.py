"""Upgrade: migrations to this version of Concord, with a backup before where there are data."""

from django.conf import settings
from django.db import connection as django_connection
from django.db.migrations.executor import MigrationExecutor

from config import shell
from config.backups import archive, backup, postgres
from config.backups.backup import Backup, Say
from config.backups.restore import OURS
from ingest import queries
from shared.errors import ConcordError


class NotUpgraded(ConcordError):
    """The tables are as they were."""

    code = "not_upgraded"


def upgrade(say: Say) -> None:
    """Migrates what is to be migrated; a database with data is backed up first, and left alone where that fails.

    Processes that want to at the same moment do so one after another. Raises ConcordError.
    """
    found: list[Backup | None] = []
    shell.migrate(before=lambda: found.append(_before(say)))
    for made in found:
        if made:
            backup.remember(made)
            _list_open_uploads(say)


def _list_open_uploads(say: Say) -> None:
    uploads = queries.open_uploads()
    if not uploads:
        return
    say("Files uploaded from now on are private unless their uploader opens them. Everyone who signs in still sees:")
    for line in queries.open_uploads_as_lines(uploads):
        say(line)
    say("`manage.py uploads --close OWNER/NAME` makes one private; so does the page Operations.")


def _before(say: Say) -> Backup | None:
    """A backup of data that are about to be migrated; None where there are none, or nothing is migrated.

    Whether there are any is asked through a PgBouncer, too: only a backup needs PostgreSQL itself.
    """
    executor = MigrationExecutor(django_connection)
    known = set(executor.loader.disk_migrations or ())
    unknown = [
        f"{app}.{name}" for app, name in executor.loader.applied_migrations if app in OURS and (app, name) not in known
    ]
    if unknown:
        raise NotUpgraded(
            f"These data were last used by a Concord newer than this one ({settings.CONCORD_VERSION}), which would not "
            f"understand them ({', '.join(sorted(unknown)[:5])}). Start that version, or restore a backup made before "
            "the upgrade into a new data folder."
        )
    plan = executor.migration_plan(executor.loader.graph.leaf_nodes())
    django_connection.ensure_connection()
    if not plan or not postgres.filled_tables(django_connection.connection):
        return None
    try:
        made = backup.make_backup_before(settings.CONCORD_VERSION, is_migrating=True)
    except ConcordError as error:
        raise NotUpgraded(f"The tables are not migrated, because no backup could be made. {error.message}") from error
    n_made = len(plan)
    say(f"Backup before {n_made} migration{'' if n_made == 1 else 's'}: {made.path} ({made.n_bytes / 1e6:.1f} MB)")
    for old in archive.newest(made.path.parent, f"before-[0-9]*{backup.ENDING}")[settings.BACKUPS_KEPT :]:
        old.unlink(missing_ok=True)
    return made
