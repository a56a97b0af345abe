"""Names of members: a user name means its account, and a full name decides nothing."""

import pytest
from django.test import Client

from accounts.models import User
from annotation.core.errors import Invalid
from annotation.members.actions import members, name_only_members
from annotation.members.actions.leaving import leave_study, remove_member
from annotation.models import AuditEvent, Membership, Study
from tests import builders as make
from tests.scripts import Script

pytestmark = pytest.mark.django_db


def build_study() -> Study:
    """bob is R1, carol R2, and mole R3."""
    made = make.study()
    members.add_member(seat=make.owner_seat(made), username=make.user("mole").username, roles=["rater"])
    return made


def call_oneself(name: str, full_name: str) -> None:
    User.objects.filter(username=name).update(first_name=full_name)


def invite(study: Study, name: str, *roles: str) -> Membership:
    placed = members.set_member(seat=make.owner_seat(study), username=name, roles=roles or ["reader"])
    return placed.membership


def invited_again(study: Study, full_name: str, *, is_removed: bool = False) -> Membership:
    """The membership of mole, who has this full name, left or was removed, and was asked again."""
    call_oneself("mole", full_name)
    if is_removed:
        remove_member(seat=make.owner_seat(study), member=make.member(study, "mole"))
    else:
        leave_study(seat=make.seat(study, "mole"))
    return invite(study, "mole")


# Whose roles an owner sets


@pytest.mark.parametrize("is_removed", [False, True])
def test_roles_for_a_user_name_never_go_to_who_has_it_as_a_full_name(study: Study, is_removed: bool) -> None:
    real = make.user("real")
    waiting = invited_again(study, "real", is_removed=is_removed)
    answer = Script("olga").send("POST", "studies/study/members/", {"user": "real", "roles": ["owner"]})
    assert (answer.status_code, answer.json()["user"], answer.json()["state"]) == (201, "real", "invited")
    assert Membership.objects.get(invited_user=real).roles == ["owner"]
    waiting.refresh_from_db()
    assert waiting.roles == ["reader"]


def test_a_member_gets_the_roles_that_are_set_under_their_user_name(study: Study) -> None:
    make.user("pal")
    members.add_member(seat=make.owner_seat(study), username="pal", roles=["owner"])
    waiting = invited_again(study, "pal")
    assert invite(study, "pal", "reader").user == User.objects.get(username="pal")
    assert make.member(study, "pal").roles == ["reader"]
    waiting.refresh_from_db()
    assert waiting.is_invited and waiting.roles == ["reader"]


def test_a_name_is_linked_to_the_account_of_that_user_name(study: Study) -> None:
    real = make.user("real")
    ann = Membership.objects.create(study=study, name="Ann", roles=["rater"], code="R9")
    invited_again(study, "real")
    linked = name_only_members.join_member(seat=make.owner_seat(study), member=ann, username="real")
    assert linked.invited_user == real


def test_who_waits_is_called_by_the_user_name_also_where_the_row_has_another_name(study: Study) -> None:
    make.user("real")
    ann = Membership.objects.create(study=study, name="Ann", roles=["rater"], code="R9")
    name_only_members.join_member(seat=make.owner_seat(study), member=ann, username="Real")
    waiting = invited_again(study, "Anyone")
    rows = Script("olga").send("GET", "studies/study/members/").json()["results"]
    assert {row["user"] for row in rows if row["state"] == "invited"} == {"mole", "real"}
    owner = Client()
    owner.force_login(make.user("olga"))
    page = owner.get("/studies/study/members/").content.decode()
    assert 'name="username" value="mole"' in page and '<span class="muted">mole</span>' in page
    assert 'name="username" value="real"' in page and 'value="Ann"' not in page
    owner.post("/studies/study/members/", {"username": "mole", "roles": ["adjudicator"], "kind": "person"})
    waiting.refresh_from_db()
    assert waiting.roles == ["adjudicator"] and waiting.is_invited
    with pytest.raises(Invalid):
        invite(study, "Ann")
    remove_member(seat=make.owner_seat(study), member=waiting)
    assert AuditEvent.objects.get(verb="member invitation withdrawn").detail["member"] == "mole"
