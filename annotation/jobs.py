"""What workers do by calling actions: they import workbooks and studies, prepare large rounds, clean up."""

from celery import shared_task

from accounts.time_limits import WHOLE
from annotation.actions import arriving, workbooks
from annotation.actions.bulk_jobs import BULK_JOBS

LOST_SECONDS = 30


@shared_task(**WHOLE, over_limit=staticmethod(workbooks.end_over_limit))
def import_workbook(workbook_id: int) -> None:
    """Imports one workbook; nothing for one that is done."""
    workbooks.import_workbook(workbook_id)


@shared_task
def pick_up_workbooks() -> None:
    """Sends workbooks whose message or worker was lost to workers again."""
    for workbook_id in workbooks.lost(LOST_SECONDS):
        import_workbook.delay(workbook_id)


@shared_task
def remove_old_workbooks() -> None:
    """Removes files of workbooks that are not needed any more."""
    workbooks.remove_old_workbooks()


@shared_task(**WHOLE, over_limit=staticmethod(arriving.end_over_limit))
def take_study_in(arrival_id: int) -> None:
    """Stores the study of one file; nothing for one that is done."""
    arriving.take_in(arrival_id)


@shared_task
def pick_up_arrivals() -> None:
    """Sends studies' files whose message or worker was lost to workers again."""
    for arrival_id in arriving.lost(LOST_SECONDS):
        take_study_in.delay(arrival_id)


@shared_task
def remove_old_arrivals() -> None:
    """Removes studies' files that are not needed any more."""
    arriving.remove_old_files()


@shared_task(**BULK_JOBS.options)
def run_bulk_job(job_id: int) -> None:
    """Draws a large sample, or prepares or opens a large round; nothing for a job that is not queued."""
    BULK_JOBS.run(job_id)
