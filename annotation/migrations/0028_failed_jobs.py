from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("annotation", "0027_fewer_indexes")]

    operations = [
        migrations.AddField(
            model_name="deletion",
            name="error",
            field=models.TextField(
                blank=True, db_default="", default="", help_text="Why the job failed; it is continued by hand."
            ),
        ),
        migrations.AddField(
            model_name="round",
            name="rules_error",
            field=models.TextField(
                blank=True,
                db_default="",
                default="",
                help_text="Why the job of the rules failed; it is run again by hand.",
            ),
        ),
    ]
