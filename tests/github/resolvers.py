"""How the local GitHub's world answers the fields of GitHub's GraphQL schema.

`LEAVES` are values that need nothing but the object; `FIELDS` take the arguments, too. A field that stands in neither
is refused with a sentence saying so: add it here.
"""

import bisect
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from operator import attrgetter
from typing import Any
from zlib import crc32

from tests.github import shapes
from tests.github.connections import PAGE_MAX, Edge, Page, Refused, page
from tests.github.world import (
    Comment,
    Commit,
    Discussion,
    Event,
    Issue,
    Mannequin,
    PullRequest,
    Repository,
    World,
    stamp,
)

BIGGEST_INT = 2**31 - 1
TEXT_MAX = 512_000
"""Characters of a file's text that are given."""
WEB = shapes.WEB


@dataclass(frozen=True, slots=True)
class Account:
    login: str
    kind: str

    @property
    def id(self) -> int:
        return shapes.account_number(f"{self.login}[bot]" if self.kind == "Bot" else self.login)


@dataclass(frozen=True, slots=True)
class Label:
    repository: Repository
    name: str


@dataclass(frozen=True, slots=True)
class Context:
    """What a query can see: the world, which private repositories it may read, and what it costs."""

    world: World
    may_read_private: bool
    rate_limit: dict[str, Any]


@dataclass(frozen=True, slots=True)
class IssueType:
    name: str


def account(login: str | None) -> Account | None:
    """Who that is: None is the account that was deleted."""
    if login is None:
        return None
    if login.endswith("[bot]"):
        return Account(login.removesuffix("[bot]"), "Bot")
    return Account(login, "Mannequin" if isinstance(login, Mannequin) else "User")


def url_of(row: Any) -> str:
    """Where the object is on GitHub's pages."""
    if isinstance(row, Account):
        return f"{WEB}/{'apps/' if row.kind == 'Bot' else ''}{row.login}"
    if isinstance(row, Repository):
        return f"{WEB}/{row.full_name}"
    if isinstance(row, Comment):
        return f"{url_of(row.issue)}#issuecomment-{row.id}"
    if isinstance(row, Event):
        return f"{url_of(row.issue)}#event-{row.id}"
    if isinstance(row, Commit):
        return f"{url_of(row.repository)}/commit/{row.sha}"
    if isinstance(row, Label):
        return f"{url_of(row.repository)}/labels/{row.name}"
    kind = "pull" if isinstance(row, PullRequest) else "discussions" if isinstance(row, Discussion) else "issues"
    return f"{url_of(row.repository)}/{kind}/{row.number}"


def _int32(number: int) -> int | None:
    return number if number <= BIGGEST_INT else None


def _reason(row: Issue, context: Context, **given: Any) -> str | None:
    if row.state_reason == "duplicate" and not given.get("enableDuplicate"):
        return "NOT_PLANNED"
    return row.state_reason.upper() if row.state_reason else None


def _lock_reason(row: Issue) -> str | None:
    return row.lock_reason.upper().replace(" ", "_").replace("-", "_") if row.lock_reason else None


def _last_edited_at(row: Comment) -> str | None:
    return stamp(row.updated_at) if row.updated_at != row.created_at else None


_link = {"url": url_of, "resourcePath": lambda row: url_of(row).removeprefix(WEB)}
_times = {"createdAt": lambda row: stamp(row.created_at), "updatedAt": lambda row: stamp(row.updated_at)}
_ids = {"id": shapes.node_id, "databaseId": lambda row: _int32(row.id)}
_big_ids = _ids | {"fullDatabaseId": lambda row: str(row.id)}
_text = {"body": lambda row: row.body or "", "bodyText": lambda row: row.body or ""}
_author = {"author": lambda row: account(row.user), "authorAssociation": lambda row: "NONE"}
_issue = (
    _big_ids
    | _times
    | _link
    | _text
    | {
        "number": lambda row: row.number,
        "title": lambda row: row.title,
        "closed": lambda row: row.state == "closed",
        "closedAt": lambda row: stamp(row.closed_at),
        "locked": lambda row: row.locked,
        "activeLockReason": _lock_reason,
        "lastEditedAt": lambda row: None,
        "publishedAt": lambda row: stamp(row.created_at),
    }
)
_account = (
    _link
    | {"login": lambda row: row.login, "databaseId": lambda row: row.id}
    | {"id": lambda row: f"{'BOT' if row.kind == 'Bot' else row.kind[0]}_{row.id}"}
)
_event = {"id": shapes.node_id, "createdAt": lambda row: stamp(row.created_at)}
_connection = {"totalCount": lambda row: row.n}

LEAVES: dict[str, dict[str, Callable[[Any], Any]]] = {
    "User": _account | {"name": lambda row: None},
    "Bot": _account,
    "Mannequin": _account,
    "Organization": _account | {"name": lambda row: None},
    "Repository": _ids
    | _link
    | {
        "name": lambda row: row.name,
        "nameWithOwner": lambda row: row.full_name,
        "isPrivate": lambda row: row.private,
        "isArchived": lambda row: False,
        "isFork": lambda row: False,
        "hasIssuesEnabled": lambda row: row.has_issues,
        "hasDiscussionsEnabled": lambda row: bool(row.discussions),
        "visibility": lambda row: "PRIVATE" if row.private else "PUBLIC",
    },
    "Issue": _issue | {"state": lambda row: row.state.upper()},
    "PullRequest": _issue
    | {
        "state": lambda row: "MERGED" if row.merged_at else row.state.upper(),
        "merged": lambda row: row.merged_at is not None,
        "mergedAt": lambda row: stamp(row.merged_at),
        "additions": lambda row: row.additions,
        "deletions": lambda row: row.deletions,
        "changedFiles": lambda row: len(row.files),
        "isDraft": lambda row: row.draft,
        "permalink": url_of,
    },
    "PullRequestChangedFile": {
        "path": lambda row: row.path,
        "additions": lambda row: row.additions,
        "deletions": lambda row: row.deletions,
        "changeType": lambda row: row.status.upper(),
    },
    "IssueComment": _big_ids
    | _times
    | _link
    | _text
    | {"isMinimized": lambda row: False, "lastEditedAt": _last_edited_at},
    "Label": _link
    | {
        "id": lambda row: f"LA_{crc32(row.name.encode())}",
        "name": lambda row: row.name,
        "color": lambda row: shapes.color(row.name),
        "isDefault": lambda row: row.name == "bug",
        "description": lambda row: None,
    },
    "Commit": _link
    | {
        "id": shapes.node_id,
        "oid": lambda row: row.sha,
        "abbreviatedOid": lambda row: row.sha[:7],
        "message": lambda row: row.message,
        "messageHeadline": lambda row: row.message.partition("\n")[0],
        "additions": lambda row: row.additions,
        "deletions": lambda row: row.deletions,
        "changedFiles": lambda row: len(row.files),
        "changedFilesIfAvailable": lambda row: len(row.files),
        "committedDate": lambda row: stamp(row.committed_at),
        "authoredDate": lambda row: stamp(row.committed_at),
    },
    "Tree": {"oid": lambda row: row.oid, "abbreviatedOid": lambda row: row.oid[:7]},
    "TreeEntry": {name: attrgetter(name) for name in ("name", "type", "oid", "mode")},
    "Blob": {
        "oid": lambda row: row.oid,
        "byteSize": lambda row: len((row.text or "").encode()),
        "isBinary": lambda row: row.text is None,
        "isTruncated": lambda row: len(row.text or "") > TEXT_MAX,
        "text": lambda row: row.text and row.text[:TEXT_MAX],
    },
    "IssueType": {"id": lambda row: f"IT_{crc32(row.name.encode())}", "name": lambda row: row.name},
    "GitActor": {
        "name": lambda row: row.user or "Someone",
        "email": lambda row: None,
        "date": lambda row: stamp(row.committed_at),
    },
    "Discussion": _ids
    | _link
    | _text
    | {
        "number": lambda row: row.number,
        "title": lambda row: row.title,
        "createdAt": lambda row: stamp(row.created_at),
        "updatedAt": lambda row: stamp(row.created_at),
        "closed": lambda row: False,
        "locked": lambda row: False,
    },
    "ClosedEvent": _event | _link | {"stateReason": lambda row: (row.state_reason or "completed").upper()},
    "ReopenedEvent": _event,
    **{f"{name}Event": _event for name in ("Labeled", "Unlabeled", "Assigned", "Unassigned")},
    **{
        f"{name}Event": _event | {"milestoneTitle": lambda row: row.more["milestone"]}
        for name in ("Milestoned", "Demilestoned")
    },
    "ReactionGroup": {"content": lambda row: REACTIONS[row[0]]},
    "ReactorConnection": {"totalCount": lambda row: row},
    "LockedEvent": _event | {"lockReason": lambda row: _lock_reason(row.issue)},
    "UnlockedEvent": _event,
    "TransferredEvent": _event,
    **{
        f"{name}AsDuplicateEvent": _event
        | {"isCrossRepository": lambda row: row.more["canonical"].repository is not row.more["duplicate"].repository}
        for name in ("Marked", "Unmarked")
    },
    "ConvertedToDiscussionEvent": _event,
    "ReferencedEvent": _event,
    "CrossReferencedEvent": _event | _link | {"willCloseTarget": lambda row: True},
    "PageInfo": {
        "hasNextPage": lambda row: row.rest_after,
        "hasPreviousPage": lambda row: row.rest_before,
        "endCursor": lambda row: row.cursor(row.nodes[-1]) if row.nodes else None,
        "startCursor": lambda row: row.cursor(row.nodes[0]) if row.nodes else None,
    },
    **{
        f"{name}Connection": _connection
        for name in ("Issue", "PullRequest", "IssueComment", "Label", "PullRequestChangedFile", "Commit")
    },
    "IssueTimelineItemsConnection": _connection
    | {"filteredCount": lambda row: row.n, "pageCount": lambda row: len(row.nodes)},
    "RateLimit": {
        name: lambda row, name=name: row[name] for name in ("cost", "limit", "nodeCount", "remaining", "used")
    }
    | {"resetAt": lambda row: row["resetAt"]},
}

REACTIONS: dict[str, str] = {
    "+1": "THUMBS_UP", "-1": "THUMBS_DOWN", "laugh": "LAUGH", "hooray": "HOORAY", "confused": "CONFUSED",
    "heart": "HEART", "rocket": "ROCKET", "eyes": "EYES",
}  # fmt: skip
TYPES = {
    "labeled": "LabeledEvent",
    "unlabeled": "UnlabeledEvent",
    "assigned": "AssignedEvent",
    "unassigned": "UnassignedEvent",
    "milestoned": "MilestonedEvent",
    "demilestoned": "DemilestonedEvent",
    "closed": "ClosedEvent",
    "reopened": "ReopenedEvent",
    "locked": "LockedEvent",
    "unlocked": "UnlockedEvent",
    "transferred": "TransferredEvent",
    "marked_as_duplicate": "MarkedAsDuplicateEvent",
    "unmarked_as_duplicate": "UnmarkedAsDuplicateEvent",
    "converted_to_discussion": "ConvertedToDiscussionEvent",
    "referenced": "ReferencedEvent",
    "cross-referenced": "CrossReferencedEvent",
}


def type_of(value: Any) -> str:
    """The name of an object's type in the schema."""
    if isinstance(value, Account):
        return value.kind
    if isinstance(value, Event):
        return TYPES[value.kind]
    if isinstance(value, Comment):
        return "IssueComment"
    return type(value).__name__


def _at(key: str) -> Callable[[Any], Any]:
    return lambda row: [stamp(getattr(row, key)), row.id]


_PLACES = {"CREATED_AT": _at("created_at"), "UPDATED_AT": _at("updated_at")}


def _by_comments(row: Issue) -> Any:
    return [len(row.comments), row.id]


def issues_of(home: Repository, name: str, kind: type[Issue], given: dict[str, Any]) -> Page:
    """The issues or the pull requests of a repository, filtered and sorted as asked."""
    order = given.get("orderBy") or {"field": "CREATED_AT", "direction": "ASC"}
    place = _PLACES.get(order["field"], _by_comments)
    chosen = given.get("filterBy") or {}
    states = frozenset(given.get("states") or chosen.get("states") or ())
    labels = frozenset(given.get("labels") or chosen.get("labels") or ())
    since = _time(chosen.get("since"))

    def wanted(row: Issue) -> bool:
        is_kind = row.is_pull_request == (kind is PullRequest)
        state = "MERGED" if isinstance(row, PullRequest) and row.merged_at else row.state.upper()
        return is_kind and (not states or state in states) and (not labels or not labels.isdisjoint(row.labels))

    question = ("graphql", name, order["field"], states, labels)
    rows = home.sorted(question, lambda: sorted(filter(wanted, home.issues.values()), key=place))
    if since and order["field"] == "UPDATED_AT":
        rows = rows[bisect.bisect_left(rows, [since, 0], key=place) :]
    elif since:
        rows = [row for row in rows if (stamp(row.updated_at) or "") >= since]
    return page(name, rows, place, given, descending=order["direction"] == "DESC")


def _time(value: str | None) -> str | None:
    """An ISO time in the form in which times are compared here."""
    return stamp(datetime.fromisoformat(value)) if value else None


def _issues(row: Repository, context: Context, **given: Any) -> Page:
    return issues_of(row, "issues", Issue, given)


def _pull_requests(row: Repository, context: Context, **given: Any) -> Page:
    return issues_of(row, "pullRequests", PullRequest, given)


def _comments(row: Issue, context: Context, **given: Any) -> Page:
    order = given.get("orderBy") or {}
    rows, place = row.comments, _at("created_at")
    if order:
        place = _at("updated_at")
        rows = sorted(rows, key=place)
    return page("comments", rows, place, given, descending=order.get("direction") == "DESC")


def _labels(row: Issue, context: Context, **given: Any) -> Page:
    rows = [Label(row.repository, name) for name in sorted(row.labels)]
    return page("labels", rows, lambda label: label.name, given)


def _files(row: PullRequest, context: Context, **given: Any) -> Page:
    return page("files", sorted(row.files, key=lambda file: file.path), lambda file: file.path, given)


def _references(row: Issue, context: Context, **given: Any) -> Page:
    """The pull requests that are linked to close it; those merged or closed only when asked for.

    One that was not merged is linked where it says that it closes the issue; another one only mentions it.
    """
    says_so = re.compile(rf"\b(close|fix|resolve)[sde]*:? \S*#{row.number}\b", re.IGNORECASE)
    mentions = [event.source for event in row.events if event.source is not None]
    linked = [pull for pull in mentions if pull.merged_at or says_so.search(f"{pull.title} {pull.body}")]
    rows = [pull for pull in linked if given.get("includeClosedPrs") or pull.state == "open"]
    return page("closedByPullRequestsReferences", rows, lambda pull: pull.id, given)


def _closes(row: PullRequest, context: Context, **given: Any) -> Page:
    return page("closingIssuesReferences", row.closes, lambda issue: issue.id, given)


def _timeline(row: Issue, context: Context, **given: Any) -> Page:
    wanted = given.get("itemTypes")
    since = _time(given.get("since"))
    rows: list[Event | Comment] = [*(event for event in row.events if event.kind in TYPES), *row.comments]
    rows = [
        each
        for each in sorted(rows, key=lambda each: (each.created_at, each.id))
        if (not wanted or _word(type_of(each)) in wanted) and (not since or (stamp(each.created_at) or "") >= since)
    ]
    return page("timelineItems", rows[given.get("skip") or 0 :], _at("created_at"), given)


def _word(name: str) -> str:
    """ClosedEvent → CLOSED_EVENT."""
    return "".join(f"_{sign}" if sign.isupper() else sign.upper() for sign in name).removeprefix("_")


def _repository(row: Any, context: Context, *, owner: str, name: str, **given: Any) -> Repository:
    asked = f"{owner}/{name}"
    found = context.world.named(asked)
    if found is None and given.get("followRenames", True):
        found = context.world.moved.get(asked.lower())
    if found is None or (found.private and not context.may_read_private):
        raise Refused("NOT_FOUND", f"Could not resolve to a Repository with the name '{asked}'.")
    if found.blocked:
        raise Refused("FORBIDDEN", "Repository access blocked")
    return found


def _one_issue(row: Repository, context: Context, *, number: int) -> Issue:
    found = row.issues.get(number)
    if found is None or found.is_pull_request or not row.has_issues:
        raise Refused("NOT_FOUND", f"Could not resolve to an Issue with the number of {number}.")
    return found


def _one_pull_request(row: Repository, context: Context, *, number: int) -> Issue:
    found = row.issues.get(number)
    if found is None or not found.is_pull_request:
        raise Refused("NOT_FOUND", f"Could not resolve to a PullRequest with the number of {number}.")
    return found


def _either(row: Repository, context: Context, *, number: int) -> Issue:
    found = row.issues.get(number)
    if found is None:
        message = f"Could not resolve to an issue or pull request with the number of {number}."
        raise Refused("NOT_FOUND", message)
    return found


def _discussion(row: Repository, context: Context, *, number: int) -> Discussion:
    found = row.discussions.get(number)
    if found is None:
        raise Refused("NOT_FOUND", f"Could not resolve to a Discussion with the number of {number}.")
    return found


def _all_nodes(context: Context) -> Iterator[Any]:
    for home in context.world.repositories:
        yield home
        yield from home.commits.values()
        yield from home.discussions.values()
        for row in home.issues.values():
            yield from row.comments


def _node(row: Any, context: Context, *, id: str) -> Any:
    prefix, _, number = id.partition("_")
    found: Any = None
    if prefix in {"I", "PR"} and number.isdigit():
        found = context.world.by_node.get(int(number))
        if found and (found.repository.issues.get(found.number) is not found or shapes.node_id(found) != id):
            found = None
    else:
        found = next((each for each in _all_nodes(context) if shapes.node_id(each) == id), None)
    home = found if isinstance(found, Repository) else getattr(found, "repository", None)
    if found is None or (home and home.private and not context.may_read_private):
        raise Refused("NOT_FOUND", f"Could not resolve to a node with the global id of '{id}'.")
    return found


def _nodes(row: Any, context: Context, *, ids: list[str]) -> list[Any]:
    if len(ids) > PAGE_MAX:
        message = f"You may not provide more than 100 node ids; you provided {len(ids)}."
        raise Refused("ARGUMENT_LIMIT", message)
    found = []
    for id in ids:
        try:
            found.append(_node(row, context, id=id))
        except Refused as refused:
            found.append(refused)
    return found


def _seen(row: Issue | Repository | None, context: Context) -> Issue | Repository | None:
    """An issue or a repository, unless it is private and the query can't see it."""
    home = row.repository if isinstance(row, Issue) else row
    return None if home is not None and home.private and not context.may_read_private else row


def _plain(attribute: str) -> Callable[..., Any]:
    return lambda row, context, **given: getattr(row, attribute)


def _itself(row: Any, context: Context, **given: Any) -> Any:
    return row


def _by(row: Any, context: Context, **given: Any) -> Account | None:
    return account(row.user)


_actor: dict[str, Callable[..., Any]] = {"actor": lambda row, context: account(row.actor)}
_both: dict[str, Callable[..., Any]] = {
    "author": _by,
    "authorAssociation": lambda row, context: "NONE",
    "comments": _comments,
    "labels": _labels,
    "repository": _plain("repository"),
}
_paged: dict[str, Callable[..., Any]] = {
    "pageInfo": _itself,
    "nodes": _plain("nodes"),
    "edges": lambda row, context: [Edge(row, node) for node in row.nodes],
}
_edge: dict[str, Callable[..., Any]] = {
    "node": _plain("node"),
    "cursor": lambda row, context: row.page.cursor(row.node),
}
_connections = ("Issue", "PullRequest", "IssueComment", "Label", "PullRequestChangedFile", "Commit")
_avatar = {"avatarUrl": lambda row, context, **given: f"https://avatars.githubusercontent.com/u/{row.id}?v=4"}

FIELDS: dict[str, dict[str, Callable[..., Any]]] = {
    "Query": {
        "repository": _repository,
        "node": _node,
        "nodes": _nodes,
        "rateLimit": lambda row, context, **given: context.rate_limit,
        "viewer": lambda row, context: Account("olga", "User"),
    },
    "User": _avatar,
    "Bot": _avatar,
    "Mannequin": _avatar,
    "Organization": _avatar,
    "Repository": {
        "owner": lambda row, context: Account(row.owner, "Organization"),
        "issues": _issues,
        "pullRequests": _pull_requests,
        "issue": _one_issue,
        "pullRequest": _one_pull_request,
        "issueOrPullRequest": _either,
        "discussion": _discussion,
        "object": lambda row, context, *, oid: row.commits.get(oid) or row.in_git.get(oid),
    },
    "Issue": _both
    | {"issueType": lambda row, context: IssueType(row.issue_type) if row.issue_type else None}
    | {
        "stateReason": _reason,
        "timelineItems": _timeline,
        "closedByPullRequestsReferences": _references,
        "reactionGroups": lambda row, context: [(kind, row.reactions.get(kind, 0)) for kind in REACTIONS],
    },
    "ReactionGroup": {"reactors": lambda row, context, **given: row[1]},
    **{
        f"{name}Event": _actor
        | {"label": lambda row, context: Label(row.issue.repository, row.more["label"]), "labelable": _plain("issue")}
        for name in ("Labeled", "Unlabeled")
    },
    **{
        f"{name}Event": _actor
        | {"assignee": lambda row, context: account(row.more["assignee"]), "assignable": _plain("issue")}
        for name in ("Assigned", "Unassigned")
    },
    **{f"{name}Event": _actor | {"subject": _plain("issue")} for name in ("Milestoned", "Demilestoned")},
    "PullRequest": _both | {"files": _files, "closingIssuesReferences": _closes, "mergeCommit": _plain("merge_commit")},
    "IssueComment": {
        "author": _by,
        "authorAssociation": lambda row, context: "NONE",
        "issue": _plain("issue"),
        "repository": lambda row, context: row.issue.repository,
    },
    "Commit": {
        "author": _itself,
        "committer": _itself,
        "repository": _plain("repository"),
        "tree": _plain("tree"),
        "parents": lambda row, context, **given: page("parents", [row.parent], lambda commit: commit.sha, given),
        "associatedPullRequests": lambda row, context, **given: page(
            "associatedPullRequests",
            [
                pull
                for pull in row.repository.issues.values()
                if isinstance(pull, PullRequest) and pull.merge_commit is row
            ],
            lambda pull: pull.id,
            given,
        ),
    },
    "Tree": {"entries": _plain("entries")},
    "TreeEntry": {"object": _plain("object")},
    "GitActor": {"user": _by},
    "Discussion": {"author": _by, "repository": _plain("repository")},
    "Label": {"repository": _plain("repository")},
    "ClosedEvent": _actor | {"closer": _plain("closer"), "closable": _plain("issue")},
    "ReopenedEvent": _actor | {"closable": _plain("issue")},
    "LockedEvent": _actor | {"lockable": _plain("issue")},
    "UnlockedEvent": _actor | {"lockable": _plain("issue")},
    "TransferredEvent": _actor
    | {"issue": _plain("issue"), "fromRepository": lambda row, context: _seen(row.more.get("from"), context)},
    **{
        f"{name}AsDuplicateEvent": _actor
        | {
            "canonical": lambda row, context: _seen(row.more["canonical"], context),
            "duplicate": lambda row, context: _seen(row.more["duplicate"], context),
        }
        for name in ("Marked", "Unmarked")
    },
    "ConvertedToDiscussionEvent": _actor | {"discussion": _plain("discussion")},
    "ReferencedEvent": _actor | {"commit": _plain("closer"), "subject": _plain("issue")},
    "CrossReferencedEvent": _actor | {"source": _plain("source"), "target": _plain("issue")},
    "IssueTimelineItemsConnection": _paged,
    "IssueTimelineItemsEdge": _edge,
    **{f"{name}Connection": _paged for name in _connections},
    **{f"{name}Edge": _edge for name in _connections},
}
