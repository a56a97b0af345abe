"""Index migrations: indexes on large tables, created while people work."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.conf import settings
from django.contrib.postgres.operations import AddIndexConcurrently
from django.db.migrations import AddConstraint, AlterField


class AddIndexOnLarge(AddIndexConcurrently):
    """As Django's, in a migration with `atomic = False`; an invalid index that a killed try left goes first.

    PostgreSQL waits for transactions under way and makes nobody wait, so the short limit of waiting for a lock
    that migrations have does not apply to it.
    """

    def database_forwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        name = schema_editor.quote_name(self.index.name)
        schema_editor.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {name}")
        with _patient(schema_editor):
            super().database_forwards(app_label, schema_editor, from_state, to_state)


class AddUniqueOnLarge(AddConstraint):
    """As Django's for a UniqueConstraint of fields, in a migration with `atomic = False`, while people work.

    What a killed try left goes first.
    """

    def database_forwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        model, quote = to_state.apps.get_model(app_label, self.model_name), schema_editor.quote_name
        constraint: Any = self.constraint
        table, name = quote(model._meta.db_table), quote(constraint.name)
        columns = ", ".join(quote(model._meta.get_field(field).column) for field in constraint.fields)
        schema_editor.execute(f"ALTER TABLE {table} DROP CONSTRAINT IF EXISTS {name}")
        schema_editor.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {name}")
        with _patient(schema_editor):
            schema_editor.execute(f"CREATE UNIQUE INDEX CONCURRENTLY {name} ON {table} ({columns})")
        schema_editor.execute(f"ALTER TABLE {table} ADD CONSTRAINT {name} UNIQUE USING INDEX {name}")


@contextmanager
def _patient(schema_editor: Any) -> Iterator[None]:
    """Without a limit of waiting for locks; behind PgBouncer the entry of the pool has the long one of jobs."""
    if not settings.PGBOUNCER:
        schema_editor.execute("SET lock_timeout = 0")
    yield
    if not settings.PGBOUNCER:
        schema_editor.execute("RESET lock_timeout")


class DropForeignKeyIndex(AlterField):
    """Drops the index of a foreign key that has `db_index=False` now, in a migration with `atomic = False`.

    Nobody waits for it: Django's AlterField would drop the foreign key, too, and check every row to make it again.
    """

    def database_forwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        model = from_state.apps.get_model(app_label, self.model_name)
        column = model._meta.get_field(self.name).column
        own = {each.name for each in model._meta.indexes}
        for name in schema_editor._constraint_names(
            model, [column], index=True, unique=False, primary_key=False, exclude=own
        ):
            schema_editor.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {schema_editor.quote_name(name)}")

    def database_backwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        model = to_state.apps.get_model(app_label, self.model_name)
        field = model._meta.get_field(self.name)
        schema_editor.execute(schema_editor._create_index_sql(model, fields=[field], concurrently=True))
