"""Stores a batch of issues: few statements whatever its size, one snapshot per content, the same twice without harm."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from django.db import connection
from django.db.models import Q

from ingest.identifiers import full_name
from ingest.models import Comment, FetchRun, Issue, Repository, Snapshot, SnapshotComment
from ingest.records import CommentRecord, IssueRecord, completed

Key = tuple[str, str, str]


@dataclass(slots=True)
class Stored:
    """What became of a batch; `refused` pairs a record with the reason, `repositories` are those written to."""

    n_new: int = 0
    n_changed: int = 0
    n_unchanged: int = 0
    refused: list[tuple[IssueRecord, str]] = field(default_factory=list)
    repositories: set[int] = field(default_factory=set)


@dataclass(slots=True)
class _Row:
    pk: int
    snapshot_id: int | None
    sha256: str | None
    updated_at: datetime | None


def store(run: FetchRun, records: Sequence[IssueRecord]) -> Stored:
    """Stores the records of one batch for a run; call inside a transaction. About ten statements."""
    stored = Stored()
    repositories = _repositories(run, records)
    records = _unique(_allowed(run, records, repositories, stored))
    if not records:
        return stored
    keys = [(repositories[record.repository].pk, record.number) for record in records]
    stored.repositories = {repository_id for repository_id, _ in keys}
    rows = _locked_issues(keys)
    pending: list[tuple[_Row, IssueRecord, str]] = []
    known = _known(
        [rows[key].snapshot_id for key, r in zip(keys, records, strict=True) if rows[key].sha256 != r.sha256]
    )
    touched: list[tuple[int, int | None, datetime | None]] = []
    for key, record in zip(keys, records, strict=True):
        row = rows[key]
        sha256 = record.sha256
        if row.snapshot_id is None:
            pending.append((row, record, sha256))
            stored.n_new += 1
            continue
        if sha256 != row.sha256:
            record = completed(record, known[row.snapshot_id])
            sha256 = record.sha256
        older = bool(record.updated_at and row.updated_at and record.updated_at < row.updated_at)
        if sha256 == row.sha256 or older:
            stored.n_unchanged += 1
            if record.updated_at and not older and record.updated_at != row.updated_at:
                touched.append((row.pk, row.snapshot_id, record.updated_at))
            continue
        pending.append((row, record, sha256))
        stored.n_changed += 1
    _point(touched + _snapshots(run, pending))
    return stored


def known_records(issue_ids: Iterable[int]) -> dict[int, IssueRecord]:
    """The current state of stored issues as records, by the issue's id; two queries."""
    snapshots = dict(
        Issue.objects.filter(pk__in=list(issue_ids), current_snapshot__isnull=False).values_list(
            "current_snapshot_id", "pk"
        )
    )
    return {snapshots[snapshot_id]: record for snapshot_id, record in _known(snapshots).items()}


def repository_named(run: FetchRun, key: Key, *, private: bool) -> Repository:
    """The repository of that name, made if need be."""
    host, owner, name = key
    Repository.objects.bulk_create(
        [Repository(host=host, owner=owner, name=name, private=private, added_by=run.created_by)], ignore_conflicts=True
    )
    return Repository.objects.named(host, owner, name).get()


def _repositories(run: FetchRun, records: Sequence[IssueRecord]) -> dict[Key, Repository]:
    """By name in lower case; those not stored yet are made, and are open to who brought them."""
    wanted = {record.repository: record for record in records}
    found = _find(wanted)
    if missing := [record for key, record in sorted(wanted.items()) if key not in found]:
        private = bool(run.requested.get("private"))
        made = [
            Repository(host=r.host, owner=r.owner, name=r.name, private=private, added_by=run.created_by)
            for r in missing
        ]
        Repository.objects.bulk_create(made, ignore_conflicts=True)
        found |= _find([record.repository for record in missing])
        if run.created_by_id:
            through = Repository.readers.through
            mine = [found[r.repository] for r in missing if found[r.repository].added_by_id == run.created_by_id]
            through.objects.bulk_create(
                [through(repository_id=r.pk, user_id=run.created_by_id) for r in mine], ignore_conflicts=True
            )
    return found


def _find(keys: Iterable[Key]) -> dict[Key, Repository]:
    condition = Q(pk__in=[])
    for host, owner, name in keys:
        condition |= Q(host__iexact=host, owner__iexact=owner, name__iexact=name)
    rows = Repository.objects.filter(condition)
    return {(row.host.lower(), row.owner.lower(), row.name.lower()): row for row in rows}


def _allowed(
    run: FetchRun, records: Sequence[IssueRecord], repositories: dict[Key, Repository], stored: Stored
) -> list[IssueRecord]:
    """Without what a file would write into a private repository that its owner may not read."""
    private = [row.pk for row in repositories.values() if row.private]
    if run.kind != FetchRun.Kind.FILE or not private or run.created_by is None:
        return list(records)
    readable = set(Repository.objects.visible_to(run.created_by).filter(pk__in=private).values_list("pk", flat=True))
    allowed = []
    for record in records:
        repository = repositories[record.repository]
        if repository.private and repository.pk not in readable:
            name = full_name(record.host, record.owner, record.name)
            stored.refused.append((record, f"You may not add to {name} here; ask whoever runs this server."))
        else:
            allowed.append(record)
    return allowed


def _unique(records: Sequence[IssueRecord]) -> list[IssueRecord]:
    return list({(*record.repository, record.number): record for record in records}.values())


def _locked_issues(keys: Sequence[tuple[int, int]]) -> dict[tuple[int, int], _Row]:
    """The rows of the issues, made if need be and locked in one order, so that two runs never wait for each other."""
    arrays = [[key[0] for key in keys], [key[1] for key in keys]]
    with connection.cursor() as cursor:
        cursor.execute(
            """
            INSERT INTO ingest_issue (repository_id, number, added_at)
            SELECT r, n, now() FROM unnest(%s::bigint[], %s::int[]) AS wanted (r, n)
            WHERE NOT EXISTS (SELECT FROM ingest_issue WHERE repository_id = r AND number = n)
            ORDER BY r, n ON CONFLICT DO NOTHING
            """,
            arrays,
        )
        cursor.execute(
            """
            SELECT issue.repository_id, issue.number, issue.id, issue.current_snapshot_id, snapshot.sha256,
                   issue.updated_at
            FROM ingest_issue AS issue LEFT JOIN ingest_snapshot AS snapshot ON snapshot.id = issue.current_snapshot_id
            WHERE (issue.repository_id, issue.number) IN (SELECT * FROM unnest(%s::bigint[], %s::int[]))
            ORDER BY issue.repository_id, issue.number FOR UPDATE OF issue
            """,
            arrays,
        )
        return {(row[0], row[1]): _Row(*row[2:]) for row in cursor.fetchall()}


def _known(snapshot_ids: Iterable[int | None]) -> dict[int, IssueRecord]:
    """Stored snapshots as records, by their id; two queries, none for none."""
    wanted = [pk for pk in snapshot_ids if pk is not None]
    if not wanted:
        return {}
    snapshots = Snapshot.objects.filter(pk__in=wanted).select_related("issue__repository")
    threads: dict[int, list[CommentRecord]] = {pk: [] for pk in wanted}
    links = (
        SnapshotComment.objects.filter(snapshot__in=wanted).select_related("comment").order_by("snapshot", "position")
    )
    for link in links:
        c = link.comment
        threads[link.snapshot_id].append(CommentRecord(c.author_login, c.author_id, c.body, c.created_at, c.github_id))
    return {row.pk: _record(row, threads[row.pk]) for row in snapshots}


def _record(row: Snapshot, thread: Sequence[CommentRecord]) -> IssueRecord:
    repository = row.issue.repository
    return IssueRecord(
        host=repository.host,
        owner=repository.owner,
        name=repository.name,
        number=row.issue.number,
        title=row.title,
        body=row.body,
        state=row.state,
        state_reason=row.state_reason,
        github_labels=tuple(row.github_labels),
        author_login=row.author_login,
        author_id=row.author_id,
        locked=row.locked,
        created_at=row.created_at,
        updated_at=row.updated_at,
        closed_at=row.closed_at,
        html_url=row.html_url,
        n_comments=row.n_comments,
        comments=tuple(thread) if row.comments_known else None,
    )


def _snapshots(
    run: FetchRun, pending: Sequence[tuple[_Row, IssueRecord, str]]
) -> list[tuple[int, int | None, datetime | None]]:
    """Makes the snapshots that are not there yet; (issue, its snapshot now, its time of change) for each."""
    if not pending:
        return []
    earlier = {}
    if changed := [row.pk for row, _, _ in pending if row.snapshot_id is not None]:
        hashes = [sha256 for _, _, sha256 in pending]
        found = Snapshot.objects.filter(issue__in=changed, sha256__in=hashes).values_list("issue_id", "sha256", "pk")
        earlier = {(issue_id, sha256): pk for issue_id, sha256, pk in found}
    fresh = [part for part in pending if (part[0].pk, part[2]) not in earlier]
    made = Snapshot.objects.bulk_create([_snapshot(run, row.pk, record, sha256) for row, record, sha256 in fresh])
    _threads(made, [record for _, record, _ in fresh])
    earlier |= {(snapshot.issue_id, snapshot.sha256): snapshot.pk for snapshot in made}
    return [(row.pk, earlier[row.pk, sha256], record.updated_at) for row, record, sha256 in pending]


def _snapshot(run: FetchRun, issue_id: int, record: IssueRecord, sha256: str) -> Snapshot:
    return Snapshot(
        issue_id=issue_id,
        sha256=sha256,
        title=record.title,
        body=record.body or "",
        state=record.state or "",
        state_reason=record.state_reason or "",
        github_labels=list(record.github_labels or ()),
        author_login=record.author_login or "",
        author_id=record.author_id,
        locked=bool(record.locked),
        created_at=record.created_at,
        updated_at=record.updated_at,
        closed_at=record.closed_at,
        html_url=record.html_url,
        n_comments=record.n_comments,
        comments_known=record.comments is not None,
        run=run,
    )


def _threads(snapshots: Sequence[Snapshot], records: Sequence[IssueRecord]) -> None:
    threads = [[(comment.sha256, comment) for comment in record.comments or ()] for record in records]
    comments = {sha256: comment for thread in threads for sha256, comment in thread}
    if not comments:
        return
    ids = dict(Comment.objects.filter(sha256__in=list(comments)).values_list("sha256", "pk"))
    if missing := sorted(set(comments) - set(ids)):
        Comment.objects.bulk_create([_comment(sha256, comments[sha256]) for sha256 in missing], ignore_conflicts=True)
        ids |= dict(Comment.objects.filter(sha256__in=missing).values_list("sha256", "pk"))
    SnapshotComment.objects.bulk_create(
        SnapshotComment(snapshot_id=snapshot.pk, comment_id=ids[sha256], position=position)
        for snapshot, thread in zip(snapshots, threads, strict=True)
        for position, (sha256, _) in enumerate(thread, start=1)
    )


def _comment(sha256: str, record: CommentRecord) -> Comment:
    return Comment(
        sha256=sha256,
        github_id=record.github_id,
        author_login=record.author_login,
        author_id=record.author_id,
        body=record.body,
        created_at=record.created_at,
    )


def _point(issues: Sequence[tuple[int, int | None, datetime | None]]) -> None:
    """Points issues at their current snapshots; a source that does not say when it changed leaves that time."""
    if not issues:
        return
    with connection.cursor() as cursor:
        cursor.execute(
            """
            UPDATE ingest_issue AS issue
            SET current_snapshot_id = given.snapshot, updated_at = COALESCE(given.updated, issue.updated_at)
            FROM unnest(%s::bigint[], %s::bigint[], %s::timestamptz[]) AS given (id, snapshot, updated)
            WHERE issue.id = given.id
            """,
            [list(column) for column in zip(*issues, strict=True)],
        )
