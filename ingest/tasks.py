"""What workers do: one run to a task, and the clock's round over runs that nobody works on."""

from celery import shared_task

from ingest import runs, sync


@shared_task
def fetch_run(run_id: int) -> None:
    sync.work(run_id)


@shared_task
def pick_up_runs() -> None:
    """Sends runs that are due, stale or lost to workers again."""
    for run_id in runs.pick_up():
        fetch_run.delay(run_id)
