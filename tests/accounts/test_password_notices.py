"""A password set by a link is told on every page until someone confirms it who does not only have that password."""

import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings
from django.core.cache import cache
from django.core.management import call_command
from django.db import connections, transaction
from django.test import Client
from django.utils import timezone

from accounts import actions, jobs
from accounts.audit import record
from accounts.confirmation import Confirmation
from accounts.models import PasswordLink, ServerEvent, User
from accounts.queries import ADDRESS_CHANGED, proves_person
from accounts.sessions import SessionStore, sign_in
from annotation.members.actions.leaving import close_account
from shared.errors import Conflict, Invalid
from tests import builders as make
from tests.asserts import assert_queries, wait_until_someone_waits_for_a_lock

pytestmark = pytest.mark.django_db
FIRST, BY_LINK, NEXT = "first long password", "password of the link", "password after that"
NOTICE = "A new password was set for your account"


@pytest.fixture
def alice() -> User:
    cache.clear()
    return make.user("alice", password=FIRST)


def signed_in(password: str, name: str = "alice") -> Client:
    client = Client()
    assert client.post("/sign-in/", {"username": name, "password": password}).status_code == 302
    return client


def used(alice: User, new: str = BY_LINK, **more: Any) -> PasswordLink:
    """A link that was used on its page."""
    link, plaintext = actions.make_password_link(user=User.objects.get(pk=alice.pk), **more)
    assert Client().post(f"/new-password/{plaintext}/", {"new": new}).status_code == 302
    return link


def confirm(client: Client, link: PasswordLink) -> int:
    return int(client.post(f"/me/password-links/{link.pk}/confirm/").status_code)


def is_told(client: Client) -> bool:
    return NOTICE in client.get("/studies/").content.decode()


def test_the_use_of_a_link_is_told_on_every_page_and_can_not_be_confirmed_with_its_password(alice: User) -> None:
    link = used(alice, made_by=make.user("olga", staff=True))
    client = signed_in(BY_LINK)
    for path in ("/", "/me/"):
        words = client.get(path).content.decode()
        assert NOTICE in words and "olga created" in words and "can’t confirm it here" in words, path
        assert "Confirm that it was me" not in words
    assert confirm(client, link) == 403
    assert is_told(client) and is_told(signed_in(BY_LINK)), "also at the next sign-in"


def test_changing_the_password_that_a_link_set_does_not_end_the_notice(alice: User) -> None:
    link = used(alice, made_by=make.user("olga", staff=True))
    client = signed_in(BY_LINK)
    assert client.post("/me/password/", {"old": BY_LINK, "new": NEXT}).status_code == 302
    assert confirm(client, link) == 403
    again = signed_in(NEXT)
    assert confirm(again, link) == 403 and is_told(again)


def test_a_link_sent_to_the_persons_own_address_gives_a_session_that_may_confirm(alice: User) -> None:
    link = used(alice, made_by=make.user("olga", staff=True))
    used(alice, NEXT, by_email=True)
    client = signed_in(NEXT)
    assert "Confirm that it was me" in client.get("/").content.decode()
    assert confirm(client, link) == 302
    assert not is_told(client)
    line = ServerEvent.objects.get(verb="password link confirmed")
    assert (line.user, line.about) == (alice, alice)


def test_a_link_sent_to_an_address_that_was_changed_since_confirms_nothing(alice: User) -> None:
    link = used(alice, made_by=make.user("olga", staff=True))
    actions.rename_user(
        user=User.objects.get(pk=alice.pk),
        full_name="Alice",
        email="mallory@example.org",
        confirmation=Confirmation(BY_LINK),
    )
    used(alice, NEXT, by_email=True)
    client = signed_in(NEXT)
    assert confirm(client, link) == 403 and is_told(client)


def test_a_link_ends_an_address_that_was_set_after_the_link_was_sent(alice: User) -> None:
    """Someone who knows the password sets an address of their own, so that they can come back by it."""
    User.objects.filter(pk=alice.pk).update(email="alice@example.org")
    _, plaintext = actions.make_password_link(user=User.objects.get(pk=alice.pk), by_email=True)
    actions.rename_user(
        user=User.objects.get(pk=alice.pk), full_name="Alice", email="mallory@example.org",
        confirmation=Confirmation(FIRST),
    )  # fmt: skip
    answer = Client().post(f"/new-password/{plaintext}/", {"new": NEXT}, follow=True)
    assert "Removed, because they were added in the last 30 days: the e-mail address." in answer.content.decode()
    alice.refresh_from_db()
    assert (alice.email, alice.has_notice) == ("", True)
    told = signed_in(NEXT).get("/studies/").content.decode()
    assert "with a link that was sent to an earlier e-mail address of your account." in told
    make.user("sam", staff=True, password=FIRST)
    shown = signed_in(FIRST, "sam").get("/operations/").content.decode()
    assert "request by e-mail, sent to an earlier address" in shown and ">shell<" not in shown


def test_a_link_ends_what_was_added_lately_to_an_account_without_a_password(alice: User) -> None:
    alice.set_unusable_password()
    alice.email = "mallory@example.org"
    alice.save()
    record(verb=ADDRESS_CHANGED, user=alice)
    actions.connect_provider(user=alice, provider="oidc", uid="7", called="mallory")
    used(alice)
    alice.refresh_from_db()
    assert (alice.email, alice.socialaccount_set.count()) == ("", 0)


def test_a_change_of_the_name_alone_writes_no_address_back_that_was_removed(alice: User) -> None:
    User.objects.filter(pk=alice.pk).update(email="mallory@example.org")
    under_way = User.objects.get(pk=alice.pk)
    User.objects.filter(pk=alice.pk).update(email="")
    actions.rename_user(user=under_way, full_name="Alice B", email="mallory@example.org", confirmation=Confirmation(""))
    alice.refresh_from_db()
    assert (alice.first_name, alice.email) == ("Alice", "")


def test_no_link_is_sent_to_an_address_that_the_account_has_no_more(alice: User) -> None:
    User.objects.filter(pk=alice.pk).update(email="mallory@example.org")
    found = User.objects.get(pk=alice.pk)
    User.objects.filter(pk=alice.pk).update(email="alice@example.org")
    with pytest.raises(Conflict, match="was changed at the same time"):
        actions.make_password_link(user=found, by_email=True)
    assert not PasswordLink.objects.exists()


def test_a_link_ends_no_address_that_it_was_sent_to(alice: User) -> None:
    actions.rename_user(
        user=User.objects.get(pk=alice.pk), full_name="Alice", email="alice@example.org",
        confirmation=Confirmation(FIRST),
    )  # fmt: skip
    used(User.objects.get(pk=alice.pk), by_email=True)
    alice.refresh_from_db()
    assert (alice.email, alice.has_notice) == ("alice@example.org", False)


@pytest.mark.parametrize("is_before", [True, False])
def test_a_provider_confirms_if_it_was_connected_before_the_link_was_used(
    alice: User, rf: Any, is_before: bool
) -> None:
    if is_before:
        actions.connect_provider(user=alice, provider="oidc", uid="7", called="a.cole")
        alice.socialaccount_set.update(date_joined=timezone.now() - timedelta(days=31))
    link = used(alice, made_by=make.user("olga", staff=True))
    alice.refresh_from_db()
    if not is_before:
        actions.connect_provider(user=alice, provider="oidc", uid="7", called="a.cole")
    request = rf.get("/")
    request.session = SessionStore()
    alice.refresh_from_db()
    sign_in(request, alice, is_independent=proves_person(alice.socialaccount_set.get()))
    request.session.save()
    client = Client()
    client.cookies[settings.SESSION_COOKIE_NAME] = request.session.session_key
    assert confirm(client, link) == (302 if is_before else 403)


def thief_adds_ways_in(alice: User) -> None:
    actions.connect_provider(user=alice, provider="oidc", uid="7", called="thief")
    actions.rename_user(user=alice, full_name="Alice", email="thief@evil.example", confirmation=Confirmation(FIRST))


def test_the_earlier_address_is_told_of_a_new_one_once_a_day(alice: User, settings: Any, mailoutbox: list[Any]) -> None:
    settings.SENDS_EMAIL, settings.CELERY_TASK_ALWAYS_EAGER = True, True
    User.objects.filter(pk=alice.pk).update(email="alice@example.org")
    client = signed_in(FIRST)
    for address in ("thief@evil.example", "other@evil.example"):
        sent = {"full_name": "Alice", "email": address, "password": FIRST}
        assert client.post("/me/profile/", sent).status_code == 302
    assert [mail.to for mail in mailoutbox] == [["alice@example.org"]]
    assert "the e-mail address of alice was changed" in mailoutbox[0].body


def test_a_link_of_staff_ends_the_ways_in_that_a_thief_of_the_password_added(
    alice: User, settings: Any, mailoutbox: list[Any]
) -> None:
    settings.SENDS_EMAIL, settings.CELERY_TASK_ALWAYS_EAGER = True, True
    thief_adds_ways_in(alice)
    _, plaintext = actions.make_password_link(user=alice, made_by=make.user("sam", staff=True))
    page = Client().post(f"/new-password/{plaintext}/", {"new": BY_LINK}, follow=True).content.decode()
    assert "connections with providers and the e-mail address" in page
    alice.refresh_from_db()
    assert not alice.email and not alice.socialaccount_set.exists()
    assert [mail.to for mail in mailoutbox] == [["thief@evil.example"]], "who had that address is told"
    assert "also open your account" not in page


def test_who_comes_back_by_a_link_of_staff_is_told_what_else_opens_the_account(
    alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A thief can have added it more than 30 days ago, when it stays."""
    thief_adds_ways_in(alice)
    monkeypatch.setattr(actions, "RECENT", timedelta(0))
    _, plaintext = actions.make_password_link(user=alice, made_by=make.user("sam", staff=True))
    page = Client().post(f"/new-password/{plaintext}/", {"new": BY_LINK}, follow=True).content.decode()
    assert "These also open your account: thief at " in page
    assert "links sent to thief@evil.example. Sign in, then remove" in page
    link, plaintext = actions.make_password_link(user=alice, made_by=make.user("olga", staff=True))
    PasswordLink.objects.filter(pk=link.pk).update(of_study=1)
    page = Client().post(f"/new-password/{plaintext}/", {"new": BY_LINK + "!"}, follow=True).content.decode()
    assert "thief@evil.example" not in page


@pytest.mark.parametrize(("older", "of_study"), [(True, None), (False, 1)])
def test_ways_in_of_long_ago_stay_and_no_owners_link_ends_any(
    alice: User, older: bool, of_study: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    thief_adds_ways_in(alice)
    if older:
        monkeypatch.setattr(actions, "RECENT", timedelta(0))
    link, _ = actions.make_password_link(user=alice, made_by=make.user("olga", staff=True))
    PasswordLink.objects.filter(pk=link.pk).update(of_study=of_study)
    link.refresh_from_db()
    assert actions._end_recent_ways_in(link) == []


@pytest.mark.parametrize("way", ["token", "address", "password", "provider", "closing"])
def test_who_confirmed_with_the_old_password_changes_nothing_after_a_link_was_used(alice: User, way: str) -> None:
    """A request that began before: its person is the one that was read then."""
    before = User.objects.get(pk=alice.pk)
    used(alice, made_by=make.user("olga", staff=True))
    old = Confirmation(FIRST)
    ways: dict[str, Callable[[], object]] = {
        "token": lambda: actions.make_own_token(user=before, confirmation=old, name="kept", scope="manage"),
        "address": lambda: actions.rename_user(user=before, full_name="A", email="t@evil.example", confirmation=old),
        "password": lambda: actions.change_password(user=before, old=FIRST, new=NEXT),
        "provider": lambda: actions.connect_provider(user=before, provider="oidc", uid="7", called="thief"),
        "closing": lambda: close_account(user=before, typed="alice", confirmation=old),
    }
    with pytest.raises(Invalid, match="changed at the same time"):
        ways[way]()
    alice.refresh_from_db()
    assert alice.is_active and alice.check_password(BY_LINK) and not alice.email
    assert not alice.tokens.exists() and not alice.socialaccount_set.exists()


def test_a_second_link_leaves_its_own_notice(alice: User) -> None:
    olga = make.user("olga", staff=True)
    first, second = used(alice, made_by=olga), used(alice, NEXT, made_by=olga)
    client = signed_in(NEXT)
    assert client.get("/").content.decode().count(NOTICE) == 2
    assert (confirm(client, first), confirm(client, second)) == (302, 403)
    assert client.get("/").content.decode().count(NOTICE) == 1


@pytest.mark.django_db(transaction=True)
def test_a_notice_that_is_confirmed_while_another_link_is_used_leaves_the_notice_of_that_one() -> None:
    alice, olga = make.user("alice", password=FIRST), make.user("olga", staff=True)
    first = used(alice, made_by=olga)
    second, _ = actions.make_password_link(user=User.objects.get(pk=alice.pk), made_by=olga)

    def confirm_first() -> None:
        try:
            actions.confirm_password_link(link=first, by=olga, began_with=None)
        finally:
            connections.close_all()

    confirming = threading.Thread(target=confirm_first)
    with transaction.atomic():
        actions.use_password_link(link=second, new=NEXT)
        confirming.start()
        wait_until_someone_waits_for_a_lock()
    confirming.join(60)
    alice.refresh_from_db()
    first.refresh_from_db()
    assert first.confirmed_at is not None and alice.has_notice


def test_staff_confirm_for_others_and_nobody_else_does(alice: User) -> None:
    link = used(alice, made_by=make.user("olga", staff=True))
    make.user("sam", staff=True, password=FIRST)
    make.user("mallory", password=FIRST)
    assert confirm(signed_in(FIRST, "mallory"), link) == 404
    assert Client().post(f"/me/password-links/{link.pk}/confirm/")["Location"].startswith("/sign-in/")
    sam = signed_in(FIRST, "sam")
    assert "Confirm for alice" in sam.get("/operations/").content.decode()
    assert confirm(sam, link) == 302
    assert not is_told(signed_in(BY_LINK)) and "Confirm for alice" not in sam.get("/operations/").content.decode()


def test_staff_do_not_confirm_their_own_link_with_its_password_but_the_shell_does(alice: User, capsys: Any) -> None:
    User.objects.filter(pk=alice.pk).update(is_staff=True)
    link = used(alice)
    client = signed_in(BY_LINK)
    assert "the server’s operator created" in client.get("/").content.decode()
    assert confirm(client, link) == 403
    call_command("password_link", "alice", "--confirm")
    assert capsys.readouterr().out == "1 confirmed\n" and not is_told(client)


def test_a_link_that_the_person_asked_for_by_e_mail_leaves_no_notice(alice: User) -> None:
    used(alice, by_email=True)
    assert not is_told(signed_in(BY_LINK))


def test_the_person_is_told_by_e_mail(alice: User, settings: Any, mailoutbox: list[Any]) -> None:
    settings.SENDS_EMAIL, settings.CELERY_TASK_ALWAYS_EAGER = True, True
    used(alice)
    assert not mailoutbox, "an account without an address"
    User.objects.filter(pk=alice.pk).update(email="alice@example.org")
    used(User.objects.get(pk=alice.pk), NEXT, made_by=make.user("olga", staff=True))
    [mail] = mailoutbox
    assert mail.to == ["alice@example.org"] and "API tokens were revoked" in mail.body and "http" not in mail.body


def test_links_that_nobody_confirmed_are_kept(alice: User) -> None:
    link = used(alice, made_by=make.user("olga", staff=True))
    PasswordLink.objects.filter(pk=link.pk).update(expires_at="2020-01-01T00:00Z")
    jobs.remove_what_is_over()
    assert is_told(signed_in(BY_LINK))


def test_a_page_without_a_notice_costs_no_query_more(alice: User) -> None:
    client = signed_in(FIRST)
    client.get("/studies/")
    with assert_queries(4):
        client.get("/studies/")
