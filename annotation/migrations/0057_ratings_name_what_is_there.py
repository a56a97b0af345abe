"""Ratings and pointers name rows that exist: checked for all rows of a statement at once, not by a key for each of them.

A published version of a taxonomy never changes, so its dimensions and categories stay, and ratings are of no other
one. An annotation is locked while what names it is stored, as by a foreign key, and can't be deleted after that.
"""

from importlib import import_module

import django.db.models.deletion
from django.db import migrations, models

before = import_module("annotation.migrations.0056_each_rating_is_checked_once")
FORMER_RATINGS: str = before.ratings_fit()
FORMER_VERSION = """
        SELECT FROM new_rows n
        JOIN annotation_round r ON r.id = n.round_id
        JOIN taxonomy_dimension d ON d.id = n.dimension_id
        WHERE d.version_id <> r.taxonomy_version_id
"""
VERSION = """
        SELECT FROM (SELECT DISTINCT round_id, dimension_id FROM new_rows) n
        JOIN annotation_round r ON r.id = n.round_id
        JOIN taxonomy_taxonomyversion v ON v.id = r.taxonomy_version_id
        LEFT JOIN taxonomy_dimension d ON d.id = n.dimension_id
        WHERE d.version_id IS DISTINCT FROM v.id OR v.state = 'draft'
"""
FORMER_WORDS = "a dimension of the taxonomy version of its round"
WORDS = "a dimension of the published taxonomy version of its round"
OWN = """
    IF (SELECT count(*) FROM new_rows) <> (SELECT count(*) FROM (
        SELECT FROM new_rows n
        JOIN annotation_annotation a ON a.id = n.annotation_id
        JOIN annotation_assignment g ON g.id = a.assignment_id
        WHERE n.round_id = g.round_id AND n.item_id = g.item_id AND n.rater_id = g.rater_id
            AND n.part BETWEEN 1 AND a.n_parts
        FOR KEY SHARE OF a
    ) AS fit) THEN
"""
FORMER_OWN = f"""
    IF EXISTS (
        SELECT FROM new_rows n{before.CHECK}    ) THEN
"""
KIND = """
    IF EXISTS (
        SELECT FROM new_rows n
        JOIN taxonomy_dimension d ON d.id = n.dimension_id
        WHERE n.proposal_id IS NULL"""
CATEGORY = """
    IF EXISTS (
        SELECT FROM (SELECT DISTINCT dimension_id, category_id FROM new_rows WHERE category_id IS NOT NULL) n
        LEFT JOIN taxonomy_category c ON c.id = n.category_id
        WHERE c.dimension_id IS DISTINCT FROM n.dimension_id
    ) THEN
        RAISE EXCEPTION 'A rating must name a category of its dimension.' USING ERRCODE = 'check_violation';
    END IF;"""
# The plan is that of the first call. By a hash each statement of an import would read all answers of all studies.
LOOK_UP = "ALTER FUNCTION {}() SET enable_hashjoin = off SET enable_mergejoin = off;"
NO_LOOK_UP = "ALTER FUNCTION {}() RESET enable_hashjoin RESET enable_mergejoin;"
LOOKED_UP = ("annotation_ratings_fit", "annotation_new_pointers_fit", "annotation_slots_fit", "annotation_places_screened")
POINTERS = """
CREATE OR REPLACE FUNCTION annotation_new_pointers_fit() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF (SELECT count(current_id) FROM new_rows) <> (SELECT count(*) FROM (
        SELECT FROM new_rows n JOIN annotation_annotation a ON a.id = n.current_id
        WHERE a.assignment_id = n.id FOR KEY SHARE OF a
    ) AS fit)
    OR (SELECT count(blind_id) FROM new_rows WHERE blind_id IS DISTINCT FROM current_id) <> (SELECT count(*) FROM (
        SELECT FROM new_rows n JOIN annotation_annotation a ON a.id = n.blind_id
        WHERE n.blind_id IS DISTINCT FROM n.current_id AND a.assignment_id = n.id FOR KEY SHARE OF a
    ) AS fit) THEN
        RAISE EXCEPTION 'An assignment must point to its own annotations.' USING ERRCODE = 'check_violation';
    END IF;
    RETURN NULL;
END $$;
CREATE OR REPLACE FUNCTION annotation_pointers_fit() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM FROM annotation_annotation WHERE id IN (NEW.blind_id, NEW.current_id) FOR KEY SHARE;
    IF EXISTS (
        SELECT FROM unnest(ARRAY[NEW.blind_id, NEW.current_id]) AS named(id)
        LEFT JOIN annotation_annotation a ON a.id = named.id
        WHERE named.id IS NOT NULL AND a.assignment_id IS DISTINCT FROM NEW.id
    ) THEN
        RAISE EXCEPTION 'An assignment must point to its own annotations.' USING ERRCODE = 'check_violation';
    END IF;
    RETURN NULL;
END $$;
"""
STAY = """
CREATE OR REPLACE FUNCTION annotation_named_annotations_stay() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (
        SELECT FROM annotation_rating WHERE annotation_id = OLD.id
        UNION ALL
        SELECT FROM annotation_assignment WHERE current_id = OLD.id
        UNION ALL
        SELECT FROM annotation_assignment WHERE blind_id = OLD.id
    ) THEN
        RAISE EXCEPTION 'An annotation that a rating or an assignment names can''t be deleted.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER named_annotations_stay AFTER DELETE ON annotation_annotation
    FOR EACH ROW EXECUTE FUNCTION annotation_named_annotations_stay();
"""
FORMER_POINTERS = """
DROP TRIGGER named_annotations_stay ON annotation_annotation;
DROP FUNCTION annotation_named_annotations_stay();
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
CREATE OR REPLACE FUNCTION annotation_pointers_fit() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (
        SELECT FROM annotation_annotation a
        WHERE a.id IN (NEW.blind_id, NEW.current_id) AND a.assignment_id <> NEW.id
    ) THEN
        RAISE EXCEPTION 'An assignment must point to its own annotations.' USING ERRCODE = 'check_violation';
    END IF;
    RETURN NULL;
END $$;
"""
CATEGORY_KEY = """
ALTER TABLE annotation_rating
    ADD CONSTRAINT a_rating_names_a_category_of_its_dimension
    FOREIGN KEY (dimension_id, category_id) REFERENCES taxonomy_category (dimension_id, id)
    DEFERRABLE INITIALLY DEFERRED;
"""


def ratings_fit() -> str:
    changed = FORMER_RATINGS
    for former, now in (
        (FORMER_OWN, OWN),
        (FORMER_VERSION, VERSION),
        (FORMER_WORDS, WORDS),
        (KIND, CATEGORY + KIND),
    ):
        if changed.count(former) != 1:
            raise ValueError(f"The check of ratings is not the one that this migration changes: {former}")
        changed = changed.replace(former, now)
    return changed


def foreign_key(to: str, **of: object) -> models.ForeignKey:
    return models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, to=to, db_constraint=False, **of)


def unchecked(model: str, name: str, to: str, **of: object) -> migrations.AlterField:
    return migrations.AlterField(model, name, foreign_key(to, **of))


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("annotation", "0056_each_rating_is_checked_once"), ("taxonomy", "0004_columns_of_kinds")]

    operations = [
        migrations.RunSQL(
            ratings_fit() + POINTERS + STAY + "".join(map(LOOK_UP.format, LOOKED_UP)),
            "".join(map(NO_LOOK_UP.format, LOOKED_UP)) + FORMER_POINTERS + FORMER_RATINGS,
        ),
        migrations.RunSQL(
            "ALTER TABLE annotation_rating DROP CONSTRAINT IF EXISTS a_rating_names_a_category_of_its_dimension",
            CATEGORY_KEY,
        ),
        unchecked("rating", "annotation", "annotation.annotation", related_name="ratings", db_index=False),
        unchecked("rating", "dimension", "taxonomy.dimension", related_name="+"),
        *(
            unchecked(
                "assignment", name, "annotation.annotation", null=True, blank=True, related_name="+", db_index=False
            )
            for name in ("blind", "current")
        ),
    ]
