"""What each change added and deleted by file, whether it closed the issue; events, reactions and type of issues."""

import django.contrib.postgres.fields
import django.db.models.deletion
from django.db import migrations, models


def counts(of: str) -> django.contrib.postgres.fields.ArrayField:
    return django.contrib.postgres.fields.ArrayField(
        base_field=models.PositiveIntegerField(),
        blank=True,
        db_default=[],
        default=list,
        help_text=f"Lines {of} in each of the paths; empty where no source told them.",
        size=None,
    )


class Migration(migrations.Migration):
    dependencies = [("ingest", "0009_dates_and_counts_are_kept")]

    operations = [
        migrations.AddField(
            model_name="closingchange",
            name="created_at",
            field=models.DateTimeField(
                blank=True, help_text="When a pull request was opened, or a commit written.", null=True
            ),
        ),
        migrations.AddField(
            model_name="closingchange",
            name="closes",
            field=models.BooleanField(
                db_default=True,
                default=True,
                help_text="No: a pull request that is linked to the issue and was not merged.",
            ),
        ),
        migrations.AddField(model_name="closingchange", name="path_additions", field=counts("added")),
        migrations.AddField(model_name="closingchange", name="path_deletions", field=counts("deleted")),
        migrations.CreateModel(
            name="Activity",
            fields=[
                (
                    "issue",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="activity",
                        serialize=False,
                        to="ingest.issue",
                    ),
                ),
                (
                    "told",
                    models.JSONField(
                        default=dict,
                        help_text="Each where a source told it: events (a list of kind, at, actor, detail), reactions "
                        "(by kind), type.",
                    ),
                ),
            ],
        ),
    ]
