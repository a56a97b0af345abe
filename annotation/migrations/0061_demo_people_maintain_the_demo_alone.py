"""Demo people no longer maintain taxonomies that other studies use: anyone can act as them."""

from django.db import migrations

DEMO_PEOPLE_GO = """
DELETE FROM taxonomy_taxonomy_maintainers t
USING accounts_user u
WHERE u.id = t.user_id
AND lower(u.username) IN ('demo-olga', 'demo-alice', 'demo-bob', 'demo-carol', 'demo-ada')
AND NOT EXISTS (
    SELECT 1 FROM accounts_serverevent e WHERE e.about_id = u.id AND e.verb = 'public account made private')
AND (
    NOT EXISTS (SELECT 1 FROM annotation_membership m WHERE m.user_id = u.id)
    OR EXISTS (
        SELECT 1 FROM annotation_membership m JOIN annotation_study d ON d.id = m.study_id
        WHERE m.user_id = u.id AND d.slug = 'demo'))
AND EXISTS (
    SELECT 1 FROM annotation_study s
    WHERE t.taxonomy_id IN (s.taxonomy_id, s.screening_taxonomy_id) AND s.slug <> 'demo' AND s.deleted_at IS NULL)
"""


class Migration(migrations.Migration):

    dependencies = [
        ("annotation", "0060_imported_roles_end"),
        ("accounts", "0011_links_to_former_addresses"),
        ("taxonomy", "0005_unfinished_drafts"),
    ]

    operations = [migrations.RunSQL(DEMO_PEOPLE_GO, migrations.RunSQL.noop)]
