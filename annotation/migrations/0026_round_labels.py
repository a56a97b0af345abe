"""What sheets call their rounds: a column, filled for rounds of earlier imports from what the audit log has of them."""

from django.db import migrations, models

FROM_THE_AUDIT = """
UPDATE annotation_round AS round SET label = told.label
FROM (
    SELECT DISTINCT ON (event.study_id, pair.value) event.study_id, pair.key AS label, pair.value AS number
    FROM annotation_auditevent event
    CROSS JOIN LATERAL jsonb_each_text(
        CASE jsonb_typeof(event.detail -> 'rounds') WHEN 'object' THEN event.detail -> 'rounds' ELSE '{}' END
    ) AS pair
    WHERE event.verb = 'ratings imported' AND pair.key <> ''
    ORDER BY event.study_id, pair.value, event.id
) AS told
WHERE round.study_id = told.study_id AND round.number::text = told.number AND round.label = ''
"""


class Migration(migrations.Migration):

    dependencies = [("annotation", "0025_samples_are_discarded")]

    operations = [
        migrations.AddField(
            model_name="round",
            name="label",
            field=models.CharField(
                blank=True, db_default="", default="", help_text="What the sheet that it came from calls it.", max_length=200
            ),
        ),
        migrations.RunSQL(FROM_THE_AUDIT, migrations.RunSQL.noop),
    ]
