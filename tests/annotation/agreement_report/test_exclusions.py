"""Why units are left out of agreement: counted by reason, listed by reason, and adding up."""

from dataclasses import replace

import pytest
from django.test import Client

from annotation.agreement_report.queries.across_rounds import visible_rounds
from annotation.agreement_report.queries.coefficients import agreement
from annotation.agreement_report.queries.options import ask
from annotation.agreement_report.queries.units_behind import DrillDown, drill_down_units
from annotation.core.access import get_whole_study
from annotation.core.errors import Invalid
from annotation.models import Study
from taxonomy import actions as taxonomy_actions
from tests import builders as make
from tests.asserts import assert_queries

pytestmark = pytest.mark.django_db

FAULT = {"kind": ["fault"], "symptom": ["crash"], "fixes": [], "distributed": True}
HOW_TO = {"kind": ["how-to"]}


def why(study: Study, **words: str) -> dict[str, int]:
    """How many units of the symptom are left out, by reason; they add up to all of them."""
    seat = get_whole_study(study.slug)
    asked = ask(seat, {"dimension": "symptom", **words})
    (entry,) = agreement(seat, visible_rounds(seat), asked, round_number=None)
    found = {each["because"]: each["n"] for each in entry["left_out_because"]}
    assert sum(found.values()) == entry["left_out"]
    listed = {because: behind(study, because, **words) for because in found}
    assert {because: len(items) for because, items in listed.items()} == found
    assert sorted(place for places in listed.values() for place in places) == sorted(behind(study, **words))
    return found


def behind(study: Study, because: str = "", **words: str) -> list[str]:
    seat = get_whole_study(study.slug)
    words = {"dimension": "symptom", "show": "left_out", "because": because, **words}
    found = drill_down_units(seat, visible_rounds(seat), ask(seat, words), DrillDown.read(words))
    return [f"{line.item.identifier.rpartition('#')[2]}.{line.part}" for line in found.lines]


def build_study() -> Study:
    """1 alike, 2 skipped by one, 3 a question to one, 4 answered by one, 5 in parts by one, 6 proposed by one."""
    made = make.study(text=make.FAULTS)
    round_ = make.open_round(made, 6)
    for number in range(1, 7):
        make.submit(round_, "bob", number, FAULT)
    make.submit(round_, "carol", 1, FAULT)
    make.submit(round_, "carol", 2, skip="not in English")
    make.submit(round_, "carol", 3, HOW_TO)
    make.submit(round_, "carol", 5, parts=[{"labels": FAULT}, {"labels": FAULT}])
    rest = {name: value for name, value in FAULT.items() if name != "symptom"}
    make.submit(round_, "carol", 6, rest, proposals={"symptom": {"name": "New", "memo": "none fits"}})
    return made


def test_each_unit_that_is_left_out_has_its_reason(study: Study) -> None:
    assert why(study) == {"skipped": 1, "not_asked": 1, "one_sided": 2}
    assert behind(study, "skipped") == ["2.1"] and behind(study, "not_asked") == ["3.1"]
    assert behind(study, "one_sided") == ["4.1", "5.2"]


def test_what_is_left_out_by_choice_is_told_apart_from_what_would_be_anyway(study: Study) -> None:
    assert why(study, parts="single") == {"skipped": 1, "not_asked": 1, "one_sided": 2, "parts": 1}
    assert behind(study, "parts", parts="single") == ["5.1"]
    assert why(study, pending="left_out")["pending"] == 1
    assert behind(study, "pending", pending="left_out") == ["6.1"]
    both = why(study, parts="single", pending="left_out")
    assert (both["parts"], both["pending"]) == (1, 1)


def test_where_it_was_asked_of_either_what_did_not_apply_is_an_answer(study: Study) -> None:
    assert why(study, applies="either") == {"skipped": 1, "one_sided": 2}


def test_whether_it_was_asked_is_told_part_by_part() -> None:
    study = make.study(text=make.FAULTS)
    round_ = make.open_round(study, 1)
    make.submit(round_, "bob", 1, parts=[{"labels": FAULT}, {"labels": FAULT}])
    make.submit(round_, "carol", 1, parts=[{"labels": HOW_TO}, {"labels": FAULT}])
    assert why(study) == {"not_asked": 1} and behind(study, "not_asked") == ["1.1"]
    assert why(study, applies="either") == {}


def test_a_proposal_that_is_left_out_is_no_does_not_apply(study: Study) -> None:
    seat = get_whole_study(study.slug)
    words = {"dimension": "symptom", "applies": "either", "pending": "left_out"}
    (entry,) = agreement(seat, visible_rounds(seat), ask(seat, words), round_number=None)
    said = {(each["a"], each["b"]): each["n"] for each in entry["confusion"]}
    assert said == {("crash", "crash"): 2, ("crash", "(does not apply)"): 1}
    assert why(study, applies="either", pending="left_out")["pending"] == 1


def test_what_others_than_the_two_rated_is_told() -> None:
    study = make.study(raters=("bob", "carol", "dan"))
    round_ = make.open_round(study, 3, raters=("bob", "carol", "dan"))
    make.rate(round_, "item bob carol dan\n1 crash crash hang\n2 - hang crash\n3 - - slow")
    assert why(study, raters="R1,R2") == {"other_raters": 1, "skipped": 1}
    assert behind(study, "other_raters", raters="R1,R2") == ["2.1"]


def test_what_cannot_be_told_in_a_version_is_a_reason(study: Study) -> None:
    owner = make.user("olga")
    text = make.FAULTS.replace("{key: crash, name: Crash}, ", "{key: freeze, name: Freeze}, ")
    draft = taxonomy_actions.new_draft(user=owner, taxonomy=study.taxonomy, text=text)
    version = taxonomy_actions.publish_version(user=owner, version=draft)
    seat = get_whole_study(study.slug)
    asked = replace(ask(seat, {"dimension": "symptom"}), version=version)
    (entry,) = agreement(seat, visible_rounds(seat), asked, round_number=None)
    found = {each["because"]: each["n"] for each in entry["left_out_because"]}
    assert found["unmapped"] == 3 and sum(found.values()) == entry["left_out"] == 7
    told = DrillDown.read({"dimension": "symptom", "show": "left_out", "because": "unmapped"})
    lines = drill_down_units(seat, visible_rounds(seat), asked, told).lines
    assert [line.item.identifier for line in lines] == [f"acme/rocket#{number}" for number in (1, 5, 6)]


def test_a_reason_that_there_is_not_is_refused(study: Study) -> None:
    for words in ({"show": "left_out", "because": "rain"}, {"show": "differ", "because": "skipped"}):
        with pytest.raises(Invalid) as refused:
            DrillDown.read({"dimension": "symptom", **words})
        assert list(refused.value.fields) == ["because"]


def test_the_page_links_each_reason_to_its_items(study: Study) -> None:
    client = Client()
    client.force_login(make.user("olga"))
    page = client.get("/studies/study/agreement/?dimension=symptom").content.decode()
    assert "dimension=symptom&amp;show=left_out&amp;because=skipped" in page
    shown = client.get("/studies/study/agreement/items/?dimension=symptom&show=left_out&because=skipped")
    assert shown.status_code == 200 and "acme/rocket#2</a>" in shown.content.decode()
    assert "acme/rocket#4" not in shown.content.decode()


def test_reasons_cost_one_query_however_many_are_left_out(study: Study) -> None:
    round_ = make.open_round(study, 20, first=10)
    for number in range(10, 30):
        make.submit(round_, "bob", number, FAULT)
    seat = get_whole_study(study.slug)
    for number, n_more in ((1, 2), (2, 1)):  # parts of one item; and the items of units that all agree on
        rounds = visible_rounds(seat, number)
        asked = ask(seat, {"dimension": "symptom", "level": "root"})
        with assert_queries(5 + n_more):  # raters, what counts, patterns, reasons, coverage
            agreement(seat, rounds, asked, round_number=number)
