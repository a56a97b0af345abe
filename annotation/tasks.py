"""What workers do for studies: one plan, round, file or deletion to a task; the clock sends again what was lost."""

from celery import shared_task

from annotation.assignments import jobs as ruling
from annotation.assignments.jobs import ANSWERS, RULES
from annotation.exports.jobs import EXPORTS
from annotation.plans.jobs import PLANS
from annotation.transfer.jobs import DELETIONS


@shared_task(**PLANS.options)
def run_plan(plan_id: int) -> None:
    """Works on one plan for a turn; nothing for one that is not queued."""
    PLANS.run(plan_id)


@shared_task(**RULES.options)
def rule_round(round_id: int) -> None:
    """Applies the rules of its study to a round; nothing for one to which they were applied."""
    ruling.rule_round(round_id)


@shared_task(**ANSWERS.options)
def rule_answers(round_id: int) -> None:
    """Applies the rules of its study to what was answered in a round since the last time."""
    ruling.rule_answers(round_id)


@shared_task(name="annotation.tasks.rule_new_answers")
def rule_new_answers() -> None:
    """Sends rounds with new answers, in studies whose rules act on single items, to workers."""
    for round_id in ruling.rounds_with_new_answers():
        ANSWERS.send(round_id)


@shared_task(**EXPORTS.options)
def make_export(export_id: int) -> None:
    """Makes the file of one export; nothing for one that is not queued."""
    EXPORTS.run(export_id)


@shared_task(**DELETIONS.options)
def delete_study(deletion_id: int) -> None:
    """Works on one deleted study for a turn; nothing for one that is gone."""
    DELETIONS.run(deletion_id)
