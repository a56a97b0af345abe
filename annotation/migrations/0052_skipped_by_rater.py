"""Skipped items are counted by rater; fields are described in the words of the pages, which changes no table."""

import django.contrib.postgres.fields
import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models
from django.db.models import Q

from shared.index_migrations import AddIndexOnLarge


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("annotation", "0050_many_rows_at_once")]

    operations = [
        AddIndexOnLarge(
            model_name="assignment",
            index=models.Index(condition=Q(state="skipped"), fields=["round", "rater"], name="skipped_by_rater"),
        ),

        migrations.AlterField(
            model_name='arrival',
            name='report',
            field=models.JSONField(blank=True, help_text='Report of the import.', null=True),
        ),
        migrations.AlterField(
            model_name='arrival',
            name='slug',
            field=models.CharField(help_text='The ID that the study gets.', max_length=80),
        ),
        migrations.AlterField(
            model_name='deletion',
            name='n_done',
            field=models.PositiveBigIntegerField(default=0, help_text='Rows deleted so far.'),
        ),
        migrations.AlterField(
            model_name='invitation',
            name='note',
            field=models.CharField(blank=True, help_text='Note, visible to owners.', max_length=200),
        ),
        migrations.AlterField(
            model_name='membership',
            name='former_user',
            field=models.ForeignKey(blank=True, help_text='Account that left or was removed. `user` is then empty, so it has no access.', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='former_memberships', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AlterField(
            model_name='membership',
            name='machine_name',
            field=models.CharField(blank=True, help_text="Name of a model rater's model.", max_length=100),
        ),
        migrations.AlterField(
            model_name='membership',
            name='machine_prompt',
            field=models.TextField(blank=True, help_text='Prompt of a model rater.'),
        ),
        migrations.AlterField(
            model_name='plan',
            name='preview',
            field=models.JSONField(blank=True, default=dict, help_text='Counts of the preview when the migration was run.'),
        ),
        migrations.AlterField(
            model_name='plan',
            name='stand_ins',
            field=models.JSONField(blank=True, default=list, help_text="Substitutes: members who relabel for raters that can't sign in."),
        ),
        migrations.AlterField(
            model_name='readerlink',
            name='ends_at',
            field=models.DateTimeField(blank=True, help_text='Empty: valid until it is revoked.', null=True),
        ),
        migrations.AlterField(
            model_name='readerlink',
            name='label',
            field=models.CharField(help_text='Note for its creator.', max_length=100),
        ),
        migrations.AlterField(
            model_name='round',
            name='due_on',
            field=models.DateField(blank=True, help_text='Due date (UTC); null: none.', null=True),
        ),
        migrations.AlterField(
            model_name='round',
            name='gate',
            field=models.JSONField(blank=True, help_text="Result of the last pilot when this main round was opened: round, advice, dimensions, and the owner's reason where it was opened against the advice.", null=True),
        ),
        migrations.AlterField(
            model_name='round',
            name='gold_minimum',
            field=models.JSONField(blank=True, help_text='Minimum on calibration items before a rater gets others: share of items right, and by dimension coefficient and minimum. Fixed when the round opens; null: nothing.', null=True),
        ),
        migrations.AlterField(
            model_name='round',
            name='state',
            field=models.CharField(choices=[('draft', 'Draft'), ('open', 'Open'), ('resolving', 'Resolving'), ('closed', 'Closed'), ('undone', 'undone: relabeling queue of a migration that was undone; its labels count in no result')], default='draft', max_length=10),
        ),
        migrations.AlterField(
            model_name='rounditem',
            name='asked',
            field=models.JSONField(blank=True, help_text='In a relabeling queue: [part, dimension key] of what must be relabeled; null: everything.', null=True),
        ),
        migrations.AlterField(
            model_name='rounditem',
            name='known',
            field=models.JSONField(blank=True, help_text='Gold answer of a calibration item, as in a request: parts with labels, and why. Null: not known.', null=True),
        ),
        migrations.AlterField(
            model_name='rounditem',
            name='n_free',
            field=models.PositiveSmallIntegerField(default=0, help_text='Slots without a rater that need one.'),
        ),
        migrations.AlterField(
            model_name='roundrater',
            name='left_at',
            field=models.DateTimeField(blank=True, help_text='When they left; their open items were reassigned.', null=True),
        ),
        migrations.AlterField(
            model_name='sample',
            name='at_least_one',
            field=models.BooleanField(default=False, help_text='At least one issue from every stratum.'),
        ),
        migrations.AlterField(
            model_name='study',
            name='applies',
            field=models.CharField(choices=[('both', 'where the dimension applied under the labels of both raters'), ('either', 'where it applied under the label of either; “does not apply” counts as the other’s label')], default='both', help_text='Units of a conditional dimension that agreement compares, unless asked otherwise.', max_length=6),
        ),
        migrations.AlterField(
            model_name='study',
            name='archived_at',
            field=models.DateTimeField(blank=True, help_text='Read-only since then.', null=True),
        ),
        migrations.AlterField(
            model_name='study',
            name='deleted_at',
            field=models.DateTimeField(blank=True, help_text='Deleted then; a job deletes its rows.', null=True),
        ),
        migrations.AlterField(
            model_name='study',
            name='majority',
            field=models.BooleanField(default=False, help_text='The majority is accepted automatically.'),
        ),
        migrations.AlterField(
            model_name='study',
            name='names_shown',
            field=models.BooleanField(default=False, help_text='Raters appear by name while resolving.'),
        ),
        migrations.AlterField(
            model_name='study',
            name='resolve_when',
            field=models.CharField(choices=[('round', 'when all labels of the round are submitted'), ('item', 'item by item, as soon as its raters have finished it')], default='round', max_length=10),
        ),
        migrations.AlterField(
            model_name='study',
            name='screened_out',
            field=models.CharField(choices=[('exclude', 'excluded from agreement, agreed labels, counts and files'), ('keep', 'kept, and marked screened_out in files')], db_default='exclude', default='exclude', help_text='How labeled items that are screened out count.', max_length=7),
        ),
        migrations.AlterField(
            model_name='study',
            name='screening_keywords',
            field=django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=200), blank=True, db_default=[], default=list, help_text='Words that are highlighted for everyone who screens.', size=None),
        ),
        migrations.AlterField(
            model_name='study',
            name='third_rater',
            field=models.BooleanField(default=False, help_text='A third rater is assigned automatically where two disagree.'),
        ),
    ]
