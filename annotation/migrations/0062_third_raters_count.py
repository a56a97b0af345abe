"""Counts of raters include what they were asked as third raters also where a sheet made them raters of the round.

They could not be withdrawn before: the count would have gone below zero.
"""

from django.db import migrations, models

from shared.index_migrations import AddIndexOnLarge

COUNT = """
UPDATE annotation_roundrater w SET n_assigned = held.n, n_finished = held.n_done
FROM (
    SELECT a.round_id, a.rater_id, count(*) AS n,
           count(*) FILTER (WHERE a.state IN ('submitted', 'skipped')) AS n_done
    FROM annotation_assignment a JOIN annotation_round r ON r.id = a.round_id
    WHERE r.mode = 'planned' AND a.state <> 'withdrawn' GROUP BY a.round_id, a.rater_id) held
WHERE held.round_id = w.round_id AND held.rater_id = w.rater_id AND w.n_assigned < held.n
"""


class Migration(migrations.Migration):
    atomic = False
    dependencies = [
        ("annotation", "0061_demo_people_maintain_the_demo_alone"),
    ]

    operations = [
        AddIndexOnLarge(
            model_name="assignment",
            index=models.Index(
                condition=models.Q(("slot__isnull", True)), fields=["round", "rater"], name="extra_raters_of_a_round"
            ),
        ),
        migrations.RunSQL(COUNT, migrations.RunSQL.noop),
    ]
