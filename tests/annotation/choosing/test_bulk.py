"""Large samples and rounds: jobs write in batches what a small request writes at once, and everybody waits for them."""

import hashlib
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from annotation.assignments.planning import plan, raters_planned
from annotation.choosing.actions import batches as draw_batches
from annotation.choosing.actions import samples as sample_actions
from annotation.choosing.sampling import draw
from annotation.members.actions import members
from annotation.models import Assignment, BulkJob, Item, Round, RoundItem, RoundRater, Sample, SampleIssue, Study
from annotation.rounds import jobs as bulk_jobs
from annotation.rounds.actions import rounds
from tests import builders as make
from tests.annotation.core.test_api import Caller

pytestmark = pytest.mark.django_db


def digest(rows: object) -> str:
    return hashlib.sha256(repr(rows).encode()).hexdigest()[:16]


@pytest.mark.parametrize(
    ("size", "k", "share", "n_raters", "seed", "capacities", "wanted"),
    [
        (97, 2, 1.0, 2, 1, None, ("2d1e5a9fa1cb4c6e", "c562e259f49f827f")),
        (1000, 2, 0.4, 5, 7, None, ("d61748ebf4c8c366", "32f79c682cf39e93")),
        (333, 3, 1.0, 6, -3, [None, 100, None, 250, None, None], ("33f9a01b9b287ac6", "2a893a8efe13db9d")),
        (50, 1, 1.0, 4, 2, None, ("9977aa5728093629", "dd5485572dc0d044")),
        (500, 2, 0.5, 40, 9, None, ("dec5094be147027e", "f69a77a7b0c4fe4d")),
    ],
)
def test_a_seed_gives_the_assignments_that_it_gave_in_earlier_versions(
    size: int, k: int, share: float, n_raters: int, seed: int, capacities: Any, wanted: tuple[str, str]
) -> None:
    planned = raters_planned(size, k, share, seed)
    places = [(each.item, each.rater, each.slot, each.position) for each in plan(planned, n_raters, seed, capacities)]
    assert (digest(planned), digest(places)) == wanted


@pytest.mark.parametrize(
    ("n_frame", "size", "seed", "more", "wanted"),
    [
        (100, 40, 1, {}, "8b69bde94c728a40"),
        (1000, 1000, 5, {}, "a568a79850aaf145"),
        (1000, 30, 5, {}, "3fa2f056946c9294"),
        (300, 90, 2, {"strata": [f"s{n % 7}" for n in range(300)]}, "84ca1eb2fdabad3e"),
    ],
)
def test_a_seed_draws_the_sample_that_it_drew_in_earlier_versions(
    n_frame: int, size: int, seed: int, more: Any, wanted: str
) -> None:
    assert digest([(each.index, each.stratum) for each in draw(range(n_frame), size, seed, **more)]) == wanted


@pytest.fixture
def study() -> Study:
    made = make.study(raters=("bob", "carol", "dave"))
    make.issues(40)
    return made


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch) -> None:
    """From six issues or items on a job writes them, four at a time."""
    monkeypatch.setattr(draw_batches, "JOB_FROM", 5)
    monkeypatch.setattr(draw_batches, "BATCH", 4)


def work() -> BulkJob:
    """Does the job that waits."""
    job = BulkJob.objects.get(state="queued")
    bulk_jobs.work(job.pk)
    job.refresh_from_db()
    return job


def all_rows(study: Study) -> dict[str, list[Any]]:
    """What a study holds of samples, rounds and assignments, without keys."""
    issue, item = "issue__number", "item__issue__number"
    return {
        "samples": list(SampleIssue.objects.filter(sample__study=study).values_list(issue, "position", "stratum")),
        "frames": [len(each.frame) for each in Sample.objects.filter(study=study)],
        "items": list(Item.objects.filter(study=study).values_list(issue, "identifier", "snapshot__issue__number")),
        "places": list(
            RoundItem.objects.filter(round__study=study)
            .order_by("round", "position")
            .values_list("round__number", item, "position", "n_raters", "n_free", "known")
        ),
        "assignments": list(
            Assignment.objects.filter(round__study=study, slot__isnull=False)
            .order_by("round", "rater__code", "position")
            .values_list("round__number", item, "rater__code", "slot", "state", "position")
        ),
        "of the model rater": sorted(
            Assignment.objects.filter(round__study=study, slot__isnull=True).values_list("round__number", item, "state")
        ),
        "raters": list(
            RoundRater.objects.filter(round__study=study)
            .order_by("round", "rater__code")
            .values_list("rater__code", "n_assigned")
        ),
    }


def fill(study: Study, *, mode: str = "planned", jobs: bool = False) -> Study:
    """A sample by strata; two rounds of it, the second with training items, a model rater and a share of doubles."""
    seat, do = make.owner_seat(study), work if jobs else lambda: None
    members.add_member(
        seat=seat, username=make.user("llm").username, roles=["rater"], kind="machine", machine={"name": "m"}
    )
    sample = sample_actions.draw_sample(
        seat=seat, size=30, seed=3, stratify_by="state", at_least_one=True, filter={"repository": "acme/rocket"}
    )
    do()
    common: dict[str, Any] = {"sample": sample.pk, "mode": mode}
    first = rounds.create_round(seat=seat, asked=rounds.NewRound(**common, raters=["bob", "carol"], n_items=9))
    do()
    rounds.open_round(seat=seat, number=first.number, unregistered=True)
    do()
    drawn = list(sample.drawn.order_by("position").values_list("issue__number", flat=True))
    known = {f"acme/rocket#{number}": {"labels": {"symptom": ["crash"]}} for number in (drawn[11], drawn[29], 40)}
    second = rounds.create_round(
        seat=seat,
        asked=rounds.NewRound(
            **common, raters=["bob", "carol", "dave", "llm"], n_items=15, double_share=0.5, seed=7, known=known
        ),
    )
    do()
    rounds.open_round(seat=seat, number=second.number, unregistered=True)
    do()
    return study


@pytest.mark.parametrize("mode", ["planned", "pool"])
def test_jobs_write_what_a_request_writes(study: Study, mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    at_once = all_rows(fill(study, mode=mode))
    assert len(at_once["samples"]) == 30 and len(at_once["places"]) > 24 and len(at_once["assignments"]) > 8
    monkeypatch.setattr(draw_batches, "JOB_FROM", 5)
    monkeypatch.setattr(draw_batches, "BATCH", 4)
    text = make.SYMPTOMS.replace("slug: symptoms", "slug: others")
    other = fill(make.study("other", text=text, raters=("bob", "carol", "dave")), mode=mode, jobs=True)
    assert all_rows(other) == at_once
    assert {each.state for each in BulkJob.objects.all()} == {"done"} and BulkJob.objects.count() == 5
    assert all(each.n_done == each.n_total for each in BulkJob.objects.all())


def test_items_that_were_all_made_are_not_looked_up_again(study: Study) -> None:
    seat = make.owner_seat(study)
    sample = sample_actions.draw_sample(seat=seat, size=20, filter={"repository": "acme/rocket"})
    with CaptureQueriesContext(connection) as asked:
        rounds.create_round(seat=seat, asked=rounds.NewRound(sample=sample.pk, raters=["bob", "carol"], n_items=10))
    assert sum("INSERT INTO annotation_item " in each["sql"] for each in asked) == 1
    assert not [
        each["sql"] for each in asked if each["sql"].startswith(("SELECT identifier", "UPDATE annotation_item"))
    ]
    names = [each.issue.identifier for each in sample.drawn.order_by("position")[10:20]]
    Item.objects.create(study=study, identifier=names[3])  # imported before its issue was stored
    rounds.create_round(seat=seat, asked=rounds.NewRound(sample=sample.pk, raters=["bob", "carol"], n_items=10))
    assert Item.objects.get(identifier=names[3]).issue is not None
    assert RoundItem.objects.filter(round__number=2, item__identifier__in=names).count() == 10


def test_over_rest_a_large_round_is_prepared_and_opened_by_jobs(study: Study, large: None) -> None:
    olga, bob = Caller("olga"), Caller("bob", "rate")
    made = olga.post("studies/study/samples/", {"filter": {"repository": "acme/rocket"}, "size": 20})
    assert made.status_code == 201 and made.json()["state"] == "preparing" and "issues" not in made.json()
    row = made.json()["job"]
    assert row == {"id": row["id"], "state": "queued", "done": 0, "total": 20} and row["id"]
    body = {"sample": made.json()["id"], "raters": ["bob", "carol"]}
    early = olga.post("studies/study/rounds/", body)
    assert (early.status_code, early.json()["code"]) == (409, "preparing")
    work()
    assert olga.get("studies/study/samples/").json()["results"][0]["job"] is None
    made = olga.post("studies/study/rounds/", body)
    assert made.status_code == 201 and made.json()["number"] == 1 and made.json()["state"] == "preparing"
    assert made.json()["job"]["total"] == 20
    early = olga.post("studies/study/rounds/1/open/", {"unregistered": True})
    assert (early.status_code, early.json()["code"]) == (409, "preparing")
    work()
    ready = olga.get("studies/study/rounds/1/").json()
    assert (ready["state"], ready["job"], ready["n_items"], ready["n_assignments"]) == ("draft", None, 20, 0)
    opened = olga.post("studies/study/rounds/1/open/", {"unregistered": True})
    assert opened.status_code == 202 and opened.json()["state"] == "queued" and opened.json()["total"] == 40
    early = bob.get("studies/study/rounds/1/next/")
    assert (early.status_code, early.json()["code"]) == (409, "preparing")
    assert olga.get("studies/study/rounds/1/").json()["state"] == "preparing"
    work()
    ready = olga.get("studies/study/rounds/1/").json()
    assert (ready["state"], ready["job"], ready["n_assignments"]) == ("open", None, 40)
    assert bob.get("studies/study/rounds/1/next/").status_code == 200


def test_a_draft_that_a_job_works_on_stays_as_it_is(study: Study, large: None) -> None:
    olga = Caller("olga")
    sample = sample_actions.draw_sample(seat=make.owner_seat(study), size=20, filter={"repository": "acme/rocket"})
    work()
    rounds.create_round(seat=make.owner_seat(study), asked=rounds.NewRound(sample=sample.pk, raters=["bob", "carol"]))
    body = {"screening": "out", "reason": "spam", "items": [sample.drawn.all()[0].issue.identifier]}
    for path, given in (
        ("studies/study/screening/", body),
        ("studies/study/samples/", {"size": 3}),
        ("studies/study/rounds/", {"issues": ["acme/rocket#1"], "raters": ["bob", "carol"]}),
    ):
        answer = olga.post(path, given)
        assert (answer.status_code, answer.json()["code"]) == (409, "preparing"), (path, answer.content)
    answer = olga.client.delete("/api/v1/studies/study/rounds/1/", headers=olga.headers)
    assert (answer.status_code, answer.json()["code"]) == (409, "preparing")


def test_the_same_key_makes_one_sample_and_one_round(study: Study) -> None:
    olga = Caller("olga")
    headers = {"Idempotency-Key": "once"}
    for path, body, other in (
        ("studies/study/samples/", {"filter": {"repository": "acme/rocket"}, "size": 3}, {"size": 4}),
        ("studies/study/rounds/", {"issues": ["acme/rocket#1"], "raters": ["bob", "carol"]}, {"seed": 2}),
    ):
        first = olga.post(path, body, **headers)
        again = olga.post(path, body, **headers)
        assert first.status_code == again.status_code == 201 and first.json() == again.json()
        reused = olga.post(path, body | other, **headers)
        assert (reused.status_code, reused.json()["code"]) == (409, "idempotency_key_reused")
        assert olga.post(path, body).json() != first.json()
    assert (Sample.objects.count(), Round.objects.count()) == (2, 2)


def test_a_job_that_fails_has_the_reason_and_its_round_is_not_opened(study: Study, large: None) -> None:
    olga, seat = Caller("olga"), make.owner_seat(study)
    sample = sample_actions.draw_sample(seat=seat, size=20, filter={"repository": "acme/rocket"})
    work()
    rounds.create_round(seat=seat, asked=rounds.NewRound(sample=sample.pk, raters=["bob", "carol"]))
    BulkJob.objects.filter(state="queued").update(n_total=21)  # one more than there are
    job = work()
    assert job.state == "failed" and "The sample now has fewer unused issues" in job.error
    answer = olga.get("studies/study/rounds/1/").json()
    assert answer["state"] == "draft" and answer["job"]["error"] == job.error
    refused = olga.post("studies/study/rounds/1/open/", {"unregistered": True})
    assert (refused.status_code, refused.json()["code"]) == (409, "not_prepared")
    assert olga.client.delete("/api/v1/studies/study/rounds/1/", headers=olga.headers).status_code == 204


def test_an_opening_that_fails_leaves_the_draft_as_it_was(study: Study, large: None) -> None:
    seat = make.owner_seat(study)
    sample = sample_actions.draw_sample(seat=seat, size=20, filter={"repository": "acme/rocket"})
    work()
    rounds.create_round(seat=seat, asked=rounds.NewRound(sample=sample.pk, raters=["bob", "carol"]))
    work()
    before = all_rows(study)
    rounds.open_round(seat=seat, number=1, unregistered=True)
    BulkJob.objects.filter(state="queued").update(asked={"gate": {"round": 1}})
    assert work().state == "failed" and all_rows(study) == before
    rounds.open_round(seat=seat, number=1, unregistered=True)
    assert work().state == "done" and Round.objects.get().state == "open"


def test_a_large_job_hands_over_after_a_turn_however_long_all_of_it_takes(study: Study, large: None) -> None:
    seat = make.owner_seat(study)
    sample = sample_actions.draw_sample(seat=seat, size=20, filter={"repository": "acme/rocket"})
    steps = (
        lambda: rounds.create_round(seat=seat, asked=rounds.NewRound(sample=sample.pk, raters=["bob", "carol"])),
        lambda: rounds.open_round(seat=seat, number=1, unregistered=True),
        lambda: None,
    )
    for step in steps:
        job, n_turns = BulkJob.objects.get(state="queued"), 1
        while bulk_jobs.work(job.pk, turn_seconds=0):
            n_turns += 1
            job.refresh_from_db()
            assert (job.state, job.error) == ("queued", "") and 0 < job.n_done < job.n_total
        job.refresh_from_db()
        assert job.state == "done" and n_turns == job.n_total // 4
        step()
    assert Round.objects.get().state == "open" and Assignment.objects.count() == 40
    assert bulk_jobs.BULK_JOBS.over_limit_sentence().startswith("This job was stopped because it took longer than 15 ")


def test_a_search_for_duplicates_is_no_job_in_batches(study: Study, large: None) -> None:
    sample = sample_actions.draw_sample(seat=make.owner_seat(study), size=3, filter={"repository": "acme/rocket"})
    search = BulkJob.objects.create(
        study=study, sample=sample, kind="duplicates", created_by=study.created_by, n_total=6
    )
    assert bulk_jobs.BULK_JOBS.sweep(0) == [] and not bulk_jobs.work(search.pk)
    search.refresh_from_db()
    assert search.state == "queued" and bulk_jobs.SEARCHES.sweep(0) == [search.pk]
    assert bulk_jobs.SEARCHES.run(search.pk) is False
    search.refresh_from_db()
    assert (search.state, search.cursor) == ("done", {"groups": 0, "issues": 0})


def test_a_job_that_was_lost_is_found(study: Study, large: None) -> None:
    sample_actions.draw_sample(seat=make.owner_seat(study), size=20, filter={"repository": "acme/rocket"})
    assert bulk_jobs.BULK_JOBS.sweep(30) == []
    BulkJob.objects.update(worked_at=timezone.now() - timedelta(seconds=31))
    assert bulk_jobs.BULK_JOBS.sweep(30) == [BulkJob.objects.get().pk]
    bulk_jobs.work(BulkJob.objects.get().pk)
    assert bulk_jobs.BULK_JOBS.sweep(0) == []


def test_pages_show_how_far_a_job_is_until_it_is_done(study: Study, large: None) -> None:
    client, seat = Client(), make.owner_seat(study)
    client.force_login(make.user("olga"))
    part = {"HX-Request": "true", "HX-Target": "bulk-job"}
    sample = sample_actions.draw_sample(seat=seat, size=20, filter={"repository": "acme/rocket"})
    page = f"/studies/study/sample/?sample={sample.pk}"
    assert b'<progress class="progress" value="0" max="20"' in client.get(page).content
    assert "HX-Refresh" not in client.get(page, headers=part).headers
    work()
    assert client.get(page, headers=part).headers["HX-Refresh"] == "true"
    assert b"bulk-job" not in client.get(page).content
    form = {"sample": sample.pk, "raters": ["R1", "R2"], "raters_per_item": 2, "mode": "planned", "seed": 1}
    form |= {"kind": "main", "source": "sample", "n_items": 20, "double_percent": 100, "taxonomy_version": 1}
    made = client.post("/studies/study/rounds/new/", form, follow=True)
    assert b"Round 1 is being prepared." in made.content and b'max="20"' in made.content, made.content
    assert b"Open round 1" not in made.content
    work()
    assert b"Open anyway" in client.get("/studies/study/rounds/1/").content
    opening = client.post("/studies/study/rounds/1/open/", {"unregistered": "1"}, follow=True)
    assert b'max="40"' in opening.content and b"is open;" not in opening.content
    work()
    assert client.get("/studies/study/rounds/1/", headers=part).headers["HX-Refresh"] == "true"


def test_named_issues_are_looked_up_in_one_statement(study: Study) -> None:
    def n_queries(numbers: range) -> int:
        with CaptureQueriesContext(
            connection,
        ) as captured:
            rounds.create_round(
                seat=make.owner_seat(study),
                asked=rounds.NewRound(raters=["bob", "carol"], issues=[f"Acme/Rocket#{number}" for number in numbers]),
            )
        return len(captured)

    assert n_queries(range(1, 3)) == n_queries(range(10, 40))
    assert list(Item.objects.order_by("pk").values_list("identifier", flat=True)[:2]) == [
        "acme/rocket#1",
        "acme/rocket#2",
    ]


def test_whoever_writes_many_rows_analyzes_their_tables(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("annotation.core.database_planner.TOLD_FROM", 10)
    seat = make.owner_seat(study)
    with CaptureQueriesContext(connection) as captured:
        sample = sample_actions.draw_sample(seat=seat, size=20, filter={"repository": "acme/rocket"})
        number = rounds.create_round(seat=seat, asked=rounds.NewRound(sample=sample.pk, raters=["bob", "carol"])).number
        rounds.open_round(seat=seat, number=number, unregistered=True)
    analyzed = " ".join(each["sql"] for each in captured if each["sql"].startswith("ANALYZE annotation"))
    for table in ("sample", "sampleissue", "item", "rounditem", "assignment", "roundrater", "membership", "round,"):
        assert f"annotation_{table}" in analyzed, table
