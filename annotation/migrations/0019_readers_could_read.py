"""Readers see the labels of open rounds, so the moment when somebody lost that role is recorded, too."""

from django.db import migrations

FUNCTION = """
CREATE OR REPLACE FUNCTION annotation_could_read() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE reading CONSTANT varchar[] := ARRAY[%s];
BEGIN
    NEW.could_read_until := greatest(NEW.could_read_until, OLD.could_read_until);
    IF OLD.user_id IS NOT NULL AND OLD.roles && reading
        AND NOT (NEW.user_id IS NOT DISTINCT FROM OLD.user_id AND NEW.roles && reading)
    THEN
        NEW.could_read_until := greatest(NEW.could_read_until, clock_timestamp());
    END IF;
    RETURN NEW;
END $$;
"""


class Migration(migrations.Migration):

    dependencies = [("annotation", "0018_invited_members")]

    operations = [
        migrations.RunSQL(
            FUNCTION % "'owner', 'adjudicator', 'reader'", FUNCTION % "'owner', 'adjudicator'"
        ),
    ]
