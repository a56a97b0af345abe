"""A link for a new password that an owner made keeps the study that it was made in; those that are out end."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0005_password_notices'),
    ]

    operations = [
        migrations.AddField(
            model_name='passwordlink',
            name='of_study',
            field=models.BigIntegerField(help_text='ID of the study whose owner made it. None: staff, the shell or an e-mail.', null=True),
        ),
        migrations.RunSQL(
            "UPDATE accounts_passwordlink SET expires_at = now() "
            "WHERE made_by_id IS NOT NULL AND used_at IS NULL AND expires_at > now()",
            migrations.RunSQL.noop,
        ),
    ]
