"""Methods text for papers: a paragraph, a checklist, and a table, made from facts.

Pure: `Facts` are gathered by `annotation.methods.queries`, for pages, REST, the shell and files alike.
"""

from annotation.methods.checklist import (
    STANDARD,
    ChecklistItem,
    checklist,
    checklist_as_document,
    checklist_as_markdown,
    n_answered,
)
from annotation.methods.facts import (
    JOINED,
    LEFT,
    MEETING,
    OTHER_MEETING,
    OVERRULED,
    REJOINED,
    CoefficientFacts,
    ControlFacts,
    DimensionFacts,
    Facts,
    GateFacts,
    MigrationFacts,
    Minimum,
    ResolutionFacts,
    RoundFacts,
    SampleFacts,
    ScreeningFacts,
    TryFacts,
    Turnover,
)
from annotation.methods.outline import as_latex, as_markdown, as_text, paragraph, whole_markdown
from annotation.methods.sentences import Sentence
from annotation.methods.table import AgreementRow, head_of, latex, markdown_table, rows, under_heads

__all__ = [
    "JOINED",
    "LEFT",
    "MEETING",
    "OTHER_MEETING",
    "OVERRULED",
    "REJOINED",
    "STANDARD",
    "AgreementRow",
    "ChecklistItem",
    "CoefficientFacts",
    "ControlFacts",
    "DimensionFacts",
    "Facts",
    "GateFacts",
    "MigrationFacts",
    "Minimum",
    "ResolutionFacts",
    "RoundFacts",
    "SampleFacts",
    "ScreeningFacts",
    "Sentence",
    "TryFacts",
    "Turnover",
    "as_latex",
    "as_markdown",
    "as_text",
    "checklist",
    "checklist_as_document",
    "checklist_as_markdown",
    "head_of",
    "latex",
    "markdown_table",
    "n_answered",
    "paragraph",
    "rows",
    "under_heads",
    "whole_markdown",
]
