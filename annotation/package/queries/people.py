"""People in a package: raters by code, others by pseudonym, unless the owner chose names."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from annotation.core.issue_texts import IssueRow
from annotation.labels.pseudonyms import Pseudonyms
from annotation.models import Membership, Study

PEOPLE = frozenset({"author", "assignee", "assignees", "login", "user", "username", "reporter", "email", "closed_by"})
"""Attributes of imported items that name people."""


class PackagePeople:
    """The people of a study in a package. `is_on`: by pseudonyms everywhere; else by name, but raters by code."""

    def __init__(self, study: Study, *, is_on: bool) -> None:
        self._names = Pseudonyms(study.pseudonym_key) if is_on else None
        self._codes: dict[str, str] = {}
        known: dict[str, str] = {}
        for each in Membership.objects.filter(study=study).select_related("user", "former_user", "formerly"):
            for user in each.accounts:
                shown = each.code or (self._names.name(user.told_name) if self._names else user.told_name)
                self._codes[user.told_name] = shown
                known |= dict.fromkeys([user.told_name, user.email, user.get_full_name()], shown)
            if not each.accounts and each.code:
                known[each.name] = each.code
        longest = sorted((name for name in known if len(name) > 1), key=lambda name: (-len(name), name))
        self._known = known
        self._members = re.compile(rf"(?<![\w-])(?:{'|'.join(map(re.escape, longest))})(?![\w-])") if longest else None

    def member(self, username: str) -> str:
        """What stands for someone of the study."""
        return self._codes.get(username) or (self._names.name(username) if self._names else username)

    def participants(self, named: Sequence[str]) -> list[str]:
        """Who took part in a meeting: raters by their codes, others as they are called elsewhere."""
        codes = set(self._codes.values())
        return [each if each in codes else self.member(each) for each in named]

    def text(self, text: str) -> str:
        """What someone of the study wrote, in which other members stand as they do elsewhere in the package."""
        if self._names is None or not text:
            return text
        if self._members is not None:
            text = self._members.sub(lambda found: self._known[found[0]], text)
        return self._names.text(text)

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
