"""Issue pages: the list of stored issues, and one issue with its snapshots."""

from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render

from ingest import queries
from ingest.access import get_issue
from ingest.errors import Invalid, NotFound
from ingest.models import Issue, Snapshot, Viewer
from ingest.threads import ThreadPart, snapshot_lines, thread_part
from ingest.views.paging import parse_key

PAGE_ROWS = 50
REPOSITORIES_SHOWN = 500
LONGEST_KEY = 84
ASKED = ("repository", "state", "label", "search", "changes", "presence")


@login_required
def issues(request: HttpRequest) -> HttpResponse:
    """Every issue stored that this person may see, in pages that follow a key."""
    words = {name: request.GET.get(name, "").strip() for name in ASKED}
    words["search"] = request.GET.get("search", "")  # in quotes, blanks count
    problem = ""
    try:
        found = queries.issues(request.user, **words, is_complete=False)
    except Invalid as error:
        problem = " ".join(sentence for sentences in error.fields.values() for sentence in sentences) or error.message
        found = queries.issues(request.user).none()
    after, before = parse_key(request.GET.get("after")), parse_key(request.GET.get("before"))
    if before:
        back = list(queries.neighboring_issues(found, before, back=True)[: PAGE_ROWS + 1])
        rows, more_before, more_after = back[:PAGE_ROWS][::-1], len(back) > PAGE_ROWS, True
    else:
        forth = list((queries.neighboring_issues(found, after) if after else found)[: PAGE_ROWS + 1])
        rows, more_before, more_after = forth[:PAGE_ROWS], bool(after), len(forth) > PAGE_ROWS
    stored = list(queries.repositories(request.user)[:REPOSITORIES_SHOWN])
    context = {
        "rows": rows,
        "words": words,
        "asked": any(words.values()),
        "problem": problem,
        "is_beyond": bool(after or before),
        "first_url": _page_url(words) if any(words.values()) else request.path,
        "counted": None if problem else _counted(found, words, rows, more_before or more_after),
        "n_not_searched": queries.n_not_searched(request.user) if words["search"] else 0,
        "counted_most": queries.COUNTED_MOST,
        "repositories": stored,
        "repository": next((one for one in stored if one.full_name.lower() == words["repository"].lower()), None),
        "presences": Issue.Presence.choices,
        "previous_url": _page_url(words, before=rows[0].pk) if rows and more_before else None,
        "next_url": _page_url(words, after=rows[-1].pk) if rows and more_after else None,
    }
    return render(request, "ingest/issues.html", context, status=422 if problem else 200)


def _counted(found: Any, words: dict[str, str], rows: list[Issue], has_more: bool) -> queries.IssueCount | None:
    """How many fit; None where an index can't tell."""
    if not has_more:
        return queries.IssueCount(len(rows))
    asked = {name for name, value in words.items() if value}
    if asked & {"search", "label"} or asked == {"repository"}:
        return queries.n_found(found)
    return None


@login_required
def issue(request: HttpRequest, owner: str, name: str, number: int, host: str = "") -> HttpResponse:
    """One issue as GitHub shows it, its snapshots, and what differs between two of them. Seven queries, or eight."""
    found = get_issue(request.user, f"{host}/{owner}/{name}" if host else f"{owner}/{name}", number)
    lines, has_older = snapshot_lines(request.user, found, before=parse_key(request.GET.get("older")))
    context: dict[str, Any] = {
        "issue": found,
        "snapshots": lines,
        "older_url": f"?older={lines[-1].snapshot.pk}#snapshots" if has_older else None,
        "is_newest_snapshots": "older" not in request.GET,
    }
    old, new = (
        _snapshot(request.user, found, request.GET.get("from")),
        _snapshot(request.user, found, request.GET.get("to")),
    )
    if old and new:
        context |= {"old": old, "new": new, "difference": queries.snapshot_difference(old, new)}
        return render(request, "ingest/difference.html", context)
    wanted = _snapshot(request.user, found, request.GET.get("snapshot"))
    shown = wanted or found.current_snapshot
    assert shown is not None
    part = thread_part(shown, parse_key(request.GET.get("after")) or 0)
    context |= _thread(found, shown, part) | {"closing_changes": queries.closing_changes(found)}
    context |= {"activity": queries.activity(found)}
    return render(request, "ingest/issue.html", context)


@login_required
def issue_comments(request: HttpRequest, owner: str, name: str, number: int, host: str = "") -> HttpResponse:
    """The next part of a thread, to be set in where its link stood."""
    at = request.GET.get("snapshot", "")[:LONGEST_KEY]
    found = get_issue(request.user, f"{host}/{owner}/{name}" if host else f"{owner}/{name}", number, at=at)
    shown = _snapshot(request.user, found, at) if at else found.current_snapshot
    if shown is None:
        raise NotFound(f"{found.identifier} has no such snapshot.")
    part = thread_part(shown, parse_key(request.GET.get("after")) or 0)
    return render(request, "ingest/_comments.html", _thread(found, shown, part))


def _thread(issue: Issue, snapshot: Snapshot, part: ThreadPart) -> dict[str, Any]:
    place = issue.get_absolute_url()
    chosen = "" if snapshot.pk == issue.current_snapshot_id else f"snapshot={snapshot.key}"
    return {
        "issue": issue,
        "snapshot": snapshot,
        "part": part,
        "comments": part.comments,
        "first_url": f"{place}?{chosen}" if chosen else place,
        "part_url": f"{place}?{chosen}&" if chosen else f"{place}?",
        "comments_url": f"{place}comments/?{chosen}&" if chosen else f"{place}comments/?",
    }


def _snapshot(user: Viewer, issue: Issue, name: str | None) -> Snapshot | None:
    """One that the user may read, by its key, its SHA-256 or the beginning of that; see `SnapshotQuerySet.named`."""
    found: Snapshot | None = issue.snapshots.named(user, name[:LONGEST_KEY]) if name else None
    return found


def _page_url(words: dict[str, str], **key: Any) -> str:
    query = QueryDict(mutable=True)
    query.update({name: value for name, value in words.items() if value} | key)
    return f"?{query.urlencode()}"
