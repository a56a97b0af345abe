"""GraphQL queries to GitHub.

The price is a request for each connection of each parent, in hundreds. A page of 56 issues costs 4 points of 5,000 an
hour, so 68,000 issues fit into an hour. That is why the files of a change are requested once, with the pull requests
linked to the issue. GraphQL lists no files of a commit, only those of the pull request that was merged as it, and the
folders of the commit and its parent.
"""

from collections.abc import Sequence
from typing import Any

GitObject = tuple[str, str]
"""The repository (owner/name, or host/owner/name) and the hash of a commit, a folder or a file in git."""
PAGE_ISSUES = 56
CONNECTED = 100
LINKED_AT_ONCE = 10

KEPT_EVENTS = (
    "CLOSED_EVENT, REOPENED_EVENT, LABELED_EVENT, UNLABELED_EVENT, ASSIGNED_EVENT, UNASSIGNED_EVENT, MILESTONED_EVENT, "
    "DEMILESTONED_EVENT, TRANSFERRED_EVENT, MARKED_AS_DUPLICATE_EVENT, UNMARKED_AS_DUPLICATE_EVENT"
)
TYPE_OF_ISSUE = "issueType { name }"
"""Left out where GitHub does not have it."""
_FRAGMENTS = {
    "Who": """
fragment Who on Actor {
  __typename
  login
  ... on User { databaseId }
  ... on Bot { databaseId }
  ... on Organization { databaseId }
  ... on Mannequin { databaseId }
  ... on EnterpriseUserAccount { user { login databaseId } }
}""",
    "Whole": """
fragment Whole on Issue {
  id
  number
  title
  body
  state
  stateReason(enableDuplicate: true)
  locked
  createdAt
  updatedAt
  closedAt
  url
  author { ...Who }
  authorAssociation
  labels(first: 100) { ...Labels }
  comments(first: 100) { ...Comments }
  timelineItems(last: 10, itemTypes: [CLOSED_EVENT, CONVERTED_TO_DISCUSSION_EVENT]) @include(if: $changes) {
    nodes {
      __typename
      ... on ClosedEvent { closer { ...Pull ...Closing } }
      ... on ConvertedToDiscussionEvent { discussion { url } }
    }
  }
  closedByPullRequestsReferences(first: 3, includeClosedPrs: true) { ...Links }
  history: timelineItems(first: 100, itemTypes: [KEPT]) @include(if: $changes) { ...Events }
  reactionGroups { content reactors { totalCount } }
  TYPE
}""".replace("KEPT", KEPT_EVENTS).replace("TYPE", TYPE_OF_ISSUE),
    "Events": """
fragment Events on IssueTimelineItemsConnection {
  pageInfo { hasNextPage endCursor }
  nodes {
    __typename
    ... on ClosedEvent { createdAt actor { ...Name } reason: stateReason }
    ... on ReopenedEvent { createdAt actor { ...Name } }
    ... on LabeledEvent { createdAt actor { ...Name } label { name } }
    ... on UnlabeledEvent { createdAt actor { ...Name } label { name } }
    ... on AssignedEvent { createdAt actor { ...Name } assignee { ...Assigned } }
    ... on UnassignedEvent { createdAt actor { ...Name } assignee { ...Assigned } }
    ... on MilestonedEvent { createdAt actor { ...Name } milestoneTitle }
    ... on DemilestonedEvent { createdAt actor { ...Name } milestoneTitle }
    ... on TransferredEvent { createdAt actor { ...Name } fromRepository { url } }
    ... on MarkedAsDuplicateEvent { createdAt actor { ...Name } canonical { ...Url } duplicate { ...Url } }
    ... on UnmarkedAsDuplicateEvent { createdAt actor { ...Name } canonical { ...Url } duplicate { ...Url } }
  }
}""",
    "Url": """
fragment Url on IssueOrPullRequest {
  ... on Issue { url }
  ... on PullRequest { url }
}""",
    "Name": """
fragment Name on Actor {
  __typename
  login
}""",
    "Assigned": """
fragment Assigned on Assignee {
  __typename
  ... on User { login }
  ... on Bot { login }
  ... on Mannequin { login }
  ... on Organization { login }
}""",
    "Labels": """
fragment Labels on LabelConnection {
  pageInfo { hasNextPage endCursor }
  nodes { name }
}""",
    "Comments": """
fragment Comments on IssueCommentConnection {
  totalCount
  pageInfo { hasNextPage endCursor }
  nodes { fullDatabaseId databaseId body createdAt author { ...Who } }
}""",
    "Files": """
fragment Files on PullRequestChangedFileConnection {
  pageInfo { hasNextPage endCursor }
  nodes { path additions deletions }
}""",
    "Pull": """
fragment Pull on PullRequest {
  __typename
  id
  number
  title
  url
  createdAt
  mergedAt
  mergeCommit { oid }
  additions
  deletions
  changedFiles
  author { ...Who }
}""",
    "Links": """
fragment Links on PullRequestConnection {
  pageInfo { hasNextPage endCursor }
  nodes { ...Pull files(first: 100) { ...Files } }
}""",
    "Changed": """
fragment Changed on GitObject {
  ... on Commit {
    oid
    additions
    deletions
    changedFilesIfAvailable
    tree { ...Entries }
    parents(first: 1) { nodes { tree { ...Entries } } }
    associatedPullRequests(first: 3) {
      nodes { __typename id mergeCommit { oid } additions deletions changedFiles files(first: 100) { ...Files } }
    }
  }
}""",
    "Folder": """
fragment Folder on GitObject {
  ... on Tree { ...Entries }
}""",
    "Entries": """
fragment Entries on Tree {
  entries { name type oid mode }
}""",
    "Text": """
fragment Text on GitObject {
  ... on Blob { isBinary isTruncated text }
}""",
    "Counted": """
fragment Counted on Issue {
  comments(first: 1) { totalCount }
  timelineItems(last: 10, itemTypes: [CLOSED_EVENT]) {
    nodes {
      ... on ClosedEvent {
        closer {
          __typename
          ... on PullRequest { id url changedFiles }
          ... on Commit { oid url }
        }
      }
    }
  }
  closedByPullRequestsReferences(first: 3, includeClosedPrs: true) { nodes { id url changedFiles mergeCommit { oid } } }
}""",
    "Closing": """
fragment Closing on Commit {
  __typename
  oid
  url
  message
  authoredDate
  committedDate
  additions
  deletions
  changedFilesIfAvailable
  author { name user { login } }
}""",
}


def _with(text: str) -> str:
    """The query with the fragments that it needs, each once."""
    needed: list[str] = []
    texts = [text]
    for part in texts:
        for name, fragment in _FRAGMENTS.items():
            if f"...{name} " in part and name not in needed:
                needed.append(name)
                texts.append(fragment)
    return "".join(texts).strip()


PAGE = _with("""
query Issues(
  $owner: String!, $name: String!, $first: Int!, $after: String, $filter: IssueFilters!, $changes: Boolean!
) {
  repository(owner: $owner, name: $name) {
    nameWithOwner
    isPrivate
    hasIssuesEnabled
    issues(first: $first, after: $after, filterBy: $filter, orderBy: {field: UPDATED_AT, direction: ASC}) {
      totalCount
      pageInfo { hasNextPage endCursor }
      nodes { ...Whole }
    }
  }
}
""")

ONLY_NUMBERS = """
query Numbers($owner: String!, $name: String!, $first: Int!, $after: String, $filter: IssueFilters!) {
  repository(owner: $owner, name: $name) {
    nameWithOwner
    isPrivate
    hasIssuesEnabled
    issues(first: $first, after: $after, filterBy: $filter, orderBy: {field: UPDATED_AT, direction: ASC}) {
      totalCount
      pageInfo { hasNextPage endCursor }
      nodes { number updatedAt url }
    }
  }
}
""".strip()

COUNTED_AT_ONCE = 100
COUNTED = _with("""
query Counted($owner: String!, $name: String!, $first: Int!, $filter: IssueFilters!) {
  repository(owner: $owner, name: $name) {
    isPrivate
    issues(first: $first, filterBy: $filter, orderBy: {field: UPDATED_AT, direction: DESC}) {
      totalCount
      nodes { ...Counted }
    }
  }
}
""")
"""What an estimate asks: how many issues there are, and what the pages of the first of them would not contain."""

IS_PRIVATE = "\n  repository(owner: $owner, name: $name) { isPrivate }"
ANYTHING = "query Anything { rateLimit { remaining } }"

MORE = {
    "comments": "... on Issue { comments(first: %d, after: $after%d) { ...Comments } }",
    "labels": "... on Issue { labels(first: %d, after: $after%d) { ...Labels } }",
    "closedByPullRequestsReferences": "... on Issue { closedByPullRequestsReferences(first: %d, after: $after%d, "
    "includeClosedPrs: true) { ...Links } }",
    "history": f"... on Issue {{ history: timelineItems(first: %d, after: $after%d, itemTypes: [{KEPT_EVENTS}]) "
    "{ ...Events } }",
    "files": "... on PullRequest { files(first: %d, after: $after%d) { ...Files } }",
}


def given(numbers: Sequence[int]) -> str:
    """The query for issues by their numbers, each as a page has it; number n comes back as `i{n}`."""
    asked = "".join(f"\n    i{n}: issue(number: {n}) {{ ...Whole }}" for n in numbers)
    return _with(
        "query Given($owner: String!, $name: String!, $changes: Boolean!) {\n"
        "  repository(owner: $owner, name: $name) {\n    nameWithOwner\n    isPrivate"
        f"{asked}\n  }}\n}}"
    )


def counted(numbers: Sequence[int]) -> str:
    """The query for what an estimate asks of issues by their numbers; number n comes back as `i{n}`."""
    asked = "".join(f"\n    i{n}: issue(number: {n}) {{ ...Counted }}" for n in numbers)
    return _with(
        "query Counted($owner: String!, $name: String!) {\n"
        "  repository(owner: $owner, name: $name) {\n    isPrivate"
        f"{asked}\n  }}\n}}"
    )


def objects(wanted: Sequence[GitObject], fragment: str, repository: Sequence[str]) -> tuple[str, dict[str, Any]]:
    """The query for what a fragment asks of objects in git, and its variables.

    Object n comes back as `object` of `o{n}`. Whether the `repository` (owner and name) whose issues are read is
    public, is asked beside them.
    """
    declared = ", ".join(f"$owner{n}: String!, $name{n}: String!, $oid{n}: GitObjectID!" for n in range(len(wanted)))
    declared = f"$owner: String!, $name: String!, {declared}"
    asked = IS_PRIVATE
    variables: dict[str, Any] = dict(zip(("owner", "name"), repository, strict=True))
    for n, (repository, oid) in enumerate(wanted):
        owner, name = repository.split("/")[-2:]
        asked += (
            f"\n  o{n}: repository(owner: $owner{n}, name: $name{n}) {{ object(oid: $oid{n}) {{ ...{fragment} }} }}"
        )
        variables |= {f"owner{n}": owner, f"name{n}": name, f"oid{n}": oid}
    return _with(f"query Objects({declared}) {{{asked}\n}}"), variables


def more(
    parts: Sequence[tuple[str, str, str | None]], first: int, repository: Sequence[str]
) -> tuple[str, dict[str, Any]]:
    """The query for the next page of several connections (name, id of the node, cursor), and its variables.

    Part n comes back as `p{n}`; linked pull requests, which bring their files, come ten at a time. Nodes do not say
    whether the `repository` (owner and name) is public, so that is asked beside them.
    """
    declared = ", ".join(f"$id{n}: ID!, $after{n}: String" for n in range(len(parts)))
    declared = f"$owner: String!, $name: String!, {declared}"
    asked = IS_PRIVATE
    variables: dict[str, Any] = dict(zip(("owner", "name"), repository, strict=True))
    for n, (name, node_id, after) in enumerate(parts):
        size = min(first, LINKED_AT_ONCE) if name == "closedByPullRequestsReferences" else first
        asked += f"\n  p{n}: node(id: $id{n}) {{ {MORE[name] % (size, n)} }}"
        variables |= {f"id{n}": node_id, f"after{n}": after}
    return _with(f"query More({declared}) {{{asked}\n}}"), variables
