"""Excluded places of rounds are found at once."""

from django.db import migrations, models

from shared.index_migrations import AddIndexOnLarge


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("annotation", "0033_screened_out")]

    operations = [
        AddIndexOnLarge(
            model_name="rounditem",
            index=models.Index(fields=["round", "item"], condition=models.Q(excluded=True), name="excluded_items"),
        ),
    ]
