"""REST objects of issues and comments as records, from GitHub's API or the output of `gh`."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from urllib.parse import SplitResult, urlsplit

from ingest.errors import Invalid, RowError
from ingest.identifiers import GITHUB_HOST, NUMBER_MAX, full_name, parse_identifier, parse_repository
from ingest.records import ChangeRecord, CommentRecord, IssueRecord, storable

Repository = tuple[str, str, str]
BIGGEST_ID = 2**63 - 1
FILES_MAX = 3000
ADDRESS_CHARACTERS = 600
LABEL_CHARACTERS = 500
LABELS_MAX = 1_000
"""At GitHub an issue has at most 100 labels; each list of issues reads them."""
"""Of a GitHub label, which has 50 at most at GitHub: longer ones have no place in an index."""
DELETED_ACCOUNT = "ghost"  # GitHub's stand-in where it does not say null
_PLAIN_ADDRESS = re.compile(r"https://github\.com/[\w.-]+/[\w.-]+/(?:issues|pull)/\d+\Z", re.ASCII)


def is_public(repository: Any) -> bool:
    """Whether what GitHub says about a repository makes it public; False where it does not say."""
    return (
        isinstance(repository, Mapping)
        and repository.get("private") is False
        and repository.get("visibility", "public") == "public"
    )


class NotAnIssue(Exception):
    """A pull request, which GitHub lists among the issues."""


def parse_issue(row: Any, repository: Repository | None = None) -> IssueRecord:
    """An issue from GitHub's REST shape or that of `gh … --json`; labels may be names, comments a mere count.

    `repository` (host, owner, name) stands in where the row does not say which it is of. Raises RowError with the
    reason in words, NotAnIssue for a pull request.
    """
    if not isinstance(row, Mapping):
        raise RowError(f"This is {_kind(row)}, not an object with the fields of an issue.")
    address = _address(row)
    is_pull = "/pull/" in address and "/pull/" in _split(address).path
    if is_pull or row.get("pull_request") or row.get("isPullRequest") is True:
        raise NotAnIssue
    number = _number(row, address)
    title = _text(row, "title")
    if title is None or not title.strip():
        raise RowError("The title is missing.")
    host, owner, name = _repository(row, address, repository)
    comments, n_comments = _comments(row.get("comments"))
    author_login, author_id = _author(row)
    return IssueRecord(
        host=host,
        owner=owner,
        name=name,
        number=number,
        title=title,
        body=(_text(row, "body") or "") if "body" in row else None,
        state=_state(row),
        state_reason=_word(row, "state_reason", "stateReason"),
        github_labels=_labels(row),
        author_login=author_login,
        author_id=author_id,
        locked=_flag(row, "locked"),
        created_at=parse_time(row, "created_at", "createdAt"),
        updated_at=parse_time(row, "updated_at", "updatedAt"),
        closed_at=parse_time(row, "closed_at", "closedAt"),
        html_url=address[:ADDRESS_CHARACTERS],
        author_association=(_text(row, "author_association", "authorAssociation") or "").strip().upper()[:40],
        n_comments=n_comments,
        comments=comments,
        closing_changes=_linked_pull_requests(row),
        activity=_activity(row),
    )


EVENTS = (
    "closed", "reopened", "labeled", "unlabeled", "assigned", "unassigned", "milestoned", "demilestoned", "transferred",
    "marked_as_duplicate", "unmarked_as_duplicate",
)  # fmt: skip
"""The events of an issue that are kept, as REST names them."""
MARKS = EVENTS[-2:]
"""Both issues have the event, and only GraphQL tells which of them is the duplicate."""
REACTIONS = ("+1", "-1", "laugh", "hooray", "confused", "heart", "rocket", "eyes")


def _activity(row: Mapping[str, Any]) -> dict[str, Any] | None:
    """Reactions by kind, and the type of the issue (null: none), as far as the row tells them."""
    found: dict[str, Any] = {}
    if isinstance(told := row.get("reactions"), Mapping):
        found["reactions"] = {kind: n for kind in REACTIONS if (n := parse_count(told.get(kind)))}
    if "type" in row:
        found |= type_of(row["type"])
    return found or None


def type_of(told: Any) -> dict[str, Any]:
    """The type of an issue as it is kept (null: it has none); nothing where it can't be read."""
    if told is not None and not isinstance(told, Mapping):
        return {}
    name = told.get("name") if told else None
    return {"type": storable(name)[:100] if isinstance(name, str) else None}


def event_of(kind: str, at: Any, actor: Any, detail: Any) -> dict[str, Any]:
    """An event as it is kept; raises RowError for a time that is none."""
    when = parse_time({"created_at": at}, "created_at")
    return {
        "kind": kind,
        "at": f"{when:%Y-%m-%dT%H:%M:%SZ}" if when else None,
        "actor": storable(actor)[:255] if isinstance(actor, str) and actor != DELETED_ACCOUNT else "",
        "detail": storable(detail)[:500] if isinstance(detail, str) else "",
    }


def _linked_pull_requests(row: Mapping[str, Any]) -> tuple[ChangeRecord, ...] | None:
    """What closed the issue by `gh issue list --json closedByPullRequestsReferences`: numbers and addresses alone."""
    given = row.get("closedByPullRequestsReferences")
    if given is None:
        return None
    if not isinstance(given, list) or not all(isinstance(each, Mapping) for each in given):
        raise RowError("closedByPullRequestsReferences is not a list of objects.")
    if _state(row) == "open":
        return ()
    changes = []
    for each in given:
        address = storable(str(each.get("url") or ""))
        try:
            host, owner, name, number = parse_identifier(address)
        except Invalid:
            raise RowError("A pull request of closedByPullRequestsReferences has no address.") from None
        identifier = f"{full_name(host, owner, name)}#{number}"
        changes.append(ChangeRecord("pull_request", identifier, number=number, html_url=address))
    return tuple(changes)


def parse_comment(row: Any) -> CommentRecord:
    """A comment from either shape; raises RowError."""
    if not isinstance(row, Mapping):
        raise RowError(f"A comment is {_kind(row)}, not an object.")
    login, author_id = _author(row)
    body = _text(row, "body")
    return CommentRecord(
        author_login=login or "",
        author_id=author_id,
        body=body or "",
        created_at=parse_time(row, "created_at", "createdAt"),
        github_id=_comment_id(row),
    )


def parse_listed_comment(row: Any) -> tuple[int, CommentRecord]:
    """The number of the issue and the comment, from a listing of all comments of a repository; raises RowError."""
    comment = parse_comment(row)
    last = _split(str(row.get("issue_url") or "")).path.rpartition("/")[2]
    if not (last.isascii() and last.isdecimal() and 1 <= int(last[:12]) <= NUMBER_MAX):
        raise RowError("The comment does not say which issue it belongs to.")
    if comment.github_id is None:
        raise RowError("The comment has no number.")
    return int(last), comment


def in_order(comments: Iterable[CommentRecord]) -> tuple[CommentRecord, ...]:
    """A thread in order of time, each comment once: the last of those with the same number."""
    by_id = {comment.github_id: comment for comment in comments}
    return tuple(sorted(by_id.values(), key=lambda c: (c.created_at is None, c.created_at, c.github_id or 0)))


def parse_count(value: Any) -> int | None:
    """A count that a column can hold; None for anything else."""
    fits = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= NUMBER_MAX
    return value if fits else None


def parse_address(value: Any) -> str:
    """An address on the web; empty for anything else."""
    return _address({"html_url": value})[:ADDRESS_CHARACTERS]


def with_files(change: ChangeRecord, files: Iterable[Any], name: str) -> ChangeRecord:
    """The change with the paths of its files (under `name`), each once, and what was added and deleted in each."""
    found: dict[str, tuple[int | None, int | None]] = {}
    for file in files:
        if isinstance(file, Mapping) and isinstance(file.get(name), str) and len(found) < FILES_MAX:
            counts = parse_count(file.get("additions")), parse_count(file.get("deletions"))
            found.setdefault(storable(file[name]), counts)
    counted = [(added, deleted) for added, deleted in found.values() if added is not None and deleted is not None]
    if len(counted) < len(found):
        counted = []  # as a whole or not at all: the lists go together
    return replace(
        change,
        paths=tuple(found),
        path_additions=tuple(added for added, _ in counted),
        path_deletions=tuple(deleted for _, deleted in counted),
    )


def _split(address: str) -> SplitResult:
    try:
        return urlsplit(address)
    except ValueError:
        raise RowError(f"“{storable(address[:100])}” is not a URL.") from None


def _kind(value: Any) -> str:
    names = {type(None): "null", bool: "true or false", str: "a text", list: "a list", dict: "an object"}
    return names.get(type(value), "a number")


def _first(row: Mapping[str, Any], *keys: str) -> Any:
    for key in keys:
        if (value := row.get(key)) is not None:
            return value
    return None


def _text(row: Mapping[str, Any], *keys: str) -> str | None:
    value = _first(row, *keys)
    if value is None:
        return None
    if not isinstance(value, str):
        raise RowError(f"{keys[0]} is {_kind(value)}, not a text.")
    return storable(value)


def _word(row: Mapping[str, Any], *keys: str) -> str | None:
    """An enumerated value in lower case; empty when the source says null, None when it does not say."""
    for key in keys:
        if key in row:
            return (_text(row, *keys) or "").strip().lower()[:40]
    return None


def _state(row: Mapping[str, Any]) -> str | None:
    state = _word(row, "state")
    if state and state not in {"open", "closed"}:
        raise RowError(f"state is “{state}”, not open or closed.")
    return state or None


def _flag(row: Mapping[str, Any], key: str) -> bool | None:
    value = row.get(key)
    if value is None or isinstance(value, bool):
        return value
    raise RowError(f"{key} is {_kind(value)}, not true or false.")


def _number(row: Mapping[str, Any], address: str) -> int:
    value = row.get("number")
    if value is None:
        try:
            return parse_identifier(address)[3]
        except Invalid:
            raise RowError("The number is missing.") from None
    if isinstance(value, float) and value.is_integer():  # as tables are written where a column has gaps
        value = int(value)
    if isinstance(value, float):
        raise RowError(f"number is {value}, not a whole number.")
    if isinstance(value, bool) or not isinstance(value, int):
        raise RowError(f"number is {_kind(value)}, not a whole number.")
    if not 1 <= value <= NUMBER_MAX:
        raise RowError(f"number is {str(value)[:20]}, which no issue has.")
    return value


def parse_time(row: Mapping[str, Any], *keys: str) -> datetime | None:
    """The moment in the first of the keys that has one, in UTC; raises RowError."""
    text = _text(row, *keys)
    if not text or text.startswith("0001-"):
        return None
    try:
        when = datetime.fromisoformat(text.strip())
        return (when if when.tzinfo else when.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        raise RowError(f"{keys[0]} is “{text[:40]}”, not a date and time.") from None


def _address(row: Mapping[str, Any]) -> str:
    for key in ("html_url", "url"):
        value = row.get(key)
        if isinstance(value, str) and value.startswith(("https://", "http://")):
            if _PLAIN_ADDRESS.match(value):
                return value
            path = _split(value).path
            if key == "html_url" or not path.startswith(("/repos/", "/api/v3/repos/")):
                return storable(value)
    return ""


def _repository(row: Mapping[str, Any], address: str, given: Repository | None) -> Repository:
    found = _named_repository(row, address)
    if found is None:
        if given is None:
            raise RowError("It is not known which repository this issue is of; name it with the file, as owner/name.")
        return given
    if given is not None and tuple(part.lower() for part in found) != tuple(part.lower() for part in given):
        raise RowError(f"This issue is of {'/'.join(found[1:])}, not of {'/'.join(given[1:])}.")
    return found


def _named_repository(row: Mapping[str, Any], address: str) -> Repository | None:
    named = row.get("repository")
    if isinstance(named, Mapping):
        named = _first(named, "full_name", "nameWithOwner")
    try:
        if address:
            return parse_identifier(address)[:3]
        if isinstance(named, str) and named.strip():
            return parse_repository(named)
        for key in ("repository_url", "url"):
            if isinstance(link := row.get(key), str) and "/repos/" in link:
                host = _split(link).netloc.lower().removeprefix("api.")
                owner, _, rest = link.partition("/repos/")[2].partition("/")
                return parse_repository(f"{host or GITHUB_HOST}/{owner}/{rest.partition('/')[0]}")
    except Invalid as error:
        raise RowError(storable(f"The repository of this issue is unknown: {error.message}")) from None
    return None


def _author(row: Mapping[str, Any]) -> tuple[str | None, int | None]:
    """Login and number; an author who is null is a deleted account, one who is not mentioned is not known."""
    if not any(key in row for key in ("user", "author")):
        return None, None
    author = _first(row, "user", "author")
    if author is None:
        return "", None
    if isinstance(author, str):
        return ("" if author == DELETED_ACCOUNT else storable(author)[:255]), None
    if not isinstance(author, Mapping):
        raise RowError(f"The author is {_kind(author)}, not an object.")
    login = (_text(author, "login") or "")[:255]
    if login == DELETED_ACCOUNT:
        return "", None
    if login.startswith("app/"):
        login = f"{login.removeprefix('app/')}[bot]"
    return login, parse_id(author.get("id"))


def parse_id(value: Any) -> int | None:
    """GitHub's number of something; None for anything else."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 < value <= BIGGEST_ID else None


def _comment_id(row: Mapping[str, Any]) -> int | None:
    if (number := parse_id(row.get("id"))) is not None:
        return number
    fragment = _split(str(_first(row, "html_url", "url") or "")).fragment.removeprefix("issuecomment-")
    return parse_id(int(fragment)) if fragment.isascii() and fragment.isdecimal() and len(fragment) < 19 else None


def _labels(row: Mapping[str, Any]) -> tuple[str, ...] | None:
    if "labels" not in row:
        return None
    labels = row["labels"]
    if labels is None:
        return ()
    if not isinstance(labels, list):
        raise RowError(f"labels is {_kind(labels)}, not a list.")
    names = [label.get("name") if isinstance(label, Mapping) else label for label in labels]
    if not all(isinstance(name, str) for name in names):
        raise RowError("A label is neither a name nor an object with a name.")
    if len(names) > LABELS_MAX:
        raise RowError(f"The issue has {len(names):,} labels. At most {LABELS_MAX:,} are allowed.")
    return tuple(dict.fromkeys(parse_label(name) for name in names if name))


def parse_label(name: str) -> str:
    """The name of a GitHub label; raises RowError."""
    if len(name) > LABEL_CHARACTERS:
        raise RowError(f"A label has more than {LABEL_CHARACTERS} characters.")
    return storable(name)


def _comments(value: Any) -> tuple[tuple[CommentRecord, ...] | None, int | None]:
    """The comments, if the row has them, and how many there are."""
    if value is None:
        return None, None
    if isinstance(value, list):
        comments = tuple(parse_comment(row) for row in value)
        return comments, len(comments)
    n_comments = parse_count(value.get("totalCount") if isinstance(value, Mapping) else value)
    if n_comments is None:
        raise RowError(f"comments is {_kind(value)}, neither a list nor a count.")
    return None, n_comments
