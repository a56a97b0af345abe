"""A person's own page: sessions, theme, keys, and tokens that have ended."""

import re
import time
from datetime import timedelta
from smtplib import SMTPRecipientsRefused
from typing import Any, ClassVar

import pytest
from django.conf import settings
from django.core.cache import cache
from django.core.mail.backends.locmem import EmailBackend
from django.db import OperationalError, connection, transaction
from django.test import Client
from django.utils import timezone

from accounts import actions, jobs
from accounts.confirmation import Confirmation
from accounts.models import ApiToken, ServerEvent, Session, User
from shared.errors import Conflict, Invalid, NotFound
from tests import builders as make
from tests.asserts import assert_queries

pytestmark = pytest.mark.django_db
PASSWORD = "a long password"
FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"


@pytest.fixture
def alice() -> User:
    return make.user("alice", password=PASSWORD)


def browser(name: str = "alice", agent: str = FIREFOX, at: str = "203.0.113.5") -> Client:
    client = Client(REMOTE_ADDR=at, headers={"User-Agent": agent})
    assert client.post("/sign-in/", {"username": name, "password": PASSWORD}).status_code == 302
    return client


def session_of(client: Client) -> Session:
    return Session.objects.get(pk=client.cookies[settings.SESSION_COOKIE_NAME].value)


def is_signed_in(client: Client) -> bool:
    return bool(client.get("/me/").status_code == 200)


def test_every_browser_is_listed_by_name_and_shortened_address_and_never_by_its_key(alice: User) -> None:
    here, phone = browser(), browser(agent="Mozilla/5.0 (iPhone; CPU) AppleWebKit Safari/604.1", at="2001:db8:7::1")
    page = here.get("/me/").content.decode()
    assert "Firefox on Linux" in page and "Safari on iPhone" in page
    assert "203.0.113.…" in page and "2001:db8:7:…" in page and "203.0.113.5" not in page
    assert session_of(phone).pk not in page and session_of(here).pk not in page


def test_one_session_is_ended_and_all_others(alice: User) -> None:
    here, there, elsewhere = browser(), browser(), browser()
    here.post(f"/me/sessions/{session_of(there).number}/end/")
    assert [is_signed_in(each) for each in (here, there, elsewhere)] == [True, False, True]
    here.post("/me/sessions/end-others/")
    assert [is_signed_in(each) for each in (here, there, elsewhere)] == [True, False, False]


@pytest.mark.parametrize("key", ["\0aaaaaaaaaa", "\xff\xfeaaaaaaaaaa", "a" * 5_000])
def test_a_cookie_that_is_no_key_of_a_session_is_none(db: None, key: str) -> None:
    client = Client()
    client.cookies[settings.SESSION_COOKIE_NAME] = key
    assert client.get("/sign-in/").status_code == 200


def test_the_session_of_someone_else_is_404(alice: User) -> None:
    make.user("bob", password=PASSWORD)
    bob = browser("bob")
    assert browser().post(f"/me/sessions/{session_of(bob).number}/end/").status_code == 404
    assert is_signed_in(bob)


def test_a_new_password_ends_the_other_sessions_for_good(alice: User) -> None:
    here, there = browser(), browser()
    here.post("/me/password/", {"old": PASSWORD, "new": "another long one"})
    assert is_signed_in(here) and not is_signed_in(there)
    assert Session.objects.filter(user=alice).count() == 1


def test_that_a_session_is_in_use_is_written_once_an_hour(alice: User) -> None:
    client = browser()
    begun = session_of(client).begun_at
    long_ago = timezone.now() - timedelta(hours=2)
    Session.objects.update(seen_at=long_ago)
    client.get("/me/", REMOTE_ADDR="198.51.100.7")
    found = session_of(client)
    assert found.seen_at > long_ago and found.begun_at == begun and found.address == "198.51.100.…"
    with assert_queries(9):
        client.get("/me/")


def test_the_page_costs_the_same_with_many_sessions_and_tokens(alice: User) -> None:
    client = browser()
    client.get("/me/")
    with assert_queries(9):
        client.get("/me/")
    for n in range(20):
        actions.make_token(user=alice, name=f"script {n}")
        Client().force_login(alice)
    with assert_queries(9):
        client.get("/me/")


def test_sessions_that_are_over_are_cleared_away(alice: User) -> None:
    client = browser()
    Session.objects.update(expire_date=timezone.now() - timedelta(seconds=1))
    assert not is_signed_in(client)
    jobs.remove_what_is_over()
    assert not Session.objects.filter(user=alice).exists()


def test_a_token_that_has_ended_is_marked(alice: User) -> None:
    actions.make_token(user=alice, name="notebook", expires_at=timezone.now() + timedelta(days=1))
    client = browser()
    assert ">expired<" not in client.get("/me/").content.decode()
    ApiToken.objects.update(expires_at=timezone.now() - timedelta(days=1))
    page = client.get("/me/").content.decode()
    assert ">expired<" in page and "Remove notebook" not in page


def test_the_theme_follows_to_other_browsers(alice: User) -> None:
    assert browser().post("/me/theme/", {"theme": "dark"}).status_code == 204
    assert 'data-kept-theme="dark"' in browser().get("/me/").content.decode()
    assert browser().post("/me/theme/", {"theme": "pink"}).status_code == 422


def keys(**other: Any) -> dict[str, Any]:
    usual = {"skip": "s", "memo": "m", "evidence": "e", "flag": "!", "previous": "p", "fold": "["}
    return {"single": "on"} | usual | other


def test_keys_are_kept_where_they_differ(alice: User) -> None:
    assert browser().post("/me/keys/", keys(skip="X")).status_code == 302
    alice.refresh_from_db()
    assert alice.keys == {"skip": "x"}
    assert browser().post("/me/keys/", {"only_single": "0"}).status_code == 204
    alice.refresh_from_db()
    assert alice.keys == {"skip": "x", "single": False}


@pytest.mark.parametrize("wrong", [{"skip": "m"}, {"skip": "1"}, {"memo": "?"}, {"flag": ""}, {"fold": "ab"}])
def test_keys_that_can_not_be_are_refused(alice: User, wrong: dict[str, str]) -> None:
    answer = browser().post("/me/keys/", keys(**wrong))
    assert answer.status_code == 422 and "error" in answer.content.decode()
    alice.refresh_from_db()
    assert alice.keys == {}


def test_hosts_whose_images_are_shown_are_a_choice_of_each_person(alice: User) -> None:
    assert browser().post("/me/image-hosts/", {"host": "Images.Example.org"}).status_code == 204
    assert browser().post("/me/image-hosts/", {"host": "localhost:9000"}).status_code == 204
    alice.refresh_from_db()
    assert alice.image_hosts == ["images.example.org", "localhost:9000"]
    assert "images.example.org" in browser().get("/me/").content.decode()
    assert browser().post("/me/image-hosts/", {"hosts": "a.example\r\n b.example "}).status_code == 302
    answer = browser().post("/me/image-hosts/", {"hosts": "https://a.example/x"})
    assert answer.status_code == 422 and "is not a host" in answer.content.decode()
    alice.refresh_from_db()
    assert alice.image_hosts == ["a.example", "b.example"]
    assert browser().post("/me/image-hosts/", {"hosts": ""}).status_code == 302
    alice.refresh_from_db()
    assert alice.image_hosts == []


def test_a_link_for_a_password_works_once_and_signs_out_everywhere(alice: User) -> None:
    there = browser()
    _, plaintext = actions.make_password_link(user=alice)
    address = f"/new-password/{plaintext}/"
    assert Client().get(address).status_code == 200
    weak = Client().post(address, {"new": "12345"})
    assert weak.status_code == 422
    assert Client().post(address, {"new": "another long one"}).status_code == 302
    alice.refresh_from_db()
    assert alice.check_password("another long one") and not is_signed_in(there)
    over = Client().get(address)
    assert over.status_code == 404 and "alice" not in over.content.decode()


def test_a_link_for_a_password_revokes_every_token_and_says_so(alice: User) -> None:
    for name in ("one", "two"):
        actions.make_token(user=alice, name=name, scope="manage")
    token = actions.make_token(user=alice, name="three", scope="manage")[1]
    _, plaintext = actions.make_password_link(user=alice)
    client = Client()
    assert "all its API tokens are revoked" in client.get(f"/new-password/{plaintext}/").content.decode()
    page = client.post(f"/new-password/{plaintext}/", {"new": "another long one"}, follow=True).content.decode()
    assert "all API tokens of the account were revoked" in page
    answer = Client().get("/api/v1/studies/", headers={"Authorization": f"Bearer {token}"})
    assert answer.status_code == 401 and not ApiToken.objects.filter(user=alice, revoked_at=None).exists()
    line = ServerEvent.objects.get(verb="password link used")
    assert (line.about, line.detail) == (alice, {"made_by": None, "tokens_revoked": 3})


@pytest.mark.parametrize("is_wanted", [True, False])
def test_a_new_password_offers_to_revoke_the_tokens_and_lists_them(alice: User, is_wanted: bool) -> None:
    actions.make_token(user=alice, name="nightly", scope="manage")
    client = browser()
    page = client.get("/me/").content.decode()
    assert "Also revoke all my API tokens" in page and "nightly (manage)" in page
    given = {"old": PASSWORD, "new": "another long one"} | ({"revoke_tokens": "on"} if is_wanted else {})
    words = client.post("/me/password/", given, follow=True).content.decode()
    assert ("all API tokens were revoked" in words) is is_wanted
    assert ApiToken.objects.filter(user=alice, revoked_at=None).exists() is not is_wanted


def test_links_end_by_time_by_a_newer_one_and_by_a_new_password(alice: User) -> None:
    first, one = actions.make_password_link(user=alice)
    _, two = actions.make_password_link(user=alice)
    assert Client().get(f"/new-password/{one}/").status_code == 404
    assert Client().get(f"/new-password/{two}/").status_code == 200
    actions.change_password(user=alice, old=PASSWORD, new="another long one")
    assert Client().get(f"/new-password/{two}/").status_code == 404
    link, three = actions.make_password_link(user=alice, holds=timedelta(seconds=-1))
    assert Client().get(f"/new-password/{three}/").status_code == 404
    with pytest.raises(NotFound):
        actions.use_password_link(link=first, new="yet another one")
    assert link.digest != three


@pytest.mark.django_db(transaction=True)
def test_nothing_comes_to_an_account_while_its_link_is_being_used(alice: User) -> None:
    """An owner's link looks at what the account opens: nothing may be added between that and the new password."""
    link, _ = actions.make_password_link(user=alice)
    added = (
        "INSERT INTO accounts_apitoken (user_id, name, scope, digest, prefix, created_at) "
        "VALUES (%s, 'script', 'read', 'x', 'x', now())"
    )
    other = connection.copy()
    try:
        with transaction.atomic(), other.cursor() as cursor:
            actions.use_password_link(link=link, new="another long one")
            cursor.execute("SET lock_timeout = '200ms'")
            with pytest.raises(OperationalError, match="lock timeout"):
                cursor.execute(added, [alice.pk])
        with other.cursor() as cursor:
            cursor.execute(added, [alice.pk])
    finally:
        other.close()


def test_whoever_gets_a_link_made_by_someone_is_told_at_the_next_sign_in(alice: User) -> None:
    actions.make_password_link(user=alice, made_by=make.user("olga"))
    page = browser().get("/me/").content.decode()
    assert "olga created a password link for you" in page
    assert page.count("olga created a password link") == 2  # told once, and listed
    assert browser().get("/me/").content.decode().count("olga created a password link") == 1


def test_a_lost_password_sends_a_link_and_tells_nobody_whether_the_address_is_known(
    alice: User, settings: Any, mailoutbox: list[Any]
) -> None:
    settings.SENDS_EMAIL, settings.CELERY_TASK_ALWAYS_EAGER = True, True
    sure = Confirmation(PASSWORD)
    actions.rename_user(user=alice, full_name="Alice", email="alice@example.org", confirmation=sure)
    told = [
        Client().post("/sign-in/lost-password/", {"email": address}).content.decode().partition("<main")[2]
        for address in ("Alice@example.org", "nobody@example.org")
    ]
    assert told[0] == told[1] and "If an account uses this address" in told[0]
    assert [mail.to for mail in mailoutbox] == [["alice@example.org"]]
    path = mailoutbox[0].body.partition("http://testserver/new-password")[2].split()[0]
    assert Client().get(f"/new-password{path}").status_code == 200


def test_without_e_mail_the_page_says_who_can_help() -> None:
    assert "An owner" in (said := Client().get("/sign-in/lost-password/").content.decode()) or "Ask an owner" in said


def test_who_signs_in_by_a_provider_alone_keeps_it_until_there_is_a_password(alice: User) -> None:
    alice.set_unusable_password()
    alice.save()
    actions.connect_provider(user=alice, provider="oidc", uid="7", called="a.cole")
    with pytest.raises(Conflict, match="couldn't sign in"):
        actions.disconnect_provider(user=alice, account_id=alice.socialaccount_set.get().pk)
    with pytest.raises(Invalid, match="with your provider once more"):
        actions.first_password(user=alice, new=PASSWORD, confirmation=Confirmation(at_provider=time.time() - 601))
    fresh = Confirmation(at_provider=time.time())
    with pytest.raises(Invalid):
        actions.first_password(user=alice, new="12345", confirmation=fresh)
    actions.first_password(user=alice, new=PASSWORD, confirmation=fresh)
    actions.disconnect_provider(user=alice, account_id=alice.socialaccount_set.get().pk)
    assert not alice.socialaccount_set.exists()


def test_who_signed_in_with_the_old_password_disconnects_nothing_after_it_was_changed(alice: User) -> None:
    actions.connect_provider(user=alice, provider="oidc", uid="7", called="a.cole")
    before = User.objects.get(pk=alice.pk)
    alice.set_password("another long password")
    alice.save()
    with pytest.raises(Invalid, match="changed at the same time"):
        actions.disconnect_provider(user=before, account_id=alice.socialaccount_set.get().pk)
    assert alice.socialaccount_set.exists()


def test_an_account_at_a_provider_is_one_persons(alice: User) -> None:
    actions.connect_provider(user=alice, provider="oidc", uid="7", called="a.cole")
    actions.connect_provider(user=alice, provider="oidc", uid="7", called="a.cole")
    with pytest.raises(Conflict, match="another user"):
        actions.connect_provider(user=make.user("bob"), provider="oidc", uid="7", called="b")
    with pytest.raises(NotFound):
        actions.disconnect_provider(user=make.user("bob"), account_id=alice.socialaccount_set.get().pk)


def test_a_stranger_who_asks_for_links_by_e_mail_ends_no_link_made_by_hand_and_is_told_nothing(
    alice: User, settings: Any, mailoutbox: list[Any]
) -> None:
    settings.SENDS_EMAIL, settings.CELERY_TASK_ALWAYS_EAGER = True, True
    User.objects.filter(pk=alice.pk).update(email="alice@example.org")
    by_hand = actions.make_password_link(user=alice, made_by=User.objects.create_user("root", is_staff=True))[1]
    spelled = [
        "alice@example.org",
        "ALICE@example.org",
        "al\u0131ce@example.org",
        "alice@EXAMPLE.org",
        "alice@example.org",
    ]
    answers = [Client().post("/sign-in/lost-password/", {"email": each}) for each in spelled]
    assert {answer.status_code for answer in answers} == {200} and len(mailoutbox) == 3
    assert len({answer.content.decode().partition("<main")[2] for answer in answers}) == 1
    assert Client().get(f"/new-password/{by_hand}/").status_code == 200
    emailed = [mail.body.partition("/new-password/")[2].split()[0] for mail in mailoutbox]
    assert [Client().get(f"/new-password/{token}").status_code for token in emailed] == [404, 404, 200]


class CarefulServer(EmailBackend):
    """A mail server that knows its people, and refuses all others at once."""

    refused: ClassVar[list[str]] = []

    def send_messages(self, messages: Any) -> int:
        for each in messages:
            if each.to != ["victim@example.org"]:
                self.refused.extend(each.to)
                raise SMTPRecipientsRefused({each.to[0]: (550, b"unknown")})
        return super().send_messages(messages)


@pytest.mark.parametrize("typed", ["victim@example.org", "VICTIM@example.org"])
@pytest.mark.parametrize("is_thief_first", [True, False])
def test_a_recovery_mail_neither_waits_for_nor_repeats_what_the_server_refuses_to_others(
    settings: Any, mailoutbox: list[Any], typed: str, is_thief_first: bool
) -> None:
    settings.SENDS_EMAIL, settings.CELERY_TASK_ALWAYS_EAGER = True, True
    settings.EMAIL_BACKEND = f"{__name__}.{CarefulServer.__name__}"
    CarefulServer.refused.clear()
    cache.clear()
    stored = ["v\u0131ct\u0131m@example.org", "VICTIM@example.org", "victim@example.org"]
    for address in stored if is_thief_first else reversed(stored):
        User.objects.create_user(f"has{len(User.objects.all())}", email=address)
    assert Client().post("/sign-in/lost-password/", {"email": typed}).status_code == 200
    [mail] = mailoutbox
    path = mail.body.partition("http://testserver/new-password")[2].split()[0]
    assert Client().get(f"/new-password{path}").status_code == 200
    assert set(CarefulServer.refused) == {"VICTIM@example.org"}, "that with other letters is another address"


def test_an_address_gets_three_recovery_mails_an_hour_whatever_number_of_accounts_has_it(
    settings: Any, mailoutbox: list[Any]
) -> None:
    """Each of them has the links of all accounts, so that nobody's place is taken by accounts of others."""
    settings.SENDS_EMAIL, settings.CELERY_TASK_ALWAYS_EAGER = True, True
    cache.clear()
    for n in range(5):
        spelled = "third@example.org" if n % 2 else "Third@Example.ORG"
        actions.add_user(username=f"b{n}", full_name="You won http://evil.example/", email=spelled)
    for _ in range(4):
        Client().post("/sign-in/lost-password/", {"email": "third@example.org"})
    assert [mail.to for mail in mailoutbox] == [["third@example.org"]] * 3
    links = re.findall(r"^(b\d):\nhttp://testserver(\S+)$", mailoutbox[-1].body, re.MULTILINE)
    assert {name for name, _ in links} == {"b0", "b1", "b2", "b3", "b4"}
    assert {Client().get(path).status_code for _, path in links} == {200}
    assert "You won" not in mailoutbox[-1].body


def test_an_address_that_was_stored_in_capital_letters_is_no_new_one(alice: User) -> None:
    User.objects.filter(pk=alice.pk).update(email="Alice@example.org")
    alice.refresh_from_db()
    for typed, stored in (("alice@Example.org", "Alice@example.org"), ("A.Cole@example.org", "a.cole@example.org")):
        sure = Confirmation(PASSWORD if stored.startswith("a.") else "")
        actions.rename_user(user=alice, full_name="Alice", email=typed, confirmation=sure)
        alice.refresh_from_db()
        assert alice.email == stored
