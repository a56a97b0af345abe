from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("annotation", "0028_failed_jobs")]

    operations = [
        migrations.AddField(
            model_name="resolution",
            name="no_part",
            field=models.BooleanField(
                db_default=False,
                default=False,
                help_text="The part does not exist: it has no label on any dimension, and nothing of it is open.",
            ),
        ),
    ]
