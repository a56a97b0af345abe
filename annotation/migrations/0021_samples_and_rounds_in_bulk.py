
import annotation.models.public
import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('annotation', '0020_limits_and_promises'),
        ('taxonomy', '0003_drafts_in_an_editor'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='BulkJob',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(choices=[('sample', 'draws the issues of a sample'), ('round', 'puts the items of a sample into a round'), ('opening', 'makes the assignments of a round and opens it')], max_length=10)),
                ('state', models.CharField(choices=[('queued', 'Queued'), ('running', 'Running'), ('done', 'Done'), ('failed', 'Failed')], default='queued', max_length=10)),
                ('asked', models.JSONField(blank=True, default=dict, help_text='What the request said beyond the row that it made.')),
                ('cursor', models.JSONField(blank=True, default=dict, help_text='How far the job is.')),
                ('n_done', models.PositiveIntegerField(default=0)),
                ('n_total', models.PositiveIntegerField(default=0)),
                ('n_claims', models.PositiveIntegerField(default=0, help_text='How often a worker began.')),
                ('error', models.TextField(blank=True)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('worked_at', models.DateTimeField(blank=True, help_text='When the job last reported.', null=True)),
                ('done_at', models.DateTimeField(blank=True, null=True)),
            ],
            options={
                'ordering': ['-id'],
            },
            bases=(annotation.models.public.Public, models.Model),
        ),
        migrations.AddField(
            model_name='round',
            name='idempotency_key',
            field=models.CharField(blank=True, db_default='', default='', max_length=200),
        ),
        migrations.AddField(
            model_name='round',
            name='request_digest',
            field=models.CharField(blank=True, db_default='', default='', help_text='SHA-256 of the request, to recognize a resend.', max_length=64),
        ),
        migrations.AddField(
            model_name='sample',
            name='idempotency_key',
            field=models.CharField(blank=True, db_default='', default='', max_length=200),
        ),
        migrations.AddField(
            model_name='sample',
            name='request_digest',
            field=models.CharField(blank=True, db_default='', default='', help_text='SHA-256 of the request, to recognize a resend.', max_length=64),
        ),
        migrations.AddConstraint(
            model_name='round',
            constraint=models.UniqueConstraint(condition=models.Q(('idempotency_key', ''), _negated=True), fields=('study', 'created_by', 'idempotency_key'), name='an_idempotency_key_makes_one_round'),
        ),
        migrations.AddConstraint(
            model_name='sample',
            constraint=models.UniqueConstraint(condition=models.Q(('idempotency_key', ''), _negated=True), fields=('study', 'created_by', 'idempotency_key'), name='an_idempotency_key_makes_one_sample'),
        ),
        migrations.AddField(
            model_name='bulkjob',
            name='created_by',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='bulkjob',
            name='round',
            field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='bulk_jobs', to='annotation.round'),
        ),
        migrations.AddField(
            model_name='bulkjob',
            name='sample',
            field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='bulk_jobs', to='annotation.sample'),
        ),
        migrations.AddField(
            model_name='bulkjob',
            name='study',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='bulk_jobs', to='annotation.study'),
        ),
        migrations.AddConstraint(
            model_name='bulkjob',
            constraint=models.UniqueConstraint(condition=models.Q(('state__in', ['queued', 'running'])), fields=('study',), name='a_study_has_one_bulk_job_at_work'),
        ),
    ]
