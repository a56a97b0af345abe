"""Skipped items are counted by rater."""

from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):
    dependencies = [("annotation", "0048_marks_of_github")]

    operations = [
        migrations.AddIndex(
            model_name="assignment",
            index=models.Index(condition=Q(state="skipped"), fields=["round", "rater"], name="skipped_by_rater"),
        ),
    ]
