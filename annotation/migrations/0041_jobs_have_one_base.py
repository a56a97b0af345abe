"""The rows of all jobs have the same columns; what is new has defaults in the database."""

from django.db import migrations, models

STATES = [("queued", "Queued"), ("running", "Running"), ("done", "Done"), ("failed", "Failed")]


class Migration(migrations.Migration):
    dependencies = [("annotation", "0040_more_inbox_lines")]

    operations = [
        migrations.AddField("arrival", "n_claims", models.PositiveIntegerField(db_default=0, default=0, help_text="Who holds the last claim may write.")),
        migrations.AddField("deletion", "n_claims", models.PositiveIntegerField(db_default=0, default=0, help_text="Who holds the last claim may write.")),
        migrations.AddField("plan", "n_claims", models.PositiveIntegerField(db_default=0, default=0, help_text="Who holds the last claim may write.")),
        migrations.AddField("workbook", "n_claims", models.PositiveIntegerField(db_default=0, default=0, help_text="Who holds the last claim may write.")),
        migrations.AddField("deletion", "state", models.CharField(choices=STATES, db_default="queued", default="queued", max_length=10)),
        migrations.AlterField("bulkjob", "n_claims", models.PositiveIntegerField(db_default=0, default=0, help_text="Who holds the last claim may write.")),
        migrations.AlterField("export", "n_claims", models.PositiveIntegerField(db_default=0, default=0, help_text="Who holds the last claim may write.")),
        migrations.AlterField("arrival", "state", models.CharField(choices=STATES, db_default="queued", default="queued", max_length=10)),
        migrations.AlterField("bulkjob", "state", models.CharField(choices=STATES, db_default="queued", default="queued", max_length=10)),
        migrations.AlterField("arrival", "error", models.TextField(blank=True, db_default="", default="", help_text="Why it failed, in words.")),
        migrations.AlterField("bulkjob", "error", models.TextField(blank=True, db_default="", default="", help_text="Why it failed, in words.")),
        migrations.AlterField("deletion", "error", models.TextField(blank=True, db_default="", default="", help_text="Why it failed, in words.")),
        migrations.AlterField("export", "error", models.TextField(blank=True, db_default="", default="", help_text="Why it failed, in words.")),
        migrations.AlterField("plan", "error", models.TextField(blank=True, db_default="", default="", help_text="Why it failed, in words.")),
        migrations.AlterField("workbook", "error", models.TextField(blank=True, db_default="", default="", help_text="Why it failed, in words.")),
        migrations.AlterField("bulkjob", "worked_at", models.DateTimeField(blank=True, help_text="When the job was last heard of.", null=True)),
        migrations.AlterField("arrival", "done_at", models.DateTimeField(blank=True, help_text="When it was over, whichever way.", null=True)),
        migrations.AlterField("bulkjob", "done_at", models.DateTimeField(blank=True, help_text="When it was over, whichever way.", null=True)),
        migrations.AlterField("deletion", "done_at", models.DateTimeField(blank=True, help_text="When it was over, whichever way.", null=True)),
        migrations.AlterField("plan", "done_at", models.DateTimeField(blank=True, help_text="When it was over, whichever way.", null=True)),
        migrations.AlterField("workbook", "done_at", models.DateTimeField(blank=True, help_text="When it was over, whichever way.", null=True)),
        migrations.RunSQL(
            "UPDATE annotation_deletion SET state = CASE WHEN done_at IS NOT NULL THEN 'done' ELSE 'failed' END "
            "WHERE done_at IS NOT NULL OR error <> ''",
            migrations.RunSQL.noop,
        ),
    ]
