"""A draft round is removed by its owner, and no other round ever is."""

from typing import Any

import pytest
from django.test import Client

from annotation.models import AuditEvent, Item, Round, RoundItem, RoundRater, Study
from annotation.rounds.actions import rounds
from tests import builders as make
from tests.scripts import Script

pytestmark = pytest.mark.django_db

KNOWN = {"acme/rocket#3": {"labels": {"symptom": ["crash"]}, "why": ""}}


def build_study() -> Study:
    made = make.study()
    make.issues(3)
    return made


def draft(study: Study, **more: Any) -> Round:
    issues = ["acme/rocket#1", "acme/rocket#2"]
    return rounds.create_round(
        seat=make.owner_seat(study), asked=rounds.NewRound(raters=["bob", "carol"], issues=issues, **more)
    )


def post(name: str, path: str) -> Any:
    client = Client()
    client.force_login(make.user(name))
    return client.post(f"/studies/study/{path}")


def test_a_removed_draft_leaves_its_items_and_a_line_in_the_audit(study: Study) -> None:
    draft(study, kind="pilot", known=KNOWN)
    answer = post("olga", "rounds/1/remove/")
    assert (answer.status_code, answer["Location"]) == (302, "/studies/study/rounds/")
    assert not Round.objects.exists() and not RoundItem.objects.exists() and not RoundRater.objects.exists()
    assert Item.objects.count() == 3
    event = AuditEvent.objects.get(study=study, verb="draft round removed")
    assert event.detail == {"round": 1, "kind": "pilot", "items": 3}


def test_the_number_of_a_draft_that_was_deleted_is_not_used_again(study: Study) -> None:
    """A page or a link of it would lead to another round, and what the audit log says of it would be said of that."""
    draft(study), draft(study)
    olga = Script("olga")
    assert olga.send("DELETE", "studies/study/rounds/2/").status_code == 204
    assert draft(study).number == 3
    for number in (1, 3):
        assert olga.send("DELETE", f"studies/study/rounds/{number}/").status_code == 204
    assert draft(study).number == 4


def test_a_round_that_was_opened_is_never_removed(study: Study) -> None:
    made = draft(study)
    rounds.open_round(seat=make.owner_seat(study), number=1, unregistered=True)
    for state in (Round.State.OPEN, Round.State.RESOLVING, Round.State.CLOSED, Round.State.UNDONE):
        Round.objects.filter(pk=made.pk).update(state=state)
        Script("olga").refused("DELETE", "studies/study/rounds/1/", None, 409)
        assert post("olga", "rounds/1/remove/").status_code == 409
    assert Round.objects.filter(pk=made.pk).exists()


def test_the_worklist_of_a_plan_is_not_removed_by_hand(study: Study) -> None:
    make.rate(make.open_round(study, 1), "item bob carol\n1 crash crash")
    made = make.worklist(study, 1, "issue asked raters\n1 symptom bob", state=Round.State.DRAFT)
    Script("olga").refused("DELETE", f"studies/study/rounds/{made.number}/", None, 409)


@pytest.mark.parametrize(("name", "status"), [("ada", 403), ("bob", 403), ("rea", 403), ("eve", 404)])
def test_only_the_owner_removes_a_draft(study: Study, name: str, status: int) -> None:
    draft(study)
    make.user(name)
    Script(name).refused("DELETE", "studies/study/rounds/1/", None, status)
    assert post(name, "rounds/1/remove/").status_code == status
    Script("olga").refused("DELETE", "studies/study/rounds/9/", None, 404)
    assert Client().post("/studies/study/rounds/1/remove/").status_code == 302
    assert Round.objects.count() == 1
