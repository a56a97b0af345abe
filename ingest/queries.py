"""What is read of repositories, runs and issues."""

from typing import Any

from django.contrib.postgres.search import SearchQuery
from django.db.models import OuterRef, QuerySet, Subquery

from ingest.errors import Invalid
from ingest.identifiers import parse_repository
from ingest.models import FetchRun, Issue, Repository, Snapshot, Viewer, searched_text

REFUSALS_KEPT = 10_000


def issues(
    user: Viewer, *, repository: str = "", state: str = "", label: str = "", search: str = ""
) -> QuerySet[Issue]:
    """Issues the user may see, for lists (without bodies), newest arrival first; raises Invalid for a bad repository.

    `search` is words as in a search engine ("quoted phrases", -without, or), or a number. One query when read.
    """
    found = Issue.objects.visible_to(user).filter(current_snapshot__isnull=False).with_titles()
    if repository:
        host, owner, name = parse_repository(repository)
        found = found.filter(repository__in=Repository.objects.named(host, owner, name).values("pk"))
    if state not in {"", "all", "open", "closed"}:
        raise Invalid("There is no such state.", fields={"state": ["Choose open, closed or all."]})
    if state in {"open", "closed"}:
        found = found.filter(current_snapshot__state=state)
    if label:
        found = found.filter(current_snapshot__github_labels__contains=[label.replace("\x00", "")])
    text = search.replace("\x00", " ").strip()
    number = text.removeprefix("#")
    if number.isascii() and number.isdigit() and len(number) <= 9:
        found = found.filter(number=int(number))
    elif text:
        words = SearchQuery(text, config="english", search_type="websearch")
        found = found.alias(searched=searched_text("current_snapshot__")).filter(searched=words)
    return found.order_by("-pk")


def repositories(user: Viewer) -> QuerySet[Any]:
    """Repositories the user may see, with `last_run_id` (of the runs the user may see), by name; one query."""
    newest = FetchRun.objects.visible_to(user).filter(repository=OuterRef("pk")).order_by("-pk").values("pk")[:1]
    return Repository.objects.visible_to(user).annotate(last_run_id=Subquery(newest)).order_by("owner", "name", "pk")


def runs(user: Viewer) -> QuerySet[FetchRun]:
    """The runs the user may see, newest first, with repository and who."""
    found: Any = FetchRun.objects.visible_to(user)
    return found.select_related("repository", "created_by").order_by("-pk")


def run_as_document(run: FetchRun, *, refusals_most: int = 100) -> dict[str, Any]:
    """A run as the API and the command show it, with its first refusals; one query."""
    counts = ("seen", "new", "changed", "unchanged", "refused", "pull_requests", "comments", "requests", "expected")
    return {
        "id": run.pk,
        "kind": run.kind,
        "repository": run.repository.full_name if run.repository else run.requested.get("repository"),
        "file": run.requested.get("file"),
        "requested": {key: run.requested.get(key) for key in ("state", "labels", "since")},
        "state": run.state,
        "waiting_until": run.waiting_until,
        "error": run.error,
        **{f"n_{name}": getattr(run, f"n_{name}") for name in counts},
        "created_by": run.created_by.username if run.created_by else None,
        "created_at": run.created_at,
        "started_at": run.started_at,
        "finished_at": run.finished_at,
        "refusals": list(run.refusals.values("line", "reason", "row")[:refusals_most]) if refusals_most else [],
    }


def issue_as_line(issue: Issue, snapshot: Snapshot | None = None) -> dict[str, Any]:
    """An issue without its text, as the API shows it; `snapshot` defaults to the current one. No query."""
    snapshot = snapshot or issue.current_snapshot
    assert snapshot is not None
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
        "updated_at": snapshot.updated_at,
        "closed_at": snapshot.closed_at,
        "html_url": snapshot.html_url,
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
