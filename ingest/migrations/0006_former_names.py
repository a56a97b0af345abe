"""Names that repositories had before, those that earlier fetches tell included; what a run counts as comments."""

import django.db.models.deletion
import django.db.models.functions.text
from django.db import migrations, models

# What a fetch was asked for under another name than its repository has now, GitHub has led there.
FROM_FETCHES = """
INSERT INTO ingest_formername (repository_id, host, owner, name)
SELECT repository.id, run.requested->'name'->>0, run.requested->'name'->>1, run.requested->'name'->>2
FROM ingest_fetchrun AS run JOIN ingest_repository AS repository ON repository.id = run.repository_id
WHERE run.kind = 'github' AND jsonb_typeof(run.requested->'name') = 'array'
    AND length(run.requested->'name'->>1) <= 100 AND length(run.requested->'name'->>2) <= 100
    AND NOT EXISTS (
        SELECT FROM ingest_repository AS present
        WHERE lower(present.host) = lower(run.requested->'name'->>0)
            AND lower(present.owner) = lower(run.requested->'name'->>1)
            AND lower(present.name) = lower(run.requested->'name'->>2))
ORDER BY run.id DESC
ON CONFLICT DO NOTHING
"""


class Migration(migrations.Migration):
    dependencies = [("ingest", "0005_never_emptied")]

    operations = [
        migrations.CreateModel(
            name="FormerName",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("host", models.CharField(max_length=255)),
                ("owner", models.CharField(max_length=100)),
                ("name", models.CharField(max_length=100)),
                (
                    "repository",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="former_names",
                        to="ingest.repository",
                    ),
                ),
            ],
        ),
        migrations.AddConstraint(
            model_name="formername",
            constraint=models.UniqueConstraint(
                django.db.models.functions.text.Lower("host"),
                django.db.models.functions.text.Lower("owner"),
                django.db.models.functions.text.Lower("name"),
                name="a_former_name_leads_to_one_repository",
            ),
        ),
        migrations.AlterField(
            model_name="fetchrun",
            name="n_comments",
            field=models.PositiveIntegerField(
                default=0, help_text="Comments of the issues that were stored or found unchanged."
            ),
        ),
        migrations.RunSQL(FROM_FETCHES, migrations.RunSQL.noop),
    ]
