"""A password that was set by a link is told on every page until its person confirms it."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0004_server_audit'),
    ]

    operations = [
        migrations.AddField(
            model_name='passwordlink',
            name='by_email',
            field=models.BooleanField(db_default=False, default=False, help_text="Sent to the person's own address, because they asked for it."),
        ),
        migrations.AddField(
            model_name='passwordlink',
            name='confirmed_at',
            field=models.DateTimeField(help_text='When its person, or staff for them, confirmed that they used it themselves.', null=True),
        ),
        migrations.RunSQL(
            "UPDATE accounts_passwordlink SET confirmed_at = used_at WHERE used_at IS NOT NULL", migrations.RunSQL.noop
        ),
        migrations.AddField(
            model_name='user',
            name='has_notice',
            field=models.BooleanField(db_default=False, default=False, editable=False, help_text='Whether a password was set by a link, which the person has not confirmed.'),
        ),
        migrations.AddField(
            model_name='user',
            name='password_link',
            field=models.ForeignKey(blank=True, editable=False, help_text='The link that the present password goes back to: it was set by it, or changed by who knew that one.', null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='accounts.passwordlink'),
        ),
    ]
