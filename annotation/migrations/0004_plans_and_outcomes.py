"""Plans that move a study to a newer version, worklists of places to answer anew, and outcomes of proposals."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


APPEND_ONLY = """
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON annotation_proposaloutcome
    FOR EACH ROW EXECUTE FUNCTION annotation_refuse('What was answered to a proposal can''t be changed; answer anew.')
"""


class Migration(migrations.Migration):

    dependencies = [
        ('annotation', '0003_pinned_items_and_frames'),
        ('taxonomy', '0003_drafts_in_an_editor'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField(
            model_name='rounditem',
            name='asked',
            field=models.JSONField(blank=True, help_text='In a worklist: [part, dimension key] of what is to be answered anew; null: everything.', null=True),
        ),
        migrations.AlterField(
            model_name='round',
            name='state',
            field=models.CharField(choices=[('draft', 'Draft'), ('open', 'Open'), ('resolving', 'Resolving'), ('closed', 'Closed'), ('undone', 'undone: the worklist of a plan that was undone; its answers stay readable and count nowhere')], default='draft', max_length=10),
        ),
        migrations.CreateModel(
            name='Plan',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.PositiveIntegerField()),
                ('state', models.CharField(choices=[('previewed', 'Previewed'), ('queued', 'Queued'), ('running', 'Running'), ('done', 'Done'), ('undone', 'Undone')], default='previewed', max_length=10)),
                ('recheck', models.JSONField(blank=True, default=list, help_text='[dimension key, category key] of redefined categories to look at again.')),
                ('stand_ins', models.JSONField(blank=True, default=list, help_text="Members who answer in the place of raters that can't sign in.")),
                ('preview', models.JSONField(blank=True, default=dict, help_text='What the preview said when the plan was run.')),
                ('cursor', models.JSONField(blank=True, default=dict, help_text='How far the job is.')),
                ('n_done', models.PositiveIntegerField(default=0, help_text='Items looked at so far.')),
                ('n_total', models.PositiveIntegerField(default=0, help_text='Items to look at.')),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('run_at', models.DateTimeField(blank=True, null=True)),
                ('worked_at', models.DateTimeField(blank=True, help_text='When the job was last heard of.', null=True)),
                ('done_at', models.DateTimeField(blank=True, null=True)),
                ('undone_at', models.DateTimeField(blank=True, null=True)),
                ('created_by', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('from_version', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='taxonomy.taxonomyversion')),
                ('run_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('study', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='plans', to='annotation.study')),
                ('to_version', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='taxonomy.taxonomyversion')),
                ('undone_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('worklist', models.OneToOneField(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='made_by', to='annotation.round')),
            ],
            options={
                'ordering': ['-number'],
                'constraints': [models.UniqueConstraint(fields=('study', 'number'), name='a_plan_number_is_used_once_in_a_study'), models.UniqueConstraint(condition=models.Q(('state__in', ['queued', 'running'])), fields=('study',), name='a_study_has_one_plan_at_work'), models.CheckConstraint(condition=models.Q(('from_version', models.F('to_version')), _negated=True), name='a_plan_leads_to_another_version')],
            },
        ),
        migrations.CreateModel(
            name='ProposalOutcome',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('revision', models.PositiveIntegerField(default=1)),
                ('outcome', models.CharField(choices=[('accepted', 'accepted into the draft of a version'), ('mapped', 'mapped to a category that there is'), ('declined', 'Declined')], max_length=10)),
                ('version_number', models.PositiveIntegerField(blank=True, help_text='Of the version that has the category, or of the draft that it went into.', null=True)),
                ('category_key', models.CharField(blank=True, help_text="In the proposal's dimension.", max_length=100)),
                ('category_name', models.CharField(blank=True, max_length=200)),
                ('reason', models.TextField(blank=True)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('decided_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('proposal', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='outcomes', to='annotation.proposal')),
            ],
            options={
                'ordering': ['proposal', 'revision'],
                'constraints': [models.UniqueConstraint(fields=('proposal', 'revision'), name='a_revision_of_a_proposals_outcome_is_used_once'), models.CheckConstraint(condition=models.Q(models.Q(('category_key', ''), ('outcome', 'declined')), models.Q(models.Q(('outcome', 'declined'), _negated=True), models.Q(('category_key', ''), _negated=True)), _connector='OR'), name='only_a_declined_proposal_has_no_category')],
            },
        ),
        migrations.RunSQL(APPEND_ONLY, "DROP TRIGGER append_only ON annotation_proposaloutcome"),
    ]
