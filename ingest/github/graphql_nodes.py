"""GraphQL nodes as records: the same as from REST, with closing changes."""

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from ingest.errors import Invalid, RowError
from ingest.github.rest_objects import (
    EVENTS,
    REACTIONS,
    NotAnIssue,
    event_of,
    in_order,
    parse_address,
    parse_count,
    parse_id,
    parse_issue,
    parse_time,
    type_of,
    with_files,
)
from ingest.identifiers import full_name, parse_identifier, parse_repository
from ingest.records import ChangeRecord, IssueRecord, storable


def parse_graphql_issue(node: Any) -> IssueRecord:
    """An issue with its comments, labels and closing changes, as `questions.PAGE` asks for them; raises RowError.

    Where the closing changes were not asked for, they are not known.
    """
    if not isinstance(node, Mapping):
        raise RowError("GitHub gave nothing for this issue.")
    comments = _connection(node, "comments")
    row = {
        "number": node.get("number"),
        "title": node.get("title"),
        "body": node.get("body"),
        "state": node.get("state"),
        "state_reason": node.get("stateReason"),
        "user": _who(node.get("author")),
        "labels": _nodes(_connection(node, "labels"), "A label"),
        "locked": node.get("locked"),
        "created_at": node.get("createdAt"),
        "updated_at": node.get("updatedAt"),
        "closed_at": node.get("closedAt"),
        "html_url": node.get("url"),
        "author_association": node.get("authorAssociation"),
        "comments": [_comment(comment) for comment in _nodes(comments, "A comment")],
    }
    try:
        record = parse_issue(row)
    except NotAnIssue:
        raise RowError("This is a pull request among issues.") from None
    return replace(
        record,
        comments=in_order(record.comments or ()),
        n_comments=parse_count(comments.get("totalCount")),
        closing_changes=tuple(_closing_changes(node)) if "timelineItems" in node else None,
        activity=_activity(node),
    )


LONGEST_ID = 19
_INNER_CAPITAL = re.compile(r"(?<!^)(?=[A-Z])")
_REACTIONS = {"THUMBS_UP": "+1", "THUMBS_DOWN": "-1"}


def _activity(node: Mapping[str, Any]) -> dict[str, Any] | None:
    """Events, reactions and the type as REST has them, as far as they came."""
    found: dict[str, Any] = {}
    history = node.get("history")
    if isinstance(history, Mapping) and isinstance(history.get("nodes"), list):
        rows = [row for row in history["nodes"] if isinstance(row, Mapping) and _kind(row) in EVENTS]
        found["events"] = [_event(row) for row in rows if not _is_of_a_duplicate(row, node)]
    if isinstance(groups := node.get("reactionGroups"), list):
        counts = dict(_reaction(group) for group in groups if isinstance(group, Mapping))
        found["reactions"] = {kind: n for kind in REACTIONS if (n := counts.get(kind))}
    if "issueType" in node:
        found |= type_of(node["issueType"])
    return found or None


def _reaction(group: Mapping[str, Any]) -> tuple[str, int | None]:
    """How a reaction is called by REST, and its count."""
    kind = str(group.get("content"))
    return _REACTIONS.get(kind, kind.lower()), parse_count(_part(group, "reactors", "totalCount"))


def _part(row: Mapping[str, Any], name: str, part: str) -> Any:
    """A field of an object in a row; None where there is no such object."""
    found = row.get(name)
    return found.get(part) if isinstance(found, Mapping) else None


def _kind(row: Mapping[str, Any]) -> str:
    """How an event is called by REST."""
    return _INNER_CAPITAL.sub("_", str(row.get("__typename")).removesuffix("Event")).lower()


def _is_of_a_duplicate(row: Mapping[str, Any], node: Mapping[str, Any]) -> bool:
    """Whether an event marks another issue as a duplicate of this one."""
    duplicate = row.get("duplicate")
    return isinstance(duplicate, Mapping) and duplicate.get("url") != node.get("url")


def _event(row: Mapping[str, Any]) -> dict[str, Any]:
    reason = row.get("reason")
    details = (
        _part(row, "label", "name"),
        _login(row.get("assignee")),
        row.get("milestoneTitle"),
        _named(row.get("canonical")),
        _named(row.get("fromRepository")),
    )
    detail = next((each for each in details if each), reason.lower() if isinstance(reason, str) else "")
    return event_of(_kind(row), row.get("createdAt"), _login(row.get("actor")), detail)


def _named(row: Any) -> str:
    """The issue or the repository that an event names, as it is called; empty where it is hidden."""
    url = parse_address(row.get("url")) if isinstance(row, Mapping) else ""
    try:
        host, owner, name, number = parse_identifier(url)
        return f"{full_name(host, owner, name)}#{number}"
    except Invalid:
        pass
    try:
        return full_name(*parse_repository(url)) if url else ""
    except Invalid:
        return ""


def _login(actor: Any) -> str:
    return str((_who(actor) or {}).get("login") or "")


def discussion_of(node: Any) -> str | None:
    """The address of the discussion that an issue was converted to (empty if it is not told); None for an issue."""
    for event in reversed(_events(node)):
        if event.get("__typename") == "ConvertedToDiscussionEvent":
            discussion = event.get("discussion")
            return parse_address(discussion.get("url")) if isinstance(discussion, Mapping) else ""
    return None


def linked_pulls(node: Any) -> list[dict[str, Any]]:
    """The pull requests linked to an issue, with their files, as far as they may be seen."""
    return _rows(node.get("closedByPullRequestsReferences"))


def closers(node: Any) -> list[dict[str, Any]]:
    """What closed an issue, by its events, the first first; nothing for those closed by hand."""
    found = [event.get("closer") for event in _events(node)]
    return [row for row in found if isinstance(row, dict) and row.get("__typename") in {"PullRequest", "Commit"}]


def leave_out_changes(node: Any, may_tell_of: Callable[[str, str], bool]) -> None:
    """Takes out of a node what names repositories (by owner and name) of which nothing may be told.

    These are closing changes, and in its history issues that it is a duplicate of and repositories that it came from.
    """
    if not isinstance(node, Mapping):
        return
    linked = node.get("closedByPullRequestsReferences")
    if isinstance(linked, dict) and isinstance(linked.get("nodes"), list):
        linked["nodes"] = [row for row in linked["nodes"] if _may_be_told(row, may_tell_of)]
    for event in _events(node):
        if isinstance(event, dict) and not _may_be_told(event.get("closer"), may_tell_of):
            event["closer"] = None
    for event in _rows(node.get("history")):
        for name in ("canonical", "fromRepository"):
            if not _may_be_told(event.get(name), may_tell_of):
                event[name] = None


def _may_be_told(change: Any, may_tell_of: Callable[[str, str], bool]) -> bool:
    url = change.get("url") if isinstance(change, Mapping) else None
    if not isinstance(url, str):
        return True
    try:
        _, owner, name = parse_repository(re.split(r"/(?:commit|pull|issues)/", url)[0])
    except Invalid:
        return True
    return may_tell_of(owner, name)


def unlinked_closers(node: Any) -> list[dict[str, Any]]:
    """The pull requests that closed an issue without being linked to it."""
    linked = {row.get("id") for row in linked_pulls(node)}
    rows = [row for row in closers(node) if row["__typename"] == "PullRequest"]
    return [row for row in rows if isinstance(row.get("id"), str) and row["id"] not in linked]


def unfinished_files(node: Any) -> list[tuple[dict[str, Any], str]]:
    """The linked pull requests that count as closing changes and have more files, with the cursor to go on at."""
    closing = {row.get("id") for row in closers(node)}
    found = []
    for row in linked_pulls(node):
        files = row.get("files")
        rest = files.get("pageInfo") if isinstance(files, Mapping) else None
        if not (isinstance(rest, Mapping) and rest.get("hasNextPage") and rest.get("endCursor")):
            continue
        if isinstance(row.get("id"), str) and (row.get("mergedAt") or row["id"] in closing):
            found.append((row, str(rest["endCursor"])))
    return found


def identifier_of(row: Mapping[str, Any]) -> str:
    """What a pull request is called: owner/name#number; raises RowError."""
    return pull_request(row).identifier


def merged_as(commit: Any) -> dict[str, Any] | None:
    """The pull request that was merged as this commit and changed just as much: then its files are the commit's."""
    if not isinstance(commit, Mapping):
        return None
    size = [commit.get(name) for name in ("additions", "deletions", "changedFilesIfAvailable")]
    for row in _rows(commit.get("associatedPullRequests")):
        same = [row.get(name) for name in ("additions", "deletions", "changedFiles")] == size
        if same and isinstance(row.get("id"), str) and commit.get("oid") and _merge_commit(row) == commit["oid"]:
            return row
    return None


def files_of(row: Mapping[str, Any], identifier: str) -> ChangeRecord:
    """The files that came with a pull request of which nothing else was asked, for the change with this identifier."""
    bare = ChangeRecord(kind="pull_request", identifier=identifier)
    files = row.get("files")
    return with_files(bare, _nodes(files, "A file") if isinstance(files, Mapping) else [], "path")


def changed_by(row: Mapping[str, Any]) -> ChangeRecord:
    """A pull request with the files that it changed, as far as they came with it; raises RowError."""
    files = row.get("files")
    return with_files(pull_request(row), _nodes(files, "A file") if isinstance(files, Mapping) else [], "path")


def _closing_changes(node: Mapping[str, Any]) -> list[ChangeRecord]:
    """What closed it by an event, and what is linked; each once, from any repository.

    A commit that one of these pull requests was merged as is that pull request.
    """
    linked = {row.get("id"): row for row in linked_pulls(node)}
    rows = [linked.get(row.get("id"), row) if row["__typename"] == "PullRequest" else row for row in closers(node)]
    merges = {_merge_commit(row) for row in (*rows, *linked.values()) if row.get("mergedAt")}
    rows = [row for row in rows if row["__typename"] != "Commit" or row.get("oid") not in merges]
    closing = [_commit(row) if row["__typename"] == "Commit" else changed_by(row) for row in rows]
    closing += [changed_by(row) for row in linked.values() if row.get("mergedAt")]
    open_ones = [replace(changed_by(row), closes=False) for row in linked.values() if not row.get("mergedAt")]
    return list({change.identifier: change for change in (*open_ones, *closing)}.values())


def _merge_commit(row: Mapping[str, Any]) -> str | None:
    commit = row.get("mergeCommit")
    return commit.get("oid") if isinstance(commit, Mapping) else None


def pull_request(row: Mapping[str, Any]) -> ChangeRecord:
    """A pull request without its files; raises RowError."""
    url = parse_address(row.get("url"))
    try:
        host, owner, name, number = parse_identifier(url)
    except Invalid as error:
        raise RowError(f"The pull request that closed it is unknown: {error.message}") from None
    return ChangeRecord(
        kind="pull_request",
        identifier=f"{full_name(host, owner, name)}#{number}",
        number=number,
        title=storable(str(row.get("title") or "")),
        html_url=url,
        author_login=_login(row.get("author")),
        created_at=parse_time(row, "createdAt"),
        merged_at=parse_time(row, "mergedAt"),
        additions=parse_count(row.get("additions")),
        deletions=parse_count(row.get("deletions")),
        n_files=parse_count(row.get("changedFiles")),
    )


def _commit(row: Mapping[str, Any]) -> ChangeRecord:
    url, sha = parse_address(row.get("url")), row.get("oid")
    try:
        host, owner, name = parse_repository(url.partition("/commit/")[0])
    except Invalid as error:
        raise RowError(f"The commit that closed it is unknown: {error.message}") from None
    if not isinstance(sha, str) or not sha.isalnum():
        raise RowError("The commit that closed it has no hash.")
    author = row.get("author")
    account = author.get("user") if isinstance(author, Mapping) else None
    return ChangeRecord(
        kind="commit",
        identifier=f"{full_name(host, owner, name)}@{sha}",
        title=storable(str(row.get("message") or "").partition("\n")[0]),
        html_url=url,
        author_login=storable(str(account.get("login") or "")) if isinstance(account, Mapping) else "",
        created_at=parse_time(row, "authoredDate"),
        merged_at=parse_time(row, "committedDate"),
        additions=parse_count(row.get("additions")),
        deletions=parse_count(row.get("deletions")),
        n_files=parse_count(row.get("changedFilesIfAvailable")),
    )


def _comment(node: Mapping[str, Any]) -> dict[str, Any]:
    number = str(node.get("fullDatabaseId") or node.get("databaseId"))
    is_number = number.isascii() and number.isdecimal() and len(number) <= LONGEST_ID
    if not is_number or parse_id(int(number)) is None:
        raise RowError("A comment of this issue has no number.")
    return {
        "id": int(number),
        "user": _who(node.get("author")),
        "body": node.get("body"),
        "created_at": node.get("createdAt"),
    }


def _who(actor: Any) -> dict[str, Any] | None:
    """The account as REST has it: apps are named with [bot]."""
    if actor is None:
        return None
    if not isinstance(actor, Mapping) or not isinstance(actor.get("login"), str):
        raise RowError("The author has no name.")
    account = actor["user"] if isinstance(actor.get("user"), Mapping) else actor
    login = actor["login"]
    if actor.get("__typename") == "Bot" and not login.endswith("[bot]"):
        login = f"{login}[bot]"
    return {"login": storable(login), "id": account.get("databaseId")}


def _rows(connection: Any) -> list[dict[str, Any]]:
    rows = connection.get("nodes") if isinstance(connection, Mapping) else None
    return [row for row in rows or () if isinstance(row, dict)]


def _connection(node: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = node.get(name)
    if not isinstance(found, Mapping):
        raise RowError(f"GitHub did not give the {name} of this issue.")
    return found


def _nodes(connection: Mapping[str, Any], what: str) -> list[Mapping[str, Any]]:
    rows = connection.get("nodes")
    if not isinstance(rows, list) or not all(isinstance(row, Mapping) for row in rows):
        raise RowError(f"{what} of this issue can't be read.")
    return rows


def _events(node: Any) -> list[Mapping[str, Any]]:
    timeline = node.get("timelineItems")
    rows = timeline.get("nodes") if isinstance(timeline, Mapping) else None
    return [row for row in rows or () if isinstance(row, Mapping)]
