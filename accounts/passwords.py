"""Password rules: which passwords are accepted, and the public password of the demo."""

import re
from collections.abc import Callable, Iterable
from difflib import SequenceMatcher

from django.core.exceptions import ValidationError
from django.http import HttpRequest

from accounts.models import User
from shared.addresses import is_from_here

DEMO_PASSWORD = "two-raters-agree"
DEMO_NAMES = "demo-"
REFUSED = (
    "This is the demo's password, which everyone knows. It works only in a browser on the machine that runs "
    "Concord, and only while no other machine can reach it."
)


LONG = 12
HARD_TO_GUESS = 3
"""The score of zxcvbn (0 to 4) of a password that takes more than 100 million guesses."""
SIMILAR = 0.7

_words_of: list[Callable[[User], Iterable[str]]] = []


def not_as_password(words: Callable[[User], Iterable[str]]) -> Callable[[User], Iterable[str]]:
    """Registers words that a person's password may not be, or resemble: those by which their studies are known."""
    if words not in _words_of:
        _words_of.append(words)
    return words


def words_of(user: User | None) -> list[str]:
    """The names of a person, of Concord and of their studies."""
    if user is None:
        return ["concord"]
    names = [user.username, user.first_name, user.last_name, user.get_full_name(), user.email]
    names += user.email.split("@")
    if user.pk:
        names += [word for words in _words_of for word in words(user)]
    return ["concord", *filter(None, names)]


class LongOrHardToGuess:
    """Takes a password of 12 characters or more, and a shorter one that zxcvbn finds hard to guess."""

    def validate(self, password: str, user: User | None = None) -> None:
        if len(password) >= LONG:
            return
        from zxcvbn import zxcvbn  # reads its lists of words, which takes a moment

        if zxcvbn(password, user_inputs=words_of(user))["score"] < HARD_TO_GUESS:
            raise ValidationError(f"This password is easy to guess. Use {LONG} characters or more.", code="weak")

    def get_help_text(self) -> str:
        return f"Use {LONG} characters or more. A shorter password has to be hard to guess."


class NotAName:
    """Refuses what resembles a name of the person or of their studies, whatever its case, signs and blanks."""

    def validate(self, password: str, user: User | None = None) -> None:
        plain = _plain(password)
        for word in map(_plain, words_of(user)):
            if len(word) > 2 and (plain == word or SequenceMatcher(None, plain, word).ratio() >= SIMILAR):
                raise ValidationError(
                    "This password resembles your name, your e-mail address or the name of a study.", code="a_name"
                )

    def get_help_text(self) -> str:
        return "Your password can't resemble your name, your e-mail address or the name of a study."


def _plain(text: str) -> str:
    return re.sub(r"[\W_]+", "", text[:300].casefold())


class NotTheDemos:
    """Refuses the demo's password for everybody but the demo's people."""

    def validate(self, password: str, user: User | None = None) -> None:
        if password == DEMO_PASSWORD and not (user and user.username.startswith(DEMO_NAMES)):
            raise ValidationError("This is the demo's password, which everyone knows. Choose another one.")

    def get_help_text(self) -> str:
        return "Your password can't be the demo's password."


def is_refused(password: str, request: HttpRequest) -> bool:
    """Whether it is the demo's, and the request comes, or could come, from another machine."""
    return password == DEMO_PASSWORD and not is_from_here(request)
