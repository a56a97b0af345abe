"""Lexemes decide searches for single words, lists are ordered by indexes, and rows of the search are short.

Lexemes and texts are stored apart from their rows, which a search of a frequent word then reads quickly. Every issue is
indexed again, which moves them.
"""

import datetime

import django.db.models.functions.comparison
from django.db import migrations, models
from django.db.models import F, Value

from shared.index_migrations import AddIndexOnLarge

STORAGE = """
ALTER TABLE ingest_searchtext ALTER COLUMN lexemes SET STORAGE EXTERNAL, ALTER COLUMN title SET STORAGE MAIN;
ALTER TABLE ingest_searchtext SET (toast_tuple_target = 128);
"""
STORAGE_BEFORE = """
ALTER TABLE ingest_searchtext ALTER COLUMN lexemes SET STORAGE MAIN, ALTER COLUMN title SET STORAGE EXTENDED;
ALTER TABLE ingest_searchtext SET (toast_tuple_target = 4080);
"""
ALL_TO_BE_INDEXED = """
INSERT INTO ingest_unsearchable SELECT id FROM ingest_issue WHERE current_snapshot_id IS NOT NULL
ON CONFLICT DO NOTHING
"""
# An issue has the time of its last change, and not its snapshot alone.
UPDATED = """
UPDATE ingest_issue AS issue SET updated_at = snapshot.updated_at FROM ingest_snapshot AS snapshot
WHERE snapshot.id = issue.current_snapshot_id AND issue.updated_at IS NULL AND snapshot.updated_at IS NOT NULL
"""
NEVER = datetime.datetime(1, 1, 2, tzinfo=datetime.UTC)


def or_unknown(column, unknown):
    return django.db.models.functions.comparison.Coalesce(F(column), Value(unknown))


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("ingest", "0014_jobs_have_one_base")]

    operations = [
        migrations.AddField(
            "searchtext",
            "has_all_lexemes",
            models.BooleanField(
                db_default=True,
                default=True,
                help_text="No: it has more than a tsvector holds, and texts are compared.",
            ),
        ),
        migrations.RunSQL(STORAGE, STORAGE_BEFORE),
        migrations.RunSQL(UPDATED, migrations.RunSQL.noop),
        AddIndexOnLarge("issue", models.Index(or_unknown("updated_at", NEVER), "id", name="issues_by_update")),
        AddIndexOnLarge("snapshot", models.Index(or_unknown("created_at", NEVER), "issue", name="snapshots_by_creation")),
        AddIndexOnLarge("snapshot", models.Index(or_unknown("closed_at", NEVER), name="snapshots_by_closing")),
        AddIndexOnLarge("snapshot", models.Index(or_unknown("n_comments", -1), "issue", name="snapshots_by_comments")),
        migrations.RunSQL(ALL_TO_BE_INDEXED, migrations.RunSQL.noop),
    ]
