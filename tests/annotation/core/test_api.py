"""The way of one study over REST, and who may do what on it."""

import csv
import io
import json
from collections.abc import Iterator
from typing import Any

import pyarrow.parquet as pq
import pytest
from django.test import Client

from accounts.actions import make_token
from annotation.models import Annotation, Assignment, Membership, Resolution, Round, Study
from annotation.rounds.api.rounds import detailed
from tests import builders as make
from tests.asserts import assert_queries

pytestmark = pytest.mark.django_db
BASE = "/api/v1/"


class Caller:
    """Calls the API as one user with a token."""

    def __init__(self, name: str, scope: str = "manage") -> None:
        _, plain = make_token(user=make.user(name), name="test", scope=scope)
        self.client = Client()
        self.headers = {"Authorization": f"Bearer {plain}"}

    def get(self, path: str) -> Any:
        return self.client.get(BASE + path, headers=self.headers)

    def post(self, path: str, body: Any = None, **headers: str) -> Any:
        return self.client.post(
            BASE + path, json.dumps(body or {}), content_type="application/json", headers={**self.headers, **headers}
        )

    def patch(self, path: str, body: Any) -> Any:
        return self.client.patch(BASE + path, json.dumps(body), content_type="application/json", headers=self.headers)


def test_the_whole_way_of_a_study_over_rest() -> None:
    make.issues(4)
    for name in ("bob", "carol", "ada", "rea"):
        make.user(name)
    olga = Caller("olga")
    answer = olga.client.post(BASE + "taxonomies/", make.FAULTS, content_type="application/yaml", headers=olga.headers)
    assert answer.status_code == 201, answer.content
    assert olga.post("taxonomies/faults/versions/1/publish/").status_code == 200
    primary = {"symptom": {"coefficient": "krippendorff_alpha", "threshold": 0.8}}
    answer = olga.post("studies/", {"slug": "s", "title": "S", "taxonomy": "faults", "primary": primary})
    assert answer.status_code == 201 and answer.json()["primary"]["symptom"]["threshold"] == 0.8
    for name, role in (("bob", "rater"), ("carol", "rater"), ("ada", "adjudicator"), ("rea", "reader")):
        assert olga.post("studies/s/members/", {"user": name, "roles": [role]}).status_code == 201
    sample = olga.post("studies/s/samples/", {"filter": {"repository": "acme/rocket"}, "size": 3, "seed": 7})
    assert sample.status_code == 201 and len(sample.json()["issues"]) == 3
    body = {"kind": "main", "raters": ["bob", "carol"], "sample": sample.json()["id"], "n_items": 3}
    answer = olga.post("studies/s/rounds/", body)
    assert answer.status_code == 201 and answer.json()["state"] == "draft", answer.content
    answer = olga.post("studies/s/rounds/1/open/", {"unregistered": True})
    assert (answer.status_code, answer.json()["state"], answer.json()["n_assignments"]) == (200, "open", 6)

    raters = {name: Caller(name, "rate") for name in ("bob", "carol")}
    fault = {"kind": ["fault"], "distributed": True}
    for name, rater in raters.items():
        following = rater.get("studies/s/rounds/1/next/").json()
        assert following["issue"]["title"] and following["total"] == 3
        n = 0
        while following:
            symptom = "hang" if following["item"] == sample.json()["issues"][0] and name == "carol" else "crash"
            answer = rater.post(
                "studies/s/annotations/?next=1",
                {"assignment": following["assignment"], "labels": {**fault, "symptom": [symptom]}, "memo": name},
                **{"Idempotency-Key": f"{name}{n}"},
            )
            assert answer.status_code == 201, answer.content
            following, n = answer.json()["next"], n + 1
        assert n == 3
        assert rater.get("studies/s/rounds/1/next/").status_code == 204

    ada = Caller("ada")
    assert ada.get("studies/s/disagreements/").json()["code"] == "not_found", "she has not accepted yet"
    make.accept("ada")
    open_ones = ada.get("studies/s/disagreements/").json()["results"]
    assert [(row["dimension"], row["reason"], row["state"]) for row in open_ones] == [("symptom", "differ", "open")]
    assert [(r["rater"], r["values"], r["memo"]) for r in open_ones[0]["ratings"]] == [
        ("R1", ["crash"], "bob"),
        ("R2", ["hang"], "carol"),
    ]
    assert olga.post("studies/s/rounds/1/close/").status_code == 409
    decision = {
        "item": open_ones[0]["item"],
        "part": 1,
        "dimension": "symptom",
        "values": ["slow"],
        "rationale": "neither",
        "expected": None,
    }
    made = ada.post("studies/s/resolutions/", decision)
    assert made.status_code == 201, made.content
    stale = ada.post("studies/s/resolutions/", decision)
    assert stale.status_code == 409 and stale.json()["resolution"]["id"] == made.json()["id"]
    again = ada.post("studies/s/resolutions/", {**decision, "values": ["hang"], "expected": made.json()["id"]})
    assert again.status_code == 201 and again.json()["revision"] == 2
    assert olga.post("studies/s/rounds/1/close/").json()["state"] == "closed"

    make.accept("rea")
    rea = Caller("rea", "read")
    rows = rea.get("studies/s/labels/").json()["results"]
    symptoms = {row["item"]: (row["values"], row["method"]) for row in rows if row["dimension"] == "symptom"}
    assert symptoms[decision["item"]] == (["hang"], "adjudicator")
    assert sorted(method for _, method in symptoms.values()) == ["adjudicator", "unanimous", "unanimous"]
    assert {tuple(row["values"]) for row in rows if row["dimension"] == "distributed"} == {(True,)}
    as_csv = rea.get("studies/s/labels/?format=csv")
    text = b"".join(as_csv.streaming_content).decode()
    assert len(list(csv.DictReader(io.StringIO(text)))) == len(rows)
    parquet = b"".join(rea.get("studies/s/ratings/?format=parquet").streaming_content)
    ratings = rea.get("studies/s/ratings/").json()["results"]
    assert pq.read_table(io.BytesIO(parquet)).num_rows == len(ratings) == 24
    lines = b"".join(rea.get("studies/s/labels/?format=jsonl").streaming_content).splitlines()
    assert [json.loads(line)["item"] for line in lines] == [row["item"] for row in rows]
    assert rea.get("studies/s/labels/?format=xml").status_code == 422

    entry = rea.get("studies/s/agreement/?round=1&dimension=symptom").json()
    assert len(entry) == 1 and (entry[0]["units"], entry[0]["raters"], entry[0]["round"]) == (3, 2, 1)
    names = [coefficient["name"] for coefficient in entry[0]["coefficients"]]
    assert len(names) == 10 and names[0] == "percent_agreement"
    assert entry[0]["coefficients"][0]["value"] == pytest.approx(2 / 3)


def test_each_role_gets_what_it_may() -> None:
    study = make.study()
    round_ = make.open_round(study, 2)
    make.user("mallory")
    make.study("other", text=make.SYMPTOMS.replace("slug: symptoms", "slug: other"), raters=("mallory",))
    table = {
        # address: owner, adjudicator, rater (blind), reader, member of another study
        "studies/study/": (200, 200, 200, 200, 404),
        "studies/study/members/": (200, 200, 200, 200, 404),
        "studies/study/samples/": (200, 200, 200, 200, 404),
        "studies/study/rounds/": (200, 200, 200, 200, 404),
        "studies/study/rounds/1/": (200, 200, 200, 200, 404),
        "studies/study/rounds/9/": (404, 404, 404, 404, 404),
        "studies/study/rounds/1/next/": (403, 403, 200, 403, 404),
        "studies/study/ratings/": (200, 200, 200, 200, 404),
        "studies/study/disagreements/": (200, 200, 403, 403, 404),
        "studies/study/labels/": (200, 200, 200, 200, 404),
        "studies/study/labels/?round=1": (200, 200, 403, 403, 404),
        "studies/study/agreement/": (200, 200, 200, 200, 404),
        "studies/study/agreement/?round=1": (200, 200, 403, 403, 404),
        "studies/nonsense/": (404, 404, 404, 404, 404),
    }
    for place, name in enumerate(("olga", "ada", "bob", "rea", "mallory")):
        caller = Caller(name)
        found = {path: caller.get(path).status_code for path in table}
        assert found == {path: statuses[place] for path, statuses in table.items()}, name
    for path in table:
        assert Client().get(BASE + path).status_code == 401
    assert round_.state == Round.State.OPEN


def test_a_blind_rater_sees_nothing_that_others_said_whatever_else_they_are() -> None:
    study = make.study()
    owner = make.owner_seat(study)
    from annotation.members.actions.members import add_member

    add_member(seat=owner, username="olga", roles=["owner", "rater"])
    round_ = make.open_round(study, 2, raters=("olga", "bob"))
    make.submit(round_, "bob", 1, {"symptom": ["crash"]}, memo="secret words")
    olga = Caller("olga")
    assert olga.get("studies/study/ratings/").json()["results"] == []
    assert olga.get("studies/study/agreement/").json() == []
    assert olga.get("studies/study/labels/").json()["results"] == []
    assert olga.get("studies/study/disagreements/").json()["results"] == []
    assert olga.get("studies/study/labels/?round=1").status_code == 403
    make.submit(round_, "olga", 1, {"symptom": ["hang"]})
    assert [row["rater"] for row in olga.get("studies/study/ratings/").json()["results"]] == ["R3"]
    assert b"secret" not in b"".join(olga.get("studies/study/ratings/?format=csv").streaming_content)


def test_a_rater_reads_only_their_own_ratings() -> None:
    study = make.study()
    round_ = make.open_round(study, 1)
    make.rate(round_, "item bob carol\n1 crash hang")
    assert [row["rater"] for row in Caller("bob").get("studies/study/ratings/").json()["results"]] == ["R1"]
    assert len(Caller("ada").get("studies/study/ratings/").json()["results"]) == 2


def test_a_revision_in_discussion_is_a_row_of_its_own() -> None:
    study = make.study()
    round_ = make.open_round(study, 1)
    make.rate(round_, "item bob carol\n1 crash hang")
    make.submit(round_, "bob", 1, {"symptom": ["hang"]})
    rea, ada = Caller("rea"), Caller("ada")
    rows = ada.get("studies/study/ratings/").json()["results"]
    assert [(row["rater"], row["values"], row["revision"]) for row in rows] == [
        ("R1", ["crash"], "blind"),
        ("R1", ["hang"], "current"),
        ("R2", ["hang"], "blind"),
    ]
    assert len(ada.get("studies/study/ratings/?revision=current").json()["results"]) == 2
    before, after = (
        rea.get(f"studies/study/agreement/?when={when}").json()[0]["coefficients"][0]["value"]
        for when in ("before", "after")
    )
    assert (before, after) == (0, 1)


def test_wrong_requests_get_their_status_and_the_one_error_shape() -> None:
    study = make.study()
    round_ = make.open_round(study, 2)
    bob = Caller("bob")
    place = make.assignment(round_, "bob", 1).public_id
    others = make.assignment(round_, "carol", 1).public_id
    good = {"assignment": place, "labels": {"symptom": ["crash"]}}
    cases = [
        ({"assignment": place, "labels": {"symptom": ["krash"]}}, 422, "symptom"),
        ({"assignment": place, "labels": {}}, 422, "symptom"),
        ({"assignment": place}, 422, "labels"),
        ({"assignment": others, "labels": {"symptom": ["crash"]}}, 404, None),
        ({"labels": {"symptom": ["crash"]}}, 422, "assignment"),
    ]
    for body, status, field in cases:
        answer = bob.post("studies/study/annotations/", body)
        assert answer.status_code == status, (body, answer.content)
        assert set(answer.json()) == {"code", "message", "fields"}
        assert field is None or field in answer.json()["fields"]
    assert not Annotation.objects.exists()
    unreadable = bob.client.post(
        BASE + "studies/study/annotations/", "{", content_type="application/json", headers=bob.headers
    )
    assert unreadable.status_code == 400 and unreadable.json()["code"]
    assert Caller("bob", "read").post("studies/study/annotations/", good).status_code == 403
    assert bob.post("studies/study/annotations/", good, **{"Idempotency-Key": "k"}).status_code == 201
    assert bob.post("studies/study/annotations/", good, **{"Idempotency-Key": "k"}).status_code == 200
    other = {**good, "memo": "other"}
    assert bob.post("studies/study/annotations/", other, **{"Idempotency-Key": "k"}).status_code == 409
    olga = Caller("olga")
    assert olga.post("studies/study/rounds/1/open/", {"unregistered": True}).status_code == 409
    assert olga.post("studies/study/rounds/1/close/").status_code == 409
    assert olga.post("studies/study/rounds/1/resolve/").status_code == 409
    answer = olga.post("studies/study/rounds/1/resolve/", {"withdraw": True})
    assert answer.status_code == 200 and answer.json()["state"] == "resolving"
    assert Assignment.objects.filter(state="withdrawn").count() == 3
    assert bob.post("studies/", {"slug": "Not A Slug", "title": "", "taxonomy": "none"}).status_code == 422
    assert olga.post("studies/", {"slug": "study", "title": "S", "taxonomy": "symptoms"}).status_code == 409
    assert olga.get("studies/study/agreement/?round=1&dimension=colour").status_code == 422
    assert olga.get("studies/study/agreement/?when=later").status_code == 422
    assert olga.patch("studies/study/", {"title": "Better"}).json()["title"] == "Better"
    assert bob.patch("studies/study/", {"title": "Mine"}).status_code == 403


def test_long_lists_come_in_pages_that_lose_and_repeat_nothing() -> None:
    study = make.study()
    round_ = make.open_round(study, 7)
    make.rate(round_, "item bob carol\n" + "\n".join(f"{n} crash hang" for n in range(1, 8)))
    olga = Caller("olga")
    for path in ("ratings", "disagreements", "labels"):
        if path == "labels":
            for row in olga.get("studies/study/disagreements/").json()["results"]:
                decision = {"item": row["item"], "dimension": "symptom", "values": ["slow"]}
                assert olga.post("studies/study/resolutions/", decision).status_code == 201
        whole = olga.get(f"studies/study/{path}/").json()["results"]
        seen, address = [], f"studies/study/{path}/?page_size=3"
        while address:
            page = olga.get(address).json()
            seen += page["results"]
            address = page["next"] and page["next"].split(BASE, 1)[1]
        assert seen == whole and len(whole) in (7, 14)
    assert Resolution.objects.count() == 7


def test_pages_of_results_take_the_same_queries_at_any_size() -> None:
    study = make.study()
    make.rate(make.open_round(study, 3), "item bob carol\n" + "\n".join(f"{n} crash hang" for n in range(1, 4)))
    large = make.open_round(study, 40, first=10)
    make.rate(large, "item bob carol\n" + "\n".join(f"{n} crash hang" for n in range(10, 50)))
    olga = Caller("olga")
    olga.get("studies/study/ratings/")
    for path, n in (("ratings", 12), ("disagreements", 11), ("labels", 12), ("agreement", 17)):
        for number in (1, 2):
            with assert_queries(n):
                olga.get(f"studies/study/{path}/?round={number}")


def test_a_csv_of_ratings_is_taken_from_the_owner_and_bad_rows_are_told() -> None:
    make.study()
    sheet = "item,rater,dimension,value\na#1,model,symptom,crash\na#1,human,symptom,krash\na#2,model,symptom,Hang\n"
    olga = Caller("olga")
    answer = olga.client.post(BASE + "studies/study/ratings/", sheet, content_type="text/csv", headers=olga.headers)
    assert answer.status_code == 201, answer.content
    assert answer.json()["n_ratings"] == 2 and answer.json()["refusals"][0]["line"] == 3
    bob = Caller("bob")
    answer = bob.client.post(BASE + "studies/study/ratings/", sheet, content_type="text/csv", headers=bob.headers)
    assert answer.status_code == 403
    answer = olga.client.post(
        BASE + "studies/study/ratings/", "a,b\n1,2\n", content_type="text/csv", headers=olga.headers
    )
    assert answer.status_code == 422 and set(answer.json()) == {"code", "message", "fields"}
    assert olga.post("studies/study/ratings/", {}).status_code == 415


def test_a_disagreement_tells_the_category_that_was_proposed() -> None:
    study = make.study()
    make.rate(make.open_round(study, 1), "item bob carol\n1 PENDING crash")
    (row,) = Caller("ada").get("studies/study/disagreements/").json()["results"]
    assert row["reason"] == "pending"
    assert [each["proposal"] for each in row["ratings"]] == [{"name": "New", "memo": "none fits"}, None]


def test_counting_the_items_and_the_answers_of_a_round_multiplies_neither_by_the_other() -> None:
    round_ = make.open_round(make.study(), 20)
    (plan,) = json.loads(
        detailed(Round.objects.all(), make.owner_seat(round_.study)).explain(analyze=True, format="json")
    )
    assert max(node["Actual Rows"] for node in _nodes(plan["Plan"])) <= 40
    answer = Caller("olga").get("studies/study/rounds/1/").json()
    assert (answer["n_items"], answer["n_assignments"], answer["n_finished"]) == (20, 40, 0)
    make.submit(round_, "bob", 1, {"symptom": ["crash"]})
    Assignment.objects.filter(pk=make.assignment(round_, "carol", 2).pk).update(state=Assignment.State.WITHDRAWN)
    (answer,) = Caller("olga").get("studies/study/rounds/").json()["results"]
    assert (answer["n_items"], answer["n_assignments"], answer["n_finished"]) == (20, 39, 1)


def _nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for below in plan.get("Plans", ()):
        yield from _nodes(below)


def test_the_list_of_studies_costs_the_same_at_any_length() -> None:
    study, olga = make.study(), Caller("olga")
    olga.get("studies/")
    with assert_queries(2):
        assert len(olga.get("studies/").json()["results"]) == 1
    for n in range(3):
        copy = Study.objects.get(pk=study.pk)
        copy.pk, copy.slug = None, f"study-{n}"
        copy.save()
        Membership.objects.create(study=copy, user=make.user("olga"), roles=["owner"])
    with assert_queries(2):
        shown = olga.get("studies/").json()["results"]
    assert len(shown) == 4 and all(each["primary"]["symptom"]["threshold"] == 0.8 for each in shown)
