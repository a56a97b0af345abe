"""A sample that no round uses can be discarded; the audit log keeps what it was."""

from django.db import migrations

# A sample goes, with the issues it drew, in a transaction that names it, if no round was made from it.
DISCARD = """
CREATE FUNCTION annotation_sample_goes(the_table text, the_row jsonb) RETURNS boolean LANGUAGE plpgsql STABLE AS $$
DECLARE going bigint := nullif(current_setting('concord.sample_that_goes', true), '')::bigint;
BEGIN
    IF going IS NULL OR EXISTS (SELECT FROM annotation_round WHERE sample_id = going) THEN
        RETURN false;
    END IF;
    RETURN going IS NOT DISTINCT FROM CASE the_table
        WHEN 'annotation_sample' THEN (the_row->>'id')::bigint
        WHEN 'annotation_sampleissue' THEN (the_row->>'sample_id')::bigint
    END;
END $$;

CREATE OR REPLACE FUNCTION annotation_refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' AND (
        annotation_goes_with_its_study(TG_TABLE_NAME, to_jsonb(OLD))
        OR annotation_sample_goes(TG_TABLE_NAME, to_jsonb(OLD))
    ) THEN
        RETURN OLD;
    END IF;
    RAISE EXCEPTION '%', TG_ARGV[0] USING ERRCODE = 'restrict_violation';
END $$;
"""
KEEP = """
CREATE OR REPLACE FUNCTION annotation_refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' AND annotation_goes_with_its_study(TG_TABLE_NAME, to_jsonb(OLD)) THEN
        RETURN OLD;
    END IF;
    RAISE EXCEPTION '%', TG_ARGV[0] USING ERRCODE = 'restrict_violation';
END $$;
DROP FUNCTION annotation_sample_goes(text, jsonb);
"""


class Migration(migrations.Migration):
    dependencies = [("annotation", "0024_registered_by_proof")]
    operations = [migrations.RunSQL(DISCARD, KEEP)]
