"""Repositories of a batch: the run's own for GitHub, found by name for files of their uploader."""

from collections.abc import Iterable, Sequence
from itertools import chain, count

from django.db.models import Q

from accounts.permissions import is_fetcher
from ingest.identifiers import full_name
from ingest.models import (
    Activity,
    ClosingChange,
    FetchRun,
    FormerName,
    Issue,
    Repository,
    Validator,
    forget_history,
)
from ingest.records import IssueRecord
from ingest.totals import expect_other_totals

Key = tuple[str, str, str]
LONGEST_BASE = 80
"""Characters of a name that leave room for what is added to it."""
OPEN = (
    "{} is open to everyone who signs in here, and these issues would be, too. Upload them as not private, "
    "or under another repository name."
)
SHARED = (
    "Other people read {} here, and they would read these issues, too. Upload them as not private, or under "
    "another repository name."
)

UPLOADED = (
    "Only the person who uploaded {0}, and staff, can add to it or change it. Upload the file under another "
    "repository name, or ask the server's operator."
)


def repository_by_name(run: FetchRun, key: Key, *, private: bool) -> Repository:
    """The repository of that name, made if need be."""
    host, owner, name = key
    Repository.objects.bulk_create(
        [Repository(host=host, owner=owner, name=name, private=private, added_by=run.created_by)], ignore_conflicts=True
    )
    return Repository.objects.named(host, owner, name).get()


def rename(repository: Repository, now: Key) -> None:
    """Gives a repository its present name, which the caller saves in the same transaction, and keeps the former one."""
    before = (repository.host, repository.owner, repository.name)
    repository.host, repository.owner, repository.name = now
    keep_former_name(repository, before)


def keep_former_name(repository: Repository, former: Key) -> None:
    """Lets a name lead to the repository that has another one now; whose former name it was, it is no longer."""
    host, owner, name = former
    present = (repository.host, repository.owner, repository.name)
    if tuple(part.lower() for part in former) != tuple(part.lower() for part in present):
        FormerName.objects.filter(host__iexact=host, owner__iexact=owner, name__iexact=name).delete()
        FormerName.objects.bulk_create(
            [FormerName(repository=repository, host=host, owner=owner, name=name)], ignore_conflicts=True
        )


def is_claimed(repository: Repository) -> bool:
    """Whether someone's files alone made it who may not read all that the server's tokens can."""
    brought = {user for user in (repository.added_by, *repository.readers.all()) if user is not None}
    return repository.github_id is None and not all(is_fetcher(user) for user in brought)


def step_aside(repository: Repository) -> None:
    """Gives a repository that files made another name: GitHub's of that name is private, or is stored under its former.

    Its uploader keeps it, and so do the studies that use it. Nothing that GitHub says of the other one is
    stored there, and the name leads there no more.
    """
    base = f"{repository.name[:LONGEST_BASE]}-uploaded"
    owned = Repository.objects.filter(host__iexact=repository.host, owner__iexact=repository.owner)
    taken = {name.lower() for name in owned.filter(name__istartswith=base).values_list("name", flat=True)}
    names = chain([base], (f"{base}-{n}" for n in count(2)))
    repository.name = next(name for name in names if name.lower() not in taken)
    repository.save(update_fields=["name"])


def hold_issues(repository: Repository) -> None:
    """Locks the issues of a repository before the repository itself, in the order of all who store."""
    list(Issue.objects.filter(repository=repository).order_by("number").select_for_update().values_list("pk"))


def forget_changes(repository: Repository) -> None:
    """Deletes what is stored of changes that closed issues of a repository, and of their events, reactions and types.

    None of it is known then until GitHub tells it, and none of the issues was looked for there.
    """
    ClosingChange.objects.filter(issue__repository=repository).delete()
    Activity.objects.filter(issue__repository=repository).delete()
    told = Q(changes_known=True) | Q(checked_at__isnull=False)
    Issue.objects.filter(told, repository=repository).update(changes_known=False, checked_at=None)
    expect_other_totals([repository.pk])


def forget_others(repository: Repository) -> None:
    """Drops what may name other private repositories beside the issues of one that becomes public.

    The next fetch reads all of it again and stores what everyone may know. A check brings places of issues. What is
    stored elsewhere goes last: who stores more of it waits for this repository's row, and then sees that it is public.
    """
    forget_changes(repository)
    Issue.objects.filter(repository=repository).exclude(moved_to="").update(moved_to="")
    Validator.objects.filter(repository=repository).delete()
    repository.complete_until = None
    repository.save(update_fields=["complete_until"])
    forget_history(repository.pk)


def repositories_of(run: FetchRun, records: Sequence[IssueRecord]) -> dict[Key, Repository]:
    """The repository of each name in lower case. Those of a file that are missing are created, for its uploader.

    What GitHub says goes into the repository that the run is about, whatever its name is by now.
    """
    wanted = {record.repository: record for record in records}
    if run.kind != FetchRun.Kind.FILE:
        assert run.repository is not None
        return dict.fromkeys(wanted, run.repository)
    found = _find(wanted)
    if missing := [record for key, record in sorted(wanted.items()) if key not in found]:
        made = [
            Repository(host=r.host, owner=r.owner, name=r.name, private=_is_private(run), added_by=run.created_by)
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


def split_allowed(
    run: FetchRun, records: Sequence[IssueRecord], repositories: dict[Key, Repository]
) -> tuple[list[IssueRecord], list[tuple[IssueRecord, str]]]:
    """Records that a file may write where they belong, and the others with the reason.

    Nobody writes into what someone else uploaded, or into a private repository that they may not read. What is
    uploaded privately goes nowhere where other people would read it.
    """
    if run.kind != FetchRun.Kind.FILE:
        return list(records), []
    reasons = _faults_of_uploaders(run, repositories.values()) | _faults_of_readers(run, repositories.values())
    if _is_private(run):
        reasons = _faults_of_privacy(run, [row.pk for row in repositories.values()]) | reasons
    allowed: list[IssueRecord] = []
    refused: list[tuple[IssueRecord, str]] = []
    for record in records:
        if reason := reasons.get(repositories[record.repository].pk):
            refused.append((record, reason.format(full_name(record.host, record.owner, record.name))))
        else:
            allowed.append(record)
    return allowed, refused


def _is_private(run: FetchRun) -> bool:
    """Whether what a file brings is private: unless its uploader chose otherwise."""
    return run.requested.get("private") is not False


def _faults_of_readers(run: FetchRun, repositories: Iterable[Repository]) -> dict[int, str]:
    """Why a file's owner may not write into private repositories, by the repository's id."""
    private = {row.pk for row in repositories if row.private}
    if not private or run.created_by is None:
        return {}
    readable = Repository.objects.visible_to(run.created_by).filter(pk__in=private)
    hidden = private - set(readable.values_list("pk", flat=True))
    return dict.fromkeys(hidden, "You may not add to {} here. Ask the server's operator.")


def _faults_of_uploaders(run: FetchRun, repositories: Iterable[Repository]) -> dict[int, str]:
    """Why a file's owner may not add to what others uploaded, by the repository's id: who may open it may add to it."""
    user = run.created_by
    if run.is_unrestricted or user is None or user.is_staff:
        return {}
    return {row.pk: UPLOADED for row in repositories if row.github_id is None and row.added_by_id != user.pk}


def _faults_of_privacy(run: FetchRun, ids: Iterable[int]) -> dict[int, str]:
    """Why what is uploaded privately can't be stored in repositories, by the repository's id.

    They are held until the batch is stored, so that none is opened meanwhile.
    """
    held = Repository.objects.select_for_update(no_key=True).filter(pk__in=list(ids)).order_by("pk")
    is_private = dict(held.values_list("pk", "private"))
    through = Repository.readers.through.objects.filter(repository_id__in=is_private)
    others = through.exclude(user_id=run.created_by_id) if run.created_by_id else through
    shared = set(others.values_list("repository_id", flat=True))
    return {pk: SHARED if private else OPEN for pk, private in is_private.items() if not private or pk in shared}


def _find(keys: Iterable[Key]) -> dict[Key, Repository]:
    """The repositories that have these names, or had them before; one query, two where one has none of them now."""
    wanted = {(host.lower(), owner.lower(), name.lower()) for host, owner, name in keys}
    found = {_key(row): row for row in Repository.objects.filter(_named(wanted))}
    if missing := wanted - found.keys():
        former = FormerName.objects.filter(_named(missing)).select_related("repository")
        found |= {_key(row): row.repository for row in former}
    return found


def _named(keys: Iterable[Key]) -> Q:
    condition = Q(pk__in=[])
    for host, owner, name in keys:
        condition |= Q(host__iexact=host, owner__iexact=owner, name__iexact=name)
    return condition


def _key(row: Repository | FormerName) -> Key:
    return row.host.lower(), row.owner.lower(), row.name.lower()
