"""What is done on the server outside of studies is written down, and only ever added to."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

APPEND_ONLY = """
CREATE FUNCTION accounts_refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'An audit event can''t be changed or deleted.' USING ERRCODE = 'restrict_violation';
END $$;
CREATE TRIGGER accounts_serverevent_append_only BEFORE UPDATE OR DELETE ON accounts_serverevent
    FOR EACH ROW EXECUTE FUNCTION accounts_refuse();
"""
ANYTHING = """
DROP TRIGGER accounts_serverevent_append_only ON accounts_serverevent;
DROP FUNCTION accounts_refuse();
"""


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0003_people_of_other_servers'),
    ]

    operations = [
        migrations.CreateModel(
            name='ServerEvent',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('at', models.DateTimeField(auto_now_add=True)),
                ('verb', models.CharField(max_length=60)),
                ('detail', models.JSONField(default=dict)),
                ('about', models.ForeignKey(help_text='Whom it concerns.', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('user', models.ForeignKey(help_text='None: nobody was signed in, or it was done in the shell.', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ['-id'],
                'indexes': [models.Index(fields=['verb', '-id'], name='server_audit_by_verb'), models.Index(fields=['user', '-id'], name='server_audit_by_user'), models.Index(fields=['about', '-id'], name='server_audit_by_person')],
            },
        ),
        migrations.RunSQL(APPEND_ONLY, ANYTHING),
    ]
