"""A rater can be away until a day."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("annotation", "0030_sample_numbers")]

    operations = [
        migrations.AddField(
            model_name="membership",
            name="away_until",
            field=models.DateField(
                blank=True, help_text="The day (UTC) of their return; before it they get no items.", null=True
            ),
        ),
    ]
