"""Independence of raters: whoever could read the answers of an open round rates there only as somebody who could."""

from typing import Any

import pytest
from django.test import Client

from annotation import ruling
from annotation.access import get_item
from annotation.actions import giving, leaving, studies
from annotation.models import Assignment, AuditEvent, RoundRater, Study
from tests import builders as make
from tests.scripts import Script

pytestmark = pytest.mark.django_db

HANG = {"labels": {"symptom": ["hang"]}}


def study_with_arat(**more: Any) -> Study:
    """A study in which arat adjudicates and rates, in addition to olga, ada and the raters bob and carol."""
    study = make.study(**more)
    roles = ["adjudicator", "rater"]
    studies.add_member(seat=make.owner_seat(study), username=make.user("arat").username, roles=roles)
    return study


def read_by(name: str, path: str = "ratings/?round=1") -> Any:
    return Script(name).send("GET", f"studies/study/{path}")


def test_a_rater_without_an_item_is_blind_in_a_planned_round_and_stays_so_when_items_come() -> None:
    study = study_with_arat()
    round_ = make.open_round(study, 4, kind="main")
    assert giving.add_rater(seat=make.owner_seat(study), number=1, user="arat").n_given == 0
    make.rate(round_, "item bob\n1 hang\n2 hang")
    assert read_by("arat").json()["results"] == []
    assert make.seat(study, "arat").blind_round_ids == {round_.pk}
    assert read_by("arat", "agreement/?round=1").status_code == 403
    found = giving.withdraw_rater(seat=make.owner_seat(study), number=1, rater="carol")
    assert {to.code: n for to, n in found.given} == {"R3": 4}
    assert read_by("arat").json()["results"] == []


def replaced(study: Study, name: str) -> Any:
    """Bob has answered items 1 to 4, carol none and is withdrawn; then `name` is to take her place."""
    round_ = make.open_round(study, 4, kind="main")
    make.rate(round_, "item bob\n1 hang\n2 hang\n3 crash\n4 crash")
    giving.withdraw_rater(seat=make.owner_seat(study), number=1, rater="carol")
    return round_


def rejected(answer: Any, code: str = "not_blind_any_more") -> str:
    assert (answer.status_code, answer.json()["code"]) == (409, code), answer.content
    return str(answer.json()["message"])


def add(name: str, **more: Any) -> Any:
    return Script("olga").send("POST", "studies/study/rounds/1/raters/", {"user": name, **more})


def before(path: str = "agreement/?round=1&when=before") -> Any:
    (entry,) = Script("rea").send("GET", f"studies/study/{path}").json()
    return entry


@pytest.mark.parametrize("name", ["olga", "ada"])
def test_an_owner_or_adjudicator_who_read_answers_is_added_only_as_an_unblinded_rater(name: str) -> None:
    study = make.study()
    round_ = replaced(study, name)
    roles = {"olga": ["owner", "rater"], "ada": ["adjudicator", "rater"]}[name]
    studies.add_member(seat=make.owner_seat(study), username=name, roles=roles)
    assert len(read_by(name).json()["results"]) == 4
    assert "could read its answers" in rejected(add(name))
    assert not RoundRater.objects.filter(rater__user__username=name).exists()
    made = add(name, unblinded=True)
    assert (made.status_code, made.json()["unblinded"], made.json()["n_assigned"]) == (201, True, 4)
    make.rate(round_, f"item {name}\n1 hang\n2 hang\n3 hang\n4 hang")
    round_.refresh_from_db()
    assert round_.state == "resolving"


def with_an_unblinded_rater() -> tuple[Study, Any]:
    """Bob answers items 1 to 4, ada reads them and answers in carol's place, twice otherwise; a round that resolves."""
    study = make.study()
    round_ = replaced(study, "ada")
    studies.add_member(seat=make.owner_seat(study), username="ada", roles=["adjudicator", "rater"])
    assert add("ada", unblinded=True).status_code == 201
    return study, make.rate(round_, "item ada\n1 hang\n2 hang\n3 hang\n4 hang")


def test_answers_of_an_unblinded_rater_count_nowhere_before_discussion_and_everywhere_after() -> None:
    _, round_ = with_an_unblinded_rater()
    assert before()["units"] == 0
    after = before("agreement/?round=1&when=after")
    assert (after["units"], after["raters"]) == (4, 2)
    rows = read_by("olga").json()["results"]
    assert {(row["rater"], row["revision"]) for row in rows} == {("R1", "blind"), ("R3", "current")}
    blind = read_by("olga", "ratings/?round=1&revision=blind").json()["results"]
    assert {row["rater"] for row in blind} == {"R1"}
    make.submit(round_, "ada", 3, {"symptom": ["crash"]})
    rows = read_by("olga").json()["results"]
    assert {(row["rater"], row["revision"]) for row in rows} == {("R1", "blind"), ("R3", "current")}
    open_now = Script("ada").send("GET", "studies/study/disagreements/").json()["results"]
    assert [row["item"] for row in open_now] == ["acme/rocket#4"]
    labels = read_by("olga", "labels/?round=1").json()["results"]
    assert {row["item"] for row in labels} == {f"acme/rocket#{n}" for n in (1, 2, 3)}


def test_methods_and_checklist_name_an_unblinded_rater_by_code_and_claim_no_more() -> None:
    with_an_unblinded_rater()
    found = read_by("olga", "agreement/methods/").json()
    assert "R3 (round 1) could read answers of others before answering" in found["paragraph"]
    assert "The other raters labelled without seeing" in found["paragraph"]
    assert "came from sheets" not in found["paragraph"]
    (check,) = [each for each in found["checklist"] if each["key"] == "independent"]
    assert check["answer"] == "partly" and "R3 (round 1) could read" in check["evidence"]


def test_the_checklist_says_yes_where_nobody_could_read_before_rating() -> None:
    study = make.study()
    make.rate(make.open_round(study, 2), "item bob carol\n1 hang hang\n2 crash hang")
    found = read_by("olga", "agreement/methods/").json()
    (check,) = [each for each in found["checklist"] if each["key"] == "independent"]
    assert check["answer"] == "yes" and "Raters labelled without seeing" in found["paragraph"]


def test_a_role_that_was_given_up_counts_if_there_were_answers_and_not_if_there_were_none() -> None:
    study = make.study(raters=("bob", "carol", "dan", "eve"))
    owner = make.owner_seat(study)
    studies.add_member(seat=owner, username="dan", roles=["adjudicator", "rater"])
    round_ = make.open_round(study, 2, kind="main")
    studies.add_member(seat=owner, username="dan", roles=["rater"])
    studies.add_member(seat=owner, username="eve", roles=["adjudicator", "rater"])
    make.rate(round_, "item bob\n1 hang")
    studies.add_member(seat=owner, username="eve", roles=["rater"])
    assert add("dan").json()["unblinded"] is False
    rejected(add("eve"))


def test_leaving_the_study_and_coming_back_does_not_blind_anybody_again() -> None:
    study = study_with_arat()
    round_ = make.open_round(study, 2, kind="main")
    make.rate(round_, "item bob\n1 hang")
    leaving.leave_study(seat=make.seat(study, "arat"))
    studies.add_member(seat=make.owner_seat(study), username="arat", roles=["rater"])
    rejected(add("arat"))


def test_an_adjudicator_who_rates_from_the_start_stays_blind_whoever_leaves_and_whatever_they_become() -> None:
    study = study_with_arat()
    round_ = make.open_round(study, 2, raters=("bob", "arat"), kind="main")
    make.rate(round_, "item bob\n1 hang\n2 hang")
    make.submit(round_, "arat", 1, {"symptom": ["hang"]})
    owner = make.owner_seat(study)
    studies.add_member(seat=owner, username="arat", roles=["owner", "rater"])
    giving.withdraw_rater(seat=owner, number=1, rater="R3")
    assert make.seat(study, "arat").blind_round_ids == {round_.pk}
    assert add("arat").json()["unblinded"] is False


def test_an_adjudicator_who_left_without_an_answer_could_read_since() -> None:
    study = study_with_arat()
    round_ = make.open_round(study, 2, raters=("bob", "arat", "carol"), kind="main")
    make.rate(round_, "item bob\n1 hang\n2 hang")
    giving.withdraw_rater(seat=make.owner_seat(study), number=1, rater="R3")
    assert len(read_by("arat").json()["results"]) == 2
    rejected(add("arat"))


def test_before_the_first_answer_of_somebody_else_everybody_is_blind() -> None:
    study = study_with_arat()
    make.open_round(study, 2, kind="main")
    assert add("arat").json()["unblinded"] is False


def test_unblinded_is_true_or_false() -> None:
    study = study_with_arat()
    make.open_round(study, 2, kind="main")
    fields = Script("olga").refused("POST", "studies/study/rounds/1/raters/", {"user": "arat", "unblinded": "yes"})
    assert list(fields) == ["unblinded"]


def test_the_page_says_what_an_unblinded_rater_means_and_adds_one_only_by_the_second_button() -> None:
    study = make.study()
    replaced(study, "ada")
    studies.add_member(seat=make.owner_seat(study), username="ada", roles=["adjudicator", "rater"])
    olga = Client()
    olga.force_login(make.user("olga"))
    answer = olga.post("/studies/study/rounds/1/raters/add/", {"user": "R3", "quota": "2"})
    page = answer.content.decode()
    assert answer.status_code == 409 and "Add R3 as an unblinded rater" in page and 'value="2"' in page
    assert not RoundRater.objects.filter(rater__user__username="ada").exists()
    form = {"user": "R3", "quota": "2", "unblinded": "1"}
    assert olga.post("/studies/study/rounds/1/raters/add/", form).status_code == 302
    assert ">unblinded</span>" in olga.get("/studies/study/rounds/1/").content.decode()
    assert AuditEvent.objects.get(verb="rater added").detail["unblinded"] is True


# Third raters


def disputed(study: Study) -> Any:
    return make.rate(make.open_round(study, 1, kind="main"), "item bob carol\n1 crash hang")


def ask(**more: Any) -> Any:
    return Script("olga").send("POST", "studies/study/third-raters/", {"item": "acme/rocket#1", **more})


def test_a_rule_never_asks_somebody_who_could_read_the_answers() -> None:
    study = study_with_arat()
    round_ = disputed(study)
    assert round_.state == "resolving"
    studies.change_study(seat=make.owner_seat(study), changes={"third_rater": True})
    ruling.rule_items(round_.pk, [get_item(make.owner_seat(study), "acme/rocket#1").pk])
    assert not Assignment.objects.filter(round=round_, slot=None).exists()
    studies.add_member(seat=make.owner_seat(study), username=make.user("dan").username, roles=["rater"])
    ruling.rule_items(round_.pk, [get_item(make.owner_seat(study), "acme/rocket#1").pk])
    assert Assignment.objects.get(round=round_, slot=None).rater.user == make.user("dan")


def test_by_hand_somebody_who_could_read_the_answers_is_asked_by_name_and_marked() -> None:
    study = study_with_arat()
    round_ = disputed(study)
    assert "Name one of them" in ask().json()["fields"]["rater"][0]
    rejected(ask(rater="arat"))
    made = ask(rater="arat", unblinded=True)
    assert (made.status_code, made.json()["unblinded"]) == (201, True)
    make.submit(round_, "arat", 1, {"symptom": ["hang"]})
    given = Assignment.objects.get(round=round_, slot=None)
    assert given.blind is None and given.current is not None
    found = read_by("olga", "agreement/methods/").json()
    assert "R3 (round 1) could read answers of others before answering" in found["paragraph"]
