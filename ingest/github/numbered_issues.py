"""Numbered issues: reads issues by number through GraphQL, many to a request."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ingest.errors import FetchMustWait, RowError
from ingest.github.client import TooMuch
from ingest.github.commits import commit_path, commits_of, read_commit
from ingest.github.graphql import complete, files_of_commits, with_known_files
from ingest.github.graphql_nodes import discussion_of, leave_out_changes, parse_graphql_issue
from ingest.github.graphql_queries import PAGE_ISSUES, given
from ingest.github.run_state import RunState
from ingest.models import Issue
from ingest.records import ChangeRecord, IssueRecord

REST_ISSUES = 10
"""So many issues are read by REST, one after the other, before GitHub is asked once more and what came is stored."""


@dataclass(slots=True)
class NumberedIssues:
    """What came: records, addresses of the discussions that issues became, and the numbers that nothing came for.

    An address is empty where it may not be told.
    """

    records: list[IssueRecord] = field(default_factory=list)
    discussions: dict[int, str] = field(default_factory=dict)
    missing: list[int] = field(default_factory=list)


def stored_numbers(job: RunState) -> list[int]:
    """Which of the run's issues are stored, and not done yet, in order."""
    wanted = [number for number in job.run.requested["numbers"] if number > job.run.cursor.get("last", 0)]
    found = Issue.objects.filter(repository=job.run.repository, number__in=wanted)
    return list(found.order_by("number").values_list("number", flat=True))


def next_batch(job: RunState, numbers: list[int], *, by_graphql: bool) -> list[int]:
    """The numbers that are read before what came is stored; by one each where everything that is read is public."""
    if by_graphql:
        return numbers[:PAGE_ISSUES]
    return numbers[: REST_ISSUES if job.client.has_tokens else 1]


def read_numbered(job: RunState, numbers: Sequence[int]) -> NumberedIssues:
    """The issues with threads and closing changes; asks for half as many where that is too much at once.

    Raises GraphqlMissing where this host or token has no GraphQL for us.
    """
    try:
        variables = {"owner": job.name[1], "name": job.name[2], "changes": True}
        reply = job.ask(given(numbers), variables, what=job.title)
    except TooMuch:
        if len(numbers) == 1:
            return NumberedIssues(missing=list(numbers))
        half = len(numbers) // 2
        one, two = read_numbered(job, numbers[:half]), read_numbered(job, numbers[half:])
        return NumberedIssues(one.records + two.records, one.discussions | two.discussions, one.missing + two.missing)
    repository = reply.data.get("repository")
    if not isinstance(repository, Mapping):
        raise FetchMustWait("GitHub's answer about the repository can't be read.")
    if str(repository.get("nameWithOwner")).lower() != f"{job.name[1]}/{job.name[2]}".lower():
        job.start_over_name()
    nodes = {number: repository.get(f"i{number}") for number in numbers}
    complete(job, [node for node in nodes.values() if isinstance(node, dict)])
    for node in nodes.values():
        leave_out_changes(node, job.may_tell_of)
    found = _sorted_out(job, nodes)
    found.records = without_hidden_changes(job, _with_commits(job, found.records))
    return found


def without_hidden_changes(job: RunState, records: Sequence[IssueRecord]) -> list[IssueRecord]:
    """The records without closing changes of repositories that became private while these were read."""
    told = {each.identifier for each in job.may_still_tell_of(_changes_of(records))}
    return [
        replace(record, closing_changes=tuple(each for each in record.closing_changes if each.identifier in told))
        if record.closing_changes
        else record
        for record in records
    ]


def _changes_of(records: Iterable[IssueRecord]) -> Iterator[ChangeRecord]:
    for record in records:
        yield from record.closing_changes or ()


def _with_commits(job: RunState, records: Sequence[IssueRecord]) -> list[IssueRecord]:
    """The records with the files of the commits that closed them, of those that no earlier run has brought."""
    wanted = {name for record in records for name in commits_of(record)}
    unknown = sorted(wanted - with_known_files(job, wanted))
    found = files_of_commits(job, unknown)
    found |= {name: read_commit(job, commit_path(name)) for name in unknown if name not in found}
    return [
        replace(record, closing_changes=tuple(_with_files(each, found) for each in record.closing_changes))
        if record.closing_changes
        else record
        for record in records
    ]


def _with_files(change: ChangeRecord, found: Mapping[str, ChangeRecord]) -> ChangeRecord:
    files = found.get(change.identifier, change)
    return replace(change, paths=files.paths, path_additions=files.path_additions, path_deletions=files.path_deletions)


def _sorted_out(job: RunState, nodes: Mapping[int, Any]) -> NumberedIssues:
    found = NumberedIssues()
    here = tuple(part.lower() for part in job.name)
    for number, node in nodes.items():
        try:
            record = parse_graphql_issue(node)
        except RowError:
            record = None
        if record is None or "refused" in node or (*record.repository, record.number) != (*here, number):
            found.missing.append(number)
            continue
        found.records.append(record)
        if (address := discussion_of(node)) is not None:
            found.discussions[number] = job.place_to_tell(address, number)
    return found
