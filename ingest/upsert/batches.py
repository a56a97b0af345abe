"""Batch of records: finds new, changed, and unchanged issues, and stores them.

IDs of new issues and snapshots come from their sequences beforehand, so contents go by COPY to their tables and an
issue is written once. Unchanged issues are neither locked nor written.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from typing import Any

import orjson
from django.db import connection

from accounts.permissions import may_use_tokens
from ingest.models import FetchRun, Repository, issues_read_by_strangers
from ingest.records import METADATA, OF_SNAPSHOT, TIMELESS, IssueRecord, Metadata, complete_record, merged_metadata
from ingest.upsert.changes import store_activity, store_changes
from ingest.upsert.contents import PendingSnapshot, store_contents
from ingest.upsert.copying import stage
from ingest.upsert.repositories import repositories_of, split_allowed
from ingest.upsert.spellings import store_spellings
from ingest.upsert.stored_records import records_of_snapshots

Place = tuple[int, int]
TOLD = {
    "repository_id": "bigint",
    "number": "int",
    "sha256": "text",
    "updated_at": "timestamptz",
    "locked": "boolean",
    "changes_told": "boolean",
    "created_at": "timestamptz",
    "closed_at": "timestamptz",
    "n_comments": "int",
    "html_url": "text",
    "author_association": "text",
    "activity": "jsonb",
}
# An issue that was gone is here again when GitHub lists it; when a message says so that is younger than what was found
# (messages come in any order); and never because of a file.
BACK_AFTER = {
    FetchRun.Kind.GITHUB: "'-infinity'",
    FetchRun.Kind.WEBHOOK: "COALESCE(checked_at, '-infinity')",
    FetchRun.Kind.FILE: "'infinity'",
}

READ_BY_STRANGERS = (
    "{} is in a study none of whose members may read this private repository, so what closed it is not stored: they "
    "would see it. The rest of the issue is stored. Fetch again when someone who may read it is in the study."
)
KEPT_AS_FETCHED = (
    "{} is stored from a repository that was fetched from GitHub, and files of people who may not fetch with "
    "this server's tokens change no issue of it. Ask someone named in FETCHERS, or upload the file under "
    "another repository name."
)


@dataclass(slots=True)
class BatchResult:
    """What became of a batch; `refused` pairs a record with the reason, `repositories` are those written to.

    `contradictions` are a record, the name of a value, what it tells, and what is stored and was kept.
    """

    n_new: int = 0
    n_changed: int = 0
    n_unchanged: int = 0
    n_closing_changes: int = 0
    refused: list[tuple[IssueRecord, str]] = field(default_factory=list)
    contradictions: list[tuple[IssueRecord, str, Any, Any]] = field(default_factory=list)
    repositories: set[int] = field(default_factory=set)


@dataclass(slots=True)
class _StoredRow:
    place: Place
    pk: int
    snapshot_id: int | None
    sha256: str | None
    updated_at: datetime | None
    is_fetched: bool
    is_of_file: bool
    metadata: Metadata

    @classmethod
    def of(cls, row: tuple[Any, ...]) -> "_StoredRow":
        repository_id, number, pk, snapshot_id, sha256, updated_at, is_fetched, is_of_file, *metadata = row
        known = Metadata(**dict(zip(METADATA, metadata, strict=True)))
        return cls((repository_id, number), pk, snapshot_id, sha256, updated_at, is_fetched, is_of_file, known)

    def may_differ(self, told: IssueRecord, hashes: Mapping[Place, str]) -> bool:
        """Whether a new snapshot may be needed, so that what is stored has to be read."""
        if hashes[self.place] != self.sha256 or self.is_of_file:
            return True
        if told.state == "open" and told.closed_at is None and self.metadata.closed_at is not None:
            return True
        return any(
            value is not None and value != getattr(self.metadata, name)
            for name in OF_SNAPSHOT
            for value in [getattr(told, name)]
        )


@dataclass(frozen=True, slots=True)
class _News:
    """What a record brings to a stored issue; `record` is what is to be stored, None leaves a column as it is."""

    record: IssueRecord
    sha256: str
    is_older: bool
    is_new_content: bool
    needs_snapshot: bool
    is_renamed: bool
    is_change: bool
    updated_at: datetime | None
    locked: bool | None
    contradictions: list[tuple[str, Any, Any]]


@dataclass(frozen=True, slots=True)
class _Touch:
    """What to write to a stored issue: `part` is its new state, if it has one."""

    issue_id: int
    part: PendingSnapshot | None
    news: _News


def store(run: FetchRun, records: Sequence[IssueRecord]) -> BatchResult:
    """Stores the records of one batch for a run; call inside a transaction.

    About eight statements where all issues are new, four where all are unchanged, twenty at most.
    """
    stored = BatchResult()
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
        (
            (
                *p,
                hashes[p],
                r.updated_at,
                r.locked,
                r.closing_changes is not None,
                *(getattr(r, name) for name in METADATA),
                orjson.dumps(r.activity).decode() if r.activity else None,
            )
            for p, r in told.items()
        ),
    )
    made = _made_issues()
    pending = [PendingSnapshot(row[2], told[row[:2]], hashes[row[:2]], row[3]) for row in made]
    issues = _open_issues(run, [part.issue_id for part in pending]) if len(pending) < len(told) else {}
    adds_alone = run.kind == FetchRun.Kind.FILE and not (run.is_unrestricted or may_use_tokens(run.created_by))
    # Of what was fetched a file tells issues that are missing, and nothing that a later fetch might leave as it is.
    homes = {row[2]: row[0] for row in made}
    fetched = _fetched({homes[part.issue_id] for part in pending if part.record.tells_changes}) if adds_alone else set()
    with_changes = [(part.issue_id, part.record) for part in pending if homes[part.issue_id] not in fetched]
    stored.n_new = len(pending)
    stored.n_unchanged = len(told) - len(pending) - len(issues)
    known = records_of_snapshots(
        row.snapshot_id for place, row in issues.items() if row.may_differ(told[place], hashes)
    )
    touches: list[_Touch] = []
    changed: list[PendingSnapshot] = []
    reworded: list[int] = []
    for place, row in issues.items():
        news = _news(run, told[place], hashes[place], row, known.get(row.snapshot_id or 0))
        if run.kind == FetchRun.Kind.FILE:
            stored.contradictions += [(told[place], *each) for each in news.contradictions]
        if adds_alone and row.is_fetched:
            if news.is_older or not news.is_new_content:
                stored.n_unchanged += 1
            else:
                stored.refused.append((told[place], KEPT_AS_FETCHED.format(told[place].identifier)))
            continue
        if not news.is_older:
            with_changes.append((row.pk, news.record))
        stored.n_new += row.snapshot_id is None
        stored.n_changed += row.snapshot_id is not None and news.is_change
        stored.n_unchanged += not news.is_change
        part = None
        if news.needs_snapshot:
            part = PendingSnapshot(row.pk, news.record, news.sha256, is_renamed=news.is_renamed)
            changed.append(part)
            reworded += [row.pk] if news.is_new_content else []
        if news.is_change or not news.is_older:
            touches.append(_Touch(row.pk, part, news))
    withheld: set[int] = set()
    for home in {home.pk: home for home in repositories.values() if home.private}.values():
        ids = [*(issue_id for issue_id, _ in with_changes), *(each.issue_id for each in touches)]
        withheld |= issues_read_by_strangers(home.pk, ids)
    store_contents(run, pending + changed)
    _touch(run, touches, withheld)
    # A search compares the current state alone, so one that differs in dates alone is indexed again, too.
    _wait_for_search([part.issue_id for part in pending + changed], reworded)
    stored_records = [part.record for part in pending + changed]
    store_spellings(
        {label for record in stored_records for label in record.github_labels or ()},
        {record.author_login or "" for record in stored_records},
    )
    stored.refused += [
        (record, READ_BY_STRANGERS.format(record.identifier))
        for issue_id, record in with_changes
        if issue_id in withheld and record.closing_changes
    ]
    with_changes = [each for each in with_changes if each[0] not in withheld]
    if said := [(issue_id, record) for issue_id, record in with_changes if record.closing_changes is not None]:
        stored.n_closing_changes = store_changes(said)
    store_activity(with_changes)
    return stored


def _news(run: FetchRun, told: IssueRecord, sha256: str, row: _StoredRow, before: IssueRecord | None) -> _News:
    """What a record brings to a stored issue; `before` is what is stored, where it may differ.

    What is told later wins, by the time of the last change. A record that is older brings no content and fills only
    what was missing; so does a file that does not say when the issue last changed, as far as dates, counts and address
    are concerned.
    """
    record = told
    as_stored = before
    is_first_of_github = row.is_of_file and run.kind != FetchRun.Kind.FILE
    if before is not None and is_first_of_github:
        before = _with_names(told, before)
    is_renamed = before != as_stored
    if before is not None and sha256 != row.sha256:
        record = _complete_by_file(told, before) if is_first_of_github else complete_record(told, before)
        sha256 = record.sha256
    is_older = bool(told.updated_at and row.updated_at and told.updated_at < row.updated_at)
    # What a file says of its time does not hold back what GitHub itself says.
    is_older = is_older and not is_first_of_github
    is_new_content = row.snapshot_id is None or sha256 != row.sha256
    moved: set[str] = set()  # what goes with the content
    names: Sequence[str] = METADATA
    if is_new_content and is_older:
        names = TIMELESS
    elif is_new_content:
        moved |= {"n_comments"} if told.comments is not None else set()
        moved |= {"closed_at"} if before is None or before.state not in {"", record.state} else set()
    if is_first_of_github:
        moved |= {name for name in METADATA if getattr(told, name) not in (None, "")}
    if told.state == "open":
        moved |= {"closed_at"}
    if run.kind == FetchRun.Kind.FILE and row.updated_at is not None and not row.is_of_file:
        wins = told.updated_at is not None and told.updated_at > row.updated_at
    else:
        wins = told.updated_at is not None and not is_older
    merged = merged_metadata(told, row.metadata, wins=wins, names=names, moved=moved)
    differs = {name for name in METADATA if getattr(merged.metadata, name) != getattr(row.metadata, name)}
    updated_at = None if is_older else told.updated_at
    # GitHub did not tell the thread: what a file said stays what a file said, until a fetch brings all of it.
    stays = is_first_of_github and told.comments is None and not is_new_content
    is_renamed &= not stays
    if before is not None and (is_older or not is_new_content):  # the stored content stays
        record, sha256, is_new_content = (
            replace(before, updated_at=updated_at or before.updated_at),
            row.sha256 or "",
            False,
        )
    return _News(
        record=replace(record, closing_changes=told.closing_changes, activity=told.activity, **asdict(merged.metadata)),
        sha256=sha256,
        is_older=is_older,
        is_new_content=is_new_content,
        needs_snapshot=not stays and (is_new_content or is_renamed or bool(differs & set(OF_SNAPSHOT))),
        is_renamed=is_renamed,
        is_change=is_new_content
        or is_renamed
        or bool(differs)
        or (updated_at is not None and updated_at != row.updated_at),
        updated_at=updated_at,
        locked=None if is_older else told.locked,
        contradictions=[] if is_older else merged.contradictions,
    )


def _complete_by_file(told: IssueRecord, before: IssueRecord) -> IssueRecord:
    """What GitHub says of an issue that a file brought: with the file's thread where it does not tell any, and all else
    is the same.
    """
    if told.comments is None and before.comments is not None:
        with_thread = replace(told, comments=before.comments)
        if with_thread.sha256 == before.sha256:
            return with_thread
    return told


def _with_names(told: IssueRecord, before: IssueRecord) -> IssueRecord:
    """What a file said, with GitHub's names of the same people: a name is in no hash where the number is known."""
    if told.author_id is not None and told.author_id == before.author_id and told.author_login:
        before = replace(before, author_login=told.author_login)
    if told.comments and before.comments:
        names = {each.sha256: each for each in told.comments}
        before = replace(before, comments=tuple(names.get(each.sha256, each) for each in before.comments))
    return before


def _made_issues() -> list[tuple[int, int, int, int]]:
    """Makes the issues that are not there: (repository, number, id, id kept free for the snapshot) of each.

    In one order, so that two runs never wait for each other; an issue that another run makes just now is not among
    them, and is there afterwards.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            """
            INSERT INTO ingest_issue (repository_id, number, current_snapshot_id, updated_at, locked, page_url,
                                      author_association, added_at)
            SELECT repository_id, number, nextval(pg_get_serial_sequence('ingest_snapshot', 'id')), updated_at, locked,
                   html_url, author_association, now()
            FROM told_issues AS told WHERE NOT EXISTS (
                SELECT FROM ingest_issue AS issue
                WHERE issue.repository_id = told.repository_id AND issue.number = told.number)
            ORDER BY repository_id, number
            ON CONFLICT DO NOTHING RETURNING repository_id, number, id, current_snapshot_id
            """
        )
        found: list[tuple[int, int, int, int]] = cursor.fetchall()
        return found


def _fetched(homes: Collection[int]) -> set[int]:
    """Those of the repositories that are GitHub's by now: a first fetch waits for the issues that were made in them."""
    if not homes:
        return set()
    return set(Repository.objects.filter(pk__in=homes, github_id__isnull=False).values_list("pk", flat=True))


def _open_issues(run: FetchRun, made: Sequence[int]) -> dict[Place, _StoredRow]:
    """Of the issues there before, those that differ from what is told in anything; locked in one order."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT issue.id
            FROM told_issues AS told JOIN ingest_issue AS issue USING (repository_id, number)
            LEFT JOIN ingest_snapshot AS snapshot ON snapshot.id = issue.current_snapshot_id
            LEFT JOIN ingest_fetchrun AS run ON run.id = snapshot.run_id
            WHERE NOT issue.id = ANY(%s) AND (
                snapshot.sha256 IS DISTINCT FROM told.sha256
                OR told.updated_at > COALESCE(issue.updated_at, '-infinity')
                OR told.locked IS DISTINCT FROM issue.locked AND told.locked IS NOT NULL
                OR told.changes_told
                OR told.created_at IS DISTINCT FROM snapshot.created_at AND told.created_at IS NOT NULL
                OR told.closed_at IS DISTINCT FROM snapshot.closed_at
                    AND (told.closed_at IS NOT NULL OR snapshot.state = 'open')
                OR told.n_comments IS DISTINCT FROM snapshot.n_comments AND told.n_comments IS NOT NULL
                OR told.html_url NOT IN ('', COALESCE(NULLIF(issue.page_url, ''), snapshot.html_url, ''))
                OR told.author_association NOT IN ('', issue.author_association)
                OR told.activity IS NOT NULL AND NOT EXISTS (
                    SELECT FROM ingest_activity AS known
                    WHERE known.issue_id = issue.id AND known.told || told.activity = known.told)
                OR %s AND (issue.presence <> 'here' OR COALESCE(run.kind = 'file', snapshot.id IS NOT NULL)))
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
            "issue.updated_at, repository.github_id IS NOT NULL, COALESCE(run.kind = 'file', snapshot.id IS NOT NULL), "
            "snapshot.created_at, snapshot.closed_at, snapshot.n_comments, "
            "COALESCE(NULLIF(issue.page_url, ''), snapshot.html_url, ''), issue.author_association "
            "FROM ingest_issue AS issue JOIN ingest_repository AS repository ON repository.id = issue.repository_id "
            "LEFT JOIN ingest_snapshot AS snapshot ON snapshot.id = issue.current_snapshot_id "
            "LEFT JOIN ingest_fetchrun AS run ON run.id = snapshot.run_id WHERE issue.id = ANY(%s)",
            [ids, ids],
        )
        return {row[:2]: _StoredRow.of(row) for row in cursor.fetchall()}


def _touch(run: FetchRun, touches: Sequence[_Touch], withheld: Collection[int]) -> None:
    """Points issues at their current snapshots; what a source does not say stays.

    Of those in `withheld`, whose row strangers see, only the snapshot and presence move, and with another snapshot the
    time of change, which is then shown with that one alone.

    An issue that became a discussion is listed still, closed and locked: it is one until it is unlocked.
    """
    if not touches:
        return
    is_back = (
        f"given.updated > {BACK_AFTER[FetchRun.Kind(run.kind)]} "
        "AND NOT (presence = 'discussion' AND COALESCE(given.locked, issue.locked, true))"
    )
    rows = [
        (
            each.issue_id,
            each.part.snapshot_id if each.part else None,
            each.news.updated_at,
            each.news.locked,
            each.news.record.html_url,
            each.news.record.author_association,
            each.issue_id in withheld,
        )
        for each in touches
    ]
    with connection.cursor() as cursor:
        cursor.execute(
            f"""
            UPDATE ingest_issue AS issue
            SET current_snapshot_id = COALESCE(given.snapshot, current_snapshot_id),
                updated_at = CASE WHEN given.withheld AND given.snapshot IS NULL THEN updated_at
                             ELSE COALESCE(given.updated, updated_at) END,
                locked = CASE WHEN given.withheld THEN issue.locked ELSE COALESCE(given.locked, issue.locked) END,
                page_url = given.url,
                author_association = CASE WHEN given.withheld THEN author_association ELSE given.association END,
                presence = CASE WHEN {is_back} THEN 'here' ELSE presence END,
                moved_to = CASE WHEN {is_back} THEN '' ELSE moved_to END
            FROM unnest(%s::bigint[], %s::bigint[], %s::timestamptz[], %s::boolean[], %s::text[], %s::text[],
                        %s::boolean[]) AS given (id, snapshot, updated, locked, url, association, withheld)
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
