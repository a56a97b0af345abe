"""The repositories, issues, pull requests, commits and comments that a local GitHub has, and how they change."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import Any

START = datetime(2024, 1, 1, tzinfo=UTC)
BIG_ID = 3_000_000_000  # issues and comments passed the numbers of 32 bits in 2024


def stamp(when: datetime | None) -> str | None:
    return when.strftime("%Y-%m-%dT%H:%M:%SZ") if when else None


def stamp_of(seconds: float) -> str:
    """A time of the system's clock, as GitHub writes it."""
    return stamp(datetime.fromtimestamp(seconds, UTC)) or ""


class Mannequin(str):
    """The login of someone who was brought over from another host."""


@dataclass
class File:
    """A file that a change touched."""

    path: str
    additions: int = 1
    deletions: int = 0
    status: str = "modified"
    is_binary: bool = False

    def text(self, seed: str, *, is_after: bool) -> str | None:
        """Before and after the change; None where the file is not there. Git needs as many lines as are said here."""
        if self.status == ("removed" if is_after else "added"):
            return None
        same = [] if self.status in {"added", "removed"} else [f"{self.path}, line {n}" for n in range(3)]
        changed = [f"{seed} {is_after} {n}" for n in range(self.additions if is_after else self.deletions)]
        return "".join(f"{line}\n" for line in [*same[:2], *changed, *same[2:]])


class _Watched:
    """Whatever is set tells the repository that its sorted lists are old."""

    def __setattr__(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)
        home = self.__dict__.get("repository") or getattr(self.__dict__.get("issue"), "repository", None)
        if home is not None:
            home.listed.clear()


@dataclass(eq=False)
class Comment(_Watched):
    id: int
    issue: "Issue"
    user: str | None
    body: str
    created_at: datetime
    updated_at: datetime


@dataclass(eq=False)
class Event:
    """What happened to an issue: `kind` as REST names it (closed, reopened, locked, transferred …)."""

    id: int
    issue: "Issue"
    kind: str
    actor: str | None
    created_at: datetime
    closer: "PullRequest | Commit | None" = None
    source: "PullRequest | None" = None
    discussion: "Discussion | None" = None
    state_reason: str | None = None
    more: dict[str, Any] = field(default_factory=dict)


@dataclass(eq=False)
class Blob:
    """The text of a file; binary files have none."""

    oid: str
    text: str | None


@dataclass(frozen=True)
class TreeEntry:
    name: str
    object: "Blob | Tree"
    mode: int

    @property
    def oid(self) -> str:
        return self.object.oid

    @property
    def type(self) -> str:
        return type(self.object).__name__.lower()


@dataclass(eq=False)
class Tree:
    """A folder."""

    oid: str
    entries: list[TreeEntry]


@dataclass(eq=False)
class Commit:
    repository: "Repository"
    sha: str
    message: str
    user: str | None
    files: list[File]
    committed_at: datetime

    @cached_property
    def tree(self) -> Tree:
        return self._tree(is_after=True)

    @cached_property
    def parent(self) -> "Commit":
        """What was there before: files of just the lines that this commit changes, and some that it leaves alone."""
        before = Commit(self.repository, _hash("before", self.sha), "Before", self.user, [], self.committed_at)
        before.tree = self._tree(is_after=False)
        return before

    def _tree(self, *, is_after: bool) -> Tree:
        blobs = {f"{folder}README.md": Blob(_hash(folder), f"{folder}\n") for folder in ("", "docs/", "src/")}
        modes = {}
        for file in self.files:
            if (text := file.text(self.sha, is_after=is_after)) is not None:
                binary = f"{is_after}" if file.is_binary else ""
                blobs[file.path] = Blob(_hash("blob", text, binary), None if binary else text)
                modes[file.path] = 0o100755 if is_after and not file.additions + file.deletions else 0o100644
        return self.repository.folder(blobs, modes, "")

    @property
    def additions(self) -> int:
        return sum(file.additions for file in self.files)

    @property
    def deletions(self) -> int:
        return sum(file.deletions for file in self.files)


@dataclass(eq=False)
class Discussion:
    repository: "Repository"
    id: int
    number: int
    title: str
    body: str
    user: str | None
    created_at: datetime


@dataclass(eq=False)
class Issue(_Watched):
    repository: "Repository"
    id: int
    number: int
    title: str
    body: str | None
    user: str | None
    labels: list[str]
    state: str
    state_reason: str | None
    created_at: datetime
    updated_at: datetime
    closed_at: datetime | None = None
    closed_by: str | None = None
    locked: bool = False
    lock_reason: str | None = None
    comments: list[Comment] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    discussion: Discussion | None = None
    reactions: dict[str, int] = field(default_factory=dict)
    issue_type: str | None = None

    is_pull_request = False

    def comment(self, body: str, user: str | None = "carol") -> Comment:
        """A new comment, which changes the issue's time, too."""
        now = self.repository.world.tick()
        comment = Comment(self.repository.world.next_big_id(), self, user, body, now, now)
        self.comments.append(comment)
        self.updated_at = now
        return comment

    def edit(self, **changes: Any) -> None:
        """New values of its fields, and a new time."""
        for name, value in changes.items():
            setattr(self, name, value)
        self.updated_at = self.repository.world.tick()

    def event(self, kind: str, user: str | None = "olga", **more: Any) -> Event:
        """One more entry of its timeline, at the present time."""
        world = self.repository.world
        event = Event(world.next_big_id(), self, kind, user, world.now, **more)
        self.events.append(event)
        return event

    def close(self, reason: str = "completed", *, by: "PullRequest | Commit | None" = None) -> None:
        self.edit(state="closed", state_reason=None if self.is_pull_request else reason)
        self.closed_at, self.closed_by = self.updated_at, "olga"
        self.event("closed", closer=by, state_reason=None if reason == "completed" else reason)

    def close_by(self, change: "PullRequest | Commit") -> None:
        """Closed by a pull request that was merged, or by a commit whose message says so."""
        if isinstance(change, PullRequest):
            self.event("cross-referenced", change.user, source=change)
            if change.merged_at is None:
                change.merge()
            change.closes.append(self)
        else:
            self.event("referenced", change.user, closer=change)
        self.close(by=change)

    def reopen(self) -> None:
        self.edit(state="open", state_reason="reopened", closed_at=None, closed_by=None)
        self.event("reopened")

    def label(self, name: str) -> None:
        self.edit(labels=[*self.labels, name])
        self.event("labeled", more={"label": name})

    def unlabel(self, name: str) -> None:
        self.edit(labels=[each for each in self.labels if each != name])
        self.event("unlabeled", more={"label": name})

    def assign(self, login: str) -> None:
        self.edit()
        self.event("assigned", more={"assignee": login})

    def put_into_milestone(self, title: str) -> None:
        self.edit()
        self.event("milestoned", more={"milestone": title})

    def mark_as_duplicate(self, of: "Issue", *, undo: bool = False) -> None:
        """As at GitHub, the timelines of both have the event."""
        kind = "unmarked_as_duplicate" if undo else "marked_as_duplicate"
        for issue in (self, of):
            issue.edit()
            issue.event(kind, more={"canonical": of, "duplicate": self})

    def lock(self, reason: str | None = "resolved") -> None:
        self.edit(locked=True, lock_reason=reason)
        self.event("locked", more={"lock_reason": reason})

    def unlock(self) -> None:
        self.edit(locked=False, lock_reason=None)
        self.event("unlocked")

    def edit_comment(self, comment: Comment, body: str) -> None:
        """As at GitHub, the issue itself is not touched."""
        comment.body = body
        comment.updated_at = self.repository.world.tick()

    def delete_comment(self, comment: Comment, *, touches: bool = True) -> None:
        """The comment is gone; whether the issue's time changes can be chosen."""
        self.comments.remove(comment)
        self.repository.listed.clear()
        if touches:
            self.edit()

    def delete(self) -> None:
        """410 from now on, and in no list."""
        del self.repository.issues[self.number]
        self.repository.gone[self.number] = None
        self.repository.listed.clear()

    def transfer(self, to: "Repository") -> "Issue":
        """Another issue, in another repository, to which the old address leads."""
        world = self.repository.world
        old = self.repository
        moved = to.issue(self.title, self.body, user=self.user, labels=list(self.labels), state=self.state)
        moved.state_reason, moved.closed_at, moved.created_at = self.state_reason, self.closed_at, self.created_at
        for comment in self.comments:
            again = Comment(world.next_big_id(), moved, comment.user, comment.body, *[comment.created_at] * 2)
            moved.comments.append(again)
        moved.event("transferred", more={"from": old})
        self.delete()
        old.gone[self.number] = moved
        return moved

    def convert_to_discussion(self) -> Discussion:
        """Closed and locked, with a discussion in its place."""
        world = self.repository.world
        self.edit(state="closed", locked=True, closed_at=world.now, closed_by="olga")
        number = self.repository.next_number()
        self.discussion = Discussion(
            self.repository, world.next_big_id(), number, self.title, self.body or "", self.user, world.now
        )
        self.repository.discussions[number] = self.discussion
        self.event("converted_to_discussion", discussion=self.discussion)
        return self.discussion


@dataclass(eq=False)
class PullRequest(Issue):
    merged_at: datetime | None = None
    files: list[File] = field(default_factory=list)
    closes: list[Issue] = field(default_factory=list)
    draft: bool = False
    merge_commit: Commit | None = None

    is_pull_request = True

    @property
    def additions(self) -> int:
        return sum(file.additions for file in self.files)

    @property
    def deletions(self) -> int:
        return sum(file.deletions for file in self.files)

    def merge(self) -> None:
        self.edit(state="closed", state_reason=None)
        self.merged_at = self.closed_at = self.updated_at
        self.closed_by = "olga"
        message = f"{self.title} (#{self.number})"
        self.merge_commit = self.repository.commit(message, user=self.user, files=self.files)
        self.event("merged", closer=self.merge_commit)
        self.event("closed")


@dataclass(eq=False)
class Repository:
    world: "World"
    id: int
    owner: str
    name: str
    private: bool = False
    has_issues: bool = True
    blocked: bool = False
    issues: dict[int, Issue] = field(default_factory=dict)
    gone: dict[int, Issue | None] = field(default_factory=dict)
    commits: dict[str, Commit] = field(default_factory=dict)
    discussions: dict[int, Discussion] = field(default_factory=dict)
    listed: dict[Any, Any] = field(default_factory=dict, repr=False)
    in_git: dict[str, Blob | Tree] = field(default_factory=dict, repr=False)
    last_number: int = 0

    @property
    def full_name(self) -> str:
        return f"{self.owner}/{self.name}"

    def next_number(self) -> int:
        """Issues, pull requests and discussions share their numbers."""
        return self.last_number + 1

    def issue(self, title: str = "It hangs", body: str | None = "Two nodes.", **more: Any) -> Issue:
        """A new issue (or with `is_pull_request` a pull request) under the next number."""
        now = self.world.tick()
        number = more.pop("number", None) or self.next_number()
        given = {"user": "bob", "labels": [], "state": "open", "state_reason": None} | more
        kind = PullRequest if given.pop("is_pull_request", False) else Issue
        issue = kind(self, self.world.next_big_id(), number, title, body, created_at=now, updated_at=now, **given)
        self.issues[number] = issue
        self.world.by_node[issue.id] = issue
        self.last_number = max(self.last_number, number)
        self.listed.clear()
        return issue

    def pull_request(
        self, title: str = "Fix the hang", body: str | None = None, *, files: Sequence[File] = (), **more: Any
    ) -> PullRequest:
        """A new pull request; without `files` it changes one line of one file."""
        touched = list(files) or [File("src/trainer.py", 3, 1)]
        made = self.issue(title, body, is_pull_request=True, files=touched, **more)
        assert isinstance(made, PullRequest)
        return made

    def commit(self, message: str = "Fix the hang", *, user: str | None = "dana", files: Sequence[File] = ()) -> Commit:
        """A new commit on the main branch; without `files` it changes one line of one file."""
        sha = hashlib.sha1(f"{self.id} {self.world.next_id()} {message}".encode()).hexdigest()
        made = Commit(self, sha, message, user, list(files) or [File("src/trainer.py", 1, 1)], self.world.tick())
        self.commits[sha] = made
        return made

    def folder(self, blobs: dict[str, Blob], modes: dict[str, int], path: str) -> Tree:
        """The folder at a path (empty, or it ends with a slash) where these are the files; it can be asked for."""
        names = {each.removeprefix(path).partition("/")[0] for each in blobs if each.startswith(path)}
        entries = []
        for name in sorted(names):
            here = f"{path}{name}"
            found = blobs.get(here) or self.folder(blobs, modes, f"{here}/")
            entries.append(TreeEntry(name, found, modes.get(here, 0o100644) if here in blobs else 0o40000))
        made = Tree(_hash("tree", path, *(f"{each.name} {each.mode} {each.oid}" for each in entries)), entries)
        self.in_git |= {each.object.oid: each.object for each in entries} | {made.oid: made}
        return made

    def rename(self, full_name: str) -> None:
        self.world.moved[self.full_name.lower()] = self
        self.owner, self.name = full_name.split("/")

    def rename_label(self, old: str, new: str) -> None:
        """As at GitHub, the issues that bear it are not touched."""
        for issue in self.issues.values():
            issue.labels = [new if name == old else name for name in issue.labels]

    def sorted(self, question: tuple[Any, ...], rows: Callable[[], list[Any]]) -> list[Any]:
        """The list that answers a question, kept until something changes."""
        found: list[Any] | None = self.listed.get(question)
        if found is None:
            found = self.listed[question] = rows()
        return found


def _hash(*parts: str) -> str:
    return hashlib.sha1("\0".join(parts).encode()).hexdigest()


class World:
    """All repositories, with a clock that goes on by `step_seconds` at each change."""

    def __init__(self) -> None:
        self.repositories: list[Repository] = []
        self.moved: dict[str, Repository] = {}
        self.by_node: dict[int, Issue] = {}
        self.now = START
        self.step_seconds = 1
        self._last_id = 1000

    def next_id(self) -> int:
        self._last_id += 1
        return self._last_id

    def next_big_id(self) -> int:
        """The id of an issue, a comment or an event."""
        return BIG_ID + self.next_id()

    def tick(self) -> datetime:
        self.now += timedelta(seconds=self.step_seconds)
        return self.now

    def repository(self, full_name: str, **more: Any) -> Repository:
        owner, name = full_name.split("/")
        repository = Repository(self, self.next_id(), owner, name, **more)
        self.repositories.append(repository)
        return repository

    def named(self, full_name: str) -> Repository | None:
        return next((r for r in self.repositories if r.full_name.lower() == full_name.lower()), None)
