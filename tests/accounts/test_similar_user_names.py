"""User names that differ by one letter, such as ivan and ıvan: each finds its own account alone."""

from typing import Any

import pytest
from django.core.management import call_command
from django.http import HttpResponse
from django.test import RequestFactory

from accounts import actions
from accounts.access import get_user
from accounts.audit import AuditQuery, record, record_failure
from accounts.known_browsers import known_browser, remember, set_cookie
from accounts.models import ApiToken, ServerEvent, User
from accounts.permissions import is_named_by_operator
from annotation.members.actions.members import add_member, set_member
from config.env import people
from shared.errors import Conflict, NotFound
from shared.names import folded
from tests import builders as make

pytestmark = pytest.mark.django_db

SIMILAR = [
    ("\u0131van", "ivan"),  # dotless i
    ("\u03b4\u03ae\u03bc\u03bf\u03c2", "\u03b4\u03ae\u03bc\u03bf\u03c3"),  # final sigma
    ("stra\u00dfe", "strasse"),
    ("\u1c80\u0436\u0438\u0432\u0430", "\u0432\u0436\u0438\u0432\u0430"),  # rounded ve
    ("\u03b2\u03b8\u03c6\u03c8", "\u03d0\u03b8\u03c6\u03c8"),  # beta symbol, one name after NFKC
]


def person(name: str) -> User:
    return actions.add_user(username=name)[0]


@pytest.mark.parametrize(("older", "younger"), SIMILAR[:4])
def test_a_name_finds_its_own_account_and_no_similar_one(older: str, younger: str) -> None:
    first = person(older)
    assert not User.named(younger).exists()
    with pytest.raises(NotFound):
        get_user(younger)
    second = person(younger)
    assert [get_user(f" {name} ").pk for name in (older, younger)] == [first.pk, second.pk]
    assert set(User.named(older, younger)) == {first, second}


def test_names_are_one_as_for_the_database_whatever_case_and_normal_form() -> None:
    ivan, jose = person("Ivan"), person("jos\u00e9")
    assert get_user("IVAN") == get_user("\uff49van") == ivan and get_user("JOSE\u0301") == jose
    older, younger = SIMILAR[4]
    person(older)
    with pytest.raises(Conflict):
        person(younger)


@pytest.mark.parametrize(("older", "younger"), SIMILAR)
def test_python_finds_two_names_the_same_where_the_database_does(older: str, younger: str) -> None:
    person(older)
    for name in (older, younger, older.upper(), younger.upper(), "\u0130van", "I\u0307van"):
        assert User.named(name).exists() == (folded(name) == folded(older)), name


def test_a_token_of_the_shell_is_for_the_account_that_was_named(capsys: Any) -> None:
    person("\u0131van")
    ivan = person("ivan")
    call_command("token", "ivan")
    assert ApiToken.objects.get().user == ivan


def test_the_audit_log_keeps_similar_names_apart() -> None:
    thief, ivan = person("\u0131van"), person("ivan")
    record_failure("ivan")
    assert ServerEvent.objects.get(verb="sign-in failed").about == ivan
    record(verb="person renamed", user=thief)
    assert not AuditQuery(who="ivan").narrowed(ServerEvent.objects.all()).exists()


def test_a_browser_that_knows_a_similar_name_is_counted_as_unknown() -> None:
    thief = person("\u0131van")
    request = RequestFactory().get("/")
    remember(request, thief)
    answer = HttpResponse()
    set_cookie(request, answer)
    request.COOKIES.update({name: cookie.value for name, cookie in answer.cookies.items()})
    assert known_browser(request, "\u0131van") and not known_browser(request, "ivan")


@pytest.mark.parametrize(("older", "younger"), SIMILAR[:4])
def test_a_setting_gives_rights_to_the_name_that_it_names_alone(
    older: str, younger: str, settings: Any, monkeypatch: Any
) -> None:
    monkeypatch.setenv("FETCHERS", older)
    settings.FETCHERS = people("FETCHERS", "staff")
    assert settings.FETCHERS.includes(person(older)) and not settings.FETCHERS.includes(person(younger))
    assert is_named_by_operator(older) and not is_named_by_operator(younger)


@pytest.mark.parametrize("is_member", [False, True])
def test_roles_go_to_the_account_that_the_owner_names(is_member: bool) -> None:
    thief, ivan = person("\u0131van"), person("ivan")
    study = make.study()
    if is_member:
        add_member(seat=make.owner_seat(study), username=thief.username, roles=["reader"])
    placed = set_member(seat=make.owner_seat(study), username="ivan", roles=["owner"])
    assert placed.membership.invited_user == ivan
    assert not study.memberships.filter(user=thief, roles__contains=["owner"]).exists()
