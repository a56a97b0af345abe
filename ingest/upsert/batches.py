"""One batch of records: which issues are new, which changed, which only need a touch.

Ids of new issues and snapshots are taken from their sequences beforehand, so that contents go by COPY straight to
their place and an issue is written once. Unchanged issues are neither locked nor written.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from django.db import connection

from accounts.allowances import may_use_tokens
from ingest.models import FetchRun
from ingest.records import IssueRecord, completed
from ingest.upsert.changes import store_changes
from ingest.upsert.contents import Pending, store_contents
from ingest.upsert.copying import stage
from ingest.upsert.known import records_of_snapshots
from ingest.upsert.repositories import repositories_of, split_allowed
from ingest.upsert.spellings import store_spellings

Place = tuple[int, int]
TOLD = {
    "repository_id": "bigint",
    "number": "int",
    "sha256": "text",
    "updated_at": "timestamptz",
    "locked": "boolean",
    "changes_told": "boolean",
}
# An issue that was gone is here again when GitHub lists it; when a message says so that is younger than what was found
# (messages come in any order); and never because of a file.
BACK_AFTER = {
    FetchRun.Kind.GITHUB: "'-infinity'",
    FetchRun.Kind.WEBHOOK: "COALESCE(checked_at, '-infinity')",
    FetchRun.Kind.FILE: "'infinity'",
}

KEPT_AS_FETCHED = (
    "{} is stored from a repository that was fetched from GitHub, and files of those who may not fetch with this "
    "server's tokens change no issue of it. Ask someone named in FETCHERS, or upload the file under another repository "
    "name."
)


@dataclass(slots=True)
class Stored:
    """What became of a batch; `refused` pairs a record with the reason, `repositories` are those written to."""

    n_new: int = 0
    n_changed: int = 0
    n_unchanged: int = 0
    n_closing_changes: int = 0
    refused: list[tuple[IssueRecord, str]] = field(default_factory=list)
    repositories: set[int] = field(default_factory=set)


@dataclass(slots=True)
class _Row:
    pk: int
    snapshot_id: int | None
    sha256: str | None
    updated_at: datetime | None
    is_fetched: bool
    is_of_file: bool


@dataclass(slots=True)
class _Touch:
    """What to write to a stored issue; None leaves a column as it is."""

    issue_id: int
    snapshot_id: int | None
    record: IssueRecord


def store(run: FetchRun, records: Sequence[IssueRecord]) -> Stored:
    """Stores the records of one batch for a run; call inside a transaction.

    About eight statements where all issues are new, four where all are unchanged, twenty at most.
    """
    stored = Stored()
    repositories = repositories_of(run, records)
    records, stored.refused = split_allowed(run, records, repositories)
    if not records:
        return stored
    told: dict[Place, IssueRecord] = {(repositories[r.repository].pk, r.number): r for r in records}
    stored.repositories = {repository_id for repository_id, _ in told}
    hashes = {place: record.sha256 for place, record in told.items()}
    stage(
        "told_issues",
        TOLD,
        ((*p, hashes[p], r.updated_at, r.locked, r.closing_changes is not None) for p, r in told.items()),
    )
    pending = [Pending(row[2], told[row[:2]], hashes[row[:2]], row[3]) for row in _made_issues()]
    issues = _open_issues(run, [part.issue_id for part in pending]) if len(pending) < len(told) else {}
    with_changes = [(part.issue_id, part.record) for part in pending]
    stored.n_new = len(pending)
    stored.n_unchanged = len(told) - len(pending) - len(issues)
    touches: list[_Touch] = []
    known = records_of_snapshots(row.snapshot_id for place, row in issues.items() if row.sha256 != hashes[place])
    changed: list[Pending] = []
    adds_alone = run.kind == FetchRun.Kind.FILE and not (run.is_unrestricted or may_use_tokens(run.created_by))
    for place, row in issues.items():
        record, sha256 = told[place], hashes[place]
        if row.snapshot_id is not None and sha256 != row.sha256:
            record = completed(record, known[row.snapshot_id])
            sha256 = record.sha256
        older = bool(record.updated_at and row.updated_at and record.updated_at < row.updated_at)
        # What a file says of its time does not hold back what GitHub itself says now.
        older = older and not (row.is_of_file and run.kind == FetchRun.Kind.GITHUB)
        if adds_alone and row.is_fetched:
            if older or sha256 == row.sha256:
                stored.n_unchanged += 1
            else:
                stored.refused.append((told[place], KEPT_AS_FETCHED.format(told[place].identifier)))
            continue
        if not older:
            with_changes.append((row.pk, record))
        if row.snapshot_id is not None and (older or sha256 == row.sha256):
            stored.n_unchanged += 1
            if not older:
                touches.append(_Touch(row.pk, None, told[place]))
            continue
        stored.n_new += row.snapshot_id is None
        stored.n_changed += row.snapshot_id is not None
        changed.append(Pending(row.pk, record, sha256))
    store_contents(run, pending + changed)
    _touch(run, touches + [_Touch(part.issue_id, part.snapshot_id, part.record) for part in changed])
    _wait_for_search([part.issue_id for part in pending + changed], [part.issue_id for part in changed])
    stored_records = [part.record for part in pending + changed]
    store_spellings(
        {label for record in stored_records for label in record.github_labels or ()},
        {record.author_login or "" for record in stored_records},
    )
    if said := [(issue_id, record) for issue_id, record in with_changes if record.closing_changes is not None]:
        stored.n_closing_changes = store_changes(said)
    return stored


def _made_issues() -> list[tuple[int, int, int, int]]:
    """Makes the issues that are not there: (repository, number, id, id kept free for the snapshot) of each.

    In one order, so that two runs never wait for each other; an issue that another run makes just now is not among
    them, and is there afterwards.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            """
            INSERT INTO ingest_issue (repository_id, number, current_snapshot_id, updated_at, locked, added_at)
            SELECT repository_id, number, nextval(pg_get_serial_sequence('ingest_snapshot', 'id')), updated_at, locked,
                   now()
            FROM told_issues AS told WHERE NOT EXISTS (
                SELECT FROM ingest_issue AS issue
                WHERE issue.repository_id = told.repository_id AND issue.number = told.number)
            ORDER BY repository_id, number
            ON CONFLICT DO NOTHING RETURNING repository_id, number, id, current_snapshot_id
            """
        )
        return cursor.fetchall()


def _open_issues(run: FetchRun, made: Sequence[int]) -> dict[Place, _Row]:
    """Of the issues there before, those that differ from what is told in anything; locked in one order."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT issue.id
            FROM told_issues AS told JOIN ingest_issue AS issue USING (repository_id, number)
            LEFT JOIN ingest_snapshot AS snapshot ON snapshot.id = issue.current_snapshot_id
            WHERE NOT issue.id = ANY(%s) AND (
                snapshot.sha256 IS DISTINCT FROM told.sha256
                OR told.updated_at > COALESCE(issue.updated_at, '-infinity')
                OR told.locked IS DISTINCT FROM issue.locked AND told.locked IS NOT NULL
                OR told.changes_told
                OR %s AND issue.presence <> 'here')
            """,
            [list(made), run.kind != FetchRun.Kind.FILE],
        )
        ids = [issue_id for (issue_id,) in cursor.fetchall()]
        if not ids:
            return {}
        cursor.execute(
            "SELECT FROM ingest_issue WHERE id = ANY(%s) ORDER BY repository_id, number FOR UPDATE; "
            # A statement of its own: only what begins after the locks sees what their last holder wrote.
            "SELECT issue.repository_id, issue.number, issue.id, issue.current_snapshot_id, snapshot.sha256, "
            "issue.updated_at, repository.github_id IS NOT NULL, COALESCE(run.kind = 'file', false) "
            "FROM ingest_issue AS issue JOIN ingest_repository AS repository ON repository.id = issue.repository_id "
            "LEFT JOIN ingest_snapshot AS snapshot ON snapshot.id = issue.current_snapshot_id "
            "LEFT JOIN ingest_fetchrun AS run ON run.id = snapshot.run_id WHERE issue.id = ANY(%s)",
            [ids, ids],
        )
        return {row[:2]: _Row(*row[2:]) for row in cursor.fetchall()}


def _touch(run: FetchRun, touches: Sequence[_Touch]) -> None:
    """Points issues at their current snapshots; what a source does not say stays.

    An issue that became a discussion is listed still, closed and locked: it is one until it is unlocked.
    """
    if not touches:
        return
    is_back = (
        f"given.updated > {BACK_AFTER[FetchRun.Kind(run.kind)]} "
        "AND NOT (presence = 'discussion' AND COALESCE(given.locked, issue.locked, true))"
    )
    rows = [(each.issue_id, each.snapshot_id, each.record.updated_at, each.record.locked) for each in touches]
    with connection.cursor() as cursor:
        cursor.execute(
            f"""
            UPDATE ingest_issue AS issue
            SET current_snapshot_id = COALESCE(given.snapshot, current_snapshot_id),
                updated_at = COALESCE(given.updated, updated_at), locked = COALESCE(given.locked, issue.locked),
                presence = CASE WHEN {is_back} THEN 'here' ELSE presence END,
                moved_to = CASE WHEN {is_back} THEN '' ELSE moved_to END
            FROM unnest(%s::bigint[], %s::bigint[], %s::timestamptz[], %s::boolean[])
                AS given (id, snapshot, updated, locked)
            WHERE issue.id = given.id
            """,  # noqa: S608
            [list(column) for column in zip(*rows, strict=True)],
        )


def _wait_for_search(issue_ids: Sequence[int], changed: Sequence[int]) -> None:
    """Puts issues into the queue of the indexer, which may be at work on their last state right now.

    Those that changed leave the index, so that nothing is found by words it no longer has.
    """
    if not issue_ids:
        return
    with connection.cursor() as cursor:
        cursor.execute(
            """
            INSERT INTO ingest_unsearchable (issue_id) SELECT id FROM unnest(%s::bigint[]) AS given (id) ORDER BY id
            ON CONFLICT (issue_id) DO UPDATE SET issue_id = excluded.issue_id
            """,
            [list(issue_ids)],
        )
        if changed:
            cursor.execute("DELETE FROM ingest_searchtext WHERE issue_id = ANY(%s)", [list(changed)])
