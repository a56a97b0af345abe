"""Rules the database keeps: what was published stays as it is, and a parent belongs to the same dimension."""

from django.db import migrations

RULES = """
CREATE FUNCTION taxonomy_refuse_if_frozen(the_version bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    found record;
BEGIN
    SELECT v.state, v.number, t.slug INTO found
    FROM taxonomy_taxonomyversion v JOIN taxonomy_taxonomy t ON t.id = v.taxonomy_id
    WHERE v.id = the_version
    FOR SHARE OF v;
    IF found.state <> 'draft' THEN
        RAISE EXCEPTION 'Version % of taxonomy % is % and cannot be changed; make a new draft.',
            found.number, found.slug, found.state USING ERRCODE = 'restrict_violation';
    END IF;
END $$;

CREATE FUNCTION taxonomy_version_is_frozen() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF OLD.state = 'draft' THEN
        IF TG_OP = 'DELETE' THEN
            RETURN OLD;
        END IF;
        RETURN NEW;
    END IF;
    IF TG_OP = 'UPDATE' AND OLD.state = 'published' AND NEW.state = 'retired'
        AND to_jsonb(NEW) - 'state' = to_jsonb(OLD) - 'state' THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION 'Version % of a taxonomy is % and cannot be changed or deleted; make a new draft.',
        OLD.number, OLD.state USING ERRCODE = 'restrict_violation';
END $$;

CREATE TRIGGER a_published_version_is_frozen BEFORE UPDATE OR DELETE ON taxonomy_taxonomyversion
    FOR EACH ROW EXECUTE FUNCTION taxonomy_version_is_frozen();

CREATE FUNCTION taxonomy_part_is_frozen() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP <> 'INSERT' THEN
        PERFORM taxonomy_refuse_if_frozen(OLD.version_id);
    END IF;
    IF TG_OP = 'DELETE' THEN
        RETURN OLD;
    END IF;
    IF TG_OP = 'INSERT' OR NEW.version_id <> OLD.version_id THEN
        PERFORM taxonomy_refuse_if_frozen(NEW.version_id);
    END IF;
    RETURN NEW;
END $$;

CREATE TRIGGER a_dimension_of_a_published_version_is_frozen BEFORE INSERT OR UPDATE OR DELETE ON taxonomy_dimension
    FOR EACH ROW EXECUTE FUNCTION taxonomy_part_is_frozen();
CREATE TRIGGER a_change_of_a_published_version_is_frozen BEFORE INSERT OR UPDATE OR DELETE ON taxonomy_categorychange
    FOR EACH ROW EXECUTE FUNCTION taxonomy_part_is_frozen();

CREATE FUNCTION taxonomy_category_is_frozen() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP <> 'INSERT' THEN
        PERFORM taxonomy_refuse_if_frozen(version_id) FROM taxonomy_dimension WHERE id = OLD.dimension_id;
    END IF;
    IF TG_OP = 'DELETE' THEN
        RETURN OLD;
    END IF;
    IF TG_OP = 'INSERT' OR NEW.dimension_id <> OLD.dimension_id THEN
        PERFORM taxonomy_refuse_if_frozen(version_id) FROM taxonomy_dimension WHERE id = NEW.dimension_id;
    END IF;
    RETURN NEW;
END $$;

CREATE TRIGGER a_category_of_a_published_version_is_frozen BEFORE INSERT OR UPDATE OR DELETE ON taxonomy_category
    FOR EACH ROW EXECUTE FUNCTION taxonomy_category_is_frozen();

ALTER TABLE taxonomy_category ADD CONSTRAINT a_parent_is_of_the_same_dimension
    FOREIGN KEY (dimension_id, parent_id) REFERENCES taxonomy_category (dimension_id, id)
    DEFERRABLE INITIALLY DEFERRED;
"""

UNDO = """
ALTER TABLE taxonomy_category DROP CONSTRAINT a_parent_is_of_the_same_dimension;
DROP TRIGGER a_category_of_a_published_version_is_frozen ON taxonomy_category;
DROP TRIGGER a_change_of_a_published_version_is_frozen ON taxonomy_categorychange;
DROP TRIGGER a_dimension_of_a_published_version_is_frozen ON taxonomy_dimension;
DROP TRIGGER a_published_version_is_frozen ON taxonomy_taxonomyversion;
DROP FUNCTION taxonomy_category_is_frozen();
DROP FUNCTION taxonomy_part_is_frozen();
DROP FUNCTION taxonomy_version_is_frozen();
DROP FUNCTION taxonomy_refuse_if_frozen(bigint);
"""


class Migration(migrations.Migration):
    dependencies = [("taxonomy", "0001_initial")]
    operations = [migrations.RunSQL(RULES, UNDO)]
