"""Evidence, discussion and the inbox, rules of a study, matched parts, training items, machines, screening rounds."""

import django.db.models.deletion
from django.db import migrations, models


# A proposal carries round, item, part and who made it, so that one can be made without an answer, too.
PROPOSALS_CARRY = """
ALTER TABLE annotation_proposal DISABLE TRIGGER append_only;
UPDATE annotation_proposal p
SET round_id = g.round_id, item_id = g.item_id, proposed_by_id = a.rater_id, part = coalesce(
    (SELECT r.part FROM annotation_rating r WHERE r.proposal_id = p.id ORDER BY r.id LIMIT 1), 1)
FROM annotation_annotation a JOIN annotation_assignment g ON g.id = a.assignment_id
WHERE a.id = p.annotation_id;
ALTER TABLE annotation_proposal ENABLE TRIGGER append_only;
SET CONSTRAINTS ALL IMMEDIATE;
"""

APPEND_ONLY = """
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON annotation_evidence
    FOR EACH ROW EXECUTE FUNCTION annotation_refuse(
        'Evidence can''t be changed or deleted; a new revision is appended instead.');
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON annotation_remark
    FOR EACH ROW EXECUTE FUNCTION annotation_refuse('A remark can''t be changed or deleted; write another one.');
"""

PROPOSALS_FIT = """
CREATE FUNCTION annotation_proposals_fit() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (
        SELECT FROM new_rows n
        JOIN annotation_annotation a ON a.id = n.annotation_id
        JOIN annotation_assignment g ON g.id = a.assignment_id
        WHERE n.round_id <> g.round_id OR n.item_id <> g.item_id OR n.proposed_by_id <> a.rater_id
    ) THEN
        RAISE EXCEPTION 'A proposal must carry the round, item and rater of its annotation.'
            USING ERRCODE = 'check_violation';
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER proposals_fit AFTER INSERT ON annotation_proposal
    REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION annotation_proposals_fit();
"""


class Migration(migrations.Migration):

    dependencies = [
        ('annotation', '0004_plans_and_outcomes'),
        ('ingest', '0003_complete_cheap_never_twice'),
        ('taxonomy', '0003_drafts_in_an_editor'),
    ]

    operations = [
        migrations.AddField(
            model_name='annotation',
            name='is_flagged',
            field=models.BooleanField(default=False, help_text='The rater wants to talk about this item.'),
        ),
        migrations.AddField(
            model_name='membership',
            name='machine_name',
            field=models.CharField(blank=True, help_text='Of a machine: the model.', max_length=100),
        ),
        migrations.AddField(
            model_name='membership',
            name='machine_prompt',
            field=models.TextField(blank=True, help_text='What the machine was told.'),
        ),
        migrations.AddField(
            model_name='membership',
            name='machine_version',
            field=models.CharField(blank=True, max_length=100),
        ),
        migrations.AddField(
            model_name='proposal',
            name='item',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='annotation.item'),
        ),
        migrations.AddField(
            model_name='proposal',
            name='part',
            field=models.PositiveSmallIntegerField(default=1),
        ),
        migrations.AddField(
            model_name='proposal',
            name='proposed_by',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='annotation.membership'),
        ),
        migrations.AddField(
            model_name='proposal',
            name='round',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='annotation.round'),
        ),
        migrations.AddField(
            model_name='round',
            name='gate',
            field=models.JSONField(blank=True, help_text="What the last pilot said when this main round was opened: round, advice, dimensions, and the owner's reason where it was opened against the advice.", null=True),
        ),
        migrations.AddField(
            model_name='round',
            name='ruled_at',
            field=models.DateTimeField(blank=True, help_text="When the study's rules (third rater, majority) were applied to all of it.", null=True),
        ),
        migrations.AddField(
            model_name='rounditem',
            name='known',
            field=models.JSONField(blank=True, help_text='In a training item the right answer, as in a request: parts with labels, and why. Null: not known.', null=True),
        ),
        migrations.AddField(
            model_name='roundrater',
            name='left_at',
            field=models.DateTimeField(blank=True, help_text='When they left; their open items went to others.', null=True),
        ),
        migrations.AddField(
            model_name='roundrater',
            name='quota',
            field=models.PositiveIntegerField(blank=True, help_text='At most so many items; none: no limit.', null=True),
        ),
        migrations.AddField(
            model_name='study',
            name='majority',
            field=models.BooleanField(default=False, help_text='What most raters said is decided by itself.'),
        ),
        migrations.AddField(
            model_name='study',
            name='names_shown',
            field=models.BooleanField(default=False, help_text='While resolving, raters stand there by name.'),
        ),
        migrations.AddField(
            model_name='study',
            name='screening_taxonomy',
            field=models.ForeignKey(blank=True, help_text='What screening rounds ask: in or out, and why.', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='taxonomy.taxonomy'),
        ),
        migrations.AddField(
            model_name='study',
            name='third_rater',
            field=models.BooleanField(default=False, help_text='Where two differ, a third is asked by itself.'),
        ),
        migrations.AlterField(
            model_name='proposal',
            name='annotation',
            field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='proposals', to='annotation.annotation'),
        ),
        migrations.AlterField(
            model_name='resolution',
            name='method',
            field=models.CharField(choices=[('discussion', 'Discussion'), ('third_rater', 'Third Rater'), ('majority', 'Majority'), ('owner', 'Owner'), ('imported', 'Imported'), ('reopened', 'reopened: what was decided before counts no more')], max_length=12),
        ),
        migrations.AlterField(
            model_name='rounditem',
            name='n_free',
            field=models.PositiveSmallIntegerField(default=0, help_text='Slots that nobody holds and somebody is to take.'),
        ),
        migrations.CreateModel(
            name='Remark',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('part', models.PositiveSmallIntegerField(default=1)),
                ('text', models.TextField(help_text='Markdown; @name or @code mentions a member.')),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('author', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='annotation.membership')),
                ('dimension', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='taxonomy.dimension')),
                ('item', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='remarks', to='annotation.item')),
                ('round', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='remarks', to='annotation.round')),
            ],
            options={
                'ordering': ['id'],
            },
        ),
        migrations.CreateModel(
            name='InboxLine',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(choices=[('mention', 'somebody mentioned you'), ('round', 'a round was opened in which you rate'), ('arbiter', 'you are asked as a third rater'), ('given', 'items of somebody who left came to you'), ('resolving', 'a round waits for decisions')], max_length=10)),
                ('n_items', models.PositiveIntegerField(blank=True, help_text='How many items it is about.', null=True)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('read_at', models.DateTimeField(blank=True, null=True)),
                ('item', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='annotation.item')),
                ('member', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='inbox', to='annotation.membership')),
                ('round', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='annotation.round')),
                ('remark', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='annotation.remark')),
            ],
            options={
                'ordering': ['-id'],
            },
        ),
        migrations.CreateModel(
            name='Evidence',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('where', models.CharField(choices=[('title', 'Title'), ('body', 'Body'), ('comment', 'Comment')], max_length=8)),
                ('start', models.PositiveIntegerField(blank=True, null=True)),
                ('end', models.PositiveIntegerField(blank=True, null=True)),
                ('quote', models.TextField(help_text='As it was shown and selected.')),
                ('before', models.CharField(blank=True, max_length=80)),
                ('after', models.CharField(blank=True, max_length=80)),
                ('comment', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='ingest.comment')),
                ('rating', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='evidence', to='annotation.rating')),
            ],
            options={
                'ordering': ['id'],
                'constraints': [models.CheckConstraint(condition=models.Q(models.Q(('comment__isnull', False), ('where', 'comment')), models.Q(models.Q(('where', 'comment'), _negated=True), ('comment__isnull', True)), _connector='OR'), name='evidence_in_a_comment_names_it'), models.CheckConstraint(condition=models.Q(models.Q(('end__isnull', True), ('start__isnull', True)), ('start__lt', models.F('end')), _connector='OR'), name='evidence_starts_before_it_ends')],
            },
        ),
        migrations.CreateModel(
            name='PartMatch',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('part', models.PositiveSmallIntegerField()),
                ('agreed_part', models.PositiveSmallIntegerField()),
                ('annotation', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='part_matches', to='annotation.annotation')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('annotation', 'part'), name='a_part_of_an_annotation_is_matched_once'), models.UniqueConstraint(fields=('annotation', 'agreed_part'), name='an_agreed_part_is_matched_once_by_an_annotation'), models.CheckConstraint(condition=models.Q(('agreed_part__gte', 1), ('part__gte', 1)), name='matched_parts_count_from_one')],
            },
        ),
        migrations.AddIndex(
            model_name='remark',
            index=models.Index(fields=['round', 'item'], name='remarks_of_an_item'),
        ),
        migrations.AddIndex(
            model_name='inboxline',
            index=models.Index(fields=['member', '-id'], name='inbox_of_a_member'),
        ),
        migrations.AddIndex(
            model_name='inboxline',
            index=models.Index(condition=models.Q(('read_at__isnull', True)), fields=['member'], name='unread_in_the_inbox'),
        ),
        migrations.AddConstraint(
            model_name='inboxline',
            constraint=models.UniqueConstraint(condition=models.Q(('kind', 'given'), _negated=True), fields=('member', 'kind', 'round', 'item', 'remark'), name='a_member_is_told_something_once', nulls_distinct=False),
        ),
        migrations.RunSQL(PROPOSALS_CARRY, migrations.RunSQL.noop),
        migrations.AlterField(
            model_name='proposal',
            name='round',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='annotation.round'),
        ),
        migrations.AlterField(
            model_name='proposal',
            name='item',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='annotation.item'),
        ),
        migrations.AlterField(
            model_name='proposal',
            name='proposed_by',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='annotation.membership'),
        ),
        migrations.RunSQL(
            APPEND_ONLY,
            "DROP TRIGGER append_only ON annotation_evidence; DROP TRIGGER append_only ON annotation_remark",
        ),
        migrations.RunSQL(
            PROPOSALS_FIT,
            "DROP TRIGGER proposals_fit ON annotation_proposal; DROP FUNCTION annotation_proposals_fit()",
        ),
    ]
