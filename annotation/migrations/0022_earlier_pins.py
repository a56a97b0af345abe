"""The states that items were pinned to before: raters answer on them, and members go on reading them; nothing else."""

import django.db.models.deletion
from django.db import migrations, models
from django.db.models.functions import Now

FROM_THE_AUDIT = """
INSERT INTO annotation_earlierpin (item_id, snapshot_id, until)
SELECT item.id, snapshot.id, event.at
FROM annotation_auditevent event
CROSS JOIN LATERAL jsonb_array_elements_text(
    CASE jsonb_typeof(event.detail -> 'states') WHEN 'array' THEN event.detail -> 'states' ELSE '[]' END
) AS told (line)
JOIN annotation_item item
    ON item.study_id = event.study_id AND item.identifier = split_part(told.line, ' from ', 1)
JOIN ingest_snapshot snapshot
    ON snapshot.issue_id = item.issue_id
    AND left(snapshot.sha256, 12) = split_part(split_part(told.line, ' from ', 2), ' to ', 1)
WHERE event.verb = 'items re-pinned'
"""


class Migration(migrations.Migration):

    dependencies = [("annotation", "0021_samples_and_rounds_in_bulk")]

    operations = [
        migrations.CreateModel(
            name="EarlierPin",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("until", models.DateTimeField(auto_now_add=True, db_default=Now())),
                (
                    "item",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="earlier_pins", to="annotation.item"
                    ),
                ),
                (
                    "snapshot",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="ingest.snapshot"
                    ),
                ),
            ],
            options={"ordering": ["id"]},
        ),
        migrations.RunSQL(FROM_THE_AUDIT, migrations.RunSQL.noop),
    ]
