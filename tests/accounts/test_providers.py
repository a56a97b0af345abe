"""Signing in by a provider: who comes in, who is refused, and that no wrong answer of a provider lets anybody in."""

import re
import threading
from collections.abc import Iterator
from importlib import import_module
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

import pytest
import requests
from allauth.socialaccount.models import SocialAccount
from allauth.socialaccount.providers.github.views import GitHubOAuth2Adapter
from django.apps import apps
from django.core.cache import cache
from django.db import connection, transaction
from django.test import Client
from pytest_django.fixtures import Settings
from pytest_django.live_server_helper import LiveServer

from accounts import actions
from accounts.identities import identity
from accounts.models import ServerEvent, Session, User
from accounts.queries import ways_in_of
from accounts.views import me
from annotation.invitations.actions.invitations import invite
from config import env
from shared.rate_limits import UNKNOWN_NAMES
from tests import builders as make
from tests.providers import ADA, CLIENT, SECRET, Provider

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.django_db
HERE = "http://testserver"
BACK = "/sign-in/with/oidc/back/"
CONNECTING = {"start": "/me/providers/oidc/connect/", "password": "a long password"}


@pytest.fixture(scope="module")
def server() -> Iterator[Provider]:
    with Provider() as provider:
        yield provider


@pytest.fixture
def provider(server: Provider, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Provider:
    """Known to the settings by what an operator writes into the environment."""
    server.reset()
    server.callbacks = {HERE + BACK, f"{HERE}/sign-in/with/github/back/"}
    for name, value in {
        "OIDC_SERVER_URL": server.url, "OIDC_CLIENT_ID": CLIENT, "OIDC_CLIENT_SECRET": SECRET, "OIDC_NAME": "Uni",
        "GITHUB_SIGN_IN_ID": CLIENT, "GITHUB_SIGN_IN_SECRET": SECRET,
    }.items():  # fmt: skip
        monkeypatch.setenv(name, value)
    settings.SIGN_IN_PROVIDERS, settings.SOCIALACCOUNT_PROVIDERS = env.sign_in_providers(f"{server.url}/api/v3")
    for name, path in {
        "authorize_url": "/login/oauth/authorize", "access_token_url": "/login/oauth/access_token",
        "profile_url": "/api/v3/user", "emails_url": "/api/v3/user/emails",
    }.items():  # fmt: skip
        monkeypatch.setattr(GitHubOAuth2Adapter, name, server.url + path)  # allauth reads the settings at its import
    return server


def way(client: Client, key: str = "oidc", start: str = "", **more: str) -> str:
    """Where the provider sends the browser back to."""
    page = client.post(start or f"/sign-in/with/{key}/", more)
    assert page.status_code == 200, page.content.decode()
    answer = requests.get(page.context["address"], allow_redirects=False, timeout=10)
    assert answer.status_code == 302, answer.text
    return answer.headers["Location"].removeprefix(HERE)


def through(client: Client, key: str = "oidc", **more: str) -> Any:
    """Goes to the provider and comes back."""
    return client.get(way(client, key, **more))


def connected(name: str = "bob", key: str = "oidc") -> User:
    user = make.user(name)
    actions.connect_provider(user=user, provider=key, uid=identity(key, ADA["sub"]), called="ada.l")
    return user


def is_signed_in(client: Client) -> bool:
    return "_auth_user_id" in client.session


def refused(answer: Any, *words: str, status: int = 403) -> None:
    page = answer.content.decode()
    assert answer.status_code == status, page
    assert 'class="sign-in"' in page and "allauth" not in page.lower()
    assert all(each in page for each in words), page


def test_whoever_connected_an_account_signs_in_by_it_and_is_where_they_wanted_to_go(provider: Provider) -> None:
    client, user = Client(), make.user("bob", password="a long password")
    client.force_login(user)
    assert through(client, **CONNECTING)["Location"] == "/me/"
    assert "You can now sign in with Uni." in client.get("/me/").content.decode()
    client.post("/sign-out/")
    assert not is_signed_in(client)
    assert through(client, next="/taxonomies/")["Location"] == "/taxonomies/"
    assert client.get("/me/").context["user"] == user
    kept = [(identity("oidc", ADA["sub"]), {"called": "ada.l"})]
    assert list(SocialAccount.objects.values_list("uid", "extra_data")) == kept
    client.post(f"/me/providers/{SocialAccount.objects.get().pk}/disconnect/")
    refused(through(Client()), "No account on this server is connected to this account at Uni")
    verbs = ServerEvent.objects.filter(verb__startswith="provider").order_by("pk").values_list("verb", flat=True)
    assert list(verbs) == ["provider connected", "provider disconnected"]


def test_the_same_identifier_at_another_server_is_someone_else(
    provider: Provider, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An operator moves from one provider to another, and both count their people from 1."""
    connected("bob")
    with Provider() as other:
        other.callbacks = provider.callbacks
        monkeypatch.setenv("OIDC_SERVER_URL", other.url)
        _, settings.SOCIALACCOUNT_PROVIDERS = env.sign_in_providers("https://api.github.com")
        refused(through(Client()), "No account on this server is connected to this account at Uni")
        assert other.asked
        carol = Client()
        carol.force_login(make.user("carol", password="a long password"))
        assert through(carol, **CONNECTING)["Location"] == "/me/"
        assert SocialAccount.objects.count() == 2
        bob = Client()
        bob.force_login(make.user("bob"))
        page = bob.get("/me/").content.decode()
        assert "Uni (at an earlier address)" in page and "Connect Uni" in page
    monkeypatch.setenv("OIDC_SERVER_URL", provider.url + "/")
    _, settings.SOCIALACCOUNT_PROVIDERS = env.sign_in_providers("https://api.github.com")
    client = Client()
    through(client)
    assert client.get("/me/").context["user"].username == "bob"


def test_earlier_connections_belong_to_the_address_of_the_settings(provider: Provider) -> None:
    bob = make.user("bob")
    SocialAccount.objects.create(user=bob, provider="oidc", uid=ADA["sub"], extra_data={"called": "ada.l"})
    SocialAccount.objects.create(user=bob, provider="oidc", uid="9" * 191, extra_data={"called": "old"})
    refused(through(Client()), "No account on this server is connected")
    import_module("accounts.migrations.0012_identities_at_addresses").bind(apps, None)
    client = Client()
    through(client)
    assert client.get("/me/").context["user"] == bob
    assert SocialAccount.objects.filter(uid="9" * 191).exists(), "no room for the address"


def test_a_session_alone_connects_no_provider(provider: Provider) -> None:
    client, user = Client(), make.user("bob", password="a long password")
    client.force_login(user)
    for password, sentence in (("", "Enter your password to confirm this."), ("wrong", "This is not your password.")):
        answer = client.post("/me/providers/oidc/connect/", {"password": password})
        assert answer.status_code == 422 and sentence in answer.content.decode()
    assert provider.asked == [] and not SocialAccount.objects.exists()
    without_password = Client()
    without_password.force_login(make.user("zoe"))
    answer = without_password.post("/me/providers/oidc/connect/")
    assert answer.status_code == 422 and "Sign in with your provider once more" in answer.content.decode()


def test_a_session_that_ends_on_the_way_to_a_provider_is_named(
    provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = Client()
    client.force_login(make.user("bob", password="a long password"))
    confirmed = me.require_confirmed

    def confirm(*given: Any) -> None:
        confirmed(*given)
        Session.objects.all().delete()

    monkeypatch.setattr(me, "require_confirmed", confirm)
    answer = client.post("/me/providers/oidc/connect/", {"password": "a long password"})
    assert answer.status_code == 400
    assert "You were signed out before this request was answered." in answer.content.decode()


def coming_back(client: Client, back: str) -> tuple[threading.Thread, list[Any]]:
    """A thread that comes back from the provider, not started yet, and where its answer will be."""
    answers: list[Any] = []

    def come_back() -> None:
        try:
            answers.append(client.get(back))
        finally:
            connection.close()

    return threading.Thread(target=come_back), answers


@pytest.mark.django_db(transaction=True)
def test_connecting_under_way_waits_for_a_recovery_and_ends_with_its_session(provider: Provider) -> None:
    """A recovery holds the account, then ends its sessions: what is under way must hold them in the same order."""
    user, client = make.user("bob", password="a long password"), Client()
    client.force_login(user)
    back = way(client, **CONNECTING)
    thread, answers = coming_back(client, back)
    with transaction.atomic():
        held = User.objects.select_for_update().get(pk=user.pk)
        thread.start()
        thread.join(1)
        assert thread.is_alive()
        held.set_password("another long password")
        held.save()
        Session.objects.filter(user=user).delete()
    thread.join(20)
    assert answers[0].status_code == 400 and "You were signed out" in answers[0].content.decode()
    assert not SocialAccount.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_a_sign_in_under_way_does_not_bring_back_a_connection_that_is_being_ended(provider: Provider) -> None:
    user = connected()
    client = Client()
    back = way(client)
    thread, answers = coming_back(client, back)
    with transaction.atomic():
        User.objects.select_for_update().get(pk=user.pk)  # as while a link for a new password is used
        thread.start()
        thread.join(1)
        assert thread.is_alive()
        SocialAccount.objects.all().delete()
    thread.join(20)
    assert answers[0].status_code == 403 and not is_signed_in(client)
    assert not SocialAccount.objects.exists()


def test_an_equal_e_mail_address_or_name_joins_nothing(provider: Provider) -> None:
    User.objects.create_user("ada.l", email=ADA["email"], password="a long password")
    client = Client()
    refused(
        through(client), "No account on this server is connected to this account at Uni", "ask the owner of a study"
    )
    assert not is_signed_in(client) and not SocialAccount.objects.exists() and User.objects.count() == 1


@pytest.mark.parametrize(
    ("sent", "shown"),
    [("\u202emoc.elpmaxe", "moc.elpmaxe"), ("a\0b\nc", "ab c"), ("ad\ud800a", "ada"), ("\u2066\0", ADA["sub"])],
)
def test_the_name_at_a_provider_is_cleaned_before_it_is_stored_and_shown(
    provider: Provider, sent: str, shown: str
) -> None:
    provider.person |= {"preferred_username": sent, "name": sent, "given_name": sent, "email": sent}
    client, user = Client(), make.user("bob", password="a long password")
    client.force_login(user)
    assert through(client, **CONNECTING)["Location"] == "/me/"
    connection = SocialAccount.objects.get()
    assert connection.extra_data == {"called": shown} and f"<td>{shown} <span" in client.get("/me/").content.decode()
    SocialAccount.objects.update(extra_data={"called": sent.replace("\0", "").replace("\ud800", "")})
    assert all(each.isprintable() for each in ways_in_of(user)), "stored before names were looked at"
    connection.delete()
    address = f"/invitations/{invite(seat=make.owner_seat(make.study()), roles=['rater'])[1]}/"
    stranger = Client()
    stranger.get(address)
    assert through(stranger, next=address)["Location"] == address
    assert f"At Uni you are <strong>{shown}</strong>" in stranger.get(address).content.decode()


def test_an_account_at_a_provider_is_one_persons(provider: Provider) -> None:
    connected("bob")
    client = Client()
    client.force_login(make.user("mallory", password="a long password"))
    through(client, **CONNECTING)
    assert "belongs to another user of this server" in client.get("/me/").content.decode()
    assert SocialAccount.objects.get().user.username == "bob"


def shown_stranger(page: str) -> str:
    """What the form of an invitation sends of the person whom its page names."""
    (found,) = re.findall(r'name="stranger" value="(\w+)"', page)
    return str(found)


def test_a_form_that_was_shown_before_someone_came_back_makes_no_account_for_them(provider: Provider) -> None:
    """An invitation for several people, in one browser."""
    address = f"/invitations/{invite(seat=make.owner_seat(make.study()), roles=['rater'])[1]}/"
    client = Client()
    client.get(address)
    through(client, next=address)
    typed = {"username": "yvonne", "password": "four words of a song", "full_name": "", "email": ""}
    for more in ({}, {"stranger": "0" * 64}):
        answer = client.post(address, typed | more)
        assert answer.status_code == 422 and "after it was shown to you" in answer.content.decode()
    assert not User.objects.filter(username="yvonne").exists()
    assert "At Uni you are <strong>ada.l</strong>" in answer.content.decode()


def test_a_stranger_with_an_invitation_comes_in_by_the_provider(provider: Provider) -> None:
    study = make.study()
    address = f"/invitations/{invite(seat=make.owner_seat(study), roles=['rater'])[1]}/"
    client = Client()
    assert "Continue with Uni" in client.get(address).content.decode()
    assert through(client, next=address)["Location"] == address
    page = client.get(address).content.decode()
    assert "At Uni you are <strong>ada.l</strong>" in page and 'value="ada.l"' in page and 'type="password"' not in page
    assert not User.objects.filter(username="ada.l").exists()
    typed = {"username": "ada.l", "full_name": "Ada Lovelace", "email": "", "stranger": shown_stranger(page)}
    answer = client.post(address, typed)
    assert answer["Location"] == "/studies/study/" and make.member(study, "ada.l").roles == ["rater"]
    again = Client()
    assert through(again)["Location"] == "/" and again.get("/me/").context["user"].username == "ada.l"
    assert not User.objects.get(username="ada.l").has_usable_password()


@pytest.mark.parametrize("is_open_before", [False, True])
def test_an_account_at_a_provider_is_for_the_invitation_with_which_its_person_came(
    provider: Provider, is_open_before: bool
) -> None:
    owner = make.owner_seat(make.study())
    first, second = (f"/invitations/{invite(seat=owner, roles=['rater'])[1]}/" for _ in range(2))
    client = Client()
    client.get(first)
    if is_open_before:
        client.get(second)
    assert through(client, next=first)["Location"] == first
    page = client.get(second).content.decode()
    assert "At Uni you are" not in page and 'type="password"' in page
    answer = client.post(
        second, {"username": "yvonne", "password": "four words of a song", "full_name": "", "email": ""}
    )
    assert answer["Location"] == "/studies/study/"
    assert not SocialAccount.objects.exists() and User.objects.get(username="yvonne").has_usable_password()


def test_names_are_tried_ten_times_an_hour_whatever_an_invitation_is_refused_for(provider: Provider) -> None:
    cache.clear()
    address = f"/invitations/{invite(seat=make.owner_seat(make.study()), roles=['rater'])[1]}/"
    client = Client()
    client.get(address)
    through(client, next=address)
    sent = {"stranger": shown_stranger(client.get(address).content.decode())}
    connected("mallory")  # the same identity, now
    statuses = [
        client.post(address, sent | {"username": f"name{n}" if n % 2 else "OLGA"}).status_code
        for n in range(UNKNOWN_NAMES.n_most + 1)
    ]
    assert statuses == [409] * UNKNOWN_NAMES.n_most + [429]
    told = client.post(address, sent | {"username": "olga"}).content.decode()
    assert "Too many attempts" in told and "Choose another name" not in told
    assert Client(REMOTE_ADDR="203.0.113.5").post(address, {"username": "zoe", "password": "a long password"}).url


def test_a_link_that_is_not_an_invitations_opens_no_door(provider: Provider) -> None:
    client = Client()
    for address in ("/invitations/nonsense/", "//example.org/invitations/", "https://example.org/"):
        client.get(address if address.startswith("/i") else "/sign-in/")
        refused(through(client, next=address), "No account on this server is connected")


def test_a_way_on_to_another_server_is_not_gone(provider: Provider) -> None:
    connected()
    assert through(Client(), next="https://example.org/")["Location"] == "/"


@pytest.mark.parametrize(
    "fault",
    [
        *("nonce", "audience", "issuer", "signature", "algorithm", "expired", "kid", "someone else", "no token"),
        *("code", "server_error", "html"),
    ],
)
def test_a_wrong_answer_of_the_provider_lets_nobody_in(provider: Provider, fault: str) -> None:
    connected()
    provider.fault = fault
    client = Client()
    refused(through(client), "Uni didn&#x27;t confirm your identity", "Try again")
    assert not is_signed_in(client)
    provider.fault = ""
    assert through(client)["Location"] == "/" and is_signed_in(client)


@pytest.mark.parametrize("subject", ["x" * 5_000, "7\0", ""])
def test_a_person_whose_id_can_not_be_stored_is_refused_in_words(provider: Provider, subject: str) -> None:
    provider.person = ADA | {"sub": subject}
    client = Client()
    refused(through(client), "Uni didn&#x27;t confirm your identity", "Try again")
    assert not SocialAccount.objects.exists()


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["away", "nonsense"])
def test_a_provider_that_is_away_is_said_before_anybody_leaves(provider: Provider, fault: str) -> None:
    provider.fault = fault
    refused(Client().post("/sign-in/with/oidc/"), "Uni does not respond", "with your password", status=503)
    provider.fault = ""
    client = Client()
    back = way(client)
    provider.fault = fault
    answer = client.get(back)
    refused(answer, "Uni", "Try again", status=answer.status_code)
    assert answer.status_code in (403, 503) and not is_signed_in(client)


def test_whoever_turns_back_at_the_provider_is_told_that_nothing_happened(provider: Provider) -> None:
    provider.fault = "access_denied"
    refused(through(Client()), "Sign-in with Uni was cancelled")
    client = Client()
    client.force_login(make.user("bob", password="a long password"))
    refused(through(client, **CONNECTING), "Not connected", "My settings")


def test_a_state_that_is_not_this_browsers_counts_for_nothing(provider: Provider) -> None:
    connected()
    mine, others = Client(), Client()
    back = way(mine)
    tampered = back.replace("state=", "state=x")
    for client, address in ((mine, tampered), (others, back), (mine, back.partition("&state")[0]), (mine, BACK)):
        refused(client.get(address), "Uni didn&#x27;t confirm your identity")
        assert not is_signed_in(client)
    assert mine.get(back)["Location"] == "/"
    mine.post("/sign-out/")
    refused(mine.get(back), "Uni didn&#x27;t confirm your identity")  # a second time


def test_whoever_may_not_sign_in_any_more_is_told(provider: Provider) -> None:
    user = connected()
    user.is_active = False
    user.save()
    client = Client()
    refused(through(client), "This account may no longer sign in.")
    assert not is_signed_in(client)


def test_github_is_asked_for_who_someone_is_and_nothing_else(provider: Provider) -> None:
    connected(key="github")
    client = Client()
    page = client.post("/sign-in/with/github/")
    assert parse_qs(urlsplit(page.context["address"]).query).get("scope", [""]) == [""]
    assert through(client, "github")["Location"] == "/" and is_signed_in(client)
    assert "/api/v3/user" in provider.asked and "/api/v3/user/emails" not in provider.asked
    provider.fault = "code"
    refused(through(Client(), "github"), "GitHub didn&#x27;t confirm your identity")
    provider.fault = "access_denied"
    refused(through(Client(), "github"), "Sign-in with GitHub was cancelled")
    provider.fault, provider.person = "", ADA | {"sub": "77"}
    refused(through(Client(), "github"), "No account on this server is connected to this account at GitHub")
    provider.person = ADA | {"sub": "7" * 401}
    refused(through(Client(), "github"), "GitHub sent an invalid response", status=503)


def test_the_number_of_one_provider_is_not_that_of_another(provider: Provider) -> None:
    connected(key="github")
    refused(through(Client()), "No account on this server is connected to this account at Uni")


def test_a_provider_that_is_not_configured_has_no_address() -> None:
    for path in ("/sign-in/with/oidc/", "/sign-in/with/nonsense/"):
        assert Client().post(path).status_code == 404
        assert Client().get(f"{path}back/").status_code == 404
    assert "Sign in with" not in Client().get("/sign-in/").content.decode()


def test_behind_a_proxy_the_provider_sends_people_back_by_https(provider: Provider, settings: Settings) -> None:
    settings.SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    page = Client().post("/sign-in/with/oidc/", headers={"X-Forwarded-Proto": "https", "Host": "testserver"})
    back = parse_qs(urlsplit(page.context["address"]).query)["redirect_uri"]
    assert back == [f"https://testserver{BACK}"]
    settings.SECURE_PROXY_SSL_HEADER, settings.ACCOUNT_DEFAULT_HTTP_PROTOCOL = None, "https"
    page = Client().post("/sign-in/with/github/")
    back = parse_qs(urlsplit(page.context["address"]).query)["redirect_uri"]
    assert back == ["https://testserver/sign-in/with/github/back/"]


@pytest.mark.parametrize("name", ["OIDC_SERVER_URL", "OIDC_CLIENT_SECRET", "GITHUB_SIGN_IN_SECRET"])
def test_half_a_provider_is_refused_in_words(provider: Provider, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.delenv(name)
    with pytest.raises(env.ImproperlyConfigured, match=name):
        env.sign_in_providers("https://api.github.com")


def test_a_provider_is_asked_by_https_alone(monkeypatch: pytest.MonkeyPatch, provider: Provider) -> None:
    monkeypatch.setenv("OIDC_SERVER_URL", "http://id.example.org")
    with pytest.raises(env.ImproperlyConfigured, match="https://"):
        env.sign_in_providers("https://api.github.com")


@pytest.mark.slow
@pytest.mark.browser
@pytest.mark.django_db(transaction=True)
def test_in_a_browser_by_the_strict_policy(page: "Page", live_server: LiveServer, provider: Provider) -> None:
    provider.callbacks = {live_server.url + BACK}
    complaints: list[str] = []
    page.on("console", lambda said: complaints.append(said.text) if said.type == "error" else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("dialog", lambda dialog: dialog.accept())
    study = make.study()
    make.user("zoe", password="a long password")

    page.goto(f"{live_server.url}/sign-in/?next=/me/")
    page.get_by_label("User name").fill("zoe")
    page.get_by_label("Password").fill("a long password")
    page.get_by_role("button", name="Sign in", exact=True).click()
    page.get_by_role("heading", name="My settings").wait_for()
    connecting = page.locator("form", has=page.get_by_role("button", name="Connect Uni"))
    connecting.get_by_label("Your password").fill("a long password")
    page.get_by_role("button", name="Connect Uni").click()
    page.get_by_text("You can now sign in with Uni.").wait_for()
    page.locator("[data-menu] summary").click()
    page.get_by_role("button", name="Sign out").click()
    page.get_by_role("button", name="Sign in with Uni").click()
    page.locator("[data-menu] summary").wait_for()
    page.goto(f"{live_server.url}/me/")
    page.get_by_role("button", name="Disconnect Uni").click()
    page.get_by_text("The account is disconnected.").wait_for()
    page.locator("[data-menu] summary").click()
    page.get_by_role("button", name="Sign out").click()
    assert complaints == []

    page.get_by_role("button", name="Sign in with Uni").click()
    page.get_by_text("No account on this server is connected to this account at Uni").wait_for()
    assert [each for each in complaints if "403" not in each] == []
    complaints.clear()

    link = invite(seat=make.owner_seat(study), roles=["rater"])[1]
    page.goto(f"{live_server.url}/invitations/{link}/")
    page.get_by_role("button", name="Continue with Uni").click()
    page.get_by_text("At Uni you are ada.l").wait_for()
    page.get_by_role("button", name="Create account and accept").click()
    page.get_by_text("Welcome. You joined “").wait_for()
    assert make.member(study, "ada.l").roles == ["rater"]
    assert complaints == []
