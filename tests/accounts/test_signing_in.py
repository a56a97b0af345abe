"""How often someone may try to sign in, and who may not use the password that everybody knows."""

from collections.abc import Callable

import pytest
from django.conf import settings
from django.core.cache import cache
from django.test import Client, override_settings

from accounts import actions
from accounts.models import ServerEvent, User
from accounts.passwords import DEMO_PASSWORD
from shared.errors import Invalid
from shared.rate_limits import (
    ADDRESS,
    KNOWN_BROWSER,
    LINKS,
    NAME_AND_ADDRESS,
    RESETS_OF_ADDRESS,
    ProcessCounts,
    process_counts,
)
from tests import builders as make

pytestmark = pytest.mark.django_db
PASSWORD = "a long password"
AWAY = {"default": settings.CACHES["default"] | {"LOCATION": "redis://127.0.0.1:1/0"}}

Try = Callable[..., tuple[int, str]]


@pytest.fixture(autouse=True)
def nothing_counted() -> None:
    cache.clear()
    process_counts.clear()


def attempt(name: str, password: str = "wrong", at: str = "203.0.113.5", **headers: str) -> tuple[int, str]:
    answer = Client(REMOTE_ADDR=at).post("/sign-in/", {"username": name, "password": password}, headers=headers)
    return answer.status_code, answer.headers.get("Retry-After", "")


@pytest.fixture
def alice() -> User:
    return make.user("alice", password=PASSWORD)


def test_ten_wrong_passwords_are_the_most_and_the_right_one_has_to_wait_then(alice: User) -> None:
    assert [attempt("alice")[0] for _ in range(NAME_AND_ADDRESS.n_most)] == [422] * NAME_AND_ADDRESS.n_most
    status, wait = attempt("ALICE ", PASSWORD)
    assert status == 429 and 0 < int(wait) <= NAME_AND_ADDRESS.seconds + 1
    answer = Client(REMOTE_ADDR="203.0.113.5").post(
        "/sign-in/again/", {"username": "alice", "password": PASSWORD, "person": alice.pk}
    )
    assert (
        answer.status_code == 429 and "Too many sign-in attempts" in answer.json()["message"] and answer["Retry-After"]
    )
    assert attempt("alice", PASSWORD, at="198.51.100.9")[0] == 302  # herself, from elsewhere


def test_signing_in_costs_no_try(alice: User) -> None:
    assert {attempt("alice", PASSWORD)[0] for _ in range(NAME_AND_ADDRESS.n_most + 3)} == {302}


def test_one_address_can_not_go_through_many_names() -> None:
    with override_settings(PASSWORD_HASHERS=["django.contrib.auth.hashers.MD5PasswordHasher"]):
        found = [attempt(f"name{n}")[0] for n in range(ADDRESS.n_most + 1)]
    assert found == [422] * ADDRESS.n_most + [429]


def test_nobody_can_keep_someone_else_out_by_trying_their_name(alice: User) -> None:
    for _ in range(62):
        attempt("alice")
    assert attempt("alice", PASSWORD, at="198.51.100.9")[0] == 302


def test_tries_that_were_refused_do_not_keep_an_address_out(alice: User) -> None:
    """Someone beside her tries one name on and on; everybody else behind the same address signs in."""
    for _ in range(ADDRESS.n_most + 1):
        attempt("bob")
    assert attempt("alice", PASSWORD)[0] == 302


def test_a_browser_that_signed_in_before_is_not_kept_out_by_others_at_its_address(alice: User) -> None:
    browser = Client(REMOTE_ADDR="203.0.113.5")
    assert browser.post("/sign-in/", {"username": "alice", "password": PASSWORD}).status_code == 302
    browser.post("/sign-out/")
    for _ in range(NAME_AND_ADDRESS.n_most):
        attempt("alice")
    assert attempt("alice", PASSWORD)[0] == 429  # another browser there
    assert browser.post("/sign-in/", {"username": "alice", "password": PASSWORD}).status_code == 302


def known(alice: User, at: str = "203.0.113.5") -> Client:
    """A browser in which alice signed in once, and signed out."""
    browser = Client(REMOTE_ADDR=at)
    browser.post("/sign-in/", {"username": "alice", "password": PASSWORD})
    browser.post("/sign-out/")
    return browser


def test_a_known_browser_has_ten_tries_of_its_own(alice: User) -> None:
    browser = known(alice)
    wrong = {"username": "alice", "password": "wrong"}
    answers = [browser.post("/sign-in/", wrong).status_code for _ in range(KNOWN_BROWSER.n_most)]
    assert answers == [422] * KNOWN_BROWSER.n_most
    answer = browser.post("/sign-in/", {"username": "alice", "password": PASSWORD})
    assert answer.status_code == 429 and 0 < int(answer["Retry-After"]) <= KNOWN_BROWSER.seconds + 1
    assert attempt("alice", PASSWORD)[0] == 302  # its tries are nobody else's


def test_a_known_browser_is_known_for_one_person_alone(alice: User) -> None:
    make.user("bob", password=PASSWORD)
    browser = known(alice)
    for _ in range(NAME_AND_ADDRESS.n_most):
        attempt("bob")
    assert browser.post("/sign-in/", {"username": "bob", "password": PASSWORD}).status_code == 429


def test_a_new_password_makes_browsers_unknown(alice: User) -> None:
    browser = known(alice)
    actions.change_password(user=alice, old=PASSWORD, new="another long password")
    for _ in range(NAME_AND_ADDRESS.n_most):
        attempt("alice")
    assert browser.post("/sign-in/", {"username": "alice", "password": "another long password"}).status_code == 429


def test_the_browser_in_which_the_password_was_changed_stays_known(alice: User) -> None:
    browser = Client(REMOTE_ADDR="203.0.113.5")
    browser.post("/sign-in/", {"username": "alice", "password": PASSWORD})
    new = "another long password"
    assert browser.post("/me/password/", {"old": PASSWORD, "new": new}).status_code == 302
    browser.post("/sign-out/")
    for _ in range(NAME_AND_ADDRESS.n_most):
        attempt("alice")
    assert browser.post("/sign-in/", {"username": "alice", "password": new}).status_code == 302


def test_a_forged_cookie_makes_no_browser_known(alice: User) -> None:
    browser = known(alice)
    cookie = browser.cookies[settings.KNOWN_BROWSER_COOKIE_NAME]
    assert cookie["httponly"] and cookie["samesite"] == "Lax" and int(cookie["max-age"]) > 60 * 60 * 24 * 300
    browser.cookies[settings.KNOWN_BROWSER_COOKIE_NAME] = cookie.value[:-3] + "abc"
    for _ in range(NAME_AND_ADDRESS.n_most):
        attempt("alice")
    assert browser.post("/sign-in/", {"username": "alice", "password": PASSWORD}).status_code == 429


def test_signing_in_leaves_a_line_in_the_audit_with_a_shortened_address(alice: User) -> None:
    attempt("alice", "wrong")
    attempt("alice", PASSWORD)
    line = ServerEvent.objects.get(verb="signed in")
    assert (line.user, line.detail) == (alice, {"address": "203.0.113.…"})


def test_an_address_that_a_visitor_makes_up_does_not_help(alice: User) -> None:
    for n in range(NAME_AND_ADDRESS.n_most):
        attempt("alice", **{"X-Forwarded-For": f"198.51.100.{n}"})
    assert attempt("alice", PASSWORD, **{"X-Forwarded-For": "198.51.100.77"})[0] == 429
    with override_settings(TRUSTED_PROXIES=1):
        assert attempt("alice", PASSWORD, **{"X-Forwarded-For": "203.0.113.5, 198.51.100.77"})[0] == 302


def test_while_redis_is_away_people_sign_in_and_tries_are_still_limited(alice: User) -> None:
    with override_settings(CACHES=AWAY):
        assert attempt("alice", PASSWORD)[0] == 302
        assert [attempt("alice")[0] for _ in range(NAME_AND_ADDRESS.n_most)] == [422] * NAME_AND_ADDRESS.n_most
        status, wait = attempt("alice", PASSWORD)
        assert status == 429 and 0 < int(wait) <= NAME_AND_ADDRESS.seconds + 1
        assert attempt("alice", PASSWORD, at="198.51.100.9")[0] == 302


def test_while_redis_is_away_every_other_limit_holds_too(settings: object) -> None:
    with override_settings(CACHES=AWAY, SENDS_EMAIL=True, CELERY_TASK_ALWAYS_EAGER=True):
        visitor = Client(REMOTE_ADDR="203.0.113.5")
        links = [visitor.get(f"/new-password/guess{n}/").status_code for n in range(LINKS.n_most + 1)]
        assert links == [404] * LINKS.n_most + [429]
        letters = [
            visitor.post("/sign-in/lost-password/", {"email": "nobody@example.org"}).status_code
            for _ in range(RESETS_OF_ADDRESS.n_most + 1)
        ]
        assert letters == [200] * RESETS_OF_ADDRESS.n_most + [429]


def test_while_redis_is_away_a_token_is_throttled(alice: User) -> None:
    token = actions.make_token(user=alice, name="t")[1]
    rates = settings.REST_FRAMEWORK | {"DEFAULT_THROTTLE_RATES": {"token": "3/day"}}
    with override_settings(CACHES=AWAY, REST_FRAMEWORK=rates):
        headers = {"Authorization": f"Bearer {token}"}
        assert [Client().get("/api/v1/studies/", headers=headers).status_code for _ in range(4)] == [200] * 3 + [429]


def test_the_counts_of_a_process_stay_few() -> None:
    counts = ProcessCounts()
    counts.n_most = 100
    for n in range(1_000):
        counts.up(f"key {n}", 300)
    assert len(counts._counts) <= 100
    assert counts.up("key 999", 300) == 2


@pytest.fixture
def olga() -> User:
    return actions.add_user(username="demo-olga", password=DEMO_PASSWORD)[0]


def demo(at: str = "127.0.0.1", **headers: str) -> int:
    return attempt("demo-olga", DEMO_PASSWORD, at=at, **headers)[0]


def test_the_password_of_the_demo_opens_from_this_machine_alone(olga: User) -> None:
    assert demo() == 302
    assert demo("::1") == 302
    assert demo("203.0.113.5") == 422
    assert demo("10.0.0.1") == 422


def test_it_opens_nothing_where_others_could_reach_the_server(olga: User) -> None:
    with override_settings(LOOPBACK_ONLY=False):
        answer = Client().post("/sign-in/", {"username": "demo-olga", "password": DEMO_PASSWORD})
    assert answer.status_code == 422 and "which everyone knows" in answer.content.decode()
    assert demo(**{"X-Forwarded-For": "127.0.0.1"}) == 422  # passed on by something that the settings don't know


def test_whoever_of_the_demo_has_a_password_of_their_own_is_like_everybody(olga: User) -> None:
    actions.make_private(user=olga)
    olga.set_password(PASSWORD)
    olga.save()
    assert attempt("demo-olga", PASSWORD)[0] == 302


def test_nobody_else_can_choose_it(alice: User) -> None:
    with pytest.raises(Invalid, match="Choose another password"):
        actions.change_password(user=alice, old=PASSWORD, new=DEMO_PASSWORD)


@pytest.mark.parametrize(
    ("environment", "is_local"),
    [
        ({}, True),
        ({"ALLOWED_HOSTS": "concord.example.org"}, False),
        ({"HTTPS": "1"}, False),
        ({"TRUSTED_PROXIES": "1"}, False),
        ({"BIND": "0.0.0.0"}, False),
        ({"BIND": "127.0.0.1"}, True),
        ({"SITE_URL": "http://localhost:8000"}, True),
        ({"SITE_URL": "https://concord.example.org"}, False),
    ],
)
def test_a_server_is_local_unless_a_setting_opens_it(
    environment: dict[str, str], is_local: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    import runpy

    for name in ("SITE_URL", "ALLOWED_HOSTS", "HTTPS", "TRUSTED_PROXIES", "BIND"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert runpy.run_path("config/settings.py")["LOOPBACK_ONLY"] is is_local
