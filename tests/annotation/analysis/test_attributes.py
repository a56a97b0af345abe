"""Attributes of items come in with sheets, stand wherever items do, and are never replaced."""

import io
import json
from typing import Any

import pytest
from django.test import Client

from annotation.analysis.queries.labels import study_labels
from annotation.core.errors import Invalid
from annotation.exports.queries.kinds import read_export_request, write_file
from annotation.imports.actions.ratings import ImportReport, import_ratings
from annotation.imports.sheets.attributes import attribute_name
from annotation.models import Item, Study
from tests import builders as make
from tests.annotation.packages import unwatched
from tests.scripts import Script

pytestmark = pytest.mark.django_db

LONG = """item,rater,dimension,value,Component,venue
acme/rocket#1,bob,symptom,crash,engine,chat
acme/rocket#1,carol,symptom,crash,engine,
acme/rocket#2,bob,symptom,hang,"tail, lower",
acme/rocket#2,carol,symptom,hang,nose,forum
"""


def take(text: str, **more: Any) -> ImportReport:
    more.setdefault("study", "study")
    return import_ratings(user=make.user("olga"), file=text.encode(), name="sheet.csv", **more)


def attributes() -> dict[str, dict[str, str]]:
    return dict(Item.objects.order_by("pk").values_list("identifier", "attributes"))


def build_study() -> Study:
    return make.study()


def test_columns_named_as_attributes_stay_with_their_items(study: Study) -> None:
    report = take(LONG, attributes=["Component", "venue"])
    assert attributes() == {
        "acme/rocket#1": {"Component": "engine", "venue": "chat"},
        "acme/rocket#2": {"Component": "tail, lower", "venue": "forum"},
    }
    assert (report.n_attributes, report.n_ratings, report.n_refused) == (4, 4, 1)
    (refusal,) = report.refusals
    assert refusal.line == 5 and refusal.reason == (
        "“nose” as Component of acme/rocket#2 was not imported: line 4 has “tail, lower”."
    )


def test_what_is_there_is_not_replaced_and_what_is_new_is_added(study: Study) -> None:
    take(LONG, attributes=["Component"])
    again = take(
        'item,component,size\nacme/rocket#1,wing,3\nacme/rocket#2,"tail, lower",\n', attributes=["component", "size"]
    )
    assert attributes()["acme/rocket#1"] == {"Component": "engine", "size": "3"}
    assert (again.n_attributes, again.n_items, again.rounds) == (1, 2, [])
    assert [each.reason for each in again.refusals] == [
        "“wing” as Component of acme/rocket#1 was not imported: the value “engine” exists and is not replaced."
    ]
    assert not take("item,component\nacme/rocket#1,engine\n", attributes=["component"]).refusals


def test_a_list_of_items_makes_none(study: Study) -> None:
    take(LONG)
    report = take("item,component\nacme/rocket#2,tail\nacme/rocket#9,nose\n,engine\n", attributes=["component"])
    assert set(attributes()) == {"acme/rocket#1", "acme/rocket#2"} and report.n_attributes == 1
    assert sorted((each.line, each.reason) for each in report.refusals) == [
        (3, "acme/rocket#9 is not an item of this study."),
        (4, "The row has no item."),
    ]


def test_what_is_too_long_to_count_by_is_refused(study: Study) -> None:
    report = take(f"item,rater,dimension,value,note\na,bob,symptom,crash,{'x' * 201}\n", attributes=["note"])
    assert report.n_ratings == 1 and attributes() == {"a": {}}
    assert "is longer than 200 characters" in report.refusals[0].reason


@pytest.mark.parametrize("names", [["nowhere"], ["x" * 81]])
def test_a_column_that_is_not_there_or_can_have_no_name_is_told(study: Study, names: list[str]) -> None:
    with pytest.raises(Invalid) as refused:
        take(LONG, attributes=names)
    assert list(refused.value.fields) == names


def test_a_name_can_stand_in_the_address_of_a_question() -> None:
    assert attribute_name(" kernel:\u200b version, full ") == "kernel version full"
    assert attribute_name(":") == ""


@pytest.mark.parametrize("form", ["", "guess"])
def test_attributes_come_over_rest_under_another_name(study: Study, form: str) -> None:
    script = Script("olga")
    address = "/api/v1/studies/study/ratings/?attributes=place&map=place%3Dvenue" + (f"&{form}=true" if form else "")
    answer = script.client.post(address, LONG, content_type="text/csv", headers=script.headers)
    assert answer.status_code == 201 and answer.json()["n_attributes"] == 2, answer.content
    assert attributes()["acme/rocket#1"] == {"place": "chat"}


def test_analyses_count_by_an_attribute_also_where_a_question_has_its_name(study: Study) -> None:
    take(
        "item,rater,dimension,value,venue,round,symptom\na,bob,symptom,crash,chat,1,said\n",
        attributes=["venue", "symptom"],
    )
    columns = study_labels(make.owner_seat(study)).columns.attributes
    assert {name: each.categories.keys for name, each in columns.items()} == {
        "venue": ("chat",),
        "attribute.symptom": ("said",),
    }
    script = Script("olga")
    answer = script.send("GET", "studies/study/analysis/counts/?dimension=symptom&by=venue").json()
    assert [(each["value"], each["n"]) for each in answer["groups"]] == [("chat", 1)]


def test_attributes_stand_on_the_items_page_and_in_the_file_of_items(study: Study, client: Client) -> None:
    make.issues(2)
    take(LONG, attributes=["venue"])
    item = Item.objects.get(identifier="acme/rocket#1")
    assert item.snapshot_id
    client.force_login(make.user("rea"))
    page = client.get(f"/studies/study/items/{item.pk}/").content.decode()
    assert "Imported attributes" in page and "<dd>chat</dd>" in page
    file = io.BytesIO()
    seat = make.owner_seat(study)
    write_file(read_export_request(seat, "items", "jsonl", {}), seat, file, unwatched)
    first = json.loads(file.getvalue().decode().splitlines()[0])
    assert json.loads(first["attributes"]) == {"venue": "chat"}
