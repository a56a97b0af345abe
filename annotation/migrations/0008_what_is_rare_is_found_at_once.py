"""Partial indexes on what is rare, so that whatever counts can be counted without looking at each assignment."""

from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):

    dependencies = [("annotation", "0007_revisions_never_come_again")]

    operations = [
        migrations.AddIndex(
            model_name="annotation",
            index=models.Index(fields=["assignment"], condition=Q(revision__gt=1), name="annotations_that_replace"),
        ),
        migrations.AddIndex(
            model_name="assignment",
            index=models.Index(
                fields=["round"],
                condition=Q(current__isnull=False) & (Q(slot__isnull=True) | Q(blind__isnull=True)),
                name="answers_out_of_the_ordinary",
            ),
        ),
        migrations.AddIndex(
            model_name="rounditem",
            index=models.Index(fields=["round", "item"], condition=Q(known__isnull=False), name="training_items"),
        ),
        migrations.RunSQL(
            "CREATE INDEX answers_changed_in_discussion ON annotation_assignment (round_id, item_id)"
            " WHERE blind_id <> current_id",
            "DROP INDEX answers_changed_in_discussion",
        ),
    ]
