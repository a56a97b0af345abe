"""Names of issues have no case: items that a sheet named before their issues were stored, and items of a request."""

import pytest

from annotation.calibration.actions.gold import set_gold
from annotation.choosing.actions.samples import draw_sample, screen_items, take_in
from annotation.core.access import get_item, items_by_identifier
from annotation.imports.actions.ratings import import_ratings
from annotation.models import Item, RoundItem, Study
from annotation.rounds.actions import rounds
from ingest.models import FormerName, Repository
from tests import builders as make
from tests.scripts import Script

pytestmark = pytest.mark.django_db


def named_by_sheet(name: str) -> Study:
    """A study whose round 1 is a sheet with labels of two people for item 1 of this repository, stored afterward."""
    study = make.study()
    sheet = f"item,rater,dimension,value\n{name}#1,Ann,symptom,crash\n{name}#1,Ben,symptom,hang\n"
    import_ratings(user=make.user("olga"), study="study", file=sheet.encode(), name="sheet.csv")
    make.issues(2)
    FormerName.objects.create(repository=Repository.objects.get(), host="github.com", owner="acme", name="shuttle")
    return study


@pytest.mark.parametrize(
    ("sheet", "door"),
    [
        ("acme/rocket", "acme/rocket#1"),
        ("ACME/Rocket", "acme/rocket#1"),
        ("ACME/Rocket", "https://github.com/acme/ROCKET/issues/1"),
        ("ACME/Rocket", "sample"),
        ("ACME/Rocket", "screening"),
        ("Acme/Shuttle", "acme/rocket#1"),
    ],
)
def test_an_item_that_a_sheet_named_before_its_issue_was_stored_is_the_item_of_this_issue(
    sheet: str, door: str
) -> None:
    study = named_by_sheet(sheet)
    seat = make.owner_seat(study)
    if door in ("sample", "screening"):
        sample = draw_sample(seat=seat, size=2, filter={"repository": "acme/rocket"})
        if door == "sample":
            take_in(seat=seat, sample=sample)
        else:
            screen_items(seat=seat, screening="in", items=["acme/ROCKET#1", "Acme/rocket#2"])
    body = {"kind": "main", "issues": [door if "#1" in door or "/1" in door else "acme/rocket#1", "acme/rocket#2"]}
    made = Script("olga").send("POST", "studies/study/rounds/", {"raters": ["bob"], "raters_per_item": 1} | body)
    assert made.status_code == 201, made.json()
    items = {each.identifier: each for each in Item.objects.select_related("issue")}
    assert items.keys() == {f"{sheet}#1", "acme/rocket#2"}
    first = items[f"{sheet}#1"]
    assert first.issue is not None and first.issue.number == 1 and first.snapshot_id == first.issue.current_snapshot_id
    rounds.open_round(seat=seat, number=2, unregistered=True, reason="Go on.")
    assert Script("bob").send("GET", "studies/study/labels/?round=1").json()["results"] == []


def test_of_two_items_of_one_issue_the_one_of_the_same_name_is_taken_and_none_is_merged() -> None:
    study = named_by_sheet("ACME/Rocket")
    for name in ("acme/rocket#1", "paper-7"):
        Item.objects.create(study=study, identifier=name)
    rounds.create_round(
        seat=make.owner_seat(study),
        asked=rounds.NewRound(raters=["bob"], issues=["acme/rocket#1", "acme/rocket#2"], raters_per_item=1),
    )
    with_issue = dict(Item.objects.order_by("pk").values_list("identifier", "issue__number"))
    assert with_issue == {"ACME/Rocket#1": None, "acme/rocket#1": 1, "paper-7": None, "acme/rocket#2": 2}
    found = items_by_identifier(study, ["ACME/Rocket#1", "acme/Rocket#1", "Acme/Shuttle#2", "PAPER-7"])
    assert {name: item.identifier for name, item in found.items()} == {
        "ACME/Rocket#1": "ACME/Rocket#1", "acme/Rocket#1": "acme/rocket#1", "Acme/Shuttle#2": "acme/rocket#2",
    }  # fmt: skip
    assert get_item(make.seat(study, "ada"), "Acme/ROCKET#2").identifier == "acme/rocket#2"


def test_calibration_items_are_found_by_names_in_any_case() -> None:
    study = named_by_sheet("ACME/Rocket")
    crash = {"labels": {"symptom": ["crash"]}, "why": "It stops."}
    body = {"issues": ["acme/rocket#2"], "raters": ["bob"], "raters_per_item": 1, "known": {"acme/rocket#1": crash}}
    made = Script("olga").send("POST", "studies/study/rounds/", body)
    assert made.status_code == 201, made.json()
    assert set_gold(seat=make.owner_seat(study), number=2, known={"acme/ROCKET#2": crash}) == 1
    places = RoundItem.objects.filter(round__number=2).order_by("item__issue__number")
    assert [(each.item.identifier, each.known is not None) for each in places] == [
        ("ACME/Rocket#1", True), ("acme/rocket#2", True),
    ]  # fmt: skip
