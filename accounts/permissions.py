"""Permissions set by the operator: who may create studies, and who may use the server's GitHub tokens."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from django.conf import settings

from accounts.models import User
from shared.errors import Forbidden

_in_shell: ContextVar[bool] = ContextVar("in_shell", default=False)
NO_STUDIES = (
    "You can't create studies on this server. Ask its operator to add your user name to the setting STUDY_CREATORS."
)


@contextmanager
def shell_command() -> Iterator[None]:
    """Inside, everything is allowed: whoever has the server's shell runs the server."""
    token = _in_shell.set(True)
    try:
        yield
    finally:
        _in_shell.reset(token)


def is_shell_command() -> bool:
    return _in_shell.get()


def may_create_studies(user: User) -> bool:
    """Whether STUDY_CREATORS includes this person."""
    return is_shell_command() or settings.STUDY_CREATORS.includes(user)


def require_study_creator(user: User) -> None:
    """Raises Forbidden unless STUDY_CREATORS includes this person."""
    if not may_create_studies(user):
        raise Forbidden(NO_STUDIES)


def may_use_tokens(user: User | None) -> bool:
    """Whether FETCHERS includes this person: they may read whatever GITHUB_TOKENS can read at GitHub."""
    return is_shell_command() or (user is not None and user.is_active and settings.FETCHERS.includes(user))
