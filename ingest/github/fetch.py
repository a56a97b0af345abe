"""Fetches a repository by GitHub's REST listings: all comments first, then the issues they belong to, then the rest.

Listings are sorted by the time of change. They move while they are read, so a page is followed by asking again from
the last time seen, a second earlier, and not by its number; only where a whole page fell within that second is the
Link header followed.
"""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import IntegrityError, transaction

from ingest.errors import FetchMustWait, RowError
from ingest.github.client import PAGE_ROWS, Answer, Client
from ingest.github.parse import NotAnIssue, parse_comment, parse_issue, parse_listed_comment
from ingest.identifiers import full_name, parse_repository
from ingest.models import FetchRun, Issue, Refusal, Repository, StagedComment
from ingest.records import CommentRecord, IssueRecord
from ingest.runs import progress, refuse, store_records
from ingest.upsert import known_records, repository_named

OVERLAP = timedelta(seconds=1)
BUSY_SECONDS = 30
SHOWN_CHARACTERS = 300


def fetch(run: FetchRun) -> None:
    """Carries a run of a repository from its cursor to the end; raises FetchFailed, FetchMustWait, ClaimLost."""
    client = Client(settings.GITHUB_API_URL, settings.GITHUB_TOKENS)
    job = _Job(run, client)
    n_before = run.n_requests
    try:
        job.work()
    finally:
        run.n_requests = n_before + client.n_requests


class _Job:
    def __init__(self, run: FetchRun, client: Client) -> None:
        self.run = run
        self.client = client
        self.n_before = run.n_requests

    def work(self) -> None:
        if not self.run.cursor.get("found"):
            self._resolve()
        if self.run.cursor["phase"] == "comments":
            self._list("comments", {"sort": "updated", "direction": "asc"}, self._comments_page)
            self._turn_to("issues")
        if self.run.cursor["phase"] == "issues":
            wanted = {"state": self.run.requested.get("state") or "all", "sort": "updated", "direction": "asc"}
            if labels := self.run.requested.get("labels"):
                wanted["labels"] = ",".join(labels)
            self._list("issues", wanted, self._issues_page)
            self._turn_to("rest")
        self._rest()

    @property
    def name(self) -> tuple[str, str, str]:
        repository = self.run.repository
        assert repository is not None
        return repository.host, repository.owner, repository.name

    def _path(self, rest: str) -> str:
        return f"/repos/{self.name[1]}/{self.name[2]}/{rest}"

    def _progress(self) -> Any:
        self.run.n_requests = self.n_before + self.client.n_requests
        return progress(self.run)

    def _turn_to(self, phase: str) -> None:
        with self._progress():
            self.run.cursor = self.run.cursor | {"phase": phase, "since": self.run.requested.get("since"), "next": None}
            self.run.cursor["edge"] = []

    def _resolve(self) -> None:
        """Finds the repository at GitHub, under its present name, and opens it to who asked."""
        host, owner, name = self.run.requested["name"]
        found = self.client.repository(owner, name)
        now = _named(found, host)
        try:
            with self._progress():
                repository = _repository(self.run, found, (host, owner, name), now)
                if self.run.created_by_id:
                    repository.readers.add(self.run.created_by_id)
                self.run.repository = repository
                self.run.target = "/".join(now).lower()
                start = {"phase": "comments", "since": self.run.requested.get("since"), "next": None, "edge": []}
                self.run.cursor = start | self.run.cursor | {"found": True}
        except IntegrityError:
            message = f"Another run of {full_name(*now)} is at work; this one goes on after it."
            raise FetchMustWait(message, wait_seconds=BUSY_SECONDS, counts=False) from None

    def _list(self, kind: str, parameters: dict[str, str], take_page: Any) -> None:
        """Reads a listing from the cursor to its end, a page to a transaction."""
        path = self._path("issues" if kind == "issues" else "issues/comments")
        while True:
            since, link = self.run.cursor.get("since"), self.run.cursor.get("next")
            given = parameters | {"per_page": str(PAGE_ROWS)} | ({"since": since} if since else {})
            answer = self.client.rows(link or path, None if link else given, what=full_name(*self.name))
            edge = {(number, when) for number, when in self.run.cursor.get("edge", [])}
            rows = [row for row in answer.value if _mark(row) not in edge]
            if kind == "issues":
                self._expect(answer, since, link)
            last = self._follow(answer, since, link, edge)
            take_page(rows)
            if last:
                return

    def _expect(self, answer: Answer, since: str | None, link: str | None) -> None:
        if link is None and since == self.run.requested.get("since"):
            n_rows = answer.last_page * PAGE_ROWS if answer.last_page else len(answer.value)
            self.run.n_expected = n_rows

    def _follow(self, answer: Answer, since: str | None, link: str | None, edge: set[tuple[Any, str]]) -> bool:
        """Sets the cursor for the page after this one; whether this was the last."""
        times = [row["updated_at"] for row in answer.value if _mark(row)]
        onward = _earlier(max(times)) if times else None
        if answer.next is None:
            following = {"since": since, "next": None}
        elif onward and (since is None or onward > since):
            following = {"since": onward, "next": None}
        elif answer.next != link:
            following = {"since": since, "next": answer.next}
        else:
            raise FetchMustWait("GitHub's pages lead in a circle.")
        start = following["since"] or ""
        marks = edge | {mark for row in answer.value if (mark := _mark(row))}
        kept = sorted([number, when] for number, when in marks if when >= start)
        self.run.cursor = self.run.cursor | following | {"edge": kept}
        return answer.next is None

    def _comments_page(self, rows: list[Any]) -> None:
        staged: dict[int, StagedComment] = {}
        refused = []
        for row in rows:
            try:
                number, comment = parse_listed_comment(row)
            except RowError as error:
                refused.append(self._refusal(row, str(error)))
                continue
            assert comment.github_id is not None
            staged[comment.github_id] = StagedComment(
                run=self.run, number=number, github_id=comment.github_id, content=comment.as_json()
            )
        with self._progress():
            StagedComment.objects.bulk_create(
                staged.values(),
                update_conflicts=True,
                unique_fields=["run", "github_id"],
                update_fields=["number", "content"],
            )
            self.run.n_comments += len(staged)
            refuse(self.run, refused)

    def _issues_page(self, rows: list[Any]) -> None:
        records: list[IssueRecord] = []
        refused: list[Refusal] = []
        n_pull_requests = 0
        for row in rows:
            try:
                records.append(parse_issue(row))
            except NotAnIssue:
                n_pull_requests += 1
            except RowError as error:
                refused.append(self._refusal(row, str(error)))
        here = tuple(part.lower() for part in self.name)
        if any(record.repository != here for record in records):
            self._moved()
        records = self._with_threads(records)
        with self._progress():
            store_records(self.run, records)
            refuse(self.run, refused)
            self.run.n_pull_requests += n_pull_requests
            self._staged().filter(number__in=[record.number for record in records]).delete()

    def _moved(self) -> None:
        """The repository was renamed while it was read: find it again, and read this page again."""
        before = FetchRun.objects.values_list("cursor", flat=True).get(pk=self.run.pk)
        with self._progress():
            self.run.cursor = before | {"found": False}
        raise FetchMustWait("The repository was renamed while it was read.", wait_seconds=1)

    def _with_threads(self, records: list[IssueRecord]) -> list[IssueRecord]:
        """The issues with the comments read before; a thread that does not add up is asked for by itself."""
        numbers = [record.number for record in records]
        known = self._known(numbers) if self.run.requested.get("since") else {}
        staged = self._staged_threads(numbers)
        complete = []
        for record in records:
            before = known[record.number].comments if record.number in known else None
            thread = _merged(before or (), staged.get(record.number, ()))
            if record.n_comments is not None and len(thread) != record.n_comments:
                thread = self._thread(record.number)
            complete.append(replace(record, comments=thread))
        return complete

    def _thread(self, number: int) -> tuple[CommentRecord, ...]:
        thread: list[CommentRecord] = []
        link: str | None = None
        while True:
            path = link or self._path(f"issues/{number}/comments")
            answer = self.client.rows(path, None if link else {"per_page": PAGE_ROWS}, what=full_name(*self.name))
            for row in answer.value:
                try:
                    thread.append(parse_comment(row))
                except RowError as error:
                    raise FetchMustWait(f"A comment of issue {number} can't be read: {error}") from None
            if answer.next is None or answer.next == link:
                return tuple(thread)
            link = answer.next

    def _rest(self) -> None:
        """New and edited comments of stored issues that were not listed (an edit does not always touch the issue)."""
        while numbers := self._rest_numbers():
            known = self._known(numbers)
            staged = self._staged_threads(numbers)
            records = [
                replace(record, comments=_merged(record.comments, staged.get(number, ())))
                for number, record in known.items()
                if record.comments is not None
            ]
            changed = [record for record in records if record.sha256 != known[record.number].sha256]
            with self._progress():
                store_records(self.run, changed)
                self._staged().filter(number__in=numbers).delete()
        with self._progress():
            self._staged().delete()

    def _rest_numbers(self) -> list[int]:
        stored = Issue.objects.filter(repository=self.run.repository).values("number")
        found = self._staged().filter(number__in=stored).values_list("number", flat=True).distinct()
        return list(found.order_by("number")[:PAGE_ROWS])

    def _staged(self) -> Any:
        return StagedComment.objects.filter(run=self.run)

    def _staged_threads(self, numbers: list[int]) -> dict[int, list[CommentRecord]]:
        threads: dict[int, list[CommentRecord]] = {}
        for row in self._staged().filter(number__in=numbers):
            threads.setdefault(row.number, []).append(CommentRecord.from_json(row.github_id, row.content))
        return threads

    def _known(self, numbers: list[int]) -> dict[int, IssueRecord]:
        ids = Issue.objects.filter(repository=self.run.repository, number__in=numbers).values_list("pk", flat=True)
        return {record.number: record for record in known_records(ids).values()}

    def _refusal(self, row: Any, reason: str) -> Refusal:
        link = row.get("html_url") if isinstance(row, Mapping) else None
        return Refusal(run=self.run, reason=reason, row=str(link or row).replace("\x00", "")[:SHOWN_CHARACTERS])


def _merged(known: Any, fresh: Any) -> tuple[CommentRecord, ...]:
    """One thread from what was known and what is new or edited, in order of time."""
    by_id = {comment.github_id: comment for comment in (*known, *fresh)}
    return tuple(sorted(by_id.values(), key=lambda c: (c.created_at is None, c.created_at, c.github_id or 0)))


def _mark(row: Any) -> tuple[Any, str] | None:
    """What tells a row seen already: its number and when it changed."""
    if isinstance(row, Mapping) and isinstance(row.get("updated_at"), str):
        try:
            datetime.fromisoformat(row["updated_at"])
        except ValueError:
            return None
        return row.get("id"), row["updated_at"]
    return None


def _earlier(when: str) -> str:
    return (datetime.fromisoformat(when) - OVERLAP).strftime("%Y-%m-%dT%H:%M:%SZ")


def _named(found: Mapping[str, Any], host: str) -> tuple[str, str, str]:
    """Where the repository is now, by GitHub's answer."""
    link = str(found.get("html_url") or "")
    if link.startswith(("https://", "http://")):
        return parse_repository(link)
    return (host, *parse_repository(str(found["full_name"]))[1:])


def _repository(
    run: FetchRun, found: Mapping[str, Any], asked: tuple[str, str, str], now: tuple[str, str, str]
) -> Repository:
    """The stored repository, renamed when it moved at GitHub; made if it is new."""
    private = bool(found.get("private"))
    github_id = found.get("id") if isinstance(found.get("id"), int) else None
    stored = Repository.objects.select_for_update()
    repository = stored.named(*now).first()
    if repository is None and github_id is not None:
        repository = stored.filter(host=now[0], github_id=github_id).first()
    if repository is None:
        repository = stored.named(*asked).filter(github_id=None).first() or repository_named(run, now, private=private)
    repository.host, repository.owner, repository.name = now
    repository.private, repository.github_id = private, github_id
    with transaction.atomic():
        repository.save(update_fields=["host", "owner", "name", "private", "github_id"])
    return repository
