"""What workers do for studies: one plan, round, file or deletion to a task; the clock sends again what was lost."""

from celery import shared_task

from accounts.time_limits import BATCHES, TURN_SECONDS, WHOLE
from annotation import deleting, ruling
from annotation.exporting import EXPORTS
from annotation.moving import PLANS

LOST_SECONDS = 30


@shared_task(**PLANS.options)
def run_plan(plan_id: int) -> None:
    """Works on one plan for a turn; nothing for one that is not queued."""
    PLANS.run(plan_id)


@shared_task(**WHOLE, over_limit=staticmethod(ruling.end_over_limit))
def rule_round(round_id: int) -> None:
    """Applies the rules of its study to a round; nothing for one to which they were applied."""
    ruling.rule_round(round_id)


@shared_task
def pick_up_rules() -> None:
    """Sends rounds whose rules wait, because a message or a worker was lost, to workers again."""
    for round_id in ruling.lost(LOST_SECONDS):
        rule_round.delay(round_id)


@shared_task(**WHOLE, over_limit=staticmethod(ruling.end_over_limit))
def rule_answers(round_id: int) -> None:
    """Applies the rules of its study to what was answered in a round since the last time."""
    ruling.rule_answers(round_id)


@shared_task
def rule_new_answers() -> None:
    """Sends rounds with new answers, in studies whose rules act on single items, to workers."""
    for round_id in ruling.rounds_with_new_answers():
        rule_answers.delay(round_id)


@shared_task(**EXPORTS.options)
def make_export(export_id: int) -> None:
    """Makes the file of one export; nothing for one that is not queued."""
    EXPORTS.run(export_id)


@shared_task(**BATCHES, over_limit=staticmethod(deleting.end_over_limit))
def delete_study(deletion_id: int) -> None:
    """Works on one deleted study for a turn; nothing for one that is gone."""
    if deleting.work(deletion_id, turn_seconds=TURN_SECONDS):
        delete_study.delay(deletion_id)


@shared_task
def pick_up_deletions() -> None:
    """Sends deletions whose message or worker was lost to workers again."""
    for deletion_id in deleting.lost(LOST_SECONDS):
        delete_study.delay(deletion_id)
