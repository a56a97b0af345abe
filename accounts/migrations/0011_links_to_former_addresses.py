"""Links that were sent to an e-mail address which the account had no longer when they were used."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("accounts", "0010_mails")]

    operations = [
        migrations.AddField(
            model_name="passwordlink",
            name="to_former_address",
            field=models.BooleanField(
                db_default=False,
                default=False,
                help_text="Sent to an e-mail address that was not the account's any more when the link was used.",
            ),
        ),
    ]
