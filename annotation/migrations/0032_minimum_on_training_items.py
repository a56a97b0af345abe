from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("annotation", "0031_absences")]

    operations = [
        migrations.AddField(
            model_name="round",
            name="gold_minimum",
            field=models.JSONField(
                blank=True,
                null=True,
                help_text="What a rater has to reach on training items before they get others: share of items right, "
                "and by dimension coefficient and minimum. Fixed when the round opens; null: nothing.",
            ),
        ),
        migrations.AddField(
            model_name="roundrater",
            name="admission",
            field=models.JSONField(
                blank=True,
                null=True,
                help_text="Where the round has a minimum on training items: when it was reached, in which round, and "
                "with what result, or who let the rater in and why. Null: not yet.",
            ),
        ),
    ]
