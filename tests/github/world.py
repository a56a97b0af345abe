"""The repositories, issues and comments that a local GitHub has, and how they change."""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

START = datetime(2024, 1, 1, tzinfo=UTC)


def stamp(when: datetime | None) -> str | None:
    return when.strftime("%Y-%m-%dT%H:%M:%SZ") if when else None


@dataclass
class Comment:
    id: int
    issue: "Issue"
    user: str | None
    body: str
    created_at: datetime
    updated_at: datetime


@dataclass
class Issue:
    repository: "Repository"
    id: int
    number: int
    title: str
    body: str | None
    user: str | None
    labels: list[str]
    state: str
    state_reason: str | None
    is_pull_request: bool
    created_at: datetime
    updated_at: datetime
    closed_at: datetime | None = None
    locked: bool = False
    comments: list[Comment] = field(default_factory=list)

    def comment(self, body: str, user: str | None = "carol") -> Comment:
        """A new comment, which changes the issue's time, too."""
        now = self.repository.world.tick()
        comment = Comment(self.repository.world.next_id(), self, user, body, now, now)
        self.comments.append(comment)
        self.updated_at = now
        return comment

    def edit(self, **changes: Any) -> None:
        for name, value in changes.items():
            setattr(self, name, value)
        self.updated_at = self.repository.world.tick()

    def close(self, reason: str = "completed") -> None:
        self.edit(state="closed", state_reason=reason)
        self.closed_at = self.updated_at

    def edit_comment(self, comment: Comment, body: str) -> None:
        """As at GitHub, the issue itself is not touched."""
        comment.body = body
        comment.updated_at = self.repository.world.tick()


@dataclass
class Repository:
    world: "World"
    id: int
    owner: str
    name: str
    private: bool = False
    has_issues: bool = True
    issues: dict[int, Issue] = field(default_factory=dict)

    @property
    def full_name(self) -> str:
        return f"{self.owner}/{self.name}"

    def issue(self, title: str = "It hangs", body: str | None = "Two nodes.", **more: Any) -> Issue:
        """A new issue (or with `is_pull_request` a pull request) under the next number."""
        now = self.world.tick()
        number = more.pop("number", max(self.issues, default=0) + 1)
        given = {"user": "bob", "labels": [], "state": "open", "state_reason": None, "is_pull_request": False} | more
        issue = Issue(self, self.world.next_id(), number, title, body, created_at=now, updated_at=now, **given)
        self.issues[number] = issue
        return issue

    def rename(self, full_name: str) -> None:
        self.world.moved[self.full_name.lower()] = self
        self.owner, self.name = full_name.split("/")


class World:
    """All repositories, with a clock that goes on by `step_seconds` at each change."""

    def __init__(self) -> None:
        self.repositories: list[Repository] = []
        self.moved: dict[str, Repository] = {}
        self.now = START
        self.step_seconds = 1
        self._last_id = 1000

    def next_id(self) -> int:
        self._last_id += 1
        return self._last_id

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


def made_up(world: World, full_name: str = "example/trainer", n_issues: int = 250) -> Repository:
    """A repository of made-up issues, comments and pull requests, for trying out and for demonstrations."""
    repository = world.repository(full_name)
    symptoms = ["hangs at the barrier", "runs out of memory", "gives a wrong loss", "crashes while saving", "is slow"]
    places = ["two nodes", "pipeline parallelism", "a sharded optimizer", "mixed precision", "elastic training"]
    for n in range(n_issues):
        symptom, place = symptoms[n % len(symptoms)], places[(n // 5) % len(places)]
        issue = repository.issue(
            f"Training {symptom} with {place}",
            f"Made up, number {n + 1}.\n\n```text\nRank {n % 8}: step {n * 10}: timed out after 1800 s\n```\n",
            labels=["bug"] if n % 3 else ["question"],
            user=["bob", "dana", None][n % 3],
            is_pull_request=n % 7 == 6,
        )
        for k in range(n % 4):
            issue.comment(f"Seen here, too ({k + 1}).", user=["carol", "erin"][k % 2])
        if n % 2:
            issue.close("completed" if n % 4 == 1 else "not_planned")
    return repository
