"""The rows of all jobs have the same columns; what is new has defaults in the database."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("ingest", "0012_pairs_of_words")]

    operations = [
        migrations.AlterField("fetchrun", "error", models.TextField(blank=True, db_default="", default="", help_text="Why it failed, in words.")),
        migrations.AlterField("fetchrun", "n_claims", models.PositiveIntegerField(db_default=0, default=0, help_text="Who holds the last claim may write.")),
    ]
