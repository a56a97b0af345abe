"""Likely duplicates of a sample, and the job that finds them."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("annotation", "0036_screening_pane"), ("ingest", "0010_changes_and_activity")]

    operations = [
        migrations.AlterField(
            model_name="bulkjob",
            name="kind",
            field=models.CharField(
                choices=[
                    ("sample", "draws the issues of a sample"),
                    ("round", "puts the items of a sample into a round"),
                    ("opening", "makes the assignments of a round and opens it"),
                    ("duplicates", "finds likely duplicates in a sample"),
                ],
                max_length=10,
            ),
        ),
        migrations.CreateModel(
            name="LikelyDuplicate",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("group", models.PositiveIntegerField(help_text="From 1.")),
                (
                    "is_first",
                    models.BooleanField(help_text="The oldest of its group; the others are duplicates of it."),
                ),
                (
                    "how",
                    models.CharField(
                        choices=[
                            ("github", "closed as a duplicate at GitHub"),
                            ("marked", "marked as a duplicate in its text or a comment"),
                            ("text", "title and text are alike"),
                        ],
                        max_length=6,
                    ),
                ),
                (
                    "named",
                    models.CharField(
                        blank=True,
                        default="",
                        help_text="The issue that it is marked as a duplicate of, as it is named.",
                        max_length=300,
                    ),
                ),
                (
                    "similarity",
                    models.FloatField(
                        blank=True,
                        help_text="Estimated Jaccard index of their texts, 0 to 1; null where it is marked.",
                        null=True,
                    ),
                ),
                (
                    "issue",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="ingest.issue"
                    ),
                ),
                (
                    "like",
                    models.ForeignKey(
                        blank=True,
                        help_text="The issue of the sample that it is most like, or is marked as a duplicate of.",
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="ingest.issue",
                    ),
                ),
                (
                    "sample",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="likely_duplicates",
                        to="annotation.sample",
                    ),
                ),
            ],
            options={
                "ordering": ["id"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("sample", "issue"), name="an_issue_is_in_one_group_of_duplicates"
                    )
                ],
            },
        ),
    ]
