"""Issues of an imported study: found by identity and content, stored where they are missing.

Rows of the file go through temporary tables that end with the transaction. `map_issues`, `map_snapshots`, and
`map_comments` then map their IDs to rows here.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

import orjson
from django.db import connection

from accounts.models import User
from accounts.permissions import is_shell_command, may_use_tokens
from ingest.errors import Invalid, RowError
from ingest.github.rest_objects import EVENTS, REACTIONS, event_of, parse_count, type_of
from ingest.identifiers import full_name
from ingest.models import FetchRun, Issue, Repository, issues_read_by_strangers
from ingest.records import CommentRecord, content_digest

BATCH_LINES, BATCH_BYTES = 1000, 4 << 20
LONGEST_NAME = 100

Row = Mapping[str, Any]
SAME_METADATA = (
    "(s.created_at, s.closed_at, s.n_comments) IS NOT DISTINCT FROM (r.created_at, r.closed_at, r.n_comments)"
)
"""The condition that a stored state `s` and one of the file `r` have the same dates and counts."""
TOLD_ALIKE = f"""(
    {SAME_METADATA}
    AND (s.author_login, s.author_id, s.locked, s.updated_at)
        IS NOT DISTINCT FROM (r.author_login, r.author_id, r.locked, r.updated_at)
    AND (r.is_upload OR s.fetched_at = coalesce(r.fetched_at, s.fetched_at))
    AND coalesce(s.html_url IN (r.address, r.html_url), false)
    AND ARRAY(SELECT t.comment_id FROM ingest_snapshotcomment t WHERE t.snapshot_id = s.id ORDER BY t.position)
        = r.comments)"""  # noqa: S608
"""The condition that what their hash does not cover is alike, too: names of people, the address, the times.

Two people upload the same file at different times, so there the time of storing says nothing.
"""
TOLD_BY_GITHUB = "EXISTS (SELECT FROM ingest_fetchrun f WHERE f.id = s.run_id AND f.kind = ANY(%(from_github)s))"
"""The condition that GitHub told a stored state `s`."""
FITTING = f"""
    s.issue_id = r.issue AND s.sha256 = r.sha256 AND (
        r.is_wrong OR {TOLD_ALIKE} OR {TOLD_BY_GITHUB} AND ({SAME_METADATA} OR r.is_fetched))"""
"""The condition that a stored state `s` is taken for one of the file `r`.

What only another file told is not: it may call people by other names.
"""
READ_BY_SOMEONE_ELSE = (
    "EXISTS (SELECT FROM ingest_repository_readers x WHERE x.repository_id = r.id AND x.user_id <> %s)"
)
"""The condition that someone else than a person reads a repository `r`."""
OWN_ADDRESS = (
    "CASE WHEN {0} ~ '^https?://[^[:space:][:cntrl:]]+$' AND lower(split_part({0}, '/', 3)) = lower(home.host) "
    "THEN {0} ELSE '' END"
)
"""What is kept from a file of an address in a column: one at the host of the repository `home`, else nothing."""
OWN_PAGE = (
    "CASE WHEN lower(substring({0} FROM '^https?://([^/]+/[^/]+/[^/]+)/(-/)?[a-z_]+/[0-9]+$')) "
    "= lower(home.host || '/' || home.owner || '/' || home.name) "
    "AND substring({0} FROM '/([0-9]+)$') = {1}::text THEN {0} ELSE '' END"
)
"""What is kept from a file of the address of an issue: one of the repository `home` with the issue's number."""
UNREADABLE = "What happened to an issue in the file can't be read."
UPLOAD_OF_OTHERS = (
    "{} was uploaded by someone else here, and the file has issues or snapshots of it that are not stored. Only its "
    "uploader and staff can bring them."
)
READ_BY_OTHERS = (
    "{0} is private in the file, and other people read an upload of this name here, so they would read these issues, "
    "too. The server's operator can give that upload another name: manage.py uploads --rename {0}"
)
OTHER_CONTENT = "What the file calls {} does not match that SHA-256."


def batches(lines: Iterable[bytes]) -> Iterator[list[bytes]]:
    """Lines in pieces that are neither many nor large."""
    batch: list[bytes] = []
    size = 0
    for line in lines:
        batch.append(line)
        size += len(line)
        if len(batch) >= BATCH_LINES or size >= BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def as_array(batch: Sequence[bytes]) -> str:
    """The rows of a batch as one JSON array. Raises Invalid for bytes that are no text."""
    try:
        return "[" + b",".join(batch).decode() + "]"
    except UnicodeDecodeError as error:
        raise Invalid("The file contains text that is not UTF-8.") from error


def map_table(name: str, more: str = "") -> None:
    """An empty table from the ids in a file to those here."""
    columns = f"old bigint PRIMARY KEY, new bigint{more}"
    with connection.cursor() as cursor:
        cursor.execute(f"CREATE TEMP TABLE IF NOT EXISTS {name} ({columns}) ON COMMIT DROP; TRUNCATE {name}")


def _rows(batch: Sequence[bytes]) -> list[Row]:
    found = [orjson.loads(line) for line in batch]
    if not all(isinstance(row, dict) for row in found):
        raise Invalid("A row of the file is no JSON object.")
    return found


def store_repositories(user: User, lines: Iterable[bytes]) -> int:
    """Finds or makes the repositories; whoever brings a new one may read it. How many are new.

    GitHub's number of a repository is never taken from a file: it decides whose messages and fetches are stored there.
    Raises Invalid where one is private here and not this person's, or would become public by being brought.
    """
    map_table("map_repositories", ", is_private boolean")
    n_new = 0
    for batch in batches(lines):
        for row in _rows(batch):
            host, owner, name = str(row["host"])[:255], str(row["owner"]), str(row["name"])
            if not owner or not name or max(len(owner), len(name)) > LONGEST_NAME:
                raise Invalid("The file names a repository that can't be one.")
            title = full_name(host, owner, name)
            found = Repository.objects.called(host, owner, name).first()
            if found is None:
                found = Repository.objects.create(
                    host=host, owner=owner, name=name, private=row["private"] is not False, added_by=user
                )
                found.readers.add(user)
                n_new += 1
            elif not Repository.objects.visible_to(user).filter(pk=found.pk).exists():
                raise Invalid(f"You may not add to {title} here. Ask the server's operator.")
            elif row["private"] is not False and not found.private:
                raise Invalid(f"{title} is private in the file and public here, so everyone would see its issues.")
            with connection.cursor() as cursor:
                values = [row["id"], found.pk, row["private"] is not False]
                cursor.execute("INSERT INTO map_repositories VALUES (%s, %s, %s)", values)
    return n_new


def store_issues(user: User, lines: Iterable[bytes]) -> int:
    """Finds or makes the issues; how many are new. What is here already stays as it is.

    Raises Invalid for a new one of a repository that someone else uploaded: what they upload later would meet it. And
    for one that is private in the file where other people read the upload here.
    """
    map_table("map_issues", ", current bigint")
    with connection.cursor() as cursor:
        cursor.execute("CREATE TEMP TABLE IF NOT EXISTS made_issues (id bigint PRIMARY KEY) ON COMMIT DROP")
        cursor.execute("TRUNCATE made_issues")
        for batch in batches(lines):
            values: dict[str, Any] = {"rows": as_array(batch), "presences": list(Issue.Presence.values)}
            cursor.execute(
                f"""
                WITH told AS (SELECT r.*, m.new AS home_id, here.host, here.owner, here.name
                              FROM json_populate_recordset(NULL::ingest_issue, %(rows)s) AS r
                              JOIN map_repositories m ON m.old = r.repository_id
                              JOIN ingest_repository here ON here.id = m.new),
                made AS (
                    INSERT INTO ingest_issue (repository_id, number, updated_at, added_at, presence, moved_to, locked,
                                              checked_at, changes_known, page_url, author_association)
                    SELECT home_id, number, updated_at, coalesce(added_at, now()), presence,
                           CASE WHEN moved_to ~ '://' THEN {OWN_ADDRESS.format("moved_to")} ELSE moved_to END, locked,
                           checked_at, changes_known, {OWN_PAGE.format("page_url", "number")},
                           coalesce(author_association, '')
                    FROM told AS home WHERE presence = ANY(%(presences)s) ORDER BY id
                    ON CONFLICT (repository_id, number) DO NOTHING RETURNING id)
                INSERT INTO made_issues SELECT id FROM made
                """,  # noqa: S608
                values,
            )
            # Looked up one by one: the planner does not know yet how many issues a repository has that came just now.
            cursor.execute(
                """
                INSERT INTO map_issues SELECT old, new, current FROM (
                    SELECT r.id AS old, r.current_snapshot_id AS current, (
                        SELECT i.id FROM ingest_issue i WHERE i.repository_id = m.new AND i.number = r.number) AS new
                    FROM json_populate_recordset(NULL::ingest_issue, %(rows)s) AS r
                    JOIN map_repositories m ON m.old = r.repository_id) found
                WHERE new IS NOT NULL
                """,
                values,
            )
        _require_place(cursor, user, "SELECT id FROM made_issues")
        cursor.execute("SELECT count(*) FROM made_issues")
        n_new: int = cursor.fetchone()[0]
    return n_new


def _require_place(cursor: Any, user: User, issues: str) -> None:
    """Raises Invalid where issues, those of a query, can't be stored in the uploaded repository that they are of.

    As with any file: only staff and the shell add to what others uploaded, be it private or open, and nobody adds what
    is private to what others read. The repositories are held, so that none is opened before this is committed.
    """
    cursor.execute(
        f"""
        SELECT r.host, r.owner, r.name, r.added_by_id, m.is_private AND (NOT r.private OR {READ_BY_SOMEONE_ELSE})
        FROM ingest_repository r JOIN map_repositories m ON m.new = r.id
        WHERE r.github_id IS NULL AND r.id IN (SELECT repository_id FROM ingest_issue WHERE id IN ({issues}))
        ORDER BY r.id FOR NO KEY UPDATE OF r
        """,  # noqa: S608
        [user.pk],
    )
    for host, owner, name, added_by, is_read in cursor.fetchall():
        if added_by != user.pk and not user.is_staff and not is_shell_command():
            raise Invalid(UPLOAD_OF_OTHERS.format(full_name(host, owner, name)))
        if is_read:
            raise Invalid(READ_BY_OTHERS.format(full_name(host, owner, name)))


def store_comments(lines: Iterable[bytes]) -> None:
    """Finds or stores the comments, each by its content. Raises Invalid for one whose content is another."""
    map_table("map_comments")
    with connection.cursor() as cursor:
        for batch in batches(lines):
            # A hash alone finds no stored comment, which may be one of a private repository.
            if wrong := [row["sha256"] for row in _rows(batch) if _comment(row) != row["sha256"]]:
                raise Invalid(OTHER_CONTENT.format(str(wrong[0])[:12]))
            values = {"rows": as_array(batch)}
            cursor.execute(
                """
                INSERT INTO ingest_comment (sha256, github_id, author_login, author_id, body, created_at)
                SELECT sha256, github_id, author_login, author_id, body, created_at
                FROM json_populate_recordset(NULL::ingest_comment, %(rows)s) ORDER BY sha256
                ON CONFLICT (sha256, author_login) DO NOTHING;
                INSERT INTO map_comments SELECT r.id, c.id
                FROM json_populate_recordset(NULL::ingest_comment, %(rows)s) AS r JOIN ingest_comment c
                    USING (sha256, author_login)
                """,
                values,
            )


def store_snapshots(user: User, lines: Iterable[bytes]) -> tuple[int, str]:
    """Finds or stores the states of issues, each by its content; how many are new. Raises Invalid as for comments.

    A stored state is taken if GitHub told it, or if it says the same as the file also of what its hash does not cover.
    One whose content is not that of its hash is never stored: the stored state with that hash is used.

    To stored issues of a repository that was fetched only those add states whom FETCHERS includes, as with any file,
    but for another state of the same hash where GitHub has told none. Also answers the first state that was not stored
    for this reason, as its issue. To what someone else uploaded only staff and the shell add any: Invalid.
    """
    map_table("map_snapshots")
    n_new, withheld = 0, ""
    with connection.cursor() as cursor:
        _hold_fetched_issues(cursor, user)
        for batch in batches(lines):
            _stage_states(cursor, batch)
            cursor.execute(
                """
                INSERT INTO ingest_snapshot (id, issue_id, sha256, title, body, state, state_reason, github_labels,
                    author_login, author_id, locked, created_at, updated_at, closed_at, html_url, n_comments,
                    comments_known, fetched_at)
                SELECT new, issue, sha256, title, body, state, state_reason, github_labels, author_login, author_id,
                    locked, created_at, updated_at, closed_at, address, n_comments, comments_known,
                    coalesce(fetched_at, now())
                FROM told_states WHERE is_new ORDER BY id;
                INSERT INTO ingest_snapshotcomment (snapshot_id, comment_id, position)
                SELECT new, t.comment, t.position
                FROM told_states CROSS JOIN unnest(comments) WITH ORDINALITY AS t (comment, position) WHERE is_new;
                INSERT INTO map_snapshots SELECT id, new FROM told_states WHERE new IS NOT NULL
                """
            )
            _require_place(cursor, user, "SELECT issue FROM told_states WHERE is_new")
            cursor.execute("SELECT count(*) FROM told_states WHERE is_new")
            n_new += cursor.fetchone()[0]
            withheld = withheld or _withheld(cursor)
    return n_new, withheld


def _stage_states(cursor: Any, batch: Sequence[bytes]) -> None:
    """The states of a batch as the table `told_states`: `new` is the stored one, or kept free for one to be stored.

    It is null for a state that is not stored, for someone else fetched the issue.
    """
    rows = _rows(batch)
    hashes = _hashes({pk for row in rows for pk in row["thread"]})
    wrong = [row for row in rows if _snapshot(row, hashes) != row["sha256"]]
    _refuse_unless_here(
        "SELECT m.old, s.sha256 FROM ingest_snapshot s JOIN map_issues m ON m.new = s.issue_id "
        "WHERE s.sha256 = ANY(%s)",
        [(row["issue_id"], row["sha256"]) for row in wrong],
    )
    cursor.execute(
        f"""
        DROP TABLE IF EXISTS told_states;
        CREATE TEMP TABLE told_states ON COMMIT DROP AS
        SELECT r.*, m.new AS issue, {OWN_PAGE.format("r.html_url", "i.number")} AS address,
            CASE WHEN r.comments_known THEN ARRAY(
                SELECT c.new FROM unnest(told.thread) WITH ORDINALITY AS t (comment, position)
                JOIN map_comments c ON c.old = t.comment ORDER BY t.position) ELSE '{{}}' END AS comments,
            r.id = ANY(%(wrong)s) AS is_wrong, i.id IN (SELECT id FROM fetched_issues) AS is_fetched,
            home.github_id IS NULL AS is_upload, NULL::bigint AS new, false AS is_new
        FROM json_populate_recordset(NULL::ingest_snapshot, %(rows)s) AS r
        JOIN json_to_recordset(%(rows)s) AS told (id bigint, thread bigint[]) ON told.id = r.id
        JOIN map_issues m ON m.old = r.issue_id JOIN ingest_issue i ON i.id = m.new
        JOIN ingest_repository home ON home.id = i.repository_id;
        UPDATE told_states r SET new = (
            SELECT s.id FROM ingest_snapshot s WHERE {FITTING}
            ORDER BY {TOLD_ALIKE} DESC, {TOLD_BY_GITHUB} DESC, {SAME_METADATA} DESC, s.id DESC LIMIT 1);
        UPDATE told_states r SET new = kept.id, is_new = true
        FROM (SELECT old, nextval(pg_get_serial_sequence('ingest_snapshot', 'id')) AS id
              FROM (SELECT r.id AS old FROM told_states r
                    WHERE new IS NULL AND NOT is_wrong AND (NOT is_fetched OR EXISTS (
                        SELECT FROM ingest_snapshot s WHERE s.issue_id = r.issue AND s.sha256 = r.sha256))
                    ORDER BY r.id) missing) kept
        WHERE kept.old = r.id
        """,  # noqa: S608
        {
            "rows": as_array(batch),
            "wrong": [row["id"] for row in wrong],
            "from_github": list(FetchRun.FROM_GITHUB),
        },
    )


def _hold_fetched_issues(cursor: Any, user: User) -> None:
    """The stored issues of fetched repositories to which this person's files add nothing; none for FETCHERS."""
    cursor.execute(
        """
        CREATE TEMP TABLE IF NOT EXISTS fetched_issues (id bigint PRIMARY KEY) ON COMMIT DROP; TRUNCATE fetched_issues;
        INSERT INTO fetched_issues
        SELECT DISTINCT i.id FROM map_issues m JOIN ingest_issue i ON i.id = m.new
        JOIN ingest_repository r ON r.id = i.repository_id
        WHERE NOT %s AND r.github_id IS NOT NULL AND i.id NOT IN (SELECT id FROM made_issues)
        """,
        [may_use_tokens(user)],
    )


def _hold_issues_of_others(cursor: Any, user: User) -> None:
    """The issues of which this person's file tells nothing but states: of repositories fetched or uploaded by others.

    For FETCHERS those alone that people read who may not read their private repository, and those of an upload that
    others read and that is private in the file. Stored issues are held, so that no fetch makes their repository
    GitHub's until this is committed.
    """
    cursor.execute(
        f"""
        CREATE TEMP TABLE IF NOT EXISTS issues_of_others (id bigint PRIMARY KEY) ON COMMIT DROP;
        TRUNCATE issues_of_others;
        SELECT FROM ingest_issue WHERE id IN (SELECT new FROM map_issues) AND id NOT IN (SELECT id FROM made_issues)
        ORDER BY repository_id, number FOR KEY SHARE;
        INSERT INTO issues_of_others
        SELECT DISTINCT i.id FROM map_issues m JOIN ingest_issue i ON i.id = m.new
        JOIN ingest_repository r ON r.id = i.repository_id
        JOIN map_repositories home ON home.new = r.id
        WHERE NOT %s AND (r.github_id IS NOT NULL OR r.added_by_id IS DISTINCT FROM %s)
            OR r.github_id IS NULL AND home.is_private AND {READ_BY_SOMEONE_ELSE}
        """,  # noqa: S608
        [may_use_tokens(user), user.pk, user.pk],
    )
    cursor.execute(
        "SELECT i.repository_id, array_agg(i.id) FROM map_issues m JOIN ingest_issue i ON i.id = m.new "
        "JOIN ingest_repository r ON r.id = i.repository_id WHERE r.private GROUP BY i.repository_id"
    )
    read = [pk for home, ids in cursor.fetchall() for pk in issues_read_by_strangers(home, ids)]
    cursor.execute("INSERT INTO issues_of_others SELECT unnest(%s::bigint[]) ON CONFLICT DO NOTHING", [read])


def _withheld(cursor: Any) -> str:
    cursor.execute("SELECT issue FROM told_states WHERE is_fetched AND new IS NULL LIMIT 1")
    row = cursor.fetchone()
    return Issue.objects.select_related("repository").get(pk=row[0]).identifier if row else ""


def store_closing_changes(user: User, lines: Iterable[bytes]) -> None:
    """Keeps what closed the issues of which nobody here was told; then the issues are whole and wait to be found.

    Issues that others fetched or uploaded take nothing from this file, not even that nothing closed them or that GitHub
    was asked for them. Call it after `store_snapshots`.
    """
    with connection.cursor() as cursor:
        _hold_issues_of_others(cursor, user)
        for batch in batches(lines):
            cursor.execute(
                f"""
                INSERT INTO ingest_closingchange (issue_id, kind, identifier, number, title, html_url, author_login,
                    created_at, merged_at, additions, deletions, n_files, paths, path_additions, path_deletions, closes)
                SELECT i.id, r.kind, r.identifier, r.number, r.title,
                    {OWN_ADDRESS.format("r.html_url")}, r.author_login, r.created_at,
                    r.merged_at, r.additions, r.deletions, r.n_files, r.paths, coalesce(r.path_additions, '{{}}'),
                    coalesce(r.path_deletions, '{{}}'), coalesce(r.closes, true)
                FROM json_populate_recordset(NULL::ingest_closingchange, %s) AS r
                JOIN map_issues m ON m.old = r.issue_id JOIN ingest_issue i ON i.id = m.new
                JOIN ingest_repository home ON home.id = i.repository_id
                WHERE (i.id IN (SELECT id FROM made_issues) OR NOT i.changes_known)
                    AND i.id NOT IN (SELECT id FROM issues_of_others) AND r.kind IN ('pull_request', 'commit')
                ORDER BY r.id ON CONFLICT (issue_id, identifier) DO NOTHING
                """,  # noqa: S608
                [as_array(batch)],
            )
        cursor.execute(
            """
            UPDATE ingest_issue i SET current_snapshot_id = coalesce(
                (SELECT s.new FROM map_snapshots s WHERE s.old = m.current),
                (SELECT max(s.id) FROM ingest_snapshot s WHERE s.issue_id = i.id))
            FROM map_issues m WHERE m.new = i.id AND i.id IN (SELECT id FROM made_issues);
            UPDATE ingest_issue SET changes_known = false, checked_at = NULL
            WHERE id IN (SELECT id FROM made_issues) AND id IN (SELECT id FROM issues_of_others);
            INSERT INTO ingest_unsearchable (issue_id) SELECT id FROM made_issues ON CONFLICT DO NOTHING;
            UPDATE ingest_repository SET is_counted = false WHERE id IN (SELECT new FROM map_repositories);
            """
        )


def store_activities(lines: Iterable[bytes]) -> None:
    """Keeps events, reactions and types of issues of which nobody here was told.

    Call it after `store_closing_changes`, which knows the issues that take nothing from this file.

    It raises Invalid for what has another form than sources give.
    """
    with connection.cursor() as cursor:
        for batch in batches(lines):
            told = [{"issue_id": row.get("issue_id"), "told": _activity(row)} for row in _rows(batch)]
            cursor.execute(
                """
                INSERT INTO ingest_activity (issue_id, told)
                SELECT DISTINCT ON (m.new) m.new, r.told
                FROM json_populate_recordset(NULL::ingest_activity, %s) AS r
                JOIN map_issues m ON m.old = r.issue_id
                WHERE m.new NOT IN (SELECT id FROM issues_of_others)
                ORDER BY m.new ON CONFLICT (issue_id) DO UPDATE SET told = excluded.told || ingest_activity.told
                """,
                [orjson.dumps(told).decode()],
            )


def _activity(row: Row) -> dict[str, Any]:
    """What was told of an issue, as `ingest.github.rest_objects` keeps it."""
    told = row.get("told")
    found: dict[str, Any] = {}
    if not isinstance(told, Mapping):
        raise Invalid(UNREADABLE)
    try:
        if "events" in told:
            rows = [(each["kind"], each["at"], each["actor"], each["detail"]) for each in told["events"]]
            found["events"] = [event_of(EVENTS[EVENTS.index(kind)], *more) for kind, *more in rows]
        if "reactions" in told:
            counts = told["reactions"].items()
            found["reactions"] = {kind: n for kind, n in counts if kind in REACTIONS and parse_count(n)}
        if "type" in told:
            found |= type_of(told["type"] and {"name": told["type"]})
    except (KeyError, TypeError, ValueError, AttributeError, RowError) as error:
        raise Invalid(UNREADABLE) from error
    return found


def _time(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None


def _comment(row: Row) -> str:
    try:
        record = CommentRecord(
            row["author_login"], row["author_id"], row["body"], _time(row["created_at"]), row["github_id"]
        )
        return record.sha256
    except (KeyError, TypeError, ValueError) as error:
        raise Invalid("A comment in the file can't be read.") from error


def _snapshot(row: Row, hashes: Mapping[int, str]) -> str:
    try:
        return content_digest(
            title=row["title"],
            body=row["body"],
            state=row["state"],
            state_reason=row["state_reason"],
            github_labels=row["github_labels"],
            author=row["author_id"] or row["author_login"],
            comments=[hashes[pk] for pk in row["thread"]] if row["comments_known"] else None,
        )
    except (KeyError, TypeError, ValueError) as error:
        raise Invalid("An issue snapshot in the file can't be read.") from error


def _hashes(pks: set[int]) -> dict[int, str]:
    """The hashes of comments by their ids in the file."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT m.old, c.sha256 FROM map_comments m JOIN ingest_comment c ON c.id = m.new WHERE m.old = ANY(%s)",
            [sorted(pks)],
        )
        return dict(cursor.fetchall())


def _refuse_unless_here(statement: str, wrong: Sequence[tuple[int, str]]) -> None:
    """A content that has not its hash would pass for another one later; what is here already is not taken from it.

    The statement finds, by hashes, what is here: the id of the issue in the file, or 0, and the hash.
    """
    if not wrong:
        return
    with connection.cursor() as cursor:
        cursor.execute(statement, [[sha256 for _, sha256 in wrong]])
        here = set(cursor.fetchall())
    if missing := [sha256 for each in wrong if each not in here for sha256 in each[1:]]:
        raise Invalid(OTHER_CONTENT.format(missing[0][:12]))
