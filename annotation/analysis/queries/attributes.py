"""Attributes of items as columns: repository, dates, and imported values."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from django.db import connection

from annotation.assignments.queries import READ
from annotation.core.binary_copy import read_binary
from annotation.labels.columns import NONE, Categories, Ints, SingleColumn
from annotation.labels.queries.batches.chunks import copy_rows
from annotation.models import AuditEvent, Study
from ingest.filters.fixes import NO_FIX, NOT_KNOWN, stratum_name
from shared import cached_values

KEPT_SECONDS = 600
OF_LABELS = (
    AuditEvent.DOWNLOADED,
    READ,
    "resolved",
    "reopened",
    "decided by rule",
    "third raters asked by rule",
    "bugs matched",
    "export asked for",
    "saved an analysis",
)
"""Verbs of log entries about labels and files, which change no attribute of an item."""
MOST_VALUES = 200
"""An imported attribute with more different values is no group to count by."""
REPOSITORY, YEAR, STATE = "repository", "year", "state"
IDS = "SELECT id::bigint FROM annotation_item WHERE study_id = %s ORDER BY id"
KNOWN = """
    SELECT i.id, CASE WHEN r.id IS NULL THEN substring(i.identifier FROM '^([^#]+/[^#/]+)#[0-9]+$')
            WHEN r.host = 'github.com' THEN r.owner || '/' || r.name ELSE r.host || '/' || r.owner || '/' || r.name END,
        date_part('year', s.created_at)::int, s.state
    FROM annotation_item i LEFT JOIN ingest_issue n ON n.id = i.issue_id
    LEFT JOIN ingest_repository r ON r.id = n.repository_id LEFT JOIN ingest_snapshot s ON s.id = i.snapshot_id
    WHERE i.study_id = %s"""
FIXES = """
    SELECT i.id, (f.fixes IS NOT NULL)::int::float8, f.fixes::float8, f.lines::float8, f.files::float8,
        (extract(epoch FROM f.at - s.created_at) / 86400)::float8
    FROM annotation_item i JOIN ingest_issue n ON n.id = i.issue_id
    LEFT JOIN ingest_snapshot s ON s.id = i.snapshot_id
    LEFT JOIN LATERAL (
        SELECT count(*) AS fixes, min(c.merged_at) AS at,
            CASE WHEN bool_and(c.additions::bigint + c.deletions IS NOT NULL)
                THEN sum(c.additions::bigint + c.deletions) END AS lines,
            CASE WHEN bool_and(c.n_files IS NOT NULL) THEN sum(c.n_files) END AS files
        FROM ingest_closingchange c WHERE c.issue_id = n.id AND c.merged_at IS NOT NULL AND c.closes
        GROUP BY c.kind ORDER BY c.kind DESC LIMIT 1
    ) AS f ON true
    WHERE i.study_id = %s AND (n.changes_known OR EXISTS (
        SELECT FROM ingest_closingchange c
        WHERE c.issue_id = n.id AND c.merged_at IS NOT NULL AND c.closes OFFSET 0))"""
"""Of items whose fixes are known: the merged pull requests count, else the commits.

Both are looked up by the issue: where the planner expects few items it would count all changes again for each.
"""
VALUES = """
    SELECT i.id, a.key, a.value FROM annotation_item i, jsonb_each_text(i.attributes) a
    WHERE i.study_id = %s AND i.attributes <> '{}' AND length(a.value) BETWEEN 1 AND 200"""
NAMES = """
    SELECT DISTINCT a.key COLLATE "C" FROM annotation_item i, jsonb_object_keys(i.attributes) a(key)
    WHERE i.study_id = %s AND i.attributes <> '{}' ORDER BY 1"""
IMPORTED = "attribute."
"""Stands before the name of an imported attribute that something else has, too."""
BY_FIX = {
    "merged_fix": "Merged fix",
    "fixes": "Number of fixes",
    "fix_lines": "Lines changed by fixes",
    "fix_files": "Files changed by fixes",
    "days_to_fix": "Time to fix",
}
TITLES = {REPOSITORY: "Repository", YEAR: "Year opened", STATE: "State of the issue", **BY_FIX}


def attributes_of(study: Study) -> tuple[Ints, dict[str, SingleColumn]]:
    """The ids of a study's items in order, and columns over them: repository, year, state, fixes, imported attributes.

    Those without a value for any item are excluded. They may be ten minutes old where nothing but labels was logged
    since. Four queries over all items, or one where they were read before.
    """
    changes = AuditEvent.objects.filter(study=study).exclude(verb__in=OF_LABELS)
    newest = changes.order_by("-pk").values_list("pk", flat=True).first()
    key = f"attributes:2:{study.pk}:{study.created_at.isoformat()}:{newest}"
    if (known := cached_values.find(key, (SingleColumn, Categories))) is not None:
        items, columns = known
        return items, columns
    found = _read(study)
    cached_values.keep(key, found, KEPT_SECONDS, (SingleColumn, Categories))
    return found


def attribute_names(study: Study) -> list[str]:
    """The names of what was imported with a study's items, in the order of the alphabet; one query over all items."""
    with connection.cursor() as cursor:
        cursor.execute(NAMES, [study.pk])
        return [name for (name,) in cursor.fetchall()]


def _read(study: Study) -> tuple[Ints, dict[str, SingleColumn]]:
    items = read_binary(IDS, [study.pk], id="bigint")["id"]
    known = copy_rows(
        KNOWN, [study.pk], {"id": pa.int64(), REPOSITORY: pa.string(), YEAR: pa.string(), STATE: pa.string()}
    )
    said = {name: (known["id"], known[name]) for name in (REPOSITORY, YEAR, STATE)}
    orders: dict[str, list[str]] = {}
    fixes = copy_rows(FIXES, [study.pk], {"id": pa.int64(), **dict.fromkeys(BY_FIX, pa.float64())})
    for name in BY_FIX:
        words, orders[name] = _in_bands(name, fixes)
        said[name] = (fixes["id"], words)
    imported = copy_rows(VALUES, [study.pk], {"id": pa.int64(), "name": pa.string(), "value": pa.string()})
    for name in sorted(pc.unique(imported["name"]).to_pylist()):
        mine = imported.filter(pc.equal(imported["name"], name))
        said[f"{IMPORTED}{name}" if name in TITLES.keys() - BY_FIX.keys() else name] = (mine["id"], mine["value"])
        orders.pop(name, None)  # what was imported under a name has it
    columns = {name: _column(name, items, *said[name], orders.get(name)) for name in sorted(said, key=_order)}
    return items, {name: column for name, column in columns.items() if column is not None}


def _in_bands(name: str, fixes: pa.Table) -> tuple[pa.ChunkedArray, list[str]]:
    """The bands of strata by fix that items are in (none: not known), and the bands in their order."""
    has_fix, values = fixes["merged_fix"].to_pylist(), fixes[name].to_pylist()
    words = [
        stratum_name(name, value, has_fix=bool(has), is_known=True) for has, value in zip(has_fix, values, strict=True)
    ]
    lowest: dict[str, float] = {}
    for word, value in zip(words, values, strict=True):
        at = float("inf") if word == NO_FIX or value is None else float(value)
        lowest[word] = min(at, lowest.get(word, at))
    known = [None if word == NOT_KNOWN else word for word in words]
    return pa.chunked_array([pa.array(known, pa.string())]), sorted(lowest, key=lambda word: lowest[word])


def _order(name: str) -> tuple[int, str]:
    known = list(TITLES)
    return (known.index(name) if name in known else len(known), name)


def _column(
    name: str, items: Ints, of: pa.ChunkedArray, values: pa.ChunkedArray, order: list[str] | None = None
) -> SingleColumn | None:
    """What is said of some of the items, None where it is nothing, or too many different things.

    In the order of the alphabet, unless another one is given.
    """
    encoded = pc.dictionary_encode(values).combine_chunks()
    words = encoded.dictionary.to_pylist()
    if not 0 < len(words) <= MOST_VALUES:
        return None
    keys = sorted(words, key=order.index if order else lambda key: (key.lower(), key))
    code = np.array([*(keys.index(word) for word in words), NONE], dtype=np.int16)
    codes = np.full(len(items), NONE, dtype=np.int16)
    codes[np.searchsorted(items, of.to_numpy())] = code[encoded.indices.fill_null(len(words)).to_numpy()]
    title = name.removeprefix(IMPORTED) if order is None and name in BY_FIX else TITLES.get(name, name)
    title = title.removeprefix(IMPORTED)
    return SingleColumn(name, title, "single", Categories(tuple(keys), tuple(keys)), codes)
