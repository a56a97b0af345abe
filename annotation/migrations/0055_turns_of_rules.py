"""How far the job of the rules is in a round, so that another worker can continue it."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("annotation", "0054_reassignment_jobs")]

    operations = [
        migrations.AddField(
            model_name="round",
            name="ruled_to",
            field=models.PositiveIntegerField(
                db_default=0,
                default=0,
                help_text="The position to which the job of the rules is; 0: it has not begun, or is over.",
            ),
        ),
    ]
