"""Fetches that were started in the shell read whatever the server's tokens can read."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("ingest", "0003_complete_cheap_never_twice")]

    operations = [
        migrations.AddField(
            model_name="fetchrun",
            name="is_unrestricted",
            field=models.BooleanField(
                db_default=False,
                default=False,
                help_text="Started in the shell: it reads whatever the server's tokens can read, whoever it is for.",
            ),
        ),
        migrations.RunSQL(
            "UPDATE ingest_fetchrun SET is_unrestricted = true WHERE kind = 'github' AND created_by_id IS NULL "
            "AND state IN ('queued', 'running', 'waiting', 'failed', 'cancelled')",
            migrations.RunSQL.noop,
        ),
    ]
