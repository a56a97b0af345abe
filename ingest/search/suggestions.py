"""Suggestions while a search is typed: qualifiers and their values. Pure."""

import re
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ingest.search.grammar import QUALIFIERS
from ingest.search.matching import fold

SUGGESTIONS_MOST = 12
_TERM = re.compile(r'-?[A-Za-z][A-Za-z-]*+:(?:"[^"]*+"?|[^\s"]++)*+|[^\s"]++|"[^"]*+"?')
"""A term of a search, from where the one before it ended; nothing is given back, so any text takes one walk."""


@dataclass(frozen=True)
class Suggestion:
    """A whole search that goes on with what was typed, and what its last part means."""

    search: str
    means: str


def suggest(typed: str, known: Mapping[str, Sequence[str]]) -> list[Suggestion]:
    """Searches that begin with what was typed and complete its last term.

    `known` has the values of `label` and `repo` that this person may see, the most used first.
    """
    found = next(iter(deque(_TERM.finditer(typed), maxlen=1)), None)
    if found is None or found.end() != len(typed) or found[0].startswith('"'):
        return []
    before, term = typed[: found.start()], found[0]
    sign = "-" if term.startswith("-") else ""
    name, colon, value = term.removeprefix("-").partition(":")
    if not colon:
        names = [each for each in QUALIFIERS if name and each.startswith(name.lower())]
        return [Suggestion(f"{before}{sign}{each}:", QUALIFIERS[each].means) for each in names]
    if name.lower() not in QUALIFIERS:
        return []
    values = QUALIFIERS[name.lower()].values or known.get(name.lower(), ())
    begun = fold(value.strip('"'))
    fitting = [each for each in values if fold(each).startswith(begun)]
    fitting += [each for each in values if begun in fold(each) and each not in fitting]
    means = QUALIFIERS[name.lower()].means
    return [Suggestion(f"{before}{sign}{name}:{_written(each)}", means) for each in fitting[:SUGGESTIONS_MOST]]


def _written(value: str) -> str:
    """A value as it stands in a search."""
    if not re.search(r'[\s,"]', value):
        return value
    return '"' + value.replace('"', '\\"') + '"'
