"""Hosts whose images a person wants to see without a click."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("accounts", "0008_database_defaults")]

    operations = [
        migrations.AddField(
            model_name="user",
            name="image_hosts",
            field=models.JSONField(
                blank=True, db_default=[], default=list, help_text="Hosts whose images are shown without a click."
            ),
        ),
    ]
