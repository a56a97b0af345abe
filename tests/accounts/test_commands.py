"""`add_user` and `token` in the shell."""

import json
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from accounts import actions
from accounts.models import ApiToken, PasswordLink, User

pytestmark = pytest.mark.django_db


def run(*words: str) -> str:
    out = StringIO()
    call_command(*words, stdout=out)
    return out.getvalue()


def test_add_user_prints_a_first_password_that_works() -> None:
    said = run("add_user", "alice", "--email", "alice@example.org", "--staff")
    user = User.objects.get(username="alice")
    assert user.check_password(said.strip().rpartition(" ")[2])
    assert (user.email, user.is_staff) == ("alice@example.org", True)


def test_a_printed_password_asks_to_be_changed_until_it_is() -> None:
    password = run("add_user", "alice").strip().rpartition(" ")[2]
    asks = "Choose your own password"
    client = Client()
    client.post("/sign-in/", {"username": "alice", "password": password})
    page = client.get("/taxonomies/").content.decode()
    assert f'<a href="/me/#password">{asks}</a>' in page
    assert "Your password was generated" in client.get("/me/").content.decode()
    client.post("/me/password/", {"old": password, "new": "a word of my own"})
    assert "Your password was generated" not in client.get("/me/").content.decode()
    again = Client()
    again.post("/sign-in/", {"username": "alice", "password": "a word of my own"})
    assert asks not in again.get("/taxonomies/").content.decode()
    actions.add_user(username="bob", password="a word of my own")
    bob = Client()
    bob.post("/sign-in/", {"username": "bob", "password": "a word of my own"})
    assert asks not in bob.get("/taxonomies/").content.decode(), "who chose it need not choose another"


def test_add_user_with_json_prints_json_alone() -> None:
    answer = json.loads(run("add_user", "alice", "--json"))
    assert User.objects.get(username="alice").check_password(answer["password"])
    assert answer["staff"] is False


def test_add_user_refuses_a_taken_name_in_words() -> None:
    run("add_user", "alice")
    with pytest.raises(CommandError, match=r"The name ALICE is taken\. Choose another name\."):
        run("add_user", "ALICE")


def test_add_user_refuses_an_address_that_is_none() -> None:
    with pytest.raises(CommandError, match="valid email"):
        run("add_user", "alice", "--email", "nonsense")


def test_token_prints_the_token_alone() -> None:
    run("add_user", "alice")
    said = run("token", "alice", "--scope", "manage")
    token = ApiToken.objects.get()
    assert said.count("\n") == 1
    assert token.digest == actions.digest(said.strip())
    assert (token.user.username, token.scope) == ("alice", "manage")


def test_a_token_reads_unless_told_otherwise() -> None:
    run("add_user", "alice")
    run("token", "alice")
    assert ApiToken.objects.get().scope == "read"


def test_token_for_nobody_fails_in_words() -> None:
    with pytest.raises(CommandError, match="No user is named carol"):
        run("token", "carol")


def test_password_link_prints_an_address_that_sets_a_password_once() -> None:
    run("add_user", "alice")
    said = run("password_link", "Alice", "--site", "https://concord.example.org/")
    address = said.strip().removeprefix("https://concord.example.org")
    assert said.count("\n") == 1 and address.startswith("/new-password/")
    assert address.split("/")[2] not in str(list(PasswordLink.objects.values()))
    assert Client().post(address, {"new": "another long password"}).status_code == 302
    assert User.objects.get(username="alice").check_password("another long password")
    assert Client().get(address).status_code == 404


def test_password_link_refuses_whoever_can_not_sign_in() -> None:
    with pytest.raises(CommandError, match="No user is named nobody"):
        run("password_link", "nobody")
    run("add_user", "alice")
    User.objects.update(is_active=False)
    with pytest.raises(CommandError, match="may no longer sign in"):
        run("password_link", "alice")
    assert not PasswordLink.objects.exists()
