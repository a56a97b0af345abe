"""What a script may send: whatever it is, it gets a status of the contract and the one error shape."""

import base64
from typing import Any

import pytest

from annotation.core.errors import Invalid
from annotation.labeling.actions import answers as answer_actions
from annotation.models import Annotation, Study
from tests import builders as make
from tests.scripts import BASE, Script

pytestmark = pytest.mark.django_db


def test_text_that_cannot_be_stored_is_refused_with_its_place() -> None:
    study = make.study()
    round_ = make.open_round(study, 1)
    place = make.assignment(round_, "bob", 1).public_id
    olga, bob = Script("olga"), Script("bob")
    for wrong in ("a\0b", "a\ud800b"):
        assert list(olga.refused("PATCH", "studies/study/", {"title": wrong})) == ["title"]
        assert list(olga.refused("POST", "studies/study/members/", {"user": wrong, "roles": ["rater"]})) == ["user"]
        body = {"assignment": place, "labels": {"symptom": ["crash"]}}
        assert list(bob.refused("POST", "studies/study/annotations/", {**body, "memo": wrong})) == ["memo"]
        labels = {"symptom": [wrong]}
        assert list(bob.refused("POST", "studies/study/annotations/", {**body, "labels": labels})) == [
            "labels.symptom.0"
        ]
        assert olga.refused("POST", "fetches/", {"repository": wrong})
        assert bob.refused("POST", "studies/study/annotations/", {**body, wrong: 1})
    assert not Annotation.objects.exists()


def test_json_nested_too_deeply_is_unreadable() -> None:
    olga = Script("olga")
    for text in ("[" * 100_000, '{"a":' * 3000 + "1" + "}" * 3000, '{"a":' * 60 + "1" + "}" * 60):
        answer = olga.send("POST", "studies/", text=text)
        assert (answer.status_code, answer.json()["code"]) == (400, "unreadable")


def test_a_study_takes_only_words_where_words_belong() -> None:
    make.study()
    olga = Script("olga")
    good = {"slug": "other", "title": "Other", "taxonomy": "symptoms"}
    cases: list[tuple[dict[str, Any], str]] = [
        ({"title": "x" * 201}, "title"),
        ({"guidelines": ["x"]}, "guidelines"),
        ({"resolve_when": ["round"]}, "resolve_when"),
        ({"primary": []}, "primary"),
    ]
    for change, field in cases:
        assert list(olga.refused("POST", "studies/", {**good, **change})) == [field]
    reserved = olga.send("POST", "studies/", {**good, "slug": "new"})
    assert reserved.status_code == 409 and reserved.json()["code"] == "slug_taken"
    assert Study.objects.count() == 1
    for name, value in (
        ("title", None),
        ("title", 5),
        ("title", ["x"]),
        ("title", "x" * 201),
        ("guidelines", None),
        ("guidelines", {}),
        ("resolve_when", []),
        ("primary", None),
        ("seat", "x"),
        ("slug", "x"),
    ):
        assert list(olga.refused("PATCH", "studies/study/", {name: value})) == [name]
    assert olga.send("PATCH", "studies/study/", {"title": " Better "}).json()["title"] == "Better"


def test_a_filter_of_another_type_is_refused_and_nothing_is_drawn() -> None:
    study = make.study()
    make.issues(3)
    olga = Script("olga")
    for filter, field in (
        ([1], "filter"),
        ("x", "filter"),
        ({"repository": 5}, "filter.repository"),
        ({"repository": "acme/rocket", "labels": 5}, "filter.labels"),
        ({"repository": "acme/rocket", "state": ["open"]}, "filter.state"),
        ({"repository": "acme/rocket", "search": True}, "filter.search"),
    ):
        assert list(olga.refused("POST", "studies/study/samples/", {"filter": filter, "size": 1})) == [field]
    assert not study.samples.exists()


def test_a_round_says_which_of_its_fields_is_wrong() -> None:
    make.study()
    make.issues(2)
    olga = Script("olga")
    sample = olga.send("POST", "studies/study/samples/", {"filter": {"repository": "acme/rocket"}, "size": 2}).json()[
        "id"
    ]
    good = {"raters": ["bob", "carol"]}
    for change, field in (
        ({"issues": ["acme/rocket#99999999999999999999"]}, "issues"),
        ({"issues": [5, None]}, "issues"),
        ({"sample": "9" * 30}, "sample"),
        ({"sample": sample, "n_items": 1, "share": 0.5}, "n_items"),
    ):
        assert list(olga.refused("POST", "studies/study/rounds/", {**good, **change})) == [field]


def test_memos_are_text_of_bounded_length_and_numbers_are_finite() -> None:
    text = make.SYMPTOMS + "  - {key: days, title: Days, kind: number, required: false}\n"
    study = make.study(text=text)
    place = str(make.assignment(make.open_round(study, 1), "bob", 1).public_id)
    bob = Script("bob")
    labels = {"symptom": ["crash"]}
    for body, field in (
        ({"labels": labels, "memo": ["x"]}, "memo"),
        ({"labels": labels, "memo": "x" * 20_001}, "memo"),
        ({"parts": [{"labels": labels}], "memo": 5}, "memo"),
        ({"labels": labels, "parts": [{"labels": labels}]}, "parts"),
        ({"skip": "spam", "memo": "x" * 20_001}, "memo"),
        ({"labels": {}, "proposals": {"symptom": {"name": "New", "memo": "x" * 20_001}}}, "symptom"),
        ({"labels": {**labels, "days": 10**400}}, "days"),
    ):
        fields = bob.refused("POST", "studies/study/annotations/", {"assignment": place, **body})
        assert list(fields) == [field]
    assert not Annotation.objects.exists()


def test_every_address_and_method_answers_in_json_whatever_is_accepted() -> None:
    make.study()
    olga = Script("olga")
    for accept in ("text/html", "application/xml", "nonsense", ""):
        assert olga.send("GET", "studies/", Accept=accept).json()["results"]
        assert olga.send("GET", "nonsense/", Accept=accept).json()["code"] == "not_found"
    for method in ("GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PROPFIND"):
        answer = olga.send(method, "nonsense/", {})
        assert (answer.status_code, set(answer.json())) == (404, {"code", "message", "fields"})
    assert olga.client.get("/api").json()["code"] == "not_found"
    assert olga.send("GET", "issues/not%20a/name/1/").status_code == 404


def test_a_cursor_from_elsewhere_is_unreadable() -> None:
    olga = Script("olga")
    nested = base64.urlsafe_b64encode(b"[" * 3000).decode()
    for cursor in ("WzFlOTk5XQ", "WyJhXHUwMDAwIl0", "zzz", "W10", "WzEsMl0", "WyI1Il0", "é:ü", "a:b:c", ":", nested):
        for path in ("issues", "studies", "taxonomies"):
            answer = olga.send("GET", f"{path}/?cursor={cursor}")
            assert (answer.status_code, answer.json()["code"]) == (400, "bad_cursor"), (path, cursor)


def test_a_decision_is_answered_as_it_was_stored_and_refused_by_field() -> None:
    text = make.SYMPTOMS + "  - {key: words, title: Words, kind: text, required: false}\n"
    study = make.study(text=text)
    round_ = make.open_round(study, 1)
    for name, symptom in (("bob", "crash"), ("carol", "hang")):
        make.submit(round_, name, 1, {"symptom": [symptom], "words": name})
    ada = Script("ada")
    path, decision = "studies/study/resolutions/", {"item": "acme/rocket#1", "dimension": "symptom", "values": ["slow"]}
    for change, field in (({"values": None}, "values"), ({"part": [1]}, "part"), ({"part": 1.0}, "part")):
        assert list(ada.refused("POST", path, {**decision, **change})) == [field]
    assert ada.send("POST", path, decision).json()["values"] == ["slow"]
    answer = ada.send("POST", path, {**decision, "dimension": "words", "values": " both "})
    assert (answer.status_code, answer.json()["values"]) == (201, ["both"])


def test_lists_of_results_page_like_all_others() -> None:
    study = make.study()
    make.rate(make.open_round(study, 3), "item bob carol\n1 crash hang\n2 crash hang\n3 crash hang")
    olga = Script("olga")
    for path in ("issues", "studies/study/ratings", "studies/study/disagreements", "studies/study/labels"):
        for wrong in ("page_size=0", "page_size=x", "page_size=-1"):
            assert olga.refused("GET", f"{path}/?{wrong}", None).keys() == {"page_size"}, (path, wrong)
        for wrong in ("cursor=WzFlOTk5LDFd", "cursor=x"):
            assert olga.send("GET", f"{path}/?{wrong}").status_code == 400, (path, wrong)
        assert olga.send("GET", f"{path}/?page_size={'9' * 30}").status_code == 200


def test_members_samples_and_rounds_come_in_pages() -> None:
    study = make.study()
    make.open_round(study, 2)
    make.open_round(study, 2, first=10)
    olga = Script("olga")
    for _ in range(2):
        assert (
            olga.send(
                "POST", "studies/study/samples/", {"filter": {"repository": "acme/rocket"}, "size": 1}
            ).status_code
            == 201
        )
    for name in ("members", "samples", "rounds"):
        whole = olga.send("GET", f"studies/study/{name}/").json()
        seen, address = [], f"studies/study/{name}/?page_size=1"
        while address:
            page = olga.send("GET", address).json()
            seen += page["results"]
            address = page["next"] and page["next"].split(BASE, 1)[1]
        assert seen == whole["results"] and len(seen) > 1 and whole["next"] is None


def test_a_label_names_repository_and_number_where_its_item_names_an_issue() -> None:
    make.study()
    olga = Script("olga")
    sheet = "item,rater,dimension,value\nhttps://github.com/b/c/issues/7,m,symptom,crash\nQ7,m,symptom,hang\n"
    answer = olga.client.post(BASE + "studies/study/ratings/", sheet, content_type="text/csv", headers=olga.headers)
    assert answer.status_code == 201
    rows = olga.send("GET", "studies/study/labels/").json()["results"]
    assert [(row["item"], row["repository"], row["number"]) for row in rows] == [
        ("b/c#7", "b/c", 7),
        ("Q7", None, None),
    ]


def test_an_answer_from_the_page_is_held_to_the_same_characters() -> None:
    round_ = make.open_round(make.study(), 1)
    place, seat = make.assignment(round_, "bob", 1), make.seat(round_.study, "bob")
    for wrong in ("a\0b", "a\ud800b"):
        body = {"labels": {"symptom": ["crash"]}, "memo": wrong}
        for act in (answer_actions.submit_annotation, answer_actions.keep_draft):
            with pytest.raises(Invalid) as refused:
                act(seat=seat, assignment=place.public_id, body=body)
            assert list(refused.value.fields) == ["memo"]
