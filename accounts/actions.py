"""What changes people and tokens; pages, API and commands call these."""

import hashlib
import secrets
from datetime import datetime

from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.utils import timezone

from accounts.errors import Conflict, Invalid
from accounts.models import ApiToken, User

TOKEN_MARK = "concord_"


def digest(plaintext: str) -> str:
    """The SHA-256 that stands for a token; a token is random and long, so no salt and no slow hash are needed."""
    return hashlib.sha256(plaintext.encode()).hexdigest()


def add_user(
    *, username: str, email: str = "", full_name: str = "", password: str | None = None, is_staff: bool = False
) -> tuple[User, str]:
    """A new person and their first password, made up where none was given.

    Raises Invalid for a name or password that can't be used, Conflict where the name is taken in any case.
    """
    first_name, _, last_name = full_name.strip().partition(" ")
    user = User(
        username=User.normalize_username(username.strip()),
        email=User.objects.normalize_email(email.strip()),
        first_name=first_name,
        last_name=last_name.strip(),
        is_staff=is_staff,
    )
    first_password = password or secrets.token_urlsafe(12)
    try:
        user.clean_fields(exclude=["password"])
    except ValidationError as error:
        raise Invalid("This person can't be added.", fields=error.message_dict) from error
    if password:
        _check_password(password, user, field="password")
    user.set_password(first_password)
    try:
        with transaction.atomic():
            user.save(force_insert=True)
    except IntegrityError as error:
        raise Conflict(
            f"The name {user.username} is taken.", code="name_taken", fields={"username": ["Choose another name."]}
        ) from error
    return user, first_password


def rename_user(*, user: User, full_name: str, email: str) -> User:
    """Changes how a person is called; raises Invalid for an address that is none."""
    first_name, _, last_name = full_name.strip().partition(" ")
    user.first_name, user.last_name = first_name, last_name.strip()
    user.email = User.objects.normalize_email(email.strip())
    try:
        user.clean_fields(exclude=["password", "username"])
    except ValidationError as error:
        fields = {
            "full_name" if name in {"first_name", "last_name"} else name: sentences
            for name, sentences in error.message_dict.items()
        }
        raise Invalid("This name or address can't be used.", fields=fields) from error
    user.save(update_fields=["first_name", "last_name", "email"])
    return user


def change_password(*, user: User, old: str, new: str) -> None:
    """Sets a new password for who knows the old one; every other session of theirs ends. Raises Invalid."""
    if not user.check_password(old):
        raise Invalid("The password was not changed.", fields={"old": ["This is not your present password."]})
    _check_password(new, user, field="new")
    user.set_password(new)
    user.save(update_fields=["password"])


def make_token(
    *, user: User, name: str, scope: str = ApiToken.Scope.READ, expires_at: datetime | None = None
) -> tuple[ApiToken, str]:
    """A new token and its plaintext, which nobody can read again. Raises Invalid."""
    fields: dict[str, list[str]] = {}
    name = name.strip()
    if not name:
        fields["name"] = ["Say what this token is for."]
    elif len(name) > 100:
        fields["name"] = ["Use at most 100 characters."]
    if scope not in ApiToken.Scope.values:
        fields["scope"] = [f"Choose one of {', '.join(ApiToken.Scope.values)}."]
    if expires_at is not None and expires_at <= timezone.now():
        fields["expires_at"] = ["Choose a moment that lies ahead."]
    if fields:
        raise Invalid("The token was not made.", fields=fields)
    plaintext = TOKEN_MARK + secrets.token_urlsafe(32)
    token = ApiToken.objects.create(
        user=user, name=name, scope=scope, expires_at=expires_at, digest=digest(plaintext), prefix=plaintext[:12]
    )
    return token, plaintext


def revoke_token(*, token: ApiToken) -> ApiToken:
    """Ends a token for good; a second time changes nothing."""
    if token.revoked_at is None:
        token.revoked_at = timezone.now()
        token.save(update_fields=["revoked_at"])
    return token


def touch_token(*, token: ApiToken) -> None:
    """Notes that a token was used, at most once a minute."""
    now = timezone.now()
    if token.last_used_at is None or (now - token.last_used_at).total_seconds() >= 60:
        ApiToken.objects.filter(pk=token.pk).update(last_used_at=now)
        token.last_used_at = now


def _check_password(password: str, user: User, *, field: str) -> None:
    try:
        validate_password(password, user)
    except ValidationError as error:
        raise Invalid("This password can't be used.", fields={field: error.messages}) from error
