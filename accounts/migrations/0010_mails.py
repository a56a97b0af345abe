"""Which e-mails a person wants about waiting work, and when they were sent last."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("accounts", "0009_image_hosts")]

    operations = [
        migrations.AddField(
            model_name="user",
            name="no_mails",
            field=models.JSONField(
                blank=True, db_default=[], default=list, help_text="Kinds of e-mail that the person does not want."
            ),
        ),
        migrations.AddField(
            model_name="user",
            name="mailed_on",
            field=models.DateField(blank=True, help_text="The last day (UTC) of the daily e-mail.", null=True),
        ),
        migrations.AddField(
            model_name="user",
            name="summed_up_on",
            field=models.DateField(blank=True, help_text="The last day (UTC) of the weekly summary.", null=True),
        ),
    ]
