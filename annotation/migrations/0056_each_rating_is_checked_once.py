"""Rows of answers are checked once: foreign keys that follow from others go, and pointers are checked by statement.

That a rating carries the round, item and rater of its assignment is checked when it is stored, and neither changes
afterwards. So its annotation's foreign key and those of the assignment hold for it. Its category is held by the key
of dimension and category.
"""

from importlib import import_module

import django.db.models.deletion
from django.db import migrations, models

from shared.index_migrations import DropForeignKeyIndex

FORMER_RATINGS: str = import_module("annotation.migrations.0042_columns_of_kinds").by_column()
FORMER_CHECK = """
        JOIN annotation_annotation a ON a.id = n.annotation_id
        JOIN annotation_assignment g ON g.id = a.assignment_id
        JOIN annotation_round r ON r.id = n.round_id
        JOIN taxonomy_dimension d ON d.id = n.dimension_id
        WHERE n.round_id <> g.round_id OR n.item_id <> g.item_id OR n.rater_id <> g.rater_id
           OR n.part < 1 OR n.part > a.n_parts
"""
CHECK = """
        LEFT JOIN annotation_annotation a ON a.id = n.annotation_id
        LEFT JOIN annotation_assignment g ON g.id = a.assignment_id
        WHERE n.round_id IS DISTINCT FROM g.round_id OR n.item_id IS DISTINCT FROM g.item_id
           OR n.rater_id IS DISTINCT FROM g.rater_id OR n.part < 1 OR n.part > a.n_parts
"""
PLACE = """
CREATE OR REPLACE TRIGGER place_stays BEFORE UPDATE OF round_id, item_id, rater_id ON annotation_assignment
    FOR EACH ROW WHEN (
        NEW.round_id <> OLD.round_id OR NEW.item_id <> OLD.item_id OR NEW.rater_id <> OLD.rater_id
    ) EXECUTE FUNCTION annotation_refuse('An assignment keeps its round, item and rater.');
"""
# Which columns an update changes can be told by row only; an update is of few rows, and an insert may be of many.
POINTERS = """
CREATE OR REPLACE FUNCTION annotation_new_pointers_fit() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (
        SELECT FROM new_rows n JOIN annotation_annotation a ON a.id = n.current_id WHERE a.assignment_id <> n.id
        UNION ALL
        SELECT FROM new_rows n JOIN annotation_annotation a ON a.id = n.blind_id WHERE a.assignment_id <> n.id
    ) THEN
        RAISE EXCEPTION 'An assignment must point to its own annotations.' USING ERRCODE = 'check_violation';
    END IF;
    RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER new_pointers_fit AFTER INSERT ON annotation_assignment
    REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION annotation_new_pointers_fit();
CREATE OR REPLACE TRIGGER pointers_fit AFTER UPDATE OF blind_id, current_id ON annotation_assignment
    FOR EACH ROW WHEN (NEW.current_id IS NOT NULL OR NEW.blind_id IS NOT NULL)
    EXECUTE FUNCTION annotation_pointers_fit();
"""
FORMER_POINTERS = """
CREATE OR REPLACE TRIGGER pointers_fit AFTER INSERT OR UPDATE OF blind_id, current_id ON annotation_assignment
    FOR EACH ROW WHEN (NEW.current_id IS NOT NULL OR NEW.blind_id IS NOT NULL)
    EXECUTE FUNCTION annotation_pointers_fit();
DROP TRIGGER new_pointers_fit ON annotation_assignment;
DROP FUNCTION annotation_new_pointers_fit();
"""


def ratings_fit() -> str:
    if FORMER_CHECK not in FORMER_RATINGS:
        raise ValueError("The check of ratings is not the one that this migration changes.")
    return FORMER_RATINGS.replace(FORMER_CHECK, CHECK)


def foreign_key(to: str, **of: object) -> models.ForeignKey:
    return models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, to=to, **of)


def unchecked(name: str, to: str, **of: object) -> migrations.AlterField:
    return migrations.AlterField("rating", name, foreign_key(to, related_name="+", db_constraint=False, **of))


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("annotation", "0055_turns_of_rules"), ("taxonomy", "0004_columns_of_kinds")]

    operations = [
        migrations.RunSQL(PLACE, "DROP TRIGGER place_stays ON annotation_assignment"),
        migrations.RunSQL(ratings_fit(), FORMER_RATINGS),
        migrations.RunSQL(POINTERS, FORMER_POINTERS),
        unchecked("round", "annotation.round"),
        unchecked("item", "annotation.item"),
        unchecked("rater", "annotation.membership"),
        unchecked("category", "taxonomy.category", null=True, blank=True),
        DropForeignKeyIndex(
            "rating", "round", foreign_key("annotation.round", related_name="+", db_constraint=False, db_index=False)
        ),
        DropForeignKeyIndex(
            "rating", "annotation", foreign_key("annotation.annotation", related_name="ratings", db_index=False)
        ),
        DropForeignKeyIndex(
            "annotation", "assignment", foreign_key("annotation.assignment", related_name="annotations", db_index=False)
        ),
    ]
