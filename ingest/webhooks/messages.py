"""Webhook messages of GitHub about issues, comments, and labels, as records."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ingest.errors import Invalid, RowError
from ingest.github.rest_objects import NotAnIssue, is_public, parse_comment, parse_issue, parse_label
from ingest.identifiers import full_name, parse_identifier, parse_repository
from ingest.records import CommentRecord, IssueRecord, storable

EVENTS = frozenset({"issues", "issue_comment", "label"})


@dataclass(frozen=True, slots=True)
class IssueNews:
    """An issue as it is now; `comment` is the one that was written (is new), edited or deleted (is gone)."""

    record: IssueRecord
    comment: CommentRecord | None = None
    comment_is_new: bool = False
    comment_is_gone: bool = False


@dataclass(frozen=True, slots=True)
class IssueGone:
    """An issue that is no longer where it was; `moved_to` says where a transferred one is, unless that is private."""

    number: int
    moved_to: str = ""
    is_transferred: bool = False


@dataclass(frozen=True, slots=True)
class LabelNews:
    """A GitHub label that has a new name, or (None) was deleted from the repository and its issues."""

    old: str
    new: str | None


News = IssueNews | IssueGone | LabelNews


def repository_of(payload: Any) -> tuple[int | None, tuple[str, str, str]]:
    """GitHub's number of the repository, and host, owner and name; raises RowError."""
    found = payload.get("repository") if isinstance(payload, Mapping) else None
    if not isinstance(found, Mapping):
        raise RowError("The message names no repository.")
    try:
        name = parse_repository(str(found.get("html_url") or found.get("full_name") or ""))
    except Invalid as error:
        raise RowError(error.message) from None
    number = found.get("id")
    return (number if isinstance(number, int) and not isinstance(number, bool) else None), name


def parse_message(event: str, payload: Mapping[str, Any]) -> News | None:
    """What the message says; None where it changes nothing that is kept. Raises RowError with the reason in words."""
    action = payload.get("action")
    if event == "label":
        return _label_news(action, payload)
    if event not in EVENTS:
        return None
    try:
        record = parse_issue(payload.get("issue"), repository_of(payload)[1])
    except NotAnIssue:
        return None
    if event == "issue_comment":
        comment = parse_comment(payload.get("comment"))
        return IssueNews(record, comment, comment_is_new=action == "created", comment_is_gone=action == "deleted")
    if action == "deleted":
        return IssueGone(record.number)
    if action == "transferred":
        return IssueGone(record.number, _new_place(payload), is_transferred=True)
    return IssueNews(record)


def merged_thread(known: IssueRecord | None, news: IssueNews) -> tuple[CommentRecord, ...] | None:
    """The thread after the news, in order of time; None where it is not known: the next fetch asks for it.

    A thread whose length is not what GitHub counts is kept: messages arrive in any order, and the next fetch mends it.
    """
    thread = known.comments if known else None
    if thread is None and known is None and news.record.n_comments == (1 if news.comment else 0):
        thread = ()
    if thread is None or news.comment is None:
        return thread
    kept = {comment.github_id: comment for comment in thread}
    if news.comment_is_gone:
        kept.pop(news.comment.github_id, None)
    elif not (news.comment_is_new and news.comment.github_id in kept):
        kept[news.comment.github_id] = news.comment
    return tuple(sorted(kept.values(), key=lambda c: (c.created_at is None, c.created_at, c.github_id or 0)))


def relabeled(labels: tuple[str, ...], news: LabelNews) -> tuple[str, ...]:
    """The labels after the news, each once."""
    renamed = (news.new if label == news.old else label for label in labels)
    return tuple(dict.fromkeys(label for label in renamed if label is not None))


def _label_news(action: Any, payload: Mapping[str, Any]) -> LabelNews | None:
    label, changes = payload.get("label"), payload.get("changes")
    name = label.get("name") if isinstance(label, Mapping) else None
    if not isinstance(name, str):
        raise RowError("The message names no label.")
    if action == "deleted":
        return LabelNews(storable(name), None)
    before = changes.get("name") if action == "edited" and isinstance(changes, Mapping) else None
    old = before.get("from") if isinstance(before, Mapping) else None
    return LabelNews(storable(old), parse_label(name)) if isinstance(old, str) and old != name else None


def is_private(payload: Mapping[str, Any]) -> bool:
    """Whether GitHub does not call the message's repository public: it is private, or internal."""
    return not is_public(payload.get("repository"))


def _new_place(payload: Mapping[str, Any]) -> str:
    changes = payload.get("changes")
    home = changes.get("new_repository") if isinstance(changes, Mapping) else None
    if not is_public(home) and not is_private(payload):
        return ""
    issue = changes.get("new_issue") if isinstance(changes, Mapping) else None
    address = str(issue.get("html_url") or "") if isinstance(issue, Mapping) else ""
    try:
        host, owner, name, number = parse_identifier(address)
    except Invalid:
        return ""
    return f"{full_name(host, owner, name)}#{number}"
