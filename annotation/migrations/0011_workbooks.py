"""Spreadsheets on their way in, and what was decided about spellings."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ("annotation", "0010_analyses"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='Workbook',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('file', models.FileField(max_length=300, upload_to='workbooks/%Y/%m/')),
                ('name', models.CharField(max_length=200)),
                ('mapping', models.JSONField(blank=True, default=dict, help_text='What each sheet and column is, as far as it was chosen.')),
                ('state', models.CharField(choices=[('waiting', 'waits for its mapping'), ('queued', 'Queued'), ('running', 'Running'), ('done', 'Done'), ('failed', 'Failed')], default='waiting', max_length=10)),
                ('n_attempts', models.PositiveIntegerField(default=0, help_text='How often a worker began.')),
                ('n_done', models.PositiveIntegerField(default=0, help_text='Items stored so far.')),
                ('n_total', models.PositiveIntegerField(default=0, help_text='Items in all rounds of the file.')),
                ('report', models.JSONField(blank=True, help_text='What came of it.', null=True)),
                ('error', models.TextField(blank=True)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('worked_at', models.DateTimeField(blank=True, help_text='When the job was last heard of.', null=True)),
                ('done_at', models.DateTimeField(blank=True, null=True)),
                ('created_by', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('study', models.ForeignKey(blank=True, help_text='None: it makes a new one.', null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='annotation.study')),
            ],
        ),
        migrations.CreateModel(
            name='Spelling',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('dimension_key', models.CharField(max_length=100)),
                ('spelling', models.CharField(help_text='Trimmed, inner blanks collapsed, without case.', max_length=500)),
                ('category_key', models.CharField(blank=True, help_text='Empty: it is no rating.', max_length=100)),
                ('is_pending', models.BooleanField(default=False, help_text='It asks for a category that is missing.')),
                ('decided_at', models.DateTimeField(auto_now_add=True)),
                ('decided_by', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('study', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='spellings', to='annotation.study')),
            ],
            options={
                'indexes': [models.Index(fields=['study', 'dimension_key', 'spelling'], name='spellings_decided')],
            },
        ),
        ]
