"""Presence check: finds stored issues and comments that were deleted or moved at GitHub.

Issues that are found are updated. At the end of the run, an issue that GitHub does not find (404) is distinguished from
a repository that can no longer be read, and only then marked. One that GitHub calls deleted (410) is marked at once.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from django.utils import timezone

from ingest.errors import FetchFailed, FetchMustWait, RowError
from ingest.github.client import GONE, MOVED, PAGE_ROWS, GraphqlMissing, RestResponse
from ingest.github.listings import read_thread
from ingest.github.numbered_issues import next_batch, read_numbered, stored_numbers
from ingest.github.rest_objects import NotAnIssue, parse_address, parse_issue
from ingest.github.run_state import RunState
from ingest.models import Issue, Refusal
from ingest.records import IssueRecord
from ingest.runs import refuse, store_records

HOPS_MAX = 3
PULL_REQUEST = "GitHub has a pull request with this number, and no issue. A file brought it as an issue."
SUSPICIOUS_SHARE = 0.9
SUSPICIOUS_ISSUES = 5
_REPOSITORY_ID = re.compile(r"/repositories/(\d{1,19})/", re.ASCII)


@dataclass(slots=True)
class _PresenceBatch:
    """What became of a batch of issues; `elsewhere` says what an issue is now and where."""

    records: list[IssueRecord] = field(default_factory=list)
    elsewhere: dict[int, tuple[str, str]] = field(default_factory=dict)
    unfound: list[int] = field(default_factory=list)
    pull_requests: list[int] = field(default_factory=list)


def check(job: RunState) -> None:
    """Marks the run's issues as here, deleted, transferred or a discussion now.

    Raises FetchFailed, marking none as deleted, where GitHub finds nearly none of them or not even the repository.
    """
    numbers = stored_numbers(job)
    if job.run.n_expected is None:
        job.run.n_expected = len(numbers)
    while numbers:
        by_graphql = job.client.has_tokens and not job.run.cursor.get("by_rest")
        batch = next_batch(job, numbers, by_graphql=by_graphql)
        try:
            told = _by_graphql(job, batch) if by_graphql else _by_rest(job, batch)
        except GraphqlMissing:
            job.run.cursor = job.run.cursor | {"by_rest": True}
            continue
        _store(job, batch, told)
        numbers = numbers[len(batch) :]
    _settle(job)


def _by_graphql(job: RunState, batch: list[int]) -> _PresenceBatch:
    found = read_numbered(job, batch)
    told = _by_rest(job, found.missing)
    told.records += found.records
    told.elsewhere |= {n: (Issue.Presence.DISCUSSION, address) for n, address in found.discussions.items()}
    return told


def _by_rest(job: RunState, batch: list[int]) -> _PresenceBatch:
    told = _PresenceBatch()
    for number in batch:
        answer = job.client.get(job.path(f"issues/{number}"), what=f"{job.title}#{number}", also=MOVED | GONE)
        if answer.status in MOVED:
            told.elsewhere[number] = (Issue.Presence.TRANSFERRED, _where(job, number, answer))
        elif answer.status == 410:
            told.elsewhere[number] = (Issue.Presence.DELETED, "")
        elif answer.status == 404:
            told.unfound.append(number)
        else:
            try:
                told.records.append(_whole(job, number, answer.value))
            except NotAnIssue:
                told.pull_requests.append(number)
                continue
            if _may_be_a_discussion(answer.value) and _was_converted(job, number):
                told.elsewhere[number] = (Issue.Presence.DISCUSSION, "")
    if batch:
        job.look_again()
    return told


def _where(job: RunState, number: int, answer: RestResponse) -> str:
    """Where a transferred issue is now, empty where we may not look or tell."""
    for _ in range(HOPS_MAX):
        moved = _REPOSITORY_ID.search(answer.location or "")
        if moved and job.run.repository and int(moved[1]) == job.run.repository.github_id:
            job.start_over_name()
        if not answer.location:
            return ""
        answer = job.client.get(answer.location, what="The transferred issue", also=MOVED | GONE | {403, 451})
        if answer.status == 200:
            address = answer.value.get("html_url") if isinstance(answer.value, Mapping) else None
            return job.place_to_tell(parse_address(address), number)
        if answer.status not in MOVED:
            return ""
    raise FetchMustWait("GitHub's redirects lead in a circle.")


def _whole(job: RunState, number: int, row: Any) -> IssueRecord:
    """The issue with its thread: the one known before, where neither its time nor its length says that it changed.

    Raises NotAnIssue for a pull request.
    """
    try:
        record = parse_issue(row)
    except RowError as error:
        raise FetchFailed(f"GitHub's answer about issue {number} can't be read: {error}") from None
    if record.repository != tuple(part.lower() for part in job.name):
        job.start_over_name()
    stored = Issue.objects.get(repository=job.run.repository, number=number)
    known = job.told_before([number]).get(number)
    thread = known.comments if known else None
    if record.n_comments == 0:
        thread = ()
    elif thread is None or len(thread) != record.n_comments or record.updated_at != stored.updated_at:
        thread = read_thread(job, number)
    return replace(record, comments=thread)


def _may_be_a_discussion(row: Mapping[str, Any]) -> bool:
    """GitHub closes and locks what becomes a discussion."""
    return row.get("state") == "closed" and row.get("locked") is True


def _was_converted(job: RunState, number: int) -> bool:
    link: str | None = job.path(f"issues/{number}/events")
    parameters: dict[str, Any] | None = {"per_page": PAGE_ROWS}
    converted = False
    seen: set[str] = set()
    while link and link not in seen:
        seen.add(link)
        answer = job.client.rows(link, parameters, what=job.title)
        converted |= any(
            isinstance(row, dict) and row.get("event") == "converted_to_discussion" for row in answer.value
        )
        link, parameters = answer.next, None
    return converted


def _store(job: RunState, batch: list[int], told: _PresenceBatch) -> None:
    with job.progress():
        _hold(job, batch)
        store_records(job.run, told.records)
        refuse(job.run, [Refusal(run=job.run, reason=PULL_REQUEST, row=f"{job.title}#{n}") for n in told.pull_requests])
        here = [record.number for record in told.records if record.number not in told.elsewhere]
        _mark(job, here, Issue.Presence.HERE, "")
        for number, (presence, moved_to) in told.elsewhere.items():
            n_changed = _mark(job, [number], presence, moved_to)
            if presence != Issue.Presence.DISCUSSION:
                _count_vanished(job, 1, n_changed)
        unfound = [*job.run.cursor.get("unfound", []), *told.unfound]
        job.run.cursor = job.run.cursor | {"last": batch[-1], "unfound": unfound}


def _hold(job: RunState, numbers: list[int]) -> None:
    """Locks issues before anything else, in the order of all who store: none waits in a ring."""
    held = Issue.objects.filter(repository=job.run.repository, number__in=numbers)
    list(held.order_by("number").select_for_update().values_list("pk"))


def _mark(job: RunState, numbers: list[int], presence: str, moved_to: str) -> int:
    """How many were marked otherwise before."""
    issues = Issue.objects.filter(repository=job.run.repository, number__in=numbers)
    n_changed = issues.exclude(presence=presence).count()
    issues.update(presence=presence, moved_to=moved_to[:600], checked_at=timezone.now())
    return n_changed


def _count_vanished(job: RunState, n_seen: int, n_changed: int) -> None:
    job.run.n_seen += n_seen
    job.run.n_changed += n_changed
    job.run.n_unchanged += n_seen - n_changed


def _settle(job: RunState) -> None:
    """Marks as deleted what was not found, if the repository and its other issues still are."""
    unfound = job.run.cursor.get("unfound", [])
    if not unfound:
        return
    n_asked = len(job.run.requested["numbers"])
    job.client.repository(*job.name[1:])
    job.client.rows(job.path("issues"), {"state": "all", "per_page": 1}, what=job.title)
    if len(unfound) >= SUSPICIOUS_ISSUES and len(unfound) >= SUSPICIOUS_SHARE * n_asked:
        with job.progress():
            job.run.cursor = job.run.cursor | {"last": 0, "unfound": []}
        raise FetchFailed(
            f"GitHub finds {len(unfound)} of these {n_asked} issues no longer: rather than that all were deleted, "
            f"{job.title} may not be ours to read any more. None was marked as deleted."
        )
    with job.progress():
        _hold(job, unfound)
        _count_vanished(job, len(unfound), _mark(job, unfound, Issue.Presence.DELETED, ""))
        job.run.cursor = job.run.cursor | {"unfound": []}
