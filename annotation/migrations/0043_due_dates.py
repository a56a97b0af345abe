"""A round can have a day by which its raters are to be done."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("annotation", "0042_columns_of_kinds")]

    operations = [
        migrations.AddField(
            model_name="round",
            name="due_on",
            field=models.DateField(
                blank=True, help_text="The day (UTC) by which its raters are to be done; null: none.", null=True
            ),
        ),
    ]
