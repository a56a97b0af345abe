"""Invitations by link; who left a study."""

import django.contrib.postgres.fields
import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ("annotation", "0012_reader_links"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='Invitation',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('roles', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(choices=[('owner', 'Owner'), ('adjudicator', 'Adjudicator'), ('rater', 'Rater'), ('reader', 'Reader')], max_length=12), size=None)),
                ('note', models.CharField(blank=True, help_text='For whom it is meant; the owners see it.', max_length=200)),
                ('email', models.EmailField(blank=True, help_text='Where it was sent.', max_length=254)),
                ('digest', models.CharField(editable=False, max_length=64, unique=True)),
                ('n_most', models.PositiveIntegerField(default=1, help_text='How many people may use it.')),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('expires_at', models.DateTimeField()),
                ('withdrawn_at', models.DateTimeField(blank=True, null=True)),
            ],
            options={
                'ordering': ['-id'],
            },
        ),
        migrations.CreateModel(
            name='InvitationUse',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('accepted_at', models.DateTimeField(auto_now_add=True)),
            ],
            options={
                'ordering': ['id'],
            },
        ),
        migrations.AddField(
            model_name='membership',
            name='former_user',
            field=models.ForeignKey(blank=True, help_text='Who left or was removed: then `user` is empty, so no door finds a way in.', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='former_memberships', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='membership',
            name='left_at',
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddConstraint(
            model_name='membership',
            constraint=models.UniqueConstraint(fields=('study', 'former_user'), name='a_user_left_a_study_once'),
        ),
        migrations.AddConstraint(
            model_name='membership',
            constraint=models.CheckConstraint(condition=models.Q(('user__isnull', True), ('former_user__isnull', True), _connector='OR'), name='who_left_is_no_member'),
        ),
        migrations.AddField(
            model_name='invitation',
            name='created_by',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='invitation',
            name='study',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='invitations', to='annotation.study'),
        ),
        migrations.AddField(
            model_name='invitationuse',
            name='invitation',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='uses', to='annotation.invitation'),
        ),
        migrations.AddField(
            model_name='invitationuse',
            name='member',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='annotation.membership'),
        ),
        migrations.AddConstraint(
            model_name='invitationuse',
            constraint=models.UniqueConstraint(fields=('invitation', 'member'), name='an_invitation_is_used_once_by_a_member'),
        ),
    ]
