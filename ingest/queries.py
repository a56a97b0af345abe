"""Queries on repositories, runs, and issues."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import MD5, Left, Length

from accounts.models import User
from ingest.differences import CHARACTERS_COMPARED, DiffComment, Difference, State, difference
from ingest.errors import Conflict, Invalid
from ingest.identifiers import parse_repository
from ingest.models import (
    ClosingChange,
    Comment,
    FetchRun,
    Issue,
    Refusal,
    Repository,
    Snapshot,
    SnapshotComment,
    Upload,
    Viewer,
)
from ingest.search import conditions
from ingest.search.grammar import LONGEST_SEARCH, Search, SearchError, read_search
from ingest.search.suggestions import Suggestion, suggest

REFUSALS_KEPT = 100_000
REFUSALS_AT_ONCE = 500
COUNTED_MOST = 1_000
ROW_SHOWN = 4_000
SNAPSHOTS_LISTED = 1_000
ASKED = ("state", "labels", "since", "numbers", "columns", "sheet", "number_rows")
UNSEARCHABLE_COUNTED = 10_000
REPOSITORIES_SUGGESTED = 500
WAITING_MOST = 2_000
"""Issues that are not indexed yet and whose texts are read for a list."""


def issues(
    user: Viewer,
    *,
    repository: str = "",
    state: str = "",
    label: str = "",
    search: str = "",
    changes: str = "",
    presence: str = "",
    is_complete: bool = False,
) -> QuerySet[Issue]:
    """Issues the user may see, for lists (without bodies), in the order of `issue_order`; raises Invalid.

    A name that the repository had before finds it, too. `search` is read by `ingest.search.grammar`. One query when
    read; at once one for what waits to be indexed and one to three of the index where there are words, and one or two
    for a repository, labels or logins.
    Of issues that wait to be indexed, words find those among the newest WAITING_MOST; `n_not_searched` says how many
    more there are, and with `is_complete` they raise Conflict.
    """
    found: QuerySet[Issue] = Issue.objects.visible_to(user).with_titles().filter(current_snapshot__isnull=False)
    stored = Repository.objects.partly_visible_to(user)
    named: list[int] = []
    if repository:
        host, owner, name = parse_repository(repository)
        # The key and not a subquery: the planner then knows how many issues the repository has.
        named = list(stored.called(host, owner, name).values_list("pk", flat=True))
        found = found.filter(repository__in=named)
    if state not in {"", "all", "open", "closed"}:
        raise Invalid("State not valid.", fields={"state": ["Choose open, closed or all."]})
    if state in {"open", "closed"}:
        found = found.filter(current_snapshot__state=state)
    if changes not in {"", "yes", "no"}:
        raise Invalid("Choice not valid.", fields={"changes": ["Choose yes or no."]})
    if changes:
        is_closed_by = Exists(ClosingChange.objects.filter(issue=OuterRef("pk"), closes=True))
        found = found.filter(is_closed_by if changes == "yes" else Q(changes_known=True) & ~is_closed_by)
    if presence and presence not in Issue.Presence.values:
        sentence = f"Choose one of {', '.join(Issue.Presence.values)}."
        raise Invalid("Choice not valid.", fields={"presence": [sentence]})
    if presence:
        found = found.filter(presence=presence)
    if label:
        found = found.filter(conditions.has_label(label.replace("\x00", "")))
    asked, words = _search_of(search), None
    found = found.filter(conditions.qualifier_condition(asked, stored))
    if asked.has_text:
        waiting = conditions.unindexed(user, WAITING_MOST + 1)
        if is_complete and len(waiting) > WAITING_MOST:
            raise Conflict(conditions.INDEX_BUILDING, code="index_building")
        late = conditions.waiting_with_words(asked, waiting[:WAITING_MOST])
        words = conditions.for_a_list(asked, late)
        found = found.filter(words.condition)
    if asked.sort:
        found = conditions.in_order(found, asked, words)
    return found.order_by(*_order_of(asked))


def _search_of(text: str) -> Search:
    try:
        return read_search(text.replace("\x00", " "))
    except SearchError as error:
        raise Invalid("Search not valid.", fields={"search": [str(error)]}) from error


def _order_of(asked: Search) -> tuple[str, ...]:
    if not asked.sort:
        return ("-pk",)
    return ("-sort_key", "-sort_place") if asked.sort.startswith("-") else ("sort_key", "sort_place")


def issue_order(search: str) -> tuple[str, ...]:
    """The columns that order what `issues` finds: the newest arrival first, unless the search has `sort:`."""
    return _order_of(_search_of(search))


def neighboring_issues(found: QuerySet[Any], pk: int, *, back: bool = False) -> QuerySet[Any]:
    """Those that come after an issue in the order of what `issues` found, or before it, the nearest first.

    One query more where the search has `sort:`; none are found beside an issue that does not fit any more.
    """
    if "sort_key" not in found.query.annotations:
        return found.filter(pk__gt=pk).order_by("pk") if back else found.filter(pk__lt=pk)
    is_rising = "sort_key" in found.query.order_by
    if (row := found.filter(pk=pk).values_list("sort_key").first()) is None:
        return found.none()
    side = "gt" if is_rising != back else "lt"
    beyond = Q(**{f"sort_key__{side}": row[0]}) | Q(sort_key=row[0], **{f"pk__{side}": pk})
    return found.filter(beyond).reverse() if back else found.filter(beyond)


def search_suggestions(user: Viewer, typed: str) -> list[Suggestion]:
    """Searches that complete what was typed, with labels and repositories that the user may see; one query."""
    stored = list(Repository.objects.visible_to(user).order_by("owner", "name", "pk")[:REPOSITORIES_SUGGESTED])
    n_of: Counter[str] = Counter()
    for repository in stored:
        n_of.update(dict(repository.github_labels or ()))
    labels = [label for label, _ in sorted(n_of.items(), key=lambda each: (-each[1], each[0]))]
    return suggest(typed[:LONGEST_SEARCH], {"label": labels, "repo": [each.full_name for each in stored]})


def n_unsearchable(at_most: int = UNSEARCHABLE_COUNTED, *, user: Viewer | None = None) -> int:
    """How many issues wait to be indexed, of those the user may see, up to `at_most`; one query."""
    return len(conditions.unindexed(user, at_most))


def n_not_searched(user: Viewer) -> int:
    """How many issues that the user may see words do not find yet, up to COUNTED_MOST + 1; one query."""
    return max(0, n_unsearchable(WAITING_MOST + COUNTED_MOST + 1, user=user) - WAITING_MOST)


@dataclass(frozen=True)
class IssueCount:
    """How many issues a list has, or (`is_more`) that it has more than so many."""

    n: int
    is_more: bool = False


def n_found(found: QuerySet[Any]) -> IssueCount:
    """How many issues `issues` found, counted up to COUNTED_MOST; one query.

    Nothing is estimated: estimates follow from all that is stored, and would tell of what is hidden from the person.
    """
    n = found.order_by().values("pk")[: COUNTED_MOST + 1].count()
    return IssueCount(min(n, COUNTED_MOST), is_more=n > COUNTED_MOST)


def repositories(user: Viewer, *, after: int | None = None) -> QuerySet[Any]:
    """Repositories the user may see, with `last_run_id` (of the runs the user may see), by name.

    `after` is the key of the repository before the first. One query, two with `after`.
    """
    newest = FetchRun.objects.visible_to(user).filter(repository=OuterRef("pk")).order_by("-pk").values("pk")[:1]
    found = Repository.objects.visible_to(user)
    if after is not None and (last := found.filter(pk=after).first()):
        later_name = Q(owner=last.owner, name__gt=last.name) | Q(owner=last.owner, name=last.name, pk__gt=last.pk)
        found = found.filter(Q(owner__gt=last.owner) | later_name)
    return found.annotate(last_run_id=Subquery(newest)).order_by("owner", "name", "pk")


def is_upload_of(repository: Repository, user: User) -> bool:
    """Whether nothing that is stored of a repository came from a fetch or from files that others uploaded; one query.

    What came with a whole study has no run: only its uploader and staff bring it.
    """
    of_runs = Snapshot.objects.filter(issue__repository=repository, run__isnull=False)
    return not of_runs.exclude(run__kind=FetchRun.Kind.FILE, run__created_by=user).exists()


def uploaders_of(repository: Repository) -> set[int]:
    """The ids of the people who brought issues of a repository in; one query."""
    brought = FetchRun.objects.filter(Exists(Snapshot.objects.filter(run=OuterRef("pk"), issue__repository=repository)))
    ids = set(brought.values_list("created_by", flat=True)) | {repository.added_by_id}
    return {user_id for user_id in ids if user_id}


@dataclass(frozen=True)
class OpenUpload:
    """A repository that came from an uploaded file and that everyone who signs in sees; none uploaded it: the shell."""

    repository: str
    uploader: str | None
    uploaded_at: datetime
    n_issues: int


def open_uploads() -> list[OpenUpload]:
    """Repositories that came from files and are open, by name; one query."""
    counted = Issue.objects.filter(repository=OuterRef("pk")).order_by().values("repository")
    found = Repository.objects.filter(private=False, github_id__isnull=True).select_related("added_by")
    found = found.annotate(n_stored=Subquery(counted.annotate(n=Count("pk")).values("n")))
    rows: Iterable[Any] = found.order_by("owner", "name", "pk")
    return [
        OpenUpload(row.full_name, row.added_by.username if row.added_by else None, row.added_at, row.n_stored or 0)
        for row in rows
    ]


def open_uploads_as_lines(uploads: Iterable[OpenUpload]) -> list[str]:
    """What the shell prints of open uploads, a line each."""
    return [
        f"  {each.repository}: {each.n_issues:,} issue{'' if each.n_issues == 1 else 's'}, uploaded by "
        f"{each.uploader or 'the shell'} on {each.uploaded_at:%Y-%m-%d}"
        for each in uploads
    ]


def runs_of(user: Viewer, repository: Repository, *, before: int | None = None) -> QuerySet[FetchRun]:
    """The runs of a repository that the user may see, newest first; only those before a key."""
    found = runs(user).filter(repository=repository)
    return found.filter(pk__lt=before) if before is not None else found


def runs(user: Viewer) -> QuerySet[FetchRun]:
    """The runs the user may see, newest first, with repository and who."""
    visible: Any = FetchRun.objects.visible_to(user)
    found: QuerySet[FetchRun] = visible.select_related("repository", "created_by").order_by("-pk")
    return found


def refusals(run: FetchRun) -> QuerySet[Refusal]:
    """Refused rows in order, with `shown` (the first ROW_SHOWN characters of the row) and `n_characters`."""
    found = run.refusals.defer("row").annotate(shown=Left("row", ROW_SHOWN), n_characters=Length("row"))
    return found.order_by("pk")


def contradictions(run: FetchRun, at_most: int) -> list[dict[str, Any]]:
    """The first values that the run's source told and that were not taken; one query, none where there are none."""
    if not (run.n_contradictions and at_most):
        return []
    found: list[Any] = list(run.contradictions.values("issue", "name", "told", "kept")[:at_most])
    return found


def uploads(user: Viewer) -> QuerySet[Upload]:
    """Tables of the user that wait for their columns, newest first; one query."""
    found: QuerySet[Upload] = Upload.objects.filter(created_by=user.pk).defer("requested").order_by("-pk")
    return found


def refused_rows(run: FetchRun) -> Iterator[tuple[int | None, str, str]]:
    """Line, reason and row of every refusal that is kept, at constant memory; one query for each five hundred."""
    last = 0
    rows = run.refusals.order_by("pk").values_list("pk", "line", "reason", "row")
    while found := list(rows.filter(pk__gt=last)[:REFUSALS_AT_ONCE]):
        last = found[-1][0]
        yield from (row[1:] for row in found)


def run_as_document(run: FetchRun, *, refusals_most: int = 100) -> dict[str, Any]:
    """A run as the API and the command show it, with its first refusals and contradictions; two queries at most."""
    counts = (
        "seen", "new", "changed", "unchanged", "refused", "contradictions", "pull_requests", "comments",
        "closing_changes",
    )  # fmt: skip
    spent = ("requests", "unchanged_answers", "requests_left", "expected", "bytes", "bytes_read")
    return {
        "id": run.pk,
        "kind": run.kind,
        "repository": run.named_repository.full_name if run.named_repository else run.requested.get("repository"),
        "file": run.requested.get("file"),
        "requested": {key: run.requested.get(key) for key in ASKED} | {"what": run.what},
        "state": run.state,
        "waiting_until": run.waiting_until,
        "error": run.error,
        **{f"n_{name}": getattr(run, f"n_{name}") for name in (*counts, *spent)},
        "seconds_left": None if run.seconds_left is None else round(run.seconds_left),
        "created_by": run.created_by.username if run.created_by else None,
        "created_at": run.created_at,
        "started_at": run.started_at,
        "finished_at": run.finished_at,
        "refusals": list(run.refusals.values("line", "reason", "row")[:refusals_most]) if refusals_most else [],
        "contradictions": contradictions(run, refusals_most),
    }


def issue_as_line(issue: Issue, snapshot: Snapshot | None = None) -> dict[str, Any]:
    """An issue without its text, as the API shows it; `snapshot` defaults to the current one. No query."""
    snapshot = snapshot or issue.current_snapshot
    assert snapshot is not None
    is_current = snapshot.pk == issue.current_snapshot_id
    return {
        "item": issue.identifier,
        "repository": issue.repository.full_name,
        "number": issue.number,
        "title": snapshot.title,
        "state": snapshot.state,
        "state_reason": snapshot.state_reason,
        "labels": snapshot.github_labels,
        "author": snapshot.author_login,
        "n_comments": snapshot.n_comments,
        "created_at": snapshot.created_at,
        "updated_at": (issue.updated_at if is_current else None) or snapshot.updated_at,
        "closed_at": snapshot.closed_at,
        "html_url": issue.address_of(snapshot),
        "author_association": issue.author_association,
        "snapshot": snapshot.sha256,
    }


def issue_as_document(issue: Issue, snapshot: Snapshot | None = None) -> dict[str, Any]:
    """An issue with body and comments (null where they are not known), as the API shows it. One query."""
    snapshot = snapshot or issue.current_snapshot
    assert snapshot is not None
    thread = None
    if snapshot.comments_known:
        rows = snapshot.thread().values_list("author_login", "body", "created_at")
        thread = [{"author": author, "body": body, "created_at": when} for author, body, when in rows]
    return issue_as_line(issue, snapshot) | {"body": snapshot.body, "locked": snapshot.locked, "comments": thread}


def issue_with_history(user: Viewer, issue: Issue, snapshot: Snapshot | None = None) -> dict[str, Any]:
    """`issue_as_document` with what closed it (null: no source told), where it is, and snapshots for this user.

    Three queries.
    """
    columns = (
        "kind", "identifier", "number", "title", "html_url", "author_login", "created_at", "merged_at", "closes",
        "additions", "deletions", "n_files", "paths", "path_additions", "path_deletions",
    )  # fmt: skip
    changes = [{name: getattr(row, name) for name in columns} for row in closing_changes(issue)]
    snapshots = issue.snapshots.visible_to(user).order_by("-pk").values("sha256", "fetched_at")[:SNAPSHOTS_LISTED]
    found = issue_as_document(issue, snapshot) | {
        "presence": issue.presence,
        "moved_to": issue.moved_to,
        "checked_at": issue.checked_at,
        "closing_changes": changes if issue.changes_known else None,
        **activity(issue),
        "snapshots": list(snapshots),
    }
    return found if issue.locked is None else found | {"locked": issue.locked}


def activity(issue: Issue) -> dict[str, Any]:
    """Events, reactions and type of an issue; null where no source told them. No query if they were selected along."""
    told = issue.activity.told if hasattr(issue, "activity") else {}
    return {name: told.get(name) for name in ("events", "reactions", "type")}


def repository_as_document(repository: Repository) -> dict[str, Any]:
    """A repository with what is stored of it, as it was last counted (null: not yet). No query."""
    totals = ("n_issues", "n_open", "n_comments", "n_closing_changes")
    return {
        "repository": repository.full_name,
        "private": repository.private,
        "complete_until": repository.complete_until,
        **{name: getattr(repository, name) for name in totals},
    }


def closing_changes(issue: Issue) -> list[ClosingChange]:
    """What closed an issue, as the source last told, in the order it was merged; one query, none where none told."""
    if not issue.changes_known:
        return []
    changes = ClosingChange.objects.filter(issue=issue)
    return list(changes.order_by(F("merged_at").asc(nulls_last=True), "pk"))


def snapshot_difference(old: Snapshot, new: Snapshot) -> Difference:
    """What became of one state of an issue in another; two queries, for the comments of both and for texts."""
    threads: dict[int, list[DiffComment]] = {old.pk: [], new.pk: []}
    rows = SnapshotComment.objects.filter(snapshot__in=threads).order_by("snapshot_id", "position")
    told = ("comment__github_id", "comment__author_login", MD5("comment__body"), "comment__created_at", "comment_id")
    for snapshot, *said in rows.values_list("snapshot_id", *told):
        threads[snapshot].append(DiffComment(*said))
    return difference(_state_of(old, threads[old.pk]), _state_of(new, threads[new.pk]), _texts)


def _texts(comments: Sequence[DiffComment]) -> dict[int, str]:
    if not comments:
        return {}
    found = Comment.objects.filter(pk__in=[said.key for said in comments]).order_by()
    return dict(found.values_list("pk", Left("body", CHARACTERS_COMPARED + 1)))


def _state_of(snapshot: Snapshot, thread: list[DiffComment]) -> State:
    return State(
        title=snapshot.title,
        body=snapshot.body,
        state=snapshot.state,
        state_reason=snapshot.state_reason,
        labels=snapshot.github_labels,
        author=snapshot.author_login,
        comments=thread if snapshot.comments_known else None,
        created_at=snapshot.created_at,
        closed_at=snapshot.closed_at,
        n_comments=snapshot.n_comments,
    )
