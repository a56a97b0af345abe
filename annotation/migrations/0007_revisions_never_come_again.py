"""A revision of a round's rater is a time in microseconds where that is higher, so that none ever comes again."""

from django.db import migrations

COUNT_UP = """
CREATE OR REPLACE FUNCTION annotation_count_up_raters(rounds bigint[], raters bigint[]) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM FROM annotation_roundrater r JOIN unnest(rounds, raters) AS c (round, rater)
        ON c.round = r.round_id AND c.rater = r.rater_id
        ORDER BY r.id FOR NO KEY UPDATE OF r;
    UPDATE annotation_roundrater r SET revision = {revision} FROM unnest(rounds, raters) AS c (round, rater)
        WHERE c.round = r.round_id AND c.rater = r.rater_id;
END $$;
"""
PLUS_ONE = "r.revision + 1"
BY_TIME = "greatest(r.revision + 1, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint)"


class Migration(migrations.Migration):

    dependencies = [("annotation", "0006_numbers_that_are_kept")]

    operations = [migrations.RunSQL(COUNT_UP.format(revision=BY_TIME), COUNT_UP.format(revision=PLUS_ONE))]
