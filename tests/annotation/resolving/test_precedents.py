"""What stands beside a decision: how the same pair was decided before, several at once, and a taxonomy at fault."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from annotation.core.access import get_item, get_round
from annotation.core.errors import Conflict, Forbidden, Invalid, WrongState
from annotation.labels.actions.faults import propose_category
from annotation.labels.queries.verdicts import round_verdicts
from annotation.members.actions import members
from annotation.models import Proposal, Resolution, Round, Study
from annotation.resolving.actions.resolutions import reopen, resolve
from annotation.resolving.queries.precedents import MOST_LOOKED_AT, Precedents, precedents
from annotation.rounds.actions import rounds
from tests import builders as make
from tests.scripts import Script

pytestmark = pytest.mark.django_db

FAULT = {"kind": ["fault"], "symptom": ["crash"], "distributed": True}


def decide(round_: Round, number: int, value: str, **more) -> Resolution:
    seat = make.seat(round_.study, "ada")
    item = get_item(seat, f"acme/rocket#{number}")
    place = {"seat": seat, "round_": get_round(seat, round_.number), "item": item, "part": 1}
    return resolve(values=[value], dimension="symptom", **place, **more)


def before(round_: Round, number: int, who: str = "ada") -> Precedents:
    seat = make.seat(round_.study, who)
    round_ = get_round(seat, round_.number)
    item = get_item(seat, f"acme/rocket#{number}")
    ((verdict,),) = (each.verdicts for each in round_verdicts(round_, items=[item.pk]))
    return precedents(seat, round_, item.pk, verdict)


@pytest.fixture
def first() -> Round:
    """1 to 4 are crash against hang, 5 is crash against slow."""
    round_ = make.open_round(make.study(), 5)
    table = "item bob carol\n1 crash hang\n2 hang crash\n3 crash hang\n4 hang crash\n5 crash slow"
    return make.rate(round_, table)


def test_the_same_pair_is_counted_in_either_order_and_the_newest_comes_first(first) -> None:
    decide(first, 1, "hang", rationale="it waits")
    decide(first, 2, "hang")
    decide(first, 3, "slow")
    decide(first, 5, "crash")
    found = before(first, 4)
    assert found.counted == [(("hang",), 2), (None, 1)]
    assert [each.resolution.item.identifier[-1] for each in found.found] == ["3", "2", "1"]
    assert found.found[-1].resolution.rationale == "it waits"
    assert [each.is_third for each in found.found] == [True, False, False]


def test_neither_ones_own_place_nor_what_was_reopened_is_a_precedent(first) -> None:
    decide(first, 1, "hang")
    made = decide(first, 2, "hang")
    seat = make.seat(first.study, "ada")
    place = {"seat": seat, "round_": get_round(seat, 1), "item": made.item, "part": 1, "dimension": "symptom"}
    reopen(expected=made.public_id, **place)
    assert [each.resolution.item.identifier[-1] for each in before(first, 2).found] == ["1"]
    assert not before(first, 1).found


def test_precedents_of_an_earlier_version_are_followed_to_this_one(first) -> None:
    decide(first, 1, "hang")
    renamed = make.SYMPTOMS.replace("{key: hang, name: Hang}", "{key: stuck, name: Stuck, was: [hang]}")
    make.next_version(first.study, renamed)
    second = make.open_round(first.study, 1, first=9)
    make.rate(second, "item bob carol\n9 crash stuck")
    found = before(second, 9)
    assert found.counted == [(("stuck",), 1)]


def test_nothing_of_an_open_round_that_one_is_blind_in_is_a_precedent(first) -> None:
    Study.objects.update(resolve_when="item")
    decide(first, 1, "hang")
    second = make.open_round(Study.objects.get(), 2, first=20, raters=("bob", "carol"))
    make.rate(second, "item bob carol\n20 crash hang")
    decide(second, 20, "crash")
    assert len(before(first, 2).found) == 2
    assert [each.resolution.round.number for each in before(first, 2, who="bob").found] == [1]


def test_decisions_that_are_withheld_take_no_place_among_those_looked_at(first, monkeypatch) -> None:
    """Else their number would show whether the item that one rates again was decided."""
    monkeypatch.setattr("annotation.resolving.queries.precedents.MOST_LOOKED_AT", 2)
    members.add_member(seat=make.owner_seat(first.study), username=make.user("carl").username, roles=["owner", "rater"])
    make.open_round(first.study, 1, raters=("carl", "carol"))
    for number in (2, 3):
        decide(first, number, "hang")
    shown = [each.resolution.item.identifier[-1] for each in before(first, 4, who="carl").found]
    decide(first, 1, "hang")
    assert [each.resolution.item.identifier[-1] for each in before(first, 4, who="carl").found] == shown == ["3", "2"]
    assert [each.resolution.item.identifier[-1] for each in before(first, 4).found] == ["1", "3"]


def test_precedents_take_the_same_queries_whatever_there_is_and_look_at_so_many() -> None:
    study = make.study()
    counts = []
    for number, n in enumerate((3, 12), start=1):
        round_ = make.open_round(study, n, first=100 * number)
        table = [f"{100 * number + k} crash hang" for k in range(n)]
        make.rate(round_, "\n".join(["item bob carol", *table]))
        for k in range(1, n):
            decide(round_, 100 * number + k, "hang")
        before(round_, 100 * number)
        with CaptureQueriesContext(connection) as captured:
            found = before(round_, 100 * number)
        counts.append(len(captured))
    assert len(found.found) == 2 + 11 <= MOST_LOOKED_AT
    assert counts[0] == counts[1]


def test_the_page_tells_of_precedents(first) -> None:
    decide(first, 1, "hang", rationale="it waits")
    decide(first, 2, "slow")
    script = Script("ada")
    script.client.force_login(make.user("ada"))
    item = get_item(make.seat(first.study, "ada"), "acme/rocket#3")
    page = script.client.get(f"/studies/study/rounds/1/resolve/{item.pk}/").content.decode()
    assert "The same pair earlier" in page and "1 × Hang" in page and "1 × a third value" in page
    assert "it waits" in page and "acme/rocket#1" in page


def test_several_of_what_raters_gave_are_decided_at_once() -> None:
    make.study(text=make.FAULTS)
    round_ = make.open_round(Study.objects.get(), 1)
    make.submit(round_, "bob", 1, {**FAULT, "fixes": ["config"]})
    make.submit(round_, "carol", 1, {**FAULT, "fixes": ["version", "code"]})
    script = Script("ada")
    script.client.force_login(make.user("ada"))
    item = get_item(make.seat(round_.study, "ada"), "acme/rocket#1")
    page = f"/studies/study/rounds/1/resolve/{item.pk}/"
    shown = script.client.get(page).content.decode()
    assert 'value="several"' in shown and shown.count('name="several"') == 3
    filled = {"part": "1", "dimension": "fixes", "expected": "", "rationale": ""}
    script.client.post(page, filled | {"choice": "several", "several": ["config", "code"]})
    assert sorted(v.category.key for v in Resolution.objects.get().decided.all()) == ["code", "config"]


def test_a_taxonomy_at_fault_is_a_proposal_that_keeps_the_round_open_until_it_is_answered(first) -> None:
    ada, olga = Script("ada"), Script("olga")
    asked = {"item": "acme/rocket#1", "round": 1, "dimension": "symptom", "name": "Deadlock", "memo": "it waits"}
    made = ada.send("POST", "studies/study/proposals/", asked)
    assert made.status_code == 201
    answer = made.json()
    assert (answer["state"], answer["item"], answer["assignment"]) == ("open", "acme/rocket#1", None)
    assert ada.send("POST", "studies/study/proposals/", asked).json()["id"] == answer["id"]
    for number in range(1, 6):
        decide(first, number, "crash")
    owner = make.owner_seat(first.study)
    with pytest.raises(Conflict, match="open proposals"):
        rounds.close_round(seat=owner, number=1)
    olga.send("POST", f"studies/study/proposals/{answer['id']}/", {"decline": "it is a hang"})
    assert "declined: it is a hang" in page_of(first, 1)
    rounds.close_round(seat=owner, number=1)


def page_of(round_: Round, number: int) -> str:
    script = Script("ada")
    script.client.force_login(make.user("ada"))
    item = get_item(make.seat(round_.study, "ada"), f"acme/rocket#{number}")
    return script.client.get(f"/studies/study/rounds/{round_.number}/resolve/{item.pk}/").content.decode()


def test_who_may_say_that_the_taxonomy_is_at_fault_and_what_is_refused(first) -> None:
    seat = make.seat(first.study, "ada")
    place = {"round_": get_round(seat, 1), "item": get_item(seat, "acme/rocket#1"), "dimension": "symptom"}
    for name in ("bob", "rea"):
        with pytest.raises(Forbidden):
            propose_category(seat=make.seat(first.study, name), name="New", **place)
    make.user("stan", staff=True)
    with pytest.raises(Forbidden, match="members of the study"):
        propose_category(seat=make.seat(first.study, "stan"), name="New", **place)
    with pytest.raises(Invalid) as refused:
        propose_category(seat=seat, name=" ", memo="x" * 100_001, part=0, **(place | {"dimension": "colour"}))
    assert set(refused.value.fields) == {"name", "memo", "part", "dimension"}
    second = make.open_round(first.study, 1, first=9, raters=("bob", "carol"))
    with pytest.raises(WrongState):
        propose_category(seat=seat, name="New", **(place | {"round_": second, "item": second.round_items.get().item}))
    assert not Proposal.objects.exists()


def test_the_page_proposes_and_asks_a_third_rater(first) -> None:
    make.study("other", raters=("dave",), text=make.SYMPTOMS.replace("slug: symptoms", "slug: more"))
    script = Script("ada")
    script.client.force_login(make.user("ada"))
    item = get_item(make.seat(first.study, "ada"), "acme/rocket#1")
    page = f"/studies/study/rounds/1/resolve/{item.pk}/"
    asked = {"part": "1", "dimension": "symptom", "name": "Deadlock", "memo": "", "place": "1.symptom"}
    answer = script.client.post(page + "at-fault/", asked, follow=True).content.decode()
    assert "“Deadlock” is proposed. The owner answers the proposal." in answer and "not answered yet" in answer
    refused = script.client.post(page + "third-rater/", {"rater": ""}, follow=True).content.decode()
    assert "Every rater of the study has had this item" in refused
    script.client.force_login(make.user("bob"))
    assert script.client.post(page + "third-rater/", {"rater": ""}).status_code == 403
