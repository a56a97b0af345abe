"""Rules that the database keeps: what raters and adjudicators said is only appended to, and fits its version."""

from django.db import migrations

APPEND_ONLY = {
    "annotation_annotation": "An annotation can't be changed or deleted; a new revision is appended instead.",
    "annotation_proposal": "A proposal can't be changed or deleted; a new revision is appended instead.",
    "annotation_rating": "A rating can't be changed or deleted; a new revision is appended instead.",
    "annotation_resolution": "A resolution can't be changed or deleted; a new revision is appended instead.",
    "annotation_resolutionvalue": "A resolution can't be changed or deleted; a new revision is appended instead.",
    "annotation_auditevent": "An audit event can't be changed or deleted.",
    "annotation_sample": "A sample can't be changed or deleted; draw another one.",
    "annotation_sampleissue": "A sample can't be changed or deleted; draw another one.",
}

REFUSE = """
CREATE FUNCTION annotation_refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '%', TG_ARGV[0] USING ERRCODE = 'restrict_violation';
END $$;
"""

COMPOSITE_KEYS = """
ALTER TABLE annotation_rating
    ADD CONSTRAINT a_rating_names_a_category_of_its_dimension
    FOREIGN KEY (dimension_id, category_id) REFERENCES taxonomy_category (dimension_id, id)
    DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE annotation_rating
    ADD CONSTRAINT a_rating_has_at_most_one_value
    CHECK (num_nonnulls(category_id, proposal_id, boolean, number, text) <= 1);
ALTER TABLE annotation_resolutionvalue
    ADD CONSTRAINT a_resolution_value_is_one_value
    CHECK (num_nonnulls(category_id, boolean, number, text) = 1);
"""

RATINGS_FIT = """
CREATE FUNCTION annotation_ratings_fit() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (
        SELECT FROM new_rows n
        JOIN annotation_annotation a ON a.id = n.annotation_id
        JOIN annotation_assignment g ON g.id = a.assignment_id
        JOIN annotation_round r ON r.id = n.round_id
        JOIN taxonomy_dimension d ON d.id = n.dimension_id
        WHERE n.round_id <> g.round_id OR n.item_id <> g.item_id OR n.rater_id <> g.rater_id
           OR n.part < 1 OR n.part > a.n_parts
    ) THEN
        RAISE EXCEPTION 'A rating must carry the round, item, rater and a part of its annotation.'
            USING ERRCODE = 'check_violation';
    END IF;
    IF EXISTS (
        SELECT FROM new_rows n
        JOIN annotation_round r ON r.id = n.round_id
        JOIN taxonomy_dimension d ON d.id = n.dimension_id
        WHERE d.version_id <> r.taxonomy_version_id
    ) THEN
        RAISE EXCEPTION 'A rating must stand on a dimension of the taxonomy version of its round.'
            USING ERRCODE = 'check_violation';
    END IF;
    IF EXISTS (
        SELECT FROM new_rows n
        JOIN taxonomy_dimension d ON d.id = n.dimension_id
        WHERE n.proposal_id IS NULL AND CASE d.kind
            WHEN 'boolean' THEN n.boolean IS NULL
            WHEN 'number' THEN n.number IS NULL
            WHEN 'text' THEN n.text IS NULL
            WHEN 'multi' THEN num_nonnulls(n.boolean, n.number, n.text) > 0
            ELSE n.category_id IS NULL
        END
    ) THEN
        RAISE EXCEPTION 'A rating must have a value of the kind of its dimension.' USING ERRCODE = 'check_violation';
    END IF;
    IF EXISTS (
        SELECT FROM new_rows n
        JOIN annotation_proposal p ON p.id = n.proposal_id
        WHERE p.annotation_id <> n.annotation_id OR p.dimension_id <> n.dimension_id
    ) THEN
        RAISE EXCEPTION 'A rating must name a proposal of its own annotation and dimension.'
            USING ERRCODE = 'check_violation';
    END IF;
    IF EXISTS (
        SELECT FROM annotation_rating n
        JOIN taxonomy_dimension d ON d.id = n.dimension_id
        WHERE n.annotation_id IN (SELECT annotation_id FROM new_rows)
        GROUP BY n.annotation_id, n.part, n.dimension_id, d.kind
        HAVING count(*) > 1 AND (d.kind <> 'multi' OR bool_or(n.category_id IS NULL AND n.proposal_id IS NULL))
    ) THEN
        RAISE EXCEPTION 'Only a dimension of several values takes more than one rating, and the empty set stands alone.'
            USING ERRCODE = 'check_violation';
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER ratings_fit AFTER INSERT ON annotation_rating
    REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION annotation_ratings_fit();
"""

RESOLUTIONS_FIT = """
CREATE FUNCTION annotation_resolutions_fit() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (
        SELECT FROM new_rows n
        JOIN annotation_round r ON r.id = n.round_id
        JOIN taxonomy_dimension d ON d.id = n.dimension_id
        WHERE d.version_id <> r.taxonomy_version_id
    ) THEN
        RAISE EXCEPTION 'A resolution must stand on a dimension of the taxonomy version of its round.'
            USING ERRCODE = 'check_violation';
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER resolutions_fit AFTER INSERT ON annotation_resolution
    REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION annotation_resolutions_fit();

CREATE FUNCTION annotation_resolution_values_fit() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (
        SELECT FROM new_rows n
        JOIN annotation_resolution s ON s.id = n.resolution_id
        JOIN taxonomy_category c ON c.id = n.category_id
        WHERE c.dimension_id <> s.dimension_id
    ) THEN
        RAISE EXCEPTION 'A resolution must name categories of its dimension.'
            USING ERRCODE = 'check_violation';
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER resolution_values_fit AFTER INSERT ON annotation_resolutionvalue
    REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION annotation_resolution_values_fit();
"""

POINTERS_FIT = """
CREATE FUNCTION annotation_pointers_fit() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (
        SELECT FROM annotation_annotation a
        WHERE a.id IN (NEW.blind_id, NEW.current_id) AND a.assignment_id <> NEW.id
    ) THEN
        RAISE EXCEPTION 'An assignment must point to its own annotations.' USING ERRCODE = 'check_violation';
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER pointers_fit AFTER INSERT OR UPDATE OF blind_id, current_id ON annotation_assignment
    FOR EACH ROW WHEN (NEW.current_id IS NOT NULL OR NEW.blind_id IS NOT NULL)
    EXECUTE FUNCTION annotation_pointers_fit();
"""

ROUND_FIXED = """
CREATE FUNCTION annotation_round_fixed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF OLD.state <> 'draft' AND (
        NEW.taxonomy_version_id <> OLD.taxonomy_version_id OR NEW.study_id <> OLD.study_id
        OR NEW.number <> OLD.number OR NEW.raters_per_item <> OLD.raters_per_item
    ) THEN
        RAISE EXCEPTION 'A round that was opened keeps its taxonomy version, number and raters per item.'
            USING ERRCODE = 'restrict_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER round_fixed BEFORE UPDATE ON annotation_round
    FOR EACH ROW EXECUTE FUNCTION annotation_round_fixed();
"""


def append_only(table: str, sentence: str) -> migrations.RunSQL:
    quoted = sentence.replace("'", "''")
    return migrations.RunSQL(
        f"CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON {table}"
        f" FOR EACH ROW EXECUTE FUNCTION annotation_refuse('{quoted}')",
        f"DROP TRIGGER append_only ON {table}",
    )


class Migration(migrations.Migration):
    dependencies = [("annotation", "0001_initial"), ("taxonomy", "0002_rules"), ("ingest", "0002_rules")]

    operations = [
        migrations.RunSQL(REFUSE, "DROP FUNCTION annotation_refuse()"),
        *(append_only(table, sentence) for table, sentence in APPEND_ONLY.items()),
        migrations.RunSQL(
            COMPOSITE_KEYS,
            "ALTER TABLE annotation_rating DROP CONSTRAINT a_rating_names_a_category_of_its_dimension;"
            "ALTER TABLE annotation_rating DROP CONSTRAINT a_rating_has_at_most_one_value;"
            "ALTER TABLE annotation_resolutionvalue DROP CONSTRAINT a_resolution_value_is_one_value;",
        ),
        migrations.RunSQL(
            RATINGS_FIT,
            "DROP TRIGGER ratings_fit ON annotation_rating; DROP FUNCTION annotation_ratings_fit()",
        ),
        migrations.RunSQL(
            RESOLUTIONS_FIT,
            "DROP TRIGGER resolution_values_fit ON annotation_resolutionvalue;"
            "DROP FUNCTION annotation_resolution_values_fit();"
            "DROP TRIGGER resolutions_fit ON annotation_resolution; DROP FUNCTION annotation_resolutions_fit()",
        ),
        migrations.RunSQL(
            POINTERS_FIT,
            "DROP TRIGGER pointers_fit ON annotation_assignment; DROP FUNCTION annotation_pointers_fit()",
        ),
        migrations.RunSQL(
            ROUND_FIXED,
            "DROP TRIGGER round_fixed ON annotation_round; DROP FUNCTION annotation_round_fixed()",
        ),
    ]
