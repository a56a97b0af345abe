"""Leaving a study, being removed, closing an account: access ends at every door, answers stay under the code."""

import time
from collections.abc import Callable
from typing import Any

import pytest
from django.core.cache import cache
from django.core.files.base import ContentFile
from django.test import Client

from accounts.actions import connect_provider, make_token
from accounts.confirmation import Confirmation
from accounts.models import ApiToken, PasswordLink, User
from annotation.core.access import get_seat
from annotation.core.errors import Conflict, Forbidden, Invalid, NotFound
from annotation.exports.actions import request_export
from annotation.imports.actions.workbooks import take_workbook
from annotation.invitations.actions import invitations
from annotation.members.actions import leaving, members
from annotation.members.actions.leaving import decline
from annotation.members.actions.password_links import make_password_link
from annotation.members.queries.password_links import BESIDE_STUDIES, OWNED
from annotation.models import Annotation, Arrival, Assignment, AuditEvent, Membership, Round, Study
from annotation.rounds.actions import raters as rater_actions
from config.env import PeopleSetting
from ingest.actions.uploads import take_upload
from ingest.models import FetchRun
from tests import builders as make
from tests.annotation.permission_study import BASE, Visitor
from tests.scripts import Script

pytestmark = pytest.mark.django_db


def build_study() -> Study:
    cache.clear()
    return make.study(raters=("bob", "carol", "dan"))


def other_study(owner: str = "mallory", raters: tuple[str, ...] = ()) -> Study:
    text = make.SYMPTOMS.replace("slug: symptoms", "slug: more")
    return make.study("other", owner=owner, raters=raters, text=text)


def test_a_rater_leaves_and_their_answers_stay_under_their_code(study: Study) -> None:
    round_ = make.open_round(study, 4, raters=("bob", "carol", "dan"), raters_per_item=2)
    number = int(Assignment.objects.filter(rater__code="R1")[0].item.identifier.rpartition("#")[2])
    make.submit(round_, "bob", number, {"symptom": ["crash"]})
    before = make.member(study, "bob").pk
    visitor = Visitor("bob")
    assert visitor.client.post("/studies/study/leave/")["Location"] == "/studies/"
    found = Membership.objects.get(pk=before)
    assert (found.user, found.code, found.display_name) == (None, "R1", "bob")
    assert Annotation.objects.get().rater == found
    assert not Assignment.objects.filter(rater=found, state__in=Assignment.UNFINISHED).exists()
    for base, path in (("/", "studies/study/"), ("/", "studies/study/rounds/1/label/"), (BASE, "studies/study/")):
        assert visitor.get(base, path).status_code == 404
    assert b"study" not in visitor.get(BASE, "studies/").content
    owner = Visitor("olga")
    assert "R1" in owner.get("/", "studies/study/rounds/1/").content.decode()
    page = owner.get("/", "studies/study/members/").content.decode()
    assert "Left: bob (R1)" in page
    assert AuditEvent.objects.get(verb="member left").detail == {"member": "bob", "code": "R1"}


def test_whoever_comes_back_has_their_code_and_is_blind_where_they_answered(study: Study) -> None:
    round_ = make.open_round(study, 4, raters=("bob", "carol", "dan"), raters_per_item=2)
    number = int(Assignment.objects.filter(rater__code="R1")[0].item.identifier.rpartition("#")[2])
    make.submit(round_, "bob", number, {"symptom": ["crash"]})
    leaving.leave_study(seat=make.seat(study, "bob"))
    members.add_member(seat=make.owner_seat(study), username="bob", roles=["adjudicator", "rater"])
    seat = make.seat(study, "bob")
    assert seat.membership is not None and seat.membership.code == "R1"
    assert seat.blind_round_ids == {round_.pk}
    rater_actions.add_rater(seat=make.owner_seat(study), number=1, user="bob")
    assert Membership.objects.filter(study=study).count() == 6


def test_staff_who_left_a_study_stay_blind_where_they_answered(study: Study) -> None:
    make.user("sam", staff=True)
    members.add_member(seat=make.owner_seat(study), username="sam", roles=["rater"])
    round_ = make.open_round(study, 2, raters=("bob", "sam"))
    make.submit(round_, "sam", 1, {"symptom": ["crash"]})
    leaving.leave_study(seat=make.seat(study, "sam"))
    assert make.seat(study, "sam").blind_round_ids == {round_.pk}
    assert Visitor("sam").get("/", "studies/study/rounds/1/resolve/").status_code == 403


def test_the_last_owner_stays_until_someone_else_is_one(study: Study) -> None:
    with pytest.raises(Conflict, match="Make someone else an owner first"):
        leaving.leave_study(seat=make.owner_seat(study))
    members.add_member(seat=make.owner_seat(study), username="ada", roles=["owner"])
    leaving.leave_study(seat=make.owner_seat(study))
    assert get_seat(make.user("ada"), "study").has_role("owner")
    with pytest.raises(NotFound):
        get_seat(make.user("olga"), "study")


def test_an_owner_who_closed_their_account_is_none_to_leave_a_study_to(study: Study) -> None:
    members.add_member(seat=make.owner_seat(study), username="ada", roles=["owner"])
    User.objects.filter(username="ada").update(is_active=False)
    with pytest.raises(Conflict, match="needs an owner"):
        leaving.leave_study(seat=make.owner_seat(study))


@pytest.mark.parametrize(
    ("name", "status"), [("olga", 302), ("ada", 403), ("bob", 403), ("rea", 403), ("mallory", 404), ("sam", 403)]
)
def test_only_an_owner_removes_members(study: Study, name: str, status: int) -> None:
    other_study()
    make.user("sam", staff=True)
    client = Visitor(name).client
    carol = make.member(study, "carol")
    path = f"/studies/study/members/{carol.pk}/remove/"
    assert client.get(path).status_code == (200 if status == 302 else status)
    assert client.post(path).status_code == status
    carol.refresh_from_db()
    assert (carol.user is None) is (status == 302)
    if status == 302:
        assert client.post(path).status_code == 409


def test_the_last_answer_out_moves_the_round_on_when_its_rater_leaves(study: Study) -> None:
    round_ = make.open_round(study, 1, raters=("bob",), raters_per_item=1)
    make.submit(round_, "bob", 1, {"symptom": ["crash"]})
    assert Round.objects.get().state == "resolving"
    leaving.leave_study(seat=make.seat(study, "bob"))
    assert Annotation.objects.count() == 1


def test_an_account_is_closed_by_who_types_its_name(study: Study) -> None:
    bob = make.user("bob")
    bob.set_password("a long password")
    bob.save()
    make_token(user=bob, name="script")
    client = Visitor("bob").client
    assert client.post("/me/close/", {"typed": "carol", "password": "a long password"}).status_code == 422
    assert client.post("/me/close/", {"typed": "bob", "password": "a long password"})["Location"] == "/sign-in/"
    bob.refresh_from_db()
    assert not bob.is_active and not bob.sessions.exists()
    assert not ApiToken.objects.filter(user=bob, revoked_at=None).exists()
    assert not Membership.objects.filter(user=bob).exists()
    assert client.get("/me/").status_code == 302


def test_an_account_that_alone_owns_a_study_is_not_closed(study: Study) -> None:
    with pytest.raises(Conflict, match="only owner of “Study”"):
        leaving.close_account(user=make.user("olga"), typed="olga", confirmation=Confirmation(at_provider=time.time()))
    with pytest.raises(Invalid):
        leaving.close_account(user=make.user("bob"), typed="", confirmation=Confirmation())
    assert make.user("olga").is_active and make.seat(study, "olga").membership


def newcomer(study: Study, name: str = "nora") -> Membership:
    """A member whose account was created by an invitation to this study."""
    link = invitations.invite(seat=make.owner_seat(study), roles=["rater"])[1]
    return invitations.join(plaintext=link, username=name, password="a long password of hers")[1]


def test_an_owner_makes_a_link_for_the_password_of_someone_whom_an_invitation_to_the_study_created(
    study: Study,
) -> None:
    client = Visitor("olga").client
    answer = client.post(f"/studies/study/members/{newcomer(study).pk}/password-link/")
    assert answer.status_code == 201
    address = answer.content.decode().partition('id="new-link">')[2].partition("<")[0]
    assert Client().get(address.removeprefix("http://testserver")).status_code == 200
    event = AuditEvent.objects.get(verb="password link made")
    assert event.detail == {"member": "nora"} and address.rstrip("/").rpartition("/")[2] not in str(event.detail)


def test_nobody_takes_over_an_account_by_a_study_of_their_own(study: Study) -> None:
    """Adds an account that is in no study to a new study, and asks for its password as the owner."""
    make.user("victim", password="a long password of hers")
    mallory, page = Script("mallory"), Visitor("mallory").client
    make.version(make.SYMPTOMS.replace("slug: symptoms", "slug: malicious"), "mallory")
    assert mallory.send("POST", "studies/", {"slug": "mal", "title": "Mal", "taxonomy": "malicious"}).status_code == 201
    body = {"user": "VICTIM", "roles": ["reader"]}
    assert mallory.send("POST", "studies/mal/members/", body).status_code == 201
    member = Membership.objects.get(study__slug="mal", roles=["reader"])
    path = f"/studies/mal/members/{member.pk}/password-link/"
    assert page.post(path).status_code == 409
    make.accept("victim")
    assert page.post(path).status_code == 403
    assert not PasswordLink.objects.exists()


def refused(study: Study, by: str, whose: str) -> str:
    with pytest.raises(Forbidden) as error:
        make_password_link(seat=make.seat(study, by), member=make.member(study, whose))
    return error.value.message


def test_an_owner_can_not_take_over_what_is_not_theirs(study: Study) -> None:
    sam = make.user("sam", staff=True)
    members.add_member(seat=make.owner_seat(study), username="sam", roles=["reader"])
    assert "they are staff" in refused(study, "olga", "sam") and "manage.py password_link" in refused(
        study, "olga", "sam"
    )
    assert "not created by an invitation to this study" in refused(study, "olga", "bob")
    newcomer(study)
    assert "role owner" in refused(study, "ada", "nora")
    make_password_link(seat=make.owner_seat(study), member=make.member(study, "nora"))
    make_password_link(seat=get_seat(sam, "study"), member=make.member(study, "bob"))
    with pytest.raises(Conflict, match="This is you"):
        make_password_link(seat=make.owner_seat(study), member=make.member(study, "olga"))


def test_an_account_that_an_invitation_to_another_study_created_is_not_this_owners(study: Study) -> None:
    other = other_study()
    link = invitations.invite(seat=make.seat(other, "mallory"), roles=["rater"])[1]
    invitations.join(plaintext=link, username="nora", password="a long password of hers")
    members.add_member(seat=make.owner_seat(study), username="nora", roles=["rater"])
    assert "not created by an invitation to this study" in refused(study, "olga", "nora")


def test_an_account_that_was_there_before_the_link_of_an_invitation_is_not_the_owners(study: Study) -> None:
    make.user("nora")
    link = invitations.invite(seat=make.owner_seat(study), roles=["rater"])[1]
    page = Visitor("nora").client
    assert page.post(f"/invitations/{link}/").status_code == 302
    assert "not created by an invitation to this study" in refused(study, "olga", "nora")
    path = f"/studies/study/members/{make.member(study, 'nora').pk}/password-link/"
    assert Visitor("olga").client.post(path).status_code == 403
    assert not PasswordLink.objects.exists()


@pytest.mark.parametrize("how", ["member", "invited", "left", "declined"])
def test_an_account_that_is_or_was_in_another_study_is_nobodys(study: Study, how: str) -> None:
    newcomer(study)
    other = other_study()
    members.set_member(seat=make.seat(other, "mallory"), username="nora", roles=["rater"])
    key = Membership.objects.get(study=other, name="nora").invitation_key or ""
    if how == "declined":
        decline(user=make.user("nora"), key=key)
    elif how != "invited":
        make.accept("nora")
    if how == "left":
        leaving.leave_study(seat=make.seat(other, "nora"))
    assert "in another study" in refused(study, "olga", "nora")


def token_of(user: User) -> None:
    make_token(user=user, name="script")


def repository_of(user: User) -> None:
    make.issues(1, "acme/secret", private=True)[0].repository.readers.add(user)


def upload_of(user: User) -> None:
    take_upload(user=user, file=ContentFile(b"number,title\n1,Hang\n", "more.csv"), repository="acme/more")


def fetch_of(user: User) -> None:
    FetchRun.objects.create(kind="github", target="github.com/o/r", state="done", created_by=user)


def workbook_of(user: User) -> None:
    take_workbook(user=user, files=[ContentFile(b"item,rater,symptom\nacme/x#1,eve,crash\n", "m.csv")], seat=None)


def arrival_of(user: User) -> None:
    Arrival.objects.create(name="study.zip", slug="arriving", created_by=user)


def taxonomy_of(user: User) -> None:
    make.version(make.SYMPTOMS.replace("slug: symptoms", "slug: noras"), user.username)


def provider_of(user: User) -> None:
    connect_provider(user=user, provider="oidc", uid="7", called="n.ora")


def export_of(user: User) -> None:
    study = Study.objects.get(slug="study")
    members.add_member(seat=make.owner_seat(study), username=user.username, roles=["owner"])
    request_export(seat=make.seat(study, user.username), what="ratings", format="csv", send=False)


@pytest.mark.parametrize(
    "owns",
    [token_of, repository_of, upload_of, fetch_of, workbook_of, arrival_of, taxonomy_of, provider_of, export_of],
)
def test_an_account_that_owns_something_is_nobodys(study: Study, owns: Callable[[User], None]) -> None:
    newcomer(study)
    owns(make.user("nora"))
    assert "their account has" in refused(study, "olga", "nora")


@pytest.mark.parametrize("setting", ["FETCHERS", "STUDY_CREATORS"])
def test_an_account_that_a_setting_names_is_nobodys_and_its_name_is_taken(
    study: Study, settings: Any, setting: str
) -> None:
    newcomer(study)
    setattr(settings, setting, PeopleSetting(names=frozenset({"nora", "fay"})))
    assert "settings name their account" in refused(study, "olga", "nora")
    staff = get_seat(make.user("sam", staff=True), "study")
    assert make_password_link(seat=staff, member=make.member(study, "nora"))
    link = invitations.invite(seat=make.owner_seat(study), roles=["rater"])[1]
    with pytest.raises(Conflict, match="The name Fay is taken"):
        invitations.join(plaintext=link, username="Fay", password="a long password of theirs")
    assert invitations.join(plaintext=link, username="Fred", password="a long password of theirs")


def test_every_table_that_names_users_is_asked_but_for_those_that_open_nothing(study: Study) -> None:
    """A new table outside of studies that names a user counts by itself; here stand those that do not."""
    opens_nothing = {
        "User_groups", "User_user_permissions", "Session", "PasswordLink", "ServerEvent", "Membership", "ReaderLink",
        "Invitation", "Sample", "Item", "AuditEvent", "Round", "Annotation", "Plan", "ProposalOutcome", "Resolution",
        "Analysis", "BulkJob", "Meeting", "Spelling",
    }  # fmt: skip
    named = {
        relation.related_model.__name__  # type: ignore[union-attr]
        for relation in User._meta.get_fields(include_hidden=True)
        if relation.auto_created and relation.one_to_many and relation.related_model._meta.app_label in BESIDE_STUDIES  # type: ignore[union-attr]
    }
    assert named - {model.__name__ for model in OWNED} == opens_nothing


@pytest.mark.parametrize(
    ("name", "status"), [("olga", 201), ("sam", 201), ("ada", 403), ("bob", 403), ("rea", 403), ("mallory", 404)]
)
def test_owners_and_staff_make_links(study: Study, name: str, status: int) -> None:
    other_study()
    make.user("sam", staff=True)
    path = f"/studies/study/members/{newcomer(study).pk}/password-link/"
    assert Visitor(name).client.post(path).status_code == status
    assert Visitor(name).client.get(path).status_code == 405
