"""Issues are found by who opened them."""

from django.db import migrations, models

from shared.index_migrations import AddIndexOnLarge


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("ingest", "0007_exact_search")]

    operations = [
        AddIndexOnLarge(
            model_name="snapshot", index=models.Index(fields=["author_login"], name="snapshots_by_author")
        ),
    ]
