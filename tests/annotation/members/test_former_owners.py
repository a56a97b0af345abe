"""Former owners: what they handed out as owners opens nothing once they are demoted, removed, gone or closed."""

from typing import Any

import pytest
from django.core.cache import cache
from django.test import Client

from accounts.models import User
from annotation.core.access import get_seat
from annotation.core.errors import NotFound
from annotation.members.actions import members, name_only_members
from annotation.members.actions.leaving import remove_member
from annotation.members.actions.reader_links import make_reader_link
from annotation.models import Assignment, AuditEvent, Invitation, Membership, ReaderLink, Study
from tests import builders as make
from tests.scripts import Script

pytestmark = pytest.mark.django_db
MEMBERS = "/studies/study/members/"
NEW = {"username": "mallory2", "full_name": "", "email": "", "password": "Correct-horse-99!x"}


def build_study() -> Study:
    """Of olga and mallory, who both own it."""
    cache.clear()
    study = make.study()
    members.add_member(seat=make.owner_seat(study), username=make.user("mallory").username, roles=["owner"])
    return study


def browser(name: str) -> Client:
    client = Client(raise_request_exception=False)
    client.force_login(make.user(name))
    return client


def link(by: str = "mallory", **more: Any) -> str:
    """Where the link of a new invitation leads."""
    asked = {"roles": ["owner", "adjudicator"], "days": 90, "n_most": 5} | more
    plaintext = Script(by).send("POST", "studies/study/invitations/", asked).json()["token"]
    return f"/invitations/{plaintext}/"


def reader_link(study: Study, by: str = "mallory") -> str:
    _, plaintext = make_reader_link(seat=make.seat(study, by), label="reviewers", with_issues=True)
    return f"/read/{plaintext}/"


def demote(study: Study, name: str = "mallory") -> None:
    answer = Script("olga").send("POST", "studies/study/members/", {"user": name, "roles": ["rater"]})
    assert answer.status_code == 200


def remove(study: Study, name: str = "mallory") -> None:
    answer = browser("olga").post(f"{MEMBERS}{make.member(study, name).pk}/remove/")
    assert answer.status_code == 302


def leave(study: Study) -> None:
    assert browser("mallory").post("/studies/study/leave/").status_code == 302


def deactivate(study: Study) -> None:
    User.objects.filter(username="mallory").update(is_active=False)


def before_the_upgrade(study: Study) -> None:
    """They lost the role when nothing ended with it."""
    Membership.objects.filter(study=study, user__username="mallory").update(roles=["rater"])


ENDINGS = [demote, remove, leave, deactivate, before_the_upgrade]


@pytest.mark.parametrize("end", ENDINGS)
def test_nobody_becomes_a_member_by_the_invitation_link_of_a_former_owner(study: Study, end: Any) -> None:
    at = link()
    end(study)
    assert browser("zoe").get(at).status_code == 404
    assert browser("zoe").post(at).status_code == 404
    refused = Client().post(at, NEW)
    assert refused.status_code == 404
    assert "the person who created it no longer owns the study" in refused.content.decode()
    assert not User.objects.filter(username="mallory2").exists()
    assert not Membership.objects.filter(user__username="zoe").exists()
    (row,) = Script("olga").send("GET", "studies/study/invitations/").json()["results"]
    assert row["state"] in ("withdrawn", "over")


def test_an_owner_who_was_demoted_does_not_become_one_again_by_their_own_link(study: Study) -> None:
    at = link()
    demote(study)
    assert browser("mallory").post(at).status_code == 404
    assert make.member(study, "mallory").roles == ["rater"]
    assert Script("mallory").send("PATCH", "studies/study/", {"title": "pwn"}).status_code == 403


@pytest.mark.parametrize("end", ENDINGS)
def test_an_account_that_a_former_owner_invited_can_not_accept(study: Study, end: Any) -> None:
    make.user("carl")
    Script("mallory").send("POST", "studies/study/members/", {"user": "carl", "roles": ["owner"]})
    (row,) = Script("carl").send("GET", "me/invitations/").json()["results"]
    end(study)
    assert Script("carl").send("GET", "me/invitations/").json()["results"] == []
    assert Script("carl").send("POST", f"me/invitations/{row['id']}/accept/").status_code == 404
    with pytest.raises(NotFound):
        get_seat(make.user("carl"), "study")


@pytest.mark.parametrize("end", ENDINGS)
def test_nobody_reads_by_the_reader_link_of_a_former_owner(study: Study, end: Any) -> None:
    at = reader_link(study)
    before = Client(raise_request_exception=False)
    assert before.get(at).status_code == 302 and before.get("/studies/study/").status_code == 200
    end(study)
    assert before.get("/studies/study/").status_code == 404
    assert Client().get(at).status_code == 404
    page = browser("olga").get("/studies/study/readers/").content.decode()
    assert "revoked</span>" in page or "its creator is no longer an owner" in page


def test_what_other_owners_handed_out_goes_on(study: Study) -> None:
    at, reading = link("olga", roles=["rater"]), reader_link(study, "olga")
    link(), reader_link(study)
    demote(study)
    assert browser("zoe").post(at).status_code == 302
    assert Client().get(reading).status_code == 302


def test_what_ended_stays_so_when_they_own_the_study_again(study: Study) -> None:
    at, reading = link(), reader_link(study)
    demote(study)
    members.set_member(seat=make.owner_seat(study), username="mallory", roles=["owner"])
    assert browser("zoe").post(at).status_code == 404 and Client().get(reading).status_code == 404


def test_each_thing_that_ends_is_a_line_of_the_audit(study: Study) -> None:
    link(), reader_link(study)
    make.user("carl")
    members.set_member(seat=make.seat(study, "mallory"), username="carl", roles=["owner"])
    demote(study)
    lines = AuditEvent.objects.filter(detail__former_owner="mallory").order_by("pk")
    assert [(line.user.username, line.verb) for line in lines if line.user] == [
        ("olga", "invitation withdrawn"),
        ("olga", "reader link withdrawn"),
        ("olga", "member invitation withdrawn"),
    ]
    assert Invitation.objects.get().withdrawn_at and ReaderLink.objects.get().withdrawn_at


def test_the_pages_that_remove_or_demote_an_owner_name_what_ends(study: Study) -> None:
    link(note="the lab"), reader_link(study)
    make.user("carl")
    members.set_member(seat=make.seat(study, "mallory"), username="carl", roles=["adjudicator"])
    olga, pk = browser("olga"), make.member(study, "mallory").pk
    named = [
        "The invitation link for the lab, as owner and adjudicator",
        "The reader link for “reviewers”",
        "The invitation of carl, as adjudicator",
    ]
    page = olga.get(f"{MEMBERS}{pk}/remove/").content.decode()
    assert all(each in page for each in named)
    assert all(each in browser("mallory").get("/studies/study/leave/").content.decode() for each in named)
    given = {"username": "mallory", "roles": ["rater"], "kind": "person"}
    page = olga.post(MEMBERS, given).content.decode()
    assert all(each in page for each in named)
    assert make.member(study, "mallory").roles == ["owner"], "it only asked"
    page = olga.post(MEMBERS, given | {"confirmed": "1"}, follow=True).content.decode()
    assert "Expired because they created it: 1 invitation link, 1 reader link, 1 pending invitation." in page
    assert make.member(study, "mallory").roles == ["rater"]


def test_an_owner_without_links_is_demoted_at_once(study: Study) -> None:
    given = {"username": "mallory", "roles": ["rater"], "kind": "person"}
    assert browser("olga").post(MEMBERS, given).status_code == 302
    assert make.member(study, "mallory").roles == ["rater"]


def test_items_of_someone_whose_invitation_ended_go_to_other_raters(study: Study) -> None:
    make.user("carl")
    members.set_member(seat=make.seat(study, "mallory"), username="carl", roles=["rater"])
    make.open_round(study, 6, raters=("bob", "carol", "carl"))
    carl = Membership.objects.get(study=study, invited_user__username="carl")
    assert carl.assignments.filter(state__in=Assignment.UNFINISHED).exists()
    demote(study)
    assert not carl.assignments.filter(state__in=Assignment.UNFINISHED).exists()
    assert Assignment.objects.filter(state__in=Assignment.UNFINISHED).count() == 12


def test_an_owner_who_sets_the_roles_of_an_invited_account_answers_for_its_invitation(study: Study) -> None:
    make.user("carl")
    members.set_member(seat=make.seat(study, "mallory"), username="carl", roles=["owner"])
    members.set_member(seat=make.owner_seat(study), username="carl", roles=["rater"])
    demote(study)
    (row,) = Script("carl").send("GET", "me/invitations/").json()["results"]
    assert (row["invited_by"], row["roles"]) == ("olga", ["rater"])
    assert Script("carl").send("POST", f"me/invitations/{row['id']}/accept/").status_code == 200


@pytest.mark.parametrize("end", [demote, deactivate, before_the_upgrade])
def test_roles_of_an_invitation_that_ended_come_in_by_no_other_way(study: Study, end: Any) -> None:
    make.user("carl")
    members.set_member(seat=make.seat(study, "mallory"), username="carl", roles=["owner"])
    end(study)
    assert browser("carl").post(link("olga", roles=["reader"])).status_code == 302
    assert make.member(study, "carl").roles == ["reader"]


@pytest.mark.parametrize("end", [demote, deactivate, before_the_upgrade])
def test_roles_of_an_invitation_that_ended_do_not_come_with_a_joined_member(study: Study, end: Any) -> None:
    make.user("carl")
    asked = members.set_member(seat=make.seat(study, "mallory"), username="carl", roles=["owner"]).membership
    end(study)
    asked.refresh_from_db()
    if asked.is_invited:
        remove_member(seat=make.owner_seat(study), member=asked)
    member = Membership.objects.create(study=study, name="R9 of a sheet", roles=["rater"], code="R9")
    joined = name_only_members.join_member(seat=make.owner_seat(study), member=member, username="carl")
    assert joined.roles == ["rater"]
