"""Celery tasks of studies: a plan, round, file, import, or deletion each. Their stored names never change."""

from celery import shared_task

from annotation.assignments import jobs as rule_jobs
from annotation.assignments.jobs import ANSWERS, RULES
from annotation.exports import jobs as export_jobs
from annotation.exports.jobs import EXPORTS
from annotation.imports.actions import workbooks
from annotation.imports.actions.workbooks import WORKBOOKS
from annotation.overview.actions import mails
from annotation.plans.jobs import PLANS
from annotation.rounds.jobs import BULK_JOBS, SEARCHES
from annotation.transfer.actions import study_import
from annotation.transfer.actions.study_import import ARRIVALS
from annotation.transfer.jobs import DELETIONS


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
    study_import.remove_old_files()


@shared_task(name="annotation.jobs.discard_export_files")
def discard_export_files() -> None:
    """Deletes files of exports that could not be deleted when the exports were removed or ended."""
    export_jobs.discard_files()


@shared_task(**BULK_JOBS.options)
def run_bulk_job(job_id: int) -> None:
    """Works on a large sample or round for a turn; nothing for a job that is not queued."""
    BULK_JOBS.run(job_id)


@shared_task(**SEARCHES.options)
def find_duplicates(job_id: int) -> None:
    """Searches a sample for duplicates; nothing for a job that is not queued."""
    SEARCHES.run(job_id)


@shared_task(name="annotation.jobs.send_due_mails")
def send_due_mails() -> None:
    """Sends today's e-mails about waiting work to those who have none of today yet."""
    mails.send_due_mails()


@shared_task(**PLANS.options)
def run_plan(plan_id: int) -> None:
    """Works on one plan for a turn; nothing for one that is not queued."""
    PLANS.run(plan_id)


@shared_task(**RULES.options)
def rule_round(round_id: int) -> None:
    """Applies the rules of its study to a round for a turn; nothing for one to which they were applied."""
    RULES.run(round_id)


@shared_task(**ANSWERS.options)
def rule_answers(round_id: int) -> None:
    """Applies the rules of its study, for a turn, to what was answered in a round since the last time."""
    ANSWERS.run(round_id)


@shared_task(name="annotation.tasks.rule_new_answers")
def rule_new_answers() -> None:
    """Sends rounds with new answers, in studies whose rules act on single items, to workers."""
    for round_id in rule_jobs.rounds_with_new_answers():
        ANSWERS.send(round_id)


@shared_task(**EXPORTS.options)
def make_export(export_id: int) -> None:
    """Makes the file of one export; nothing for one that is not queued."""
    EXPORTS.run(export_id)


@shared_task(**DELETIONS.options)
def delete_study(deletion_id: int) -> None:
    """Works on one deleted study for a turn; nothing for one that is gone."""
    DELETIONS.run(deletion_id)
