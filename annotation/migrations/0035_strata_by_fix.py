"""Strata by the fixes of issues are kept with a sample, because what fixes an issue is no part of a snapshot."""

import django.contrib.postgres.fields
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("annotation", "0034_excluded_items")]

    operations = [
        migrations.AddField(
            model_name="sample",
            name="frame_strata",
            field=django.contrib.postgres.fields.ArrayField(
                base_field=models.SmallIntegerField(),
                blank=True,
                db_default=[],
                default=list,
                help_text="Where snapshots do not tell the strata: for each of the frame its place in `strata`, from 0.",
                size=None,
            ),
        ),
    ]
