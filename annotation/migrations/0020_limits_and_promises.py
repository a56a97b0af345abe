"""Promises that the database keeps: slots within an item's number of raters, blind pointers that stay, no TRUNCATE."""

from importlib import import_module

from django.db import migrations, models

never_emptied = import_module("accounts.migrations.0007_never_emptied").never_emptied

# Set-based writers insert many assignments at once, so a statement is looked at as a whole. Arbiters and model raters
# have no slot.
SLOTS = """
CREATE FUNCTION annotation_slots_fit() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (
        SELECT FROM new_rows n
        LEFT JOIN annotation_rounditem i ON i.round_id = n.round_id AND i.item_id = n.item_id
        WHERE n.slot IS NOT NULL AND (i.id IS NULL OR n.slot > i.n_raters)
    ) THEN
        RAISE EXCEPTION 'An item has no slot above its number of raters.' USING ERRCODE = 'check_violation';
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER slots_fit AFTER INSERT ON annotation_assignment
    REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION annotation_slots_fit();

CREATE FUNCTION annotation_slot_fits() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (
        SELECT FROM annotation_rounditem i
        WHERE i.round_id = NEW.round_id AND i.item_id = NEW.item_id AND i.n_raters >= NEW.slot
    ) THEN
        RAISE EXCEPTION 'An item has no slot above its number of raters.' USING ERRCODE = 'check_violation';
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER slot_fits AFTER UPDATE OF slot ON annotation_assignment
    FOR EACH ROW WHEN (NEW.slot IS DISTINCT FROM OLD.slot AND NEW.slot IS NOT NULL)
    EXECUTE FUNCTION annotation_slot_fits();

CREATE FUNCTION annotation_raters_stay() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (
        SELECT FROM annotation_assignment a
        WHERE a.round_id = NEW.round_id AND a.item_id = NEW.item_id AND a.slot > NEW.n_raters
            AND a.state <> 'withdrawn'
    ) THEN
        RAISE EXCEPTION 'An item has no slot above its number of raters.' USING ERRCODE = 'check_violation';
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER raters_stay AFTER UPDATE OF n_raters ON annotation_rounditem
    FOR EACH ROW WHEN (NEW.n_raters < OLD.n_raters)
    EXECUTE FUNCTION annotation_raters_stay();
"""
NO_SLOTS = """
DROP TRIGGER raters_stay ON annotation_rounditem;
DROP FUNCTION annotation_raters_stay();
DROP TRIGGER slot_fits ON annotation_assignment;
DROP FUNCTION annotation_slot_fits();
DROP TRIGGER slots_fit ON annotation_assignment;
DROP FUNCTION annotation_slots_fit();
"""

# What was answered blind is what agreement is computed from. It is settled when the round is no longer open. Only a study
# that is deleted lets go of it, and a sheet completes what a sheet brought.
BLIND = """
CREATE FUNCTION annotation_blind_stays() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (
        SELECT FROM annotation_round r
        WHERE r.id = NEW.round_id AND r.state NOT IN ('draft', 'open')
            AND NOT EXISTS (
                SELECT FROM annotation_annotation a JOIN annotation_annotation b ON b.id = NEW.blind_id
                WHERE a.id = OLD.blind_id AND a.idempotency_key LIKE 'import:%' AND b.idempotency_key LIKE 'import:%'
            )
            AND r.study_id IS DISTINCT FROM nullif(current_setting('concord.study_that_goes', true), '')::bigint
    ) THEN
        RAISE EXCEPTION 'What was answered blind stays as it was when the round left the state open.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER blind_stays AFTER UPDATE OF blind_id ON annotation_assignment
    FOR EACH ROW WHEN (OLD.blind_id IS NOT NULL AND NEW.blind_id IS DISTINCT FROM OLD.blind_id)
    EXECUTE FUNCTION annotation_blind_stays();
"""
BLIND_MOVES = """
DROP TRIGGER blind_stays ON annotation_assignment;
DROP FUNCTION annotation_blind_stays();
"""


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0007_never_emptied'),
        ('annotation', '0019_readers_could_read'),
    ]

    operations = [
        migrations.AddField(
            model_name='plan',
            name='error',
            field=models.TextField(blank=True, db_default='', default=''),
        ),
        migrations.AlterField(
            model_name='plan',
            name='state',
            field=models.CharField(choices=[('previewed', 'Previewed'), ('queued', 'Queued'), ('running', 'Running'), ('done', 'Done'), ('undone', 'Undone'), ('failed', 'failed: stopped at its time limit, with nothing assigned; it can be run again')], default='previewed', max_length=10),
        ),
        migrations.RunSQL(SLOTS, NO_SLOTS),
        migrations.RunSQL(BLIND, BLIND_MOVES),
        never_emptied(
            "annotation_annotation",
            "annotation_proposal",
            "annotation_rating",
            "annotation_resolution",
            "annotation_resolutionvalue",
            "annotation_proposaloutcome",
            "annotation_evidence",
            "annotation_remark",
            "annotation_auditevent",
            "annotation_sample",
            "annotation_sampleissue",
            "annotation_deletion",
        ),
    ]
