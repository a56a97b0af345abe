"""Raters who could read answers before they rated, and when people lost the roles that read answers of open rounds."""

from django.db import migrations, models

# Until now readers and the staff could read the answers of open rounds, too.
READ_SO_FAR = """
UPDATE annotation_membership SET could_read_until = now() WHERE user_id IS NOT NULL AND ('reader' = ANY(roles)
    OR user_id IN (SELECT id FROM accounts_user WHERE is_staff))
"""
# The database keeps the moment, so that no way of changing a member forgets it.
KEPT = """
CREATE FUNCTION annotation_could_read() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE deciding CONSTANT varchar[] := ARRAY['owner', 'adjudicator'];
BEGIN
    NEW.could_read_until := greatest(NEW.could_read_until, OLD.could_read_until);
    IF OLD.user_id IS NOT NULL AND OLD.roles && deciding
        AND NOT (NEW.user_id IS NOT DISTINCT FROM OLD.user_id AND NEW.roles && deciding)
    THEN
        NEW.could_read_until := greatest(NEW.could_read_until, clock_timestamp());
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER could_read BEFORE UPDATE ON annotation_membership FOR EACH ROW EXECUTE FUNCTION annotation_could_read();
"""


class Migration(migrations.Migration):

    dependencies = [("annotation", "0016_rules_see_new_answers")]

    operations = [
        migrations.AddField(
            model_name="membership",
            name="could_read_until",
            field=models.DateTimeField(blank=True, editable=False, help_text="When they last lost a role that reads the answers of open rounds; the database sets it.", null=True),
        ),
        migrations.AddField(
            model_name="roundrater",
            name="unblinded",
            field=models.BooleanField(db_default=False, default=False, help_text="They could read answers of the round before they rated: none of theirs counts as before discussion."),
        ),
        migrations.AddField(
            model_name="assignment",
            name="unblinded",
            field=models.BooleanField(db_default=False, default=False, help_text="Of a third rater who could read the answers before they were asked; they give no blind revision."),
        ),
        migrations.RunSQL(READ_SO_FAR, migrations.RunSQL.noop),
        migrations.RunSQL(KEPT, "DROP TRIGGER could_read ON annotation_membership; DROP FUNCTION annotation_could_read()"),
    ]
