"""GraphQL fetch of a repository's issues, with comments, labels, and closing changes, 60 to a request.

The list is sorted by the time of change and moves while it is read. So the next request asks again from the last time
seen, a second earlier. GitHub's cursor is used only where a whole page fell within that second. An issue that changes
meanwhile comes again at the end.

A page that GitHub can't assemble in time is requested again with half as many issues, down to one. An issue that can't
be read even alone is requested without its closing changes, then rejected and skipped.

The first hundred files come with the pull requests linked to an issue. The rest, and all files of others that closed
it, are requested for two hundred pull requests at a time, so these wait in the run's cursor. Commits wait there, too: a
hundred at a time are matched with the pull requests merged as them. Folders of the others are compared with those of
their parents (`pushed_commits.py`). REST lists what remains, one by one.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from ingest.errors import FetchFailed, FetchMustWait, RowError
from ingest.github.client import BadCursor, GraphqlProblem, GraphqlReply, TooMuch
from ingest.github.commits import commit_path, commits_of, read_commit
from ingest.github.graphql_nodes import (
    closers,
    discussion_of,
    files_of,
    identifier_of,
    leave_out_changes,
    linked_pulls,
    merged_as,
    parse_graphql_issue,
    unfinished_files,
    unlinked_closers,
)
from ingest.github.graphql_queries import ANYTHING, CONNECTED, ONLY_NUMBERS, PAGE, PAGE_ISSUES, more
from ingest.github.pushed_commits import files_of_pushed, git_object, read_objects
from ingest.github.rest_objects import parse_count
from ingest.github.run_state import RunState
from ingest.models import ClosingChange, Issue, Refusal, issues_read_by_strangers
from ingest.records import ChangeRecord, IssueRecord
from ingest.runs import beat, refuse, store_records
from ingest.upsert import store_files

OVERLAP = timedelta(seconds=1)
PAGES_BEFORE_GROWING = 3
Bare = tuple[str, str, str | None]
BARE_AT_ONCE = 200
BARE_MOST = 500
COMMITS_AT_ONCE = 100
LISTED = "pushed"
"""Marks commits whose files only REST lists."""
ROOM = 200
WEIGHTS = {"history": 1, "comments": 10, "closedByPullRequestsReferences": 10, "labels": 1, "files": 1}
PATHS_MAX = 3000
LOST_MAX = 3
_OF_CHANGES = {("timelineItems",), ("closedByPullRequestsReferences",), ("history",)}


@dataclass(frozen=True, slots=True)
class GraphqlPlace:
    """How far the list was read: the question for the next page.

    `edge` are the issues that it will bring once more, `bare` the pull requests (node, identifier and the cursor of the
    files that are stored, if any) and commits (twice the identifier, and LISTED for those of which only REST lists the
    files) that lack files.
    """

    since: str | None
    after: str | None = None
    edge: tuple[tuple[int, str], ...] = ()
    bare: tuple[Bare, ...] = ()
    size: int = PAGE_ISSUES
    n_good: int = 0
    n_lost: int = 0
    begun: bool = False
    done: bool = False

    @property
    def pulls(self) -> list[Bare]:
        """The next pull requests whose files are asked for at once."""
        return [row for row in self.bare if row[0] != row[1]][:BARE_AT_ONCE]

    @property
    def commits(self) -> list[Bare]:
        """The next commits whose files are asked for at once."""
        return [row for row in self.bare if row[0] == row[1] and row[2] != LISTED][:COMMITS_AT_ONCE]

    @property
    def has_full_batch(self) -> bool:
        is_full = len(self.pulls) == BARE_AT_ONCE or len(self.commits) == COMMITS_AT_ONCE
        return is_full or len(self.bare) >= BARE_MOST

    @classmethod
    def of(cls, job: RunState) -> "GraphqlPlace":
        kept = dict(job.run.cursor.get("graphql") or {"since": job.run.requested.get("since")})
        kept["edge"] = tuple((number, when) for number, when in kept.get("edge", ()))
        # A run that waited while the server was upgraded has pairs.
        kept["bare"] = tuple((*row, None)[:3] for row in kept.get("bare", ()))
        return cls(**kept)


@dataclass(slots=True)
class _GraphqlPage:
    """One answer: the nodes, where it ends, and why single nodes could not be given."""

    nodes: list[Any]
    n_matching: int
    cursor: str | None
    more: bool
    problems: dict[int, str] = field(default_factory=dict)


def read_issues(job: RunState) -> None:
    """Stores the issues from the run's cursor to the end of the list, a page to a transaction.

    Raises GraphqlMissing where this host or token has no GraphQL for us: then the listings may do.
    """
    while not (place := GraphqlPlace.of(job)).done or place.bare:
        if place.done or place.has_full_batch:
            _read_files(job, place)
            continue
        try:
            page = _ask(job, PAGE, place, place.size)
        except TooMuch as error:
            if place.size > 1:
                _go_on_from(job, replace(place, size=max(1, place.size // 2), n_good=0))
                continue
            found = _without_changes(job, place)
            if found is None:
                _pass_over(job, place, error)
                continue
            page = found
        except BadCursor:
            if place.after is None or place.n_lost >= LOST_MAX:
                raise
            _go_on_from(job, replace(place, after=None, n_lost=place.n_lost + 1))
            continue
        _store(job, place, page)


def _without_changes(job: RunState, place: GraphqlPlace) -> _GraphqlPage | None:
    """One issue without what closed it, where that is what takes too long."""
    try:
        return _ask(job, PAGE, place, 1, changes=False)
    except TooMuch:
        return None


def _go_on_from(job: RunState, place: GraphqlPlace) -> None:
    with job.progress():
        _note(job, place)


def _note(job: RunState, place: GraphqlPlace) -> None:
    job.run.cursor = job.run.cursor | {"graphql": asdict(place)}


def _ask(job: RunState, query: str, place: GraphqlPlace, size: int, *, changes: bool = True) -> _GraphqlPage:
    run = job.run
    chosen: dict[str, Any] = {"since": place.since} if place.since else {}
    if (state := run.requested.get("state") or "all") != "all":
        chosen["states"] = [state.upper()]
    if labels := run.requested.get("labels"):
        chosen["labels"] = labels[:1]  # GraphQL means any of them, we mean all: the others are looked at here
    variables = {"owner": job.name[1], "name": job.name[2], "first": size, "after": place.after, "filter": chosen}
    if query == PAGE:
        variables["changes"] = changes
    reply = job.ask(query, variables, what=job.title)
    repository = reply.data.get("repository")
    if not isinstance(repository, Mapping):
        raise FetchMustWait("GitHub's answer about the repository can't be read.")
    if str(repository.get("nameWithOwner")).lower() != f"{job.name[1]}/{job.name[2]}".lower():
        job.start_over_name()
    if repository.get("hasIssuesEnabled") is False:
        raise FetchFailed(f"{job.title} has no issues at GitHub: they are switched off or gone.")
    return _page(repository, reply)


def _page(repository: Mapping[str, Any], reply: GraphqlReply) -> _GraphqlPage:
    issues = repository.get("issues")
    rest = issues.get("pageInfo") if isinstance(issues, Mapping) else None
    if not isinstance(issues, Mapping) or not isinstance(issues.get("nodes"), list) or not isinstance(rest, Mapping):
        reason = reply.problems[0].message if reply.problems else "it has no list"
        raise FetchMustWait(f"GitHub's answer can't be read: {reason}.")
    page = _GraphqlPage(
        issues["nodes"],
        parse_count(issues.get("totalCount")) or 0,
        rest.get("endCursor"),
        rest.get("hasNextPage") is True,
    )
    for problem in reply.problems:
        n = problem.path[3] if problem.path[:3] == ("repository", "issues", "nodes") and len(problem.path) > 3 else None
        if not isinstance(n, int) or not 0 <= n < len(page.nodes):
            raise FetchMustWait(f"GitHub's answer is not complete: {problem.message}.")
        node = page.nodes[n]
        if problem.path[4:5] not in _OF_CHANGES or not isinstance(node, dict):
            page.problems[n] = problem.message
        elif problem.path[4:] == ("history",):
            node.pop("history", None)
        elif len(problem.path) == 5:
            node.pop("timelineItems", None)  # what closed it is not known; one hidden pull request does no harm
    return page


def _store(job: RunState, place: GraphqlPlace, page: _GraphqlPage) -> None:
    """Stores what the page brought, and where to go on."""
    seen = set(place.edge)
    rows = [(n, node) for n, node in enumerate(page.nodes) if _mark(node) not in seen]
    complete(job, [node for n, node in rows if n not in page.problems and isinstance(node, dict)], files=False)
    for _, node in rows:
        leave_out_changes(node, job.may_tell_of)
    records: list[IssueRecord] = []
    refused: list[Refusal] = []
    discussions: dict[int, str] = {}
    bare: dict[str, tuple[str, str | None]] = {}
    for n, node in rows:
        if reason := page.problems.get(n) or (node.get("refused") if isinstance(node, dict) else None):
            refused.append(_refusal(job, node, f"GitHub could not give this issue: {reason}."))
            continue
        try:
            record = parse_graphql_issue(node)
        except RowError as error:
            refused.append(_refusal(job, node, str(error)))
            continue
        if record.repository != tuple(part.lower() for part in job.name):
            refused.append(_refusal(job, node, f"This issue is of {record.owner}/{record.name}, not of {job.title}."))
        elif record.has_labels(job.run.requested.get("labels") or ()):
            records.append(record)
            if (address := discussion_of(node)) is not None:
                discussions[record.number] = job.place_to_tell(address, record.number)
            bare |= {row["id"]: (identifier_of(row), None) for row in unlinked_closers(node) if row.get("changedFiles")}
            bare |= {row["id"]: (identifier_of(row), cursor) for row, cursor in unfinished_files(node)}
            bare |= {name: (name, None) for name in commits_of(record)}
    if not place.begun and len(job.run.requested.get("labels") or ()) < 2:
        job.run.n_expected = page.n_matching
    n_good = place.n_good + 1
    grown = min(PAGE_ISSUES, place.size * 2) if n_good >= PAGES_BEFORE_GROWING else place.size
    bare = {pull: (identifier, after) for pull, identifier, after in place.bare} | bare
    following = replace(_following(place, page), bare=_without_known(job, bare))
    with job.progress():
        store_records(job.run, records)
        refuse(job.run, refused)
        _note_discussions(job, discussions)
        _note(job, replace(following, size=grown, n_good=0 if grown > place.size else n_good, begun=True))


def _following(place: GraphqlPlace, page: _GraphqlPage) -> GraphqlPlace:
    """The place after a page."""
    marks = [mark for node in page.nodes if (mark := _mark(node))]
    onward = _earlier(max(when for _, when in marks)) if marks else None
    if not page.more:
        return replace(place, done=True, edge=())
    if onward and (place.since is None or onward > place.since):
        place = replace(place, since=onward, after=None, n_lost=0)
    elif page.cursor and page.cursor != place.after:
        place = replace(place, after=page.cursor)
    else:
        raise FetchMustWait("GitHub's pages lead in a circle.")
    kept = sorted({mark for mark in (*place.edge, *marks) if mark[1] >= (place.since or "")})
    return replace(place, edge=tuple(kept))


def _pass_over(job: RunState, place: GraphqlPlace, error: TooMuch) -> None:
    """Refuses the one issue that GitHub can't get together, if GitHub answers at all; raises FetchMustWait if not."""
    page = _ask(job, ONLY_NUMBERS, place, 1)
    if page.more and page.cursor in {None, place.after}:
        raise FetchMustWait("GitHub's pages lead in a circle.")
    marks = {mark for node in page.nodes if (mark := _mark(node))}
    fresh = [node for node in page.nodes if _mark(node) not in place.edge]
    reason = f"GitHub can't get this issue together, not even alone. {error.message}"
    with job.progress():
        refuse(job.run, [_refusal(job, node, reason) for node in fresh])
        edge = tuple(sorted({*place.edge, *marks}))
        _note(job, replace(place, after=page.cursor, edge=edge, begun=True, done=not page.more))


def _without_known(job: RunState, bare: Mapping[str, tuple[str, str | None]]) -> tuple[Bare, ...]:
    """Those whose files no earlier run has brought, and those of which only the first are stored."""
    if not bare:
        return ()
    known = with_known_files(job, [identifier for identifier, after in bare.values() if after is None])
    return tuple((pull, name, after) for pull, (name, after) in bare.items() if after or name not in known)


def with_known_files(job: RunState, identifiers: Collection[str]) -> set[str]:
    """Those of the closing changes whose files an earlier run has brought."""
    here = ClosingChange.objects.filter(issue__repository=job.run.repository, identifier__in=identifiers)
    return set(here.exclude(path_additions=[]).values_list("identifier", flat=True))


def _read_files(job: RunState, place: GraphqlPlace) -> None:
    """Stores files that did not come with their issues: of pull requests, then of commits, and last of one by REST."""
    batch, commits = place.pulls, place.commits
    listed: list[Bare] = []
    if batch and len(commits) < COMMITS_AT_ONCE:
        pulls: list[dict[str, Any]] = [
            {"__typename": "PullRequest", "id": pull, "files": _files_after(after)} for pull, _, after in batch
        ]
        complete(job, [{"timelineItems": {"nodes": [{"closer": pull} for pull in pulls]}}])
        told = [files_of(pull, name) for (_, name, _), pull in zip(batch, pulls, strict=True)]
        found = [
            _after_the_first(job, change) if after else change
            for (_, _, after), change in zip(batch, told, strict=True)
        ]
    elif commits:
        batch = commits
        told_of = files_of_commits(job, [name for _, name, _ in batch])
        found = list(told_of.values())
        listed = [(name, name, LISTED) for _, name, _ in batch if name not in told_of]
    else:
        batch = list(place.bare[:1])
        found = [read_commit(job, commit_path(batch[0][1]))]
    found = job.may_still_tell_of(found)
    with job.progress():
        store_files(job.run.repository, found)
        left = [row for row in place.bare if row not in batch]
        _note(job, replace(place, bare=(*left, *listed)))


def files_of_commits(job: RunState, names: Sequence[str]) -> dict[str, ChangeRecord]:
    """The files of commits (owner/name@hash), merges of pull requests and others, of those where GraphQL tells them."""
    told = read_objects(job, map(git_object, names), "Changed", at_once=COMMITS_AT_ONCE)
    merged = {name: pull for name in names if (pull := merged_as(told.get(git_object(name))))}
    complete(job, [{"timelineItems": {"nodes": [{"closer": pull} for pull in merged.values()]}}])
    found = {name: files_of(pull, name) for name, pull in merged.items()}
    return found | files_of_pushed(job, {name: told.get(git_object(name)) for name in names if name not in merged})


def _after_the_first(job: RunState, change: ChangeRecord) -> ChangeRecord:
    """The change with the files that are stored already, and then those that it has here, each once."""
    home = job.run.repository
    stored = ClosingChange.objects.filter(issue__repository=home, identifier=change.identifier)
    if home is not None and home.private:  # where strangers read the issue, the first ones are older
        known = stored.values_list("issue", flat=True)
        stored = stored.exclude(issue__in=issues_read_by_strangers(home.pk, known))
    first = stored.values("paths", "path_additions", "path_deletions").first()
    if first is None:
        return change
    n = len(first["paths"])
    new = [place for place, path in enumerate(change.paths) if path not in set(first["paths"])]
    paths = (*first["paths"], *(change.paths[place] for place in new))
    if len(first["path_additions"]) != n or len(change.path_additions) != len(change.paths):
        return replace(change, paths=paths, path_additions=(), path_deletions=())
    return replace(
        change,
        paths=paths,
        path_additions=(*first["path_additions"], *(change.path_additions[place] for place in new)),
        path_deletions=(*first["path_deletions"], *(change.path_deletions[place] for place in new)),
    )


def _files_after(cursor: str | None) -> dict[str, Any]:
    """A connection of files that goes on at a cursor."""
    return {"pageInfo": {"hasNextPage": True, "endCursor": cursor}, "nodes": []}


def complete(job: RunState, nodes: Sequence[dict[str, Any]], *, files: bool = True) -> None:
    """Reads on where a thread, the labels, the linked pull requests or their files did not fit into the page.

    With `files`, all of those of pull requests that are linked to an issue or closed it. Several connections go into
    one request. What can't be had is noted in its issue as `refused`, files excepted. Stops where the repository has
    become private since the page was read.
    """
    for pull in [row for node in nodes for row in unlinked_closers(node)] if files else ():
        pull.setdefault("files", _files_after(None))
    room, first = ROOM, CONNECTED
    while unfinished := _unfinished(nodes, files=files):
        keys = _as_many_as_fit(unfinished, room)
        query, variables = more(keys, first, job.name[1:])
        try:
            reply = job.ask(query, variables, what=job.title, may_be_empty=True)
        except TooMuch as error:
            if len(keys) > 1 or first > 1:
                room, first = max(1, room // 2), first if len(keys) > 1 else first // 2
                continue
            job.client.graphql(ANYTHING, {}, what=job.title)
            reply = GraphqlReply({}, (GraphqlProblem("", error.message, ()),))
        beat(job.run)
        reasons = {problem.path[0]: problem.message for problem in reply.problems if problem.path}
        for n, key in enumerate(keys):
            given = reply.data.get(f"p{n}")
            fresh = given.get(key[0]) if isinstance(given, Mapping) else None
            reason = reasons.get(f"p{n}") or (reply.problems[0].message if reply.problems else "it is not there")
            for node, connection in unfinished[key]:
                _extend(node, connection, key[0], fresh, reason)


_Key = tuple[str, str, str | None]


def _as_many_as_fit(unfinished: Iterable[_Key], room: int) -> list[_Key]:
    """The first connections, one at least; a page of comments takes more room than one of names."""
    chosen: list[_Key] = []
    for key in unfinished:
        room -= WEIGHTS[key[0]]
        if chosen and room < 0:
            break
        chosen.append(key)
    return chosen


def _unfinished(
    nodes: Sequence[dict[str, Any]], *, files: bool
) -> dict[_Key, list[tuple[dict[str, Any], dict[str, Any]]]]:
    """Connections with more to come, each with the issue it belongs to, by what has to be asked."""
    found: dict[_Key, list[tuple[dict[str, Any], dict[str, Any]]]] = {}
    for node in nodes:
        if "refused" in node:
            continue
        owned = [(name, node) for name in ("comments", "labels", "closedByPullRequestsReferences", "history")]
        owned += [("files", row) for row in (*linked_pulls(node), *closers(node)) if files]
        for name, owner in owned:
            connection = owner.get(name)
            rest = connection.get("pageInfo") if isinstance(connection, dict) else None
            if isinstance(connection, dict) and isinstance(rest, Mapping) and rest.get("hasNextPage"):
                key = (name, str(owner.get("id")), rest.get("endCursor"))
                found.setdefault(key, []).append((node, connection))
    return found


def _extend(node: dict[str, Any], connection: dict[str, Any], name: str, fresh: Any, reason: str) -> None:
    before = connection["pageInfo"]
    over = {"hasNextPage": False}
    if isinstance(fresh, Mapping) and isinstance(fresh.get("nodes"), list) and isinstance(fresh.get("pageInfo"), dict):
        connection["nodes"] = [*(connection.get("nodes") or ()), *fresh["nodes"]]
        connection["pageInfo"] = fresh["pageInfo"]
        circles = fresh["pageInfo"].get("endCursor") == before.get("endCursor")
        if circles or (name == "files" and len(connection["nodes"]) >= PATHS_MAX):
            connection["pageInfo"] = over
        return
    connection["pageInfo"] = over
    if name != "files":
        node["refused"] = f"its {name} break off ({reason})"


def _note_discussions(job: RunState, discussions: Mapping[int, str]) -> None:
    for number, address in discussions.items():
        issue = Issue.objects.filter(repository=job.run.repository, number=number)
        issue.update(presence=Issue.Presence.DISCUSSION, moved_to=address[:600])


def _refusal(job: RunState, node: Any, reason: str) -> Refusal:
    link = node.get("url") if isinstance(node, Mapping) else None
    return job.refusal({"html_url": link} if link else "An issue that GitHub does not name.", reason)


def _mark(node: Any) -> tuple[int, str] | None:
    """What tells an issue seen already: its number and when it changed."""
    if isinstance(node, Mapping) and isinstance(node.get("updatedAt"), str) and isinstance(node.get("number"), int):
        try:
            datetime.fromisoformat(node["updatedAt"])
        except ValueError:
            return None
        return node["number"], node["updatedAt"]
    return None


def _earlier(when: str) -> str:
    return (datetime.fromisoformat(when) - OVERLAP).strftime("%Y-%m-%dT%H:%M:%SZ")
