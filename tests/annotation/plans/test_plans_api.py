"""Plans over REST: the statuses and shapes of the contract, and who may do what."""

from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from annotation.members.actions.members import add_member
from annotation.models import Plan, Study
from annotation.plans import jobs as plan_jobs
from tests import builders as make
from tests.annotation.plans.test_plans import SECOND, TABLE
from tests.asserts import assert_queries
from tests.scripts import Script

pytestmark = pytest.mark.django_db
PLANS = "studies/study/plans/"


def build_study() -> Study:
    made = make.study()
    make.rate(make.open_round(made, 5), TABLE)
    make.next_version(made, SECOND)
    return made


def test_a_plan_is_previewed_run_and_undone(study: Study) -> None:
    olga = Script("olga")
    made = olga.send("POST", PLANS, {"to": 2})
    plan = made.json()
    assert (made.status_code, plan["state"], plan["from"], plan["to"]) == (201, "previewed", 1, 2)
    assert plan["labels"]["following"] == 5 and plan["worklist"]["items"] == 3
    assert plan["why_not_run"] is None and plan["why_not_undo"]
    run = olga.send("POST", f"{PLANS}{plan['id']}/run/", {})
    assert (run.status_code, run.json()["state"]) == (202, "queued")
    assert olga.send("POST", f"{PLANS}{plan['id']}/run/", {}).status_code == 202
    plan_jobs.work(int(plan["id"]))
    done = olga.send("GET", f"{PLANS}{plan['id']}/").json()
    assert (done["state"], done["worklist"]["round"], done["why_not_undo"]) == ("done", 2, None)
    assert olga.refused("POST", f"{PLANS}{plan['id']}/run/", {}, 409) == {}
    undone = olga.send("POST", f"{PLANS}{plan['id']}/undo/", {})
    assert (undone.status_code, undone.json()["state"]) == (200, "undone")
    assert olga.refused("POST", f"{PLANS}{plan['id']}/undo/", {}, 409) == {}
    listed = olga.send("GET", PLANS).json()
    assert [(each["number"], each["state"]) for each in listed["results"]] == [(1, "undone")]


@pytest.mark.parametrize("state", [Plan.State.DONE, Plan.State.UNDONE])
def test_a_plan_that_gave_nothing_out_names_no_items_once_it_is_over(study: Study, state: str) -> None:
    """Which would be asked follows from single answers, which readers don't read while a round is resolved."""
    olga = Script("olga")
    place = f"{PLANS}{olga.send('POST', PLANS, {'to': 2}).json()['id']}/"
    Plan.objects.update(state=state)
    for path in ("items/", "items/?why=split"):
        assert olga.send("GET", place + path).json() == {"results": [], "next": None}
    page = Client()
    page.force_login(make.user("olga"))
    assert "acme/rocket#3" not in page.get("/studies/study/plans/1/items/?why=split").content.decode()


def test_the_items_of_a_plan_are_told_before_and_after_it_ran(study: Study) -> None:
    olga = Script("olga")
    place = f"{PLANS}{olga.send('POST', PLANS, {'to': 2}).json()['id']}/"
    before = olga.send("GET", f"{place}items/?page_size=2").json()
    assert [each["item"] for each in before["results"]] == ["acme/rocket#2", "acme/rocket#3"]
    assert before["results"][1]["reasons"] == [
        {"why": "split", "dimension": "symptom", "category": "Hang", "raters": ["R1"]}
    ]
    rest = olga.client.get(before["next"], headers=olga.headers).json()
    assert [each["item"] for each in rest["results"]] == ["acme/rocket#4"] and rest["next"] is None
    split = olga.send("GET", f"{place}items/?page_size=1&why=split").json()
    assert split["next"].endswith("&page_size=1&why=split")
    assert "why" in olga.refused("GET", f"{place}items/?why=%00", None, 422)
    olga.send("POST", f"{place}run/", {})
    plan_jobs.work(Plan.objects.get().pk)
    after = olga.send("GET", f"{place}items/").json()["results"]
    assert after[0] == {"item": "acme/rocket#2", "asked": [[1, "symptom"]]}


def test_an_owner_who_labels_in_an_open_round_reads_no_values_of_others_behind_a_plan(study: Study) -> None:
    olga = Script("olga")
    place = f"{PLANS}{olga.send('POST', PLANS, {'to': 2}).json()['id']}/"
    add_member(seat=make.owner_seat(study), username="olga", roles=["owner", "rater"])
    make.open_round(study, 1, raters=["olga", "bob"], first=9)
    told = [reason for each in olga.send("GET", f"{place}items/").json()["results"] for reason in each["reasons"]]
    assert told and {(reason["category"], *reason["raters"]) for reason in told} == {(None,)}


def test_who_may_do_what_with_plans(study: Study) -> None:
    place = f"{PLANS}{Script('olga').send('POST', PLANS, {'to': 2}).json()['id']}/"
    make.study("other", text=make.FAULTS, owner="otto", raters=("oscar",))
    ways: list[tuple[str, str, Any]] = [
        ("GET", PLANS, None),
        ("GET", place, None),
        ("GET", f"{place}items/", None),
        ("POST", PLANS, {"to": 2}),
        ("POST", f"{place}run/", {}),
        ("POST", f"{place}undo/", {}),
    ]
    expected = {
        "ada": [200, 200, 200, 403, 403, 403],
        "rea": [200, 200, 403, 403, 403, 403],  # while round 1 is resolved
        "bob": [200, 200, 403, 403, 403, 403],
        "oscar": [404] * 6,
    }
    for name, statuses in expected.items():
        script = Script(name)
        assert [script.send(method, path, body).status_code for method, path, body in ways] == statuses, name
    anonymous = Script("olga")
    anonymous.headers = {}
    assert {anonymous.send(method, path, body).status_code for method, path, body in ways} == {401}


@pytest.mark.parametrize("wrong", ["0", "999999999", "x", "9" * 30])
def test_a_plan_that_is_not_there_is_404(study: Study, wrong: str) -> None:
    olga = Script("olga")
    for method, path in (("GET", ""), ("GET", "items/"), ("POST", "run/"), ("POST", "undo/")):
        assert olga.send(method, f"{PLANS}{wrong}/{path}", {}).status_code == 404


def test_what_can_not_be_asked_is_422_or_409_with_the_field(study: Study) -> None:
    olga = Script("olga")
    for body in ({}, {"to": "2"}, {"to": 9}, {"to": None}):
        assert list(olga.refused("POST", PLANS, body)) == ["to"]
    for recheck in (["x"], [["symptom", "nothing"]], [[1, 2]], "symptom"):
        assert list(olga.refused("POST", PLANS, {"to": 2, "recheck": recheck})) == ["recheck"]
    plan = olga.send("POST", PLANS, {"to": 2}).json()["id"]
    assert list(olga.refused("POST", f"{PLANS}{plan}/run/", {"stand_ins": ["nobody"]})) == ["stand_ins"]
    assert olga.refused("POST", PLANS, {"to": 1}, 409) == {}


def test_reading_a_preview_writes_nothing_and_makes_no_table(study: Study) -> None:
    olga, browser = Script("olga"), Client()
    browser.force_login(make.user("olga"))
    made = olga.send("POST", PLANS, {"to": 2}).json()
    page = f"/studies/study/plans/{made['number']}/"
    with CaptureQueriesContext(connection) as asked:
        for place in ("", "items/"):
            assert olga.send("GET", f"{PLANS}{made['id']}/{place}").status_code == 200
            assert browser.get(page + place).status_code == 200
    statements = [" ".join(each["sql"].split()[:3]) for each in asked]
    wrote = [each for each in statements if each.startswith(("CREATE", "DROP", "ANALYZE", "INSERT", "UPDATE"))]
    assert [each for each in wrote if "accounts_" not in each] == []


def test_the_queries_of_a_preview_do_not_grow_with_the_labels(study: Study) -> None:
    olga = Script("olga")
    place = f"{PLANS}{olga.send('POST', PLANS, {'to': 2}).json()['id']}/"
    olga.send("GET", place)
    with assert_queries(24):
        olga.send("GET", place)
    more = make.open_round(study, 20, first=10, taxonomy_version=1)
    make.rate(more, "item bob carol\n" + "\n".join(f"{n} hang crash" for n in range(10, 30)))
    with assert_queries(32):  # eight for the agreed labels of each round
        olga.send("GET", place)
