"""A link that an owner makes for a member's new password: what it is good for later, and who gets none."""

from collections.abc import Callable

import pytest
from django.core.cache import cache
from django.test import Client

from accounts.access import get_password_link
from accounts.actions import change_password, make_token, use_password_link
from accounts.actions import make_password_link as make_link_of_staff
from accounts.errors import NotFound
from accounts.models import PasswordLink, User
from annotation.actions import invitations, leaving, own_invitations, studies
from annotation.models import Membership, Study
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
    """The path of a link that somebody makes on the page Members."""
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
    studies.set_member(seat=make.seat(other_study(), "mallory"), username="nora", roles=["adjudicator"])


def in_another_study(nora: User) -> None:
    asked_into_another_study(nora)
    make.accept("nora")


def declined_another_study(nora: User) -> None:
    asked_into_another_study(nora)
    key = Membership.objects.get(study__slug="other", name="nora").invitation_key or ""
    own_invitations.decline(user=nora, key=key)


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


def blind_together_with_the_owner(nora: User) -> None:
    study = Study.objects.get(slug="study")
    studies.add_member(seat=make.owner_seat(study), username="olga", roles=["owner", "rater"])
    make.open_round(study, 2, raters=("nora", "olga"))


def no_members_of_that_owner(nora: User) -> None:
    study = Study.objects.get(slug="study")
    studies.add_member(seat=make.owner_seat(study), username="bob", roles=["owner"])
    studies.add_member(seat=make.seat(study, "bob"), username="olga", roles=["reader"])


MEANWHILE = [
    asked_into_another_study, in_another_study, declined_another_study, with_a_token, with_a_repository, of_staff,
    gone, with_another_password, signed_in, with_a_newer_link, blind_together_with_the_owner, no_members_of_that_owner,
]  # fmt: skip


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
