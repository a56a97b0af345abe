"""Labeled items that are screened out later are excluded, or stay and are marked, as their study is set."""

from django.db import migrations, models

# Whether a place of a round counts hangs on its item, its round and its study; the database keeps it in the place, so
# that whatever reads places needs to look nowhere else. Numbers kept under the raters' revisions are computed anew, also
# where items stay: what is marked is told with them.
EXCLUDED = """
CREATE FUNCTION annotation_set_excluded(items bigint[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE rounds bigint[]; raters bigint[];
BEGIN
    UPDATE annotation_rounditem p SET excluded = NOT p.excluded
    FROM annotation_item i, annotation_study s, annotation_round r
    WHERE p.item_id = ANY(items) AND i.id = p.item_id AND s.id = i.study_id AND r.id = p.round_id
        AND p.excluded IS DISTINCT FROM (
            r.kind <> 'screening' AND i.screening = 'out' AND s.screened_out = 'exclude');
    SELECT array_agg(w.round_id), array_agg(w.rater_id) INTO rounds, raters
    FROM annotation_roundrater w WHERE w.round_id IN (
        SELECT p.round_id FROM annotation_rounditem p JOIN annotation_round r ON r.id = p.round_id
        WHERE p.item_id = ANY(items) AND r.kind <> 'screening');
    IF rounds IS NOT NULL THEN
        PERFORM annotation_count_up_raters(rounds, raters);
    END IF;
END $$;

CREATE FUNCTION annotation_items_screened() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE items bigint[];
BEGIN
    SELECT array_agg(n.id) INTO items FROM new_rows n JOIN old_rows o USING (id)
    WHERE n.screening <> o.screening AND 'out' IN (n.screening, o.screening);
    IF items IS NOT NULL THEN
        PERFORM annotation_set_excluded(items);
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER screened AFTER UPDATE ON annotation_item
    REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION annotation_items_screened();

CREATE FUNCTION annotation_places_screened() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE items bigint[];
BEGIN
    SELECT array_agg(n.item_id) INTO items FROM new_rows n JOIN annotation_item i ON i.id = n.item_id
    WHERE i.screening = 'out' OR n.excluded;
    IF items IS NOT NULL THEN
        PERFORM annotation_set_excluded(items);
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER screened AFTER INSERT ON annotation_rounditem
    REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION annotation_places_screened();

CREATE FUNCTION annotation_study_screened_out() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE items bigint[];
BEGIN
    SELECT array_agg(id) INTO items FROM annotation_item WHERE study_id = NEW.id AND screening = 'out';
    IF items IS NOT NULL THEN
        PERFORM annotation_set_excluded(items);
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER screened AFTER UPDATE ON annotation_study
    FOR EACH ROW WHEN (OLD.screened_out <> NEW.screened_out)
    EXECUTE FUNCTION annotation_study_screened_out();
"""
NOT_EXCLUDED = """
DROP TRIGGER screened ON annotation_study;
DROP TRIGGER screened ON annotation_rounditem;
DROP TRIGGER screened ON annotation_item;
DROP FUNCTION annotation_study_screened_out();
DROP FUNCTION annotation_places_screened();
DROP FUNCTION annotation_items_screened();
DROP FUNCTION annotation_set_excluded(bigint[]);
"""
# Numbers that were reported stay as they are: studies that labeled items which are out keep them, now marked.
AS_BEFORE = """
UPDATE annotation_study s SET screened_out = 'keep' WHERE EXISTS (
    SELECT FROM annotation_item i JOIN annotation_rounditem p ON p.item_id = i.id
    JOIN annotation_round r ON r.id = p.round_id
    WHERE i.study_id = s.id AND i.screening = 'out' AND r.kind <> 'screening' AND r.state <> 'draft')
"""


class Migration(migrations.Migration):
    dependencies = [("annotation", "0032_minimum_on_training_items")]

    operations = [
        migrations.AddField(
            model_name="study",
            name="screened_out",
            field=models.CharField(
                choices=[
                    ("exclude", "they are excluded: from agreement, agreed labels, counts and files"),
                    ("keep", "they stay, and are marked screened_out"),
                ],
                db_default="exclude",
                default="exclude",
                help_text="What becomes of labeled items that are screened out.",
                max_length=7,
            ),
        ),
        migrations.AddField(
            model_name="rounditem",
            name="excluded",
            field=models.BooleanField(
                db_default=False,
                default=False,
                editable=False,
                help_text="The item is screened out, and the study excludes such items; the database sets it. Never in "
                "a screening round.",
            ),
        ),
        migrations.RunSQL(AS_BEFORE, migrations.RunSQL.noop),
        migrations.RunSQL(EXCLUDED, NOT_EXCLUDED),
    ]
