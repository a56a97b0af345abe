"""Adding an account to a study invites it: nothing is visible in either direction until its person accepts."""

from typing import Any

import pytest
from django.core.cache import cache
from django.db import IntegrityError, transaction
from django.test import Client

from accounts.actions import make_token
from accounts.confirmation import Confirmation
from accounts.models import User
from annotation.choosing.actions.items import items_for
from annotation.core.access import get_seat
from annotation.core.errors import Conflict, NotFound
from annotation.imports.actions.ratings import import_ratings
from annotation.invitations.actions import invitations, own_invitations
from annotation.members.actions import leaving, members, name_only_members
from annotation.members.actions.leaving import decline
from annotation.models import Assignment, AuditEvent, Membership, Study
from annotation.rounds.actions import raters as rater_actions
from annotation.rounds.actions.raters import withdraw_rater
from annotation.studies.actions.archive import archive_study
from annotation.transfer.actions import life
from tests import builders as make
from tests.asserts import assert_queries
from tests.scripts import Script

pytestmark = pytest.mark.django_db


def build_study() -> Study:
    cache.clear()
    return make.study()


def browser(name: str) -> Client:
    client = Client()
    client.force_login(make.user(name))
    return client


def add(user: str, *roles: str, by: str = "olga") -> Any:
    """What REST answers to an owner who adds an account."""
    return Script(by).send("POST", "studies/study/members/", {"user": user, "roles": list(roles) or ["rater"]})


def invited(study: Study, name: str, *roles: str) -> Membership:
    make.user(name)
    placed = members.set_member(seat=make.owner_seat(study), username=name, roles=list(roles) or ["rater"])
    return placed.membership


def states(study: Study) -> dict[str, str]:
    rows = Script("olga").send("GET", "studies/study/members/").json()["results"]
    return {row["user"]: row["state"] for row in rows}


# What an owner gets


def test_an_account_that_is_added_over_rest_is_invited_and_no_member(study: Study) -> None:
    zoe = make.user("zoe")
    User.objects.filter(pk=zoe.pk).update(first_name="Zoe", last_name="Zink", email="zoe@example.org")
    answer = add("ZOE")
    assert answer.status_code == 201
    assert answer.json() == {
        "user": "ZOE", "state": "invited", "roles": ["rater"], "code": "R3", "kind": "person", "machine": None,
        "away_until": None,
    }  # fmt: skip
    with pytest.raises(NotFound):
        get_seat(zoe, "study")
    assert states(study) == {"olga": "member", "bob": "member", "carol": "member", "ada": "member", "rea": "member"} | {
        "ZOE": "invited"
    }


def test_an_account_that_is_added_on_the_page_is_invited_and_its_name_stays_its_own(study: Study) -> None:
    User.objects.filter(pk=make.user("zoe").pk).update(first_name="Zoe", last_name="Zink")
    owner = browser("olga")
    given = {"username": "Zoe", "roles": ["rater"], "kind": "person"}
    page = owner.post("/studies/study/members/", given, follow=True).content.decode()
    assert "Zoe is invited as rater and can be named in rounds." in page
    for each in (page, owner.get("/studies/study/members/").content.decode()):
        assert "Zink" not in each and "zoe" not in each


@pytest.mark.parametrize("change", [{"is_active": False}, {"is_staff": True}, {}])
def test_the_answer_is_the_same_whatever_the_account_is(study: Study, change: dict[str, bool]) -> None:
    User.objects.filter(pk=make.user("zoe").pk).update(**change)
    assert add("zoe").json()["state"] == "invited"


def test_staff_who_own_a_study_add_accounts_at_once(study: Study) -> None:
    make.user("sam", staff=True)
    members.add_member(seat=make.owner_seat(study), username="sam", roles=["owner"])
    make.user("zoe")
    answer = add("zoe", by="sam")
    assert (answer.status_code, answer.json()["state"]) == (201, "member")


def test_changing_the_roles_of_an_invited_account_leaves_it_invited(study: Study) -> None:
    make.user("zoe")
    add("zoe")
    answer = add("zoe", "reader", "adjudicator")
    assert (answer.status_code, answer.json()["state"]) == (200, "invited")
    accept(study, "zoe")
    assert make.seat(study, "zoe").membership.roles == ["adjudicator", "reader"]  # type: ignore[union-attr]


# What the invited person sees


def accept(study: Study, name: str) -> None:
    key = Membership.objects.get(study=study, invited_user=make.user(name)).invitation_key
    own_invitations.accept(user=make.user(name), key=key or "")


def test_until_an_invitation_is_accepted_every_door_of_the_study_is_closed(study: Study) -> None:
    invited(study, "zoe", "owner", "adjudicator", "rater", "reader")
    make.open_round(study, 2, raters=("bob", "zoe"))
    zoe, page = Script("zoe"), browser("zoe")
    for path in ("", "members/", "rounds/", "rounds/1/", "ratings/?round=1", "agreement/", "exports/", "labels/"):
        assert zoe.send("GET", f"studies/study/{path}").status_code == 404, path
    assert zoe.send("POST", "studies/study/members/", {"user": "zoe", "roles": ["owner"]}).status_code == 404
    for path in ("settings/", "members/", "rounds/1/", "rounds/1/label/mine/", "items/", "leave/"):
        assert page.get(f"/studies/study/{path}").status_code == 404, path
    assert zoe.send("GET", "studies/").json()["results"] == []
    assert zoe.send("GET", "inbox/").json()["results"] == []
    for path in ("/studies/", "/inbox/"):
        assert "Study" not in page.get(path).content.decode().partition("<main")[2].replace("Studies", ""), path
    assert Membership.objects.get(study=study, name="zoe").user is None


def test_a_private_repository_of_the_study_stays_hidden_until_its_invitation_is_accepted(study: Study) -> None:
    [issue] = make.issues(1, "acme/secret", private=True)
    make.user("sam", staff=True)
    items_for(make.seat(study, "sam"), [issue])
    invited(study, "zoe", "reader")
    assert Script("zoe").send("GET", "issues/acme/secret/1/").status_code == 404
    accept(study, "zoe")
    assert Script("zoe").send("GET", "issues/acme/secret/1/").status_code == 200


def test_an_invitation_shows_title_roles_and_who_invited_and_escapes_them(study: Study) -> None:
    Study.objects.filter(pk=study.pk).update(title="<script>alert(1)</script>")
    User.objects.filter(username="olga").update(first_name="<b>Olga</b>")
    invited(study, "zoe", "rater", "adjudicator")
    page = browser("zoe")
    for path in ("/", "/me/", "/studies/study/", "/studies/study/rounds/1/label/"):
        words = page.get(path).content.decode()
        assert "&lt;script&gt;alert(1)&lt;/script&gt;" in words and "<script>alert(1)" not in words, path
        assert "&lt;b&gt;Olga&lt;/b&gt; (olga) invited you as adjudicator and rater" in words, path
        assert "Accept" in words and "Decline" in words
    [row] = Script("zoe", "read").send("GET", "me/invitations/").json()["results"]
    assert set(row) == {"id", "study", "title", "invited_by", "roles", "invited_at"}
    assert (row["study"], row["invited_by"], row["roles"]) == ("study", "<b>Olga</b> (olga)", ["adjudicator", "rater"])
    assert len(row["id"]) >= 20


def test_a_page_that_is_opened_accepts_nothing(study: Study) -> None:
    invited(study, "zoe")
    make.open_round(study, 2, raters=("bob", "zoe"))
    page = browser("zoe")
    for path in ("/", "/studies/study/", "/studies/study/rounds/1/label/", "/api/v1/studies/study/rounds/1/next/"):
        page.get(path)
    assert Membership.objects.get(study=study, name="zoe").is_invited


# Accepting and declining


def test_a_script_accepts_its_invitation_and_is_a_member_with_its_roles_and_code(study: Study) -> None:
    invited(study, "zoe")
    zoe = Script("zoe", "rate")
    [row] = zoe.send("GET", "me/invitations/").json()["results"]
    answer = zoe.send("POST", f"me/invitations/{row['id']}/accept/")
    assert (answer.status_code, answer.json()) == (
        200,
        {"study": "study", "state": "member", "roles": ["rater"], "code": "R3"},
    )
    assert zoe.send("GET", "studies/study/").json()["code"] == "R3"
    assert zoe.send("GET", "me/invitations/").json()["results"] == []
    assert zoe.send("POST", f"me/invitations/{row['id']}/accept/").status_code == 404
    assert AuditEvent.objects.get(verb="member accepted").user == make.user("zoe")
    assert states(study)["zoe"] == "member"


def test_an_invitation_is_accepted_and_declined_by_the_buttons_of_the_start_page(study: Study) -> None:
    for name in ("zoe", "yan"):
        invited(study, name)
    zoe, yan = browser("zoe"), browser("yan")
    keys = {each.name: each.invitation_key for each in Membership.objects.filter(invitation_key__isnull=False)}
    assert "Ask its owner" not in (page := zoe.get("/").content.decode()) and "Accept" in page
    assert zoe.post(f"/me/invitations/{keys['zoe']}/accept/")["Location"] == "/studies/study/"
    assert zoe.get("/studies/study/").status_code == 200
    assert yan.post(f"/me/invitations/{keys['yan']}/decline/")["Location"] == "/"
    assert yan.get("/studies/study/").status_code == 404 and b"ask its owner" in yan.get("/").content
    assert b"declined" in browser("olga").get("/studies/study/members/").content


def test_nobody_else_answers_an_invitation_and_a_token_needs_the_scope(study: Study) -> None:
    key = invited(study, "zoe").invitation_key
    make.user("mallory")
    for verb in ("accept", "decline"):
        assert Script("mallory").send("POST", f"me/invitations/{key}/{verb}/").status_code == 404
        assert Script("olga").send("POST", f"me/invitations/{key}/{verb}/").status_code == 404
        assert browser("mallory").post(f"/me/invitations/{key}/{verb}/").status_code == 404
        assert Script("zoe", "read").send("POST", f"me/invitations/{key}/{verb}/").json()["code"] == "scope_too_small"
        assert Client().post(f"/api/v1/me/invitations/{key}/{verb}/").status_code == 401
    assert Membership.objects.get(invitation_key=key).is_invited


def test_the_first_next_of_an_invited_rater_accepts_and_the_answer_goes_in(study: Study) -> None:
    for name in ("zoe", "yan"):
        make.user(name)
        assert add(name).json()["state"] == "invited"
    make.issues(2)
    olga = Script("olga")
    body = {
        "kind": "main", "raters": ["zoe", "YAN"], "raters_per_item": 2, "issues": ["acme/rocket#1", "acme/rocket#2"],
    }  # fmt: skip
    assert olga.send("POST", "studies/study/rounds/", body).status_code == 201
    assert olga.send("POST", "studies/study/rounds/1/open/", {"unregistered": True}).status_code == 200
    assert Assignment.objects.filter(round__number=1).count() == 4
    zoe = Script("zoe", "rate")
    given = zoe.send("GET", "studies/study/rounds/1/next/")
    assert given.status_code == 200
    answer = {"assignment": given.json()["assignment"], "labels": {"symptom": ["crash"]}}
    assert zoe.send("POST", "studies/study/annotations/", answer).status_code == 201
    assert states(study)["zoe"] == "member" and states(study)["yan"] == "invited"
    seat = make.seat(study, "zoe")
    assert seat.blind_round_ids, "an invited rater is blind in the open round once they are in"
    assert Script("zoe").send("GET", "studies/study/disagreements/?round=1").status_code == 403


@pytest.mark.parametrize("mode", ["planned", "pool"])
def test_next_accepts_in_every_mode_but_not_for_a_round_that_is_not_open(study: Study, mode: str) -> None:
    invited(study, "zoe")
    assert Script("zoe").send("GET", "studies/study/rounds/1/next/").status_code == 404
    make.issues(2)
    olga = Script("olga")
    body = {"kind": "main", "mode": mode, "raters": ["bob", "zoe"], "raters_per_item": 2, "issues": ["acme/rocket#1"]}
    olga.send("POST", "studies/study/rounds/", body)
    assert Script("zoe").send("GET", "studies/study/rounds/1/next/").status_code == 404
    assert Membership.objects.get(study=study, name="zoe").is_invited
    olga.send("POST", "studies/study/rounds/1/open/", {"unregistered": True})
    assert Script("zoe").send("GET", "studies/study/rounds/1/next/").status_code == 200


def test_next_accepts_nothing_for_who_is_not_invited_as_a_rater(study: Study) -> None:
    invited(study, "zoe", "adjudicator")
    make.open_round(study, 1)
    assert Script("zoe").send("GET", "studies/study/rounds/1/next/").status_code == 404
    assert Membership.objects.get(study=study, name="zoe").is_invited


def test_staff_who_are_invited_as_raters_of_an_open_round_are_blind_in_it(study: Study) -> None:
    make.user("sam", staff=True)
    invited(study, "sam")
    round_ = make.open_round(study, 2, raters=("bob", "sam"))
    make.submit(round_, "bob", 1, {"symptom": ["crash"]}, memo="zqmemo")
    assert make.seat(study, "sam").blind_round_ids == {round_.pk}
    assert "zqmemo" not in Script("sam").send("GET", "studies/study/ratings/?round=1").content.decode()
    assert Script("sam").send("GET", "studies/study/rounds/1/next/").status_code == 200


def test_declining_gives_the_planned_items_to_others_and_the_owner_sees_it(study: Study) -> None:
    key = invited(study, "zoe").invitation_key
    round_ = make.open_round(study, 4, raters=("bob", "carol", "zoe"), raters_per_item=2)
    assert Script("zoe").send("POST", f"me/invitations/{key}/decline/").status_code == 204
    assert not Assignment.objects.filter(round=round_, rater__name="zoe", state__in=Assignment.UNFINISHED).exists()
    assert Assignment.objects.filter(round=round_, state__in=Assignment.UNFINISHED).count() == 8
    assert states(study)["zoe"] == "declined"
    assert AuditEvent.objects.get(verb="member declined").detail == {"member": "zoe", "code": "R3"}
    with pytest.raises(NotFound):
        get_seat(make.user("zoe"), "study")
    assert Script("olga").send("GET", "studies/study/rounds/1/raters/").json()["results"][2]["left_at"]


def test_an_owner_withdraws_an_invitation(study: Study) -> None:
    member = invited(study, "zoe")
    owner, path = browser("olga"), f"/studies/study/members/{member.pk}/remove/"
    assert "Withdraw invitation" in owner.get(path).content.decode()
    assert owner.post(path)["Location"] == "/studies/study/members/"
    assert Script("zoe").send("POST", f"me/invitations/{member.invitation_key}/accept/").status_code == 404
    assert Script("zoe").send("GET", "me/invitations/").json()["results"] == []
    assert states(study)["zoe"] == "withdrawn"


def test_an_account_is_invited_three_times_at_most_and_accepting_begins_anew(study: Study) -> None:
    make.user("zoe")
    for _ in range(3):
        assert add("zoe").status_code == 201
        key = Membership.objects.get(study=study, name="zoe").invitation_key
        decline(user=make.user("zoe"), key=key or "")
    answer = add("zoe")
    assert (answer.status_code, answer.json()["code"]) == (409, "invited_too_often")
    link = invitations.invite(seat=make.owner_seat(study), roles=["rater"])[1]
    member = invitations.accept_invitation(user=make.user("zoe"), plaintext=link)
    assert (member.state, member.n_invited, member.code) == ("member", 0, "R3")


def test_whoever_left_is_asked_again_and_stays_who_they_were(study: Study) -> None:
    round_ = make.open_round(study, 2)
    make.submit(round_, "bob", 1, {"symptom": ["crash"]})
    leaving.leave_study(seat=make.seat(study, "bob"))
    answer = add("bob")
    assert (answer.status_code, answer.json()["state"], answer.json()["code"]) == (201, "invited", "R1")
    decline(user=make.user("bob"), key=Membership.objects.get(code="R1", study=study).invitation_key or "")
    left = Membership.objects.get(code="R1", study=study)
    assert (left.state, left.former_user) == ("left", make.user("bob"))
    add("bob")
    accept(study, "bob")
    seat = make.seat(study, "bob")
    assert seat.membership is not None and seat.membership.code == "R1" and seat.blind_round_ids == {round_.pk}


def test_an_invitation_link_is_acceptance_by_itself(study: Study) -> None:
    invited(study, "zoe", "adjudicator")
    link = invitations.invite(seat=make.owner_seat(study), roles=["rater"])[1]
    member = invitations.accept_invitation(user=make.user("zoe"), plaintext=link)
    assert (member.state, member.roles, member.invitation_key) == ("member", ["adjudicator", "rater"], None)
    assert Membership.objects.filter(study=study).count() == 6


def test_closing_an_account_declines_its_invitations(study: Study) -> None:
    invited(study, "zoe")
    zoe = make.user("zoe")
    zoe.set_password("a long password of hers")
    zoe.save()
    leaving.close_account(user=zoe, typed="zoe", confirmation=Confirmation("a long password of hers"))
    assert states(study)["zoe"] == "declined"


def test_an_invited_owner_does_not_keep_a_study_from_its_last_owner(study: Study) -> None:
    invited(study, "zoe", "owner")
    with pytest.raises(Conflict, match="needs an owner"):
        leaving.leave_study(seat=make.owner_seat(study))


def test_invited_raters_are_added_to_an_open_round_and_withdrawn_by_name_or_code(study: Study) -> None:
    make.open_round(study, 2)
    invited(study, "zoe")
    olga = Script("olga")
    assert olga.send("POST", "studies/study/rounds/1/raters/", {"user": "zoe"}).status_code == 201
    rater_actions.withdraw_rater(seat=make.owner_seat(study), number=1, rater="ZOE")
    assert Membership.objects.get(study=study, name="zoe").is_invited


def test_the_database_keeps_member_left_and_invited_apart(study: Study) -> None:
    zoe = invited(study, "zoe")
    for wrong in ({"user": make.user("yan")}, {"former_user": make.user("yan")}, {"invited_user": None}):
        with pytest.raises(IntegrityError), transaction.atomic():
            Membership.objects.filter(pk=zoe.pk).update(**wrong)
    with pytest.raises(IntegrityError), transaction.atomic():
        Membership.objects.create(study=study, invited_user=make.user("zoe"), name="zoe", roles=["rater"])


def test_deleted_and_archived_studies_invite_nobody(study: Study) -> None:
    invited(study, "zoe")
    zoe = Script("zoe")
    archive_study(seat=make.owner_seat(study))
    assert zoe.send("GET", "me/invitations/").json()["results"] == []
    key = Membership.objects.get(study=study, name="zoe").invitation_key
    assert zoe.send("POST", f"me/invitations/{key}/accept/").status_code == 404


def test_invitations_cost_the_start_page_the_same_whatever_their_number(study: Study) -> None:
    invited(study, "zoe")
    page = browser("zoe")
    page.get("/")
    with assert_queries(11):
        page.get("/")
    for n in range(5):
        text = make.SYMPTOMS.replace("slug: symptoms", f"slug: more-{n}")
        invited(make.study(f"study-{n}", text=text), "zoe")
    with assert_queries(11):
        page.get("/")


# Other ways to name someone


def test_a_duplicated_study_asks_its_members_again(study: Study) -> None:
    made = life.duplicate_study(seat=make.owner_seat(study), slug="copy", with_members=True)
    found = {each.display_name: (each.state, each.code) for each in Membership.objects.filter(study=made)}
    assert found == {
        "olga": ("member", None), "bob": ("invited", "R1"), "carol": ("invited", "R2"), "ada": ("invited", None),
        "rea": ("invited", None),
    }  # fmt: skip


SHEET = b"item,rater,round,symptom\nacme/x#1,zoe,1,crash\nacme/x#1,yan,1,hang\n"


def test_a_sheet_over_rest_makes_nobody_a_member(study: Study) -> None:
    for name in ("zoe", "yan"):
        make.user(name)
    token = make_token(user=make.user("olga"), name="t", scope="manage")[1]
    answer = Client().post(
        "/api/v1/studies/study/ratings/?dimensions=symptom", SHEET, content_type="text/csv",
        headers={"Authorization": f"Bearer {token}"},
    )  # fmt: skip
    assert answer.status_code == 201, answer.content
    rows = Membership.objects.filter(study=study, name__in=["zoe", "yan"])
    assert [each.state for each in rows] == ["name_only"] * 2
    assert Script("zoe").send("GET", "studies/study/").status_code == 404


def test_a_sheet_from_the_shell_makes_its_raters_members(study: Study) -> None:
    make.user("zoe")
    import_ratings(
        user=make.user("olga"), study="study", file=SHEET, dimensions=["symptom"], adds_accounts=True
    )  # fmt: skip
    assert make.member(study, "zoe").state == "member"


def named(study: Study, name: str = "Robert") -> Membership:
    return Membership.objects.create(study=study, name=name, roles=["rater"], code="R9")


def test_joining_an_imported_name_to_an_account_asks_its_person(study: Study) -> None:
    zoe = make.user("zoe")
    member = name_only_members.join_member(seat=make.owner_seat(study), member=named(study), username="zoe")
    assert (member.state, member.display_name) == ("invited", "Robert")
    with pytest.raises(NotFound):
        get_seat(zoe, "study")
    accept(study, "zoe")
    seat = make.seat(study, "zoe")
    assert seat.membership is not None and seat.membership.code == "R9"


@pytest.mark.parametrize("is_declined", [True, False])
def test_a_linked_name_is_what_it_was_when_its_invitation_ends(study: Study, is_declined: bool) -> None:
    make.user("zoe")
    olga = make.owner_seat(study)
    member = name_only_members.join_member(seat=olga, member=named(study), username="zoe")
    members.set_member(seat=olga, username="zoe", roles=["adjudicator", "rater"])
    member.refresh_from_db()
    if is_declined:
        leaving.decline(user=make.user("zoe"), key=member.invitation_key or "")
    else:
        leaving.remove_member(seat=olga, member=member)
    member.refresh_from_db()
    assert (member.state, member.roles, member.invited_user) == ("name_only", ["rater"], None)


def test_a_name_of_a_sheet_stays_a_rater_when_an_invitation_as_something_else_ends(study: Study) -> None:
    """A member without any role would read as a rater does, and leave no line."""
    make.user("zoe")
    olga = make.owner_seat(study)
    members.set_member(seat=olga, username="zoe", roles=["reader"])
    import_ratings(user=make.user("olga"), study="study", file=SHEET, dimensions=["symptom"])
    member = Membership.objects.get(study=study, invited_user__username="zoe")
    assert member.code
    members.set_member(seat=olga, username="zoe", roles=["reader"])
    member.refresh_from_db()
    leaving.decline(user=make.user("zoe"), key=member.invitation_key or "")
    member.refresh_from_db()
    assert (member.state, member.roles) == ("name_only", ["rater"])


def test_no_name_is_linked_to_who_was_a_member_until_they_accept_an_invitation(study: Study) -> None:
    olga = make.owner_seat(study)
    ada = members.add_member(seat=olga, username=make.user("ada").username, roles=["adjudicator"])
    round_ = make.open_round(study, 2)
    make.submit(round_, "bob", 1, {"symptom": ["crash"]})
    leaving.remove_member(seat=olga, member=ada)
    ada.refresh_from_db()
    could_read_until = ada.could_read_until
    assert could_read_until is not None
    robert = named(study)
    with pytest.raises(Conflict, match="ada was in this study before. Invite them again"):
        name_only_members.join_member(seat=olga, member=robert, username="ada")
    members.set_member(seat=olga, username="ada", roles=["reader"])
    with pytest.raises(Conflict, match="ada has an open invitation"):
        name_only_members.join_member(seat=olga, member=robert, username="ada")
    ada.refresh_from_db()
    leaving.decline(user=make.user("ada"), key=ada.invitation_key or "")
    ada.refresh_from_db()
    assert (ada.state, ada.could_read_until) == ("left", could_read_until)
    robert.refresh_from_db()
    assert (robert.state, robert.could_read_until) == ("name_only", None)
    members.set_member(seat=olga, username="ada", roles=["reader"])
    accept(study, "ada")
    member = name_only_members.join_member(seat=olga, member=robert, username="ada")
    assert (member.state, member.roles) == ("member", ["rater", "reader"])
    assert member.could_read_until is not None


def test_a_name_that_left_an_open_round_with_an_answer_goes_to_nobody_who_could_read_it(study: Study) -> None:
    """They could change the answer, which counts before discussion."""
    make.user("zoe")
    olga = make.owner_seat(study)
    round_ = make.open_round(study, 2)
    sheet = b"item,rater,round,symptom\nacme/rocket#1,Robert,1,crash\n"
    import_ratings(user=make.user("olga"), study="study", file=sheet, dimensions=["symptom"])
    make.submit(round_, "bob", 1, {"symptom": ["crash"]})
    robert = Membership.objects.get(study=study, name="Robert")
    for _ in ("in the round", "withdrawn"):
        with pytest.raises(Conflict, match=f"{robert.code} has answers in round 1, and olga could read its labels"):
            name_only_members.join_member(seat=olga, member=robert, username="olga")
        withdraw_rater(seat=olga, number=1, rater=robert.code or "")
    assert name_only_members.join_member(seat=olga, member=robert, username="zoe")


def test_roles_of_an_invitation_that_waits_go_to_no_name(study: Study) -> None:
    make.user("zoe")
    olga = make.owner_seat(study)
    asked = members.set_member(seat=olga, username="zoe", roles=["adjudicator"]).membership
    with pytest.raises(Conflict, match="zoe has an open invitation. Link R9 once they accept"):
        name_only_members.join_member(seat=olga, member=named(study), username="zoe")
    asked.refresh_from_db()
    assert (asked.state, asked.roles) == ("invited", ["adjudicator"])


def test_the_answers_of_a_member_who_left_are_given_to_nobody_else(study: Study) -> None:
    round_ = make.open_round(study, 2)
    make.submit(round_, "bob", 1, {"symptom": ["crash"]})
    bob = make.member(study, "bob")
    leaving.leave_study(seat=make.seat(study, "bob"))
    make.user("zoe")
    path = f"/studies/study/members/{bob.pk}/join/"
    page = browser("olga").post(path, {"username": "zoe"}, follow=True).content.decode()
    assert "left this study" in page
    bob.refresh_from_db()
    assert (bob.user, bob.invited_user, bob.former_user) == (None, None, make.user("bob"))
    with pytest.raises(Conflict, match="R1 in this study"):
        name_only_members.join_member(seat=make.owner_seat(study), member=named(study), username="bob")


# Who has an account is nobody's to learn


def test_unknown_names_are_limited_and_then_known_ones_too(study: Study) -> None:
    make.user("zoe")
    olga = Script("olga")
    for n in range(10):
        fields = olga.refused("POST", "studies/study/members/", {"user": f"nobody{n}", "roles": ["rater"]})
        assert "not found" in str(fields["user"])
    for name in ("nobody99", "zoe"):
        answer = add(name)
        assert (answer.status_code, answer.json()["code"]) == (429, "throttled")
        assert 0 < int(answer["Retry-After"]) <= 3601
    assert not Membership.objects.filter(name="zoe").exists()
    assert add("bob", "reader", "rater").status_code == 200, "members are no secret"
    page = browser("olga").post("/studies/study/members/", {"username": "x", "roles": ["rater"], "kind": "person"})
    assert page.status_code == 429 and page["Retry-After"]
    join = browser("olga").post(f"/studies/study/members/{named(study).pk}/join/", {"username": "zoe"}, follow=True)
    assert "Too many unknown user names" in join.content.decode()


@pytest.mark.parametrize(
    "wrong", [{"roles": []}, {"kind": "robot"}, {"machine": {"version": "1"}}, {"kind": "machine", "machine": "x"}]
)
def test_a_request_that_invites_nobody_confirms_no_name(study: Study, wrong: dict[str, Any]) -> None:
    make.user("zoe")
    told = [
        Script("olga").send("POST", "studies/study/members/", {"user": name, "roles": ["rater"], **wrong})
        for name in ("zoe", "nobody")
    ]
    assert told[0].status_code == 422 and told[0].content == told[1].content


def test_the_first_steps_confirm_no_name_without_telling_its_person(study: Study) -> None:
    make.user("zoe")
    page = browser("olga").post("/studies/study/start/people/", {"names": "zoe, nobody"})
    assert page.status_code == 422 and "Everyone else is invited." in page.content.decode()
    assert Membership.objects.get(study=study, name="zoe").is_invited


def test_names_that_exist_are_not_counted_and_staff_are_not_limited(study: Study) -> None:
    for n in range(12):
        make.user(f"rater{n}")
        assert add(f"rater{n}").status_code == 201
    make.user("sam", staff=True)
    members.add_member(seat=make.owner_seat(study), username="sam", roles=["owner"])
    for n in range(12):
        assert add(f"nobody{n}", by="sam").status_code == 422
