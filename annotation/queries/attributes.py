"""What is known of items apart from labels, as columns: where from, since when, what was imported with them."""

from contextlib import suppress

import numpy as np
from django.core.cache import cache
from django.db import connection
from redis.exceptions import RedisError

from annotation.analysis.columns import NONE, Categories, Ints, Single
from annotation.models import AuditEvent, Study

KEPT_SECONDS = 600
MOST_VALUES = 200
"""An imported attribute with more different values is no group to count by."""
REPOSITORY, YEAR, STATE = "repository", "year", "state"
IDS = "SELECT id FROM annotation_item WHERE study_id = %s ORDER BY id"
KNOWN = """
    SELECT i.id, CASE WHEN r.id IS NULL THEN substring(i.identifier FROM '^([^#]+/[^#/]+)#[0-9]+$')
            WHEN r.host = 'github.com' THEN r.owner || '/' || r.name ELSE r.host || '/' || r.owner || '/' || r.name END,
        date_part('year', s.created_at)::int, s.state
    FROM annotation_item i LEFT JOIN ingest_issue n ON n.id = i.issue_id
    LEFT JOIN ingest_repository r ON r.id = n.repository_id LEFT JOIN ingest_snapshot s ON s.id = i.snapshot_id
    WHERE i.study_id = %s"""
IMPORTED = """
    SELECT i.id, a.key, a.value FROM annotation_item i, jsonb_each_text(i.attributes) a
    WHERE i.study_id = %s AND i.attributes <> '{}' AND length(a.value) BETWEEN 1 AND 200"""
TITLES = {REPOSITORY: "Repository", YEAR: "Year opened", STATE: "State of the issue"}


def attributes_of(study: Study) -> tuple[Ints, dict[str, Single]]:
    """The ids of a study's items in order, and columns over them: repository, year, state, imported attributes.

    Left out are those that say nothing of any item. They may be ten minutes old where no line of the audit was written
    since. Three queries over all items, or one where they were read before.
    """
    newest = AuditEvent.objects.filter(study=study).order_by("-pk").values_list("pk", flat=True).first()
    key = f"attributes:1:{study.pk}:{study.created_at.isoformat()}:{newest}"
    with suppress(RedisError):
        if (known := cache.get(key)) is not None:
            items, columns = known
            return items, columns
    found = _read(study)
    with suppress(RedisError):
        cache.set(key, found, KEPT_SECONDS)
    return found


def _read(study: Study) -> tuple[Ints, dict[str, Single]]:
    said: dict[str, dict[int, str]] = {}
    with connection.cursor() as cursor:
        cursor.execute(IDS, [study.pk])
        items = np.array([pk for (pk,) in cursor.fetchall()], dtype=np.int64)
        cursor.execute(KNOWN, [study.pk])
        for pk, repository, year, state in cursor.fetchall():
            for name, value in ((REPOSITORY, repository), (YEAR, year), (STATE, state)):
                if value:
                    said.setdefault(name, {})[pk] = str(value)
        cursor.execute(IMPORTED, [study.pk])
        for pk, name, value in cursor.fetchall():
            said.setdefault(f"attribute.{name}" if name in TITLES else name, {})[pk] = value
    columns = {name: _column(name, items, values) for name, values in sorted(said.items(), key=_order)}
    return items, {name: column for name, column in columns.items() if column is not None}


def _order(each: tuple[str, object]) -> tuple[int, str]:
    known = list(TITLES)
    return (known.index(each[0]) if each[0] in known else len(known), each[0])


def _column(name: str, items: Ints, values: dict[int, str]) -> Single | None:
    keys = sorted(set(values.values()), key=lambda key: (key.lower(), key))
    if len(keys) > MOST_VALUES:
        return None
    place = {key: code for code, key in enumerate(keys)}
    codes = np.array([place[values[pk]] if pk in values else NONE for pk in items.tolist()], dtype=np.int16)
    title = TITLES.get(name, name.removeprefix("attribute."))
    return Single(name, title, "single", Categories(tuple(keys), tuple(keys)), codes)
