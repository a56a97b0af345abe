"""Meetings in which disagreements were discussed, as the person who resolved them stated; and the method `adjudicator`."""

from importlib import import_module

import django.contrib.postgres.fields
import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

never_emptied = import_module("accounts.migrations.0007_never_emptied").never_emptied

# Like the rows of annotation_refuse, these may go with a study whose deletion is registered, and with nothing else.
STAY = """
CREATE FUNCTION annotation_meetings_stay() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    going bigint := nullif(current_setting('concord.study_that_goes', true), '')::bigint;
    the_row jsonb := to_jsonb(OLD);
BEGIN
    IF TG_OP = 'DELETE' AND going IS NOT NULL AND EXISTS (SELECT FROM annotation_deletion WHERE study_id = going)
        AND going = (
            SELECT r.study_id FROM annotation_meeting m JOIN annotation_round r ON r.id = m.round_id
            WHERE m.id = coalesce(the_row->>'meeting_id', the_row->>'id')::bigint
        )
    THEN
        RETURN OLD;
    END IF;
    RAISE EXCEPTION 'A stated meeting can''t be changed or deleted; state another one.'
        USING ERRCODE = 'restrict_violation';
END $$;
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON annotation_meeting
    FOR EACH ROW EXECUTE FUNCTION annotation_meetings_stay();
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON annotation_meetingresolution
    FOR EACH ROW EXECUTE FUNCTION annotation_meetings_stay();
"""
GO = """
DROP TRIGGER append_only ON annotation_meetingresolution;
DROP TRIGGER append_only ON annotation_meeting;
DROP FUNCTION annotation_meetings_stay();
"""


class Migration(migrations.Migration):

    dependencies = [
        ("annotation", "0022_earlier_pins"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AlterField(
            model_name="resolution",
            name="method",
            field=models.CharField(
                choices=[
                    ("discussion", "Discussion"),
                    ("third_rater", "Third Rater"),
                    ("majority", "Majority"),
                    ("owner", "Owner"),
                    ("imported", "Imported"),
                    ("reopened", "reopened: what was decided before counts no more"),
                    ("adjudicator", "Adjudicator"),
                ],
                max_length=12,
            ),
        ),
        migrations.CreateModel(
            name="Meeting",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("held_on", models.DateField()),
                (
                    "participants",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.TextField(),
                        help_text="Who took part: raters by code, others as they were named.",
                        size=None,
                    ),
                ),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "round",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="meetings", to="annotation.round"
                    ),
                ),
                (
                    "stated_by",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={"ordering": ["id"]},
        ),
        migrations.CreateModel(
            name="MeetingResolution",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "meeting",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="places", to="annotation.meeting"
                    ),
                ),
                (
                    "resolution",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="meetings", to="annotation.resolution"
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=["meeting", "resolution"], name="a_meeting_names_a_resolution_once"
                    )
                ]
            },
        ),
        migrations.RunSQL(STAY, GO),
        never_emptied("annotation_meeting", "annotation_meetingresolution"),
    ]
