"""What workers do by calling actions: they import workbooks and studies, prepare large rounds, clean up."""

from celery import shared_task

from annotation.imports.actions import workbooks
from annotation.imports.actions.workbooks import WORKBOOKS
from annotation.overview.actions import mails as mailing
from annotation.rounds.jobs import BULK_JOBS
from annotation.transfer.actions import study_import as arriving
from annotation.transfer.actions.study_import import ARRIVALS


@shared_task(**WORKBOOKS.options)
def import_workbook(workbook_id: int) -> None:
    """Imports one workbook; nothing for one that is not queued."""
    WORKBOOKS.run(workbook_id)


@shared_task(name="annotation.jobs.remove_old_workbooks")
def remove_old_workbooks() -> None:
    """Removes files of workbooks that are not needed any more."""
    workbooks.remove_old_workbooks()


@shared_task(**ARRIVALS.options)
def take_study_in(arrival_id: int) -> None:
    """Stores the study of one file; nothing for one that is not queued."""
    ARRIVALS.run(arrival_id)


@shared_task(name="annotation.jobs.remove_old_arrivals")
def remove_old_arrivals() -> None:
    """Removes studies' files that are not needed any more."""
    arriving.remove_old_files()


@shared_task(**BULK_JOBS.options)
def run_bulk_job(job_id: int) -> None:
    """Draws a large sample, or prepares or opens a large round; nothing for a job that is not queued."""
    BULK_JOBS.run(job_id)


@shared_task(name="annotation.jobs.send_due_mails")
def send_due_mails() -> None:
    """Sends today's e-mails about waiting work to those who have none of today yet."""
    mailing.send_due_mails()
