"""Registered coefficients of stored studies: only what the audit log proves that an owner confirmed keeps its day."""

from django.db import migrations

PROVED = """
EXISTS (
    SELECT FROM annotation_auditevent event
    WHERE event.study_id = study.id
        AND entry.value ->> 'fixed_at' ~ '^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+(Z|[+-][0-9:]+)$'
        AND abs(extract(epoch FROM event.at - (entry.value ->> 'fixed_at')::timestamptz)) < 60
        AND (
            event.verb = 'study changed' AND event.detail -> 'fields' ? 'primary'
            OR event.verb = 'study created' AND NOT EXISTS (
                SELECT FROM annotation_auditevent copied
                WHERE copied.study_id = study.id AND copied.verb = 'duplicated from a study'
                    AND abs(extract(epoch FROM event.at - copied.at)) < 60
            )
        )
)
"""
WITHOUT_PROOF = f"""
UPDATE annotation_study study
SET "primary" = (
    SELECT jsonb_object_agg(entry.key, CASE WHEN {PROVED} THEN entry.value ELSE entry.value - 'fixed_at' END)
    FROM jsonb_each(study."primary") AS entry
)
WHERE jsonb_typeof(study."primary") = 'object' AND EXISTS (
    SELECT FROM jsonb_each(study."primary") AS entry
    WHERE entry.value ? 'fixed_at' AND NOT {PROVED}
)
"""


class Migration(migrations.Migration):

    dependencies = [("annotation", "0023_meetings")]

    operations = [migrations.RunSQL(WITHOUT_PROOF, migrations.RunSQL.noop)]
