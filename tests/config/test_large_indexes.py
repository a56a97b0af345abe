"""Indexes on large tables are made while people go on working."""

import pytest
from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import connection
from django.db.migrations import AddConstraint, AddIndex, CreateModel, Migration, RunSQL
from django.db.migrations.loader import MigrationLoader
from django.db.models import PROTECT, ForeignKey, Index, UniqueConstraint
from django.test.utils import CaptureQueriesContext

from shared.index_migrations import AddIndexOnLarge, AddUniqueOnLarge, DropForeignKeyIndex

BEFORE = {"accounts": 6, "annotation": 19, "ingest": 4, "taxonomy": 3}
"""The last migrations from before this rule."""
LARGE = {
    "annotation": {
        "annotation", "assignment", "auditevent", "item", "rating", "resolution", "resolutionvalue", "rounditem",
        "sampleissue",
    },
    "ingest": {"comment", "issue", "searchtext", "snapshot", "snapshotcomment", "unsearchable"},
}  # fmt: skip


def locks_a_large_table(migration: Migration) -> list[str]:
    large = LARGE.get(migration.app_label, set())
    made = {each.name.lower() for each in migration.operations if isinstance(each, CreateModel)}
    found = []
    for each in migration.operations:
        is_index = isinstance(each, AddIndex) and not isinstance(each, AddIndexConcurrently)
        is_unique = isinstance(each, AddConstraint) and isinstance(each.constraint, UniqueConstraint)
        is_unique = is_unique and not isinstance(each, AddUniqueOnLarge)
        if (is_index or is_unique) and each.model_name.lower() in large - made:  # type: ignore[attr-defined]
            found.append(f"{migration}: {each.describe()}")
        sql = str(each.sql).upper() if isinstance(each, RunSQL) else ""
        if "CREATE INDEX" in sql and "CONCURRENTLY" not in sql:
            found.append(f"{migration}: {sql[:80]}")
    return found


def test_no_migration_locks_a_large_table_while_it_makes_an_index() -> None:
    loader = MigrationLoader(None)
    new = [
        migration
        for (app, name), migration in (loader.disk_migrations or {}).items()
        if app in BEFORE and int(name[:4]) > BEFORE[app]
    ]
    assert [line for migration in new for line in locks_a_large_table(migration)] == []


@pytest.mark.django_db(transaction=True)
def test_an_index_is_made_beside_writers_and_after_a_try_that_was_killed() -> None:
    loader = MigrationLoader(connection)
    state = loader.project_state(nodes=loader.graph.leaf_nodes("annotation"))
    made = AddIndexOnLarge("rating", Index(fields=["part"], name="made_by_a_test"))
    after = state.clone()
    made.state_forwards("annotation", after)
    with connection.cursor() as cursor:  # what a killed try leaves has the name already
        cursor.execute("CREATE INDEX made_by_a_test ON annotation_rating (part)")
    with connection.schema_editor(atomic=False) as editor:
        made.database_forwards("annotation", editor, state, after)
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT indisvalid FROM pg_index WHERE indexrelid = 'made_by_a_test'::regclass")
            assert cursor.fetchone() == (True,)
            cursor.execute("SHOW lock_timeout")
            assert cursor.fetchone() == ("0",)
    finally:
        with connection.cursor() as cursor:
            cursor.execute("DROP INDEX made_by_a_test")


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    "left",
    ["", "CREATE INDEX {} ON annotation_rating (id)", "ALTER TABLE annotation_rating ADD CONSTRAINT {} UNIQUE (id)"],
)
def test_a_unique_constraint_is_made_beside_writers_and_after_a_try_that_was_killed(left: str) -> None:
    loader, name = MigrationLoader(connection), "made_by_a_test"
    state = loader.project_state(nodes=loader.graph.leaf_nodes("annotation"))
    made = AddUniqueOnLarge("rating", UniqueConstraint(fields=["id", "part"], name=name))
    after = state.clone()
    made.state_forwards("annotation", after)
    with connection.cursor() as cursor:
        if left:
            cursor.execute(left.format(name))
        with connection.schema_editor(atomic=False) as editor:
            made.database_forwards("annotation", editor, state, after)
        cursor.execute("SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conname = %s", [name])
        assert cursor.fetchall() == [("UNIQUE (id, part)",)]
        with connection.schema_editor(atomic=False) as editor:
            made.database_backwards("annotation", editor, after, state)
        cursor.execute("SELECT count(*) FROM pg_class WHERE relname = %s", [name])
        assert cursor.fetchone() == (0,)


COLUMNS = """
    SELECT c.relname, i.indexrelid::regclass::text, i.indkey::int[], pg_get_expr(i.indpred, i.indrelid) IS NOT NULL
    FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid
    WHERE c.relname = ANY(%s) AND NOT i.indisunique AND i.indnkeyatts = 1
"""


@pytest.mark.django_db
def test_tables_that_a_round_fills_have_no_index_that_another_covers() -> None:
    tables = ["annotation_assignment", "annotation_rounditem", "annotation_item", "annotation_sampleissue"]
    with connection.cursor() as cursor:
        cursor.execute(COLUMNS, [tables])
        single = [(table, name, key[0]) for table, name, key, is_partial in cursor.fetchall() if not is_partial]
        cursor.execute(COLUMNS.replace("NOT i.indisunique AND i.indnkeyatts = 1", "i.indnkeyatts > 1"), [tables])
        first = {(table, key[0]) for table, _, key, is_partial in cursor.fetchall() if not is_partial}
    assert first and [name for table, name, column in single if (table, column) in first] == []


@pytest.mark.django_db(transaction=True)
def test_the_index_of_a_foreign_key_goes_and_comes_without_a_look_at_the_key() -> None:
    loader = MigrationLoader(connection)
    before = loader.project_state(nodes=loader.graph.leaf_nodes("annotation"))
    field = ForeignKey("annotation.item", on_delete=PROTECT, related_name="+", db_index=False)
    dropped = DropForeignKeyIndex("rating", "item", field)
    after = before.clone()
    dropped.state_forwards("annotation", after)

    def indexes() -> set[str]:
        with connection.cursor() as cursor:
            found = connection.introspection.get_constraints(cursor, "annotation_rating")
        return {name for name, each in found.items() if each["columns"] == ["item_id"] and each["index"]}

    had = indexes()
    assert len(had) == 1
    with CaptureQueriesContext(connection) as asked, connection.schema_editor(atomic=False) as editor:
        dropped.database_forwards("annotation", editor, before, after)
    assert indexes() == set() and not any("ALTER TABLE" in each["sql"] for each in asked)
    with connection.schema_editor(atomic=False) as editor:
        dropped.database_backwards("annotation", editor, after, before)
    assert indexes() == had
