"""Short ways to look at what a fetch left behind."""

from typing import Any

from ingest.models import FetchRun, Issue, Repository


def counts(run: FetchRun) -> tuple[int, int, int, int, int]:
    """Seen, new, changed, unchanged, refused."""
    return run.n_seen, run.n_new, run.n_changed, run.n_unchanged, run.n_refused


def stored() -> dict[str, Any]:
    """All that is stored of issues, without keys and times of storing: equal for equal fetches."""
    found = {}
    for issue in Issue.objects.select_related("repository", "current_snapshot"):
        snapshot = issue.current_snapshot
        thread = [comment.body for comment in snapshot.thread()] if snapshot.comments_known else None
        found[issue.identifier] = (snapshot.sha256, snapshot.title, snapshot.state, thread, issue.snapshots.count())
    return found


def repository_names() -> list[str]:
    return sorted(row.full_name for row in Repository.objects.all())
