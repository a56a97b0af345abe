"""First study: repositories to begin with, and the step where a person left the path."""

from dataclasses import dataclass

from django.db.models import Exists, OuterRef

from accounts.models import User
from annotation.core.member_lists import members_of
from annotation.models import Membership, Study
from ingest.models import FetchRun, Issue, Repository, Snapshot
from taxonomy.models import TaxonomyVersion

SHOWN_MOST = 200


@dataclass(frozen=True)
class StoredRepository:
    """A repository with the number of its issues as last counted; None: not counted yet."""

    full_name: str
    n: int | None

    def __str__(self) -> str:
        return self.full_name if self.n is None else f"{self.full_name}: {self.n:,} issue{'' if self.n == 1 else 's'}"


def stored_repositories(user: User, first: str = "") -> list[StoredRepository]:
    """Repositories with issues that this person may take, the named one first; one query."""
    found = Repository.objects.visible_to(user).filter(Exists(Issue.objects.filter(repository=OuterRef("pk"))))
    rows = [StoredRepository(each.full_name, each.n_issues) for each in found.order_by("owner", "name")[:SHOWN_MOST]]
    return sorted(rows, key=lambda row: row.full_name != first)


def repository_of(user: User, run: FetchRun) -> str:
    """The name of the repository whose issues a run brought, as this person may read it; of several, the first."""
    if run.repository is not None:
        return run.title
    brought = Snapshot.objects.takeable_by(user).filter(run=run).select_related("issue__repository").order_by("pk")
    first = brought.first()
    return first.issue.repository.full_name if first is not None else ""


def n_read(run: FetchRun) -> int:
    """How many issues a run read and stored, also those that were stored before."""
    return int(run.n_new + run.n_changed + run.n_unchanged)


def issues_in_words(user: User, repository: str, run: FetchRun | None) -> str:
    """How many issues the path begins with: those that its run read, else all of its repository; one query."""
    if run is not None:
        n = n_read(run)
    else:
        n = next((each.n for each in stored_repositories(user, repository) if each.full_name == repository), 0) or 0
    if not n:
        return ""
    of = f" of {repository}" if repository else ""
    return f"{n:,} issue{'' if n == 1 else 's'}{of} {'is' if n == 1 else 'are'} stored."


def newest_run(user: User, after: int = 0) -> FetchRun | None:
    """The last fetch or upload of issues that this person started, if it is newer than the ID `after`; one query."""
    found: FetchRun | None = (
        FetchRun.objects.visible_to(user)
        .filter(created_by=user, kind__in=[FetchRun.Kind.GITHUB, FetchRun.Kind.FILE], pk__gt=after)
        .select_related("repository", "created_by")
        .order_by("-pk")
        .first()
    )
    return found


def raters_of(study: Study) -> list[Membership]:
    """The people who can be named as raters of a round, also those who have not accepted yet; one query."""
    return [
        each
        for each in members_of(study)
        if each.has_role("rater") and not each.is_machine and (each.user or each.is_invited)
    ]


def draft_to_publish(study: Study) -> TaxonomyVersion | None:
    """The draft of a taxonomy of which no version is published yet; one query."""
    versions = list(study.taxonomy.versions.all())
    if any(each.state == TaxonomyVersion.State.PUBLISHED for each in versions):
        return None
    return next((each for each in versions if each.is_draft), None)
