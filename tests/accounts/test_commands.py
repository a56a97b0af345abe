"""`add_user` and `token` in the shell."""

import json
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from accounts import actions
from accounts.models import ApiToken, User

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
    with pytest.raises(CommandError, match="There is nobody named carol"):
        run("token", "carol")
