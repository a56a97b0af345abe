"""Choices on the upload page: meanings of values, and the study that the import creates."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from annotation.imports.sheets.mapping import BookMapping
from annotation.imports.sheets.questions import scales
from annotation.imports.sheets.values import loose
from annotation.labels.consensus import PENDING

AS_IS, SAME, ASK, NOTHING, NEW = MEANINGS = ("", "same", "pending", "nothing", "new")
"""As it is (a category of its own, or refused); the same as another; a proposal; no rating; a new category."""


@dataclass
class SpellingDecision:
    """What one value of a dimension stands for."""

    dimension: str
    value: str
    meaning: str
    other: str = ""


@dataclass
class NewStudyRequest:
    """The study that an upload makes; without a taxonomy, one is made from the values."""

    title: str = ""
    slug: str = ""
    taxonomy: str = ""


@dataclass
class Choices:
    """All that was chosen for an upload, as its row keeps it."""

    book: BookMapping = field(default_factory=BookMapping)
    decisions: list[SpellingDecision] = field(default_factory=list)
    study: NewStudyRequest = field(default_factory=NewStudyRequest)

    @classmethod
    def from_json(cls, kept: Mapping[str, Any]) -> "Choices":
        return cls(
            BookMapping.from_json(kept["book"]),
            [SpellingDecision(**each) for each in kept["decisions"]],
            NewStudyRequest(**kept["study"]),
        )

    def as_json(self) -> dict[str, Any]:
        return {
            "book": self.book.as_json(),
            "decisions": [asdict(each) for each in self.decisions],
            "study": asdict(self.study),
        }

    def meanings(self) -> dict[tuple[str, str], str]:
        """Dimension and value → what it stands for, as `sheets.spellings` takes it."""
        words = {ASK: PENDING, NOTHING: ""}
        return {
            (loose(each.dimension), each.value): each.other if each.meaning == SAME else words[each.meaning]
            for each in self.decisions
            if each.meaning in words or (each.meaning == SAME and each.other)
        }

    def added(self) -> list[tuple[str, str]]:
        """Dimension and value of what becomes a category of a new version."""
        return [(each.dimension, each.other or each.value) for each in self.decisions if each.meaning == NEW]

    def scales(self) -> Mapping[str, str]:
        """The kinds of dimensions that are scales."""
        return scales(self.book)

    def several(self) -> Sequence[str]:
        """Dimensions whose cells hold several values."""
        return sorted({name for sheet in self.book.sheets if sheet.is_used for name in sheet.several})
