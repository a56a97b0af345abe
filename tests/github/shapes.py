"""GitHub's JSON shapes of repositories, issues and comments (REST, version 2022-11-28)."""

from collections.abc import Mapping
from typing import Any
from zlib import crc32

from tests.github.world import (
    START,
    Comment,
    Commit,
    Discussion,
    Event,
    File,
    Issue,
    Mannequin,
    PullRequest,
    Repository,
    stamp,
)

WEB = "https://github.com"


def account_number(login: str) -> int:
    """The id of a user."""
    return crc32(login.encode()) % 10_000_000


def color(label: str) -> str:
    """The colour of a label."""
    return f"{crc32(label.encode()) & 0xFFFFFF:06x}"


def node_id(row: Any) -> str:
    """The global id of an object."""
    if isinstance(row, Commit):
        return f"C_{row.sha}"
    prefix = {Repository: "R", Issue: "I", PullRequest: "PR", Comment: "IC", Discussion: "D", Event: "EV"}[type(row)]
    return f"{prefix}_{row.id}"


def user(api: str, login: str | None) -> dict[str, Any] | None:
    """A user; None is the account that was deleted."""
    if login is None:
        return None
    here = f"{api}/users/{login}"
    number = account_number(login)
    parts = ("followers", "subscriptions", "orgs", "repos", "received_events")
    names = {f"{'organizations' if part == 'orgs' else part}_url": f"{here}/{part}" for part in parts}
    return {
        "login": login,
        "id": number,
        "node_id": f"U_{number}",
        "avatar_url": f"https://avatars.githubusercontent.com/u/{number}?v=4",
        "gravatar_id": "",
        "url": here,
        "html_url": f"{WEB}/{login}",
        "following_url": f"{here}/following{{/other_user}}",
        "gists_url": f"{here}/gists{{/gist_id}}",
        "starred_url": f"{here}/starred{{/owner}}{{/repo}}",
        "events_url": f"{here}/events{{/privacy}}",
        "type": "Bot" if login.endswith("[bot]") else "Mannequin" if isinstance(login, Mannequin) else "User",
        "user_view_type": "public",
        "site_admin": False,
    } | names


_PLAIN_PARTS = [
    "contributors",
    "deployments",
    "downloads",
    "events",
    "forks",
    "hooks",
    "languages",
    "merges",
    "stargazers",
    "subscribers",
    "subscription",
    "tags",
    "teams",
]
_PARTS = {part: part for part in _PLAIN_PARTS} | {
    "archive": "{archive_format}{/ref}",
    "assignees": "assignees{/user}",
    "blobs": "git/blobs{/sha}",
    "branches": "branches{/branch}",
    "collaborators": "collaborators{/collaborator}",
    "comments": "comments{/number}",
    "commits": "commits{/sha}",
    "compare": "compare/{base}...{head}",
    "contents": "contents/{+path}",
    "git_commits": "git/commits{/sha}",
    "git_refs": "git/refs{/sha}",
    "git_tags": "git/tags{/sha}",
    "issue_comment": "issues/comments{/number}",
    "issue_events": "issues/events{/number}",
    "issues": "issues{/number}",
    "keys": "keys{/key_id}",
    "labels": "labels{/name}",
    "milestones": "milestones{/number}",
    "notifications": "notifications{?since,all,participating}",
    "pulls": "pulls{/number}",
    "releases": "releases{/id}",
    "statuses": "statuses/{sha}",
    "trees": "git/trees{/sha}",
}


def repository(api: str, row: Repository, *, alone: bool = False) -> dict[str, Any]:
    """A repository; `alone`, with what only its own address tells."""
    home = f"{api}/repos/{row.full_name}"
    web = f"{WEB}/{row.full_name}"
    n_open = sum(issue.state == "open" for issue in row.issues.values())
    since = stamp(START)
    shape = {
        "id": row.id,
        "node_id": node_id(row),
        "name": row.name,
        "full_name": row.full_name,
        "private": row.private,
        "owner": user(api, row.owner),
        "html_url": web,
        "description": None,
        "fork": False,
        "url": home,
        **{f"{part}_url": f"{home}/{path}" for part, path in _PARTS.items()},
        "git_url": f"git://github.com/{row.full_name}.git",
        "ssh_url": f"git@github.com:{row.full_name}.git",
        "clone_url": f"{web}.git",
        "svn_url": web,
        "mirror_url": None,
        "homepage": None,
        "language": None,
        "license": None,
        "created_at": since,
        "updated_at": since,
        "pushed_at": since,
        "has_issues": row.has_issues,
        "has_discussions": bool(row.discussions),
        **dict.fromkeys(("has_projects", "has_wiki", "has_pages", "has_downloads"), False),
        **dict.fromkeys(("forks", "forks_count", "stargazers_count", "watchers", "watchers_count", "size"), 0),
        "open_issues": n_open,
        "open_issues_count": n_open,
        "visibility": "private" if row.private else "public",
        "archived": False,
        "disabled": False,
        "default_branch": "main",
    }
    return shape | {"network_count": 0, "subscribers_count": 0} if alone else shape


def _reactions(url: str, counts: Mapping[str, int] | None = None) -> dict[str, Any]:
    kinds = ("+1", "-1", "laugh", "hooray", "confused", "heart", "rocket", "eyes")
    given = counts or {}
    shape = {"url": f"{url}/reactions", "total_count": sum(given.values())}
    return shape | {kind: given.get(kind, 0) for kind in kinds}


def _type(name: str | None) -> dict[str, Any] | None:
    if name is None:
        return None
    number = crc32(name.encode())
    return {"id": number, "node_id": f"IT_{number}", "name": name, "description": None}


def _label(api: str, row: Repository, name: str) -> dict[str, Any]:
    number = crc32(name.encode())
    return {
        "id": number,
        "node_id": f"LA_{number}",
        "url": f"{api}/repos/{row.full_name}/labels/{name}",
        "name": name,
        "color": color(name),
        "default": name == "bug",
        "description": None,
    }


def issue(api: str, row: Issue, *, alone: bool = False) -> dict[str, Any]:
    """An issue or a pull request as one; `alone`, it says who closed it."""
    home = f"{api}/repos/{row.repository.full_name}"
    url = f"{home}/issues/{row.number}"
    kind = "pull" if row.is_pull_request else "issues"
    html_url = f"{WEB}/{row.repository.full_name}/{kind}/{row.number}"
    shape = {
        "url": url,
        "repository_url": home,
        "labels_url": f"{url}/labels{{/name}}",
        "comments_url": f"{url}/comments",
        "events_url": f"{url}/events",
        "html_url": html_url,
        "id": row.id,
        "node_id": node_id(row),
        "number": row.number,
        "title": row.title,
        "user": user(api, row.user),
        "labels": [_label(api, row.repository, name) for name in row.labels],
        "state": row.state,
        "locked": row.locked,
        "assignee": None,
        "assignees": [],
        "milestone": None,
        "comments": len(row.comments),
        "created_at": stamp(row.created_at),
        "updated_at": stamp(row.updated_at),
        "closed_at": stamp(row.closed_at),
        "author_association": "NONE",
        "active_lock_reason": row.lock_reason,
        "body": row.body,
        "reactions": _reactions(url, row.reactions),
        "type": _type(row.issue_type),
        "timeline_url": f"{url}/timeline",
        "performed_via_github_app": None,
        "state_reason": row.state_reason,
    }
    if alone:
        shape["closed_by"] = user(api, row.closed_by)
    if isinstance(row, PullRequest):
        pull = {"url": f"{home}/pulls/{row.number}", "html_url": html_url, "merged_at": stamp(row.merged_at)}
        shape |= {
            "draft": row.draft,
            "pull_request": pull | {"diff_url": f"{html_url}.diff", "patch_url": f"{html_url}.patch"},
        }
    return shape


def comment(api: str, row: Comment) -> dict[str, Any]:
    home = f"{api}/repos/{row.issue.repository.full_name}"
    kind = "pull" if row.issue.is_pull_request else "issues"
    return {
        "url": f"{home}/issues/comments/{row.id}",
        "html_url": f"{WEB}/{row.issue.repository.full_name}/{kind}/{row.issue.number}#issuecomment-{row.id}",
        "issue_url": f"{home}/issues/{row.issue.number}",
        "id": row.id,
        "node_id": f"IC_{row.id}",
        "user": user(api, row.user),
        "created_at": stamp(row.created_at),
        "updated_at": stamp(row.updated_at),
        "author_association": "NONE",
        "body": row.body,
        "reactions": _reactions(f"{home}/issues/comments/{row.id}"),
        "performed_via_github_app": None,
    }


def _event_link(api: str, row: Event) -> str:
    return f"{api}/repos/{row.issue.repository.full_name}/issues/events/{row.id}"


def event(api: str, row: Event) -> dict[str, Any]:
    """An entry of an issue's events; a commit that closed it stands in it, a pull request does not."""
    home = f"{api}/repos/{row.issue.repository.full_name}"
    sha = row.closer.sha if isinstance(row.closer, Commit) else None
    shape = {
        "id": row.id,
        "node_id": node_id(row),
        "url": _event_link(api, row),
        "actor": user(api, row.actor or "ghost"),
        "event": row.kind,
        "commit_id": sha,
        "commit_url": f"{home}/commits/{sha}" if sha else None,
        "created_at": stamp(row.created_at),
        "performed_via_github_app": None,
    }
    if row.kind == "locked":
        shape["lock_reason"] = row.more.get("lock_reason")
    if name := row.more.get("label"):
        shape["label"] = {"name": name, "color": color(name)}
    if login := row.more.get("assignee"):
        shape["assignee"] = user(api, login)
        shape["assigner"] = user(api, row.actor or "ghost")
    if title := row.more.get("milestone"):
        shape["milestone"] = {"title": title}
    return shape


def timeline(api: str, row: Event | Comment) -> dict[str, Any]:
    """An entry of an issue's timeline, where nobody is without a name."""
    if isinstance(row, Comment):
        who = user(api, row.user or "ghost")
        return comment(api, row) | {"event": "commented", "actor": who, "user": who}
    if row.source is None:
        shape = event(api, row) | ({"state_reason": row.state_reason} if row.kind == "closed" else {})
        shape.pop("assigner", None)  # told in the listing of events alone
        return shape
    source = issue(api, row.source) | {"repository": repository(api, row.source.repository)}
    return {
        "actor": user(api, row.actor or "ghost"),
        "event": row.kind,
        "created_at": stamp(row.created_at),
        "updated_at": stamp(row.created_at),
        "source": {"type": "issue", "issue": source},
    }


def file(api: str, home: Repository, row: File) -> dict[str, Any]:
    """A file that a pull request or a commit changed."""
    sha = f"{crc32(row.path.encode()):040x}"
    return {
        "sha": sha,
        "filename": row.path,
        "status": row.status,
        "additions": row.additions,
        "deletions": row.deletions,
        "changes": row.additions + row.deletions,
        "blob_url": f"{WEB}/{home.full_name}/blob/{sha}/{row.path}",
        "raw_url": f"{WEB}/{home.full_name}/raw/{sha}/{row.path}",
        "contents_url": f"{api}/repos/{home.full_name}/contents/{row.path}?ref={sha}",
        "patch": "@@ -1 +1 @@",
    }


def commit(api: str, row: Commit) -> dict[str, Any]:
    """A commit with the files that it changed."""
    home = f"{api}/repos/{row.repository.full_name}"
    person = {"name": row.user or "Someone", "email": "someone@example.org", "date": stamp(row.committed_at)}
    unverified = {"verified": False, "reason": "unsigned", "signature": None, "payload": None, "verified_at": None}
    return {
        "url": f"{home}/commits/{row.sha}",
        "sha": row.sha,
        "node_id": node_id(row),
        "html_url": f"{WEB}/{row.repository.full_name}/commit/{row.sha}",
        "comments_url": f"{home}/commits/{row.sha}/comments",
        "commit": {
            "url": f"{home}/git/commits/{row.sha}",
            "author": person,
            "committer": person,
            "message": row.message,
            "comment_count": 0,
            "tree": {"sha": row.sha, "url": f"{home}/git/trees/{row.sha}"},
            "verification": unverified,
        },
        "author": user(api, row.user),
        "committer": user(api, row.user),
        "parents": [{"sha": row.parent.sha, "url": f"{home}/commits/{row.parent.sha}"}],
        "stats": {
            "additions": row.additions,
            "deletions": row.deletions,
            "total": row.additions + row.deletions,
        },
        "files": [file(api, row.repository, each) for each in row.files],
    }


_OF_BOTH = [
    "node_id",
    "id",
    "number",
    "title",
    "body",
    "user",
    "labels",
    "state",
    "locked",
    "active_lock_reason",
    "assignee",
    "assignees",
    "milestone",
    "comments",
    "created_at",
    "updated_at",
    "closed_at",
    "html_url",
    "author_association",
    "draft",
    "comments_url",
]


def pull_request(api: str, row: PullRequest) -> dict[str, Any]:
    """A pull request by itself, with what it changes."""
    home = f"{api}/repos/{row.repository.full_name}"
    url = f"{home}/pulls/{row.number}"
    as_issue = issue(api, row)
    sha = f"{row.id:040x}"
    links = {
        "html": as_issue["html_url"],
        "issue": as_issue["url"],
        "comments": as_issue["comments_url"],
        "commits": f"{url}/commits",
        "review_comment": f"{home}/pulls/comments{{/number}}",
        "review_comments": f"{url}/comments",
        "statuses": f"{home}/statuses/{sha}",
    }
    side = {"sha": sha, "user": user(api, row.repository.owner), "repo": repository(api, row.repository)}
    return {
        "url": url,
        **{name: as_issue[name] for name in _OF_BOTH},
        **{name: as_issue["pull_request"][name] for name in ("diff_url", "patch_url", "merged_at")},
        "issue_url": as_issue["url"],
        **{f"{name}_url": links[name] for name in ("commits", "review_comment", "review_comments", "statuses")},
        "_links": {"self": {"href": url}} | {name: {"href": link} for name, link in links.items()},
        "base": side | {"label": f"{row.repository.owner}:main", "ref": "main"},
        "head": side | {"label": f"{row.repository.owner}:patch", "ref": "patch"},
        "merge_commit_sha": row.merge_commit.sha if row.merge_commit else None,
        "merged": row.merged_at is not None,
        "merged_by": user(api, row.closed_by) if row.merged_at else None,
        "mergeable": None,
        "mergeable_state": "unknown",
        "rebaseable": None,
        "maintainer_can_modify": False,
        "auto_merge": None,
        "requested_reviewers": [],
        "requested_teams": [],
        "review_comments": 0,
        "commits": 1,
        "additions": row.additions,
        "deletions": row.deletions,
        "changed_files": len(row.files),
    }
