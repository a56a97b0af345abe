"""Pseudonyms of people in exported files: one for each person, not reversible without the key."""

import hashlib
import hmac
import re
from collections.abc import Iterable

LENGTH = 10
_CODE = re.compile(r"(```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)|`[^`\n]+`)", re.DOTALL)
_EMAIL = re.compile(r"(?<![\w.+-])(?!git@)[\w.+-]{1,64}@(?:[A-Za-z0-9-]{1,63}\.)+[A-Za-z]{2,24}\b")
_TRAILER = re.compile(r"^([ \t]*[A-Z][a-z]+(?:-[a-z]+)*-by:)[ \t]*[^<\n]{0,100}<", re.MULTILINE)
_NAME = r"(?<![\w.'’-])(?![a-zß-öø-ÿ])[^\W\d_][\w.'’-]{0,40}(?: (?![a-zß-öø-ÿ])[^\W\d_][\w.'’-]{0,40}){0,3}"
_HIDDEN_EMAIL = r"\*{3}@\*{3}"  # as GitHub shows the address of who answered by e-mail
_BEFORE_EMAIL = re.compile(rf"{_NAME}(?= (?:<[^\s<>@]{{1,64}}@[^\s<>@]{{1,100}}\.[^\s<>@.]{{2,24}}>|{_HIDDEN_EMAIL}))")
_BEFORE_QUOTE = re.compile(
    rf"^((?:[ \t]*>)*[ \t]*On [^\n]{{5,60}}?\d:\d\d[^\n]{{0,12}}?)({_NAME})(?= wrote:)", re.MULTILINE
)
_LOGIN = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,38})"
_ACCOUNT = r"[A-Za-z0-9](?:[A-Za-z0-9_-]{0,60})"  # with the suffix of an enterprise, or emphasis that ends after it
_MENTION = re.compile(rf"(?<![A-Za-z0-9@`])@({_ACCOUNT})(?![\w@]|\.[a-z0-9_])(?!/(?!@))")
_OF_KNOWN = re.compile(rf"(?<![A-Za-z0-9])@({_ACCOUNT})")
"""Where it is known who wrote in the thread: whatever stands around it, also in code."""
_PROFILE = re.compile(rf"(https?://(?:www\.)?github\.com/)({_LOGIN})(?![\w-]|\.\w|/[\w.-])", re.IGNORECASE)


class Pseudonyms:
    """Pseudonyms by a keyed hash (HMAC-SHA256 of the login in lower case, the first ten digits)."""

    def __init__(self, key: str) -> None:
        self._key = key.encode()

    def name(self, login: str) -> str:
        """What stands for an account; empty for none. Whether it is an app (`…[bot]`) stays to be seen."""
        if not login:
            return ""
        end = "[bot]" if login.endswith("[bot]") else ""
        return f"person-{self._digest(login.lower())}{end}"

    def text(self, text: str, logins: Iterable[str] = ()) -> str:
        """The text without mentions, e-mail addresses, names before these and in trailers, and links to people's pages.

        `logins` are the people known to have written here: they are found in code as well, where other words after an
        @ are decorators and not people.
        """
        known = {login.lower().removesuffix("[bot]") for login in logins if login}
        text = _TRAILER.sub(r"\1 <", text)
        text = _BEFORE_EMAIL.sub(lambda found: self.name(found.group()), text)
        text = _BEFORE_QUOTE.sub(lambda found: found[1] + self.name(found[2]), text)
        text = _EMAIL.sub(lambda found: f"email-{self._digest(found.group().lower())}", text)
        text = _PROFILE.sub(lambda found: found[1] + self.name(found[2]), text)
        pieces = _CODE.split(text)
        for place, piece in enumerate(pieces):
            if place % 2 == 0:
                pieces[place] = _MENTION.sub(self._mention, piece)
        return _OF_KNOWN.sub(lambda found: self._mention(found, known), "".join(pieces))

    def _mention(self, found: re.Match[str], only: set[str] | None = None) -> str:
        login = found[1].rstrip("-_")
        if only is not None and login.lower() not in only:
            return found.group()
        return f"@{self.name(login)}{found[1][len(login) :]}"

    def _digest(self, word: str) -> str:
        return hmac.new(self._key, word.encode(), hashlib.sha256).hexdigest()[:LENGTH]
