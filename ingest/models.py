"""Models of ingest: repositories, runs, issues, and their snapshots, which are never changed."""

from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from typing import Any, ClassVar

from django.conf import settings
from django.contrib.auth.models import AnonymousUser
from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.contrib.postgres.search import SearchVectorField
from django.db import models
from django.db.models import Case, Exists, F, OuterRef, Q, Value, When
from django.db.models.expressions import RawSQL
from django.db.models.functions import Coalesce, Lower
from django.urls import reverse

from accounts.models import User
from ingest.identifiers import Identified, full_name
from shared.job_time_limits import TaskTurn
from shared.jobs import Job

Viewer = User | AnonymousUser
RepositoryName = tuple[str, str, str]
"""Host, owner and name."""
GITHUB_HOST = "github.com"
SHA256_SHOWN = 12
"""Characters of a snapshot's SHA-256 in addresses."""

NEVER, NO_COUNT = datetime(1, 1, 2, tzinfo=UTC), -1

_snapshot_rules: list[Callable[[Any], Any]] = []
_strangers: list[Callable[[int], Any]] = []
_forgotten: list[Callable[[int], Any]] = []


def or_unknown(column: str) -> Coalesce:
    """A date or count as lists are ordered by it and as it is indexed: one that is not known is before all others."""
    return Coalesce(F(column), Value(NO_COUNT if column.endswith("n_comments") else NEVER))


def also_visible(rule: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Lets people read the snapshots whose ids `rule(user)` selects (a subquery) in private repositories as well.

    An issue is visible by them while its newest snapshot is one of them, so that nobody reads what came later.
    """
    if rule not in _snapshot_rules:
        _snapshot_rules.append(rule)
    return rule


def read_by_strangers(rule: Callable[[int], Any]) -> Callable[[int], Any]:
    """Names issues that people read who may not read their private repository: `rule(id of the repository)` selects
    their ids (a subquery). What is told of them later, and belongs to no snapshot, would reach these people, too.
    """
    if rule not in _strangers:
        _strangers.append(rule)
    return rule


def forgotten_in_public(forget: Callable[[int], Any]) -> Callable[[int], Any]:
    """Has `forget(id of the repository)` called when a private repository becomes public, in the same transaction: it
    deletes what is stored elsewhere of that repository's private history, which may name other private repositories.
    """
    if forget not in _forgotten:
        _forgotten.append(forget)
    return forget


def forget_history(repository_id: int) -> None:
    """Calls what `forgotten_in_public` named."""
    for forget in _forgotten:
        forget(repository_id)


def issues_read_by_strangers(repository_id: int, issues: Iterable[int]) -> set[int]:
    """Which of these issues of a private repository are shown to people who may not read it; a query for each rule."""
    among = Issue.objects.filter(pk__in=list(issues)).order_by()
    return {pk for rule in _strangers for pk in among.filter(pk__in=rule(repository_id)).values_list("pk", flat=True)}


class RepositoryQuerySet(models.QuerySet["Repository"]):
    def visible_to(self, user: Viewer) -> "RepositoryQuerySet":
        """Public ones, those the user fetched, and all for staff."""
        if not user.is_authenticated:
            return self.none()
        if user.is_staff:
            return self
        return self.filter(Q(private=False) | Q(pk__in=_readable_ids(user)))

    def partly_visible_to(self, user: Viewer) -> "RepositoryQuerySet":
        """Those, and the ones of which `also_visible` lets the user read snapshots."""
        if not user.is_authenticated or user.is_staff:
            return self.visible_to(user)
        allowed = Q(private=False) | Q(pk__in=_readable_ids(user))
        for rule in _snapshot_rules:
            allowed |= Q(pk__in=Snapshot.objects.filter(pk__in=rule(user)).values("issue__repository"))
        return self.filter(allowed)

    def named(self, host: str, owner: str, name: str) -> "RepositoryQuerySet":
        return self.filter(host__iexact=host, owner__iexact=owner, name__iexact=name)

    def renamed_from(self, host: str, owner: str, name: str) -> "RepositoryQuerySet":
        """The one that had this name before, unless another one has it now."""
        former = FormerName.objects.filter(host__iexact=host, owner__iexact=owner, name__iexact=name)
        has_it_now = Repository.objects.named(host, owner, name)
        return self.filter(~Exists(has_it_now), pk__in=former.values("repository"))

    def called(self, host: str, owner: str, name: str) -> "RepositoryQuerySet":
        """The one that has this name, or had it before, unless another one has it now."""
        former = FormerName.objects.filter(host__iexact=host, owner__iexact=owner, name__iexact=name)
        is_called_so = Q(host__iexact=host, owner__iexact=owner, name__iexact=name)
        has_it_now = Repository.objects.named(host, owner, name)
        return self.filter(is_called_so | Q(~Exists(has_it_now), pk__in=former.values("repository")))


class Repository(models.Model):
    """Where issues come from."""

    host = models.CharField(max_length=255, default=GITHUB_HOST)
    owner = models.CharField(max_length=100)
    name = models.CharField(max_length=100)
    github_id = models.BigIntegerField(null=True, blank=True, help_text="Stays the same when the repository moves.")
    private = models.BooleanField(default=False, help_text="Seen only by who fetched it and by studies that use it.")
    readers = models.ManyToManyField(
        settings.AUTH_USER_MODEL, blank=True, related_name="+", help_text="Who brought issues of it in."
    )
    added_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    added_at = models.DateTimeField(auto_now_add=True)
    complete_until = models.DateTimeField(
        null=True, blank=True, help_text="All that changed at GitHub before this time has been fetched."
    )
    n_issues = models.PositiveIntegerField(null=True, blank=True, help_text="As last counted; none: not counted yet.")
    n_open = models.PositiveIntegerField(null=True, blank=True)
    n_comments = models.PositiveBigIntegerField(null=True, blank=True, help_text="Of issues whose comments are known.")
    n_closing_changes = models.PositiveIntegerField(null=True, blank=True, help_text="None: no source has told any.")
    github_labels = models.JSONField(
        null=True, blank=True, help_text="The most used: [name, number of issues] of each."
    )
    is_counted = models.BooleanField(db_default=False, help_text="Whether nothing was stored since these were counted.")

    objects: ClassVar[Any] = RepositoryQuerySet.as_manager()

    class Meta:
        verbose_name_plural = "repositories"
        constraints = [
            models.UniqueConstraint(
                Lower("host"), Lower("owner"), Lower("name"), name="a_repository_is_stored_once_whatever_its_case"
            ),
        ]

    def __str__(self) -> str:
        return self.full_name

    def get_absolute_url(self) -> str:
        return reverse("repository", args=self.full_name.split("/"))

    @property
    def full_name(self) -> str:
        """`owner/name`, or `host/owner/name` when it is not on github.com."""
        return f"{self.owner}/{self.name}" if self.host == GITHUB_HOST else f"{self.host}/{self.owner}/{self.name}"


class FormerName(models.Model):
    """A name that a repository had at GitHub before: its addresses lead to the present one."""

    repository = models.ForeignKey(Repository, on_delete=models.CASCADE, related_name="former_names")
    host = models.CharField(max_length=255)
    owner = models.CharField(max_length=100)
    name = models.CharField(max_length=100)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                Lower("host"), Lower("owner"), Lower("name"), name="a_former_name_leads_to_one_repository"
            ),
        ]

    def __str__(self) -> str:
        return full_name(self.host, self.owner, self.name)


def _readable_ids(user: User) -> models.QuerySet[Any, Any]:
    return Repository.readers.through.objects.filter(user_id=user.pk).values("repository_id")


def lower_name(name: RepositoryName) -> RepositoryName:
    """The name as names are compared."""
    host, owner, title = name
    return host.lower(), owner.lower(), title.lower()


_FORMER = """
    SELECT f.id
    FROM unnest(%s::text[], %s::text[], %s::text[]) n (host, owner, name)
    JOIN ingest_formername f
        ON lower(f.host) = lower(n.host) AND lower(f.owner) = lower(n.owner) AND lower(f.name) = lower(n.name)
"""


def names_after(former: Iterable[RepositoryName]) -> dict[RepositoryName, RepositoryName]:
    """The present names of repositories that had these before, by the former in lower case; one query.

    A name that another repository has now is that one's.
    """
    names = list(former)
    if not names:
        return {}
    had_it = RawSQL(_FORMER, [list(column) for column in zip(*names, strict=True)])  # noqa: S611
    has_it_now = Repository.objects.filter(
        host__iexact=OuterRef("host"), owner__iexact=OuterRef("owner"), name__iexact=OuterRef("name")
    )
    rows = FormerName.objects.filter(~Exists(has_it_now), pk__in=had_it).select_related("repository")
    return {
        lower_name((row.host, row.owner, row.name)): (row.repository.host, row.repository.owner, row.repository.name)
        for row in rows
    }


class FetchRunQuerySet(models.QuerySet["FetchRun"]):
    def visible_to(self, user: Viewer) -> "FetchRunQuerySet":
        """A run shows rows of its file and names of repositories: to who started it, and to staff."""
        if not user.is_authenticated:
            return self.none()
        readable = Exists(Repository.objects.visible_to(user).filter(pk=OuterRef("repository")))
        own = self if user.is_staff else self.filter(created_by=user.pk)
        return own.annotate(has_readable_repository=readable)


class FetchRun(Job):
    """One import: what was asked, how far it came, and what stopped it, in words."""

    turn: TaskTurn | None = None
    """Of the task that works on it."""

    class Kind(models.TextChoices):
        GITHUB = "github"
        FILE = "file"
        WEBHOOK = "webhook"

    FROM_GITHUB = (Kind.GITHUB, Kind.WEBHOOK)

    class State(models.TextChoices):
        QUEUED = "queued"
        RUNNING = "running"
        WAITING = "waiting"
        DONE = "done"
        FAILED = "failed"
        CANCELLED = "cancelled"

    UNFINISHED = (State.QUEUED, State.RUNNING, State.WAITING)

    kind = models.CharField(max_length=10, choices=Kind.choices)
    repository = models.ForeignKey(
        Repository, null=True, blank=True, on_delete=models.PROTECT, related_name="runs", db_index=False,
        help_text="Known once GitHub has answered; a file may bring several.",
    )  # fmt: skip
    target = models.CharField(
        max_length=460,
        blank=True,
        help_text="host/owner/name in lower case: two runs of one target never work at once.",
    )
    requested = models.JSONField(default=dict, help_text="repository, state, labels, since, private, file name.")
    upload = models.FileField(upload_to="uploads/%Y/%m/", null=True, blank=True)
    state = models.CharField(max_length=10, choices=State.choices, default=State.QUEUED)
    waiting_until = models.DateTimeField(null=True, blank=True)
    cursor = models.JSONField(default=dict, help_text="How far the run came; it goes on from here.")
    n_failures = models.PositiveIntegerField(default=0, help_text="Failed attempts since the last progress.")
    n_expected = models.PositiveIntegerField(null=True, blank=True)
    n_seen = models.PositiveIntegerField(default=0, help_text="New, changed, unchanged and refused together.")
    n_new = models.PositiveIntegerField(default=0)
    n_changed = models.PositiveIntegerField(default=0)
    n_unchanged = models.PositiveIntegerField(default=0)
    n_refused = models.PositiveIntegerField(default=0)
    n_contradictions = models.PositiveIntegerField(
        default=0, db_default=0, help_text="Values told that contradict stored ones, which were kept."
    )
    n_pull_requests = models.PositiveIntegerField(default=0, help_text="Listed among issues, but not issues.")
    n_comments = models.PositiveIntegerField(
        default=0, help_text="Comments of the issues that were stored or found unchanged."
    )
    n_closing_changes = models.PositiveIntegerField(default=0, help_text="Closing changes read.")
    n_requests = models.PositiveIntegerField(default=0, help_text="Requests spent at GitHub.")
    n_unchanged_answers = models.PositiveIntegerField(
        default=0, help_text="Of these, answered with 304 (not modified), which GitHub does not count."
    )
    n_requests_left = models.PositiveIntegerField(
        null=True, blank=True, help_text="What GitHub said last that the token (or address) may still ask."
    )
    n_bytes = models.BigIntegerField(null=True, blank=True, help_text="Size of the file, where one is read.")
    n_bytes_read = models.BigIntegerField(default=0)
    worked_at = done_at = None
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+", db_index=False
    )
    is_unrestricted = models.BooleanField(
        default=False,
        db_default=False,
        help_text="Started in the shell: it reads whatever the server's tokens can read, whoever it is for.",
    )
    created_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(null=True, blank=True)
    heartbeat_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    objects: ClassVar[Any] = FetchRunQuerySet.as_manager()

    class Meta:
        indexes = [
            models.Index(
                fields=["state"], condition=Q(state__in=["queued", "running", "waiting"]), name="runs_that_are_not_over"
            ),
            models.Index(fields=["repository", "id"], name="runs_of_a_repository"),
            models.Index(fields=["created_by", "id"], name="runs_of_a_person"),
        ]
        constraints = [
            models.UniqueConstraint(
                fields=["target"],
                condition=Q(state="running") & ~Q(target=""),
                name="two_runs_of_one_repository_never_work_at_once",
            ),
            models.CheckConstraint(
                condition=~Q(state="waiting") | Q(waiting_until__isnull=False), name="who_waits_knows_until_when"
            ),
        ]

    def __str__(self) -> str:
        return f"fetch {self.pk} of {self.title}"

    def get_absolute_url(self) -> str:
        return reverse("fetch", args=[self.pk])

    @property
    def title(self) -> str:
        """What is fetched, for people."""
        if self.named_repository:
            return self.named_repository.full_name
        return self.requested.get("repository") or self.requested.get("file") or "a file"

    @property
    def named_repository(self) -> Repository | None:
        """The repository, unless the reader may not see it any more: the one who asked for it then reads the name they
        asked for, and no later one. No query after `visible_to`, else one or two of a private one.
        """
        found = self.repository
        if found is None or not found.private or self.created_by is None:
            return found
        is_readable = self.__dict__.get("has_readable_repository")
        if is_readable is None:
            is_readable = Repository.objects.visible_to(self.created_by).filter(pk=found.pk).exists()
        return found if is_readable else None

    @property
    def n_read(self) -> int:
        """Rows read so far, pull requests included: comparable with `n_expected`."""
        return self.n_seen + self.n_pull_requests

    @property
    def what(self) -> str:
        """What was asked: `issues`, or of issues that are stored `presence` or `closing_changes`; or `messages`."""
        return self.requested.get("what") or "issues"

    @property
    def n_to_read(self) -> int | None:
        """How many rows there are to read, as far as it is known."""
        return self.n_expected or len(self.requested.get("numbers") or ()) or None

    @property
    def seconds_left(self) -> float | None:
        """By the pace so far; None where it can't be told."""
        if self.state != self.State.RUNNING or not (self.started_at and self.heartbeat_at):
            return None
        passed = (self.heartbeat_at - self.started_at).total_seconds()
        read, expected = (self.n_bytes_read, self.n_bytes) if self.n_bytes else (self.n_read, self.n_to_read)
        return passed * (expected - read) / read if read and expected and expected > read else None

    @property
    def reads_comments(self) -> bool:
        """Whether it is still at the comments, which come before the issues."""
        return self.kind == self.Kind.GITHUB and self.cursor.get("phase") == "comments"

    @property
    def has_stored(self) -> bool:
        """Whether at least one issue was stored or found unchanged."""
        return bool(self.n_new or self.n_changed or self.n_unchanged)

    @property
    def brought_nothing(self) -> bool:
        """Whether its file was read to the end and no issue came of it: continuing would come to the same."""
        return self.state == self.State.FAILED and self.n_bytes_read == self.n_bytes and not self.has_stored

    @property
    def n_comments_staged(self) -> int:
        """Comments of the whole repository that were read before the issues they belong to."""
        return int(self.cursor.get("n_staged", 0))

    @property
    def is_over(self) -> bool:
        return self.state not in self.UNFINISHED


class Refusal(models.Model):
    """A row that could not come in, with its line and the reason."""

    run = models.ForeignKey(FetchRun, on_delete=models.CASCADE, related_name="refusals")
    line = models.PositiveIntegerField(null=True, blank=True, help_text="From 1; none for what GitHub answered.")
    reason = models.TextField()
    row = models.TextField(blank=True, help_text="The row as it was, or the beginning of a very long one.")

    class Meta:
        ordering = ["pk"]


class Contradiction(models.Model):
    """A value of a source that was not taken: another one is stored, and nothing says which is newer."""

    run = models.ForeignKey(FetchRun, on_delete=models.CASCADE, related_name="contradictions")
    issue = models.CharField(max_length=500, help_text="owner/name#number.")
    name = models.CharField(max_length=40, help_text="created_at, closed_at, n_comments, html_url, author_association.")
    told = models.TextField()
    kept = models.TextField()

    class Meta:
        ordering = ["pk"]

    def __str__(self) -> str:
        return f"{self.issue}: {self.name} is {self.told} in the source, {self.kept} is stored"


class IssueQuerySet(models.QuerySet["Issue"]):
    def visible_to(self, user: Viewer) -> "IssueQuerySet":
        """Issues of public repositories, of those the user fetched, and what `also_visible` adds; all for staff."""
        if not user.is_authenticated:
            return self.none()
        if user.is_staff:
            return self
        allowed = Q(repository__private=False) | Q(repository__in=_readable_ids(user))
        for rule in _snapshot_rules:
            allowed |= Q(current_snapshot__in=rule(user))
        return self.filter(allowed)

    def takeable_by(self, user: User) -> "IssueQuerySet":
        """Issues of repositories that the user may see. They take no others into a study: of those that only a study of
        theirs shows them, its owner decides.
        """
        return self.filter(repository__in=Repository.objects.visible_to(user).values("pk"))

    def read_at(self, user: Viewer, sha256: str) -> "IssueQuerySet":
        """Issues of which the user may read the snapshot whose SHA-256 begins so, whether or not a newer one came."""
        if not user.is_authenticated or len(sha256) < SHA256_SHOWN:
            return self.none()
        found = Snapshot.objects.filter(_own_snapshots(user), sha256__startswith=sha256)
        return self.filter(pk__in=found.values("issue"))

    def told_by_github(self) -> "IssueQuerySet":
        """Issues whose newest state came from GitHub, and from no file."""
        return self.filter(current_snapshot__run__kind__in=FetchRun.FROM_GITHUB)

    def identified(self, host: str, owner: str, name: str, number: int) -> "IssueQuerySet":
        return self.filter(
            repository__host__iexact=host, repository__owner__iexact=owner, repository__name__iexact=name, number=number
        )

    def all_identified(self, names: Sequence[Identified]) -> "dict[Identified, Issue]":
        """The issues of identifiers that were read, whatever their case, also by names that repositories had before.

        One query, two or three where some are not found.
        """
        found = self._all_identified(names)
        if missing := [name for name in names if name not in found]:
            present = names_after({name[:3] for name in missing})
            again = {name: (*now, name[3]) for name in missing if (now := present.get(lower_name(name[:3])))}
            renamed = self._all_identified(list(again.values())) if again else {}
            found |= {name: renamed[now] for name, now in again.items() if now in renamed}
        return found

    def _all_identified(self, names: Sequence[Identified]) -> "dict[Identified, Issue]":
        hosts, owners, repositories, numbers = (list(column) for column in zip(*names, strict=True))
        named = RawSQL(_NAMED, [hosts, owners, repositories, numbers])  # noqa: S611
        found = self.filter(pk__in=named).select_related("repository")
        by_name = {
            (
                each.repository.host.lower(),
                each.repository.owner.lower(),
                each.repository.name.lower(),
                each.number,
            ): each
            for each in found
        }
        lowered = {name: (name[0].lower(), name[1].lower(), name[2].lower(), name[3]) for name in names}
        return {name: by_name[key] for name, key in lowered.items() if key in by_name}

    def with_titles(self) -> "IssueQuerySet":
        """For lists: repository and current snapshot in one query, without bodies."""
        return self.select_related("repository", "current_snapshot").defer("current_snapshot__body")


_NAMED = """
    SELECT i.id
    FROM unnest(%s::text[], %s::text[], %s::text[], %s::bigint[]) n (host, owner, name, number)
    JOIN ingest_repository r
        ON upper(r.host) = upper(n.host) AND upper(r.owner) = upper(n.owner) AND upper(r.name) = upper(n.name)
    JOIN ingest_issue i ON i.repository_id = r.id AND i.number = n.number
"""


class Issue(models.Model):
    """The identity of an issue; what it says stands in its snapshots."""

    class Presence(models.TextChoices):
        HERE = "here", "still where it was"
        DELETED = "deleted", "deleted at GitHub"
        TRANSFERRED = "transferred", "transferred to another repository"
        DISCUSSION = "discussion", "converted to a discussion"

    repository = models.ForeignKey(Repository, on_delete=models.PROTECT, related_name="issues", db_index=False)
    number = models.PositiveIntegerField()
    current_snapshot = models.ForeignKey(
        "Snapshot", null=True, blank=True, on_delete=models.PROTECT, related_name="+", help_text="The newest state."
    )
    updated_at = models.DateTimeField(null=True, blank=True, help_text="When GitHub says it last changed.")
    added_at = models.DateTimeField(auto_now_add=True)
    presence = models.CharField(max_length=12, choices=Presence.choices, db_default=Presence.HERE)
    moved_to = models.CharField(
        max_length=600, blank=True, db_default="", help_text="Where a transferred or converted issue is now."
    )
    locked = models.BooleanField(null=True, help_text="As GitHub last said; locking makes no new snapshot.")
    checked_at = models.DateTimeField(
        null=True, blank=True, help_text="When GitHub was last asked whether it is still there."
    )
    changes_known = models.BooleanField(db_default=False, help_text="Whether a source has told what closed it.")
    page_url = models.URLField(
        max_length=600,
        blank=True,
        db_default="",
        help_text="Of its page, as last told; empty: as its snapshots have it.",
    )
    author_association = models.CharField(
        max_length=40, blank=True, db_default="", help_text="The author's, as last told: OWNER, MEMBER, NONE and so on."
    )

    objects: ClassVar[Any] = IssueQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["repository", "number"], name="an_issue_is_stored_once"),
        ]
        indexes = [
            models.Index(fields=["repository", "id"], name="issues_of_a_repository"),
            models.Index(or_unknown("updated_at"), "id", name="issues_by_update"),
        ]

    def __str__(self) -> str:
        return self.identifier

    def get_absolute_url(self) -> str:
        return reverse("issue", args=[*self.repository.full_name.split("/"), self.number])

    @property
    def identifier(self) -> str:
        """`owner/name#number`; reads the repository, so select it along."""
        return f"{self.repository.full_name}#{self.number}"

    def address_of(self, snapshot: "Snapshot") -> str:
        """Where its page is: as last told, else as this snapshot of it says, which may come from a file."""
        return self.page_url or snapshot.html_url


def _own_snapshots(user: User) -> Q:
    """The condition that a snapshot is among those that `also_visible` adds for this person."""
    own = Q(pk__in=[])
    for rule in _snapshot_rules:
        own |= Q(pk__in=rule(user))
    return own


class SnapshotQuerySet(models.QuerySet["Snapshot"]):
    def visible_to(self, user: Viewer) -> "SnapshotQuerySet":
        """All of repositories that the user may see, and of others those that `also_visible` adds; all for staff."""
        if not user.is_authenticated:
            return self.none()
        if user.is_staff:
            return self
        repositories = Q(issue__repository__private=False) | Q(issue__repository__in=_readable_ids(user))
        return self.filter(repositories | _own_snapshots(user))

    def named(self, user: Viewer, name: str) -> "Snapshot | None":
        """The one that a user may read by the beginning of its SHA-256, or by its `key`.

        Several may have one hash and call people by other names: GitHub's comes first, then one that a study of the
        user pins.
        """
        if isinstance(user, AnonymousUser):
            return None
        sha256, _, pk = name.lower().partition(".")
        found = self.visible_to(user).filter(sha256__startswith=sha256)
        if pk:
            return found.filter(pk=pk).first() if pk.isascii() and pk.isdecimal() and len(pk) < 19 else None
        is_githubs = Q(run__kind__in=FetchRun.FROM_GITHUB)
        rank = Case(When(is_githubs, then=2), When(_own_snapshots(user), then=1), default=0)
        return found.order_by(rank.desc(), "-pk").first()

    def takeable_by(self, user: User) -> "SnapshotQuerySet":
        """All of repositories that the user may see, and none that only a study shows them."""
        return self.filter(issue__repository__in=Repository.objects.visible_to(user).values("pk"))


class Snapshot(models.Model):
    """One immutable state of an issue: its content, addressed by its SHA-256, and the dates and counts told with it."""

    issue = models.ForeignKey(Issue, on_delete=models.PROTECT, related_name="snapshots", db_index=False)
    sha256 = models.CharField(max_length=64)
    title = models.TextField()
    body = models.TextField(blank=True)
    state = models.CharField(max_length=20, blank=True, help_text="open or closed; empty where the source did not say.")
    state_reason = models.CharField(max_length=40, blank=True)
    github_labels = ArrayField(models.TextField(), default=list, blank=True)
    author_login = models.CharField(max_length=255, blank=True, help_text="Empty: not known, or a deleted account.")
    author_id = models.BigIntegerField(null=True, blank=True)
    locked = models.BooleanField(default=False)
    created_at = models.DateTimeField(null=True, blank=True)
    updated_at = models.DateTimeField(null=True, blank=True)
    closed_at = models.DateTimeField(null=True, blank=True)
    html_url = models.URLField(max_length=600, blank=True)
    n_comments = models.PositiveIntegerField(null=True, blank=True, help_text="As the source counts them.")
    comments_known = models.BooleanField(default=False, help_text="No: the source only counted them, if that.")
    fetched_at = models.DateTimeField(auto_now_add=True)
    run = models.ForeignKey(FetchRun, null=True, blank=True, on_delete=models.PROTECT, related_name="snapshots")
    comments: "models.ManyToManyField[Comment, SnapshotComment]" = models.ManyToManyField(
        "Comment", through="SnapshotComment", related_name="snapshots"
    )

    objects: ClassVar[Any] = SnapshotQuerySet.as_manager()

    class Meta:
        indexes = [
            # Several snapshots of one content differ in dates or counts.
            models.Index(fields=["issue", "sha256"], name="snapshots_by_content"),
            GinIndex(fields=["github_labels"], name="snapshots_by_github_label"),
            models.Index(fields=["author_login"], name="snapshots_by_author"),
            models.Index(or_unknown("created_at"), "issue", name="snapshots_by_creation"),
            models.Index(or_unknown("closed_at"), name="snapshots_by_closing"),
            models.Index(or_unknown("n_comments"), "issue", name="snapshots_by_comments"),
        ]

    def __str__(self) -> str:
        return f"{self.title[:60]} ({self.sha256[:8]})"

    @property
    def key(self) -> str:
        """What it is called in addresses: the beginning of its SHA-256, and its id, as others may have that hash."""
        return f"{self.sha256[:SHA256_SHOWN]}.{self.pk}"

    def thread(self) -> models.QuerySet["Comment"]:
        """The comments in order; one query."""
        return self.comments.order_by("snapshotcomment__position")


class Comment(models.Model):
    """One immutable comment, addressed by its content: a new comment does not copy the thread.

    By its author's name, too: the hash has the author's number in its place where that is known, and a file that says
    another name says nothing to other repositories.
    """

    sha256 = models.CharField(max_length=64)
    github_id = models.BigIntegerField(null=True, blank=True, db_index=True)
    author_login = models.CharField(max_length=255, blank=True)
    author_id = models.BigIntegerField(null=True, blank=True)
    body = models.TextField(blank=True)
    created_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["sha256", "author_login"], name="a_comment_of_a_name_is_stored_once")
        ]

    def __str__(self) -> str:
        return f"{self.author_login}: {self.body[:60]}"


class SnapshotComment(models.Model):
    """Which comments a snapshot has, in which order."""

    snapshot = models.ForeignKey(Snapshot, on_delete=models.PROTECT, db_index=False)
    comment = models.ForeignKey(Comment, on_delete=models.PROTECT)
    position = models.PositiveIntegerField(help_text="From 1.")

    class Meta:
        ordering = ["position"]
        constraints = [
            models.UniqueConstraint(fields=["snapshot", "position"], name="a_place_in_a_thread_holds_one_comment"),
        ]


class StagedComment(models.Model):
    """A comment that a run has read before its issue; gone when the run is done."""

    run = models.ForeignKey(FetchRun, on_delete=models.CASCADE, related_name="staged_comments")
    number = models.PositiveIntegerField()
    github_id = models.BigIntegerField()
    content = models.JSONField(help_text="author_login, author_id, body, created_at.")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["run", "github_id"], name="a_run_reads_a_comment_once"),
        ]
        indexes = [models.Index(fields=["run", "number"], name="staged_comments_by_issue")]


class ClosingChange(models.Model):
    """A pull request or commit that closed an issue, as the source last told; no part of a snapshot.

    A merged pull request and the commit that it was merged as are one change. A linked pull request that was not merged
    is a row, too, and `closes` nothing.
    """

    class Kind(models.TextChoices):
        PULL_REQUEST = "pull_request"
        COMMIT = "commit"

    issue = models.ForeignKey(Issue, on_delete=models.PROTECT, related_name="closing_changes", db_index=False)
    kind = models.CharField(max_length=12, choices=Kind.choices)
    identifier = models.CharField(max_length=500, help_text="owner/name#number, or owner/name@ and the commit's hash.")
    number = models.PositiveIntegerField(null=True, blank=True, help_text="Of a pull request.")
    title = models.TextField(blank=True)
    html_url = models.URLField(max_length=600, blank=True)
    author_login = models.CharField(max_length=255, blank=True)
    created_at = models.DateTimeField(
        null=True, blank=True, help_text="When a pull request was opened, or a commit written."
    )
    closes = models.BooleanField(
        default=True, db_default=True, help_text="No: a pull request that is linked to the issue and was not merged."
    )
    merged_at = models.DateTimeField(
        null=True,
        blank=True,
        help_text="When a pull request was merged or a commit made; none: closed without merging.",
    )
    additions = models.PositiveIntegerField(null=True, blank=True)
    deletions = models.PositiveIntegerField(null=True, blank=True)
    n_files = models.PositiveIntegerField(null=True, blank=True)
    paths = ArrayField(models.TextField(), default=list, blank=True, help_text="Of the changed files, as far as told.")
    path_additions = ArrayField(
        models.PositiveIntegerField(),
        default=list,
        db_default=[],
        blank=True,
        help_text="Lines added in each of the paths; empty where no source told them.",
    )
    path_deletions = ArrayField(
        models.PositiveIntegerField(),
        default=list,
        db_default=[],
        blank=True,
        help_text="Lines deleted in each of the paths; empty where no source told them.",
    )

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(fields=["issue", "identifier"], name="a_change_closes_an_issue_once"),
        ]

    def __str__(self) -> str:
        return self.identifier

    @property
    def n_lines(self) -> int | None:
        """Added and deleted lines together; None where the source does not say."""
        return None if self.additions is None or self.deletions is None else self.additions + self.deletions


class Activity(models.Model):
    """What happened to an issue and how it was received, as a source last told; no part of a snapshot."""

    issue = models.OneToOneField(Issue, primary_key=True, on_delete=models.CASCADE, related_name="activity")
    told = models.JSONField(
        default=dict,
        help_text="Each where a source told it: events (a list of kind, at, actor, detail), reactions (by kind), type.",
    )

    def __str__(self) -> str:
        return f"activity of issue {self.issue_id}"


class Validator(models.Model):
    """What GitHub calls an answer's content, so that the same question costs nothing while nothing changed."""

    repository = models.ForeignKey(Repository, on_delete=models.CASCADE, related_name="validators")
    question = models.TextField(help_text="Path and parameters.")
    etag = models.CharField(max_length=200)
    answered_at = models.DateTimeField(auto_now=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["repository", "question"], name="a_question_has_one_validator"),
        ]


class SearchText(models.Model):
    """What searches compare of an issue's snapshot: marked texts, and the lexemes that select candidates.

    Filled by the indexer, not by what stores issues: it counts only while `snapshot` is the issue's current one.
    """

    issue = models.OneToOneField(
        Issue, primary_key=True, on_delete=models.CASCADE, related_name="search_text", db_constraint=False
    )
    snapshot = models.ForeignKey(
        Snapshot, on_delete=models.PROTECT, related_name="+", db_constraint=False, db_index=False
    )
    lexemes = SearchVectorField(help_text="Without positions, as `ingest.search.matching` makes them.")
    has_all_lexemes = models.BooleanField(
        default=True, db_default=True, help_text="No: it has more than a tsvector holds, and texts are compared."
    )
    title = models.TextField()
    body = models.TextField()
    comments = models.TextField(help_text="Empty where they are not known.")

    class Meta:
        indexes = [GinIndex(fields=["lexemes"], name="search_texts_by_lexeme")]


class Spelling(models.Model):
    """A GitHub label or login as some snapshot writes it, so that searches compare them without case."""

    class Kind(models.TextChoices):
        LABEL = "label"
        LOGIN = "login"

    LONGEST = 255
    """Characters; longer labels, of files, are compared as they are written."""

    kind = models.CharField(max_length=5, choices=Kind.choices)
    folded = models.TextField()
    spelling = models.TextField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["kind", "folded", "spelling"], name="a_spelling_is_stored_once"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.spelling}"


class Unsearchable(models.Model):
    """An issue whose current snapshot the search does not know yet."""

    issue = models.OneToOneField(
        Issue, primary_key=True, on_delete=models.CASCADE, related_name="+", db_constraint=False
    )


class Upload(models.Model):
    """A table of issues that someone uploaded and whose columns are not confirmed yet; nothing of it is stored."""

    file = models.FileField(upload_to="uploads/%Y/%m/")
    name = models.CharField(max_length=200)
    requested = models.JSONField(
        default=dict, help_text="repository, name, private as a run has it; a sample of the table."
    )
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    def get_absolute_url(self) -> str:
        return reverse("upload", args=[self.pk])


class Delivery(models.Model):
    """One message of GitHub's webhook; its id is taken once."""

    guid = models.CharField(max_length=100, unique=True)
    sha256 = models.CharField(max_length=64, unique=True, help_text="Of the body: the same words count once.")
    event = models.CharField(max_length=60)
    action = models.CharField(max_length=60, blank=True)
    payload = models.JSONField(null=True, help_text="Kept until its run is over.")
    run = models.ForeignKey(FetchRun, null=True, blank=True, on_delete=models.SET_NULL, related_name="deliveries")
    received_at = models.DateTimeField(auto_now_add=True, db_index=True)
