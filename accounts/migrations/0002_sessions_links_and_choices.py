"""Sessions with whose they are, links for a password, theme and keys."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models
from django.utils import timezone


def take_over_sessions(apps, schema_editor):
    """Whoever is signed in stays so."""
    from django.contrib.sessions.backends.db import SessionStore

    found = apps.get_model("sessions", "Session").objects.filter(expire_date__gt=timezone.now())
    people = set(apps.get_model("accounts", "User").objects.values_list("pk", flat=True))
    session, now = apps.get_model("accounts", "Session"), timezone.now()
    made = []
    for row in found.iterator(chunk_size=2000):
        user = int(SessionStore().decode(row.session_data).get("_auth_user_id", 0))
        if user in people:
            kept = {"session_key": row.session_key, "session_data": row.session_data, "expire_date": row.expire_date}
            made.append(session(**kept, user_id=user, begun_at=now, seen_at=now))
    session.objects.bulk_create(made, batch_size=2000, ignore_conflicts=True)


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0001_initial'),
        ('sessions', '0001_initial'),
    ]

    operations = [
        migrations.AddField(
            model_name='user',
            name='keys',
            field=models.JSONField(blank=True, default=dict, help_text='What differs from the usual keys of the labelling page.'),
        ),
        migrations.AddField(
            model_name='user',
            name='theme',
            field=models.CharField(choices=[('system', 'System'), ('light', 'Light'), ('dark', 'Dark')], blank=True, default='', max_length=10),
        ),
        migrations.CreateModel(
            name='PasswordLink',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('digest', models.CharField(editable=False, max_length=64, unique=True)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('expires_at', models.DateTimeField()),
                ('used_at', models.DateTimeField(null=True)),
                ('told_at', models.DateTimeField(help_text='When its person was told that somebody else had made it.', null=True)),
                ('made_by', models.ForeignKey(help_text='None: asked for by e-mail, or made in the shell.', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='password_links', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ['-created_at'],
            },
        ),
        migrations.CreateModel(
            name='Session',
            fields=[
                ('session_key', models.CharField(max_length=40, primary_key=True, serialize=False, verbose_name='session key')),
                ('session_data', models.TextField(verbose_name='session data')),
                ('expire_date', models.DateTimeField(db_index=True, verbose_name='expire date')),
                ('browser', models.CharField(blank=True, help_text='As it names itself.', max_length=300)),
                ('address', models.CharField(blank=True, help_text='Where it was last seen, shortened.', max_length=45)),
                ('begun_at', models.DateTimeField()),
                ('seen_at', models.DateTimeField(help_text='To the hour.')),
                ('user', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='sessions', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'indexes': [models.Index(condition=models.Q(('user__isnull', False)), fields=['user'], name='sessions_of_a_person')],
            },
        ),
        migrations.RunPython(take_over_sessions, migrations.RunPython.noop),
    ]
