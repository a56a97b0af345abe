"""Tables whose rows are only ever added can't be emptied either."""

from django.db import migrations

FUNCTION = """
CREATE FUNCTION accounts_refuse_truncate() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'The table % can''t be emptied; rows are only added to it.', TG_TABLE_NAME
        USING ERRCODE = 'restrict_violation';
END $$;
"""


def never_emptied(*tables: str) -> migrations.RunSQL:
    """Has the database refuse TRUNCATE of these tables."""
    return migrations.RunSQL(
        "".join(
            f"CREATE TRIGGER is_never_emptied BEFORE TRUNCATE ON {table}"
            " FOR EACH STATEMENT EXECUTE FUNCTION accounts_refuse_truncate();\n"
            for table in tables
        ),
        "".join(f"DROP TRIGGER is_never_emptied ON {table};\n" for table in tables),
    )


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0006_links_of_owners'),
    ]

    operations = [
        migrations.RunSQL(FUNCTION, "DROP FUNCTION accounts_refuse_truncate()"),
        never_emptied("accounts_serverevent"),
    ]
