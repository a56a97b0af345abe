"""Raters who are away get no items until the day of their return, and what they have is kept for them."""

import threading
from datetime import timedelta
from typing import Any

import pytest
from django.db import connections, transaction
from django.test import Client
from django.utils import timezone

from annotation.assignments.jobs import rule_round
from annotation.assignments.queries import leaving
from annotation.invitations.actions.invitations import accept_invitation, invite
from annotation.invitations.actions.own_invitations import accept
from annotation.members.actions.members import set_member
from annotation.models import Assignment, AuditEvent, Draft, Membership, Round, Study
from annotation.rounds.actions import rounds
from annotation.studies.actions import studies
from tests import builders as make
from tests.annotation.rounds.test_raters_of_open_rounds import THREE, held, row_of
from tests.asserts import wait_until_someone_waits_for_a_lock
from tests.scripts import Script

pytestmark = pytest.mark.django_db
NEXT, AWAY = "studies/study/rounds/1/next/", "studies/study/away/"


def day(n: int) -> str:
    return (timezone.now().date() + timedelta(days=n)).isoformat()


def a_round(mode: str = "planned", **more: Any) -> tuple[Study, Round]:
    study = make.study(raters=THREE)
    return study, make.open_round(study, 6, raters=THREE[:2], raters_per_item=2, mode=mode, **more)


@pytest.mark.parametrize("mode", ["planned", "pool"])
def test_an_absent_rater_gets_nothing_and_finds_everything_again(mode: str) -> None:
    a_round(mode)
    bob = Script("bob")
    first = bob.send("GET", NEXT).json()
    assignment = Assignment.objects.get(rater__code="R1", item__identifier=first["item"])
    Draft.objects.create(assignment=assignment, body={"labels": {"symptom": ["crash"]}})
    answer = bob.send("POST", AWAY, {"until": day(7)})
    assert (answer.status_code, answer.json()["away_until"]) == (200, day(7))

    refused = bob.send("GET", NEXT)
    assert (refused.status_code, refused.json()["code"]) == (409, "away") and "are kept for you" in refused.text
    assert Script("carol").send("GET", NEXT).status_code == 200
    body = {"assignment": first["assignment"], "labels": {"symptom": ["hang"]}}
    submitted = bob.send("POST", "studies/study/annotations/?next=1", body)  # what was at hand is taken all the same
    assert (submitted.status_code, submitted.json()["next"]) == (201, None)

    Membership.objects.filter(code="R1").update(away_until=timezone.now().date())  # the day has come
    assert bob.send("GET", NEXT).status_code == 200
    assert bob.send("POST", AWAY, {"until": day(7)}).status_code == 200
    assert bob.send("POST", AWAY, {"until": None}).json()["away_until"] is None
    following = bob.send("GET", NEXT).json()
    assert following["item"] != first["item"] and following["total"] == 6
    events = AuditEvent.objects.filter(verb="absence set").order_by("pk").values_list("detail", flat=True)
    assert [each["until"] for each in events] == [day(7), day(7), None]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("way", ["roles", "link", "own invitation"])
def test_an_absence_is_kept_that_is_set_while_the_roles_change(way: str) -> None:
    study, _ = a_round()
    asked = set_member(seat=make.owner_seat(study), username=make.user("ina").username, roles=["rater"]).membership
    key = asked.invitation_key or ""
    code, roles = ("R1", ["rater", "reader"]) if way != "own invitation" else (asked.code, ["rater"])
    link = invite(seat=make.owner_seat(study), roles=["reader"])[1]
    until = timezone.now().date() + timedelta(days=7)

    def change_roles() -> None:
        try:
            if way == "own invitation":
                accept(user=make.user("ina"), key=key)
            elif way == "link":
                accept_invitation(user=make.user("bob"), plaintext=link)
            else:
                set_member(seat=make.owner_seat(study), username="bob", roles=["rater", "reader"])
        finally:
            connections.close_all()

    changing = threading.Thread(target=change_roles)
    with transaction.atomic():
        Membership.objects.filter(code=code).update(away_until=until)
        changing.start()
        wait_until_someone_waits_for_a_lock()
    changing.join(60)
    member = Membership.objects.get(code=code)
    assert (member.roles, member.away_until) == (roles, until) and member.user_id


def test_the_owner_sets_and_sees_absences_and_nobody_else_does() -> None:
    a_round()
    olga, rea = Script("olga"), Script("rea")
    assert olga.send("POST", AWAY, {"user": "bob", "until": day(3)}).json()["away_until"] == day(3)
    for path in ("studies/study/members/", "studies/study/rounds/1/raters/"):
        told = {
            name: [
                each["away_until"] for each in Script(name).send("GET", path).json()["results"] if each["code"] == "R1"
            ]
            for name in ("olga", "bob", "carol", "rea")
        }
        assert told == {"olga": [day(3)], "bob": [day(3)], "carol": [None], "rea": [None]}
    assert Script("carol").send("POST", AWAY, {"user": "bob", "until": None}).status_code == 403
    assert rea.send("POST", AWAY, {"until": day(3)}).status_code == 403
    for wrong in ({}, {"until": "soon"}, {"until": day(0)}, {"until": 7}):
        assert list(Script("carol").refused("POST", AWAY, wrong)) == ["until"]
    assert list(olga.refused("POST", AWAY, {"user": "nobody", "until": day(3)})) == ["user"]


def test_pages_show_an_absence_to_the_owner_and_the_rater(client: Client) -> None:
    a_round()
    client.force_login(make.user("bob"))
    assert (
        client.post("/studies/study/away/", {"until": day(0)}, follow=True).content.decode().count("after today") == 1
    )
    until = f"{timezone.now().date() + timedelta(days=5):%-d %B %Y}"
    assert (
        f"You are away until {until}"
        in client.post("/studies/study/away/", {"until": day(5)}, follow=True).content.decode()
    )
    assert f"You are away until {until}" in client.get("/studies/study/rounds/1/label/").content.decode()
    assert f"You are away until {until}" in client.get("/studies/study/").content.decode()
    assert f"Away until {until}" in client.get("/").content.decode()
    for path in ("/studies/study/members/", "/studies/study/rounds/1/"):
        for name, sees in (("olga", True), ("bob", True), ("carol", False)):
            client.force_login(make.user(name))
            assert (f"away until {until}" in client.get(path).content.decode()) == sees


def test_nothing_of_others_goes_to_someone_who_is_away() -> None:
    study = make.study(raters=THREE)
    studies.change_study(seat=make.owner_seat(study), changes={"third_rater": True})
    round_ = make.open_round(study, 6, raters=THREE, raters_per_item=2)
    Script("olga").send("POST", AWAY, {"user": "carol", "until": day(3)})
    before = held(round_, "carol")
    moves = leaving(round_, row_of(round_, "bob"))
    assert {str(to) for to, _ in moves.given} == {"R3"} and moves.n_waiting == 2
    rounds.resolve_round(seat=make.owner_seat(study), number=1, withdraw=True)
    assert held(round_, "carol") == 0 < before

    second = make.open_round(study, 1, first=20, raters=("bob", "dan"))
    make.rate(second, "item bob dan\n20 crash hang")
    rule_round(second.pk)
    assert not Assignment.objects.filter(round=second, slot=None).exists()
    Script("olga").send("POST", AWAY, {"user": "carol", "until": None})
    assert Script("olga").send("POST", "studies/study/rounds/2/rules/").status_code == 202
    rule_round(second.pk)
    assert Assignment.objects.get(round=second, slot=None).rater.code == "R2"
