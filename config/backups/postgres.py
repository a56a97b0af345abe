"""PostgreSQL side of a backup: dump, counts, checksums, and rebuilding in one transaction."""

import base64
import json
import os
import re
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from typing import IO, Any, cast

import psycopg2
import psycopg2.extensions
from django.conf import settings
from django.db import connections

from config import embedded
from config.backups.errors import NoDirectWay

PIECE = 1 << 20
LOCK_SECONDS = 15
UNFINISHED = "concord_unfinished_restore"
"""A table that is there from the moment a restored database is to be seen until all else is done, too."""
BACKUP_MADE = "backup made"
"""The verb of a line of the server's audit. Such lines alone are no data that a restore would replace."""
IN_EVERY_DATABASE = {"django_migrations", "django_content_type", "auth_permission", UNFINISHED}
"""Tables whose rows migrations write."""

SUMS = "count(*), coalesce(sum(hashtextextended(whole_row::text, 0)), 0)::text"
SAME_TEXT = (
    "SET datestyle = 'ISO, YMD'; SET intervalstyle = postgres; SET timezone = 'UTC';"
    " SET extra_float_digits = 1; SET bytea_output = hex"
)
TABLES = """
SELECT relname FROM pg_class
WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') AND relname <> %s ORDER BY relname
"""
OBJECTS = """
SELECT jsonb_build_object(
    'triggers', (SELECT count(*) FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
                 WHERE NOT t.tgisinternal AND c.relnamespace = 'public'::regnamespace),
    'functions', (SELECT count(*) FROM pg_proc WHERE pronamespace = 'public'::regnamespace),
    'constraints', (SELECT count(*) FROM pg_constraint
                    WHERE connamespace = 'public'::regnamespace AND contype IN ('p', 'u', 'c', 'f', 'x')),
    'indexes', (SELECT count(*) FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('i', 'I')),
    'sequences', (SELECT count(*) FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'S'))
"""
_OF_ONE_SERVER = re.compile(
    rb"SET transaction_timeout = |ALTER TABLE ONLY public\.\S+ ALTER COLUMN \S+ SET \([\w= ,.-]+\);$"
)
EMPTY = """
DO $$
DECLARE each record;
BEGIN
    FOR each IN SELECT c.oid::regclass AS name FROM pg_class c
        WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p')
    LOOP EXECUTE format('DROP TABLE IF EXISTS %s CASCADE', each.name); END LOOP;
    FOR each IN SELECT c.oid::regclass AS name FROM pg_class c
        WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'S'
    LOOP EXECUTE format('DROP SEQUENCE IF EXISTS %s CASCADE', each.name); END LOOP;
    FOR each IN SELECT p.oid::regprocedure AS name FROM pg_proc p
        WHERE p.pronamespace = 'public'::regnamespace AND p.prokind IN ('f', 'p')
        AND NOT EXISTS (SELECT 1 FROM pg_depend d WHERE d.objid = p.oid AND d.deptype = 'e')
    LOOP EXECUTE format('DROP ROUTINE IF EXISTS %s CASCADE', each.name); END LOOP;
END $$;
"""
VERIFY = """
DO $$
DECLARE each record; found_rows bigint; found_checksum text; wrong text := '';
BEGIN
    FOR each IN SELECT key AS name, (value->>'rows')::bigint AS n, value->>'checksum' AS checksum
        FROM jsonb_each(convert_from(decode('TABLES', 'base64'), 'UTF8')::jsonb)
    LOOP
        EXECUTE format(
            'SELECT SUMS FROM public.%I whole_row', each.name) INTO found_rows, found_checksum;
        IF found_rows <> each.n OR found_checksum <> each.checksum THEN
            wrong := wrong || format(' %s (%s rows, there were %s)', each.name, found_rows, each.n);
        END IF;
    END LOOP;
    IF wrong <> '' THEN RAISE EXCEPTION 'not what was backed up:%', wrong; END IF;
END $$;
"""


class ToolFailed(Exception):
    """One of PostgreSQL's programs did not do it; the message is what it said."""


@contextmanager
def own_connection(name: str) -> Iterator[Any]:
    """A connection of its own to the database, each statement by itself, known to the server under a name."""
    with closing(psycopg2.connect(**{**_parameters(), "application_name": name})) as connection:
        connection.autocommit = True
        yield connection


@contextmanager
def past_the_pool() -> Iterator[None]:
    """Django goes past a PgBouncer, too, until the block is left: what a pool keeps looks like someone at work."""
    if not settings.DIRECT_DATABASE:
        yield
        return
    wrapper = connections["default"]
    wrapper.close()
    before = dict(wrapper.settings_dict)
    wrapper.settings_dict.update(settings.DIRECT_DATABASE, DISABLE_SERVER_SIDE_CURSORS=False)
    try:
        yield
    finally:
        wrapper.close()
        wrapper.settings_dict.clear()
        wrapper.settings_dict.update(before)


def _parameters() -> dict[str, Any]:
    """How PostgreSQL itself is reached. Raises NoDirectWay where only a PgBouncer is known."""
    wrapper = cast(Any, connections.create_connection("default"))
    if settings.DIRECT_DATABASE:
        wrapper.settings_dict = {**wrapper.settings_dict, **settings.DIRECT_DATABASE}
    elif wrapper.settings_dict.get("DISABLE_SERVER_SIDE_CURSORS"):
        raise NoDirectWay(
            "DATABASE_URL leads to a PgBouncer, and a snapshot needs PostgreSQL itself: set DIRECT_DATABASE_URL to its "
            "own address."
        )
    return dict(wrapper.get_connection_params())


def fetch_rows(connection: Any, sql: str, *parameters: Any) -> list[tuple[Any, ...]]:
    """The rows of a statement."""
    with connection.cursor() as cursor:
        cursor.execute(sql, parameters or None)
        return cursor.fetchall() if cursor.description else []


def tables(connection: Any) -> list[str]:
    return [name for (name,) in fetch_rows(connection, TABLES, UNFINISHED)]


def count_and_sum(connection: Any) -> dict[str, dict[str, Any]]:
    """By table: its rows, and the sum of their hashes; reads every row once."""
    fetch_rows(connection, SAME_TEXT)
    found = {}
    for name in tables(connection):
        quoted = psycopg2.extensions.quote_ident(name, connection)
        [(n_rows, checksum)] = fetch_rows(connection, f"SELECT {SUMS} FROM public.{quoted} whole_row")  # noqa: S608
        found[name] = {"rows": n_rows, "checksum": checksum}
    return found


def objects(connection: Any) -> dict[str, int]:
    """How many of each kind there are besides tables."""
    [(found,)] = fetch_rows(connection, OBJECTS)
    return dict(found)


def filled_tables(connection: Any) -> list[str]:
    """The tables in which someone has put anything."""
    found = []
    for name in tables(connection):
        if name not in IN_EVERY_DATABASE:
            quoted = psycopg2.extensions.quote_ident(name, connection)
            but = f" WHERE verb <> '{BACKUP_MADE}'" if name == "accounts_serverevent" else ""
            [(is_filled,)] = fetch_rows(connection, f"SELECT EXISTS (SELECT 1 FROM public.{quoted}{but})")  # noqa: S608
            if is_filled:
                found.append(name)
    return found


def other_connections(connection: Any) -> list[str]:
    """Who else is connected to this database, in words."""
    rows = fetch_rows(
        connection,
        "SELECT coalesce(nullif(application_name, ''), 'a process'), coalesce(host(client_addr), 'this machine'), pid"
        " FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() AND usename IS NOT NULL"
        " AND coalesce(backend_type, 'client backend') = 'client backend' ORDER BY pid",
    )
    return [f"{name} at {host} (its server process is {pid})" for name, host, pid in rows]


def unfinished_restore(connection: Any) -> str:
    """The id of the backup whose restore stopped after the database was there; empty where there is none."""
    [(there,)] = fetch_rows(connection, "SELECT to_regclass(%s)", f"public.{UNFINISHED}")
    if not there:
        return ""
    rows = fetch_rows(connection, f"SELECT backup FROM public.{UNFINISHED}")  # noqa: S608
    return str(rows[0][0]) if rows else ""


def finish(connection: Any) -> None:
    fetch_rows(connection, f"DROP TABLE IF EXISTS public.{UNFINISHED}")


@contextmanager
def open_dump(snapshot: str) -> Iterator[IO[bytes]]:
    """The dump of what a snapshot sees, as it is written. Raises ToolFailed when the block ends and it is not whole."""
    command = [
        *["pg_dump", "--format=custom", "--compress=gzip:1", f"--snapshot={snapshot}", "--schema=public"],
        *["--no-owner", "--no-privileges", "--no-tablespaces", "--no-publications", "--no-subscriptions"],
        *["--no-security-labels", f"--exclude-table=public.{UNFINISHED}", "--lock-wait-timeout=60s"],
    ]
    with _Tool(command, stdout=subprocess.PIPE) as tool:
        assert tool.process.stdout
        yield tool.process.stdout
        tool.done()


def rebuild(dump: IO[bytes], *, backup: str, expected: dict[str, dict[str, Any]]) -> None:
    """Puts a dump in the place of all that is there, and looks that every table is what it was, in one transaction.

    Raises ToolFailed; then nothing has changed. Killed anywhere, it never comes to the COMMIT, which is written last.
    """
    reading = ["pg_restore", "--file=-", "--schema=public", "--no-owner", "--no-privileges", "--exit-on-error"]
    writing = ["psql", "--no-psqlrc", "--quiet", "--set=ON_ERROR_STOP=1", f"--output={os.devnull}", "--file=-"]
    with _Tool(writing, stdin=subprocess.PIPE) as psql:
        with _Tool(reading, stdin=subprocess.PIPE, stdout=subprocess.PIPE, needs_database=False) as pg_restore:
            assert psql.process.stdin
            assert pg_restore.process.stdin
            assert pg_restore.process.stdout
            feeding = _Feeder(dump, pg_restore.process.stdin)
            feeding.start()
            try:
                target = psql.process.stdin
                target.write(f"BEGIN;\nSET LOCAL lock_timeout = '{LOCK_SECONDS}s';\n{EMPTY}".encode())
                for piece in _understood_everywhere(pg_restore.process.stdout):
                    target.write(piece)
                feeding.join()
                if feeding.error:
                    raise feeding.error
                pg_restore.done()
                target.write(_last_words(backup, expected).encode())
                target.close()
            except BrokenPipeError:
                psql.done()
                raise
            finally:
                pg_restore.process.stdout.close()
        psql.done()


def _understood_everywhere(told: IO[bytes]) -> Iterator[bytes]:
    """What `pg_restore` tells, without lines before the first row that other servers don't know.

    Servers before 17 have no `transaction_timeout`. Options of a column are hints for the planner of one server, and
    some have options of their own making.
    """
    for line in told:
        if not _OF_ONE_SERVER.match(line):
            yield line
        if line.startswith(b"COPY "):
            break
    while piece := told.read(PIECE):
        yield piece


def _last_words(backup: str, expected: dict[str, dict[str, Any]]) -> str:
    counted = base64.b64encode(json.dumps(expected).encode()).decode()
    verify = VERIFY.replace("SUMS", SUMS).replace("TABLES", counted)
    named = backup.replace("'", "''")
    return f"\n{SAME_TEXT};\n{verify}\nCREATE TABLE public.{UNFINISHED} AS SELECT '{named}'::text AS backup;\nCOMMIT;\n"


class _Feeder(threading.Thread):
    """Writes a stream into a pipe meanwhile."""

    def __init__(self, source: IO[bytes], target: IO[bytes]) -> None:
        super().__init__(daemon=True)
        self._source, self._target = source, target
        self.error: BaseException | None = None

    def run(self) -> None:
        try:
            while piece := self._source.read(PIECE):
                self._target.write(piece)
        except BrokenPipeError:
            pass  # what read it says why
        except BaseException as error:
            self.error = error
        finally:
            with suppress(OSError):
                self._target.close()


class _Tool:
    """One of PostgreSQL's programs at work on Concord's database; ended when the block is left."""

    def __init__(self, command: list[str], *, needs_database: bool = True, **pipes: Any) -> None:
        self._name = command[0]
        self._said = tempfile.TemporaryFile()  # noqa: SIM115 - closed when the block is left
        program = embedded.postgres_program(command[0])
        given = [str(program), *command[1:]]
        environment = {**os.environ, "LC_ALL": "C", "PGCONNECT_TIMEOUT": "20", "PGAPPNAME": f"concord {command[0]}"}
        if needs_database:
            wanted = _parameters()
            environment["PGPASSWORD"] = wanted.pop("password", "") or ""
            plain = {name: value for name, value in wanted.items() if isinstance(value, str | int) and value != ""}
            given.append(f"--dbname={psycopg2.extensions.make_dsn(**plain)}")
            if not environment["PGPASSWORD"]:
                del environment["PGPASSWORD"]
        environment.pop("PGOPTIONS", None)
        self.process = subprocess.Popen(given, env=environment, stderr=self._said, **pipes)

    def __enter__(self) -> "_Tool":
        return self

    def __exit__(self, *error: object) -> None:
        for pipe in (self.process.stdin, self.process.stdout):
            with suppress(OSError):
                if pipe:
                    pipe.close()
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self._said.close()

    def done(self) -> None:
        """Waits for its end. Raises ToolFailed with what it said."""
        if self.process.wait() != 0:
            self._said.seek(0)
            said = self._said.read().decode(errors="replace").strip().splitlines()
            telling = [line for line in said if "ERROR" in line or "error:" in line or "FATAL" in line] or said
            raise ToolFailed(telling[0] if telling else f"{self._name} ended with {self.process.returncode}")
