"""Short ways to look at what a fetch left behind."""

from typing import Any

from django.db import connection

from ingest import runs, totals
from ingest.models import FetchRun, Issue, Repository
from ingest.search import indexing


def counts(run: FetchRun) -> tuple[int, int, int, int, int]:
    """Seen, new, changed, unchanged, refused."""
    return run.n_seen, run.n_new, run.n_changed, run.n_unchanged, run.n_refused


def stored() -> dict[str, Any]:
    """All that is stored of issues, without keys and times of storing: equal for equal fetches."""
    found = {}
    for issue in Issue.objects.select_related("repository", "current_snapshot"):
        snapshot = issue.current_snapshot
        thread = [comment.body for comment in snapshot.thread()] if snapshot.comments_known else None
        found[issue.identifier] = (snapshot.sha256, snapshot.title, snapshot.state, thread, issue.snapshots.count())
    return found


def repository_names() -> list[str]:
    return sorted(row.full_name for row in Repository.objects.all())


_REPOSITORY = "(SELECT lower(owner || '/' || name) FROM ingest_repository WHERE id = {}.repository_id)"
_ISSUE = f"{_REPOSITORY.format('issue')}, issue.number"
_TABLES = {
    "repositories": """
        SELECT lower(host), lower(owner), lower(name), private, github_id, complete_until IS NULL, n_issues, n_open,
               n_comments, n_closing_changes, github_labels::text
        FROM ingest_repository ORDER BY 1, 2, 3""",
    "issues": f"""
        SELECT {_ISSUE}, presence, moved_to, issue.locked, issue.updated_at, changes_known, checked_at IS NULL, sha256,
               page_url, author_association
        FROM ingest_issue AS issue LEFT JOIN ingest_snapshot AS current ON current.id = current_snapshot_id
        ORDER BY 1, 2""",
    "snapshots": f"""
        SELECT {_ISSUE}, sha256, title, body, state, state_reason, github_labels, author_login, author_id,
               snapshot.locked, created_at, snapshot.updated_at, closed_at, html_url, n_comments, comments_known
        FROM ingest_snapshot AS snapshot JOIN ingest_issue AS issue ON issue.id = issue_id
        ORDER BY 1, 2, snapshot.id""",
    "threads": f"""
        SELECT {_ISSUE}, snapshot.sha256, position, comment.sha256
        FROM ingest_snapshotcomment JOIN ingest_snapshot AS snapshot ON snapshot.id = snapshot_id
        JOIN ingest_issue AS issue ON issue.id = issue_id JOIN ingest_comment AS comment ON comment.id = comment_id
        ORDER BY 1, 2, snapshot.id, 4""",
    "comments": """
        SELECT sha256, github_id, author_login, author_id, body, created_at FROM ingest_comment ORDER BY 1""",
    "closing changes": f"""
        SELECT {_ISSUE}, kind, identifier, change.number, title, html_url, author_login, merged_at, additions,
               deletions, n_files, paths, path_additions, path_deletions, change.created_at, closes
        FROM ingest_closingchange AS change JOIN ingest_issue AS issue ON issue.id = issue_id ORDER BY 1, 2, 4""",
    "activity": f"""
        SELECT {_ISSUE}, told::text FROM ingest_activity JOIN ingest_issue AS issue ON issue.id = issue_id
        ORDER BY 1, 2""",
    "words": f"""
        SELECT {_ISSUE}, lexemes::text, title, body, comments
        FROM ingest_searchtext JOIN ingest_issue AS issue ON issue.id = issue_id
        ORDER BY 1, 2""",
    "refusals": "SELECT line, reason, row FROM ingest_refusal ORDER BY 1, 2, 3",
    "questions": f"""
        SELECT {_REPOSITORY.format("kept")}, question, etag FROM ingest_validator AS kept ORDER BY 1, 2""",
    "staged": "SELECT run_id, number FROM ingest_stagedcomment",
    "unsearchable": "SELECT issue_id FROM ingest_unsearchable",
    "unread messages": "SELECT guid FROM ingest_delivery WHERE payload IS NOT NULL",
}


def everything() -> dict[str, list[Any]]:
    """All rows of ingest, counted and searchable, but for keys and times of storing."""
    totals.count()
    indexing.index()
    with connection.cursor() as cursor:
        return rows_of(cursor, *_TABLES)


def rows_of(cursor: Any, *tables: str) -> dict[str, list[Any]]:
    """Rows of these tables, but for keys and times of storing, of whatever database the cursor is at."""
    found = {}
    for name in tables:
        cursor.execute(_TABLES[name])
        found[name] = cursor.fetchall()
    return found


def all_counts(run: FetchRun) -> dict[str, int]:
    """What a run counted, but for its requests."""
    return {name: getattr(run, name) for name in runs.COUNTS if name not in runs.SPENT}


def empty_tables() -> None:
    """An empty database, whose keys begin at one."""
    with connection.cursor() as cursor:
        cursor.execute("SET session_replication_role = replica")  # what is only added to is never emptied
        cursor.execute("TRUNCATE ingest_repository, ingest_fetchrun, ingest_comment RESTART IDENTITY CASCADE")
        cursor.execute("SET session_replication_role = origin")
