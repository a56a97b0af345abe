"""A study in which every text is hostile, whatever rule kept it out today: stored before, or put there by hand."""

from typing import Any

from django.apps import apps
from django.contrib.postgres.fields import ArrayField
from django.db import connection, models

from taxonomy.queries import forget_trees
from tests.annotation import permission_study
from tests.hostile.corpus import PLACES

MARK = "zq7"
"""Stands after every text, whichever of the corpus it is, so that a page that shows one can be told."""

APPS = ("accounts", "annotation", "ingest", "taxonomy")
KEPT = {
    "slug", "key", "code", "host", "owner", "target", "sha256", "digest", "request_digest", "answers_digest", "prefix",
    "pseudonym_key", "idempotency_key", "identifier", "category_key", "dimension_key", "stratify_by", "roles", "stated",
    "was", "also", "frame", "verb", "what", "format", "kind", "username", "password", "elsewhere", "session_key",
    "session_data", "address", "guid", "event", "action", "etag", "question", "state", "state_reason", "shortcut",
    "email", "step", "html_url", "moved_to",
}  # fmt: skip
"""Columns that hold keys, digests, words of our own or what only GitHub's identifiers can be: their form is checked
where they come in."""
KEPT_OF = {("repository", "name"), ("upload", "requested")}


def make_hostile_study() -> int:
    """The permission study with a hostile text in every column of texts; how many columns were changed."""
    permission_study.make_permission_study()
    n_columns = 0
    with connection.cursor() as cursor:
        cursor.execute("SET session_replication_role = replica")  # past the triggers that keep what was said
        for model in apps.get_models():
            if model._meta.app_label in APPS:
                for field in model._meta.concrete_fields:
                    if (model._meta.model_name, field.name) not in KEPT_OF and field.name not in KEPT:
                        n_columns += _poison(cursor, model, field)
        cursor.execute("SET session_replication_role = DEFAULT")
    forget_trees()
    return n_columns


def _poison(cursor: Any, model: type[models.Model], field: Any) -> int:
    """Puts a text of the corpus, another in each row, into a column that holds texts of people.

    Which one follows from the order of the rows and not from their ids, which go on from test to test.
    """
    is_list = isinstance(field, ArrayField) and isinstance(field.base_field, (models.CharField, models.TextField))
    if not is_list and (not isinstance(field, (models.CharField, models.TextField)) or field.choices):
        return 0
    most = (field.base_field if is_list else field).max_length or 10_000
    texts = [text.replace("\0", "") for text in PLACES if len(text) <= most - 12]
    if not texts:
        return 0
    pk = model._meta.pk.column  # type: ignore[union-attr]
    table = f'"{model._meta.db_table}"'
    text = f"(%s::text[])[1 + (place + {len(field.name)}) %% {len(texts)}] || ' {MARK}' || {pk}"
    value = f"ARRAY[{text}]" if is_list else text
    where = f"cardinality({field.column}) > 0" if is_list else f"{field.column} <> ''"
    places = f"(SELECT {pk} AS of_row, row_number() OVER (ORDER BY {pk}) AS place FROM {table}) AS placed"
    cursor.execute(
        f"UPDATE {table} SET {field.column} = {value} FROM {places} WHERE of_row = {pk} AND {where}", [texts]
    )
    return 1
