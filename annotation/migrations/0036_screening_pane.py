"""Raters who screen put issues off as maybe, and keywords are highlighted for them."""

import django.contrib.postgres.fields
from django.db import migrations, models


def keywords(of: str) -> django.contrib.postgres.fields.ArrayField:
    return django.contrib.postgres.fields.ArrayField(
        base_field=models.CharField(max_length=200), blank=True, db_default=[], default=list, help_text=of, size=None
    )


class Migration(migrations.Migration):
    dependencies = [("annotation", "0035_strata_by_fix")]

    operations = [
        migrations.AddField(
            model_name="study",
            name="screening_keywords",
            field=keywords("Words that are highlighted for everybody who screens."),
        ),
        migrations.AddField(
            model_name="membership",
            name="screening_keywords",
            field=keywords("Words that are highlighted for this rater while screening, beside those of the study."),
        ),
        migrations.AddField(
            model_name="assignment",
            name="maybe",
            field=models.BooleanField(
                db_default=False,
                default=False,
                help_text="While screening its rater put it off as a maybe; it stays to be answered.",
            ),
        ),
    ]
