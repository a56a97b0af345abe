"""How often somebody may try to sign in, and who may not use the password that everybody knows."""

from collections.abc import Callable

import pytest
from django.conf import settings
from django.core.cache import cache
from django.test import Client, override_settings

from accounts import actions
from accounts.errors import Invalid
from accounts.limits import ADDRESS, NAME, NAME_AND_ADDRESS
from accounts.models import User
from accounts.passwords import DEMO_PASSWORD
from tests import builders as make

pytestmark = pytest.mark.django_db
PASSWORD = "a long password"
AWAY = {"default": settings.CACHES["default"] | {"LOCATION": "redis://127.0.0.1:1/0"}}

Try = Callable[..., tuple[int, str]]


@pytest.fixture(autouse=True)
def nothing_counted() -> None:
    cache.clear()


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
    assert answer.status_code == 429 and "too many tries" in answer.json()["message"] and answer["Retry-After"]
    assert attempt("alice", PASSWORD, at="198.51.100.9")[0] == 302  # herself, from elsewhere


def test_signing_in_costs_no_try(alice: User) -> None:
    assert {attempt("alice", PASSWORD)[0] for _ in range(NAME_AND_ADDRESS.n_most + 3)} == {302}


def test_one_address_can_not_go_through_many_names() -> None:
    with override_settings(PASSWORD_HASHERS=["django.contrib.auth.hashers.MD5PasswordHasher"]):
        found = [attempt(f"name{n}")[0] for n in range(ADDRESS.n_most + 1)]
    assert found == [422] * ADDRESS.n_most + [429]


def test_many_addresses_can_not_go_through_one_name_and_no_name_tells_whether_it_exists() -> None:
    with override_settings(PASSWORD_HASHERS=["django.contrib.auth.hashers.MD5PasswordHasher"]):
        found = [attempt("nobody", at=f"198.51.100.{n}")[0] for n in range(NAME.n_most + 1)]
    assert found == [422] * NAME.n_most + [429]


def test_an_address_that_a_visitor_makes_up_does_not_help(alice: User) -> None:
    for n in range(NAME_AND_ADDRESS.n_most):
        attempt("alice", **{"X-Forwarded-For": f"198.51.100.{n}"})
    assert attempt("alice", PASSWORD, **{"X-Forwarded-For": "198.51.100.77"})[0] == 429
    with override_settings(TRUSTED_PROXIES=1):
        assert attempt("alice", PASSWORD, **{"X-Forwarded-For": "203.0.113.5, 198.51.100.77"})[0] == 302


def test_while_redis_is_away_people_sign_in_and_wrong_passwords_do_not(alice: User) -> None:
    with override_settings(CACHES=AWAY):
        assert {attempt("alice")[0] for _ in range(NAME_AND_ADDRESS.n_most + 2)} == {422}
        assert attempt("alice", PASSWORD)[0] == 302


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
    assert answer.status_code == 422 and "which everybody knows" in answer.content.decode()
    assert demo(**{"X-Forwarded-For": "127.0.0.1"}) == 422  # passed on by something that the settings don't know


def test_whoever_of_the_demo_has_a_password_of_their_own_is_like_everybody(olga: User) -> None:
    actions.change_password(user=olga, old=DEMO_PASSWORD, new=PASSWORD)
    assert attempt("demo-olga", PASSWORD)[0] == 302


def test_nobody_else_can_choose_it(alice: User) -> None:
    with pytest.raises(Invalid, match="can't be used"):
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
    ],
)
def test_a_server_is_local_unless_a_setting_opens_it(
    environment: dict[str, str], is_local: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    import runpy

    for name in ("ALLOWED_HOSTS", "HTTPS", "TRUSTED_PROXIES", "BIND"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert runpy.run_path("config/settings.py")["LOOPBACK_ONLY"] is is_local
