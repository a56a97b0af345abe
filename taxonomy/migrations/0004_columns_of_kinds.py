"""A dimension has the column of its values and whether an answer is a set of them, as its kind declares.

The version before writes neither; a trigger then fills in what the kinds of its time mean.
"""

from django.db import migrations, models

DECLARED = """
CREATE FUNCTION taxonomy_kind_declares() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.value_column = '' THEN
        NEW.is_set := NEW.kind = 'multi';
        NEW.value_column := CASE
            WHEN NEW.kind IN ('boolean', 'number', 'text') THEN NEW.kind
            WHEN NEW.kind IN ('single', 'multi', 'ordinal') THEN 'category'
            ELSE ''
        END;
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER kind_declares BEFORE INSERT OR UPDATE ON taxonomy_dimension
    FOR EACH ROW EXECUTE FUNCTION taxonomy_kind_declares();
ALTER TABLE taxonomy_dimension DISABLE TRIGGER a_dimension_of_a_published_version_is_frozen;
UPDATE taxonomy_dimension SET value_column = '';
ALTER TABLE taxonomy_dimension ENABLE TRIGGER a_dimension_of_a_published_version_is_frozen;
ALTER TABLE taxonomy_dimension ADD CONSTRAINT values_have_a_column
    CHECK (value_column IN ('category', 'boolean', 'number', 'text'));
"""

UNDO = """
ALTER TABLE taxonomy_dimension DROP CONSTRAINT values_have_a_column;
DROP TRIGGER kind_declares ON taxonomy_dimension;
DROP FUNCTION taxonomy_kind_declares();
"""


class Migration(migrations.Migration):
    dependencies = [("taxonomy", "0003_drafts_in_an_editor")]

    operations = [
        migrations.AlterField(model_name="dimension", name="kind", field=models.CharField(max_length=10)),
        migrations.AddField(
            model_name="dimension",
            name="value_column",
            field=models.CharField(
                db_default="", help_text="The column that holds a value, as the kind declares.", max_length=10
            ),
        ),
        migrations.AddField(
            model_name="dimension",
            name="is_set",
            field=models.BooleanField(
                db_default=False, help_text="Whether an answer is a set of values, as the kind declares."
            ),
        ),
        migrations.RunSQL(DECLARED, UNDO),
    ]
