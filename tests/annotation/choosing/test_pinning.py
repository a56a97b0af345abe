"""Raters read pinned states; show changes is shown without anybody's answer, and only the owner moves on."""

import json
import re
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from annotation.choosing.actions import batches, pinning
from annotation.choosing.actions.items import items_for
from annotation.choosing.queries import changes as queries
from annotation.core.access import get_item, get_round
from annotation.core.errors import Forbidden, Invalid, Stale
from annotation.members.actions.members import add_member
from annotation.models import Annotation, AuditEvent, BulkJob, Item, Rating, Round, Study
from annotation.resolving.actions.third_rater_requests import ask_third_rater
from annotation.rounds.actions import rounds
from annotation.rounds.jobs import BULK_JOBS
from ingest import run_steps
from ingest.actions.fetches import start_fetch
from ingest.models import ClosingChange, FetchRun, Issue, Snapshot
from ingest.queries import closing_changes
from tests import builders as make
from tests.annotation.core.test_api import Caller
from tests.asserts import assert_queries
from tests.github import World
from tests.github.world import File

pytestmark = pytest.mark.django_db
CHANGES = "/studies/study/changes/"


def visitor(name: str) -> Client:
    client = Client()
    client.force_login(make.user(name))
    return client


def build_study() -> Study:
    return make.study()


@pytest.fixture
def round_(study: Study) -> Round:
    return make.open_round(study)


def item(study: Study, number: int) -> Item:
    return get_item(make.owner_seat(study), f"acme/rocket#{number}")


def pinned(study: Study, number: int) -> Snapshot:
    found = Snapshot.objects.get(pk=Item.objects.values_list("snapshot_id", flat=True).get(pk=item(study, number).pk))
    return found


def words(study: Study) -> dict[str, list[str]]:
    seat = make.owner_seat(study)
    lines = queries.change_lines(seat, list(queries.for_list(queries.changed_items(seat)).order_by("pk")))
    return {line.item.identifier: list(line.words) for line in lines}


def open_page(name: str, round_: Round, number: int) -> Any:
    pk = make.assignment(round_, name, number).public_id
    return visitor(name).get(f"/studies/study/rounds/{round_.number}/label/{pk}/")


def turn(response: Any) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(
        re.search(r'<script id="turn"[^>]*>(.*?)</script>', response.content.decode())[1]
    )  # type: ignore[index]
    return found


def submit_page(name: str, round_: Round, number: int, **body: Any) -> Any:
    pk = make.assignment(round_, name, number).public_id
    address = f"/studies/study/rounds/{round_.number}/label/{pk}/"
    return visitor(name).post(
        address, json.dumps(body), content_type="application/json", headers={"HX-Request": "true"}
    )


def test_an_issue_is_pinned_when_it_becomes_an_item_and_a_fetch_does_not_move_it(study: Study) -> None:
    make.issues(1)
    before = make.new_state(1, title="As it was drawn")
    round_ = make.open_round(study, 1)
    make.new_state(1, title="As it is now", body="Solved.")
    assert pinned(study, 1) == before
    make.open_round(study, 1)  # an item keeps its pin when it comes into another round
    assert pinned(study, 1) == before
    text = open_page("bob", round_, 1).content.decode()
    assert "As it was drawn" in text and "As it is now" not in text
    issue = Caller("carol", "rate").get("studies/study/rounds/1/next/").json()["issue"]
    assert (issue["title"], issue["snapshot"]) == ("As it was drawn", before.sha256)


def test_what_is_looked_ahead_at_is_the_pinned_state(study: Study) -> None:
    for mode in ("planned", "pool"):
        make.open_round(study, 2, mode=mode, first=1 if mode == "planned" else 11)
    for number in (1, 2, 11, 12):
        make.new_state(number, title="As it is now")
    for number in (1, 2):
        first = Caller("bob", "rate").get(f"studies/study/rounds/{number}/next/").json()
        ahead = Caller("bob", "rate").get(f"studies/study/rounds/{number}/next/?after={first['assignment']}").json()
        assert "Issue" in ahead["issue"]["title"]


def test_an_imported_identifier_is_pinned_when_its_issue_comes_in(study: Study) -> None:
    found = Item.objects.create(study=study, identifier="acme/rocket#7")
    made = make.issues(1, first=7)
    assert items_for(make.owner_seat(study), Issue.objects.select_related("repository").filter(pk=made[0].pk)) == [
        found
    ]
    assert pinned(study, 7).pk == made[0].current_snapshot_id


def test_an_answer_carries_the_state_that_was_on_the_screen(study: Study, round_: Round) -> None:
    on_screen = turn(open_page("bob", round_, 1))["snapshot"]
    new = make.new_state(1, body="Solved.")
    pinning.repin_item(seat=make.owner_seat(study), item=item(study, 1))
    assert submit_page("bob", round_, 1, labels={"symptom": ["crash"]}, snapshot=on_screen).status_code == 200
    assert submit_page("carol", round_, 1, labels={"symptom": ["crash"]}).status_code == 200
    made = {each.rater.code: each.snapshot for each in Annotation.objects.select_related("rater", "snapshot")}
    assert made["R1"] is not None and (made["R1"].sha256, made["R2"]) == (on_screen, new)


def test_the_same_answer_on_a_newer_state_is_a_revision(study: Study, round_: Round) -> None:
    make.submit(round_, "bob", 1, {"symptom": ["crash"]})
    new = make.new_state(1, body="Solved.")
    pinning.repin_item(seat=make.owner_seat(study), item=item(study, 1))
    on_screen = turn(open_page("bob", round_, 1))["snapshot"]
    assert on_screen == new.sha256
    submit_page("bob", round_, 1, labels={"symptom": ["crash"]}, snapshot=on_screen)
    assert list(Annotation.objects.order_by("revision").values_list("revision", "snapshot__sha256"))[-1] == (
        2,
        new.sha256,
    )


@pytest.mark.parametrize("named", ["0" * 64, "", 7, ["x"], "\x00"])
def test_a_state_that_is_none_of_the_issue_is_refused_and_nothing_is_stored(round_: Round, named: object) -> None:
    body = {
        "assignment": make.assignment(round_, "bob", 1).public_id,
        "labels": {"symptom": ["crash"]},
        "snapshot": named,
    }
    answer = Caller("bob", "rate").post("studies/study/annotations/", body)
    assert answer.status_code == 422 and not Annotation.objects.exists()


def test_the_state_of_another_issue_is_refused(study: Study, round_: Round) -> None:
    assert (
        submit_page("bob", round_, 1, labels={"symptom": ["crash"]}, snapshot=pinned(study, 2).sha256).status_code
        == 422
    )


def test_an_item_is_listed_when_its_issue_has_a_newer_state_and_says_what_changed(study: Study, round_: Round) -> None:
    assert words(study) == {}
    make.new_state(1, [(1, "ann", "Same here."), (2, "bea", "Try main.")], title="Hangs", state="closed")
    make.new_state(
        1, [(1, "ann", "Same here!"), (3, "cid", "Thanks."), (5, "eve", "+1")], title="Hangs", state="closed"
    )
    make.new_state(3, body="More.", github_labels=["bug", "p1"], state="open")
    assert words(study) == {
        "acme/rocket#1": ["title", "closed", "3 comments added"],
        "acme/rocket#3": ["body", "open", "labels"],
    }
    pinning.repin_items(seat=make.owner_seat(study), items=["acme/rocket#1"])
    make.new_state(
        1, [(1, "ann", "Same here, still."), (5, "eve", "+1"), (4, "dan", "New.")], title="Hangs", state="closed"
    )
    assert words(study)["acme/rocket#1"] == ["1 comment added", "1 comment edited", "1 comment removed"]
    detail = queries.item_change(make.owner_seat(study), item(study, 1)).difference
    assert detail is not None and list(detail.words) == words(study)["acme/rocket#1"]


def test_an_item_that_is_gone_stays_readable_and_is_listed(study: Study, round_: Round) -> None:
    Issue.objects.filter(number=2).update(presence="transferred", moved_to="acme/other#9")
    assert words(study) == {"acme/rocket#2": []}
    page = visitor("rea").get(CHANGES).content.decode()
    assert "transferred to another repository" in page and "acme/other#9" in page
    assert "Issue 2 of rocket" in open_page("bob", round_, 2).content.decode()


def test_an_item_with_answers_on_another_state_stays_listed_after_re_pinning(study: Study, round_: Round) -> None:
    make.submit(round_, "bob", 1, {"symptom": ["crash"]})
    old, new = pinned(study, 1), make.new_state(1, body="Solved.")
    assert pinning.repin_items(seat=make.owner_seat(study), everything=True) == 1
    assert words(study) == {"acme/rocket#1": []}
    page = visitor("olga").get(f"/studies/study/items/{item(study, 1).pk}/changes/").content.decode()
    assert "Solved." in page and "Use the latest snapshot" not in page
    assert Annotation.objects.get().snapshot == old and pinned(study, 1) == new
    told = open_page("bob", round_, 1).content.decode()
    assert "another snapshot" in told and "Solved." in told
    make.submit(round_, "bob", 1, {"symptom": ["hang"]})
    assert words(study) == {}


def test_re_pinning_touches_no_annotation_and_leaves_one_line_in_the_audit(study: Study, round_: Round) -> None:
    make.rate(round_, "item bob\n1 crash\n2 hang")
    before = list(Annotation.objects.order_by("pk").values()), list(Rating.objects.order_by("pk").values())
    for number in (1, 2, 3):
        make.new_state(number, body="Solved.")
    events = AuditEvent.objects.filter(study=study).count()
    assert pinning.repin_items(seat=make.owner_seat(study), everything=True) == 3
    assert before == (list(Annotation.objects.order_by("pk").values()), list(Rating.objects.order_by("pk").values()))
    assert AuditEvent.objects.filter(study=study).count() == events + 1
    event = AuditEvent.objects.filter(study=study).first()
    assert event is not None and (event.verb, event.detail["n"], len(event.detail["states"])) == (
        "items re-pinned",
        3,
        3,
    )
    assert pinning.repin_items(seat=make.owner_seat(study), everything=True) == 0
    assert AuditEvent.objects.filter(study=study).count() == events + 1


def test_re_pinning_goes_in_batches(study: Study, round_: Round, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "BATCH", 2)
    for number in (1, 2, 3):
        make.new_state(number, body="Solved.")
    assert pinning.repin_items(seat=make.owner_seat(study), everything=True) == 3
    assert queries.counted_changes(make.owner_seat(study))[1].n_new_states == 0


def test_a_job_re_pins_many_items_and_pages_and_rest_show_how_far_it_is(
    study: Study, round_: Round, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batches, "BATCH", 1)
    monkeypatch.setattr(batches, "JOB_FROM", 2)
    for number in (1, 2, 3):
        make.new_state(number, body="Solved.")
    owner, olga, part = visitor("olga"), Caller("olga"), {"HX-Request": "true", "HX-Target": "bulk-job"}
    place = "studies/study/changes/repin/"
    assert owner.post(f"{CHANGES}repin/", follow=True).content.count(b'value="0" max="3"') == 1
    refused = olga.post(place, {"all": True})
    assert (refused.status_code, refused.json()["code"]) == (409, "preparing")
    job = BulkJob.objects.get()
    assert BULK_JOBS.work(job.pk, turn_seconds=0)
    assert olga.get(place).json() == {"job": {"id": job.public_id, "state": "queued", "done": 1, "total": 3}}
    assert olga.get("studies/study/updates/").json()["results"][0]["item"] == "acme/rocket#2"
    BULK_JOBS.end_over_limit(job.pk)
    page = owner.get(CHANGES, headers=part)
    assert page.headers["HX-Refresh"] and b"Not all items were pinned" in page.content and b"15 minutes" in page.content
    assert "bulk-job" not in visitor("ada").get(CHANGES).content.decode()
    monkeypatch.setattr(batches, "JOB_FROM", 1)
    again = olga.post(place, {"all": True})
    assert (again.status_code, again.json()["total"]) == (202, 2)
    while BULK_JOBS.work(BulkJob.objects.get(state="queued").pk, turn_seconds=0):
        pass
    assert (
        olga.get(place).json() == {"job": None} and queries.counted_changes(make.owner_seat(study))[1].n_new_states == 0
    )
    assert Caller("bob").get(place).status_code == 403
    lines = AuditEvent.objects.filter(verb="items re-pinned").order_by("pk")
    assert [(line.detail["n"], len(line.detail["states"]), line.user) for line in lines] == [
        (1, 1, make.user("olga")),  # what the job had moved on when its time was over
        (2, 2, make.user("olga")),
    ]


def test_an_owner_who_looked_at_an_older_difference_is_told(study: Study, round_: Round) -> None:
    seen = make.new_state(1, body="Solved.")
    make.new_state(1, body="Not solved.")
    with pytest.raises(Stale):
        pinning.repin_item(seat=make.owner_seat(study), item=item(study, 1), seen=seen.sha256)
    address = f"/studies/study/items/{item(study, 1).pk}/changes/"
    answer = visitor("olga").post(address, {"seen": seen.sha256})
    assert answer.status_code == 409 and "changed again" in answer.content.decode()
    assert queries.counted_changes(make.owner_seat(study))[1].n_new_states == 1


@pytest.mark.parametrize("name", ["bob", "ada", "rea"])
def test_only_the_owner_moves_on_and_asks_github(study: Study, round_: Round, name: str) -> None:
    make.new_state(1, body="Solved.")
    seat = make.seat(study, name)
    for call in (
        lambda: pinning.repin_item(seat=seat, item=item(study, 1)),
        lambda: pinning.repin_items(seat=seat, everything=True),
        lambda: pinning.ask_github(seat=seat, what="presence"),
    ):
        with pytest.raises(Forbidden):
            call()
    assert queries.counted_changes(make.owner_seat(study))[1].n_new_states == 1 and not FetchRun.objects.exists()


LADDER = [("olga", 200), ("ada", 200), ("bob", 200), ("rea", 200), ("mallory", 404)]


@pytest.mark.parametrize(("name", "status"), LADDER)
def test_members_read_what_changed_and_nobody_else(study: Study, round_: Round, name: str, status: int) -> None:
    make.study("other", text=make.FAULTS, raters=("mallory", "trudy"))
    make.new_state(1, body="Solved.")
    client, address = visitor(name), f"/studies/study/items/{item(study, 1).pk}/changes/"
    assert client.get(CHANGES).status_code == status
    assert client.get(address).status_code == status
    expected = {"olga": 302, "mallory": 404}.get(name, 403)
    assert client.post(address).status_code == expected
    assert client.post(CHANGES + "repin/").status_code == expected
    assert client.post(CHANGES + "check/", {"what": "presence"}).status_code == expected
    caller = Caller(name)
    assert caller.get("studies/study/updates/").status_code == status
    assert caller.post("studies/study/changes/repin/", {"all": True}).status_code == (
        200 if name == "olga" else expected
    )
    assert caller.post("studies/study/changes/check/", {"what": "presence"}).status_code == (
        202 if name == "olga" else expected
    )


def test_who_is_not_signed_in_sees_nothing(study: Study, round_: Round) -> None:
    assert Client().get(CHANGES).status_code == 302
    assert Client().get("/api/v1/studies/study/updates/").status_code == 401
    assert Client().post("/api/v1/studies/study/changes/repin/", {"all": True}).status_code == 401


def test_what_is_not_there_is_not_found(study: Study, round_: Round) -> None:
    other = make.study("other", text=make.FAULTS, raters=("mallory", "trudy"))
    foreign = Item.objects.create(study=other, identifier="acme/rocket#1")
    client = visitor("olga")
    for pk in (foreign.pk, 10**12):
        assert client.get(f"/studies/study/items/{pk}/changes/").status_code == 404
        assert client.post(f"/studies/study/items/{pk}/changes/").status_code == 404
    plain = Item.objects.create(study=study, identifier="a question")
    assert client.get(f"/studies/study/items/{plain.pk}/changes/").status_code == 404
    assert client.get("/studies/nonsense/changes/").status_code == 404
    address = f"/studies/study/items/{item(study, 1).pk}/changes/"
    assert client.get(address + "?since=nonsense").status_code == 200


def test_a_scope_to_read_moves_nothing_on(study: Study, round_: Round) -> None:
    make.new_state(1, body="Solved.")
    olga = Caller("olga", "read")
    assert olga.get("studies/study/updates/").status_code == 200
    assert olga.post("studies/study/changes/repin/", {"all": True}).status_code == 403
    assert olga.post("studies/study/changes/check/", {"what": "issues"}).status_code == 403


def test_the_pages_of_changes_show_nobodys_answer(study: Study, round_: Round) -> None:
    for number in (1, 2, 3):
        proposal = {"symptom": {"name": "carols-proposal", "memo": "carols-reason"}}
        make.submit(round_, "carol", number, {}, proposals=proposal, memo="carols-memo")
        make.new_state(number, body="Solved.")
    pinning.repin_items(seat=make.owner_seat(study), items=["acme/rocket#1"])
    bob = visitor("bob")
    texts = [bob.get(CHANGES).content.decode(), json.dumps(Caller("bob").get("studies/study/updates/").json())]
    texts += [bob.get(f"/studies/study/items/{item(study, n).pk}/changes/").content.decode() for n in (1, 2, 3)]
    assert not [text for text in texts if "carol" in text or re.search(r"\bR2\b", text)]


def test_changes_over_rest_follow_a_cursor(study: Study, round_: Round) -> None:
    for number in (1, 2, 3):
        make.new_state(number, title=f"New {number}")
    Issue.objects.filter(number=2).update(presence="deleted")
    ada = Caller("ada")
    first = ada.get("studies/study/updates/?page_size=2").json()
    second = ada.client.get(first["next"], headers=ada.headers).json()
    found = first["results"] + second["results"]
    assert [line["item"] for line in found] == [f"acme/rocket#{n}" for n in (1, 2, 3)] and second["next"] is None
    assert found[1] == {
        "item": "acme/rocket#2",
        "presence": "deleted",
        "moved_to": None,
        "pinned": pinned(study, 2).sha256,
        "current": Issue.objects.get(number=2).current_snapshot.sha256,  # type: ignore[union-attr]
        "changed": ["title"],
        "n_answers": 0,
        "n_answers_on_other_states": 0,
    }


def test_items_are_re_pinned_by_name_over_rest(study: Study, round_: Round) -> None:
    for number in (1, 2, 3):
        make.new_state(number, body="Solved.")
    olga = Caller("olga")
    names = {"items": ["acme/rocket#1", "acme/rocket#3"]}
    assert olga.post("studies/study/changes/repin/", names).json() == {"repinned": 2}
    assert olga.post("studies/study/changes/repin/", names).json() == {"repinned": 0}
    assert list(words(study)) == ["acme/rocket#2"]
    assert olga.post("studies/study/changes/repin/", {"all": True}).json() == {"repinned": 1}


@pytest.mark.parametrize(
    "body",
    [{}, {"all": False}, {"all": "yes"}, {"items": []}, {"items": "acme/rocket#1"}, {"items": [1]},
     {"items": ["acme/rocket#1"], "all": True}, {"items": ["acme/rocket#99"]}, {"items": ["\x00"]}],
)  # fmt: skip
def test_what_names_no_items_is_refused(study: Study, round_: Round, body: dict[str, object]) -> None:
    make.new_state(1, body="Solved.")
    answer = Caller("olga").post("studies/study/changes/repin/", body)
    assert answer.status_code == 422
    assert all(name.startswith("items") for name in answer.json()["fields"])
    assert queries.counted_changes(make.owner_seat(study))[1].n_new_states == 1


def test_github_is_asked_once_for_each_repository(study: Study, round_: Round) -> None:
    make.issues(2, "acme/moon")
    rounds.create_round(
        seat=make.owner_seat(study), asked=rounds.NewRound(raters=["bob"], raters_per_item=1, issues=["acme/moon#2"])
    )
    olga = Caller("olga")
    for what in pinning.QUESTIONS:
        answer = olga.post("studies/study/changes/check/", {"what": what})
        assert answer.status_code == 202
        assert sorted(run["repository"] for run in answer.json()["fetches"]) == ["acme/moon", "acme/rocket"]
    asked = {(run.requested["repository"], run.requested.get("what")): run for run in FetchRun.objects.all()}
    assert asked["acme/rocket", "presence"].requested["numbers"] == [1, 2, 3]
    assert asked["acme/moon", "closing_changes"].requested["numbers"] == [2]
    assert AuditEvent.objects.filter(study=study, verb=queries.ASKED).count() == 3
    page = visitor("olga").get(CHANGES).content.decode()
    assert all(run.get_absolute_url() in page for run in asked.values())
    add_member(seat=make.owner_seat(study), username=make.user("odo").username, roles=["owner"])
    for name in ("ada", "odo"):  # a run is shown to who started it, as everywhere
        page = visitor(name).get(CHANGES).content.decode()
        assert not any(run.get_absolute_url() in page for run in asked.values())


def test_a_question_that_can_not_be_asked_is_refused(study: Study) -> None:
    olga = Caller("olga")
    assert olga.post("studies/study/changes/check/", {"what": "weather"}).status_code == 422
    assert olga.post("studies/study/changes/check/", {"what": ["presence"]}).status_code == 422
    assert olga.post("studies/study/changes/check/", {"what": "presence"}).status_code == 422  # no item is an issue
    assert visitor("olga").post(CHANGES + "check/", {"what": "presence"}).status_code == 422
    with pytest.raises(Invalid):
        pinning.ask_github(seat=make.owner_seat(study), what=None)


def test_the_list_takes_the_same_queries_whatever_its_size(study: Study) -> None:
    make.open_round(study, 3)
    make.new_state(1, [(1, "ann", "Same here.")], body="Solved.")
    olga, rest = visitor("olga"), Caller("olga")
    address = f"/studies/study/items/{item(study, 1).pk}/changes/"
    pages = [
        (lambda: olga.get(CHANGES), 14),
        (lambda: rest.get("studies/study/updates/"), 8),
        (lambda: olga.get(address), 15),
    ]
    for page, n in pages:
        page()
        with assert_queries(n):
            assert page().status_code == 200
    more = make.open_round(study, 40, first=101)
    for number in range(101, 141):
        make.submit(more, "bob", number, {"symptom": ["crash"]})
        make.new_state(number, [(number * 10 + n, "ann", f"Comment {n}") for n in range(5)], body="Solved.")
    for page, n in pages:
        with assert_queries(n):
            assert page().status_code == 200


def test_few_changed_items_are_found_by_comparing_all_items_once(study: Study) -> None:
    make.open_round(study, 3)
    make.new_state(1, [], body="Solved.")
    olga = visitor("olga")
    with CaptureQueriesContext(connection) as asked:
        page = olga.get(CHANGES).content.decode()
    assert "acme/rocket#1" in page and "acme/rocket#2" not in page
    assert sum('"presence" = ' in each["sql"] for each in asked) == 1


def test_what_closed_an_issue_is_read_along_and_only_where_it_is_known(study: Study, round_: Round) -> None:
    issue = Issue.objects.get(number=3)
    ClosingChange.objects.create(
        issue=issue, kind="pull_request", identifier="acme/rocket#30", number=30, additions=12, deletions=3, n_files=2
    )
    with assert_queries(0):
        assert closing_changes(issue) == []
    Issue.objects.filter(pk=issue.pk).update(changes_known=True)
    issue.refresh_from_db()
    with assert_queries(1):
        assert [each.number for each in closing_changes(issue)] == [30]


def test_answers_on_another_state_are_marked_where_answers_are_shown(study: Study, round_: Round) -> None:
    make.rate(round_, "item bob carol\n1 crash crash\n2 crash hang\n3 hang hang")
    page, address = visitor("ada"), f"/studies/study/items/{item(study, 1).pk}/"
    disputed = f"/studies/study/rounds/1/resolve/{item(study, 2).pk}/"
    assert "another snapshot" not in page.get(address).content.decode() + page.get(disputed).content.decode()
    for number in (1, 2):
        make.new_state(number, body="Solved.")
    pinning.repin_items(seat=make.owner_seat(study), everything=True)
    assert page.get(address).content.decode().count("read another snapshot") == 2
    assert "The issue has changed since" in page.get(disputed).content.decode()
    make.submit(round_, "bob", 2, {"symptom": ["crash"]}, memo="I looked again.")
    room = page.get(disputed).content.decode()
    assert "Solved." in room and re.search(r"R2</span>\s*read another snapshot", room)


def test_months_later_github_is_asked_and_the_study_says_what_became_of_its_issues(world: World, study: Study) -> None:
    repository = world.repository("acme/rocket")
    for number in range(1, 6):
        repository.issue(f"Issue {number}", f"Hangs at step {number}.")
    run_steps.work(start_fetch(user=make.user("olga"), repository="acme/rocket", send=False).pk)
    numbers = range(1, 6)
    seat = make.owner_seat(study)
    made = rounds.create_round(
        seat=seat, asked=rounds.NewRound(raters=["bob", "carol"], issues=[f"acme/rocket#{n}" for n in numbers])
    )
    rounds.open_round(seat=seat, number=made.number, unregistered=True)

    first, second, third, fourth, _ = list(repository.issues.values())
    first.edit(title="Solved", body="Hangs at step 1, solved.")
    second.comment("Same here.")
    third.delete()
    fourth.transfer(world.repository("acme/moon"))
    pull = repository.pull_request("Fix it", files=[File("a.py", 12, 3)])
    first.close_by(pull)
    for what in pinning.QUESTIONS:
        for run in pinning.ask_github(seat=seat, what=what):
            run_steps.work(run.pk)

    found = Caller("ada").get("studies/study/updates/").json()["results"]
    assert [(line["item"][-1], line["presence"], line["moved_to"], line["changed"]) for line in found] == [
        ("1", "here", None, ["title", "body", "closed"]),
        ("2", "here", None, ["1 comment added"]),
        ("3", "deleted", None, []),
        ("4", "transferred", "acme/moon#1", []),
    ]
    assert "Hangs at step 1." in open_page("bob", made, 1).content.decode()
    assert "solved" not in open_page("bob", made, 1).content.decode()
    assert [each.n_files for each in closing_changes(Issue.objects.get(number=1))] == [1]


def test_changed_items_tell_which_were_asked_about_a_third_time_to_those_who_read_the_answers_alone() -> None:
    study = make.study(raters=("bob", "carol", "dave"))
    round_ = make.open_round(study, 2, raters=("bob", "carol"))
    for name, label in (("bob", "crash"), ("carol", "slow")):
        for number in (1, 2):
            make.submit(round_, name, number, {"symptom": [label]})
    for number in (1, 2):
        make.new_state(number, title="Renamed")
    ada = make.seat(study, "ada")
    second = get_item(ada, "acme/rocket#2")
    ask_third_rater(seat=ada, round_=get_round(ada, 1), item=second, rater="dave")
    make.submit(round_, "dave", 2, {"symptom": ["slow"]})
    make.user("sta", staff=True)

    def told(name: str) -> list[int]:
        return [row["n_answers"] for row in Caller(name).get("studies/study/updates/").json()["results"]]

    assert told("rea") == told("sta") == [2, 2]
    assert told("olga") == told("bob") == told("dave") == [2, 3]
    rounds.close_round(seat=make.owner_seat(study), number=1, leave_open=True)
    assert told("rea") == told("sta") == [2, 3]
