"""Items bear the present names of their repositories: a repository that is renamed at GitHub renames them."""

from django.db import migrations

# In every study at once, whichever way the new name came, so that no page, file or filter has two names for one
# repository. An item that was imported under a name of its own keeps it.
RENAMED = """
CREATE FUNCTION annotation_home(host text, owner text, name text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE host WHEN 'github.com' THEN '' ELSE host || '/' END || owner || '/' || name
$$;

CREATE FUNCTION annotation_rename_items(repository bigint, former text, present text) RETURNS void LANGUAGE sql AS $$
    WITH renamed AS (
        UPDATE annotation_item i SET identifier = present || '#' || s.number
        FROM ingest_issue s
        WHERE s.repository_id = repository AND i.issue_id = s.id
            AND lower(i.identifier) = lower(former || '#' || s.number)
            AND NOT EXISTS (
                SELECT FROM annotation_item o
                WHERE o.study_id = i.study_id AND o.identifier = present || '#' || s.number AND o.id <> i.id)
        RETURNING i.study_id
    )
    INSERT INTO annotation_auditevent (study_id, at, verb, detail)
    SELECT study_id, now(), 'repository renamed',
        jsonb_build_object('former', former, 'repository', present, 'n', count(*))
    FROM renamed GROUP BY study_id;
$$;

CREATE FUNCTION annotation_repository_renamed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM annotation_rename_items(
        NEW.id, annotation_home(OLD.host, OLD.owner, OLD.name), annotation_home(NEW.host, NEW.owner, NEW.name));
    RETURN NULL;
END $$;
CREATE TRIGGER renamed AFTER UPDATE ON ingest_repository
    FOR EACH ROW WHEN (ROW(OLD.host, OLD.owner, OLD.name) IS DISTINCT FROM ROW(NEW.host, NEW.owner, NEW.name))
    EXECUTE FUNCTION annotation_repository_renamed();
"""
NOT_RENAMED = """
DROP TRIGGER renamed ON ingest_repository;
DROP FUNCTION annotation_repository_renamed();
DROP FUNCTION annotation_rename_items(bigint, text, text);
DROP FUNCTION annotation_home(text, text, text);
"""
THOSE_OF_BEFORE = """
SELECT annotation_rename_items(r.id, annotation_home(f.host, f.owner, f.name), annotation_home(r.host, r.owner, r.name))
FROM ingest_formername f JOIN ingest_repository r ON r.id = f.repository_id
"""


class Migration(migrations.Migration):
    dependencies = [("annotation", "0037_likely_duplicates"), ("ingest", "0010_changes_and_activity")]

    operations = [
        migrations.RunSQL(RENAMED, NOT_RENAMED),
        migrations.RunSQL(THOSE_OF_BEFORE, migrations.RunSQL.noop),
    ]
