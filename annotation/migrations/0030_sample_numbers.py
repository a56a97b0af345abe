"""Samples are numbered within their study."""

from django.db import migrations, models

# The study is held, so that two samples drawn at once get two numbers; rows that bring theirs keep it.
NUMBERED = """
CREATE FUNCTION annotation_number_sample() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.number IS NULL THEN
        PERFORM FROM annotation_study WHERE id = NEW.study_id FOR NO KEY UPDATE;
        SELECT coalesce(max(number), 0) + 1 INTO NEW.number FROM annotation_sample WHERE study_id = NEW.study_id;
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER numbered BEFORE INSERT ON annotation_sample FOR EACH ROW EXECUTE FUNCTION annotation_number_sample();
ALTER TABLE annotation_sample DISABLE TRIGGER append_only;
UPDATE annotation_sample AS sample SET number = told.number
FROM (SELECT id, row_number() OVER (PARTITION BY study_id ORDER BY id) AS number FROM annotation_sample) AS told
WHERE told.id = sample.id;
ALTER TABLE annotation_sample ENABLE TRIGGER append_only;
"""
NOT_NUMBERED = """
DROP TRIGGER numbered ON annotation_sample;
DROP FUNCTION annotation_number_sample();
"""


class Migration(migrations.Migration):
    dependencies = [("annotation", "0029_parts_that_do_not_exist")]

    operations = [
        migrations.AddField(
            model_name="sample",
            name="number",
            field=models.PositiveIntegerField(
                editable=False,
                help_text="Within its study, from 1; the database gives it.",
                null=True,
            ),
        ),
        migrations.RunSQL(NUMBERED, NOT_NUMBERED),
        migrations.AddConstraint(
            model_name="sample",
            constraint=models.UniqueConstraint(fields=["study", "number"], name="a_sample_number_is_used_once_in_a_study"),
        ),
    ]
