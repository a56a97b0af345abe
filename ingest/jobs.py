"""Tasks of ingest: one run to a task, the search index, and the sweep of runs without a worker."""

from celery import shared_task

from ingest import runs, totals
from ingest.files import leftovers
from ingest.run_steps import RUNS
from ingest.search import indexing
from shared.job_time_limits import BATCHES

ISSUES_A_TASK = 20_000


@shared_task(**RUNS.options)
def fetch_run(run_id: int) -> None:
    """Works on one run for a turn, and then sends the next one of its repository; nothing for one at work."""
    if RUNS.run(run_id):
        return
    if (following := runs.next_in_line(run_id)) is not None:
        RUNS.send(following)
    if indexing.anything_waits():
        make_searchable.delay()


@shared_task(name="ingest.tasks.make_searchable", **BATCHES)
def make_searchable() -> None:
    """Indexes for a while; whoever comes next goes on."""
    if indexing.index(ISSUES_A_TASK) >= ISSUES_A_TASK:
        make_searchable.delay()


@shared_task(name="ingest.tasks.index_what_waits")
def index_what_waits() -> None:
    """Sends the indexing of what runs at work have stored so far, or left behind when they were killed."""
    if indexing.anything_waits():
        make_searchable.delay()


@shared_task(name="ingest.tasks.queue_what_is_missing")
def queue_what_is_missing() -> None:
    """Queues issues that no search finds and nothing queued."""
    if indexing.queue_what_is_missing():
        make_searchable.delay()


@shared_task(name="ingest.tasks.count_totals")
def count_totals() -> None:
    """Counts the repositories into which something was stored meanwhile."""
    totals.count()


@shared_task(name="ingest.tasks.remove_old_files")
def remove_old_files() -> None:
    """Removes uploads that were never confirmed, and files of runs that ended long ago."""
    leftovers.remove_old_files()
