"""Webhook runs: each message and its position in one transaction, in the order of arrival."""

from collections.abc import Iterator
from dataclasses import replace

from django.db import IntegrityError, transaction
from django.utils import timezone

from ingest.errors import FetchFailed, RowError
from ingest.models import Delivery, FetchRun, Issue, Refusal, Repository, issues_read_by_strangers
from ingest.records import IssueRecord
from ingest.runs import progress, refuse, store_records
from ingest.upsert import known_records, rename
from ingest.webhooks.messages import (
    IssueGone,
    IssueNews,
    LabelNews,
    is_private,
    merged_thread,
    parse_message,
    relabeled,
    repository_of,
)

BATCH_ISSUES = 500
READ_AT_ONCE = 10
LABELS_KEY = "labels_after"
BECAME_PRIVATE = (
    "{} is now private at GitHub, but its issues here are open to everyone, so nothing more was stored. "
    "Someone named in FETCHERS can fetch it again. Then it becomes private here, too, and this run can be "
    "continued."
)


def take_in(run: FetchRun) -> None:
    """Takes in the messages of a run that are still to be read; raises ClaimLost."""
    assert run.repository is not None
    for delivery in _waiting(run):
        payload = delivery.payload or {}
        if is_private(payload) and not run.repository.private:
            raise FetchFailed(BECAME_PRIVATE.format(run.repository.full_name))
        try:
            _, name = repository_of(payload)
            news = parse_message(delivery.event, payload)
        except RowError as error:
            with progress(run):
                refuse(run, [Refusal(run=run, reason=str(error), row=f"{delivery.event} {delivery.guid}")])
                _settled(delivery)
            continue
        _rename(run, run.repository, name)
        if isinstance(news, LabelNews):
            _relabel(run, news)
        with progress(run):
            if isinstance(news, IssueNews):
                _tell(run, news)
            elif isinstance(news, IssueGone):
                _gone(run, news)
            run.cursor = {}
            _settled(delivery)


def _waiting(run: FetchRun) -> Iterator[Delivery]:
    """The messages that are still to be read, in the order they came; one query for each ten."""
    last = 0
    while found := list(run.deliveries.filter(payload__isnull=False, pk__gt=last).order_by("pk")[:READ_AT_ONCE]):
        last = found[-1].pk
        yield from found


def _settled(delivery: Delivery) -> None:
    """The message's id is kept, so that it is never taken in again; what it said is not."""
    Delivery.objects.filter(pk=delivery.pk).update(payload=None)


def _rename(run: FetchRun, repository: Repository, now: tuple[str, str, str]) -> None:
    """The name that the message has for the repository, unless another one has it here: that is for the next fetch.

    A step of its own, because every other one locks issues before their repository.
    """
    _, owner, name = now
    if (repository.owner, repository.name) == (owner, name):
        return
    with progress(run):
        if Repository.objects.named(repository.host, owner, name).exclude(pk=repository.pk).exists():
            return
        try:
            with transaction.atomic():
                Repository.objects.filter(pk=repository.pk).update(owner=owner, name=name)
                rename(repository, (repository.host, owner, name))
        except IntegrityError:  # the name was taken just now
            return


def _tell(run: FetchRun, news: IssueNews) -> None:
    known = _known(run, news.record.number)
    is_late = known and known.updated_at and news.record.updated_at and news.record.updated_at < known.updated_at
    record = replace(known if known and is_late else news.record, comments=merged_thread(known, news))
    run.n_comments += news.comment is not None
    store_records(run, [record])


def _gone(run: FetchRun, news: IssueGone) -> None:
    presence = Issue.Presence.TRANSFERRED if news.is_transferred else Issue.Presence.DELETED
    stored = Issue.objects.filter(repository=run.repository, number=news.number)
    assert run.repository is not None
    ids = stored.values_list("pk", flat=True)
    is_told = not (run.repository.private and issues_read_by_strangers(run.repository.pk, ids))
    moved_to = news.moved_to if is_told else ""
    n_changed = stored.update(presence=presence, moved_to=moved_to, checked_at=timezone.now())
    run.n_changed += n_changed
    run.n_seen += n_changed


def _relabel(run: FetchRun, news: LabelNews) -> None:
    """A new snapshot for each issue that has the label, in batches; goes on after the last one stored."""
    while True:
        after = run.cursor.get(LABELS_KEY, 0)
        labeled = Issue.objects.told_by_github().filter(
            repository=run.repository, current_snapshot__github_labels__contains=[news.old], pk__gt=after
        )
        ids = list(labeled.order_by("pk").values_list("pk", flat=True)[:BATCH_ISSUES])
        if not ids:
            return
        known = known_records(ids).values()
        records = [replace(r, github_labels=relabeled(r.github_labels or (), news), updated_at=None) for r in known]
        with progress(run):
            store_records(run, records)
            run.cursor = {LABELS_KEY: ids[-1]}


def _known(run: FetchRun, number: int) -> IssueRecord | None:
    """What GitHub last said of the issue: a message adds nothing to what a file said."""
    told = Issue.objects.told_by_github().filter(repository=run.repository, number=number)
    ids = told.values_list("pk", flat=True)
    return next(iter(known_records(ids).values()), None)
