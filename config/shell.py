"""Shell of `manage.py`: runs a command with the servers that it needs, whether `up` runs or not."""

import os
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext

from shared import file_modes

WITHOUT_SERVERS = {
    "check",
    "collectstatic",
    "compilemessages",
    "diffsettings",
    "findstatic",
    "help",
    "makemessages",
    "makemigrations",
    "spectacular",
    "startapp",
    "startproject",
    "up",
    "version",
}
FOR_CALLER = {
    "collectstatic",
    "compilemessages",
    "dumpdata",
    "makemessages",
    "makemigrations",
    "spectacular",
    "startapp",
    "startproject",
}
"""Commands of Django whose files are no data of Concord: they follow the umask of who calls."""
WITHOUT_TABLES = {
    "backup",
    "dbshell",
    "flush",
    "migrate",
    "restore",
    "showmigrations",
    "sqlflush",
    "sqlmigrate",
    "sqlsequencereset",
    "upgrade",
}
LOCK_NOT_AVAILABLE = "55P03"
LOCK_TRIES, LOCK_PAUSE_SECONDS = 5, 2.0


def run(arguments: Sequence[str]) -> None:
    """Carry out `manage.py` with these arguments; the first is the program's name.

    A command that may use the database finds the embedded servers running (unless DATABASE_URL and REDIS_URL name
    others) and, on a new data folder, the tables made.
    """
    from django.conf import settings
    from django.core.exceptions import ImproperlyConfigured
    from django.core.management import execute_from_command_line

    try:
        settings.INSTALLED_APPS  # noqa: B018 - reads the settings, which refuse nonsense in a sentence
    except ImproperlyConfigured as error:
        sys.exit(str(error))
    command = arguments[1] if len(arguments) > 1 else "help"
    if command.startswith("-") or command in WITHOUT_SERVERS or {"-h", "--help"} & set(arguments[2:]):
        with file_modes.as_caller() if command in FOR_CALLER else nullcontext():
            execute_from_command_line(list(arguments))
        return

    from config import database
    from config.database import UnfitDatabase
    from config.embedded import ServersUnavailable

    try:
        with _servers():
            if command not in WITHOUT_TABLES:
                _make_tables_once()
            elif command == "migrate":
                _refuse_unfit()
                database.limit(database.MIGRATIONS)
            with file_modes.as_caller() if command in FOR_CALLER else nullcontext():
                execute_from_command_line(list(arguments))
    except (ServersUnavailable, UnfitDatabase) as error:
        sys.exit(str(error))
    except Exception as error:
        if (sentence := _sentence_for(error)) is None:
            raise
        sys.exit(sentence)


def _sentence_for(error: Exception) -> str | None:
    """The sentence of a command where something that Concord needs is away; None for any other error."""
    from config import outages
    from shared import disk_space

    outage = outages.outage_of(error)
    if outage is None:
        return None
    if outage in (outages.DATABASE_FULL, outages.FILES_FULL) or (outage is outages.DATABASE and disk_space.is_short()):
        return f"The disk is full. {outages.SAFE} Free some space, then run the command again."
    if outage is outages.TOO_SLOW:
        return f"The database stopped a statement that took too long. {outages.SAFE} Run the command again."
    said = str(error).strip().partition("\n")[0]
    return f"{outage.message.partition('. ')[0]}. {outages.SAFE} Run the command again when it does ({said})."


def needs_embedded() -> bool:
    """Whether at least one of the two servers is not given by the environment."""
    return not (os.environ.get("DATABASE_URL", "").strip() and os.environ.get("REDIS_URL", "").strip())


def _servers() -> AbstractContextManager[object]:
    if not needs_embedded():
        return nullcontext()
    from django.conf import settings

    from config import embedded

    return embedded.servers(settings.DATA_DIR)


def migrate(before: Callable[[], None] = lambda: None) -> None:
    """Bring the tables up to date; processes that want to at the same moment do so one after another.

    What `before` does is done in its turn, too; where it raises, nothing is migrated. Raises UnfitDatabase.
    """
    from django.core.management import call_command

    from config import database

    with database.turn_at_tables():
        database.refuse_unfit()
        before()
        with database.with_limits(database.MIGRATIONS):
            _call_until_not_locked(lambda: call_command("migrate", verbosity=0, interactive=False))


def _call_until_not_locked(migrate: Callable[[], object]) -> None:
    """Migrates, and tries again for a minute where a table is in use, so that nobody waits behind a migration for long.

    Raises TablesInUse. Each migration is whole or not there, so the next try goes on with the one that had to wait.
    """
    from django.db import OperationalError, connection

    from config import database

    for n_left in reversed(range(LOCK_TRIES)):
        try:
            migrate()
            return
        except OperationalError as error:
            if getattr(error.__cause__, "pgcode", None) != LOCK_NOT_AVAILABLE:
                raise
            connection.close()
            if not n_left:
                raise database.TablesInUse from error
            time.sleep(LOCK_PAUSE_SECONDS)


def _refuse_unfit() -> None:
    import django

    from config import database

    django.setup()
    database.refuse_unfit()


def _make_tables_once() -> None:
    import django
    from django.db import connection

    from config import database

    django.setup()
    with database.turn_at_tables(shared=True), connection.cursor() as cursor:  # another process may be making them
        cursor.execute("SELECT to_regclass('django_migrations')")
        (found,) = cursor.fetchone()
    if not found:
        migrate()
    connection.close()
