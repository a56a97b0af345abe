"""REST listings of a repository: all comments first, then their issues, then the rest.

For few issues with fewer threads than the repository has pages of comments, each thread is requested. It is staged at
once, so a run that waits in the middle of a page reads none twice.

Listings are sorted by the time of change and move while they are read. So the next request asks again from the last
time seen, a second earlier. The Link header is followed only where a whole page fell within that second.

For changes, a listing begins with the request that ended it the last time, if that reaches back far enough. If GitHub
answers that nothing is different (304, free of charge), the listing is complete.
"""

import json
import math
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import parse_qs, urlencode
from zlib import crc32

from ingest.errors import FetchMustWait, RowError
from ingest.github.client import GONE, MOVED, PAGE_ROWS, RestResponse
from ingest.github.rest_objects import NotAnIssue, parse_comment, parse_count, parse_issue, parse_listed_comment
from ingest.github.run_state import ETAG_CHARACTERS, RunState
from ingest.models import Issue, Refusal, Repository, StagedComment, Validator
from ingest.records import CommentRecord, IssueRecord
from ingest.runs import refuse, store_records

Mark = tuple[str, str, int]

OVERLAP = timedelta(seconds=1)
PATHS = {"comments": "issues/comments", "issues": "issues"}
IN_ORDER = {"sort": "updated", "direction": "asc", "per_page": str(PAGE_ROWS)}


def open_listing(job: RunState, kind: str, *, by_issue: bool = False) -> None:
    """Turns the run to the beginning of the listing of `issues` or `comments`.

    With `by_issue` the thread of each issue is asked for by itself.
    """
    since, etag = job.run.requested.get("since"), None
    if since and job.covers_everything:
        since, etag = _asked_before(job, kind) or (since, None)
    job.turn_to(kind, since=since, etag=etag, next=None, edge=[], begun=False, by_issue=by_issue)


def read_comments(job: RunState) -> None:
    """Stages the comments of the whole repository until their issues come."""
    _read(job, "comments", lambda rows: _comments_page(job, rows))


def read_issues(job: RunState) -> None:
    """Stores the issues with the comments staged before."""
    by_issue = job.run.cursor.get("by_issue")
    prepare = (lambda rows: _stage_threads(job, rows)) if by_issue else None
    _read(job, "issues", lambda rows: _issues_page(job, rows), prepare)


def threads_are_cheaper(job: RunState) -> bool:
    """Whether asking for each thread of the issues that are wanted takes fewer requests than reading all comments.

    Not where edits of comments in other issues belong to what is wanted, too. Two requests at most.
    """
    if not may_ask_by_issue(job, stored=job.run.repository):
        return False
    since = job.run.requested.get("since")
    first = _ask(job, "issues", since, None, None)
    n_threads = n_thread_requests(first)
    if n_threads > 1:
        comments = _ask(job, "comments", since, None, None)
        if n_threads >= (comments.last_page or 1):
            job.answers["comments", since] = comments
            return False
    job.answers["issues", since] = first
    return True


def may_ask_by_issue(job: RunState, *, stored: Repository | None) -> bool:
    """Whether the run wants some issues only, and no edits of comments in other issues that are stored."""
    is_update = job.run.requested.get("since") and Issue.objects.filter(repository=stored).exists()
    return not job.covers_everything and not is_update


def n_thread_requests(first: RestResponse) -> int:
    """How many requests the threads of all issues of a listing take, by its first page."""
    counts = [row.get("comments") for row in first.value if isinstance(row, dict) and "pull_request" not in row]
    on_page = sum(math.ceil(count / PAGE_ROWS) for given in counts if (count := parse_count(given)))
    return on_page * (first.last_page or 1)


def is_unchanged(job: RunState) -> bool:
    """Whether the listing of issues is as it was when a run last ended; otherwise the next run may ask for this."""
    cursor = job.run.cursor
    answer = _ask(job, "issues", cursor.get("since"), None, cursor.get("etag"))
    if not answer.unchanged:
        _keep_validator(job, "issues", cursor.get("since"), None, answer)
    return answer.unchanged


def store_rest(job: RunState) -> None:
    """New and edited comments of stored issues that were not listed (an edit does not always touch the issue).

    An issue that only a file told is read from GitHub instead.
    """
    while numbers := _rest_numbers(job):
        known = job.told_before(numbers)
        read = [record for number in numbers if number not in known for record in read_issue(job, number)]
        job.look_again()
        staged = _staged_threads(job, numbers)
        records = [
            replace(record, comments=_merged(record.comments, staged.get(number, ())))
            for number, record in known.items()
            if record.comments is not None
        ]
        changed = [record for record in records if record.sha256 != known[record.number].sha256]
        with job.progress():
            store_records(job.run, changed + read)
            _staged(job).filter(number__in=numbers).delete()


def read_issue(job: RunState, number: int) -> list[IssueRecord]:
    """An issue with its thread as it is now; none where it is there no more."""
    answer = job.client.get(job.path(f"issues/{number}"), what=f"{job.title}#{number}", also=MOVED | GONE)
    if answer.status != 200:
        return []
    try:
        record = parse_issue(answer.value)
    except NotAnIssue:
        return []
    except RowError as error:
        raise FetchMustWait(f"GitHub's answer about issue {number} can't be read: {error}") from None
    if record.repository != tuple(part.lower() for part in job.name):
        job.start_over_name()
    return [replace(record, comments=read_thread(job, number) if record.n_comments else ())]


def finish_listings(job: RunState) -> None:
    """What is left of the comments goes, and the questions to ask next time stay; inside `progress`."""
    _staged(job).delete()
    if job.run.n_refused:
        return
    for kind, (question, etag) in job.run.cursor.get("validators", {}).items():
        kept = Validator.objects.filter(repository=job.run.repository)
        kept.filter(question__startswith=f"{job.path(PATHS[kind])}?").exclude(question=question).delete()
        kept.update_or_create(repository=job.run.repository, question=question, defaults={"etag": etag})


def read_thread(job: RunState, number: int) -> tuple[CommentRecord, ...]:
    """All comments of one issue as they are now."""
    thread: list[CommentRecord] = []
    link: str | None = None
    seen: set[str] = set()
    while True:
        path = link or job.path(f"issues/{number}/comments")
        answer = job.client.rows(path, None if link else {"per_page": PAGE_ROWS}, what=job.title)
        for row in answer.value:
            try:
                thread.append(parse_comment(row))
            except RowError as error:
                raise FetchMustWait(f"A comment of issue {number} can't be read: {error}") from None
        if answer.next is None:
            return _merged((), thread)
        if answer.next in seen:
            raise FetchMustWait("GitHub's pages lead in a circle.")
        link = answer.next
        seen.add(link)


def merge_staged(job: RunState, records: list[IssueRecord], *, known: dict[int, IssueRecord]) -> list[IssueRecord]:
    """The issues with their comments: known before, staged now. A thread that does not add up is asked for."""
    staged = _staged_threads(job, [record.number for record in records])
    complete, n_read = [], 0
    for record in records:
        before = known[record.number].comments if record.number in known else None
        thread = _merged(before or (), staged.get(record.number, ()))
        is_read = job.run.cursor.get("by_issue") and record.number in staged
        if record.n_comments is not None and len(thread) != record.n_comments and not is_read:
            thread = read_thread(job, record.number)
            n_read += 1
        complete.append(replace(record, comments=thread))
    if n_read:  # threads do not say whether the repository is public
        job.look_again()
    return complete


def _asked_before(job: RunState, kind: str) -> tuple[str | None, str] | None:
    """Since when, and the validator, of the question that ended this listing, if it reaches back far enough."""
    question = f"{job.path(PATHS[kind])}?"
    for kept in Validator.objects.filter(repository=job.run.repository, question__startswith=question):
        asked = {name: values[0] for name, values in parse_qs(kept.question.removeprefix(question)).items()}
        since = asked.get("since")
        if asked == parameters(job, kind, since) and (not since or since <= job.run.requested["since"]):
            return since, kept.etag
    return None


def parameters(job: RunState, kind: str, since: str | None) -> dict[str, str]:
    """What a listing is asked for, from its first page on."""
    asked = IN_ORDER | ({"since": since} if since else {})
    if kind == "issues":
        asked["state"] = job.run.requested.get("state") or "all"
        if labels := [label for label in job.run.requested.get("labels") or () if "," not in label]:
            asked["labels"] = ",".join(labels)
    return asked


def _ask(job: RunState, kind: str, since: str | None, link: str | None, etag: str | None) -> RestResponse:
    if link is None and etag is None and (kind, since) in job.answers:
        return job.answers.pop((kind, since))
    path = link or job.path(PATHS[kind])
    return job.client.rows(path, None if link else parameters(job, kind, since), what=job.title, etag=etag)


def _read(
    job: RunState,
    kind: str,
    take_page: Callable[[list[Any]], None],
    prepare: Callable[[list[Any]], None] | None = None,
) -> None:
    """Reads a listing from the cursor to its end, a page to a transaction.

    What `prepare` stores of a page before is kept when the run has to wait, and the page comes again.
    """
    while True:
        cursor = job.run.cursor
        since, link = cursor.get("since"), cursor.get("next")
        answer = _ask(job, kind, since, link, cursor.get("etag"))
        if answer.unchanged:
            job.run.n_expected = job.run.n_expected or 0
            return
        if any(not _is_of(job, row) for row in answer.value):
            job.start_over_name()
        if kind == "issues" and answer.value:  # listings do not say whether the repository is public
            job.look_again()
        edge = {tuple(mark) for mark in cursor.get("edge", [])}
        rows = [row for row in answer.value if _mark(row) not in edge]
        if kind == "issues" and not cursor.get("begun"):
            job.run.n_expected = answer.last_page * PAGE_ROWS if answer.last_page else len(answer.value)
        if prepare:
            prepare(rows)
        last = _follow(job, answer, edge)
        if last:
            _keep_validator(job, kind, since, link, answer)
        take_page(rows)
        if last:
            return


def _follow(job: RunState, answer: RestResponse, edge: set[Mark]) -> bool:
    """Sets the cursor for the page after this one; whether this was the last."""
    since = job.run.cursor.get("since")
    times = [row["updated_at"] for row in answer.value if _mark(row)]
    onward = _earlier(max(times)) if times else None
    followed = job.run.cursor.get("followed", [])
    following: dict[str, Any]
    if answer.next is None:
        following = {"since": since, "next": None}
    elif onward and (since is None or onward > since):
        following = {"since": onward, "next": None, "followed": []}
    elif answer.next not in followed:
        following = {"since": since, "next": answer.next, "followed": [*followed, answer.next]}
    else:
        raise FetchMustWait("GitHub's pages lead in a circle.")
    start = following["since"] or ""
    marks = edge | {mark for row in answer.value if (mark := _mark(row))}
    kept = sorted(list(mark) for mark in marks if mark[1] >= start)
    job.run.cursor = job.run.cursor | following | {"edge": kept, "etag": None, "begun": True}
    return answer.next is None


def _keep_validator(job: RunState, kind: str, since: str | None, link: str | None, answer: RestResponse) -> None:
    """Remembers a question whose answer changes whenever anything does: the listing's last page, and not a full one.

    What comes after a full page stands on the next page, of which this one's content says nothing.
    """
    unreadable = any(_mark(row) is None for row in answer.value)
    whole = answer.next is None and link is None and len(answer.value) < PAGE_ROWS and not unreadable
    if whole and answer.etag and job.covers_everything and len(answer.etag) <= ETAG_CHARACTERS:
        question = f"{job.path(PATHS[kind])}?{urlencode(sorted(parameters(job, kind, since).items()))}"
        kept = job.run.cursor.get("validators", {}) | {kind: [question, answer.etag]}
        job.run.cursor = job.run.cursor | {"validators": kept}


def _comments_page(job: RunState, rows: list[Any]) -> None:
    staged: dict[int, StagedComment] = {}
    refused = []
    for row in rows:
        try:
            number, comment = parse_listed_comment(row)
        except RowError as error:
            refused.append(job.refusal(row, str(error)))
            continue
        assert comment.github_id is not None
        staged[comment.github_id] = StagedComment(
            run=job.run, number=number, github_id=comment.github_id, content=comment.as_json()
        )
    with job.progress():
        _stage(list(staged.values()))
        job.run.cursor = job.run.cursor | {"n_staged": job.run.n_comments_staged + len(staged)}
        refuse(job.run, refused)


def _stage(comments: list[StagedComment]) -> None:
    StagedComment.objects.bulk_create(
        comments, update_conflicts=True, unique_fields=["run", "github_id"], update_fields=["number", "content"]
    )


def _stage_threads(job: RunState, rows: list[Any]) -> None:
    """Stages the threads of a page of issues, each in a transaction of its own, except those that are there."""
    records = [record for row in rows if (record := _wanted(job, row))]
    staged = Counter(_staged(job).filter(number__in=[r.number for r in records]).values_list("number", flat=True))
    missing = [each for each in records if each.n_comments and staged[each.number] != each.n_comments]
    for record in missing:
        thread = [
            StagedComment(run=job.run, number=record.number, github_id=comment.github_id, content=comment.as_json())
            for comment in read_thread(job, record.number)
            if comment.github_id is not None
        ]
        with job.progress():
            _staged(job).filter(number=record.number).delete()
            _stage(thread)
    if missing:
        job.look_again()


def _wanted(job: RunState, row: Any) -> IssueRecord | None:
    """The issue of a row, if it is one and has the labels that GitHub could not be asked for."""
    try:
        record = parse_issue(row)
    except (NotAnIssue, RowError):
        return None
    return record if record.has_labels(_labels_with_commas(job)) else None


def _labels_with_commas(job: RunState) -> list[str]:
    """Labels that can't be asked for by REST, which takes them apart at commas."""
    return [label for label in job.run.requested.get("labels") or () if "," in label]


def _issues_page(job: RunState, rows: list[Any]) -> None:
    records: list[IssueRecord] = []
    refused: list[Refusal] = []
    n_pull_requests = 0
    for row in rows:
        try:
            record = parse_issue(row)
        except NotAnIssue:
            n_pull_requests += 1
        except RowError as error:
            refused.append(job.refusal(row, str(error)))
        else:
            if record.has_labels(_labels_with_commas(job)):
                records.append(record)
    numbers = [record.number for record in records]
    records = merge_staged(job, records, known=job.told_before(numbers) if job.run.requested.get("since") else {})
    with job.progress():
        store_records(job.run, records)
        refuse(job.run, refused)
        job.run.n_pull_requests += n_pull_requests
        _staged(job).filter(number__in=numbers).delete()


def _is_of(job: RunState, row: Any) -> bool:
    """Whether a row is of the repository under the name it was asked by; a row that does not say passes."""
    address = row.get("issue_url") or row.get("repository_url") if isinstance(row, dict) else None
    if not isinstance(address, str) or "/repos/" not in address:
        return True
    owner, name = [*address.partition("/repos/")[2].lower().split("/"), "", ""][:2]
    return (owner, name) == (job.name[1].lower(), job.name[2].lower())


def _rest_numbers(job: RunState) -> list[int]:
    stored = Issue.objects.filter(repository=job.run.repository).values("number")
    found = _staged(job).filter(number__in=stored).values_list("number", flat=True).distinct()
    return list(found.order_by("number")[:PAGE_ROWS])


def _staged(job: RunState) -> Any:
    return StagedComment.objects.filter(run=job.run)


def _staged_threads(job: RunState, numbers: list[int]) -> dict[int, list[CommentRecord]]:
    threads: dict[int, list[CommentRecord]] = {}
    for row in _staged(job).filter(number__in=numbers):
        threads.setdefault(row.number, []).append(CommentRecord.from_json(row.github_id, row.content))
    return threads


def _merged(known: Any, fresh: Any) -> tuple[CommentRecord, ...]:
    """One thread from what was known and what is new or edited, in order of time."""
    by_id = {comment.github_id: comment for comment in (*known, *fresh)}
    return tuple(sorted(by_id.values(), key=lambda c: (c.created_at is None, c.created_at, c.github_id or 0)))


def _mark(row: Any) -> Mark | None:
    """What tells a row that was seen already: its id, when it changed, and (twice within a second) what it says."""
    if isinstance(row, dict) and isinstance(row.get("updated_at"), str):
        try:
            datetime.fromisoformat(row["updated_at"])
        except ValueError:
            return None
        return str(row.get("id")), row["updated_at"], crc32(json.dumps(row, sort_keys=True).encode())
    return None


def _earlier(when: str) -> str:
    return (datetime.fromisoformat(when) - OVERLAP).strftime("%Y-%m-%dT%H:%M:%SZ")
