"""Searches compare folded texts; issues that are stored wait to be indexed again, and the indexer takes them in batches.

The index of the version before stays until the next one, which removes it: that version still searches by it.
"""

import django.contrib.postgres.indexes
import django.contrib.postgres.search
import django.db.models.deletion
from django.db import migrations, models

from ingest.search.matching import fold

# Lexemes stay beside the row, texts go out of its way when they are long.
STORAGE = """
ALTER TABLE ingest_searchtext ALTER COLUMN lexemes SET STORAGE MAIN;
ALTER TABLE ingest_searchtext SET (toast_tuple_target = 4080);
"""
ALL_TO_BE_INDEXED = """
INSERT INTO ingest_unsearchable SELECT id FROM ingest_issue WHERE current_snapshot_id IS NOT NULL
ON CONFLICT DO NOTHING
"""

WRITTEN = """
SELECT 'label', name FROM (SELECT DISTINCT unnest(github_labels) AS name FROM ingest_snapshot) labels
UNION ALL SELECT 'login', name FROM (SELECT DISTINCT author_login AS name FROM ingest_snapshot) logins
"""


def store_spellings(apps, schema_editor):
    Spelling = apps.get_model("ingest", "Spelling")
    with schema_editor.connection.cursor() as cursor:
        cursor.execute(WRITTEN)
        names = [(kind, name) for kind, name in cursor.fetchall() if 0 < len(name) <= 255]
    rows = (Spelling(kind=kind, folded=fold(name), spelling=name) for kind, name in names)
    Spelling.objects.bulk_create(rows, batch_size=5000, ignore_conflicts=True)


class Migration(migrations.Migration):
    dependencies = [("ingest", "0006_former_names")]

    operations = [
        migrations.SeparateDatabaseAndState(state_operations=[migrations.DeleteModel(name="SearchEntry")]),
        migrations.CreateModel(
            name="Spelling",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("kind", models.CharField(choices=[("label", "Label"), ("login", "Login")], max_length=5)),
                ("folded", models.TextField()),
                ("spelling", models.TextField()),
            ],
        ),
        migrations.AddConstraint(
            model_name="spelling",
            constraint=models.UniqueConstraint(
                fields=("kind", "folded", "spelling"), name="a_spelling_is_stored_once"
            ),
        ),
        migrations.CreateModel(
            name="SearchText",
            fields=[
                (
                    "issue",
                    models.OneToOneField(
                        db_constraint=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="search_text",
                        serialize=False,
                        to="ingest.issue",
                    ),
                ),
                (
                    "lexemes",
                    django.contrib.postgres.search.SearchVectorField(
                        help_text="Without positions, as `ingest.search.matching` makes them."
                    ),
                ),
                ("title", models.TextField()),
                ("body", models.TextField()),
                ("comments", models.TextField(help_text="Empty where they are not known.")),
                (
                    "snapshot",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="ingest.snapshot",
                    ),
                ),
            ],
        ),
        migrations.RunSQL(STORAGE, migrations.RunSQL.noop),
        migrations.AddIndex(
            model_name="searchtext",
            index=django.contrib.postgres.indexes.GinIndex(fields=["lexemes"], name="search_texts_by_lexeme"),
        ),
        migrations.RunPython(store_spellings, migrations.RunPython.noop),
        migrations.RunSQL(ALL_TO_BE_INDEXED, migrations.RunSQL.noop),
    ]
