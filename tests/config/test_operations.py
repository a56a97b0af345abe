"""The operator's page, metrics and pulses: who may look, what they say, and what is said while no worker is there."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from django.test import Client
from django.utils import timezone
from prometheus_client.parser import text_string_to_metric_families
from pytest_django.fixtures import Settings

from accounts.audit import record
from accounts.models import User
from annotation.exports.actions import request_export
from annotation.models import Arrival, Assignment, BulkJob, Deletion, Export, RoundRater, Workbook
from config import heartbeats, operator_queries
from config.backups.postgres import BACKUP_MADE
from ingest.actions.fetches import start_fetch
from ingest.models import FetchRun
from tests import builders as make
from tests.asserts import assert_queries

pytestmark = pytest.mark.django_db
PAGES = ("/operations/", "/operations/audit/", "/operations/audit/audit.csv", "/operations/audit/audit.jsonl")


@pytest.fixture(autouse=True)
def only_own_processes(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The worker of other tests reports under the usual keys at any moment: these tests use keys of their own."""
    monkeypatch.setattr(heartbeats, "KEY", "concord-pulse-of-tests")
    monkeypatch.setattr(heartbeats, "TASKS", "concord-tasks-of-tests")
    redis = heartbeats._client(operator_queries.settings.REDIS_URL, 0)
    redis.delete(heartbeats.KEY, heartbeats.TASKS)
    yield
    redis.delete(heartbeats.KEY, heartbeats.TASKS)


@pytest.fixture
def staff() -> Client:
    client = Client()
    client.force_login(make.user("stan", staff=True))
    return client


def heard(kind: str, ago: timedelta) -> None:
    said = {"at": (datetime.now(UTC) - ago).timestamp(), "version": "0.2.0"}
    heartbeats._client(operator_queries.settings.REDIS_URL, 0).hset(heartbeats.KEY, f"{kind} host:1", json.dumps(said))


def failed_fetch() -> FetchRun:
    now = timezone.now()
    return FetchRun.objects.create(
        kind="github", target="o/r", state="failed", error="GitHub said no.", finished_at=now
    )


def test_only_staff_know_that_there_are_pages_for_operators(staff: Client) -> None:
    record(verb="person added", about=make.user("olga"))
    for path in PAGES:
        assert staff.get(path).status_code == 200
        assert Client().get(path).status_code == 302
        for name in ("olga", "bob"):
            client = Client()
            client.force_login(make.user(name))
            assert client.get(path).status_code == 404
    assert b"person added" in b"".join(staff.get("/operations/audit/audit.csv"))
    assert "person added" in staff.get("/operations/audit/").content.decode()
    assert staff.get("/operations/audit/audit.xlsx").status_code == 404


def test_the_page_shows_jobs_with_their_error_and_what_can_be_done(staff: Client) -> None:
    run = failed_fetch()
    study = make.study()
    request_export(seat=make.owner_seat(study), what="ratings", format="csv", send=False)
    asked = start_fetch(user=make.user("olga"), repository="acme/other", send=False)
    shown = staff.get("/operations/").content.decode()
    assert "Rows" not in shown
    assert "GitHub said no." in shown and f'action="/fetches/{run.pk}/continue/"' in shown
    assert f"acme/other · run {asked.pk}" in shown
    assert "study · export 1, ratings" in shown and "All migrations are applied" in shown


def test_every_kind_of_job_is_on_the_page_with_where_it_is_begun_anew(staff: Client) -> None:
    study = make.study()
    now = timezone.now()
    ended = {"state": "failed", "error": "It broke.", "done_at": now, "worked_at": now}
    request_export(seat=make.owner_seat(study), what="ratings", format="csv", send=False)
    Export.objects.update(**ended)
    own, others = (
        Workbook.objects.create(name="book.csv", created_by=make.user(name), **ended) for name in ("stan", "olga")
    )
    Arrival.objects.create(name="study.zip", slug="came", created_by=make.user("olga"), **ended)
    gone = {"slug": "study", "title": "Study", "sha256": "0" * 64, "exported_at": now}
    Deletion.objects.create(study=study, deleted_by=make.user("olga"), **gone)
    bulk = {"study": study, "created_by": make.user("olga")} | ended
    BulkJob.objects.create(kind="sample", **bulk)
    round_ = make.open_round(study, 1)
    BulkJob.objects.create(kind="opening", round=round_, **bulk)
    BulkJob.objects.create(kind="leaving", round=round_, **bulk)
    BulkJob.objects.create(kind="pinning", **bulk)
    User.objects.filter(username="olga").update(first_name="bob")
    shown = " ".join(staff.get("/operations/").content.decode().split())
    assert "Create it again on the Exports page." in shown
    assert (
        f'href="/studies/import/{own.pk}/"' in shown
        and "Owners of the study can change its columns on its page" in shown
    )
    assert f'href="/studies/import/{others.pk}/"' not in shown and "Only bob (olga) can open its page." in shown
    assert "came · from a file" in shown and "Choose the file again there." in shown
    assert 'href="/deleted-studies/"' in shown and "study · taken away" in shown
    assert "study · drawing of a sample" in shown and "study · opening of round 1" in shown
    assert 'href="/studies/study/rounds/1/"' in shown and shown.count("An owner can start it again on its page.") == 4
    assert "study · items of a rater who leaves round 1" in shown
    assert "study · newest snapshots" in shown and 'href="/studies/study/changes/"' in shown
    assert {(each.kind, each.state) for each in operator_queries.job_counts()} == {
        ("export", "failed"), ("workbook", "failed"), ("study in", "failed"), ("deletion", "queued"),
        ("bulk", "failed"),
    }  # fmt: skip


def test_the_page_says_when_the_last_backup_was_made_and_where(
    staff: Client, settings: Settings, tmp_path: Path
) -> None:
    settings.DATA_DIR = tmp_path
    assert "No backup is known" in staff.get("/operations/").content.decode()
    told = {"made_at": "2026-11-20T03:00:00+00:00", "path": "/srv/backups/nightly.zip", "bytes": 5_000_000}
    record(verb=BACKUP_MADE, machine="another-one", **told)
    shown = staff.get("/operations/").content.decode()
    assert "20 November 2026, 03:00 UTC" in shown and "<code>/srv/backups/nightly.zip</code> on another-one" in shown


def test_the_page_costs_the_same_with_many_jobs(staff: Client) -> None:
    for n in (1, 12):
        for _ in range(n):
            failed_fetch()
        with assert_queries(17):
            staff.get("/operations/")


def test_tables_are_listed_from_one_step_of_size_on(staff: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(operator_queries, "SIZE_STEP", 1 << 15)
    found = operator_queries.largest_tables()
    assert found and all(each.n_bytes > 1 << 15 and each.n_bytes % (1 << 15) == 0 for each in found)
    assert found == sorted(found, key=lambda each: (-each.n_bytes, each.name))
    assert found[0].name in staff.get("/operations/").content.decode()


def test_sizes_of_tables_do_not_tell_how_long_an_answer_was() -> None:
    study = make.study()
    round_ = make.open_round(study, 1)
    before = operator_queries.largest_tables(), operator_queries.database()["n_bytes"]
    make.submit(round_, "bob", 1, {"symptom": ["crash"]}, memo="".join(map(str, range(2000))))
    assert (operator_queries.largest_tables(), operator_queries.database()["n_bytes"]) == before
    assert before[1] % 2**24 == 0 and all(each.n_bytes % 2**24 == 0 for each in before[0])


def test_why_a_job_of_a_study_failed_is_not_told_to_who_is_blind_there() -> None:
    study = make.study(raters=("stan", "bob"))
    stan = make.user("stan", staff=True)
    stan.is_staff = True
    stan.save()
    make.open_round(study, 1, raters=("stan", "bob"))
    export = request_export(seat=make.owner_seat(study), what="ratings", format="csv", send=False)
    Export.objects.filter(pk=export.pk).update(state="failed", error="what bob said", done_at=timezone.now())
    client = Client()
    client.force_login(stan)
    shown = client.get("/operations/").content.decode()
    assert "what bob said" not in shown and f"export {export.number}, " not in shown
    Assignment.objects.all().delete()  # as after being added to a pool, where nobody has an item before asking for one
    assert "what bob said" not in client.get("/operations/").content.decode()
    RoundRater.objects.filter(rater__user=stan).update(left_at=timezone.now())
    assert "what bob said" in client.get("/operations/").content.decode()


def test_staff_read_on_every_page_that_the_workers_are_gone_and_others_do_not(staff: Client) -> None:
    bob = Client()
    bob.force_login(make.user("bob"))
    words = "No worker has reported"
    heard("worker", timedelta(seconds=30))
    assert words not in staff.get("/issues/").content.decode()
    heard("worker", timedelta(minutes=3))
    assert words in staff.get("/issues/").content.decode()
    assert words not in bob.get("/issues/").content.decode()


def test_a_job_that_waits_for_minutes_says_that_no_worker_is_there(staff: Client) -> None:
    run = FetchRun.objects.create(kind="github", target="o/r", state="queued", heartbeat_at=timezone.now())
    path = f"/fetches/{run.pk}/"
    assert "No worker is running" not in staff.get(path).content.decode()
    FetchRun.objects.filter(pk=run.pk).update(heartbeat_at=timezone.now() - timedelta(minutes=3))
    assert "No worker is running" in staff.get(path).content.decode()
    heard("worker", timedelta(seconds=1))
    assert "No worker is running" not in staff.get(path).content.decode()


def test_imports_and_deletions_that_wait_for_minutes_say_so_too(staff: Client) -> None:
    study, stan = make.study(), make.user("stan")
    waits = {"state": "queued", "created_by": stan, "worked_at": timezone.now()}
    book, arrival = Workbook.objects.create(name="book.csv", **waits), Arrival.objects.create(slug="came", **waits)
    gone = {"slug": "study", "title": "Study", "sha256": "0" * 64, "exported_at": timezone.now(), "deleted_by": stan}
    deletion = Deletion.objects.create(study=study, worked_at=timezone.now(), **gone)
    pages = (f"/studies/import/{book.pk}/", f"/studies/import/whole/{arrival.pk}/", "/deleted-studies/")
    for path in pages:
        assert "No worker is running" not in staff.get(path).content.decode()
    for row in (book, arrival, deletion):
        type(row).objects.filter(pk=row.pk).update(worked_at=timezone.now() - timedelta(minutes=3))
    for path in pages:
        assert "No worker is running" in staff.get(path).content.decode()


@pytest.mark.parametrize("given", [None, "", "Bearer wrong", "Bearer ", "Basic 0123456789abcdef"])
def test_metrics_are_not_there_for_who_has_no_token(given: str | None, settings: Settings) -> None:
    headers = {} if given is None else {"Authorization": given}
    for token in ("", "0123456789abcdef"):
        settings.METRICS_TOKEN = token
        assert Client().get("/metrics", headers=headers).status_code == 404


def test_metrics_say_what_is_alive_at_work_and_over(settings: Settings) -> None:
    settings.METRICS_TOKEN = "0123456789abcdef"
    failed_fetch()
    heard("worker", timedelta(seconds=1))
    heard("clock", timedelta(minutes=5))
    heartbeats.count_task("ingest.tasks.fetch_run", "SUCCESS", 0.5)
    answer = Client().get("/metrics", headers={"Authorization": "Bearer 0123456789abcdef"})
    assert answer.status_code == 200 and "no-store" in answer["Cache-Control"]
    found = {
        (sample.name, *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(answer.content.decode())
        for sample in family.samples
    }
    assert found["concord_up", "database"] == found["concord_up", "redis"] == 1
    assert found["concord_processes", "worker"] == 1 and found["concord_processes", "clock"] == 0
    assert found["concord_jobs", "fetch", "failed"] == 1
    assert found["concord_tasks_total", "success", "ingest.tasks.fetch_run"] == 1
    assert found["concord_task_seconds_total", "success", "ingest.tasks.fetch_run"] == 0.5
    assert ("concord_queue_length",) in found


def test_a_method_that_nobody_knows_makes_no_figures_of_its_own(settings: Settings) -> None:
    settings.METRICS_TOKEN = "0123456789abcdef"
    settings.MIDDLEWARE = [*settings.MIDDLEWARE, "config.metrics.RequestCounter"]
    client = Client()
    for method in ("GET", "EVIL1", "EVIL2"):
        client.generic(method, "/healthz")
    said = client.get("/metrics", headers={"Authorization": "Bearer 0123456789abcdef"}).content.decode()
    assert 'view="healthz"' in said and "EVIL" not in said
