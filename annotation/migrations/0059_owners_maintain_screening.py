"""Maintainers of what a study screens by are its owners: former owners who made it no longer are."""

from django.db import migrations

OWN = """
    SELECT s.screening_taxonomy_id AS taxonomy_id, m.user_id
    FROM annotation_study s JOIN annotation_membership m ON m.study_id = s.id
    WHERE s.screening_taxonomy_id IS NOT NULL AND m.user_id IS NOT NULL AND 'owner' = ANY (m.roles)
"""
FORMER_OWNERS_GO = f"""
DELETE FROM taxonomy_taxonomy_maintainers t
WHERE t.taxonomy_id IN (
    SELECT screening_taxonomy_id FROM annotation_study WHERE screening_taxonomy_id IS NOT NULL AND deleted_at IS NULL)
AND (t.taxonomy_id, t.user_id) NOT IN ({OWN})
"""
OWNERS_COME = f"INSERT INTO taxonomy_taxonomy_maintainers (taxonomy_id, user_id) {OWN} ON CONFLICT DO NOTHING"


class Migration(migrations.Migration):

    dependencies = [("annotation", "0058_could_read_until_the_commit"), ("taxonomy", "0005_unfinished_drafts")]

    operations = [
        migrations.RunSQL(FORMER_OWNERS_GO, migrations.RunSQL.noop),
        migrations.RunSQL(OWNERS_COME, migrations.RunSQL.noop),
    ]
