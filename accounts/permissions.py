"""Permissions set by the operator: who may create studies, and who may use the server's GitHub tokens."""

from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from django.conf import settings

from accounts.models import User
from shared.errors import Forbidden
from shared.names import folded

_are_public: list[Callable[[User], bool]] = []
_public_names: set[str] = set()
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
    """Whether STUDY_CREATORS includes this account; `everyone` includes none that anyone can act as."""
    return is_shell_command() or (settings.STUDY_CREATORS.includes(user) and not is_public_account(user))


def require_study_creator(user: User) -> None:
    """Raises Forbidden unless STUDY_CREATORS includes this person."""
    if not may_create_studies(user):
        raise Forbidden(NO_STUDIES)


def may_use_tokens(user: User | None) -> bool:
    """Whether FETCHERS includes this person: they may read whatever GITHUB_TOKENS can read at GitHub."""
    return is_shell_command() or (user is not None and user.is_active and is_fetcher(user))


def is_fetcher(user: User) -> bool:
    """Whether FETCHERS includes this account; `everyone` includes none that anyone can act as."""
    return bool(settings.FETCHERS.includes(user)) and not is_public_account(user)


def is_named_by_operator(username: str) -> bool:
    """Whether FETCHERS or STUDY_CREATORS gives this user name rights, of an account or of none yet."""
    return folded(username) in settings.FETCHERS.names | settings.STUDY_CREATORS.names


def public_accounts(are: Callable[[User], bool], names: Iterable[str]) -> None:
    """Registers which accounts anyone can act as, those of the demo, and their user names, which nobody else gets."""
    if are not in _are_public:
        _are_public.append(are)
        _public_names.update(names)


def is_public_name(username: str) -> bool:
    """Whether it is the user name of someone as whom anyone can act, in any letters."""
    return folded(username) in _public_names


def public_names() -> Collection[str]:
    """The user names of accounts that anyone can act as, whether there are such accounts or not."""
    return _public_names


def is_public_account(user: User) -> bool:
    """Whether anyone can act as this person."""
    return any(are(user) for are in _are_public)


def require_private_account(user: User, but: str) -> None:
    """Raises Forbidden for an account that anyone can act as; `but` is what its visitors therefore can't do.

    Otherwise one visitor takes it away from the next, or keeps it.
    """
    if is_public_account(user):
        raise Forbidden(f"Anyone can act as the people of the demo study, so they {but}. Use another account.")
