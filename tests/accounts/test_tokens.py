"""Tokens: who they are, what their scope opens, and when they no longer work."""

from datetime import timedelta

import pytest
from django.core.cache import cache
from django.test import Client, override_settings
from django.utils import timezone
from rest_framework.request import Request
from rest_framework.test import APIRequestFactory, force_authenticate
from rest_framework.views import APIView, Response

from accounts import actions
from accounts.api import SessionAuthentication, TokenAuthentication, covers, rate, scope
from accounts.models import ApiToken, User
from shared.errors import Invalid
from tests.asserts import assert_queries

pytestmark = pytest.mark.django_db


class Door(APIView):
    """Opens to read for GET and to rate for POST."""

    permission_classes = [scope("rate")]

    def get(self, request: Request) -> Response:
        return Response({"user": request.user.username})

    post = get


@pytest.fixture
def alice() -> User:
    return User.objects.create_user("alice", password="a long password")


def ask(plaintext: str, method: str = "get", header: str = "Bearer {}") -> Response:
    make = getattr(APIRequestFactory(), method)
    return Door.as_view()(make("/api/v1/door/", HTTP_AUTHORIZATION=header.format(plaintext))).render()


def test_a_token_is_its_user(alice: User) -> None:
    _, plaintext = actions.make_token(user=alice, name="script")
    answer = ask(plaintext)
    assert (answer.status_code, answer.data) == (200, {"user": "alice"})


def test_the_plaintext_is_stored_nowhere(alice: User) -> None:
    token, plaintext = actions.make_token(user=alice, name="script")
    stored = str(list(ApiToken.objects.values()))
    assert plaintext not in stored
    assert plaintext.startswith(token.prefix)
    assert len(plaintext) > len(token.prefix) + 30


@pytest.mark.parametrize("wrong", ["", "nonsense", "concord_", "\xff", "a b"])
def test_a_wrong_token_is_401_and_says_how_to_authenticate(wrong: str) -> None:
    answer = ask(wrong)
    assert answer.status_code == 401
    assert answer["WWW-Authenticate"] == 'Bearer realm="Concord"'
    assert answer.data["code"] == "unauthenticated"
    assert answer.data["fields"] == {}


def test_no_token_is_401() -> None:
    answer = Door.as_view()(APIRequestFactory().get("/api/v1/door/"))
    assert answer.status_code == 401


def test_an_expired_token_is_401(alice: User) -> None:
    token, plaintext = actions.make_token(user=alice, name="script", expires_at=timezone.now() + timedelta(days=1))
    assert ask(plaintext).status_code == 200
    ApiToken.objects.filter(pk=token.pk).update(expires_at=timezone.now() - timedelta(seconds=1))
    assert ask(plaintext).status_code == 401


def test_a_revoked_token_is_401(alice: User) -> None:
    token, plaintext = actions.make_token(user=alice, name="script")
    actions.revoke_token(token=token)
    assert ask(plaintext).status_code == 401


def test_the_token_of_someone_who_may_not_sign_in_is_401(alice: User) -> None:
    _, plaintext = actions.make_token(user=alice, name="script")
    User.objects.update(is_active=False)
    assert ask(plaintext).status_code == 401


@pytest.mark.parametrize(("held", "get", "post"), [("read", 200, 403), ("rate", 200, 200), ("manage", 200, 200)])
def test_a_scope_opens_what_it_includes(alice: User, held: str, get: int, post: int) -> None:
    _, plaintext = actions.make_token(user=alice, name="script", scope=held)
    assert ask(plaintext).status_code == get
    assert ask(plaintext, "post").status_code == post


def test_a_scope_too_small_says_which_is_needed(alice: User) -> None:
    _, plaintext = actions.make_token(user=alice, name="script", scope="read")
    answer = ask(plaintext, "post")
    assert answer.data == {
        "code": "scope_too_small",
        "message": "This needs a token with scope rate. Yours has read.",
        "fields": {},
    }


def test_people_in_a_browser_have_every_scope(alice: User) -> None:
    request = APIRequestFactory().post("/api/v1/door/")
    force_authenticate(request, alice)
    assert Door.as_view()(request).status_code == 200


def test_scopes_are_ordered() -> None:
    assert covers("manage", "read")
    assert covers("rate", "rate")
    assert not covers("read", "rate")
    assert not covers("rate", "manage")


def test_a_post_by_session_needs_the_csrf_token(alice: User) -> None:
    view = Door.as_view(authentication_classes=[TokenAuthentication, SessionAuthentication])
    request = APIRequestFactory(enforce_csrf_checks=True).post("/api/v1/door/")
    request.user = alice
    assert view(request).status_code == 403


def test_use_is_noted_at_most_once_a_minute(alice: User) -> None:
    token, plaintext = actions.make_token(user=alice, name="script")
    with assert_queries(2):
        ask(plaintext)
    with assert_queries(1):
        ask(plaintext)
    ApiToken.objects.update(last_used_at=timezone.now() - timedelta(seconds=61))
    ask(plaintext)
    token.refresh_from_db()
    assert token.last_used_at is not None
    assert timezone.now() - token.last_used_at < timedelta(seconds=10)


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"name": "  "}, "name"),
        ({"name": "x" * 101}, "name"),
        ({"scope": "root"}, "scope"),
        ({"expires_at": timezone.now() - timedelta(days=1)}, "expires_at"),
    ],
)
def test_a_token_that_can_not_be_made_says_which_field_is_wrong(
    alice: User, wrong: dict[str, object], field: str
) -> None:
    with pytest.raises(Invalid) as refused:
        actions.make_token(**{"user": alice, "name": "script", **wrong})  # type: ignore[arg-type]
    assert list(refused.value.fields) == [field]
    assert not ApiToken.objects.exists()


def test_more_requests_than_allowed_are_429_and_say_when_to_come_back(alice: User) -> None:
    _, plaintext = actions.make_token(user=alice, name="script")
    _, other = actions.make_token(user=alice, name="another script")
    with override_settings(REST_FRAMEWORK=_with_rate("3/day")):
        assert [ask(plaintext).status_code for _ in range(4)] == [200, 200, 200, 429]
        answer = ask(plaintext)
        assert answer.data["code"] == "throttled"
        assert 1 <= int(answer["Retry-After"]) <= 86400
        assert ask(other).status_code == 200
    cache.clear()


def _with_rate(text: str) -> dict[str, object]:
    from django.conf import settings

    return settings.REST_FRAMEWORK | {"DEFAULT_THROTTLE_RATES": {"token": text}}


def test_rates_are_read() -> None:
    assert (rate("6000/min"), rate("5/s"), rate("2/day")) == ((6000, 60), (5, 1), (2, 86400))


def test_an_unknown_address_of_the_api_is_404_in_the_one_shape() -> None:
    answer = Client().get("/api/v1/no/such/thing/")
    assert answer.status_code == 404
    assert set(answer.json()) == {"code", "message", "fields"}
