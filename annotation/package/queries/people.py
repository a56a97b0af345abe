"""People in a package: raters by code, others by pseudonym, unless the owner chose names."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from annotation.core.issue_texts import IssueRow
from annotation.labels.pseudonyms import Pseudonyms
from annotation.models import Membership, Study
from annotation.models.studies import ACCOUNTS
from shared.names import folded

PEOPLE = frozenset({"author", "assignee", "assignees", "login", "user", "username", "reporter", "email", "closed_by"})
"""Attributes of imported items that name people."""
SEVERAL = "several people"


def _is_of_a_person(full_name: str) -> bool:
    """Whether a full name is replaced in texts: people choose theirs freely, also as a word that others write."""
    words = full_name.split()
    return len(words) > 1 and all(word[0].isalpha() and not word[0].islower() for word in (words[0], words[-1]))


def _joined(spans: Iterable[tuple[int, int, str]]) -> list[tuple[int, int, str | None]]:
    """Start, end and what is shown there, in order; those that overlap are one, with None where it is not the same."""
    found: list[tuple[int, int, str | None]] = []
    for start, end, shown in spans:
        if found and start < found[-1][1]:
            first, last, other = found[-1]
            found[-1] = first, max(last, end), other if other == shown else None
        else:
            found.append((start, end, shown))
    return found


class PackagePeople:
    """The people of a study in a package. `is_on`: by pseudonyms everywhere; else by name, but raters by code."""

    def __init__(self, study: Study, *, is_on: bool) -> None:
        self._names = Pseudonyms(study.pseudonym_key) if is_on else None
        self._members: dict[str, str] = {}
        names: dict[str, set[str]] = {}
        full_names: dict[str, set[str]] = {}
        members = list(Membership.objects.filter(study=study).select_related(*ACCOUNTS))
        taken = Counter(name for each in members for name in {folded(user.home_name) for user in each.all_accounts})
        for each in members:
            for user in each.all_accounts:
                name = user.told_name if taken[folded(user.home_name)] > 1 else user.home_name
                shown = each.code or (self._names.name(name) if self._names else name)
                self._members |= dict.fromkeys({user.told_name, name}, shown)
                for read in {user.home_name, user.first_home_name}:
                    names.setdefault(read, set()).add(shown)
                full_names.setdefault(user.get_full_name(), set()).add(shown)
            if not each.all_accounts and each.code:
                names.setdefault(each.name, set()).add(each.code)
        as_read: dict[str, set[str]] = {}
        for name, shown_as in names.items():
            as_read.setdefault(folded(name), set()).update(shown_as)
        self._named = {
            name: shown_as.copy().pop() if len(as_read[folded(name)]) == 1 else self._of_several(name)
            for name, shown_as in names.items()
        }
        self._known = dict(self._named)
        for name, shown_as in full_names.items():
            if self._names and _is_of_a_person(name):
                self._known.setdefault(name, shown_as.pop() if len(shown_as) == 1 else self._names.name(name))
        named = (name for name in self._known if len(name) > 1)
        self._words = {name: re.compile(rf"(?<![\w-]){re.escape(name)}(?![\w-])") for name in named}

    def _of_several(self, name: str) -> str:
        """How a name appears that several people have, of several servers or of a sheet: as none of them."""
        return self._names.name(f"{name} ({SEVERAL})") if self._names else name

    def member(self, name: str) -> str:
        """How someone of the study appears, by the name that `Deciders` gives."""
        return self._members.get(name) or (self._names.name(name) if self._names else name)

    def participants(self, named: Sequence[str]) -> list[str]:
        """Who took part in a meeting: raters by their codes, others as they are called elsewhere."""
        codes = set(self._members.values())
        return [each if each in codes else self._named.get(each) or self.member(each) for each in named]

    def text(self, text: str) -> str:
        """What someone of the study wrote, in which other members stand as they do elsewhere in the package."""
        if self._names is None or not text:
            return text
        return self._names.text(self._without_members(text, self._names))

    def _without_members(self, text: str, names: Pseudonyms) -> str:
        """Names of members give way to what they appear as; where those of several overlap, to a pseudonym of its own.

        People choose full names freely, also so that they contain, or begin in, what others are called.
        """
        found = [
            (match.start(), match.end(), self._known[name])
            for name, words in self._words.items()
            if name in text
            for match in words.finditer(text)
        ]
        pieces, done = [], 0
        for start, end, shown in _joined(sorted(found)):
            pieces += [text[done:start], names.name(text[start:end]) if shown is None else shown]
            done = end
        return "".join([*pieces, text[done:]])

    def told(self, row: Mapping[str, Any], *columns: str) -> dict[str, Any]:
        """A row with these texts told so."""
        return {**row, **{name: self.text(row[name]) for name in columns if row[name]}}

    def attributes(self, value: Any, key: str = "") -> Any:
        """Attributes of an item, however deep."""
        if self._names is None or value is None:
            return value
        if isinstance(value, Mapping):
            return {name: self.attributes(each, str(name).lower()) for name, each in value.items()}
        if isinstance(value, list):
            return [self.attributes(each, key) for each in value]
        if not isinstance(value, str):
            return value
        return self._names.name(value) if key in PEOPLE else self._names.text(value)

    def change(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """A change with its people told so."""
        if self._names is None:
            return dict(row)
        author = row["author"]
        return {**row, "author": self._names.name(author), "title": self._names.text(row["title"], [author])}

    def issue(self, row: IssueRow) -> IssueRow:
        """An issue with its people told so."""
        if self._names is None:
            return row
        names, logins = self._names, [row.author or "", *(comment["author"] for comment in row.comments or ())]
        return replace(
            row,
            title=row.title and names.text(row.title, logins),
            body=row.body and names.text(row.body, logins),
            author=row.author and names.name(row.author),
            comments=row.comments
            and [
                {**each, "author": names.name(each["author"]), "body": names.text(each["body"], logins)}
                for each in row.comments
            ],
        )
