"""Bulk jobs that reassign items of open rounds, and that pin items to newer snapshots."""

from django.db import migrations, models

KINDS = [
    ("sample", "draws the issues of a sample"),
    ("round", "puts the items of a sample into a round"),
    ("opening", "makes the assignments of a round and opens it"),
    ("duplicates", "finds likely duplicates in a sample"),
    ("leaving", "reassigns the items of a rater who leaves open rounds"),
    ("giving", "assigns waiting items to a rater of an open round"),
    ("pinning", "pins items to their newest snapshots"),
]


class Migration(migrations.Migration):
    dependencies = [("annotation", "0053_compared_states")]

    operations = [
        migrations.AlterField(
            model_name="bulkjob", name="kind", field=models.CharField(choices=KINDS, max_length=10)
        ),
    ]
