"""Coverage of agreement: how many items two raters labeled, and how many only one was to label."""

import pytest
from django.test import Client

from annotation.models import Study
from tests import builders as make
from tests.scripts import Script

pytestmark = pytest.mark.django_db


def build_study() -> Study:
    """Ten items, four of them for two raters; of these one is answered by one rater alone."""
    study = make.study()
    round_ = make.open_round(study, 10, raters_per_item=2, double_share=0.4)
    places = list(round_.assignments.select_related("item", "rater__user").order_by("item", "rater"))
    double = [each for each in places if sum(other.item_id == each.item_id for other in places) == 2]
    for each in places:
        if each is not double[-1]:
            number = int(each.item.identifier.rpartition("#")[2])
            make.submit(round_, each.rater.user.username, number, {"symptom": ["crash"]})
    return study


def test_agreement_tells_how_many_items_two_raters_labeled_and_how_many_one_was_to_label(
    study: Study, client: Client
) -> None:
    (entry,) = Script("olga").send("GET", "studies/study/agreement/?round=1").json()
    assert entry["coverage"] == {"items": 10, "labeled": 10, "double": 3, "planned_for_one": 6}
    assert {each["because"]: each["n"] for each in entry["left_out_because"]} == {"planned_for_one": 6, "one_sided": 1}
    assert entry["units"] + entry["left_out"] == 10
    client.force_login(make.user("olga"))
    page = client.get("/studies/study/agreement/?round=1").content.decode()
    assert "3 of 10 items were labeled by two raters or more; 6 were planned for one rater." in page
    assert "6: planned for one rater" in page and "1: only one label counts there" in page
    behind = client.get("/studies/study/agreement/items/?dimension=symptom&show=left_out&because=planned_for_one")
    assert behind.content.decode().count("acme/rocket#") >= 6
