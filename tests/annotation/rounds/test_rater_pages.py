"""Raters of a round over REST and on its pages: quotas, leaving with a preview, coming."""

from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from annotation.assignments.queries import leaving
from annotation.core.access import get_round
from annotation.models import RoundRater
from annotation.rounds.actions import raters as rater_actions
from annotation.rounds.queries import round_lines
from tests import builders as make
from tests.annotation.rounds.test_raters_of_open_rounds import THREE, row_of
from tests.scripts import Script

pytestmark = pytest.mark.django_db


def test_raters_of_a_round_over_rest() -> None:
    study = make.study(raters=THREE)
    make.open_round(study, 6, raters=("bob", "carol"))
    olga = Script("olga")
    path = "studies/study/rounds/1/raters/"
    assert [each["code"] for each in olga.send("GET", path).json()["results"]] == ["R1", "R2"]
    assert olga.send("GET", path).json()["results"][0]["user"] == "bob"
    assert Script("rea").send("GET", path).json()["results"][0]["user"] is None
    assert olga.send("GET", f"{path}R1/withdraw/").json() == {"rater": "R1", "withdrawn": 6, "given": {}, "waiting": 6}
    assert olga.send("POST", f"{path}R1/withdraw/").json()["waiting"] == 6
    assert olga.send("POST", f"{path}R1/withdraw/").json()["withdrawn"] == 0
    round_ = olga.send("GET", "studies/study/rounds/1/").json()
    assert (round_["n_free"], round_["left"], round_["quotas"]) == (6, ["R1"], {})
    added = olga.send("POST", path, {"user": "dan", "quota": 4})
    assert (added.status_code, added.json()["n_assigned"]) == (201, 4)
    assert olga.send("POST", path, {"user": "dan"}).status_code == 200
    assert list(olga.refused("PATCH", f"{path}R3/", {"quota": 3})) == ["quota"]
    assert list(olga.refused("PATCH", f"{path}R3/", {})) == ["quota"]
    assert olga.send("PATCH", f"{path}R3/", {"quota": None}).json()["n_assigned"] == 6
    back = olga.send("POST", path, {"user": "bob"})
    assert (back.status_code, back.json()["unblinded"]) == (201, False)
    assert list(olga.refused("POST", path, {"user": "nobody"})) == ["user"]
    for name, status in (("ada", 403), ("carol", 403), ("rea", 403)):
        script = Script(name)
        assert script.send("POST", path, {"user": "dan"}).status_code == status
        assert script.send("PATCH", f"{path}R2/", {"quota": 9}).status_code == status
        assert script.send("GET", f"{path}R2/withdraw/").status_code == status
        assert script.send("POST", f"{path}R2/withdraw/").status_code == status
    make.user("mallory")
    for each in (path, f"{path}R2/", f"{path}R2/withdraw/"):
        assert Script("mallory").send("GET", each).status_code == 404
    assert olga.send("GET", f"{path}R9/").status_code == 404
    assert olga.send("POST", "studies/study/rounds/9/raters/R1/withdraw/").status_code == 404


def test_the_page_of_a_round_shows_what_leaving_does_and_does_it(client: Any) -> None:
    study = make.study(raters=THREE)
    round_ = make.open_round(study, 6, raters=THREE, raters_per_item=2, quotas={"carol": 6})
    client.force_login(make.user("olga"))
    page = client.get("/studies/study/rounds/1/").content.decode()
    assert "Withdraw" in page and 'name="quota"' in page
    asked = client.get("/studies/study/rounds/1/raters/R1/withdraw/").content.decode()
    assert leaving(round_, row_of(round_, "bob")).sentence in asked
    answer = client.post("/studies/study/rounds/1/raters/R1/withdraw/", follow=True).content.decode()
    assert "R1 left round 1" in answer
    assert (
        "is at most 6 items"
        in client.post("/studies/study/rounds/1/raters/R2/quota/", {"quota": "6"}, follow=True).content.decode()
    )
    for wrong in ("x", "1"):
        refused = client.post("/studies/study/rounds/1/raters/R2/quota/", {"quota": wrong}, follow=True)
        assert "nter" in refused.content.decode() and row_of(round_, "carol").quota == 6
    rater_actions.withdraw_rater(seat=make.owner_seat(study), number=1, rater="R3")
    assert " no rater" in client.get("/studies/study/rounds/1/").content.decode()
    assert (
        "R2 left 1 open round"
        in client.post(
            f"/studies/study/members/{make.member(study, 'carol').pk}/withdraw/", follow=True
        ).content.decode()
    )
    for name, status in (("ada", 403), ("dan", 403), ("mallory", 404)):
        client.force_login(make.user(name))
        for path in ("rounds/1/raters/R2/withdraw/", "rounds/1/raters/R2/quota/", "rounds/1/raters/add/"):
            assert client.post(f"/studies/study/{path}").status_code == status, (name, path)


def test_quotas_are_given_in_the_form_of_a_new_round(client: Any) -> None:
    study = make.study()
    make.issues(4)
    client.force_login(make.user("olga"))
    sent = {
        "kind": "main", "taxonomy_version": 1, "raters": ["R1", "R2"], "raters_per_item": 1, "double_percent": 100,
        "mode": "planned", "source": "issues", "issues": "acme/rocket#1\nacme/rocket#2\nacme/rocket#3", "seed": 1,
        "quota_R1": "1", "quota_R2": "1",
    }  # fmt: skip
    counted = client.post("/studies/study/rounds/new/", {**sent, "preview": "1"}).content.decode()
    assert "1 of them has no rater" in counted
    assert client.post("/studies/study/rounds/new/", sent).status_code == 422
    assert client.post("/studies/study/rounds/new/", {**sent, "quota_R2": ""}).status_code == 302
    made = get_round(make.owner_seat(study), 1)
    assert list(RoundRater.objects.filter(round=made).values_list("quota", flat=True)) == [1, None]


def test_lists_of_raters_and_the_page_cost_the_same_whatever_their_number(client: Any) -> None:
    counts = []
    for slug, names in (("small", ("bob", "carol")), ("large", tuple(f"rater{n}" for n in range(12)))):
        study = make.study(slug, text=make.SYMPTOMS.replace("slug: symptoms", f"slug: {slug}"), raters=names)
        make.open_round(study, 6, raters=names, raters_per_item=2)
        client.force_login(make.user("olga"))
        client.get(f"/studies/{slug}/rounds/1/")
        with CaptureQueriesContext(connection) as captured:
            client.get(f"/studies/{slug}/rounds/1/")
        counts.append(len(captured))
    assert counts[0] == counts[1]


def test_a_quota_is_no_number_of_items_that_a_rater_of_a_closed_round_was_given() -> None:
    study = make.study()
    make.open_round(study, 2, mode="pool", quotas={"bob": 9})
    client = Client()
    client.force_login(study.created_by)

    def finished() -> str:
        page = client.get("/studies/study/rounds/1/").content.decode()
        return page.partition('data-head="Finished">')[2].partition("</td>")[0]

    assert finished() == "0 of 9"
    assert Script("olga").send("POST", "studies/study/rounds/1/resolve/", {"withdraw": True}).status_code == 200
    assert finished() == "0"


@pytest.mark.parametrize("mode", ["planned", "pool"])
def test_what_was_withdrawn_at_the_end_of_a_round_is_neither_left_nor_asked(mode: str) -> None:
    study = make.study(raters=THREE)
    round_ = make.open_round(study, 3, raters=("bob", "carol"), mode=mode)
    first = Script("bob").send("GET", "studies/study/rounds/1/next/").json()
    body = {"assignment": first["assignment"], "labels": {"symptom": ["crash"]}}
    assert Script("bob").send("POST", "studies/study/annotations/", body).status_code == 201
    olga = Script("olga")
    assert olga.send("POST", "studies/study/rounds/1/resolve/", {"withdraw": True}).status_code == 200
    found = {each["code"]: each for each in olga.send("GET", "studies/study/rounds/1/raters/").json()["results"]}
    assert [(each["n_assigned"], each["n_finished"]) for each in found.values()] == [(1, 1), (0, 0)]
    client = Client()
    client.force_login(study.created_by)
    page = client.get("/studies/study/rounds/1/").content.decode()
    assert "1 of 1 finished" in page
    (line,) = round_lines(study.rounds.filter(pk=round_.pk), with_raters=True)
    assert (line.n_left, [each.n_left for each in line.raters]) == (0, [0, 0])
