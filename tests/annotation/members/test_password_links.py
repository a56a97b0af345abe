"""A link that an owner makes for a member's new password: what it is good for later, and who gets none."""

import re
from collections.abc import Callable

import pytest
from django.core.cache import cache
from django.core.files.base import ContentFile
from django.core.files.uploadedfile import UploadedFile
from django.test import Client

from accounts.access import get_password_link
from accounts.actions import change_password, make_token, use_password_link
from accounts.actions import make_password_link as make_link_of_staff
from accounts.models import PasswordLink, User
from annotation.imports.actions.workbooks import take_workbook
from annotation.invitations.actions import invitations
from annotation.members.actions import leaving, members
from annotation.members.actions.leaving import decline
from annotation.members.queries.password_links import owned_by
from annotation.models import Assignment, AuditEvent, Item, Membership, Round, Study
from ingest.actions.fetches import start_fetch
from ingest.actions.uploads import take_upload
from shared.errors import Invalid, NotFound
from taxonomy.actions.drafts import load_document
from tests import builders as make
from tests.annotation.permission_study import Visitor

pytestmark = pytest.mark.django_db
PASSWORD, NEW = "a long password of hers", "Taken-Over-99!z"


def build_study() -> Study:
    cache.clear()
    return make.study(raters=("bob", "carol", "dan"))


def newcomer(study: Study, name: str = "nora", *roles: str) -> Membership:
    """A member whose account was created by an invitation to this study."""
    link = invitations.invite(seat=make.owner_seat(study), roles=list(roles) or ["rater"])[1]
    return invitations.join(plaintext=link, username=name, password=PASSWORD)[1]


def link_for(member: Membership, by: str = "olga") -> str:
    """The path of a link that someone makes on the page Members."""
    answer = Visitor(by).client.post(f"/studies/study/members/{member.pk}/password-link/")
    assert answer.status_code == 201
    found = answer.content.decode().partition('id="new-link">')[2].partition("<")[0]
    return found.removeprefix("http://testserver")


def opens(path: str) -> bool:
    """Whether a link shows its form and takes a password; where one does not, the other may not either."""
    shown, used = Client().get(path).status_code, Client().post(path, {"new": NEW}).status_code
    assert (shown, used) in {(200, 302), (404, 404)}
    return used == 302


def other_study() -> Study:
    text = make.SYMPTOMS.replace("slug: symptoms", "slug: more")
    return make.study("other", owner="mallory", raters=(), text=text)


def asked_into_another_study(nora: User) -> None:
    members.set_member(seat=make.seat(other_study(), "mallory"), username="nora", roles=["adjudicator"])


def in_another_study(nora: User) -> None:
    asked_into_another_study(nora)
    make.accept("nora")


def declined_another_study(nora: User) -> None:
    asked_into_another_study(nora)
    key = Membership.objects.get(study__slug="other", name="nora").invitation_key or ""
    decline(user=nora, key=key)


def with_a_token(nora: User) -> None:
    make_token(user=nora, name="script")


def with_a_repository(nora: User) -> None:
    make.issues(1, "acme/secret", private=True)[0].repository.readers.add(nora)


def of_staff(nora: User) -> None:
    User.objects.filter(pk=nora.pk).update(is_staff=True)


def gone(nora: User) -> None:
    leaving.leave_study(seat=make.seat(Study.objects.get(slug="study"), "nora"))


def with_another_password(nora: User) -> None:
    change_password(user=nora, old=PASSWORD, new="another long one of hers")


def signed_in(nora: User) -> None:
    assert Client().post("/sign-in/", {"username": "nora", "password": PASSWORD}).status_code == 302


def with_a_newer_link(nora: User) -> None:
    link_for(Membership.objects.get(user=nora))


def blind_owner(nora: User) -> None:
    study = Study.objects.get(slug="study")
    owner_who_rates(study)
    make.open_round(study, 2, raters=("bob", "olga"))


def no_members_of_that_owner(nora: User) -> None:
    study = Study.objects.get(slug="study")
    members.add_member(seat=make.owner_seat(study), username="bob", roles=["owner"])
    members.add_member(seat=make.seat(study, "bob"), username="olga", roles=["reader"])


MEANWHILE = [
    asked_into_another_study, in_another_study, declined_another_study, with_a_token, with_a_repository, of_staff,
    gone, with_another_password, signed_in, with_a_newer_link, blind_owner, no_members_of_that_owner,
]  # fmt: skip


def test_an_account_that_is_older_than_its_invitation_gets_no_link_of_an_owner(study: Study) -> None:
    nora = make.user("nora")
    link = invitations.invite(seat=make.owner_seat(study), roles=["rater"])[1]
    member = invitations.accept_invitation(user=nora, plaintext=link)
    path = f"/studies/study/members/{member.pk}/password-link/"
    assert Visitor("olga").client.post(path).status_code in (403, 409)
    assert not PasswordLink.objects.exists()


def test_the_page_offers_an_owner_links_for_accounts_that_the_study_created_and_staff_all(study: Study) -> None:
    nora = newcomer(study)
    make.user("sam", staff=True)
    links = {by: re.findall(r"/members/(\d+)/password-link/", members_page(by)) for by in ("olga", "bob", "sam")}
    people = Membership.objects.filter(study=study, user__isnull=False).values_list("pk", flat=True)
    assert links == {"olga": [str(nora.pk)], "bob": [], "sam": links["sam"]}
    assert sorted(links["sam"], key=int) == [str(pk) for pk in sorted(people)]


def members_page(by: str) -> str:
    return Visitor(by).client.get("/studies/study/members/").content.decode()


def test_an_owners_link_is_good_once_for_an_account_that_stayed_as_it_was(study: Study) -> None:
    path = link_for(newcomer(study))
    assert opens(path) and make.user("nora").check_password(NEW)
    assert not opens(path)


@pytest.mark.parametrize("meanwhile", MEANWHILE)
def test_an_owners_link_ends_when_its_account_became_more(study: Study, meanwhile: Callable[[User], None]) -> None:
    path = link_for(newcomer(study))
    meanwhile(make.user("nora"))
    before = make.user("nora").password
    assert not opens(path)
    assert make.user("nora").password == before


@pytest.mark.parametrize("meanwhile", [in_another_study, with_a_token, signed_in, no_members_of_that_owner, gone])
@pytest.mark.parametrize("by", ["sam", None])
def test_a_link_of_staff_or_the_shell_stays_good(
    study: Study, meanwhile: Callable[[User], None], by: str | None
) -> None:
    sam, member = make.user("sam", staff=True), newcomer(study)
    if by == sam.username:
        path = link_for(member, by)
    else:
        path = f"/new-password/{make_link_of_staff(user=make.user('nora'))[1]}/"
    meanwhile(make.user("nora"))
    assert opens(path)


def test_a_changed_password_ends_a_link_of_staff(study: Study) -> None:
    make.user("sam", staff=True)
    path = link_for(newcomer(study), "sam")
    with_another_password(make.user("nora"))
    assert not opens(path)


def test_a_link_that_was_opened_in_time_is_not_used_too_late(study: Study) -> None:
    """What the page looked at may have changed since: the password is set under a lock, after looking again."""
    plaintext = link_for(newcomer(study)).rstrip("/").rpartition("/")[2]
    link = get_password_link(plaintext)
    with_a_token(make.user("nora"))
    with pytest.raises(NotFound):
        use_password_link(link=link, new=NEW)
    assert PasswordLink.objects.get().used_at is None and make.user("nora").check_password(PASSWORD)


# Who makes none


def answer_to(by: str, member: Membership) -> tuple[int, str]:
    """Status of the answer to who asks for a link on the page Members, and the reason where it is refused."""
    path = f"/studies/{member.study.slug}/members/{member.pk}/password-link/"
    answer = Visitor(by).client.post(path)
    _, _, reason = answer.content.decode().partition(f"create a password link for {member.display_name}: ")
    return answer.status_code, reason.partition("<")[0]


def owner_who_rates(study: Study) -> None:
    members.add_member(seat=make.owner_seat(study), username="olga", roles=["owner", "rater"])


@pytest.mark.parametrize("roles", [("adjudicator",), ("owner",), ("reader",), ("rater",)])
def test_who_rates_in_an_open_round_of_a_study_takes_over_no_account_of_it(
    study: Study, roles: tuple[str, ...]
) -> None:
    """Adjudicators, owners and readers see what others said there, and any rater can be asked as a third one."""
    judy = newcomer(study, "judy", *roles)
    owner_who_rates(study)
    round_ = make.open_round(study, 2, raters=("bob", "olga"))
    make.submit(round_, "bob", 1, {"symptom": ["hang"]}, memo="told by nobody")
    status, reason = answer_to("olga", judy)
    assert status == 403 and not PasswordLink.objects.exists()
    assert reason.startswith("you are a rater in round 1 of the study “study”") and "Staff can create one" in reason
    make.user("sam", staff=True)
    assert answer_to("sam", judy)[0] == 201


def test_who_rates_in_a_pool_gets_no_link_before_they_have_an_item(study: Study) -> None:
    owner_who_rates(study)
    nora = newcomer(study)
    make.open_round(study, 2, raters=("bob", "olga"), mode="pool", raters_per_item=2)
    assert not Assignment.objects.exists()
    assert answer_to("olga", nora)[0] == 403


def test_an_owner_who_rates_makes_links_again_when_the_round_is_over(study: Study) -> None:
    owner_who_rates(study)
    nora = newcomer(study)
    round_ = make.open_round(study, 1, raters=("bob", "olga"))
    assert answer_to("olga", nora)[0] == 403
    for name in ("bob", "olga"):
        make.submit(round_, name, 1, {"symptom": ["hang"]})
    assert answer_to("olga", nora)[0] == 201


def test_an_owner_who_owes_a_third_answer_makes_no_link(study: Study) -> None:
    owner_who_rates(study)
    nora = newcomer(study)
    round_ = make.open_round(study, 1, raters=("bob", "carol"))
    make.submit(round_, "bob", 1, {"symptom": ["hang"]})
    make.submit(round_, "carol", 1, {"symptom": ["crash"]})
    assert answer_to("olga", nora)[0] == 201
    asked_as_third_rater(round_, "olga")
    assert answer_to("olga", nora)[0] == 403


def asked_as_third_rater(round_: Round, name: str) -> None:
    Assignment.objects.create(
        round=round_, item=Item.objects.get(), rater=make.member(round_.study, name), position=1, slot=None
    )


@pytest.mark.parametrize("by", ["olga", "sam"])
@pytest.mark.parametrize("blind", [True, False])
def test_the_answer_does_not_tell_who_is_asked_as_a_third_rater(study: Study, by: str, blind: bool) -> None:
    make.user("sam", staff=True)
    members.add_member(seat=make.owner_seat(study), username="sam", roles=["rater"])
    owner_who_rates(study)
    nora = newcomer(study)
    round_ = make.open_round(study, 1, raters=("bob", by if blind else "carol"))
    before = answer_to(by, nora)
    asked_as_third_rater(round_, "nora")
    assert answer_to(by, nora) == before
    assert before[0] == (403 if blind else 201)


@pytest.mark.parametrize("invited", [False, True])
def test_staff_who_rate_in_another_study_take_over_no_account_of_it_by_this_one(study: Study, invited: bool) -> None:
    make.user("sam", staff=True)
    other = other_study()
    for name, roles in (("sam", ["rater"]), ("xena", ["rater"]), ("bob", ["adjudicator"])):
        make.user(name)
        add = members.set_member if invited and name == "bob" else members.add_member
        add(seat=make.seat(other, "mallory"), username=name, roles=roles)
    make.open_round(other, 2, raters=("sam", "xena"))
    status, reason = answer_to("sam", make.member(study, "bob"))
    assert status == 403 and "round 1 of the study “other”" in reason
    assert answer_to("sam", make.member(study, "carol"))[0] == 201


def test_the_studys_audit_log_records_the_use_of_an_owners_link(study: Study) -> None:
    path = link_for(newcomer(study, "judy", "adjudicator", "rater"))
    assert not AuditEvent.objects.filter(verb="password link used").exists()
    assert opens(path) and not opens(path)
    line = AuditEvent.objects.get(verb="password link used")
    assert (line.study, line.user) == (study, None)
    assert line.detail == {"member": "judy", "roles": ["adjudicator", "rater"], "made_by": "olga"}
    make.user("sam", staff=True)
    assert opens(link_for(make.member(study, "bob"), "sam"))
    assert AuditEvent.objects.filter(verb="password link used").count() == 1


@pytest.mark.parametrize("how", ["rates", "is no staff"])
def test_a_link_of_staff_ends_with_what_they_may(how: str) -> None:
    study = make.study(raters=("bob", "carol", "dan"))
    sam = make.user("sam", staff=True)
    path = link_for(make.member(study, "bob"), by="sam")
    if how == "rates":
        members.add_member(seat=make.owner_seat(study), username="sam", roles=["rater"])
        make.open_round(study, 1, raters=("sam", "carol"))
    else:
        User.objects.filter(pk=sam.pk).update(is_staff=False)
    assert not opens(path)


def test_a_link_of_staff_that_may_still_make_it_opens() -> None:
    make.user("sam", staff=True)
    assert opens(link_for(make.member(make.study(raters=("bob", "carol")), "bob"), by="sam"))


def test_nobody_joins_by_a_session_that_a_link_ended() -> None:
    study = build_study()
    nora = newcomer(study).user
    assert nora is not None
    before = User.objects.get(pk=nora.pk)
    invitation = invitations.invite(seat=make.seat(other_study(), "mallory"), roles=["owner"])[1]
    assert opens(link_for(Membership.objects.get(user=nora)))
    with pytest.raises(Invalid, match="changed at the same time"):
        invitations.accept_invitation(user=before, plaintext=invitation)
    assert not Membership.objects.filter(study__slug="other", user=nora).exists()


@pytest.mark.parametrize("way", ["upload", "workbook", "fetch", "taxonomy"])
def test_nothing_is_uploaded_by_a_session_that_a_link_ended(way: str) -> None:
    """A file can take seconds to read, and would be theirs who made the link."""
    study = build_study()
    nora = newcomer(study).user
    assert nora is not None
    before = User.objects.get(pk=nora.pk)
    assert opens(link_for(Membership.objects.get(user=nora)))
    file = ContentFile(b"number,title\n1,Hang\n", "more.csv")
    ways: dict[str, Callable[[], object]] = {
        "upload": lambda: take_upload(user=before, file=file, repository="acme/more"),
        "workbook": lambda: take_workbook(files=[UploadedFile(file, "sheet.csv", size=20)], user=before),
        "fetch": lambda: start_fetch(user=before, repository="acme/more", send=False),
        "taxonomy": lambda: load_document(user=before, text=make.SYMPTOMS.replace("slug: symptoms", "slug: own")),
    }
    with pytest.raises(Invalid, match="changed at the same time"):
        ways[way]()
    assert owned_by(before) == ""
