"""A database of someone else's making: an unfit one is refused in words, and its tables are made by one at a time."""

import os
import subprocess
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import psycopg2
import pytest
from django.db import DEFAULT_DB_ALIAS, DatabaseError, OperationalError, connection, connections
from pytest_django.fixtures import Settings

from config import env, shell
from config.database import (
    JOBS,
    MIGRATING,
    MIGRATIONS,
    WEB,
    TablesInUse,
    UnfitDatabase,
    limit,
    refuse_texts,
    refuse_version,
    turn_at_tables,
    with_limits,
)
from config.outages import DATABASE, TOO_SLOW, outage_of
from tests.conftest import environment_of_servers

BASE_DIR = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("found", [140_011, 130_000])
def test_an_older_postgresql_is_refused_with_its_number(found: int) -> None:
    with pytest.raises(UnfitDatabase, match=f"PostgreSQL {found // 10_000}, and Concord needs PostgreSQL 15 or later"):
        refuse_version(found)


@pytest.mark.parametrize("found", [150_000, 180_001])
def test_postgresql_15_and_later_are_taken(found: int) -> None:
    refuse_version(found)


@pytest.mark.parametrize(
    ("encoding", "by_code_point", "folds_all", "said"),
    [
        ("SQL_ASCII", True, False, "keeps texts as SQL_ASCII"),
        ("UTF8", False, True, "orders texts by the rules of a language"),
        ("UTF8", True, False, "knows small and large letters of English only"),
    ],
)
def test_texts_that_would_be_ordered_or_folded_otherwise_are_refused(
    encoding: str, by_code_point: bool, folds_all: bool, said: str
) -> None:
    with pytest.raises(UnfitDatabase, match=f"{said}.*LOCALE 'C.UTF-8'"):
        refuse_texts(encoding, by_code_point, folds_all)


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_migrate_refuses_a_database_in_words_before_it_makes_a_table() -> None:
    environment = environment_of_servers()
    name = "of another order"
    with connection.cursor() as cursor:
        cursor.execute(f"CREATE DATABASE \"{name}\" TEMPLATE template0 LOCALE_PROVIDER libc LOCALE 'C'")
    try:
        address = environment["DATABASE_URL"].replace(f"/{connection.settings_dict['NAME']}", f"/{name}", 1)
        done = subprocess.run(
            [sys.executable, "manage.py", "migrate"],
            check=False, cwd=BASE_DIR, env={**os.environ, **environment, "DATABASE_URL": address},
            capture_output=True, text=True,
        )  # fmt: skip
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr.startswith("The database of DATABASE_URL knows small and large letters of English only;")
        with psycopg2.connect(**connection.get_connection_params() | {"dbname": name}) as other:
            cursor = other.cursor()
            cursor.execute("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'")
            assert cursor.fetchone() == (0,)
        other.close()
    finally:
        with connection.cursor() as cursor:
            cursor.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


@pytest.mark.django_db(transaction=True)
def test_whoever_makes_tables_keeps_all_others_waiting_and_whoever_looks_only_those_who_make_them() -> None:
    def others() -> tuple[bool, bool]:
        other = connections.create_connection(DEFAULT_DB_ALIAS)
        with other.cursor() as cursor:
            cursor.execute("SELECT pg_try_advisory_lock(%s), pg_try_advisory_lock_shared(%s)", [MIGRATING] * 2)
            found = cursor.fetchone()
        other.close()
        return found

    with turn_at_tables():
        assert others() == (False, False)
    with turn_at_tables(shared=True):
        assert others() == (False, True)
    assert others() == (True, True)


@pytest.mark.django_db
def test_web_processes_and_workers_begin_their_connections_with_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    for limits, statement, lock in ((WEB, "18s", "10s"), (JOBS, "30min", "10min")):
        monkeypatch.setitem(connection.settings_dict, "OPTIONS", {})
        limit(limits)
        side = connection.copy()
        with closing(side), side.cursor() as cursor:
            cursor.execute("SELECT current_setting('statement_timeout'), current_setting('lock_timeout')")
            assert cursor.fetchone() == (statement, lock)
            cursor.execute("SET statement_timeout = '50ms'")
            with pytest.raises(OperationalError) as stopped:
                cursor.execute("SELECT pg_sleep(30)")
        assert outage_of(stopped.value) is TOO_SLOW


@pytest.mark.django_db(transaction=True)
def test_a_transaction_that_nobody_goes_on_with_lets_go_of_its_locks(monkeypatch: pytest.MonkeyPatch) -> None:
    """As where a thread hangs between two statements: others get the row, and the thread is told in words."""
    monkeypatch.setitem(connection.settings_dict, "OPTIONS", {})
    limit(replace(WEB, idle_in_transaction_seconds=1))
    stuck = connection.copy()
    with closing(stuck), connection.cursor() as other:
        stuck.set_autocommit(False)
        with stuck.cursor() as cursor:
            cursor.execute("LOCK TABLE annotation_study IN ACCESS EXCLUSIVE MODE")
            other.execute("SET lock_timeout = '20s'; SELECT count(*) FROM annotation_study; RESET lock_timeout")
            with pytest.raises(DatabaseError) as ended:
                cursor.execute("SELECT 1")
        assert outage_of(ended.value) in (TOO_SLOW, DATABASE)


def test_behind_a_pool_nothing_is_set_by_the_client_and_web_processes_take_their_own_entry(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.PGBOUNCER = True
    settings.WEB_DATABASE = env.database("postgresql://me@127.0.0.1:6432/concord_web")
    place = dict(connection.settings_dict, OPTIONS={})
    monkeypatch.setitem(connections.settings, "default", place)
    limit(JOBS)
    assert "options" not in place["OPTIONS"] and place["NAME"] == connection.settings_dict["NAME"]
    limit(WEB)
    assert "options" not in place["OPTIONS"] and (place["NAME"], place["PORT"]) == ("concord_web", "6432")


@pytest.mark.django_db(transaction=True)
def test_a_migration_lets_others_work_and_says_which_table_it_did_not_get(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shell, "LOCK_PAUSE_SECONDS", 0)
    tries = []

    def migrate() -> None:
        tries.append(1)
        with connection.cursor() as cursor:
            cursor.execute("SET lock_timeout = '20ms'; LOCK TABLE annotation_study IN ACCESS EXCLUSIVE MODE")

    side = connection.copy()
    with closing(side):
        side.set_autocommit(False)
        with side.cursor() as cursor:
            cursor.execute("LOCK TABLE annotation_study IN ACCESS SHARE MODE")
        with pytest.raises(TablesInUse, match="a long statement or transaction holds one of them"):
            shell._call_until_not_locked(migrate)
        assert len(tries) == shell.LOCK_TRIES
    with with_limits(MIGRATIONS), connection.cursor() as cursor:
        cursor.execute("SELECT current_setting('lock_timeout'), current_setting('statement_timeout')")
        assert cursor.fetchone() == ("10s", "0")
