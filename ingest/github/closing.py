"""Closing changes of given issues: by GraphQL with a token, otherwise by REST, with sizes and paths.

REST names the commit that closed an issue, but no pull request. A pull request counts if it refers to the issue and
states that it closes it, or was merged just before the issue was closed. One that was not merged closed nothing.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from ingest.errors import FetchMustWait, Invalid, RowError
from ingest.github.client import PAGE_ROWS, GraphqlMissing
from ingest.github.commits import NOT_THERE, login_of, read_commit, read_files_of_pull, rows_of_listing
from ingest.github.listings import read_issue
from ingest.github.numbered_issues import next_batch, read_numbered, stored_numbers, without_hidden_changes
from ingest.github.rest_objects import EVENTS, MARKS, event_of, parse_address, parse_count, parse_time
from ingest.github.run_state import RunState
from ingest.identifiers import full_name, parse_identifier
from ingest.models import Refusal
from ingest.records import ChangeRecord, IssueRecord, storable
from ingest.runs import refuse, store_records

JUST_BEFORE = timedelta(seconds=30)
_FULL_NAME = re.compile(r"[\w.-]+/[\w.-]+", re.ASCII)
GONE = "GitHub no longer has this issue. Check whether it was deleted or transferred."


@dataclass(slots=True)
class _Timeline:
    """Of one issue: when it was closed, by which commit if any, and the pull requests that refer to it."""

    closed: list[tuple[datetime | None, str | None]] = field(default_factory=list)
    pulls: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    events: list[dict[str, Any]] = field(default_factory=list)


def fetch_changes(job: RunState) -> None:
    """Stores the closing changes of the run's issues."""
    numbers = stored_numbers(job)
    if job.run.n_expected is None:
        job.run.n_expected = len(numbers)
    while numbers:
        by_graphql = job.client.has_tokens and not job.run.cursor.get("by_rest")
        batch = next_batch(job, numbers, by_graphql=by_graphql)
        try:
            records, missing = _by_graphql(job, batch) if by_graphql else _by_rest(job, batch)
        except GraphqlMissing:
            job.run.cursor = job.run.cursor | {"by_rest": True}
            continue
        with job.progress():
            store_records(job.run, records)
            refuse(job.run, [Refusal(run=job.run, reason=GONE, row=f"{job.title}#{number}") for number in missing])
            job.run.cursor = job.run.cursor | {"last": batch[-1]}
        numbers = numbers[len(batch) :]


def _by_graphql(job: RunState, batch: list[int]) -> tuple[list[IssueRecord], list[int]]:
    found = read_numbered(job, batch)
    return found.records, found.missing


def _by_rest(job: RunState, batch: list[int]) -> tuple[list[IssueRecord], list[int]]:
    known = job.told_before(batch)
    records: list[IssueRecord] = []
    for number in batch:
        try:
            found = _changes(job, number)
        except RowError as error:
            raise FetchMustWait(f"What closed issue {number} can't be read: {error}") from None
        if found is None:
            continue
        changes, events = found
        # Of an issue that only a file told, nothing but GitHub's own answer is stored with them.
        told = [replace(known[number], updated_at=None)] if number in known else read_issue(job, number)
        records += [replace(each, closing_changes=changes, activity={"events": events}) for each in told]
    job.look_again()
    records = without_hidden_changes(job, records)
    return records, [number for number in batch if number not in {record.number for record in records}]


def _changes(job: RunState, number: int) -> tuple[tuple[ChangeRecord, ...], list[dict[str, Any]]] | None:
    """What closed an issue, each once, and its events; None where the issue is not there."""
    timeline = _timeline(job, number)
    if timeline is None:
        return None
    pulls = {
        key: row
        for key, row in timeline.pulls.items()
        if _closes(job, number, row, timeline) and _may_tell_of_pull(job, key)
    }
    found: list[ChangeRecord] = []
    merges: set[str] = set()
    for key, row in pulls.items():
        change, sha = _pull_request(job, key, row)
        found.append(change)
        merges |= {sha} if change.closes else set()
    commits = dict.fromkeys(path for _, path in timeline.closed if path and _may_tell_of_commit(job, path))
    found += [read_commit(job, path) for path in commits if path.rpartition("/")[2] not in merges]
    return tuple({change.identifier: change for change in found}.values()), timeline.events


def _may_tell_of_pull(job: RunState, address: str) -> bool:
    try:
        _, owner, name, _ = parse_identifier(address)
    except Invalid:
        return True  # which says so when it is read
    return job.may_tell_of(owner, name)


def _may_tell_of_commit(job: RunState, path: str) -> bool:
    owner, name = path.removeprefix("/repos/").partition("/commits/")[0].split("/")
    return job.may_tell_of(owner, name)


def _timeline(job: RunState, number: int) -> _Timeline | None:
    found = _Timeline()
    path = job.path(f"issues/{number}/timeline")
    first = job.client.get(path, {"per_page": PAGE_ROWS}, what=job.title, also=NOT_THERE)
    if first.status != 200:
        return None
    for row in rows_of_listing(job, first.value, first.next):
        if not isinstance(row, Mapping):
            continue
        if row.get("event") == "closed":
            found.closed.append((parse_time(row, "created_at"), _commit_path(job, row)))
        if row.get("event") in EVENTS and row["event"] not in MARKS:
            found.events.append(_event(row))
        source = row.get("source")
        issue = source.get("issue") if row.get("event") == "cross-referenced" and isinstance(source, Mapping) else None
        pull = issue.get("pull_request") if isinstance(issue, Mapping) else None
        if isinstance(issue, Mapping) and isinstance(pull, Mapping):
            found.pulls[parse_address(issue.get("html_url"))] = issue
    return found


def _event(row: Mapping[str, Any]) -> dict[str, Any]:
    told = ((row.get("label"), "name"), (row.get("assignee"), "login"), (row.get("milestone"), "title"))
    named = [each.get(name) for each, name in told if isinstance(each, Mapping)]
    actor = row.get("actor")
    detail = named[0] if named else (row.get("state_reason") or "completed") if row["event"] == "closed" else ""
    login = actor.get("login") if isinstance(actor, Mapping) else None
    return event_of(str(row["event"]), row.get("created_at"), login, detail)


def _commit_path(job: RunState, row: Mapping[str, Any]) -> str | None:
    """Where REST has the commit that an event names; it may be of another repository."""
    sha = row.get("commit_id")
    if not isinstance(sha, str) or not sha.isalnum():
        return None
    repository = str(row.get("commit_url") or "").partition("/repos/")[2].partition("/commits/")[0]
    return f"/repos/{repository}/commits/{sha}" if _FULL_NAME.fullmatch(repository) else job.path(f"commits/{sha}")


def _closes(job: RunState, number: int, pull: Mapping[str, Any], timeline: _Timeline) -> bool:
    """Whether a pull request is a fix of the issue, by what it says or by when it was merged."""
    text = f"{pull.get('title') or ''}\n{pull.get('body') or ''}"
    name = re.escape(f"{job.name[1]}/{job.name[2]}")
    words = r"\b(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?):?\s+"
    target = rf"(?:(?:{name})?#|https?://\S+/{name}/issues/){number}\b"
    if re.search(words + target, text, re.IGNORECASE):
        return True
    merged_at = parse_time(pull["pull_request"], "merged_at")
    return any(
        when and merged_at and commit is None and timedelta(0) <= when - merged_at <= JUST_BEFORE
        for when, commit in timeline.closed
    )


def _pull_request(job: RunState, address: str, row: Mapping[str, Any]) -> tuple[ChangeRecord, str]:
    """The pull request and the commit it was merged as."""
    try:
        host, owner, name, number = parse_identifier(address)
    except Invalid as error:
        raise RowError(error.message) from None
    path = f"/repos/{owner}/{name}/pulls/{number}"
    answer = job.client.get(path, what=f"{owner}/{name}#{number}", also=NOT_THERE)
    told = answer.value if answer.status == 200 and isinstance(answer.value, Mapping) else {}
    author = told.get("user") or row.get("user")
    change = ChangeRecord(
        kind="pull_request",
        identifier=f"{full_name(host, owner, name)}#{number}",
        number=number,
        title=storable(str(told.get("title") or row.get("title") or "")),
        html_url=address,
        author_login=login_of(author),
        created_at=parse_time(told, "created_at") or parse_time(row, "created_at"),
        merged_at=parse_time(told, "merged_at") or parse_time(row["pull_request"], "merged_at"),
        additions=parse_count(told.get("additions")),
        deletions=parse_count(told.get("deletions")),
        n_files=parse_count(told.get("changed_files")),
        closes=bool(row["pull_request"].get("merged_at")),
    )
    if told:
        change = read_files_of_pull(job, change, path)
    return change, str(told.get("merge_commit_sha") or "")
