"""What workers do by calling actions: workbooks are imported, lost ones sent again, old files removed."""

from celery import shared_task

from annotation.actions import workbooks

LOST_SECONDS = 30


@shared_task
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
