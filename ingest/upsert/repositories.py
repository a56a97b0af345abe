"""The repositories that a batch names: found whatever their case, made if need be, kept from whom they are not for."""

from collections.abc import Iterable, Sequence

from django.db.models import Q

from ingest.identifiers import full_name
from ingest.models import FetchRun, Repository
from ingest.records import IssueRecord

Key = tuple[str, str, str]


def repository_named(run: FetchRun, key: Key, *, private: bool) -> Repository:
    """The repository of that name, made if need be."""
    host, owner, name = key
    Repository.objects.bulk_create(
        [Repository(host=host, owner=owner, name=name, private=private, added_by=run.created_by)], ignore_conflicts=True
    )
    return Repository.objects.named(host, owner, name).get()


def repositories_of(run: FetchRun, records: Sequence[IssueRecord]) -> dict[Key, Repository]:
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


def split_allowed(
    run: FetchRun, records: Sequence[IssueRecord], repositories: dict[Key, Repository]
) -> tuple[list[IssueRecord], list[tuple[IssueRecord, str]]]:
    """Records without what a file would write into a private repository that its owner may not read, and those."""
    private = [row.pk for row in repositories.values() if row.private]
    if run.kind != FetchRun.Kind.FILE or not private or run.created_by is None:
        return list(records), []
    readable = set(Repository.objects.visible_to(run.created_by).filter(pk__in=private).values_list("pk", flat=True))
    allowed: list[IssueRecord] = []
    refused: list[tuple[IssueRecord, str]] = []
    for record in records:
        repository = repositories[record.repository]
        if repository.private and repository.pk not in readable:
            name = full_name(record.host, record.owner, record.name)
            refused.append((record, f"You may not add to {name} here; ask whoever runs this server."))
        else:
            allowed.append(record)
    return allowed, refused


def _find(keys: Iterable[Key]) -> dict[Key, Repository]:
    condition = Q(pk__in=[])
    for host, owner, name in keys:
        condition |= Q(host__iexact=host, owner__iexact=owner, name__iexact=name)
    rows = Repository.objects.filter(condition)
    return {(row.host.lower(), row.owner.lower(), row.name.lower()): row for row in rows}
