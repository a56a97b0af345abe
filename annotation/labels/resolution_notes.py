"""Resolution notes: what an adjudicator states in words in addition to the values, such as the rationale; pure.

Each note is declared once, as a field of `ResolutionNotes`. Action, rules, REST, pages, exports, the data dictionary
and the package derive theirs from it. A new note needs a field here and a column with its migration in
`models/resolving.py`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any


@dataclass(frozen=True)
class Note:
    """What is shown of a note: its name in a sentence, the label of its field, and what its column of files holds."""

    title: str
    label: str
    meaning: str
    """In small letters and without a full stop."""
    longest: int

    @property
    def sentence(self) -> str:
        """The meaning as a sentence, for the data dictionary."""
        return f"{self.meaning[0].upper()}{self.meaning[1:]}."


@dataclass(frozen=True, slots=True)
class ResolutionNotes:
    """The notes of one resolution by their names over REST, in columns and in the database; empty: none given."""

    rationale: str = field(default="", metadata={"note": Note("rationale", "Why", "why", 20_000)})

    def columns(self) -> dict[str, str]:
        return {name: getattr(self, name) for name in NOTES}

    def stated(self) -> list[str]:
        """Those that are not empty."""
        return [words for words in self.columns().values() if words]

    def stripped(self) -> "ResolutionNotes":
        """Without blanks at their ends, as they are stored."""
        return ResolutionNotes(**{name: words.strip() for name, words in self.columns().items()})


NOTES: Mapping[str, Note] = {each.name: each.metadata["note"] for each in fields(ResolutionNotes)}
NO_NOTES = ResolutionNotes()


def notes_in(given: Mapping[str, Any]) -> ResolutionNotes:
    """Those of a form or a body."""
    return ResolutionNotes(**{name: given.get(name, "") for name in NOTES})


def notes_of(resolution: object) -> ResolutionNotes:
    """Those of a stored resolution."""
    return ResolutionNotes(**{name: getattr(resolution, name) for name in NOTES})
