"""Until when somebody could read is told at the commit that takes their role: they read until then."""

from django.db import migrations

TRIGGER = """
CREATE FUNCTION annotation_could_read_until_commit() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE annotation_membership SET could_read_until = clock_timestamp() WHERE id = NEW.id;
    RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER could_read_until_commit AFTER UPDATE OF roles, user_id ON annotation_membership
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
    WHEN (NEW.could_read_until IS DISTINCT FROM OLD.could_read_until)
    EXECUTE FUNCTION annotation_could_read_until_commit();
"""
BEFORE = """
DROP TRIGGER could_read_until_commit ON annotation_membership;
DROP FUNCTION annotation_could_read_until_commit;
"""


class Migration(migrations.Migration):

    dependencies = [("annotation", "0057_ratings_name_what_is_there")]

    operations = [migrations.RunSQL(TRIGGER, BEFORE)]
