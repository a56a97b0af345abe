"""What tells that numbers kept since their computation still hold, and which units a conditional dimension compares."""

from django.db import migrations, models


# Whoever computes agreement keeps it under the revisions of the rounds' raters. They are counted up where what counts
# changes, whichever way it came, in the same transaction; rows are locked in order, so that two can't wait in a circle.
COUNTED_UP = """
CREATE FUNCTION annotation_count_up_raters(rounds bigint[], raters bigint[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM FROM annotation_roundrater r JOIN unnest(rounds, raters) AS c (round, rater)
        ON c.round = r.round_id AND c.rater = r.rater_id
        ORDER BY r.id FOR NO KEY UPDATE OF r;
    UPDATE annotation_roundrater r SET revision = r.revision + 1 FROM unnest(rounds, raters) AS c (round, rater)
        WHERE c.round = r.round_id AND c.rater = r.rater_id;
END $$;

CREATE FUNCTION annotation_assignments_counted_up() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE rounds bigint[]; raters bigint[];
BEGIN
    SELECT array_agg(round_id), array_agg(rater_id) INTO rounds, raters FROM (
        SELECT DISTINCT n.round_id, n.rater_id FROM new_rows n JOIN old_rows o USING (id)
        WHERE (n.blind_id, n.current_id, n.slot) IS DISTINCT FROM (o.blind_id, o.current_id, o.slot)
            AND coalesce(n.blind_id, n.current_id, o.blind_id, o.current_id) IS NOT NULL
    ) AS changed;
    IF rounds IS NOT NULL THEN
        PERFORM annotation_count_up_raters(rounds, raters);
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER counted_up AFTER UPDATE ON annotation_assignment
    REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION annotation_assignments_counted_up();

CREATE FUNCTION annotation_matches_counted_up() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE rounds bigint[]; raters bigint[];
BEGIN
    SELECT array_agg(round_id), array_agg(rater_id) INTO rounds, raters FROM (
        SELECT DISTINCT g.round_id, g.rater_id FROM changed_rows c
        JOIN annotation_annotation a ON a.id = c.annotation_id JOIN annotation_assignment g ON g.id = a.assignment_id
    ) AS changed;
    IF rounds IS NOT NULL THEN
        PERFORM annotation_count_up_raters(rounds, raters);
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER counted_up_by_insert AFTER INSERT ON annotation_partmatch
    REFERENCING NEW TABLE AS changed_rows FOR EACH STATEMENT EXECUTE FUNCTION annotation_matches_counted_up();
CREATE TRIGGER counted_up_by_update AFTER UPDATE ON annotation_partmatch
    REFERENCING NEW TABLE AS changed_rows FOR EACH STATEMENT EXECUTE FUNCTION annotation_matches_counted_up();
CREATE TRIGGER counted_up_by_delete AFTER DELETE ON annotation_partmatch
    REFERENCING OLD TABLE AS changed_rows FOR EACH STATEMENT EXECUTE FUNCTION annotation_matches_counted_up();

CREATE FUNCTION annotation_training_counted_up() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE rounds bigint[]; raters bigint[];
BEGIN
    SELECT array_agg(r.round_id), array_agg(r.rater_id) INTO rounds, raters
    FROM annotation_roundrater r WHERE r.round_id = NEW.round_id;
    IF rounds IS NOT NULL THEN
        PERFORM annotation_count_up_raters(rounds, raters);
    END IF;
    RETURN NULL;
END $$;
-- By row, as these are few: whatever else changes in a place of a round (its free slots) costs nothing.
CREATE TRIGGER counted_up AFTER UPDATE ON annotation_rounditem
    FOR EACH ROW WHEN ((NEW.known IS NULL) <> (OLD.known IS NULL))
    EXECUTE FUNCTION annotation_training_counted_up();
"""

NOT_COUNTED_UP = """
DROP TRIGGER counted_up ON annotation_rounditem;
DROP TRIGGER counted_up_by_delete ON annotation_partmatch;
DROP TRIGGER counted_up_by_update ON annotation_partmatch;
DROP TRIGGER counted_up_by_insert ON annotation_partmatch;
DROP TRIGGER counted_up ON annotation_assignment;
DROP FUNCTION annotation_training_counted_up();
DROP FUNCTION annotation_matches_counted_up();
DROP FUNCTION annotation_assignments_counted_up();
DROP FUNCTION annotation_count_up_raters(bigint[], bigint[]);
"""


class Migration(migrations.Migration):

    dependencies = [('annotation', '0005_evidence_discussion_and_rules')]

    operations = [
        migrations.AddField(
            model_name='roundrater',
            name='revision',
            field=models.BigIntegerField(default=0, help_text='Counted up by the database whenever answers of this rater come to count otherwise.'),
        ),
        migrations.AddField(
            model_name='study',
            name='applies',
            field=models.CharField(choices=[('both', 'where it was asked of both raters by their own answers'), ('either', 'where it was asked of either; “does not apply” counts as an answer of the other')], default='both', help_text='Units of a conditional dimension that agreement compares, unless asked otherwise.', max_length=6),
        ),
        migrations.RunSQL(COUNTED_UP, NOT_COUNTED_UP),
    ]
