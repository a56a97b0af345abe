"""Hashes of passwords: made by Argon2id, and those of earlier versions still open accounts."""

import time
from typing import Any

import pytest
from django.contrib.auth.hashers import check_password, identify_hasher, make_password

from accounts import password_hashing
from accounts.models import User
from config.settings import PASSWORD_HASHERS as HASHERS_OF_A_SITE

PUBLISHED = "argon2$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc"
"""Of the reference implementation's tests: the password `password`, the salt `somesalt`."""


@pytest.fixture(autouse=True)
def _hashers_of_a_site(settings: Any) -> None:
    """As the settings have them; other tests hash quickly."""
    settings.PASSWORD_HASHERS = HASHERS_OF_A_SITE


@pytest.fixture
def hasher() -> password_hashing.Argon2idHasher:
    return password_hashing.Argon2idHasher()


def test_a_hash_of_the_reference_implementation_is_verified(hasher: password_hashing.Argon2idHasher) -> None:
    assert hasher.verify("password", PUBLISHED) and not hasher.verify("differentpassword", PUBLISHED)
    assert hasher.must_update(PUBLISHED) and hasher.decode(PUBLISHED)["memory_cost"] == 65536


def test_a_password_is_hashed_with_the_recommended_parameters_and_a_salt_of_its_own() -> None:
    first, second = make_password("a längerer 密码", hasher="argon2"), make_password("a längerer 密码", hasher="argon2")
    assert first != second and first.startswith("argon2$argon2id$v=19$m=12288,t=3,p=1$")
    assert isinstance(identify_hasher(first), password_hashing.Argon2idHasher) and len(first) <= 128
    assert check_password("a längerer 密码", first) and not check_password("a langerer 密码", first)
    assert "*" in identify_hasher(first).safe_summary(first)["hash"]


@pytest.mark.django_db
def test_a_hash_of_an_earlier_version_opens_the_account_and_is_replaced() -> None:
    user = User.objects.create_user("sam")
    user.password = make_password("word of long ago", hasher="scrypt")
    user.save()
    assert user.check_password("word of long ago")
    user.refresh_from_db()
    assert user.password.startswith("argon2$argon2id$") and user.check_password("word of long ago")


@pytest.mark.django_db
def test_a_hash_that_is_replaced_never_takes_the_place_of_a_password_that_was_set_since() -> None:
    user = User.objects.create_user("sam")
    user.password = make_password("word of long ago", hasher="scrypt")
    user.save()
    signing_in = User.objects.get()
    user.set_password("word of today")
    user.save()
    assert signing_in.check_password("word of long ago")
    user.refresh_from_db()
    assert user.check_password("word of today") and not user.check_password("word of long ago")


def test_a_check_costs_a_fraction_of_one_by_scrypt() -> None:
    """Fifty people sign in at once; two processors have two seconds for all of them."""

    def seconds(name: str) -> float:
        began = time.thread_time()
        make_password("any word", hasher=name)
        return time.thread_time() - began

    assert min(seconds("argon2") for _ in range(3)) < min(seconds("scrypt") for _ in range(3)) / 3
