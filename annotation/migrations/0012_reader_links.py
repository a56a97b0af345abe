"""Links by which reviewers read a study without an account."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('annotation', '0011_workbooks'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='ReaderLink',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.PositiveIntegerField()),
                ('label', models.CharField(help_text='Whom it is for.', max_length=100)),
                ('digest', models.CharField(editable=False, max_length=64, unique=True)),
                ('with_issues', models.BooleanField(default=False, help_text='Its readers see the texts of issues, private ones too.')),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('ends_at', models.DateTimeField(blank=True, help_text='Empty: it holds until it is withdrawn.', null=True)),
                ('withdrawn_at', models.DateTimeField(blank=True, null=True)),
                ('n_opened', models.PositiveIntegerField(default=0, help_text='How often it was opened.')),
                ('last_opened_at', models.DateTimeField(blank=True, null=True)),
                ('created_by', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('study', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='reader_links', to='annotation.study')),
            ],
            options={
                'ordering': ['-number'],
                'constraints': [models.UniqueConstraint(fields=('study', 'number'), name='a_reader_link_number_is_used_once_in_a_study')],
            },
        ),
    ]
