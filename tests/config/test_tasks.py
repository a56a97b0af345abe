"""Tasks keep their names, for messages of an earlier version are still in the queue; one of them sweeps all jobs."""

import pytest
from django.db import OperationalError

from config import celery, settings
from shared import jobs as job_base

BEFORE = """
accounts.jobs.remove_what_is_over accounts.jobs.send_link_notice accounts.jobs.send_message
accounts.jobs.send_password_links annotation.jobs.import_workbook annotation.jobs.pick_up_arrivals
annotation.jobs.pick_up_bulk_jobs annotation.jobs.pick_up_workbooks annotation.jobs.remove_old_arrivals
annotation.jobs.remove_old_workbooks annotation.jobs.run_bulk_job annotation.jobs.take_study_in
annotation.tasks.delete_study annotation.tasks.make_export annotation.tasks.pick_up_deletions
annotation.tasks.pick_up_exports annotation.tasks.pick_up_plans annotation.tasks.pick_up_rules
annotation.tasks.rule_answers annotation.tasks.rule_new_answers annotation.tasks.rule_round annotation.tasks.run_plan
ingest.tasks.count_totals ingest.tasks.fetch_run ingest.tasks.index_what_waits ingest.tasks.make_searchable
ingest.tasks.pick_up_runs ingest.tasks.queue_what_is_missing ingest.tasks.remove_old_files
"""


def test_every_task_of_the_version_before_is_known_and_all_that_the_clock_and_jobs_send() -> None:
    celery.app.loader.import_default_modules()  # as a worker does when it starts
    known = set(celery.app.tasks)
    assert set(BEFORE.split()) <= known
    assert {str(each["task"]) for each in settings.CELERY_BEAT_SCHEDULE.values()} <= known
    sent = [kind.task for kind in job_base.KINDS]
    assert len(sent) == len(set(sent)) == 10 and set(sent) <= known


class Sweeping(job_base.Work):
    def __init__(self, task: str, found: list[int] | None, sent: list[tuple[str, int]]) -> None:
        self.task, self.found, self.sent = task, found, sent

    def sweep(self, lost_seconds: float = 0) -> list[int]:
        if self.found is None:
            raise OperationalError("a lock was not given")
        return self.found

    def send(self, pk: int) -> None:
        self.sent.append((self.task, pk))


def test_a_kind_of_job_that_cannot_be_swept_hinders_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[tuple[str, int]] = []
    kinds = [Sweeping("a", [1, 2], sent), Sweeping("b", None, sent), Sweeping("c", [3], sent)]
    monkeypatch.setattr(job_base, "KINDS", kinds)
    with pytest.raises(OperationalError, match="not given"):
        job_base.sweep()
    assert sent == [("a", 1), ("a", 2), ("c", 3)]
