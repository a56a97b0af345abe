"""Reopening what was decided: it counts no more anywhere, and its history is kept."""

import pytest

from annotation.core.access import get_item, get_round
from annotation.core.errors import Blind, Conflict, Forbidden, Invalid, Stale
from annotation.labels.queries.verdicts import round_verdicts
from annotation.members.actions import members
from annotation.models import AuditEvent, Resolution, Round, Study
from annotation.proposals.queries import filter_proposals, visible_proposals
from annotation.resolving.actions.resolutions import reopen, resolve
from annotation.resolving.queries.queue import queue_of
from annotation.rounds.actions import rounds
from tests import builders as make
from tests.scripts import Script

pytestmark = pytest.mark.django_db


def place(round_: Round, number: int = 1, who: str = "ada", dimension: str = "symptom") -> dict[str, object]:
    seat = make.seat(round_.study, who)
    item = get_item(seat, f"acme/rocket#{number}")
    return {
        "seat": seat,
        "round_": get_round(seat, round_.number),
        "item": item,
        "part": 1,
        "dimension": dimension,
    }


def state(round_: Round, number: int = 1) -> tuple[str, object]:
    item = get_item(make.owner_seat(round_.study), f"acme/rocket#{number}")
    ((verdict,),) = (each.verdicts for each in round_verdicts(round_, items=[item.pk]))
    return verdict.state, verdict.values


@pytest.fixture
def disputed() -> Round:
    round_ = make.open_round(make.study(), 3)
    return make.rate(round_, "item bob carol\n1 crash hang\n2 slow slow\n3 PENDING slow")


def test_a_reopened_place_is_open_again_and_all_that_was_decided_is_kept(disputed) -> None:
    first = resolve(values=["crash"], rationale="it stops", **place(disputed))
    again = reopen(rationale="the trace says otherwise", expected=first.public_id, **place(disputed, who="olga"))
    assert (again.revision, again.method, again.decided.count()) == (2, "reopened", 0)
    assert state(disputed) == ("open", None)
    assert queue_of(disputed).n_open == 2
    assert list(AuditEvent.objects.filter(verb="reopened").values_list("user__username", "detail__item")) == [
        ("olga", "acme/rocket#1")
    ]
    resolve(values=["hang"], expected=None, **place(disputed))
    assert state(disputed) == ("resolved", ("hang",))
    assert [row.method for row in Resolution.objects.order_by("revision")] == ["adjudicator", "reopened", "adjudicator"]


def test_the_next_decision_may_name_the_reopening_and_nothing_older(disputed) -> None:
    first = resolve(values=["crash"], **place(disputed))
    again = reopen(expected=first.public_id, **place(disputed))
    with pytest.raises(Stale, match="ada reopened this after you opened it"):
        resolve(values=["hang"], expected=first.public_id, **place(disputed))
    resolve(values=["hang"], expected=again.public_id, **place(disputed))


def test_a_unanimous_item_that_was_overruled_is_agreed_again(disputed) -> None:
    first = resolve(values=["crash"], **place(disputed, 2))
    assert state(disputed, 2) == ("resolved", ("crash",))
    reopen(expected=first.public_id, **place(disputed, 2))
    assert state(disputed, 2) == ("agreed", ("slow",))


def test_what_nobody_decided_or_is_open_already_cannot_be_reopened(disputed) -> None:
    with pytest.raises(Invalid, match="not reopened"):
        reopen(**place(disputed))
    first = resolve(values=["crash"], **place(disputed))
    with pytest.raises(Stale):
        reopen(expected=None, **place(disputed))
    reopen(expected=first.public_id, **place(disputed))
    with pytest.raises(Invalid):
        reopen(**place(disputed))
    with pytest.raises(Invalid) as refused:
        reopen(**(place(disputed, 2) | {"dimension": "colour"}), rationale="x" * 20_001)
    assert set(refused.value.fields) == {"dimension", "rationale"}
    assert Resolution.objects.count() == 2


def test_a_proposal_waits_again_when_its_place_is_reopened(disputed) -> None:
    def waiting() -> int:
        return filter_proposals(visible_proposals(make.owner_seat(disputed.study)), state="open").count()

    first = resolve(values=["crash"], **place(disputed, 3))
    assert waiting() == 0
    reopen(expected=first.public_id, **place(disputed, 3))
    assert waiting() == 1
    resolve(values=["crash"], **place(disputed, 3))
    assert waiting() == 0


def test_a_reopened_place_stands_in_the_way_of_closing(disputed) -> None:
    first = resolve(values=["crash"], **place(disputed))
    resolve(values=["crash"], **place(disputed, 3))
    reopen(expected=first.public_id, **place(disputed))
    with pytest.raises(Conflict, match="open disagreements"):
        rounds.close_round(seat=make.owner_seat(disputed.study), number=1)


def test_raters_do_not_reopen_and_whoever_rates_in_an_open_round_is_blind_to_it(disputed) -> None:
    first = resolve(values=["crash"], **place(disputed))
    for name in ("bob", "rea"):
        with pytest.raises(Forbidden):
            reopen(expected=first.public_id, **place(disputed, who=name))
    study = disputed.study
    Study.objects.update(resolve_when="item")
    members.add_member(seat=make.owner_seat(study), username="olga", roles=["owner", "rater"])
    open_one = make.open_round(study, 1, raters=("bob", "olga"), first=8)
    with pytest.raises(Blind):
        reopen(**place(open_one, 8, who="olga"))


def test_a_script_reopens_and_reads_it_in_the_exports(disputed) -> None:
    ada, olga = Script("ada"), Script("olga")
    asked = {"item": "acme/rocket#1", "dimension": "symptom"}
    first = ada.send("POST", "studies/study/resolutions/", asked | {"values": ["crash"], "expected": None}).json()
    again = {"reopen": True, "rationale": "Reload", "expected": first["id"]}
    assert ada.refused("POST", "studies/study/resolutions/", asked | again | {"values": ["hang"]}) == {
        "values": ["Either resolve or reopen. A reopened place has no values and no meeting."]
    }
    made = ada.send("POST", "studies/study/resolutions/", asked | again)
    assert made.status_code == 201
    answer = made.json()
    assert (answer["method"], answer["values"], answer["revision"]) == ("reopened", [], 2)
    assert ada.send("POST", "studies/study/resolutions/", asked | again).status_code == 409
    found = ada.send("GET", "studies/study/disagreements/").json()["results"]
    first = found[0]
    assert (first["item"], first["state"], first["resolution"]) == ("acme/rocket#1", "open", None)
    labels = olga.send("GET", "studies/study/labels/").json()["results"]
    assert all(row["values"] is None or row["item"] != "acme/rocket#1" for row in labels)
