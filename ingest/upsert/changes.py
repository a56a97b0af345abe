"""Closing changes of issues, as the source last described them."""

from collections.abc import Iterable, Sequence

import orjson
from django.db import connection

from ingest.models import ClosingChange, Issue, Repository, issues_read_by_strangers
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
    "created_at": "timestamptz",
    "merged_at": "timestamptz",
    "additions": "int",
    "deletions": "int",
    "n_files": "int",
    "paths": "text[]",
    "path_additions": "int[]",
    "path_deletions": "int[]",
    "closes": "boolean",
}
NOTHING = {"text": "''", "text[]": "'{}'", "int[]": "'{}'"}
KNOWN = tuple(name for name in COLUMNS if name not in {"issue_id", "identifier"})


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
    return sum(change.closes for _, record in told for change in _unique(record))


def store_activity(told: Sequence[tuple[int, IssueRecord]]) -> None:
    """Keeps events, reactions and type of these issues (id and record); what is not told stays. Two statements."""
    rows = {issue_id: record.activity for issue_id, record in told if record.activity}
    if not rows:
        return
    with connection.cursor() as cursor:
        cursor.execute(
            """
            INSERT INTO ingest_activity AS known (issue_id, told)
            SELECT id, told FROM unnest(%s::bigint[], %s::jsonb[]) AS given (id, told) ORDER BY id
            ON CONFLICT (issue_id) DO UPDATE SET told = known.told || excluded.told
            WHERE known.told IS DISTINCT FROM known.told || excluded.told
            """,
            [list(rows), [orjson.dumps(each).decode() for each in rows.values()]],
        )


def store_files(repository: Repository | None, changes: Iterable[ChangeRecord]) -> None:
    """Keeps what changes touched, where they closed issues of the repository; what is not told stays.

    Nothing of a private repository where strangers read the issue. Two queries, and an update by key for each row: no
    plan of the database's makes them dear.
    """
    told = {each.identifier: each for each in changes}
    rows = list(ClosingChange.objects.filter(identifier__in=told).values_list("pk", "identifier", "issue_id"))
    ours = Issue.objects.filter(pk__in=[issue for _, _, issue in rows], repository=repository)
    known = set(ours.values_list("pk", flat=True))
    if repository is not None and repository.private:
        known -= issues_read_by_strangers(repository.pk, known)
    for pk, identifier, issue in rows:
        given = {name: getattr(told[identifier], name) for name in KNOWN if name not in {"kind", "number", "closes"}}
        given = {name: list(value) if isinstance(value, tuple) else value for name, value in given.items()}
        said = {name: value for name, value in given.items() if value not in (None, "", [])}
        if said and issue in known:
            ClosingChange.objects.filter(pk=pk).update(**said)


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
        change.created_at,
        change.merged_at,
        change.additions,
        change.deletions,
        change.n_files,
        tuple(change.paths),
        tuple(map(str, change.path_additions)),
        tuple(map(str, change.path_deletions)),
        change.closes,
    )
