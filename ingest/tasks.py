"""What workers do: one run to a task, then the search index, and the clock's round over what nobody works on."""

from celery import shared_task

from accounts.time_limits import BATCHES, TURN_SECONDS
from ingest import indexing, leftovers, runs, sync, totals

ISSUES_A_TASK = 20_000


@shared_task(**BATCHES, over_limit=staticmethod(runs.end_over_limit))
def fetch_run(run_id: int) -> None:
    if sync.work(run_id, turn_seconds=TURN_SECONDS):
        fetch_run.delay(run_id)
        return
    if (following := runs.next_in_line(run_id)) is not None:
        fetch_run.delay(following)
    if indexing.anything_waits():
        make_searchable.delay()


@shared_task
def pick_up_runs() -> None:
    """Sends runs that are due, stale or lost to workers again."""
    for run_id in runs.pick_up():
        fetch_run.delay(run_id)


@shared_task(**BATCHES)
def make_searchable() -> None:
    """Indexes for a while; whoever comes next goes on."""
    if indexing.index(ISSUES_A_TASK) >= ISSUES_A_TASK:
        make_searchable.delay()


@shared_task
def index_what_waits() -> None:
    """Sends the indexing of what runs at work have stored so far, or left behind when they were killed."""
    if indexing.anything_waits():
        make_searchable.delay()


@shared_task
def queue_what_is_missing() -> None:
    """Queues issues that no search finds and nothing queued."""
    if indexing.queue_what_is_missing():
        make_searchable.delay()


@shared_task
def count_totals() -> None:
    """Counts the repositories into which something was stored meanwhile."""
    totals.count()


@shared_task
def remove_old_files() -> None:
    """Removes uploads that were never confirmed, and files of runs that ended long ago."""
    leftovers.remove_old_files()
