"""Access to runs and issues: from a user and a URL to a row, or 404."""

from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from django.core.exceptions import EmptyResultSet
from django.db import connection

from accounts.models import User
from ingest.errors import Conflict, Invalid, Moved, NotFound
from ingest.identifiers import full_name, parse_identifier, parse_repository
from ingest.models import FetchRun, Issue, Repository, Snapshot, Upload, Viewer, lower_name, names_after


def get_run(user: Viewer, run_id: int) -> FetchRun:
    """A run the user started (staff: any); raises NotFound."""
    run: FetchRun | None = (
        FetchRun.objects.visible_to(user).select_related("repository", "created_by").filter(pk=run_id).first()
    )
    if run is None:
        raise NotFound("Fetch not found, or it belongs to someone else.")
    return run


def get_upload(user: Viewer, upload_id: int) -> Upload:
    """A table that the user uploaded and that waits for its columns; raises NotFound."""
    upload = Upload.objects.filter(pk=upload_id, created_by=user.pk).first()
    if upload is None:
        raise NotFound("Upload not found. It may have been imported or discarded.")
    return upload


def get_repository(user: Viewer, repository: str) -> Repository:
    """A repository the user may see; raises NotFound, and of that Moved where it has another name now."""
    try:
        host, owner, name = parse_repository(repository)
    except Invalid as error:
        raise NotFound(f"{repository} is not a repository.") from error
    found: Repository | None = Repository.objects.visible_to(user).named(host, owner, name).first()
    if found is None:
        moved = Repository.objects.visible_to(user).renamed_from(host, owner, name).first()
        if moved is not None:
            raise _moved(repository, moved)
        raise NotFound(f"{repository} is not stored here, or you don't have access.")
    return found


def _moved(asked: str, now: Repository) -> Moved:
    return Moved(f"{asked} has another name now: {now.full_name}.", (now.host, now.owner, now.name))


def hold_repositories(issues: Any) -> list[int]:
    """Has whoever makes repositories of these issues (a query) private wait until the commit; the repositories' ids.

    Take issues into a study only by what is read afterwards: a fetch that made one private before is seen, and one that
    waits finds which issues people read. Call it in a transaction; one query.
    """
    try:
        sql, parameters = issues.order_by().values_list("repository").query.sql_with_params()
    except EmptyResultSet:
        return []
    with connection.cursor() as cursor:
        # The weakest lock: only FOR UPDATE waits for it, not what counts or stores issues.
        cursor.execute(
            f"SELECT id FROM ingest_repository WHERE id IN ({sql}) ORDER BY id FOR KEY SHARE",  # noqa: S608
            parameters,
        )
        return [pk for (pk,) in cursor.fetchall()]


def require_readable(user: User, issues: Any) -> None:
    """Holds the repositories of issues (a query) until the commit. Raises Conflict if the user may not see one of them.

    Two queries.
    """
    held = hold_repositories(issues)
    if Repository.objects.visible_to(user).filter(pk__in=held).count() < len(held):
        raise Conflict(
            "A repository of these issues became private at GitHub a moment ago, and you can’t read it any more. "
            "Try again without its issues.",
            code="became_private",
        )


def get_issue(user: Viewer, repository: str, number: int, *, at: str = "") -> Issue:
    """An issue the user may see, with its repository and current snapshot; raises NotFound and Moved.

    With `at` (a SHA-256, its beginning, or the key of a snapshot) it is enough that the user may read one of that hash.
    """
    try:
        host, owner, name = parse_repository(repository)
    except Invalid as error:
        raise NotFound(f"{repository} is not a repository, so it has no issue here.") from error
    readable = [Issue.objects.visible_to(user), *([Issue.objects.read_at(user, at.partition(".")[0])] if at else [])]
    issue: Issue | None = None
    for issues in readable:
        found = issues.identified(host, owner, name, number)
        issue = issue or found.select_related("repository", "current_snapshot", "activity").first()
    if issue is None:
        renamed = Repository.objects.renamed_from(host, owner, name)
        for issues in readable:
            if moved := issues.filter(repository__in=renamed, number=number).select_related("repository").first():
                raise _moved(repository, moved.repository)
    if issue is None or issue.current_snapshot is None:
        raise NotFound(f"{repository}#{number} is not stored here, or you don't have access.")
    return issue


def present_identifiers(names: Iterable[str]) -> dict[str, str]:
    """The present identifiers of issues called by a name that their repository had before; one query at most."""
    read = {}
    for name in names:
        with suppress(Invalid):
            read[name] = parse_identifier(name)
    present = names_after({each[:3] for each in read.values()}) if read else {}
    found = {}
    for name, (host, owner, title, number) in read.items():
        if now := present.get(lower_name((host, owner, title))):
            found[name] = f"{full_name(*now)}#{number}"
    return found


def get_snapshot(user: Viewer, issue: Issue, sha256: str) -> Snapshot:
    """A snapshot that the user may read, by its SHA-256 or its first characters, eight at least; raises NotFound."""
    found: Snapshot | None = None
    if 8 <= len(sha256) <= 64 and sha256.isascii() and sha256.isalnum():
        found = issue.snapshots.named(user, sha256)
    if found is None:
        raise NotFound(f"{issue.identifier} has no such snapshot.")
    return found
