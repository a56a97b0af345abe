"""Indexes on large tables, made by a migration while people go on working."""

from typing import Any

from django.conf import settings
from django.contrib.postgres.operations import AddIndexConcurrently


class AddIndexOnLarge(AddIndexConcurrently):
    """As Django's, in a migration with `atomic = False`; an invalid index that a killed try left goes first.

    PostgreSQL waits for transactions under way and makes nobody wait, so the short limit of waiting for a lock
    that migrations have does not apply to it.
    """

    def database_forwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        name = schema_editor.quote_name(self.index.name)
        schema_editor.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {name}")
        if not settings.PGBOUNCER:  # behind it the entry of the pool has the long limit of jobs
            schema_editor.execute("SET lock_timeout = 0")
        super().database_forwards(app_label, schema_editor, from_state, to_state)
        if not settings.PGBOUNCER:
            schema_editor.execute("RESET lock_timeout")
