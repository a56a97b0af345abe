"""Errors of taxonomies, their documents, and changes to them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from shared.errors import Conflict, Invalid, NotFound, Unreadable


@dataclass(frozen=True)
class DocumentProblem:
    """One thing to mend in a document: the path of the field, where it stands (from 1) and a sentence."""

    path: str
    line: int
    column: int
    sentence: str

    def __str__(self) -> str:
        return f"Line {self.line}, column {self.column}: {self.sentence}"


class TaxonomyNotFound(NotFound):
    """No such taxonomy or version, or a draft of someone else."""

    code = "taxonomy_not_found"


class TaxonomyConflict(Conflict):
    """The slug is taken, or the version is no draft any more."""

    code = "taxonomy_conflict"


class StaleDraft(TaxonomyConflict):
    """Someone else wrote the draft meanwhile; `newer` says which revision it has now, by whom and since when."""

    code = "stale"

    def __init__(self, message: str, *, newer: Mapping[str, Any]) -> None:
        super().__init__(message)
        self.newer = dict(newer)


class UnreadableDocument(Unreadable):
    """The text is neither YAML nor JSON; `line` and `column` (from 1) say where it breaks."""

    code = "unreadable_document"

    def __init__(self, sentence: str, *, line: int = 1, column: int = 1) -> None:
        super().__init__(f"Line {line}, column {column}: {sentence}")
        self.problems = (DocumentProblem("", line, column, sentence),)


class InvalidDocument(Invalid):
    """A readable document that is no taxonomy; `problems` holds all that is wrong, in the order of the text."""

    code = "invalid_document"

    def __init__(self, problems: Sequence[DocumentProblem]) -> None:
        self.problems = tuple(sorted(problems, key=lambda problem: (problem.line, problem.column)))
        fields: dict[str, list[str]] = {}
        for problem in self.problems:
            fields.setdefault(problem.path or "document", []).append(str(problem))
        first = str(self.problems[0])
        rest = len(self.problems) - 1
        super().__init__(first if not rest else f"{first} (And {rest} more.)", fields=fields)
