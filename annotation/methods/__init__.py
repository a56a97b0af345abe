"""Methods text for papers: a paragraph, a checklist, and a table, made from facts.

Pure: `Facts` are gathered by `annotation.methods.queries`, for pages, REST, the shell and files alike.
"""

from annotation.methods.checklist import (
    STANDARD,
    Check,
    checklist,
    checklist_as_document,
    checklist_as_markdown,
    n_answered,
)
from annotation.methods.facts import (
    JOINED,
    LEFT,
    OVERRULED,
    REJOINED,
    Control,
    Decided,
    Dimension,
    Drawn,
    Facts,
    Gate,
    Migrated,
    Minimum,
    Number,
    Screened,
    Tried,
    Turnover,
    Wave,
)
from annotation.methods.outline import as_latex, as_markdown, as_text, paragraph, whole_markdown
from annotation.methods.sentences import Sentence
from annotation.methods.table import Row, head_of, latex, markdown_table, rows, under_heads

__all__ = [
    "JOINED",
    "LEFT",
    "OVERRULED",
    "REJOINED",
    "STANDARD",
    "Check",
    "Control",
    "Decided",
    "Dimension",
    "Drawn",
    "Facts",
    "Gate",
    "Migrated",
    "Minimum",
    "Number",
    "Row",
    "Screened",
    "Sentence",
    "Tried",
    "Turnover",
    "Wave",
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
