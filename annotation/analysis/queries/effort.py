"""Effort: numbers of issues, such as changed lines, as columns."""

from __future__ import annotations

import numpy as np

from annotation.core.binary_copy import read_binary
from annotation.labels.columns import Columns, NumberColumn
from annotation.models import Study

# Of what closed an issue the merged pull requests count, or, where there is none, the commits.
_CHANGE = """
    LEFT JOIN LATERAL (
        SELECT sum({value}) AS n, bool_and({value} IS NOT NULL) AS is_known
        FROM ingest_closingchange c WHERE c.issue_id = i.issue_id AND c.merged_at IS NOT NULL AND c.kind = (
            SELECT max(o.kind) FROM ingest_closingchange o WHERE o.issue_id = i.issue_id AND o.merged_at IS NOT NULL)
    ) change ON true"""
_SNAPSHOT = "JOIN ingest_snapshot s ON s.id = i.snapshot_id"
_PEOPLE = f"""{_SNAPSHOT} AND s.comments_known
    JOIN LATERAL (
        SELECT count(DISTINCT coalesce(who.id::text, 'login ' || who.login)) AS n FROM (
            SELECT s.author_id AS id, s.author_login AS login
            UNION ALL SELECT c.author_id, c.author_login FROM ingest_snapshotcomment t
            JOIN ingest_comment c ON c.id = t.comment_id WHERE t.snapshot_id = s.id
        ) who WHERE who.id IS NOT NULL OR who.login <> ''
    ) people ON true"""
MEASURES = {
    "days_open": ("Days open", "days", "extract(epoch FROM s.closed_at - s.created_at) / 86400", _SNAPSHOT),
    "comments": ("Comments", "comments", "s.n_comments", _SNAPSHOT),
    "participants": ("Participants", "people", "people.n", _PEOPLE),
    "lines": (
        "Changed lines",
        "lines",
        "CASE WHEN change.is_known THEN change.n END",
        _CHANGE.format(value="(c.additions::bigint + c.deletions)"),
    ),
    "files": (
        "Changed files",
        "files",
        "CASE WHEN change.is_known THEN change.n END",
        _CHANGE.format(value="c.n_files"),
    ),
    "n_fixes": (
        "Fixes",
        "fixes",
        "CASE WHEN issue.changes_known OR change.n > 0 THEN coalesce(change.n, 0) END",
        "JOIN ingest_issue issue ON issue.id = i.issue_id" + _CHANGE.format(value="1"),
    ),
    "days_to_fix": (
        "Days to fix",
        "days",
        "extract(epoch FROM fixed.at - s.created_at) / 86400",
        f"""{_SNAPSHOT} JOIN LATERAL (
        SELECT min(c.merged_at) AS at FROM ingest_closingchange c WHERE c.issue_id = i.issue_id AND c.kind = (
            SELECT max(o.kind) FROM ingest_closingchange o WHERE o.issue_id = i.issue_id AND o.merged_at IS NOT NULL)
    ) fixed ON true""",
    ),
}
"""By key: title, unit, and where it is read from.

Days from opening to closing, comments and participants (author and commenters, of deleted accounts none) are of the
state that raters read; lines are added and deleted ones, of all fixes together. Days to fix go from opening to the
first merge. Fixes are counted where a source has told what closed the issue.
"""
_ROWS = "SELECT i.id::bigint, coalesce(({value})::float8, 'NaN') FROM annotation_item i {joined} WHERE i.study_id = %s"


def effort(study: Study, measure: str, columns: Columns) -> NumberColumn:
    """A measure of each row's item, NaN where it is not known. One query. Raises KeyError for an unknown measure."""
    title, unit, value, joined = MEASURES[measure]
    found = read_binary(_ROWS.format(value=value, joined=joined), [study.pk], item="bigint", value="float8")
    found = found[np.argsort(found["item"])]
    values = np.full(columns.n_rows, np.nan)
    if len(found):
        place = np.searchsorted(found["item"], columns.items).clip(max=len(found) - 1)
        values = np.where(found["item"][place] == columns.items, found["value"][place], np.nan)
    return NumberColumn(measure, title, values, unit)
