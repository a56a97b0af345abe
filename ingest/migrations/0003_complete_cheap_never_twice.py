"""Closing changes, where an issue is now, validators, a search index of its own, tables to map, webhook deliveries."""

import django.contrib.postgres.fields
import django.contrib.postgres.indexes
import django.contrib.postgres.search
import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

ALL_TO_BE_INDEXED = "INSERT INTO ingest_unsearchable SELECT id FROM ingest_issue WHERE current_snapshot_id IS NOT NULL"
# Compressing the words costs more than finding them; a row up to a page keeps them beside its key.
WORDS_AS_THEY_ARE = """
ALTER TABLE ingest_searchentry ALTER COLUMN words SET STORAGE MAIN;
ALTER TABLE ingest_searchentry SET (toast_tuple_target = 8160);
"""


class Migration(migrations.Migration):

    dependencies = [
        ('ingest', '0002_rules'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='ClosingChange',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(choices=[('pull_request', 'Pull Request'), ('commit', 'Commit')], max_length=12)),
                ('identifier', models.CharField(help_text="owner/name#number, or owner/name@ and the commit's hash.", max_length=500)),
                ('number', models.PositiveIntegerField(blank=True, help_text='Of a pull request.', null=True)),
                ('title', models.TextField(blank=True)),
                ('html_url', models.URLField(blank=True, max_length=600)),
                ('author_login', models.CharField(blank=True, max_length=255)),
                ('merged_at', models.DateTimeField(blank=True, help_text='When a pull request was merged or a commit made; none: closed without merging.', null=True)),
                ('additions', models.PositiveIntegerField(blank=True, null=True)),
                ('deletions', models.PositiveIntegerField(blank=True, null=True)),
                ('n_files', models.PositiveIntegerField(blank=True, null=True)),
                ('paths', django.contrib.postgres.fields.ArrayField(base_field=models.TextField(), blank=True, default=list, help_text='Of the changed files, as far as told.', size=None)),
            ],
            options={
                'ordering': ['pk'],
            },
        ),
        migrations.CreateModel(
            name='Delivery',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('guid', models.CharField(max_length=100, unique=True)),
                ('sha256', models.CharField(help_text='Of the body: the same words count once.', max_length=64, unique=True)),
                ('event', models.CharField(max_length=60)),
                ('action', models.CharField(blank=True, max_length=60)),
                ('payload', models.JSONField(help_text='Kept until its run is over.', null=True)),
                ('received_at', models.DateTimeField(auto_now_add=True, db_index=True)),
            ],
        ),
        migrations.CreateModel(
            name='SearchEntry',
            fields=[
                ('issue', models.OneToOneField(db_constraint=False, on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='search_entry', serialize=False, to='ingest.issue')),
                ('words', django.contrib.postgres.search.SearchVectorField()),
            ],
        ),
        migrations.CreateModel(
            name='Unsearchable',
            fields=[
                ('issue', models.OneToOneField(db_constraint=False, on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='+', serialize=False, to='ingest.issue')),
            ],
        ),
        migrations.CreateModel(
            name='Upload',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('file', models.FileField(upload_to='uploads/%Y/%m/')),
                ('name', models.CharField(max_length=200)),
                ('requested', models.JSONField(default=dict, help_text='repository, name, private as a run has it; a sample of the table.')),
                ('created_at', models.DateTimeField(auto_now_add=True)),
            ],
        ),
        migrations.CreateModel(
            name='Validator',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('question', models.TextField(help_text='Path and parameters.')),
                ('etag', models.CharField(max_length=200)),
                ('answered_at', models.DateTimeField(auto_now=True)),
            ],
        ),
        migrations.RemoveIndex(
            model_name='snapshot',
            name='snapshots_by_words',
        ),
        migrations.AddField(
            model_name='fetchrun',
            name='n_bytes',
            field=models.BigIntegerField(blank=True, help_text='Size of the file, where one is read.', null=True),
        ),
        migrations.AddField(
            model_name='fetchrun',
            name='n_bytes_read',
            field=models.BigIntegerField(default=0),
        ),
        migrations.AddField(
            model_name='fetchrun',
            name='n_closing_changes',
            field=models.PositiveIntegerField(default=0, help_text='Closing changes read.'),
        ),
        migrations.AddField(
            model_name='fetchrun',
            name='n_requests_left',
            field=models.PositiveIntegerField(blank=True, help_text='What GitHub said last that the token (or address) may still ask.', null=True),
        ),
        migrations.AddField(
            model_name='fetchrun',
            name='n_unchanged_answers',
            field=models.PositiveIntegerField(default=0, help_text='Of these, answered with 304 (not modified), which GitHub does not count.'),
        ),
        migrations.AddField(
            model_name='issue',
            name='changes_known',
            field=models.BooleanField(db_default=False, help_text='Whether a source has told what closed it.'),
        ),
        migrations.AddField(
            model_name='issue',
            name='checked_at',
            field=models.DateTimeField(blank=True, help_text='When GitHub was last asked whether it is still there.', null=True),
        ),
        migrations.AddField(
            model_name='issue',
            name='locked',
            field=models.BooleanField(help_text='As GitHub last said; locking makes no new snapshot.', null=True),
        ),
        migrations.AddField(
            model_name='issue',
            name='moved_to',
            field=models.CharField(blank=True, db_default='', help_text='Where a transferred or converted issue is now.', max_length=600),
        ),
        migrations.AddField(
            model_name='issue',
            name='presence',
            field=models.CharField(choices=[('here', 'still where it was'), ('deleted', 'deleted at GitHub'), ('transferred', 'transferred to another repository'), ('discussion', 'converted to a discussion')], db_default='here', max_length=12),
        ),
        migrations.AddField(
            model_name='repository',
            name='complete_until',
            field=models.DateTimeField(blank=True, help_text='All that changed at GitHub before this time has been fetched.', null=True),
        ),
        migrations.AlterField(
            model_name='refusal',
            name='row',
            field=models.TextField(blank=True, help_text='The row as it was, or the beginning of a very long one.'),
        ),
        migrations.AddField(
            model_name='closingchange',
            name='issue',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='closing_changes', to='ingest.issue'),
        ),
        migrations.AddField(
            model_name='delivery',
            name='run',
            field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='deliveries', to='ingest.fetchrun'),
        ),
        migrations.AddIndex(
            model_name='searchentry',
            index=django.contrib.postgres.indexes.GinIndex(fields=['words'], name='search_entries_by_words'),
        ),
        migrations.AddField(
            model_name='upload',
            name='created_by',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='validator',
            name='repository',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='validators', to='ingest.repository'),
        ),
        migrations.AddConstraint(
            model_name='closingchange',
            constraint=models.UniqueConstraint(fields=('issue', 'identifier'), name='a_change_closes_an_issue_once'),
        ),
        migrations.AddConstraint(
            model_name='validator',
            constraint=models.UniqueConstraint(fields=('repository', 'question'), name='a_question_has_one_validator'),
        ),
        migrations.AlterField(
            model_name='comment',
            name='sha256',
            field=models.CharField(max_length=64),
        ),
        migrations.AddConstraint(
            model_name='comment',
            constraint=models.UniqueConstraint(fields=('sha256',), name='a_comment_is_stored_once'),
        ),
        migrations.AlterField(
            model_name='issue',
            name='repository',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='issues', to='ingest.repository'),
        ),
        migrations.AddIndex(
            model_name='issue',
            index=models.Index(fields=['repository', 'id'], name='issues_of_a_repository'),
        ),
        migrations.AlterField(
            model_name='snapshot',
            name='issue',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='snapshots', to='ingest.issue'),
        ),
        migrations.AlterField(
            model_name='snapshotcomment',
            name='snapshot',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, to='ingest.snapshot'),
        ),
        migrations.AddField(
            model_name='repository',
            name='is_counted',
            field=models.BooleanField(db_default=False, help_text='Whether nothing was stored since these were counted.'),
        ),
        migrations.AddField(
            model_name='repository',
            name='n_closing_changes',
            field=models.PositiveIntegerField(blank=True, help_text='None: no source has told any.', null=True),
        ),
        migrations.AddField(
            model_name='repository',
            name='n_comments',
            field=models.PositiveBigIntegerField(blank=True, help_text='Of issues whose comments are known.', null=True),
        ),
        migrations.AddField(
            model_name='repository',
            name='n_issues',
            field=models.PositiveIntegerField(blank=True, help_text='As last counted; none: not counted yet.', null=True),
        ),
        migrations.AddField(
            model_name='repository',
            name='n_open',
            field=models.PositiveIntegerField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name='repository',
            name='github_labels',
            field=models.JSONField(blank=True, help_text='The most used: [name, number of issues] of each.', null=True),
        ),
        migrations.AlterField(
            model_name='fetchrun',
            name='repository',
            field=models.ForeignKey(blank=True, db_index=False, help_text='Known once GitHub has answered; a file may bring several.', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='runs', to='ingest.repository'),
        ),
        migrations.AlterField(
            model_name='fetchrun',
            name='created_by',
            field=models.ForeignKey(blank=True, db_index=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddIndex(
            model_name='fetchrun',
            index=models.Index(fields=['repository', 'id'], name='runs_of_a_repository'),
        ),
        migrations.AddIndex(
            model_name='fetchrun',
            index=models.Index(fields=['created_by', 'id'], name='runs_of_a_person'),
        ),
        migrations.RunSQL(WORDS_AS_THEY_ARE, migrations.RunSQL.noop),
        migrations.RunSQL(ALL_TO_BE_INDEXED, migrations.RunSQL.noop),
    ]
