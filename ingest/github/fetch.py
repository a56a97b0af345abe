"""Fetch from GitHub: finds the repository, chooses GraphQL or REST, and notes what is complete.

Without a token a repository is read by its REST listings, or, for few issues, by their listing and their threads. With
a token it is read by GraphQL, which includes closing changes. Where only changes are wanted, the listings are asked
first whether there are any, which costs nothing if not. The listing of comments then brings edits in issues that
nothing else touched.
"""

from collections.abc import Callable
from datetime import datetime, timedelta

from django.conf import settings

from ingest.github import closing, graphql, listings, presence
from ingest.github.client import Client, GraphqlMissing
from ingest.github.run_state import RunState
from ingest.models import FetchRun, Repository

CLOCK_SECONDS = 60
LISTINGS = "listings"


def fetch(run: FetchRun) -> None:
    """Carries a run of a repository from its cursor to the end; raises FetchFailed, FetchMustWait, ClaimLost."""
    tokens = settings.GITHUB_TOKENS
    client = Client(settings.GITHUB_API_URL, tokens, n_slowed=run.cursor.get("n_slowed", 0))
    job = RunState(run, client)
    kinds: dict[str, Callable[[RunState], None]] = {
        "issues": _fetch_issues,
        "presence": presence.check,
        "closing_changes": closing.fetch_changes,
    }
    try:
        if not run.cursor.get("found"):
            job.resolve()
        elif job.is_restricted or run.cursor.get("way") == LISTINGS:  # GraphQL answers name it
            job.look_again()
        kinds[run.requested.get("what") or "issues"](job)
    finally:
        job.count()


def _fetch_issues(job: RunState) -> None:
    if job.client.has_tokens and job.run.cursor.get("way") != LISTINGS:
        try:
            _by_graphql(job)
        except GraphqlMissing as error:
            _turn_to_listings(job, note=f"Read by REST, because GraphQL was not available: {error.message}")
            _by_listings(job)
    else:
        if job.run.cursor.get("way") != LISTINGS:
            _turn_to_listings(job)
        _by_listings(job)
    listings.store_rest(job)
    with job.progress():
        listings.finish_listings(job)
        _mark_complete(job)


def _turn_to_listings(job: RunState, **note: str) -> None:
    """From the beginning, by REST: what the other way stored already is found unchanged."""
    by_issue = listings.threads_are_cheaper(job)
    job.run.cursor = job.run.cursor | {"way": LISTINGS} | note
    listings.open_listing(job, "issues" if by_issue else "comments", by_issue=by_issue)


def _by_listings(job: RunState) -> None:
    if job.run.cursor["phase"] == "comments":
        listings.read_comments(job)
        listings.open_listing(job, "issues")
    if job.run.cursor["phase"] == "issues":
        listings.read_issues(job)
        job.turn_to("rest")


def _by_graphql(job: RunState) -> None:
    """The issues first, so that a comment read afterwards is never older than the thread that came with its issue."""
    since = job.run.requested.get("since")
    if "phase" not in job.run.cursor:
        if since and job.covers_everything:
            listings.open_listing(job, "issues")
        else:
            job.turn_to("graphql")
    if job.run.cursor["phase"] == "issues":
        if listings.is_unchanged(job):
            listings.open_listing(job, "comments")
        else:
            job.turn_to("graphql")
    if job.run.cursor["phase"] == "graphql":
        graphql.read_issues(job)
        if since:
            listings.open_listing(job, "comments")
        else:
            job.turn_to("rest")
    if job.run.cursor["phase"] == "comments":
        listings.read_comments(job)
        job.turn_to("rest")


def _mark_complete(job: RunState) -> None:
    """All that changed before the run began is known, if it covered everything since a time that was known, too."""
    if not job.covers_everything:
        return
    assert job.run.repository is not None
    repository = Repository.objects.select_for_update().get(pk=job.run.repository.pk)
    since = job.run.requested.get("since")
    known = repository.complete_until
    if since and (known is None or datetime.fromisoformat(since) > known):
        return
    began = datetime.fromisoformat(job.run.cursor["began"]) - timedelta(seconds=CLOCK_SECONDS)
    if known is None or began > known:
        repository.complete_until = began
        repository.save(update_fields=["complete_until"])
