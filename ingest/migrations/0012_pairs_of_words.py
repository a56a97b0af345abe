"""The index knows how the second of two words begins that follow each other, so every issue is indexed anew."""

from django.db import migrations

ALL_TO_BE_INDEXED = """
INSERT INTO ingest_unsearchable SELECT id FROM ingest_issue WHERE current_snapshot_id IS NOT NULL
ON CONFLICT DO NOTHING
"""


class Migration(migrations.Migration):
    dependencies = [("ingest", "0010_changes_and_activity")]

    operations = [migrations.RunSQL(ALL_TO_BE_INDEXED, migrations.RunSQL.noop)]
