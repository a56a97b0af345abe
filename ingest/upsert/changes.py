"""What closed issues, as a source last told."""

from collections.abc import Sequence

from django.db import connection

from ingest.records import ChangeRecord, IssueRecord
from ingest.upsert.copying import stage

COLUMNS = {
    "issue_id": "bigint",
    "kind": "text",
    "identifier": "text",
    "number": "int",
    "title": "text",
    "html_url": "text",
    "author_login": "text",
    "merged_at": "timestamptz",
    "additions": "int",
    "deletions": "int",
    "n_files": "int",
    "paths": "text[]",
}
NOTHING = {"text": "''", "text[]": "'{}'"}
KNOWN = (
    "kind",
    "number",
    "title",
    "html_url",
    "author_login",
    "merged_at",
    "additions",
    "deletions",
    "n_files",
    "paths",
)


def store_changes(told: Sequence[tuple[int, IssueRecord]]) -> int:
    """Keeps what closed these issues (id and record) and drops what is no longer told; how many were told.

    What a source leaves open of a change that is known already (its size, its paths) stays. Five statements.
    """
    rows = [_row(issue_id, change) for issue_id, record in told for change in _unique(record)]
    stage("staged_changes", COLUMNS, rows)
    names = ", ".join(COLUMNS)
    kept = {
        name: f"COALESCE(NULLIF(excluded.{name}, {NOTHING.get(COLUMNS[name], 'NULL')}), known.{name})" for name in KNOWN
    }
    with connection.cursor() as cursor:
        cursor.execute(
            f"""
            INSERT INTO ingest_closingchange AS known ({names}) SELECT {names} FROM staged_changes
            ORDER BY issue_id, identifier
            ON CONFLICT (issue_id, identifier) DO UPDATE SET {", ".join(f"{name} = {kept[name]}" for name in KNOWN)}
            WHERE ({", ".join(f"known.{name}" for name in KNOWN)}) IS DISTINCT FROM ({", ".join(kept.values())})
            """  # noqa: S608
        )
        ids = [issue_id for issue_id, _ in told]
        cursor.execute(
            """
            DELETE FROM ingest_closingchange AS known WHERE issue_id = ANY(%s) AND NOT EXISTS (
                SELECT FROM staged_changes AS told
                WHERE told.issue_id = known.issue_id AND told.identifier = known.identifier)
            """,
            [ids],
        )
        cursor.execute("UPDATE ingest_issue SET changes_known = true WHERE id = ANY(%s) AND NOT changes_known", [ids])
    return len(rows)


def _unique(record: IssueRecord) -> list[ChangeRecord]:
    return list({change.identifier: change for change in record.closing_changes or ()}.values())


def _row(issue_id: int, change: ChangeRecord) -> tuple[object, ...]:
    return (
        issue_id,
        change.kind,
        change.identifier[:500],
        change.number,
        change.title,
        change.html_url[:600],
        change.author_login[:255],
        change.merged_at,
        change.additions,
        change.deletions,
        change.n_files,
        tuple(change.paths),
    )
