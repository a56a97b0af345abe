"""Drafts count their revisions, so that two editors don't overwrite each other; a retirement has its time."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


def frozen(retiring: str) -> str:
    return f"""
CREATE OR REPLACE FUNCTION taxonomy_version_is_frozen() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF OLD.state = 'draft' THEN
        IF TG_OP = 'DELETE' THEN
            RETURN OLD;
        END IF;
        RETURN NEW;
    END IF;
    IF TG_OP = 'UPDATE' AND OLD.state = 'published' AND NEW.state = 'retired'
        AND to_jsonb(NEW) - {retiring} = to_jsonb(OLD) - {retiring} THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION 'Version % of a taxonomy is % and cannot be changed or deleted; make a new draft.',
        OLD.number, OLD.state USING ERRCODE = 'restrict_violation';
END $$;
"""


RETIRED_BEFORE = """
ALTER TABLE taxonomy_taxonomyversion DISABLE TRIGGER a_published_version_is_frozen;
UPDATE taxonomy_taxonomyversion SET retired_at = published_at WHERE state = 'retired';
ALTER TABLE taxonomy_taxonomyversion ENABLE TRIGGER a_published_version_is_frozen;
"""


class Migration(migrations.Migration):

    dependencies = [
        ('taxonomy', '0002_rules'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField(
            model_name='taxonomy',
            name='discarded_number',
            field=models.PositiveIntegerField(default=0, help_text='The highest number of a draft that was discarded; it is not used again.'),
        ),
        migrations.AddField(
            model_name='taxonomyversion',
            name='edited_at',
            field=models.DateTimeField(blank=True, help_text='When the draft was written last.', null=True),
        ),
        migrations.AddField(
            model_name='taxonomyversion',
            name='edited_by',
            field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='taxonomyversion',
            name='retired_at',
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name='taxonomyversion',
            name='retired_by',
            field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='taxonomyversion',
            name='revision',
            field=models.PositiveIntegerField(default=1, help_text='How often the draft was written; who saves names it.'),
        ),
        migrations.RunSQL(RETIRED_BEFORE, migrations.RunSQL.noop),
        migrations.RunSQL(frozen("'{state,retired_at,retired_by_id}'::text[]"), frozen("'state'")),
        migrations.AddConstraint(
            model_name='taxonomyversion',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('retired_at__isnull', False), ('state', 'retired')), models.Q(models.Q(('state', 'retired'), _negated=True), ('retired_at', None)), _connector='OR'), name='only_a_retired_version_has_a_time_of_retirement'),
        ),
    ]
