"""What changed in many rows at once is found without comparing each row with each.

A trigger keeps the plan of its first call, which is of a row or two: joined by it, the old and the new rows of a large
statement take minutes. Sets of them are sorted or hashed, whatever was planned.
"""

from django.db import migrations

FORMER_ASSIGNMENTS = """
    SELECT array_agg(round_id), array_agg(rater_id) INTO rounds, raters FROM (
        SELECT DISTINCT n.round_id, n.rater_id FROM new_rows n JOIN old_rows o USING (id)
        WHERE (n.blind_id, n.current_id, n.slot) IS DISTINCT FROM (o.blind_id, o.current_id, o.slot)
            AND coalesce(n.blind_id, n.current_id, o.blind_id, o.current_id) IS NOT NULL
    ) AS changed;"""
ANSWERED = (
    "SELECT id, round_id, rater_id, blind_id, current_id, slot FROM {} WHERE coalesce(blind_id, current_id) IS NOT NULL"
)
ASSIGNMENTS = f"""
    SELECT array_agg(round_id), array_agg(rater_id) INTO rounds, raters FROM (
        SELECT DISTINCT round_id, rater_id FROM (
            ({ANSWERED.format("new_rows")} EXCEPT {ANSWERED.format("old_rows")})
            UNION ALL
            ({ANSWERED.format("old_rows")} EXCEPT {ANSWERED.format("new_rows")})
        ) AS answered
    ) AS changed;"""
FORMER_ITEMS = """
    SELECT array_agg(n.id) INTO items FROM new_rows n JOIN old_rows o USING (id)
    WHERE n.screening <> o.screening AND 'out' IN (n.screening, o.screening);"""
OUT = "SELECT id FROM {} WHERE screening = 'out'"
ITEMS = f"""
    SELECT array_agg(id) INTO items FROM (
        ({OUT.format("new_rows")} EXCEPT {OUT.format("old_rows")})
        UNION ALL
        ({OUT.format("old_rows")} EXCEPT {OUT.format("new_rows")})
    ) AS changed;"""


def functions(assignments: str, items: str) -> str:
    return f"""
CREATE OR REPLACE FUNCTION annotation_assignments_counted_up() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE rounds bigint[]; raters bigint[];
BEGIN{assignments}
    IF rounds IS NOT NULL THEN
        PERFORM annotation_count_up_raters(rounds, raters);
    END IF;
    RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION annotation_items_screened() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE items bigint[];
BEGIN{items}
    IF items IS NOT NULL THEN
        PERFORM annotation_set_excluded(items);
    END IF;
    RETURN NULL;
END $$;
"""


class Migration(migrations.Migration):
    dependencies = [("annotation", "0048_marks_of_github")]

    operations = [migrations.RunSQL(functions(ASSIGNMENTS, ITEMS), functions(FORMER_ASSIGNMENTS, FORMER_ITEMS))]
