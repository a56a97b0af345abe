"""A rating is checked by the column that the kind of its dimension declares, whatever the kind is called."""

from importlib import import_module

from django.db import migrations

BEFORE: str = import_module("annotation.migrations.0002_rules").RATINGS_FIT
FUNCTION = BEFORE[: BEFORE.index("CREATE TRIGGER")].replace("CREATE FUNCTION", "CREATE OR REPLACE FUNCTION")

BY_NAME = """CASE d.kind
            WHEN 'boolean' THEN n.boolean IS NULL
            WHEN 'number' THEN n.number IS NULL
            WHEN 'text' THEN n.text IS NULL
            WHEN 'multi' THEN num_nonnulls(n.boolean, n.number, n.text) > 0
            ELSE n.category_id IS NULL
        END"""
BY_COLUMN = """CASE d.value_column
            WHEN 'boolean' THEN n.boolean IS NULL
            WHEN 'number' THEN n.number IS NULL
            WHEN 'text' THEN n.text IS NULL
            ELSE CASE WHEN d.is_set THEN num_nonnulls(n.boolean, n.number, n.text) > 0 ELSE n.category_id IS NULL END
        END"""


def by_column() -> str:
    changed = FUNCTION
    for before, after in ((BY_NAME, BY_COLUMN), ("n.dimension_id, d.kind", "n.dimension_id, d.is_set"),
                          ("d.kind <> 'multi'", "NOT d.is_set")):
        if before not in changed:
            raise ValueError(f"The check of ratings is not the one that this migration changes: {before}")
        changed = changed.replace(before, after)
    return changed


class Migration(migrations.Migration):
    dependencies = [("annotation", "0041_jobs_have_one_base"), ("taxonomy", "0004_columns_of_kinds")]

    operations = [migrations.RunSQL(by_column(), FUNCTION)]
