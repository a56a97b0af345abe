"""Jobs that hang in a real worker: each is ended at its limit and has failed in words, and the others are done."""

import inspect
import subprocess
import sys
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from django.test import Client
from django.utils import timezone

from annotation.assignments import jobs as rule_jobs
from annotation.exports import jobs as export_jobs
from annotation.exports.actions import request_export
from annotation.jobs import make_export
from annotation.models import Assignment, Deletion, Export, Rating, Round, Study
from annotation.plans import jobs as plan_jobs
from annotation.plans.actions import preview_plan, run_plan
from annotation.resolving.actions.third_rater_requests import apply_rules
from annotation.transfer import jobs as transfer_jobs
from config import celery, settings
from ingest import run_steps, runs
from ingest.models import FetchRun
from shared import job_holds
from shared import jobs as job_base
from shared.job_time_limits import TaskTurn
from tests import builders as make
from tests.annotation.plans.test_plans import SECOND
from tests.conftest import environment_of_servers
from tests.github import made_up
from tests.scripts import Script
from tests.site import BASE_DIR, wait_until

SOFT_SECONDS, HARD_SECONDS = 3, 6
WAYS = ("sleeps", "swallows the soft limit", "computes in C")


@pytest.fixture
def worker(worker_aside: None, tmp_path: Path) -> Iterator[Path]:
    """A worker of two processes that runs the jobs of `tests.stuck_jobs`; its log."""
    log = tmp_path / "worker.log"
    command = [sys.executable, "-m", "celery", "-A", "config", "worker", "--concurrency", "2", "--loglevel", "INFO"]
    with log.open("wb") as file:
        process = subprocess.Popen(
            [*command, "--without-gossip", "--without-mingle", "--include", "tests.stuck_jobs"],
            cwd=BASE_DIR, env=environment_of_servers(), stdout=file, stderr=file,
        )  # fmt: skip
    try:
        wait_until(lambda: b" ready." in log.read_bytes(), "the worker is ready")
        yield log
    finally:
        process.terminate()
        process.wait(60)


@pytest.fixture
def study() -> Study:
    made = make.study()
    make.rate(make.open_round(made, 2), "item bob carol\n1 crash hang\n2 hang hang")
    return made


def sent(study: Study, stuck: str = "", format: str = "csv") -> Export:
    export = request_export(seat=make.owner_seat(study), what="ratings", format=format, send=False)
    limits = {}
    if stuck:
        Export.objects.filter(pk=export.pk).update(asked={"stuck": stuck})
        limits = {"soft_time_limit": SOFT_SECONDS, "time_limit": HARD_SECONDS}
    make_export.apply_async([export.pk], **limits)  # the others may take their time on a busy machine
    return export


def fresh(*exports: Export) -> list[Export]:
    return [Export.objects.get(pk=each.pk) for each in exports]


@pytest.mark.process
@pytest.mark.worker
@pytest.mark.timeout(600)
@pytest.mark.django_db(transaction=True)
def test_one_stuck_job_stops_no_other_and_ends_as_failed(worker: Path, study: Study) -> None:
    for way in WAYS:
        stuck, others = sent(study, way), [sent(study, format=format) for format in ("csv", "jsonl", "parquet")]
        wait_until(lambda of=others: {each.state for each in fresh(*of)} == {"done"}, "the others are done")
        assert fresh(stuck)[0].state in ("running", "failed"), way
        wait_until(
            lambda of=stuck: fresh(of)[0].state == "failed", f"a job that {way} has failed\n{worker.read_text()}"
        )
        (over,) = fresh(stuck)
        assert "stopped because it took longer than 60 minutes" in over.error and over.n_claims == 2
        wait_until(lambda: job_holds.are_held(job_holds.JobLockKind.EXPORT) == set(), "its hold is let go of")
        assert export_jobs.EXPORTS.sweep(0) == []
    again = sent(study)
    wait_until(lambda: fresh(again)[0].state == "done", "the same is made when it is asked for again")


def test_every_kind_of_job_has_limits_below_the_time_after_which_redis_sends_it_again() -> None:
    longest = 0
    for name, task in celery.app.tasks.items():
        if name.startswith("celery."):
            continue
        soft = task.soft_time_limit or settings.CELERY_TASK_SOFT_TIME_LIMIT
        hard = task.time_limit or settings.CELERY_TASK_TIME_LIMIT
        assert 0 < soft < hard, name
        if inspect.signature(task.run).parameters and not name.startswith("accounts.jobs."):  # e-mails are no rows
            assert task.over_limit is not None, f"{name} over its limit would be taken up again, without end"
        longest = max(longest, hard)
    assert longest < settings.CELERY_BROKER_TRANSPORT_OPTIONS["visibility_timeout"]  # type: ignore[operator]


@pytest.mark.django_db
def test_jobs_in_batches_hand_over_after_a_turn_and_are_done_in_the_end(study: Study) -> None:
    make.next_version(study, SECOND)
    plan = run_plan(seat=make.owner_seat(study), plan=preview_plan(seat=make.owner_seat(study), to=2), send=False)
    assert plan_jobs.work(plan.pk, turn_seconds=0)
    plan.refresh_from_db()
    assert (plan.state, plan.n_done) == ("queued", 2)
    assert not plan_jobs.work(plan.pk, turn_seconds=0)
    plan.refresh_from_db()
    assert plan.state == "done"


@pytest.mark.django_db
def test_a_plan_over_its_limit_has_failed_with_nothing_assigned_and_is_run_again_by_hand(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    make.next_version(study, SECOND)
    monkeypatch.setattr(plan_jobs, "BATCH", 1)
    seat = make.owner_seat(study)
    plan = run_plan(seat=seat, plan=preview_plan(seat=seat, to=2), send=False)
    assert plan_jobs.work(plan.pk, turn_seconds=0) and Assignment.objects.filter(round__kind="relabel").exists()
    plan_jobs.PLANS.end_over_limit(plan.pk)
    plan.refresh_from_db()
    assert (plan.state, plan.worklist, plan_jobs.PLANS.sweep(-60)) == ("failed", None, [])
    assert "longer than 15 minutes" in plan.error and not Assignment.objects.filter(round__kind="relabel").exists()
    owner = Client()
    owner.force_login(make.user("olga"))
    page = owner.get(f"/studies/study/plans/{plan.number}/").content.decode()
    assert "The last run failed." in page and f"Run migration {plan.number}" in page
    assert Script("olga").send("GET", "studies/study/plans/").json()["results"][0]["state"] == "failed"
    assert owner.post(f"/studies/study/plans/{plan.number}/run/").status_code == 302
    plan_jobs.work(plan.pk)
    plan.refresh_from_db()
    assert (plan.state, plan.error) == ("done", "") and plan.worklist is not None


@pytest.mark.django_db
def test_rules_over_their_limit_have_failed_and_are_applied_again_by_hand(study: Study) -> None:
    Study.objects.filter(pk=study.pk).update(majority=True)
    round_ = Round.objects.get(study=study)
    waiting = {"state": "resolving", "resolving_at": timezone.now() - timedelta(minutes=5), "ruled_at": None}
    Round.objects.filter(pk=round_.pk).update(**waiting)
    assert rule_jobs.RULES.sweep(30) == [round_.pk]
    rule_jobs.RULES.end_over_limit(round_.pk)
    rule_jobs.rule_round(round_.pk)
    round_.refresh_from_db()
    assert (rule_jobs.RULES.sweep(30), rule_jobs.rounds_with_new_answers(), round_.ruled_at) == ([], [], None)
    owner = Client()
    owner.force_login(make.user("olga"))
    page = owner.get("/studies/study/rounds/1/").content.decode()
    assert "longer than 15 minutes" in page and "Apply the rules again" in page
    assert owner.post("/studies/study/rounds/1/rules/").status_code == 302
    assert rule_jobs.RULES.sweep(30) == [round_.pk]
    rule_jobs.rule_round(round_.pk)
    round_.refresh_from_db()
    assert round_.rules_error == "" and round_.ruled_at is not None


@pytest.mark.django_db
def test_rules_on_single_items_over_their_limit_are_applied_again_by_hand() -> None:
    study = make.study()
    Study.objects.filter(pk=study.pk).update(majority=True, resolve_when="item")
    round_ = make.rate(make.open_round(study, 3), "item bob carol\n1 crash hang")
    assert rule_jobs.rounds_with_new_answers() == [round_.pk]
    rule_jobs.RULES.end_over_limit(round_.pk)
    assert rule_jobs.rounds_with_new_answers() == []
    apply_rules(seat=make.owner_seat(study), number=1)
    assert rule_jobs.rounds_with_new_answers() == [round_.pk]
    rule_jobs.rule_answers(round_.pk)
    assert rule_jobs.rounds_with_new_answers() == []


@pytest.mark.django_db
def test_a_deletion_over_its_limit_has_failed_and_is_continued_by_hand(study: Study) -> None:
    gone = {"slug": "study", "title": "Study", "sha256": "0" * 64, "exported_at": timezone.now()}
    deletion = Deletion.objects.create(study=study, deleted_by=make.user("olga"), n_total=9, **gone)
    transfer_jobs.DELETIONS.end_over_limit(deletion.pk)
    assert (transfer_jobs.work(deletion.pk), transfer_jobs.DELETIONS.sweep(0)) == (False, [])
    assert Rating.objects.filter(round__study=study).exists()
    owner = Client()
    owner.force_login(make.user("olga"))
    page = owner.get("/deleted-studies/").content.decode()
    assert "longer than 15 minutes" in page and "Continue deletion" in page and "hx-get" not in page
    stranger = Client()
    stranger.force_login(make.user("mallory"))
    assert stranger.post(f"/deleted-studies/{deletion.pk}/continue/").status_code == 404
    assert owner.post(f"/deleted-studies/{deletion.pk}/continue/").status_code == 302
    assert transfer_jobs.DELETIONS.sweep(0) == [deletion.pk]
    transfer_jobs.work(deletion.pk)
    assert not Study.objects.exists()
    assert owner.post(f"/deleted-studies/{deletion.pk}/continue/", follow=True).content.count(b"has not failed") == 1


class OfThreeBatches(TaskTurn):
    """A turn that is over with its third batch: what a turn begins with is done again by the next one."""

    n_batches = 0

    def is_over(self) -> bool:
        self.n_batches += 1
        return self.n_batches >= 3


@pytest.mark.django_db
def test_a_fetch_hands_over_and_nobody_takes_it_for_a_failure(world, github, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    from ingest.actions.fetches import start_fetch

    made_up(world, "o/r", 120)
    run = start_fetch(user=None, repository="o/r", send=False)
    n_turns = 1
    monkeypatch.setattr(job_base, "TaskTurn", lambda seconds: OfThreeBatches(seconds))
    while run_steps.work(run.pk, turn_seconds=0):
        run.refresh_from_db()
        assert (run.state, run.n_failures) == ("queued", 0)
        n_turns += 1
    run.refresh_from_db()
    assert run.state == "done" and n_turns > 1 and run.n_new > 100, run.error


@pytest.mark.django_db
def test_a_fetch_over_its_limit_has_failed_and_is_continued_by_hand(world, github) -> None:  # type: ignore[no-untyped-def]
    from ingest.actions.fetches import continue_run, start_fetch

    made_up(world, "o/r", 60)
    run = start_fetch(user=None, repository="o/r", send=False)
    assert runs.claim(run.pk) is not None
    runs.RUNS.end_over_limit(run.pk)
    run.refresh_from_db()
    assert run.state == "failed" and "longer than 15 minutes" in run.error and runs.pick_up() == []
    run_steps.work(continue_run(run=run, send=False).pk)
    assert FetchRun.objects.get(pk=run.pk).state == "done"
