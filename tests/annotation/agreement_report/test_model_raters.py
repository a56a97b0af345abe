"""Machines that rate: what is stored of them, what they have no say in, and agreement with them apart."""

import json
from typing import Any

import pytest
from django.test import Client

from annotation.core.access import get_round
from annotation.core.errors import Conflict, Invalid
from annotation.labeling.actions.answers import submit_annotation
from annotation.labeling.actions.next_item import take_next
from annotation.labels.queries.verdicts import round_verdicts
from annotation.members.actions.members import add_member
from annotation.models import Assignment, Membership, Round, Study
from annotation.rounds.actions.rounds import NewRound, create_round, open_round
from tests import builders as make
from tests.asserts import assert_queries
from tests.scripts import Script

pytestmark = pytest.mark.django_db
MODEL = {"name": "Reader", "version": "3.1", "prompt": "Say what the symptom is."}


@pytest.fixture
def study(db: None) -> Study:
    made = make.study()
    make.user("model")
    add_member(seat=make.owner_seat(made), username="model", roles=["rater"], kind="machine", machine=MODEL)
    return made


@pytest.fixture
def round_(study: Study) -> Round:
    """Bob and Carol differ on the third of four; the machine says hang everywhere."""
    made = make.open_round(study, 4, raters=["bob", "carol", "model"], raters_per_item=2)
    for number in range(1, 5):
        make.submit(made, "model", number, {"symptom": ["hang"]})
    return make.rate(
        made,
        """
        item bob   carol
        1    hang  hang
        2    crash crash
        3    hang  crash
        4    slow  slow
        """,
    )


def test_name_version_and_prompt_of_a_machine_are_kept_and_told(study: Study) -> None:
    owner = Script("olga")
    listed = owner.send("GET", "studies/study/members/").json()["results"]
    assert [each["machine"] for each in listed if each["user"] == "model"] == [MODEL]
    assert {each["kind"] for each in listed if each["machine"] is None} == {"person"}
    changed = {"user": "model", "roles": ["rater"], "machine": {"prompt": "Think first."}}
    assert owner.send("POST", "studies/study/members/", changed).json()["machine"] == MODEL | {"prompt": "Think first."}


def test_a_machine_that_has_answered_stays_what_it_was(round_: Round) -> None:
    seat = make.owner_seat(round_.study)
    with pytest.raises(Conflict, match="its identity can't be changed"):
        add_member(seat=seat, username="model", roles=["rater"], machine={"version": "4"})
    with pytest.raises(Conflict, match="stays person"):
        add_member(seat=seat, username="bob", roles=["rater"], kind="machine")
    add_member(seat=seat, username="model", roles=["rater", "reader"], machine=MODEL)
    assert Membership.objects.get(user__username="model").machine_version == "3.1"


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"kind": "person", "machine": MODEL}, "machine"),
        ({"kind": "machine", "machine": {"name": 3}}, "machine.name"),
        ({"kind": "machine", "machine": {"colour": "red"}}, "machine"),
        ({"kind": "machine", "machine": "GPT"}, "machine"),
        ({"kind": "machine", "machine": {"version": "v" * 101}}, "machine.version"),
        ({"kind": "robot"}, "kind"),
    ],
)
def test_what_is_wrong_with_a_machine_is_said_by_field(study: Study, given: dict[str, Any], field: str) -> None:
    make.user("dave")
    with pytest.raises(Invalid) as error:
        add_member(seat=make.owner_seat(study), username="dave", roles=["rater"], **given)
    assert list(error.value.fields) == [field]
    assert not Membership.objects.filter(user__username="dave").exists()


def test_a_machine_has_no_slot_and_no_say_in_what_is_agreed(round_: Round) -> None:
    assert set(Assignment.objects.filter(rater__user__username="model").values_list("slot", flat=True)) == {None}
    assert round_.state == "resolving"
    found = {each.identifier.rpartition("#")[2]: each.verdicts[0] for each in round_verdicts(round_)}
    assert {number: verdict.state for number, verdict in found.items()} == {
        "1": "agreed", "2": "agreed", "3": "open", "4": "agreed"
    }  # fmt: skip
    assert found["2"].values == ("crash",)


def test_a_machine_that_is_not_done_holds_no_round_open(study: Study) -> None:
    made = make.open_round(study, 1, raters=["bob", "carol", "model"], raters_per_item=2)
    make.rate(made, "item bob carol\n1 hang hang")
    made.refresh_from_db()
    assert made.state == "resolving"
    make.submit(made, "model", 1, {"symptom": ["slow"]})  # It may come later.
    assert Assignment.objects.get(rater__user__username="model").blind_id is not None


def test_agreement_among_people_leaves_the_machine_out_and_tells_of_it_apart(round_: Round) -> None:
    [entry] = Script("olga").send("GET", "studies/study/agreement/").json()
    assert (entry["raters"], entry["units"], entry["ratings"]) == (2, 4, 8)
    assert [pair["raters"] for pair in entry["by_pair"]] == [["R1", "R2"]]
    [machine] = entry["by_machine"]
    assert (machine["machine"], machine["name"], machine["version"]) == ("R3", "Reader", "3.1")
    told = {pair["rater"]: (pair["percent_agreement"], pair["n"]) for pair in machine["pairs"]}
    assert told == {"R1": (0.5, 4), "R2": (0.25, 4)}


def test_agreement_where_no_machine_rates_says_so_by_an_empty_list(db: None) -> None:
    made = make.study()
    make.rate(make.open_round(made, 1), "item bob carol\n1 hang crash")
    [entry] = Script("olga").send("GET", "studies/study/agreement/").json()
    assert entry["by_machine"] == []


def test_people_who_are_blind_see_nothing_of_a_machine(study: Study) -> None:
    made = make.open_round(study, 2, raters=["bob", "carol", "model"], raters_per_item=2)
    make.submit(made, "model", 1, {"symptom": ["slow"]})
    bob = Script("bob")
    told = bob.send("GET", f"studies/study/rounds/{made.number}/next/").json()
    assert "slow" not in json.dumps(told | {"taxonomy": None})
    assert bob.send("GET", "studies/study/ratings/").json()["results"] == []
    assert bob.send("GET", "studies/study/agreement/").json() == []
    assert bob.send("GET", f"studies/study/disagreements/?round={made.number}").status_code == 403


def test_the_page_of_agreement_marks_the_machine_with_name_and_version(round_: Round, client: Client) -> None:
    client.force_login(make.user("olga"))
    page = client.get("/studies/study/agreement/").content.decode()
    assert "Human and model raters" in page
    assert "model rater · Reader 3.1" in page


def test_the_page_of_members_adds_a_machine_with_its_prompt(study: Study, client: Client) -> None:
    client.force_login(make.user("olga"))
    make.user("other-model")
    given = {"username": "other-model", "roles": "rater", "kind": "machine", "machine_name": "Oracle"}
    answer = client.post("/studies/study/members/", given | {"machine_prompt": "Read all."}, follow=True)
    assert "model rater · Oracle" in answer.content.decode()
    make.accept("other-model")
    made = Membership.objects.get(user__username="other-model")
    assert (made.machine_name, made.machine_prompt, made.code) == ("Oracle", "Read all.", "R4")
    client.post("/studies/study/members/", {"username": "other-model", "roles": "reader", "kind": "machine"})
    made.refresh_from_db()
    assert (made.machine_name, made.roles) == ("Oracle", ["reader"])


def test_machines_cost_agreement_a_fixed_number_of_queries(round_: Round) -> None:
    owner = Script("olga")
    owner.send("GET", "studies/study/agreement/")
    with assert_queries(14):
        owner.send("GET", "studies/study/agreement/")


def test_a_machine_is_no_third_rater_where_answers_stand_side_by_side(round_: Round, client: Client) -> None:
    client.force_login(make.user("olga"))
    report = client.get("/studies/study/agreement/").content.decode()
    assert "affect neither" not in report and "Adjudicators see them next to the raters’ labels" in report
    item = round_.round_items.get(position=3).item_id
    pages = []
    for name, address in (("olga", "resolve"), ("bob", "discuss")):
        client.force_login(make.user(name))
        pages.append(client.get(f"/studies/study/rounds/1/{address}/{item}/", follow=True).content.decode())
        assert "R1" in pages[-1] and "third rater</span>" not in pages[-1]
    assert "model rater" in pages[-1].partition("<thead>")[2].partition("</thead>")[0]


def test_a_member_who_was_given_items_stays_a_person_or_a_machine(study: Study) -> None:
    round_ = make.open_round(study, 2, raters=["bob", "carol", "model"], raters_per_item=2)
    for name, before, kind in (("model", "machine", "person"), ("bob", "person", "machine")):
        with pytest.raises(Conflict, match=f"stays {before}"):
            add_member(seat=make.owner_seat(study), username=name, roles=["rater"], kind=kind)
    assert not Assignment.objects.filter(round=round_, slot=None, rater__kind=Membership.Kind.PERSON).exists()


@pytest.mark.parametrize("mode", ["planned", "pool"])
def test_a_round_that_an_older_release_opened_with_a_machine_in_a_slot_comes_to_its_end(
    study: Study, mode: str
) -> None:
    make.user("dave")
    add_member(seat=make.owner_seat(study), username="dave", roles=["rater"])
    round_ = make.open_round(study, 2, raters=["bob", "dave"], mode=mode)
    Membership.objects.filter(study=study, user__username="dave").update(kind=Membership.Kind.MACHINE)
    for name in ("bob", "dave"):
        seat = make.seat(study, name)
        while place := take_next(seat=seat, round_=get_round(seat, 1)):
            submit_annotation(seat=seat, assignment=place.public_id, body={"labels": {"symptom": ["hang"]}})
    assert get_round(make.owner_seat(study), 1).state == Round.State.RESOLVING
    assert {each.state for each in round_verdicts(round_) for each in each.verdicts} == {"agreed"}
    assert Script("olga").send("GET", "studies/study/agreement/").json()[0]["units"] == 2


def test_a_draft_of_an_older_release_that_counts_on_a_machine_is_not_opened(study: Study) -> None:
    make.issues(1)
    made = create_round(
        seat=make.owner_seat(study),
        asked=NewRound(raters=["bob", "carol"], issues=["acme/rocket#1"], mode="pool", raters_per_item=2),
    )
    Membership.objects.filter(study=study, user__username="carol").update(kind=Membership.Kind.MACHINE)
    with pytest.raises(Conflict, match="2 raters per item need as many people. Round 1 has 1"):
        open_round(seat=make.owner_seat(study), number=made.number, unregistered=True)
