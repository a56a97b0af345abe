"""A study's screening taxonomy is its own: rounds write versions into it, and it is hidden from everyone else."""

from django.db import migrations

REFUSE = """
CREATE FUNCTION annotation_screening_is_own() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'UPDATE' AND OLD.screening_taxonomy_id IS NOT DISTINCT FROM NEW.screening_taxonomy_id THEN
        RETURN NEW;
    END IF;
    IF EXISTS (SELECT FROM annotation_study s
               WHERE s.screening_taxonomy_id = NEW.screening_taxonomy_id AND s.id <> NEW.id
                  OR s.taxonomy_id = NEW.screening_taxonomy_id) OR NEW.taxonomy_id = NEW.screening_taxonomy_id THEN
        RAISE EXCEPTION 'A screening taxonomy is new when a study gets it, and no other study has it.'
            USING ERRCODE = 'restrict_violation', CONSTRAINT = 'a_screening_taxonomy_is_of_one_study';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER screening_is_own BEFORE INSERT OR UPDATE OF screening_taxonomy_id ON annotation_study
    FOR EACH ROW WHEN (NEW.screening_taxonomy_id IS NOT NULL) EXECUTE FUNCTION annotation_screening_is_own();
"""
GIVE_BACK = "UPDATE annotation_study SET screening_taxonomy_id = NULL WHERE screening_taxonomy_id = taxonomy_id"


class Migration(migrations.Migration):
    dependencies = [("annotation", "0043_due_dates")]

    operations = [
        migrations.RunSQL(GIVE_BACK, migrations.RunSQL.noop),
        migrations.RunSQL(
            REFUSE, "DROP TRIGGER screening_is_own ON annotation_study; DROP FUNCTION annotation_screening_is_own()"
        ),
    ]
