"""GitHub's JSON shapes of repositories, issues and comments (REST, version 2022-11-28)."""

from typing import Any
from zlib import crc32

from tests.github.world import Comment, Issue, Repository, stamp

WEB = "https://github.com"


def user(api: str, login: str | None) -> dict[str, Any] | None:
    """A user; None is the account that was deleted."""
    if login is None:
        return None
    here = f"{api}/users/{login}"
    number = crc32(login.encode()) % 10_000_000
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
        "type": "Bot" if login.endswith("[bot]") else "User",
        "site_admin": False,
    } | names


def repository(api: str, row: Repository) -> dict[str, Any]:
    return {
        "id": row.id,
        "node_id": f"R_{row.id}",
        "name": row.name,
        "full_name": row.full_name,
        "private": row.private,
        "owner": user(api, row.owner),
        "html_url": f"{WEB}/{row.full_name}",
        "description": None,
        "fork": False,
        "url": f"{api}/repos/{row.full_name}",
        "has_issues": row.has_issues,
        "open_issues_count": sum(issue.state == "open" for issue in row.issues.values()),
        "visibility": "private" if row.private else "public",
        "archived": False,
        "disabled": False,
        "default_branch": "main",
    }


def _reactions(url: str) -> dict[str, Any]:
    kinds = ("+1", "-1", "laugh", "hooray", "confused", "heart", "rocket", "eyes")
    return {"url": f"{url}/reactions", "total_count": 0} | dict.fromkeys(kinds, 0)


def _label(api: str, row: Repository, name: str) -> dict[str, Any]:
    number = crc32(name.encode())
    return {
        "id": number,
        "node_id": f"LA_{number}",
        "url": f"{api}/repos/{row.full_name}/labels/{name}",
        "name": name,
        "color": f"{number & 0xFFFFFF:06x}",
        "default": name == "bug",
        "description": None,
    }


def issue(api: str, row: Issue) -> dict[str, Any]:
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
        "node_id": f"I_{row.id}",
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
        "active_lock_reason": None,
        "body": row.body,
        "closed_by": None,
        "reactions": _reactions(url),
        "timeline_url": f"{url}/timeline",
        "performed_via_github_app": None,
        "state_reason": row.state_reason,
    }
    if row.is_pull_request:
        pull = {"url": f"{home}/pulls/{row.number}", "html_url": html_url, "merged_at": None}
        shape |= {
            "draft": False,
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
