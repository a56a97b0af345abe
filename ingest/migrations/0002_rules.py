"""What was stored of an issue is never changed or deleted: kept by the database."""

from django.db import migrations

FROZEN = """
CREATE FUNCTION ingest_refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '%', TG_ARGV[0] USING ERRCODE = 'restrict_violation';
END $$;

CREATE TRIGGER a_snapshot_is_never_changed BEFORE UPDATE OR DELETE ON ingest_snapshot FOR EACH ROW
EXECUTE FUNCTION ingest_refuse_change(
    'A snapshot is never changed or deleted; a new state of the issue is a new snapshot.');

CREATE TRIGGER a_comment_is_never_changed BEFORE UPDATE OR DELETE ON ingest_comment FOR EACH ROW
EXECUTE FUNCTION ingest_refuse_change(
    'A stored comment is never changed or deleted; an edited comment is a new one in a new snapshot.');

CREATE TRIGGER a_thread_is_never_changed BEFORE UPDATE OR DELETE ON ingest_snapshotcomment FOR EACH ROW
EXECUTE FUNCTION ingest_refuse_change(
    'The comments of a snapshot are never changed or deleted; a longer thread is a new snapshot.');
"""

FREE = """
DROP TRIGGER a_thread_is_never_changed ON ingest_snapshotcomment;
DROP TRIGGER a_comment_is_never_changed ON ingest_comment;
DROP TRIGGER a_snapshot_is_never_changed ON ingest_snapshot;
DROP FUNCTION ingest_refuse_change();
"""


class Migration(migrations.Migration):
    dependencies = [("ingest", "0001_initial")]
    operations = [migrations.RunSQL(FROZEN, FREE)]
