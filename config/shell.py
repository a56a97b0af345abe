"""Runs a command of `manage.py` with the servers it needs, whether or not `up` is running."""

import os
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext

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
MIGRATING = 0x0C0C07D  # any number, as long as it is the same everywhere
WITHOUT_TABLES = {
    "dbshell",
    "flush",
    "migrate",
    "restore",
    "showmigrations",
    "sqlflush",
    "sqlmigrate",
    "sqlsequencereset",
}


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
        execute_from_command_line(list(arguments))
        return

    from config.embedded import ServersUnavailable

    try:
        with _servers():
            if command not in WITHOUT_TABLES:
                _make_tables_once()
            execute_from_command_line(list(arguments))
    except ServersUnavailable as error:
        sys.exit(str(error))


def needs_embedded() -> bool:
    """Whether at least one of the two servers is not given by the environment."""
    return not (os.environ.get("DATABASE_URL", "").strip() and os.environ.get("REDIS_URL", "").strip())


def _servers() -> AbstractContextManager[object]:
    if not needs_embedded():
        return nullcontext()
    from django.conf import settings

    from config import embedded

    return embedded.servers(settings.DATA_DIR)


def migrate() -> None:
    """Bring the tables up to date; processes that want to at the same moment do so one after another."""
    from django.core.management import call_command
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_lock(%s)", [MIGRATING])
        try:
            call_command("migrate", verbosity=0, interactive=False)
        finally:
            cursor.execute("SELECT pg_advisory_unlock(%s)", [MIGRATING])


def _make_tables_once() -> None:
    import django
    from django.db import connection

    django.setup()
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_lock_shared(%s)", [MIGRATING])  # another process may be making them
        cursor.execute("SELECT to_regclass('django_migrations'), pg_advisory_unlock_shared(%s)", [MIGRATING])
        found, _ = cursor.fetchone()
    if not found:
        migrate()
    connection.close()
