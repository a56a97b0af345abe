"""The SHA-256 of a state of a private issue, which files name in public, opens none of its text to raters."""

from importlib import import_module
from typing import Any

import pytest
from django.db import connection
from django.test import Client

from annotation.choosing.actions import pinning
from annotation.choosing.queries.changes import item_change
from annotation.core.access import get_item
from annotation.members.actions import members
from annotation.models import Annotation, AuditEvent, EarlierPin, Item, Round, Study
from annotation.rounds.actions import rounds
from ingest.models import Repository, Snapshot
from tests import builders as make
from tests.scripts import Script

pytestmark = pytest.mark.django_db
LINE = ["Training <strong>hangs</strong>", "MAX MUSTERMANN"]
"""Of the bodies of the first two states, as pages show them."""
OLD, NEW = "patient MAX MUSTERMANN ZEBRA", "NEWZEBRA of a later day"


def build_study() -> Study:
    """Of a private issue in three states, the second of which is pinned; olga may read the repository, raters not."""
    study = make.study()
    make.issues(2, private=True)
    Repository.objects.get().readers.add(make.user("olga"))
    old = make.new_state(1, body=OLD)
    middle = make.new_state(1, body="patient [redacted]")
    rounds.create_round(
        seat=make.owner_seat(study),
        asked=rounds.NewRound(raters=["bob", "carol"], raters_per_item=2, issues=["acme/rocket#1", "acme/rocket#2"]),
    )
    rounds.open_round(seat=make.owner_seat(study), number=1, unregistered=True)
    assert Item.objects.get(identifier="acme/rocket#1").snapshot == middle and old.pk != middle.pk
    make.new_state(1, title=NEW)
    return study


def state(n: int) -> str:
    """The SHA-256 of a state of the issue: 0 as it came in, 1 old, 2 pinned, 3 newest."""
    return str(Snapshot.objects.filter(issue__number=1).order_by("pk")[n].sha256)


def answer(name: str, **body: Any) -> Any:
    round_ = Round.objects.get()
    asked = {"assignment": make.assignment(round_, name, 1).public_id, "labels": {"symptom": ["crash"]}} | body
    return Script(name).send("POST", "studies/study/annotations/", asked)


def item() -> Item:
    return Item.objects.get(identifier="acme/rocket#1")


def listed(name: str) -> list[Snapshot]:
    """The states that the page of changes shows someone."""
    found = get_item(make.owner_seat(Study.objects.get()), "acme/rocket#1")
    return [each.snapshot for each in item_change(make.seat(Study.objects.get(), name), found).states]


@pytest.mark.parametrize("n", [0, 1, 3])
def test_an_answer_names_no_state_that_the_study_did_not_pin(study: Study, n: int) -> None:
    quote = {"dimension": "symptom", "category": "crash", "where": "title", "quote": "NEWZ"}
    refused = answer("bob", snapshot=state(n), evidence=[quote])
    unknown = answer("bob", snapshot="0" * 64, evidence=[quote])
    assert refused.status_code == unknown.status_code == 422
    assert refused.json()["fields"] == unknown.json()["fields"]
    assert set(refused.json()["fields"]) == {"snapshot"} and not Annotation.objects.exists()


def test_the_pinned_state_is_answered_on_by_its_name(study: Study) -> None:
    assert answer("bob", snapshot=state(2)).status_code == 201
    assert Annotation.objects.get().snapshot == item().snapshot


def test_who_may_read_the_repository_puts_no_other_state_before_the_others_either(study: Study) -> None:
    Repository.objects.get().readers.add(make.user("bob"))
    assert answer("bob", snapshot=state(3)).status_code == 422


def test_the_owner_moves_the_pin_while_a_rater_reads(study: Study) -> None:
    read = state(2)
    pinning.repin_item(seat=make.owner_seat(study), item=item())
    assert answer("bob", snapshot=read).status_code == 201
    assert answer("bob", snapshot=read, labels={"symptom": ["hang"]}).status_code == 201, "a revision"
    assert Annotation.objects.filter(snapshot__sha256=read).count() == 2
    assert answer("carol", snapshot=state(3)).status_code == 201


def test_a_rater_who_came_later_names_no_state_that_was_pinned_before(study: Study) -> None:
    read = state(2)
    pinning.repin_item(seat=make.owner_seat(study), item=item())
    members.add_member(seat=make.owner_seat(study), username=make.user("dan").username, roles=["rater"])
    later = rounds.create_round(
        seat=make.owner_seat(study), asked=rounds.NewRound(raters=["dan"], raters_per_item=1, issues=["acme/rocket#1"])
    )
    rounds.open_round(seat=make.owner_seat(study), number=later.number, unregistered=True)
    asked = {"assignment": make.assignment(later, "dan", 1).public_id, "labels": {"symptom": ["crash"]}}
    assert Script("dan").send("POST", "studies/study/annotations/", asked | {"snapshot": read}).status_code == 422


@pytest.mark.parametrize("n", [0, 1])
def test_states_that_were_never_pinned_are_shown_no_more_once_their_repository_is_private(study: Study, n: int) -> None:
    """Answers name them from the time when all could read them, or from versions that took any state of an issue."""
    old = Snapshot.objects.get(sha256=state(n))
    pinning.repin_item(seat=make.owner_seat(study), item=item())
    Repository.objects.update(private=False)
    for name, said in (("bob", "crash"), ("carol", "hang")):
        make.submit(Round.objects.get(), name, 2, {"symptom": ["crash"]})
        assert answer(name, snapshot=old.sha256, labels={"symptom": [said]}).status_code == 201
    client = Client()
    client.force_login(make.user("ada"))
    room = f"/studies/study/rounds/1/resolve/{item().pk}/"
    assert old in listed("bob")
    assert LINE[n] in client.get(room).content.decode()
    Repository.objects.update(private=True)
    assert old not in listed("bob") and old in listed("olga")
    assert LINE[n] not in client.get(room).content.decode()


def test_members_see_the_earlier_pinned_state_that_answers_were_given_on(study: Study) -> None:
    assert answer("bob").status_code == 201
    pinning.repin_item(seat=make.owner_seat(study), item=item())
    assert Snapshot.objects.get(sha256=state(2)) in listed("bob")


def test_any_state_of_a_public_issue_is_answered_on(study: Study) -> None:
    Repository.objects.update(private=False)
    assert answer("bob", snapshot=state(1)).status_code == 201


def test_the_upgrade_takes_earlier_pins_from_the_audit_log(study: Study) -> None:
    before = item().snapshot
    pinning.repin_item(seat=make.owner_seat(study), item=item())
    EarlierPin.objects.all().delete()
    AuditEvent.objects.create(study=study, verb="items re-pinned", detail={"states": "of a file that was made up"})
    AuditEvent.objects.create(study=study, verb="items re-pinned", detail={"states": ["", "x from y"]})
    migration = import_module("annotation.migrations.0022_earlier_pins")
    with connection.cursor() as cursor:
        cursor.execute(migration.FROM_THE_AUDIT)
    event = AuditEvent.objects.get(verb="items re-pinned", detail__n=1)
    found = EarlierPin.objects.filter(item=item(), until=event.at)
    assert before is not None and before.pk in found.values_list("snapshot", flat=True)
    assert EarlierPin.objects.count() == found.count()
