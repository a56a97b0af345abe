"""Roles that a name has from the server that its study came from could be read by there, so their end is recorded, too.

The name was an account there (`formerly_id`). It may lose the role here before an account takes its place.
"""

from django.db import migrations

FUNCTION = """
CREATE OR REPLACE FUNCTION annotation_could_read() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE reading CONSTANT varchar[] := ARRAY['owner', 'adjudicator', 'reader'];
BEGIN
    NEW.could_read_until := greatest(NEW.could_read_until, OLD.could_read_until);
    IF OLD.roles && reading
        AND (OLD.user_id IS NOT NULL%s)
        AND NOT (NEW.user_id IS NOT DISTINCT FROM OLD.user_id AND NEW.roles && reading)
    THEN
        NEW.could_read_until := greatest(NEW.could_read_until, clock_timestamp());
    END IF;
    RETURN NEW;
END $$;
"""
IMPORTED = " OR OLD.formerly_id IS NOT NULL AND OLD.left_at IS NULL AND NOT NEW.roles && reading"


class Migration(migrations.Migration):

    dependencies = [("annotation", "0059_owners_maintain_screening")]

    operations = [migrations.RunSQL(FUNCTION % IMPORTED, FUNCTION % "")]
