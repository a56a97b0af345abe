"""Each rater beside what was agreed on: alike by itself where nobody differed, told apart where it was decided."""

import re
from html import unescape
from typing import Any

import pytest
from django.test import Client

from annotation.agreement_report.queries.across_rounds import visible_rounds
from annotation.agreement_report.queries.coefficients import agreement_and_raters
from annotation.agreement_report.queries.options import ask
from annotation.core.access import get_whole_study
from annotation.models import Item, Resolution, Round, Study
from annotation.resolving.actions.resolutions import reopen, resolve
from annotation.rounds.actions import rounds
from tests import builders as make

pytestmark = pytest.mark.django_db


def by_rater(study: Study, dimension: str = "symptom", **words: str) -> dict[str, tuple[Any, ...]]:
    seat = get_whole_study(study.slug)
    asked = ask(seat, {"dimension": dimension, **words})
    (entry,) = agreement_and_raters(seat, visible_rounds(seat), asked, round_number=None)
    return {
        each["rater"]: (each["n"], each["percent_agreement"], each["n_decided"], each["decided_agreement"])
        for each in entry["by_rater"]
    }


def decide(round_: Round, number: int, values: list[Any], dimension: str = "symptom") -> None:
    item = Item.objects.get(identifier=f"acme/rocket#{number}")
    seat = make.owner_seat(round_.study)
    resolve(seat=seat, round_=round_, item=item, part=1, dimension=dimension, values=values)


def test_what_was_decided_tells_who_was_right_and_unanimous_items_agree_by_themselves() -> None:
    study = make.study()
    table = "item bob carol\n1 crash crash\n2 crash hang\n3 hang slow\n4 slow crash\n5 hang -\n6 PENDING PENDING"
    round_ = make.rate(make.open_round(study, 6), table)
    assert by_rater(study) == {"R1": (1, 1, 0, None), "R2": (1, 1, 0, None)}
    decide(round_, 2, ["crash"])
    decide(round_, 3, ["hang"])
    assert by_rater(study) == {"R1": (3, 1, 2, 1), "R2": (3, pytest.approx(1 / 3), 2, 0)}
    decide(round_, 4, ["crash"])
    assert by_rater(study)["R1"] == (4, 0.75, 3, pytest.approx(2 / 3))
    item = Item.objects.get(identifier="acme/rocket#4")
    made = Resolution.objects.get(item=item)
    place: dict[str, Any] = {
        "item": item,
        "part": 1,
        "dimension": "symptom",
        "rationale": "",
        "expected": made.public_id,
    }
    reopen(seat=make.owner_seat(study), round_=round_, **place)
    assert by_rater(study) == {"R1": (3, 1, 2, 1), "R2": (3, pytest.approx(1 / 3), 2, 0)}
    assert set(by_rater(study, raters="R1,R2")) == {"R1", "R2"}


def test_who_came_together_in_discussion_is_held_to_what_they_came_to() -> None:
    study = make.study()
    round_ = make.rate(make.open_round(study, 2), "item bob carol\n1 crash crash\n2 crash hang")
    make.submit(round_, "carol", 2, {"symptom": ["crash"]}, key="later")
    assert by_rater(study) == {"R1": (2, 1, 0, None), "R2": (2, 0.5, 0, None)}
    assert by_rater(study, when="after")["R2"] == (2, 1, 0, None)


def test_a_decision_above_takes_what_hung_on_it_along() -> None:
    study = make.study(text=make.FAULTS, raters=("bob", "carol", "dan"))
    fault = {"kind": ["fault"], "symptom": ["crash"], "fixes": [], "distributed": True}
    round_ = make.open_round(study, 1, raters=("bob", "carol", "dan"))
    for name, answer in (("bob", fault), ("carol", fault), ("dan", {"kind": ["how-to"]})):
        make.submit(round_, name, 1, answer)
    round_ = Round.objects.get()
    decide(round_, 1, ["how-to"], "kind")
    assert by_rater(study) == {}
    assert by_rater(study, "kind") == {"R1": (1, 0, 1, 0), "R2": (1, 0, 1, 0), "R3": (1, 1, 1, 1)}


def test_who_labeled_an_item_in_two_rounds_is_held_to_themselves() -> None:
    study = make.study()
    first = make.rate(make.open_round(study, 3, kind="pilot"), "item bob carol\n1 crash crash\n2 crash hang\n3 slow -")
    rounds.close_round(seat=make.owner_seat(study), number=first.number, leave_open=True)
    make.rate(make.open_round(study, 3), "item bob carol\n1 crash crash\n2 hang hang\n3 slow slow")
    seat = get_whole_study(study.slug)
    (entry,) = agreement_and_raters(seat, visible_rounds(seat), ask(seat, {}), round_number=None)
    found = {each["rater"]: each for each in entry["intra_rater"]}
    assert {code: (each["n"], each["days_between"]) for code, each in found.items()} == {"R1": (3, 0), "R2": (2, 0)}
    assert found["R1"]["percent_agreement"] == pytest.approx(2 / 3) and found["R2"]["percent_agreement"] == 1
    # R1: crash 2, slow 1 earlier; crash, hang, slow later: (2/3 − 3/9) / (1 − 3/9)
    assert found["R1"]["cohen_kappa"] == pytest.approx(0.5)
    (alone,) = agreement_and_raters(seat, visible_rounds(seat, 2), ask(seat, {}), round_number=2)
    assert alone["intra_rater"] == []


def items_at(address: str) -> list[str]:
    client = Client()
    client.force_login(make.user("olga"))
    page = client.get(unescape(address)).content.decode()
    return re.findall(r"#round-\d+\">acme/rocket#(\d+)<", page)


def test_what_stands_beside_a_rater_leads_to_the_items_it_rests_on() -> None:
    study = make.study()
    table = "item bob carol\n1 crash crash\n2 crash hang\n3 hang slow\n4 slow -"
    round_ = make.rate(make.open_round(study, 4), table)
    decide(round_, 2, ["crash"])
    client = Client()
    client.force_login(make.user("olga"))
    page = client.get("/studies/study/agreement/").content.decode()
    table = page.partition("Raters and the agreed labels")[2].partition("</table>")[0]
    of_bob, of_carol = table.partition("<tbody>")[2].split("</tr>")[:2]
    links = re.findall(r'href="([^"]+)"', of_bob)
    assert [items_at(link) for link in links] == [["1", "2", "3"]] * (len(links) - 2) + [["2"]] * 2
    assert items_at(re.findall(r'href="([^"]+)"', of_carol)[-1]) == ["2"]
    assert client.get("/studies/study/agreement/items/?dimension=symptom&show=decided").status_code == 422


def test_what_a_rater_said_twice_leads_to_the_items_of_both_rounds() -> None:
    study = make.study()
    for values in ("crash hang", "crash crash"):
        round_ = make.open_round(study, 2)
        make.rate(round_, f"item bob carol\n1 {values}\n2 {values}")
        rounds.close_round(seat=make.owner_seat(study), number=round_.number, leave_open=True)
    make.rate(make.open_round(study, 1, first=9), "item bob carol\n9 crash crash")
    client = Client()
    client.force_login(make.user("olga"))
    page = client.get("/studies/study/agreement/").content.decode()
    table = page.partition("Intra-rater agreement")[2].partition("</table>")[0]
    links = re.findall(r'href="([^"]+)"', table)
    assert links and all(items_at(link) == ["1", "2", "1", "2"] for link in links)
