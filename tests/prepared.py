"""Databases of the tests: the tables are made once and kept between runs, and emptied by deleting what is in them."""

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, TypeVar

import django
import psycopg2
from django.apps import apps
from django.core.management import call_command
from django.db import OperationalError, connection

from config import embedded, vega

BASE_DIR = Path(__file__).resolve().parent.parent
NAME = "prepared"
"""A database with all tables and without a row: others are copied from it."""
LARGE = 4 << 20
"""A table of more bytes is emptied as Django does it, so that it is small again."""
EMPTY = f"""
DO $$
DECLARE
    place regclass;
    holds boolean;
    large boolean := false;
BEGIN
    SET LOCAL session_replication_role = replica;  -- what was appended can't be deleted else
    FOR place IN
        SELECT oid FROM pg_class
        WHERE relnamespace = 'public'::regnamespace AND relkind = 'r'
            AND relname NOT IN ('django_migrations', 'django_content_type', 'auth_permission')
        ORDER BY oid
    LOOP
        EXECUTE format('LOCK TABLE %s', place);  -- whoever still writes is waited for
        EXECUTE format('SELECT EXISTS (SELECT FROM %s)', place) INTO holds;
        IF holds THEN
            EXECUTE format('DELETE FROM %s', place);
        END IF;
        large := large OR pg_table_size(place) > {LARGE};
    END LOOP;
    PERFORM set_config('tests.large', large::text, false);
END $$;
SELECT current_setting('tests.large')::boolean;
"""

T = TypeVar("T")

_is_made = False
_kept = Path()


def template() -> str:
    """The name of a database with all tables, to copy another one from; an empty one where there is none yet."""
    return NAME if _is_made else "template0"


def fingerprint() -> str:
    """What the tables depend on: all migrations, and what carries them out."""
    digest = hashlib.sha256(f"{django.VERSION} {embedded.POSTGRES_MAJOR}".encode())
    for app in apps.get_app_configs():
        for path in sorted(Path(app.path).glob("migrations/*.py")):
            digest.update(f"{app.label} {path.name} ".encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def keep_in(folder: Path) -> None:
    """Where the tables of an earlier run are, and where those of this run go."""
    global _kept
    _kept = folder


def prepare(data_dir: Path) -> None:
    """Makes the database that others are copied from."""
    global _is_made
    with closing(psycopg2.connect(embedded.database_url(data_dir))) as side:
        side.autocommit = True
        side.cursor().execute(f"CREATE DATABASE {NAME} TEMPLATE template0")
    _is_made = True
    _fill(embedded.database_url(data_dir).replace(f"/{embedded.DATABASE}?", f"/{NAME}?"))


def first_start(data_dir: Path) -> None:
    """A data folder with PostgreSQL and all tables: to migrate would take a start 15 seconds of a processor."""
    with embedded.servers(data_dir):
        _fill(embedded.database_url(data_dir))


def _fill(address: str) -> None:
    """Makes all tables in an empty database: as an earlier run kept them, or by migrating, and keeps them."""
    dump = _kept / f"{fingerprint()}.sql"
    with (_kept / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # one process migrates, the others of this run wait for what it keeps
        if not dump.exists():
            _run(sys.executable, "manage.py", "migrate", "-v", "0", DATABASE_URL=address)
            for old in _kept.glob("*.sql"):
                old.unlink()
            part = dump.with_suffix(".part")
            _run(embedded.postgres_program("pg_dump"), "-f", part, "-d", address)
            part.rename(dump)
            return
    _run(embedded.postgres_program("psql"), "-qX", "-v", "ON_ERROR_STOP=1", "-1", "-f", dump, "-d", address)


def place_chart_script(data_dir: Path) -> None:
    """The script that draws charts, as an earlier run made it, or made and kept: to make it takes two seconds."""
    made = hashlib.sha256(f"{vega.vega_path()} {vega.MAKE}".encode()).hexdigest()[:16]
    kept, place = _kept / f"charts-{made}", data_dir / "static" / "vega"
    if kept.exists():
        shutil.copytree(kept, place, dirs_exist_ok=True)
    elif vega.vega_folder() == place.parent:
        with tempfile.TemporaryDirectory(dir=_kept) as part, suppress(OSError):  # another process was quicker
            Path(shutil.copytree(place, Path(part) / "charts")).rename(kept)


def _run(*command: object, **environment: str) -> None:
    done = subprocess.run(
        [str(each) for each in command],
        cwd=BASE_DIR, env={**os.environ, **environment}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def despite_deadlocks(work: Callable[[], T]) -> T:
    """What `work` hands back, which takes tables while someone may still read; it is done again after a deadlock.

    A reader can wait for a table that was taken already, while it holds one that was not.
    """
    for _ in range(4):
        try:
            return work()
        except (OperationalError, psycopg2.errors.DeadlockDetected) as error:
            if psycopg2.errors.DeadlockDetected not in {type(error), type(error.__cause__)}:
                raise
    return work()


def empty(used: Any) -> None:
    """Takes all rows away, as Django's flush does and many times as quick, for tests leave few rows in few tables."""

    def delete() -> bool:
        with used.cursor() as cursor:
            cursor.execute(EMPTY)
            return bool(cursor.fetchone()[0])

    large = despite_deadlocks(delete)
    if large:
        with used.cursor() as cursor:
            cursor.execute("SET session_replication_role = replica")
            call_command("flush", verbosity=0, interactive=False, database=used.alias, reset_sequences=False)
            cursor.execute("SET session_replication_role = origin")


def vacuum() -> None:
    """Makes room where tests took back what they wrote: nobody else does it there."""
    with closing(psycopg2.connect(**connection.get_connection_params())) as side:
        side.autocommit = True
        side.cursor().execute("VACUUM")


def empty_within(used: Any) -> None:
    """Deletes every row for as long as the transaction lasts that is under way, with the triggers in force again."""
    with used.cursor() as cursor:
        cursor.execute(EMPTY)
        cursor.execute("SET LOCAL session_replication_role = origin")
