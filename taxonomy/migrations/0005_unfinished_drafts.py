"""What an editor wrote of a draft that is not valid yet is stored beside the rows of its last valid text."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("taxonomy", "0004_columns_of_kinds")]

    operations = [
        migrations.AddField(
            model_name="taxonomyversion",
            name="unfinished",
            field=models.JSONField(
                blank=True,
                help_text="What the editor wrote last of a draft that cannot be published yet; null: the rows are it.",
                null=True,
            ),
        ),
    ]
