"""What is read of repositories, runs and issues."""

from typing import Any

from django.contrib.postgres.search import SearchQuery
from django.db.models import OuterRef, QuerySet, Subquery

from ingest.identifiers import full_name, parse_identifier, parse_repository
from ingest.models import FetchRun, Issue, Repository, Viewer, searched_text

__all__ = ["full_name", "issues", "parse_identifier", "parse_repository", "repositories", "runs"]


def issues(
    user: "Viewer", *, repository: str = "", state: str = "", label: str = "", search: str = ""
) -> QuerySet[Issue]:
    """Issues the user may see, for lists (without bodies), newest arrival first; raises Invalid for a bad repository.

    `search` is words as in a search engine ("quoted phrases", -without, or), or a number. One query when read.
    """
    found = Issue.objects.visible_to(user).filter(current_snapshot__isnull=False).with_titles()
    if repository:
        host, owner, name = parse_repository(repository)
        found = found.filter(repository__in=Repository.objects.named(host, owner, name).values("pk"))
    if state:
        found = found.filter(current_snapshot__state=state.lower())
    if label:
        found = found.filter(current_snapshot__github_labels__contains=[label])
    text = search.replace("\x00", " ").strip()
    number = text.removeprefix("#")
    if number.isascii() and number.isdigit() and len(number) <= 9:
        found = found.filter(number=int(number))
    elif text:
        words = SearchQuery(text, config="english", search_type="websearch")
        found = found.alias(searched=searched_text("current_snapshot__")).filter(searched=words)
    return found.order_by("-pk")


def repositories(user: "Viewer") -> QuerySet[Repository]:
    """Repositories the user may see, with `last_run_id` (of the runs the user may see), by name; one query."""
    newest = FetchRun.objects.visible_to(user).filter(repository=OuterRef("pk")).order_by("-pk").values("pk")[:1]
    return Repository.objects.visible_to(user).annotate(last_run_id=Subquery(newest)).order_by("owner", "name", "pk")


def runs(user: "Viewer") -> QuerySet[FetchRun]:
    """The runs the user may see, newest first, with repository and who."""
    found: Any = FetchRun.objects.visible_to(user)
    return found.select_related("repository", "created_by").order_by("-pk")
