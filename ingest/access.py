"""From a person and an identifier to a run or an issue, or 404."""

from ingest.errors import Invalid, NotFound
from ingest.identifiers import parse_repository
from ingest.models import FetchRun, Issue, Viewer


def get_run(user: Viewer, run_id: int) -> FetchRun:
    """A run the user started (staff: any); raises NotFound."""
    run: FetchRun | None = (
        FetchRun.objects.visible_to(user).select_related("repository", "created_by").filter(pk=run_id).first()
    )
    if run is None:
        raise NotFound("There is no such fetch, or it is someone else's.")
    return run


def get_issue(user: Viewer, repository: str, number: int) -> Issue:
    """An issue the user may see, with its repository and current snapshot; raises NotFound."""
    try:
        host, owner, name = parse_repository(repository)
    except Invalid as error:
        raise NotFound(f"{repository} is no repository, so it has no issue here.") from error
    found = Issue.objects.visible_to(user).identified(host, owner, name, number)
    issue: Issue | None = found.select_related("repository", "current_snapshot").first()
    if issue is None or issue.current_snapshot is None:
        raise NotFound(f"{repository}#{number} is not stored here, or not open to you.")
    return issue
