"""Studies are archived, come from other servers and are deleted whole; for that alone the database lets rows go."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

# Rows that are only appended to may be deleted by a transaction that names their study, if its deletion stands in the
# register (with the SHA-256 of an export, by a constraint); nothing else may, and nothing may change them even then.
LET_GO = """
CREATE FUNCTION annotation_goes_with_its_study(the_table text, the_row jsonb) RETURNS boolean
LANGUAGE plpgsql STABLE AS $$
DECLARE going bigint := nullif(current_setting('concord.study_that_goes', true), '')::bigint;
BEGIN
    IF going IS NULL OR NOT EXISTS (SELECT FROM annotation_deletion WHERE study_id = going) THEN
        RETURN false;
    END IF;
    RETURN going IS NOT DISTINCT FROM CASE the_table
        WHEN 'annotation_annotation' THEN
            (SELECT study_id FROM annotation_membership WHERE id = (the_row->>'rater_id')::bigint)
        WHEN 'annotation_proposal' THEN
            (SELECT study_id FROM annotation_round WHERE id = (the_row->>'round_id')::bigint)
        WHEN 'annotation_rating' THEN
            (SELECT study_id FROM annotation_round WHERE id = (the_row->>'round_id')::bigint)
        WHEN 'annotation_resolution' THEN
            (SELECT study_id FROM annotation_round WHERE id = (the_row->>'round_id')::bigint)
        WHEN 'annotation_remark' THEN
            (SELECT study_id FROM annotation_round WHERE id = (the_row->>'round_id')::bigint)
        WHEN 'annotation_resolutionvalue' THEN
            (SELECT r.study_id FROM annotation_resolution s JOIN annotation_round r ON r.id = s.round_id
             WHERE s.id = (the_row->>'resolution_id')::bigint)
        WHEN 'annotation_proposaloutcome' THEN
            (SELECT r.study_id FROM annotation_proposal p JOIN annotation_round r ON r.id = p.round_id
             WHERE p.id = (the_row->>'proposal_id')::bigint)
        WHEN 'annotation_evidence' THEN
            (SELECT r.study_id FROM annotation_rating g JOIN annotation_round r ON r.id = g.round_id
             WHERE g.id = (the_row->>'rating_id')::bigint)
        WHEN 'annotation_sample' THEN (the_row->>'study_id')::bigint
        WHEN 'annotation_sampleissue' THEN
            (SELECT study_id FROM annotation_sample WHERE id = (the_row->>'sample_id')::bigint)
        WHEN 'annotation_auditevent' THEN (the_row->>'study_id')::bigint
    END;
END $$;

CREATE OR REPLACE FUNCTION annotation_refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' AND annotation_goes_with_its_study(TG_TABLE_NAME, to_jsonb(OLD)) THEN
        RETURN OLD;
    END IF;
    RAISE EXCEPTION '%', TG_ARGV[0] USING ERRCODE = 'restrict_violation';
END $$;

CREATE TRIGGER stays BEFORE DELETE ON annotation_deletion
    FOR EACH ROW EXECUTE FUNCTION annotation_refuse('That a study was deleted stays written down.');
"""
HOLD = """
DROP TRIGGER stays ON annotation_deletion;
CREATE OR REPLACE FUNCTION annotation_refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '%', TG_ARGV[0] USING ERRCODE = 'restrict_violation';
END $$;
DROP FUNCTION annotation_goes_with_its_study(text, jsonb);
"""


class Migration(migrations.Migration):

    dependencies = [
        ('annotation', '0013_invitations_and_leaving'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField(
            model_name='membership',
            name='formerly',
            field=models.ForeignKey(blank=True, help_text='Who it was on the server that the study came from; what they did there names them so.', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='study',
            name='archived_at',
            field=models.DateTimeField(blank=True, help_text='Since then it is only read.', null=True),
        ),
        migrations.AddField(
            model_name='study',
            name='deleted_at',
            field=models.DateTimeField(blank=True, help_text='Since then nobody finds it; a job takes away what it holds.', null=True),
        ),
        migrations.CreateModel(
            name='Arrival',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('file', models.FileField(blank=True, max_length=300, upload_to='arrivals/%Y/%m/')),
                ('name', models.CharField(max_length=200)),
                ('slug', models.CharField(help_text='The address that the study gets.', max_length=80)),
                ('state', models.CharField(choices=[('queued', 'Queued'), ('running', 'Running'), ('done', 'Done'), ('failed', 'Failed')], default='queued', max_length=10)),
                ('n_attempts', models.PositiveIntegerField(default=0, help_text='How often a worker began.')),
                ('n_done', models.PositiveBigIntegerField(default=0, help_text='Rows stored so far.')),
                ('n_total', models.PositiveBigIntegerField(default=0, help_text='Rows in the file.')),
                ('step', models.CharField(blank=True, help_text='What the job is at, in words.', max_length=200)),
                ('report', models.JSONField(blank=True, help_text='What came of it.', null=True)),
                ('error', models.TextField(blank=True)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('worked_at', models.DateTimeField(blank=True, help_text='When the job was last heard of.', null=True)),
                ('done_at', models.DateTimeField(blank=True, null=True)),
                ('created_by', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('study', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='annotation.study')),
            ],
            options={
                'ordering': ['-id'],
            },
        ),
        migrations.CreateModel(
            name='Deletion',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('slug', models.CharField(max_length=80)),
                ('title', models.CharField(max_length=200)),
                ('sha256', models.CharField(help_text='Of the whole export that was made of it last.', max_length=64)),
                ('exported_at', models.DateTimeField()),
                ('counts', models.JSONField(default=dict, help_text='What it held: name of a table, number of rows.')),
                ('n_done', models.PositiveBigIntegerField(default=0, help_text='Rows taken away so far.')),
                ('n_total', models.PositiveBigIntegerField(default=0)),
                ('deleted_at', models.DateTimeField(auto_now_add=True)),
                ('worked_at', models.DateTimeField(blank=True, help_text='When the job was last heard of.', null=True)),
                ('done_at', models.DateTimeField(blank=True, null=True)),
                ('deleted_by', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('study', models.OneToOneField(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='deletion', to='annotation.study')),
            ],
            options={
                'ordering': ['-id'],
                'constraints': [models.CheckConstraint(condition=models.Q(('sha256__regex', '^[0-9a-f]{64}$')), name='a_study_is_deleted_after_an_export'), models.CheckConstraint(condition=models.Q(models.Q(('done_at__isnull', True), ('study__isnull', False)), models.Q(('done_at__isnull', False), ('study__isnull', True)), _connector='OR'), name='a_deletion_is_over_when_the_study_is_gone')],
            },
        ),
        migrations.RunSQL(LET_GO, HOLD),
    ]
