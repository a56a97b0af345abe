"""The same content with other dates or counts is a state of its own; what contradicts what is stored is listed."""

import django.db.models.deletion
from django.db import migrations, models

from shared.index_migrations import AddIndexOnLarge


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("ingest", "0008_snapshots_by_author")]

    operations = [
        AddIndexOnLarge(
            model_name="snapshot",
            index=models.Index(fields=["issue", "sha256"], name="snapshots_by_content"),
        ),
        migrations.RemoveConstraint(model_name="snapshot", name="a_state_of_an_issue_is_stored_once"),
        migrations.AddField(
            model_name="issue",
            name="page_url",
            field=models.URLField(
                blank=True,
                db_default="",
                help_text="Of its page, as last told; empty: as its snapshots have it.",
                max_length=600,
            ),
        ),
        migrations.AddField(
            model_name="issue",
            name="author_association",
            field=models.CharField(
                blank=True,
                db_default="",
                help_text="The author's, as last told: OWNER, MEMBER, NONE and so on.",
                max_length=40,
            ),
        ),
        migrations.AddField(
            model_name="fetchrun",
            name="n_contradictions",
            field=models.PositiveIntegerField(
                db_default=0, default=0, help_text="Values told that contradict stored ones, which were kept."
            ),
        ),
        migrations.CreateModel(
            name="Contradiction",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("issue", models.CharField(help_text="owner/name#number.", max_length=500)),
                (
                    "name",
                    models.CharField(
                        help_text="created_at, closed_at, n_comments, html_url, author_association.", max_length=40
                    ),
                ),
                ("told", models.TextField()),
                ("kept", models.TextField()),
                (
                    "run",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="contradictions",
                        to="ingest.fetchrun",
                    ),
                ),
            ],
            options={"ordering": ["pk"]},
        ),
    ]
