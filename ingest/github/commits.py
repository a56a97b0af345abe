"""Commits and pull requests by REST, with the files they changed."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from ingest.errors import FetchMustWait
from ingest.github.client import PAGE_ROWS
from ingest.github.rest_objects import parse_address, parse_count, parse_time, with_files
from ingest.github.run_state import RunState
from ingest.identifiers import full_name, parse_repository
from ingest.records import ChangeRecord, IssueRecord, storable

NOT_THERE = frozenset({404, 410, 422})


def commits_of(record: IssueRecord) -> list[str]:
    """The identifiers of the commits that closed an issue and whose files are not known."""
    return [each.identifier for each in record.closing_changes or () if each.kind == "commit" and not each.paths]


def commit_path(identifier: str) -> str:
    """Where REST has the commit that is called owner/name@hash, or host/owner/name@hash."""
    repository, _, sha = identifier.rpartition("@")
    return f"/repos/{'/'.join(repository.split('/')[-2:])}/commits/{sha}"


def read_commit(job: RunState, path: str) -> ChangeRecord:
    """A commit; where it can't be looked at, that it is one."""
    _, owner, name = parse_repository(path.removeprefix("/repos/").partition("/commits/")[0])
    sha = path.rpartition("/")[2]
    change = ChangeRecord(kind="commit", identifier=f"{full_name(job.name[0], owner, name)}@{sha}")
    answer = job.client.get(path, what=f"{owner}/{name}@{sha}", also=NOT_THERE)
    row = answer.value
    if answer.status != 200 or not isinstance(row, Mapping):
        return change
    inner = row["commit"] if isinstance(row.get("commit"), Mapping) else {}
    stats = row["stats"] if isinstance(row.get("stats"), Mapping) else {}
    committer = inner["committer"] if isinstance(inner.get("committer"), Mapping) else {}
    author = inner["author"] if isinstance(inner.get("author"), Mapping) else {}
    files = list(_rows_of_commit(job, path, row, answer.next))
    change = replace(
        change,
        title=storable(str(inner.get("message") or "").partition("\n")[0]),
        html_url=parse_address(row.get("html_url")),
        author_login=login_of(row.get("author")),
        created_at=parse_time(author, "date"),
        merged_at=parse_time(committer, "date"),
        additions=parse_count(stats.get("additions")),
        deletions=parse_count(stats.get("deletions")),
        n_files=len(files),
    )
    return with_files(change, files, "filename")


def read_files_of_pull(job: RunState, change: ChangeRecord, path: str) -> ChangeRecord:
    """A pull request with the files that it changed."""
    first = job.client.rows(f"{path}/files", {"per_page": PAGE_ROWS}, what=job.title)
    return with_files(change, rows_of_listing(job, first.value, first.next), "filename")


def rows_of_listing(job: RunState, value: Any, link: str | None) -> Iterator[Any]:
    """The rows of a listing whose first page is here."""
    seen: set[str] = set()
    while True:
        if not isinstance(value, list):
            raise FetchMustWait("GitHub's answer is not a list.")
        yield from value
        if link is None:
            return
        if link in seen:
            raise FetchMustWait("GitHub's pages lead in a circle.")
        seen.add(link)
        answer = job.client.rows(link, what=job.title)
        value, link = answer.value, answer.next


def _rows_of_commit(job: RunState, path: str, row: Mapping[str, Any], link: str | None) -> Iterator[Any]:
    """The files of a commit; many of them come in pages of the commit itself."""
    seen: set[str] = set()
    while True:
        files = row.get("files")
        yield from files if isinstance(files, list) else ()
        if link is None or link in seen:
            return
        seen.add(link)
        answer = job.client.get(link, what=path)
        row, link = answer.value if isinstance(answer.value, Mapping) else {}, answer.next


def login_of(author: Any) -> str:
    """The account of an author; empty where there is none."""
    return storable(str(author.get("login") or ""))[:255] if isinstance(author, Mapping) else ""
