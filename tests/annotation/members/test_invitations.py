"""Invitations by link: who makes them, who becomes a member by one, and what a link that is over tells."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.core.cache import cache
from django.test import Client
from django.utils import timezone

from accounts.actions import make_token
from accounts.models import User
from annotation.core.access import get_seat
from annotation.core.errors import Forbidden, Invalid, NotFound
from annotation.invitations.actions import invitations
from annotation.members.actions import leaving
from annotation.models import AuditEvent, Invitation, Study
from shared.rate_limits import UNKNOWN_NAMES
from tests import builders as make
from tests.asserts import assert_queries
from tests.scripts import Script

pytestmark = pytest.mark.django_db
PASSWORD = "a long password"
MEMBERS = "/studies/study/members/"


def build_study() -> Study:
    cache.clear()
    return make.study()


def link(study: Study, **more: Any) -> str:
    """The plaintext of a new invitation."""
    more.setdefault("roles", ["rater"])
    return invitations.invite(seat=make.owner_seat(study), **more)[1]


def at(plaintext: str) -> str:
    return f"/invitations/{plaintext}/"


def signed_in(name: str) -> Client:
    client = Client()
    client.force_login(make.user(name))
    return client


def test_the_link_is_shown_once_and_only_its_digest_is_kept(study: Study) -> None:
    answer = signed_in("olga").post(MEMBERS + "invite/", {"roles": ["rater"], "note": "Zoe", "days": 7, "n_most": 1})
    assert answer.status_code == 201
    address = answer.content.decode().partition('id="new-link">')[2].partition("<")[0]
    plaintext = address.rstrip("/").rpartition("/")[2]
    assert plaintext not in str(list(Invitation.objects.values()))
    page = signed_in("olga").get(MEMBERS).content.decode()
    assert plaintext not in page and "Zoe" in page
    assert Client().get(at(plaintext)).status_code == 200


def test_someone_signed_in_accepts_by_one_button_and_twice_is_harmless(study: Study) -> None:
    plaintext = link(study)
    zoe = signed_in("zoe")
    assert "Accept as zoe" in zoe.get(at(plaintext)).content.decode()
    for _ in range(2):
        assert zoe.post(at(plaintext))["Location"] == "/studies/study/"
    member = make.member(study, "zoe")
    assert (member.roles, member.code) == (["rater"], "R3")
    assert Invitation.objects.get().uses.count() == 1
    assert AuditEvent.objects.filter(verb="invitation accepted").count() == 1


def test_an_invitation_adds_roles_and_takes_none(study: Study) -> None:
    for name, roles in (("olga", ["owner", "rater"]), ("bob", ["rater"])):
        invitations.accept_invitation(user=make.user(name), plaintext=link(study, roles=["rater"]))
        assert make.member(study, name).roles == roles


def test_a_newcomer_makes_an_account_and_is_in(study: Study) -> None:
    client, plaintext = Client(), link(study, roles=["adjudicator"])
    new = {"username": "newcomer", "full_name": "New Comer", "email": "", "password": PASSWORD}
    refused = client.post(at(plaintext), new | {"password": "12345"})
    assert refused.status_code == 422 and not User.objects.filter(username="newcomer").exists()
    taken = client.post(at(plaintext), new | {"username": "OLGA"})
    assert taken.status_code == 409 and "Choose another name" in taken.content.decode()
    assert client.post(at(plaintext), new)["Location"] == "/studies/study/"
    assert client.get("/studies/study/").status_code == 200
    assert User.objects.get(username="newcomer").check_password(PASSWORD)


def test_who_joins_or_chose_a_weak_password_used_up_no_try_of_a_name(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A whole class comes from one address."""
    n_most = 2
    monkeypatch.setattr("annotation.members.views.invitations.UNKNOWN_NAMES", replace(UNKNOWN_NAMES, n_most=n_most))
    plaintext = link(study, n_most=30)
    for n in range(n_most + 1):
        refused = Client().post(at(plaintext), {"username": f"new{n}", "password": "12345"})
        assert refused.status_code == 422
        assert Client().post(at(plaintext), {"username": f"new{n}", "password": PASSWORD}).status_code == 302
    taken = [Client().post(at(plaintext), {"username": "olga", "password": PASSWORD}) for _ in range(n_most + 1)]
    assert [each.status_code for each in taken] == [409] * n_most + [429]


def test_who_has_an_account_signs_in_and_comes_back_to_the_link(study: Study) -> None:
    plaintext = link(study)
    assert f"/sign-in/?next={at(plaintext)}" in Client().get(at(plaintext)).content.decode()


def over(study: Study, how: str) -> str:
    plaintext = link(study)
    made = Invitation.objects.get()
    if how == "withdrawn":
        signed_in("olga").post(f"{MEMBERS}invitations/{made.pk}/withdraw/")
    elif how == "used up":
        invitations.accept_invitation(user=make.user("zoe"), plaintext=plaintext)
    elif how == "ended":
        Invitation.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    else:
        plaintext = "nonsense"
    return plaintext


@pytest.mark.parametrize("how", ["withdrawn", "used up", "ended", "nonsense"])
def test_a_link_that_is_over_says_what_to_do_and_nothing_of_the_study(study: Study, how: str) -> None:
    plaintext = over(study, how)
    pages = [client.get(at(plaintext)) for client in (Client(), signed_in("mallory"))]
    pages.append(signed_in("mallory").post(at(plaintext)))
    new = {"username": "newcomer", "full_name": "", "email": "", "password": PASSWORD}
    pages.append(Client().post(at(plaintext), new))
    for page in pages:
        words = page.content.decode()
        assert page.status_code == 404 and "Ask the person who sent you the link" in words
        assert "Study" not in words.partition("<main")[2] and "olga" not in words
    assert not User.objects.filter(username="newcomer").exists()


def test_as_many_people_as_it_is_for_can_use_one_link(study: Study) -> None:
    plaintext = link(study, n_most=2)
    for name in ("zoe", "yan", "zoe"):
        invitations.accept_invitation(user=make.user(name), plaintext=plaintext)
    with pytest.raises(NotFound):
        invitations.accept_invitation(user=make.user("xenia"), plaintext=plaintext)


def test_who_was_removed_does_not_come_back_by_an_old_link_but_by_a_new_one_as_who_they_were(study: Study) -> None:
    plaintext = link(study, n_most=5)
    zoe = make.user("zoe")
    invitations.accept_invitation(user=zoe, plaintext=plaintext)
    leaving.remove_member(seat=make.owner_seat(study), member=make.member(study, "zoe"))
    with pytest.raises(NotFound):
        invitations.accept_invitation(user=zoe, plaintext=plaintext)
    with pytest.raises(NotFound):
        get_seat(zoe, "study")
    member = invitations.accept_invitation(user=zoe, plaintext=link(study, roles=["reader"]))
    assert (member.code, member.roles, member.left_at, member.user) == ("R3", ["reader"], None, zoe)


@pytest.mark.parametrize("role", ["owner", "adjudicator", "reader"])
def test_a_link_gives_its_roles_once_whatever_becomes_of_them_later(study: Study, role: str) -> None:
    plaintext = link(study, roles=[role])
    zoe, olga = signed_in("zoe"), Script("olga")
    zoe.post(at(plaintext))
    assert make.member(study, "zoe").roles == [role]
    assert olga.send("POST", "studies/study/members/", {"user": "zoe", "roles": ["rater"]}).status_code == 200
    assert zoe.post(at(plaintext))["Location"] == "/studies/study/"
    assert make.member(study, "zoe").roles == ["rater"]
    leaving.remove_member(seat=make.owner_seat(study), member=make.member(study, "zoe"))
    assert zoe.post(at(plaintext)).status_code == 404
    assert olga.send("POST", "studies/study/members/", {"user": "zoe", "roles": ["rater"]}).status_code == 201
    assert zoe.post(at(plaintext)).status_code == 404, "who was asked in again accepts that, not the old link"
    make.accept("zoe")
    zoe.post(at(plaintext))
    assert make.member(study, "zoe").roles == ["rater"]


@pytest.mark.parametrize(
    "wrong", [{"roles": []}, {"roles": ["king"]}, {"days": 0}, {"days": 91}, {"n_most": True}, {"email": "no"}]
)
def test_invitations_that_can_not_be_are_refused_in_words(study: Study, wrong: dict[str, Any]) -> None:
    with pytest.raises(Invalid) as refused:
        link(study, **wrong)
    assert list(refused.value.fields) == list(wrong)


@pytest.mark.parametrize(
    ("name", "status"), [("olga", 201), ("ada", 403), ("bob", 403), ("rea", 403), ("mallory", 404), ("sam", 403)]
)
def test_only_an_owner_invites(study: Study, name: str, status: int) -> None:
    make.study("other", owner="mallory", text=make.SYMPTOMS.replace("slug: symptoms", "slug: more"))
    make.user("sam", staff=True)
    client = signed_in(name)
    answer = client.post(MEMBERS + "invite/", {"roles": ["reader"], "days": 7, "n_most": 1})
    assert answer.status_code == status
    link(study)
    number = Invitation.objects.latest("pk").pk
    answer = client.post(f"{MEMBERS}invitations/{number}/withdraw/")
    assert answer.status_code == (302 if status == 201 else status)
    if status != 404:
        seen = b"anyone with the link" in client.get(MEMBERS).content
        assert seen is (status == 201)


def test_the_invitation_of_another_study_is_404(study: Study) -> None:
    other = make.study("other", owner="mallory", text=make.SYMPTOMS.replace("slug: symptoms", "slug: more"))
    invitations.invite(seat=make.seat(other, "mallory"), roles=["rater"])
    answer = signed_in("olga").post(f"{MEMBERS}invitations/{Invitation.objects.get().pk}/withdraw/")
    assert answer.status_code == 404 and Invitation.objects.get().withdrawn_at is None


def test_the_list_of_invitations_costs_the_same_whatever_its_length(study: Study) -> None:
    olga = signed_in("olga")
    for n in range(2):
        invitations.accept_invitation(user=make.user(f"reader{n}"), plaintext=link(study, roles=["reader"]))
    olga.get(MEMBERS)
    with assert_queries(8):
        olga.get(MEMBERS)
    for n in range(2, 12):
        invitations.accept_invitation(user=make.user(f"reader{n}"), plaintext=link(study, roles=["reader"]))
    with assert_queries(8):
        olga.get(MEMBERS)


def test_an_adjudicator_invites_nobody_by_the_action_either(study: Study) -> None:
    with pytest.raises(Forbidden):
        invitations.invite(seat=make.seat(study, "ada"), roles=["rater"])


def test_an_invitation_goes_out_by_e_mail_where_that_is_configured(
    study: Study, settings: Any, mailoutbox: list[Any]
) -> None:
    settings.SENDS_EMAIL, settings.CELERY_TASK_ALWAYS_EAGER = True, True
    body = {"roles": ["rater"], "email": "zoe@example.org", "days": 7, "n_most": 1}
    answer = signed_in("olga").post(MEMBERS + "invite/", body)
    assert "It was also sent to zoe@example.org" in answer.content.decode()
    assert mailoutbox[0].to == ["zoe@example.org"]
    path = mailoutbox[0].body.partition("http://testserver")[2].split()[0]
    assert Client().get(path).status_code == 200


def test_a_script_invites_lists_and_withdraws(study: Study) -> None:
    olga = Script("olga")
    answer = olga.send("POST", "studies/study/invitations/", {"roles": ["rater"], "note": "Zoe", "n_most": 2})
    made = answer.json()
    assert (answer.status_code, made["state"], made["n_left"]) == (201, "open", 2)
    assert made["link"] == f"http://testserver/invitations/{made['token']}/" and "no-store" in answer["Cache-Control"]
    invitations.accept_invitation(user=make.user("zoe"), plaintext=made["token"])
    listed = olga.send("GET", "studies/study/invitations/")
    assert made["token"] not in listed.content.decode()
    [row] = listed.json()["results"]
    assert (row["id"], row["note"], row["n_left"], row["members"]) == (made["id"], "Zoe", 1, ["zoe"])
    for _ in range(2):
        over = olga.send("POST", f"studies/study/invitations/{made['id']}/withdraw/")
        assert (over.status_code, over.json()["state"]) == (200, "withdrawn")
    assert Client().get(at(made["token"])).status_code == 404
    assert make.member(study, "zoe").roles == ["rater"]


def test_what_a_script_writes_wrong_is_said_by_field(study: Study) -> None:
    olga = Script("olga")
    for wrong, field in (
        ({}, "roles"),
        ({"roles": ["king"]}, "roles"),
        ({"roles": ["rater"], "days": 91}, "days"),
        ({"roles": ["rater"], "n_most": "two"}, "n_most"),
        ({"roles": ["rater"], "note": 5}, "note"),
    ):
        assert list(olga.refused("POST", "studies/study/invitations/", wrong)) == [field]
    assert not Invitation.objects.exists()
    assert olga.send("POST", "studies/study/invitations/9/withdraw/").status_code == 404


def test_only_owners_reach_invitations_by_script_and_a_token_needs_the_scope(study: Study) -> None:
    made = Script("olga").send("POST", "studies/study/invitations/", {"roles": ["rater"]}).json()["id"]
    make.user("mallory")
    places = ("studies/study/invitations/", f"studies/study/invitations/{made}/withdraw/")
    for name, status in (("ada", 403), ("bob", 403), ("rea", 403), ("mallory", 404)):
        caller = Script(name)
        assert caller.send("GET", places[0]).status_code == status, name
        assert {caller.send("POST", path, {"roles": ["rater"]}).status_code for path in places} == {status}, name
    for path in places:
        assert Client().post("/api/v1/" + path).status_code == 401
    token = make_token(user=make.user("olga"), name="reads", scope="rate")[1]
    refused = Client().post("/api/v1/" + places[0], headers={"Authorization": f"Bearer {token}"})
    assert refused.status_code == 403 and refused.json()["code"] == "scope_too_small"
    assert Invitation.objects.count() == 1


@pytest.mark.slow
def test_one_owner_sends_sixty_invitations_by_e_mail_an_hour(study: Study, settings: Any) -> None:
    settings.SENDS_EMAIL = True
    olga = signed_in("olga")
    sent = {"role": "rater", "roles": ["rater"], "days": 14, "n_most": 1}
    found = [olga.post(f"{MEMBERS}invite/", sent | {"email": f"p{n}@example.org"}).status_code for n in range(61)]
    assert found == [201] * 60 + [429]
    assert olga.post(f"{MEMBERS}invite/", sent).status_code == 201
