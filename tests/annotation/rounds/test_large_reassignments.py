"""Large reassignments: a job moves the items of a rater who leaves, and gives items to one who comes, in batches."""

from typing import Any

import pytest
from django.test import Client

from annotation.assignments import queries as assignment_queries
from annotation.assignments.queries import leaving
from annotation.choosing.actions import batches
from annotation.members.actions import members
from annotation.models import Assignment, AuditEvent, BulkJob, InboxLine, Round, RoundRater, Study
from annotation.rounds.actions import raters as rater_actions
from annotation.rounds.actions.rounds import NewRound, close_round, create_round, open_round
from annotation.rounds.jobs import BULK_JOBS
from tests import builders as make
from tests.annotation.rounds.test_raters_of_open_rounds import answer_all, exactly_n, held, n_free, row_of
from tests.scripts import Script

pytestmark = pytest.mark.django_db
FOUR = ("bob", "carol", "dan", "eve")
PLACE = "studies/study/rounds/1/"


@pytest.fixture(autouse=True)
def large(monkeypatch: pytest.MonkeyPatch) -> None:
    """From six items on a job moves them, four at a time."""
    monkeypatch.setattr(assignment_queries, "JOB_FROM", 5)
    monkeypatch.setattr(batches, "BATCH_OF_OPEN", 4)


def send(method: str, path: str, body: Any = None, user: str = "olga") -> tuple[int, Any]:
    answer = Script(user).send(method, PLACE + path, body)
    return answer.status_code, answer.json()


def work() -> BulkJob:
    """Does the job that waits by workers that hand over after each batch."""
    job = BulkJob.objects.get(state="queued")
    while BULK_JOBS.work(job.pk, turn_seconds=0):
        job.refresh_from_db()
        assert job.is_at_work and 0 < job.n_done <= job.n_total
    job.refresh_from_db()
    return job


def test_over_rest_a_job_reassigns_the_many_items_of_a_rater_who_leaves_while_the_others_label() -> None:
    study = make.study(raters=FOUR)
    round_ = make.open_round(study, 24, raters=FOUR, raters_per_item=2)
    assert answer_all(study, "bob", most=2) == 2
    n = held(round_, "bob") - 2
    assert send("GET", "raters/R1/withdraw/")[1] == {"rater": "R1", "withdrawn": n, "given": None, "waiting": None}
    status, row = send("POST", "raters/R1/withdraw/")
    assert status == 202 and row == {"id": row["id"], "state": "queued", "done": 0, "total": n}
    for method, path, body in (
        ("POST", "raters/R1/withdraw/", None),
        ("POST", "raters/", {"user": "eve"}),
        ("PATCH", "raters/R2/", {"quota": 20}),
        ("POST", "resolve/", {"withdraw": True}),
    ):
        refused = send(method, path, body)
        assert (refused[0], refused[1]["code"]) == (409, "preparing"), path
        assert refused[1]["message"].startswith(f"Items of round 1 are being reassigned: 0 of {n} are done.")
    shown = send("GET", "")[1]
    assert (shown["state"], shown["job"], shown["left"]) == ("open", row, [])
    assert answer_all(study, "carol", most=1) == 1 and answer_all(study, "bob", most=1) == 1
    moves = {each.item_id: to for each, to in leaving(round_, row_of(round_, "bob"), for_job=True).moves}
    job = work()
    assert (job.state, job.error, send("GET", "")[1]["job"], send("GET", "")[1]["left"]) == ("done", "", None, ["R1"])
    exactly_n(round_)
    own = Assignment.objects.filter(round=round_, rater__code="R1")
    assert set(own.values_list("state", flat=True)) == {"submitted", "withdrawn"} and held(round_, "bob") == 3
    given = dict.fromkeys(("R2", "R3", "R4"), 0)
    for item in own.filter(state="withdrawn").values_list("item", flat=True):
        to = moves[item]
        assert to is not None and Assignment.objects.get(round=round_, item=item, rater=to).state == "waiting"
        given[str(to.code)] += 1
    (event,) = AuditEvent.objects.filter(verb="rater withdrawn")
    assert event.detail == {"round": 1, "rater": "R1", "withdrawn": n - 1, "given": given, "waiting": 0}
    assert event.user == make.user("olga")
    assert dict(InboxLine.objects.filter(kind="given").values_list("member__code", "n_items")) == given
    left = row_of(round_, "bob")
    assert left.left_at and (left.n_assigned, left.n_finished) == (3, 3)


def test_jobs_give_waiting_items_to_raters_who_come_and_all_to_a_model_rater() -> None:
    study = make.study(raters=(*FOUR, "llm"))
    members.add_member(
        seat=make.owner_seat(study), username="llm", roles=["rater"], kind="machine", machine={"name": "m"}
    )
    round_ = make.open_round(study, 24, raters=FOUR[:2], raters_per_item=2)
    send("POST", "raters/R1/withdraw/")
    assert work().state == "done" and n_free(round_) == 24
    for user, quota, n in (("dan", 10, 10), ("eve", None, 14)):
        status, row = send("POST", "raters/", {"user": user, "quota": quota})
        assert (status, row["total"]) == (202, n)
        assert work().state == "done" and held(round_, user) == n == row_of(round_, user).n_assigned
        assert InboxLine.objects.get(member__user__username=user, kind="round").n_items == n
    assert n_free(round_) == 0
    exactly_n(round_)
    rater_actions.withdraw_rater(seat=make.owner_seat(study), number=1, rater="R4")
    assert work().state == "done" and n_free(round_) == 14  # carol has them all, and dan is at his quota
    status, row = send("PATCH", "raters/R3/", {"quota": 13})
    assert (status, row["n_assigned"]) == (200, 13)
    status, row = send("POST", "raters/", {"user": "llm"})
    assert (status, row["total"]) == (202, 24)
    assert work().state == "done"
    own = Assignment.objects.filter(round=round_, rater__kind="machine", slot__isnull=True, state="waiting")
    assert sorted(own.values_list("position", flat=True)) == list(range(1, 25)) and own.count() == 24
    verbs = ("rater added", "quota changed")
    rows = AuditEvent.objects.filter(verb__in=verbs).order_by("pk").values_list("detail__rater", "detail__given")
    assert list(rows) == [("R3", 10), ("R4", 14), ("R3", 3), ("R5", 24)]


def test_who_leaves_a_study_is_withdrawn_from_all_its_large_rounds_by_one_job() -> None:
    study = make.study(raters=FOUR)
    found = [make.open_round(study, 12, raters=FOUR[:3], raters_per_item=2) for _ in range(2)]
    client = Client()
    client.force_login(make.user("bob"))
    n = sum(held(each, "bob") for each in found)
    assert b"A job reassigns" in client.get("/studies/study/leave/").content
    assert client.post("/studies/study/leave/").status_code == 302
    assert BulkJob.objects.get().n_total == n and row_of_code(found[1], "R1").left_at is None
    assert work().state == "done"
    for each in found:
        assert row_of_code(each, "R1").left_at
        exactly_n(each)
    assert [each.detail["round"] for each in AuditEvent.objects.filter(verb="rater withdrawn").order_by("pk")] == [1, 2]


@pytest.mark.parametrize(("n_queued", "n_again"), [(2, 3), (2, 1)])
def test_the_job_of_who_leaves_names_and_counts_no_queue_that_is_withheld(
    n_queued: int, n_again: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Carol, an owner, labels the items of queue 2 again in round 3, as bob does, whom she removes."""
    monkeypatch.setattr(assignment_queries, "JOB_FROM", 1)
    study = make.study(raters=("bob", "carol"))
    members.add_member(seat=make.owner_seat(study), username="carol", roles=["owner", "rater"])
    make.rate(make.open_round(study, 3, raters=("bob",), raters_per_item=1), "item bob\n1 hang\n2 hang\n3 hang")
    close_round(seat=make.owner_seat(study), number=1)
    make.next_version(study, make.HANG_SPLIT)
    table = "\n".join(f"{number} symptom bob" for number in range(1, n_queued + 1))
    queue = make.worklist(study, 2, f"item asked raters\n{table}")
    issues = [f"acme/rocket#{number}" for number in (1, 2, 3)]
    asked = NewRound(raters=["bob", "carol"], issues=issues, raters_per_item=2)
    again = create_round(seat=make.owner_seat(study), asked=asked)
    with make.queues_aside(study):
        open_round(seat=make.owner_seat(study), number=again.number, reason="-", unregistered=True)
    for number in range(n_again + 1, 4):
        make.submit(again, "bob", number, {"symptom": ["hang-a"]})
    member, carol = make.member(study, "bob"), Client()
    carol.force_login(make.user("carol"))
    assert carol.post(f"/studies/study/members/{member.pk}/remove/").status_code == 302
    refused = Script("carol").send("POST", "studies/study/rounds/", {"issues": issues, "raters": ["carol"]})
    shown = Script("carol").send("GET", "studies/study/rounds/3/").json()["job"]
    said = "Items of round 3 are being reassigned: 0 of 3 are done."
    if n_again == 1:
        said = "Items of a rater who leaves are being reassigned."
    assert (shown and shown["total"]) == (None if n_again == 1 else 3)
    assert (refused.status_code, refused.json()["message"]) == (409, f"{said} Wait until all are done.")
    assert work().state == "done" and row_of_code(queue, "R1").left_at
    queue.refresh_from_db()
    assert queue.state == Round.State.OPEN


def row_of_code(round_: Round, code: str) -> RoundRater:
    return RoundRater.objects.get(round=round_, rater__code=code)


def test_a_job_that_failed_halfway_is_seen_and_goes_on_when_it_is_asked_for_again(study: Study) -> None:
    owner = Client()
    owner.force_login(make.user("olga"))
    round_ = make.open_round(study, 12, raters=FOUR[:2], raters_per_item=2)
    page, part = "/studies/study/rounds/1/", {"HX-Request": "true", "HX-Target": "bulk-job"}
    assert owner.post(f"{page}raters/R1/withdraw/").status_code == 302
    for code, doing, failed, again in (
        ("R1", "Reassigning the items of R1", "Not all items of R1 were reassigned", f"{page}raters/R1/withdraw/"),
        ("R3", "Assigning items to R3", "Not all items were assigned to R3", f"{page}raters/add/"),
    ):
        job = BulkJob.objects.get(state="queued")
        BulkJob.objects.filter(pk=job.pk).update(state="running")
        shown = owner.get(page).content.decode()
        assert doing in shown and ">open<" in shown
        BulkJob.objects.filter(pk=job.pk).update(state="queued")
        assert BULK_JOBS.work(job.pk, turn_seconds=0)
        assert b'value="4" max="12"' in owner.get(page, headers=part).content
        BULK_JOBS.end_over_limit(job.pk)
        shown = owner.get(page).content.decode()
        assert failed in shown and "longer than 15 minutes" in shown and again in shown
        assert owner.post(again, {"user": code}).status_code == 302
        job = BulkJob.objects.get(state="queued")
        assert job.n_total == 8
        assert work().state == "done" and b"bulk-job" not in owner.get(page).content
        if code == "R1":
            assert n_free(round_) == 12
            assert owner.post(f"{page}raters/add/", {"user": "dan", "quota": ""}).status_code == 302
    assert held(round_, "dan") == 12 and AuditEvent.objects.get(verb="rater added").detail["given"] == 12
    exactly_n(round_)
    assert answer_all(study, "carol") == 12 and answer_all(study, "dan") == 12
    assert Round.objects.get().state == "resolving"


@pytest.fixture
def study() -> Study:
    return make.study(raters=FOUR)
