"""Records of issues and comments from any source, with the hash of their contents."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

import orjson

from ingest.identifiers import full_name

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def storable(text: str) -> str:
    """The text with U+FFFD for what Postgres can't keep: NUL, and halves of surrogate pairs."""
    if text.isascii() and "\x00" not in text:
        return text
    return _UNSTORABLE.sub("\ufffd", text) if _UNSTORABLE.search(text) else text


def all_storable(value: Any) -> Any:
    """A value of JSON with all of its texts as Postgres can keep them."""
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, list):
        return [all_storable(each) for each in value]
    if isinstance(value, dict):
        return {storable(name): all_storable(each) for name, each in value.items()}
    return value


def digest(parts: Sequence[Any]) -> str:
    """SHA-256 of the parts as JSON without blanks, in UTF-8; it stands in every snapshot, so its form stays."""
    return sha256(orjson.dumps(parts)).hexdigest()


def content_digest(
    *,
    title: str,
    body: str,
    state: str,
    state_reason: str,
    github_labels: Sequence[str],
    author: int | str,
    comments: Sequence[str] | None,
) -> str:
    """The SHA-256 of a state of an issue; `comments` are the hashes of its thread in order, None where not known."""
    return digest([title, body, state, state_reason, sorted(github_labels), author, comments])


@dataclass(frozen=True, slots=True)
class CommentRecord:
    """One comment; `github_id` is its number at GitHub, None where the source does not give it."""

    author_login: str
    author_id: int | None
    body: str
    created_at: datetime | None
    github_id: int | None = None

    @property
    def sha256(self) -> str:
        when = self.created_at.astimezone(UTC).isoformat() if self.created_at else None
        return digest([self.github_id, self.author_id or self.author_login, self.body, when])

    def as_json(self) -> dict[str, Any]:
        """For staging; `CommentRecord.from_json` reads it back."""
        when = self.created_at.isoformat() if self.created_at else None
        return {"author_login": self.author_login, "author_id": self.author_id, "body": self.body, "created_at": when}

    @classmethod
    def from_json(cls, github_id: int, content: Mapping[str, Any]) -> "CommentRecord":
        when = content["created_at"]
        return cls(
            content["author_login"],
            content["author_id"],
            content["body"],
            datetime.fromisoformat(when) if when else None,
            github_id,
        )


@dataclass(frozen=True, slots=True)
class ChangeRecord:
    """A pull request or commit that closed an issue; None means that the source does not say.

    `identifier` is owner/name#number of a pull request, owner/name@hash of a commit. `path_additions` and
    `path_deletions` go with `paths`, or are empty. A pull request that is linked and was not merged closes nothing.
    """

    kind: str
    identifier: str
    number: int | None = None
    title: str = ""
    html_url: str = ""
    author_login: str = ""
    created_at: datetime | None = None
    merged_at: datetime | None = None
    additions: int | None = None
    deletions: int | None = None
    n_files: int | None = None
    paths: tuple[str, ...] = ()
    path_additions: tuple[int, ...] = ()
    path_deletions: tuple[int, ...] = ()
    closes: bool = True


@dataclass(frozen=True, slots=True)
class IssueRecord:
    """One issue; None means that the source does not say (not that there is none).

    `activity` has what a source tells of `events` (kind, at, actor, detail of each), `reactions` (by kind) and `type`.
    """

    host: str
    owner: str
    name: str
    number: int
    title: str
    body: str | None = None
    state: str | None = None
    state_reason: str | None = None
    github_labels: tuple[str, ...] | None = None
    author_login: str | None = None
    author_id: int | None = None
    locked: bool | None = None
    created_at: datetime | None = None
    updated_at: datetime | None = None
    closed_at: datetime | None = None
    html_url: str = ""
    author_association: str = ""
    n_comments: int | None = None
    comments: tuple[CommentRecord, ...] | None = None
    closing_changes: tuple[ChangeRecord, ...] | None = None
    activity: Mapping[str, Any] | None = None

    @property
    def repository(self) -> tuple[str, str, str]:
        """Host, owner and name in lower case: equal for the same repository."""
        return self.host.lower(), self.owner.lower(), self.name.lower()

    @property
    def identifier(self) -> str:
        return f"{full_name(self.host, self.owner, self.name)}#{self.number}"

    @property
    def tells_changes(self) -> bool:
        """Whether the source says what closed it, or what else happened to it."""
        return self.closing_changes is not None or bool(self.activity)

    def has_labels(self, wanted: Sequence[str]) -> bool:
        """Whether it has all of these GitHub labels, in any case, as GitHub compares them."""
        return {label.lower() for label in wanted} <= {label.lower() for label in self.github_labels or ()}

    @property
    def sha256(self) -> str:
        """Of title, body, state, reason, GitHub labels, author and comments in order; unknown comments are not none."""
        return content_digest(
            title=self.title,
            body=self.body or "",
            state=self.state or "",
            state_reason=self.state_reason or "",
            github_labels=self.github_labels or (),
            author=self.author_id or self.author_login or "",
            comments=None if self.comments is None else [comment.sha256 for comment in self.comments],
        )


@dataclass(frozen=True, slots=True)
class Metadata:
    """What a source tells of an issue beside its text, outside the hash; None and empty mean that none has told it."""

    created_at: datetime | None = None
    closed_at: datetime | None = None
    n_comments: int | None = None
    html_url: str = ""
    author_association: str = ""


OF_SNAPSHOT = ("created_at", "closed_at", "n_comments")
"""The metadata that a study reads as pinned: another value is a new state of the issue."""
METADATA = (*OF_SNAPSHOT, "html_url", "author_association")
TIMELESS = ("created_at", "html_url")
"""The metadata that an older source knows as well as a newer one."""


@dataclass(frozen=True, slots=True)
class MergedMetadata:
    """What is known after a source was heard, and what it says against what is kept: (name, told, kept) of each."""

    metadata: Metadata
    contradictions: list[tuple[str, Any, Any]]


def merged_metadata(
    told: IssueRecord, known: Metadata, *, wins: bool, names: Sequence[str] = METADATA, moved: Collection[str] = ()
) -> MergedMetadata:
    """The metadata of an issue after `told`: it fills what is missing, and replaces what differs only where it `wins`.

    Only `names` are looked at; those in `moved` go with new content and are what is told, or unknown.
    """
    values = asdict(known)
    contradictions = []
    for name in names:
        said, before = getattr(told, name), values[name]
        if name in moved:
            values[name] = said
        elif said in (None, "", before):
            continue
        elif wins or before in (None, ""):
            values[name] = said
        else:
            contradictions.append((name, said, before))
    return MergedMetadata(Metadata(**values), contradictions)


def complete_record(record: IssueRecord, known: IssueRecord) -> IssueRecord:
    """The record with what its source does not say taken from the state known before.

    Comments are taken over only if nothing else changed: an old thread is not passed off as that of a new state.
    """
    ids = {known.author_login: known.author_id} | {c.author_login: c.author_id for c in known.comments or ()}
    login = known.author_login if record.author_login is None else record.author_login
    state = known.state if record.state is None else record.state
    same_state = state == known.state
    comments = record.comments
    if comments is not None:
        comments = tuple(c if c.author_id else replace(c, author_id=ids.get(c.author_login)) for c in comments)
    filled = replace(
        record,
        body=known.body if record.body is None else record.body,
        state=state,
        state_reason=known.state_reason if record.state_reason is None and same_state else record.state_reason,
        github_labels=known.github_labels if record.github_labels is None else record.github_labels,
        author_login=login,
        author_id=record.author_id or (ids.get(login) if login else None),
        locked=known.locked if record.locked is None else record.locked,
        created_at=record.created_at or known.created_at,
        closed_at=record.closed_at or (known.closed_at if same_state else None),
        html_url=record.html_url or known.html_url,
        author_association=record.author_association or known.author_association,
        n_comments=known.n_comments if record.n_comments is None else record.n_comments,
        comments=comments,
    )
    if record.comments is None and known.comments is not None:
        with_thread = replace(filled, comments=known.comments)
        if with_thread.sha256 == known.sha256:
            return with_thread
    return filled
