"""Files that a job makes."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ("annotation", "0008_what_is_rare_is_found_at_once"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='Export',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.PositiveIntegerField()),
                ('what', models.CharField(max_length=20)),
                ('format', models.CharField(max_length=10)),
                ('asked', models.JSONField(blank=True, default=dict, help_text='Filters and options, as they were asked for.')),
                ('rounds', models.JSONField(blank=True, default=list, help_text='Numbers of the rounds whose answers are in it.')),
                ('left_out', models.JSONField(blank=True, default=list, help_text='Numbers of the rounds left out, because who asked was blind in them.')),
                ('hidden', models.JSONField(blank=True, default=list, help_text='[round, item] ids left out, because who asked was to answer them yet.')),
                ('state', models.CharField(choices=[('queued', 'Queued'), ('running', 'Running'), ('done', 'Done'), ('failed', 'Failed'), ('cancelled', 'Cancelled'), ('removed', 'removed: the file is gone, its hash still says which one it was')], default='queued', max_length=10)),
                ('n_claims', models.PositiveIntegerField(default=0, help_text='Who holds the last claim may write.')),
                ('n_rows', models.PositiveBigIntegerField(default=0, help_text='Rows written so far.')),
                ('n_expected', models.PositiveBigIntegerField(blank=True, help_text='Rows there will be, about.', null=True)),
                ('step', models.CharField(blank=True, help_text='What the job is at, in words.', max_length=200)),
                ('file', models.FileField(blank=True, max_length=300, upload_to='exports/%Y/%m/')),
                ('n_bytes', models.PositiveBigIntegerField(blank=True, null=True)),
                ('sha256', models.CharField(blank=True, max_length=64)),
                ('error', models.TextField(blank=True)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('started_at', models.DateTimeField(blank=True, null=True)),
                ('worked_at', models.DateTimeField(blank=True, help_text='When the job was last heard of.', null=True)),
                ('done_at', models.DateTimeField(blank=True, help_text='When it was over, whichever way.', null=True)),
                ('created_by', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('study', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='exports', to='annotation.study')),
            ],
            options={
                'ordering': ['-number'],
                'constraints': [models.UniqueConstraint(fields=('study', 'number'), name='an_export_number_is_used_once_in_a_study'), models.CheckConstraint(condition=models.Q(models.Q(('state', 'done'), _negated=True), models.Q(models.Q(('file', ''), _negated=True), models.Q(('sha256', ''), _negated=True), ('n_bytes__isnull', False)), _connector='OR'), name='a_done_export_has_a_file_and_its_hash')],
            },
        ),
    ]
