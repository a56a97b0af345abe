"""Items read a pinned snapshot; samples keep their frame; studies name authors by a key of their own."""

import annotation.models.studies
import django.contrib.postgres.fields
import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

PIN_ITEMS = """
UPDATE annotation_item AS item SET snapshot_id = issue.current_snapshot_id
FROM ingest_issue AS issue WHERE issue.id = item.issue_id
"""
KEYS = """
UPDATE annotation_study
SET pseudonym_key = replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', '')
"""


class Migration(migrations.Migration):

    dependencies = [
        ('annotation', '0002_rules'),
        ('ingest', '0003_complete_cheap_never_twice'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField(
            model_name='item',
            name='screened_at',
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name='item',
            name='screened_by',
            field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='item',
            name='snapshot',
            field=models.ForeignKey(blank=True, help_text='The state that raters read: pinned when the issue became an item, moved on by the owner alone.', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='ingest.snapshot'),
        ),
        migrations.AddField(
            model_name='sample',
            name='allocation',
            field=models.CharField(choices=[('proportional', 'in proportion to the strata'), ('equal', 'equally many of each stratum')], default='proportional', max_length=12),
        ),
        migrations.AddField(
            model_name='sample',
            name='at_least_one',
            field=models.BooleanField(default=False, help_text='Every stratum gives one at least.'),
        ),
        migrations.AddField(
            model_name='sample',
            name='confidence',
            field=models.FloatField(blank=True, help_text='0–1; with margin, what the size comes from.', null=True),
        ),
        migrations.AddField(
            model_name='sample',
            name='frame',
            field=django.contrib.postgres.fields.ArrayField(base_field=models.BigIntegerField(), blank=True, default=list, help_text="The snapshots of the frame's issues when it was drawn, in the order that the seed drew from.", size=None),
        ),
        migrations.AddField(
            model_name='sample',
            name='margin',
            field=models.FloatField(blank=True, help_text='Half the width of the interval, 0–1.', null=True),
        ),
        migrations.AddField(
            model_name='sample',
            name='n_frame',
            field=models.PositiveIntegerField(blank=True, help_text='Issues in the frame.', null=True),
        ),
        migrations.AddField(
            model_name='sample',
            name='strata',
            field=models.JSONField(blank=True, default=list, help_text='Of each: stratum, n_frame, n_drawn.'),
        ),
        migrations.AddField(
            model_name='study',
            name='pseudonym_key',
            field=models.CharField(default=annotation.models.studies.new_key, editable=False, help_text='Secret; never shown.', max_length=64),
        ),
        migrations.AddField(
            model_name='study',
            name='pseudonymise',
            field=models.BooleanField(default=True, help_text='Exports name authors of issues by a keyed hash.'),
        ),
        migrations.RunSQL(PIN_ITEMS, migrations.RunSQL.noop),
        migrations.RunSQL(KEYS, migrations.RunSQL.noop),
    ]
