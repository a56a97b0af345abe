"""Sign-in, sign-out, a person's own page, and what errors look like."""

import pytest
from django.test import Client

from accounts import actions
from accounts.models import ApiToken, User
from shared.errors import Conflict, Invalid

pytestmark = pytest.mark.django_db
PASSWORD = "a long password"


@pytest.fixture
def alice() -> User:
    return User.objects.create_user("alice", password=PASSWORD)


@pytest.fixture
def browser_of_alice(alice: User) -> Client:
    client = Client()
    client.force_login(alice)
    return client


def test_a_name_and_its_password_sign_in(alice: User) -> None:
    client = Client()
    answer = client.post("/sign-in/", {"username": "alice", "password": PASSWORD, "next": "/me/"})
    assert (answer.status_code, answer["Location"]) == (302, "/me/")
    assert client.get("/me/").status_code == 200


def test_a_wrong_password_is_422_and_says_so(alice: User) -> None:
    answer = Client().post("/sign-in/", {"username": "alice", "password": "wrong"})
    assert answer.status_code == 422
    assert "Wrong user name or password" in answer.content.decode()


AGAIN = "/sign-in/again/"


def test_signing_in_again_in_place_takes_the_person_whose_page_it_is(alice: User) -> None:
    client = Client(enforce_csrf_checks=True)
    assert client.get(AGAIN).json() == {"person": None}
    given = {"username": "alice", "password": PASSWORD, "person": alice.pk}
    assert client.post(AGAIN, given).status_code == 403  # no token
    token = next(value.value for name, value in client.cookies.items() if "csrf" in name)
    assert client.post(AGAIN, given, headers={"X-CSRFToken": token}).json() == {"person": alice.pk}
    assert client.get(AGAIN).json() == {"person": alice.pk}
    assert client.get("/me/").status_code == 200
    assert next(value.value for name, value in client.cookies.items() if "csrf" in name) != token


def test_signing_in_again_refuses_a_wrong_password_and_who_may_not_sign_in(alice: User) -> None:
    given = {"username": "alice", "password": "wrong", "person": alice.pk}
    answer = Client().post(AGAIN, given)
    assert answer.status_code == 422 and "Wrong user name or password" in answer.json()["message"]
    User.objects.update(is_active=False)
    answer = Client().post(AGAIN, given | {"password": PASSWORD})
    assert answer.status_code == 422


def test_signing_in_again_in_place_never_makes_a_page_someone_elses(alice: User, browser_of_alice: Client) -> None:
    bob = User.objects.create_user("bob", password=PASSWORD)
    as_bob = {"username": "bob", "password": PASSWORD, "person": alice.pk}
    client = Client()
    answer = client.post(AGAIN, as_bob)
    assert answer.status_code == 409 and "belongs to another user" in answer.json()["message"]
    assert client.get(AGAIN).json() == {"person": None}
    answer = browser_of_alice.post(AGAIN, as_bob | {"person": bob.pk})
    assert answer.status_code == 409 and "alice is signed in" in answer.json()["message"]
    assert browser_of_alice.get(AGAIN).json() == {"person": alice.pk}


def test_sign_in_does_not_lead_to_another_site(alice: User) -> None:
    answer = Client().post("/sign-in/", {"username": "alice", "password": PASSWORD, "next": "https://evil.example/"})
    assert answer["Location"] == "/"


def test_signing_out_takes_a_post(browser_of_alice: Client) -> None:
    assert browser_of_alice.get("/sign-out/").status_code == 405
    assert browser_of_alice.post("/sign-out/").status_code == 302
    assert browser_of_alice.get("/me/").status_code == 302


@pytest.mark.parametrize("address", ["/me/", "/me/profile/", "/me/password/", "/me/tokens/", "/me/tokens/1/revoke/"])
def test_nobody_anonymous_sees_these_pages(address: str) -> None:
    answer = Client().get(address)
    assert (answer.status_code, answer["Location"]) == (302, f"/sign-in/?next={address}")


def test_an_htmx_request_of_someone_signed_out_sends_the_whole_page_to_sign_in() -> None:
    answer = Client().get("/me/", HTTP_HX_REQUEST="true")
    assert answer["HX-Redirect"] == "/sign-in/?next=/me/"


def test_a_new_token_is_shown_once(browser_of_alice: Client, alice: User) -> None:
    answer = browser_of_alice.post(
        "/me/tokens/", {"name": "notebook", "scope": "rate", "days": "90", "password": PASSWORD}
    )
    assert answer.status_code == 201
    token = ApiToken.objects.get(user=alice)
    assert token.scope == "rate"
    assert token.expires_at is not None
    page = answer.content.decode()
    plaintext = page.partition('id="new-token">')[2].partition("<")[0]
    assert actions.digest(plaintext) == token.digest
    assert plaintext not in browser_of_alice.get("/me/").content.decode()


def test_a_token_without_a_name_is_422_and_none_is_made(browser_of_alice: Client) -> None:
    answer = browser_of_alice.post("/me/tokens/", {"name": "", "scope": "rate", "days": "90"})
    assert answer.status_code == 422
    assert 'aria-invalid="true"' in answer.content.decode()
    assert not ApiToken.objects.exists()


def test_a_revoked_token_leaves_the_list(browser_of_alice: Client, alice: User) -> None:
    token, _ = actions.make_token(user=alice, name="notebook")
    browser_of_alice.post(f"/me/tokens/{token.pk}/revoke/")
    token.refresh_from_db()
    assert token.revoked_at is not None


def test_the_token_of_someone_else_is_404(browser_of_alice: Client) -> None:
    token, _ = actions.make_token(user=User.objects.create_user("bob"), name="his")
    answer = browser_of_alice.post(f"/me/tokens/{token.pk}/revoke/")
    assert answer.status_code == 404
    assert "Token not found." in answer.content.decode()
    token.refresh_from_db()
    assert token.revoked_at is None


def test_a_refused_htmx_request_gets_its_message_in_place(browser_of_alice: Client) -> None:
    answer = browser_of_alice.post("/me/tokens/999/revoke/", HTTP_HX_REQUEST="true")
    assert (answer.status_code, answer["HX-Retarget"]) == (404, "#messages")
    assert "<html" not in answer.content.decode()


def test_a_password_changes_for_who_knows_the_old_one(browser_of_alice: Client, alice: User) -> None:
    refused = browser_of_alice.post("/me/password/", {"old": "wrong", "new": "another long one"})
    assert refused.status_code == 422
    assert "This is not your password" in refused.content.decode()
    weak = browser_of_alice.post("/me/password/", {"old": PASSWORD, "new": "12345"})
    assert weak.status_code == 422
    assert browser_of_alice.post("/me/password/", {"old": PASSWORD, "new": "another long one"}).status_code == 302
    alice.refresh_from_db()
    assert alice.check_password("another long one")
    assert browser_of_alice.get("/me/").status_code == 200


def test_a_name_and_an_address_are_kept(browser_of_alice: Client, alice: User) -> None:
    assert browser_of_alice.post("/me/profile/", {"full_name": "Alice B. Cole", "email": "no"}).status_code == 422
    browser_of_alice.post(
        "/me/profile/", {"full_name": "Alice B. Cole", "email": "a@example.org", "password": PASSWORD}
    )
    alice.refresh_from_db()
    assert (alice.display_name, alice.email) == ("Alice B. Cole", "a@example.org")


def test_a_page_that_is_not_there_is_404_in_words(browser_of_alice: Client) -> None:
    answer = browser_of_alice.get("/no-such-page/")
    assert answer.status_code == 404
    assert "Not found, or you don" in answer.content.decode()


def test_pages_allow_no_inline_script_or_style() -> None:
    policy = Client().get("/sign-in/")["Content-Security-Policy"]
    assert "unsafe" not in policy
    assert "script-src 'self'" in policy
    assert "default-src 'none'" in policy


def test_the_description_of_the_api_is_open_and_under_the_same_policy() -> None:
    answer = Client().get("/api/v1/docs/")
    assert answer.status_code == 200
    assert "unsafe" not in answer["Content-Security-Policy"]
    assert "<script>" not in answer.content.decode()
    schema = Client().get("/api/v1/schema/", headers={"accept": "application/json"})
    assert "token" in schema.json()["components"]["securitySchemes"]


def test_a_name_is_taken_whatever_its_case(alice: User) -> None:
    with pytest.raises(Conflict):
        actions.add_user(username="Alice")


@pytest.mark.parametrize("name", ["", "   ", "a b", "x" * 151, "a/b"])
def test_a_name_that_can_not_be_used_is_refused(name: str) -> None:
    with pytest.raises(Invalid) as refused:
        actions.add_user(username=name)
    assert "username" in refused.value.fields
