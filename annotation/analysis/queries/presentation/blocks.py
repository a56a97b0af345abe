"""Blocks of a presentation: sentences, tables, and figures of any analysis."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from annotation.charts.specifications import ChartStyle
from annotation.core.latex import escape_latex
from shared.csv_files import SafeCsv

LONG = 45
Draw = Callable[[ChartStyle, float], Mapping[str, Any]]
"""A figure as a specification, in a look and as wide (in points) as is said."""


@dataclass(frozen=True)
class AnalysisCell:
    """What stands in a table: as it is shown, as a value for files (else the same), and what is behind it."""

    text: str
    url: str = ""
    value: str | int | float | None = None
    is_strong: bool = False
    words: str = ""

    @property
    def plain(self) -> str | int | float:
        return self.text if self.value is None else self.value


@dataclass(frozen=True)
class AnalysisTable:
    """A table with a head; the first column names its rows. `numbers` are the places of columns with numbers."""

    key: str
    title: str
    heads: Sequence[str]
    rows: Sequence[Sequence[AnalysisCell]]
    numbers: frozenset[int] = frozenset()
    caption: str = ""

    @property
    def is_long(self) -> bool:
        """Whether a page rather folds it away below its figure."""
        return len(self.rows) > LONG

    def as_csv(self) -> bytes:
        """UTF-8, with values as numbers where they are ones, and nothing that a spreadsheet takes for a formula."""
        file = io.StringIO()
        writer = SafeCsv(file)
        writer.row(self.heads)
        writer.rows([[cell.plain for cell in row] for row in self.rows])
        return file.getvalue().encode()

    def as_latex(self, caption: str) -> str:
        """A table for a document that uses booktabs."""
        aligned = "".join("r" if place in self.numbers else "l" for place in range(len(self.heads)))
        lines = [
            r"\begin{table}",
            r"  \centering",
            f"  \\caption{{{escape_latex(caption)}}}",
            f"  \\label{{tab:{self.key}}}",
            f"  \\begin{{tabular}}{{{aligned}}}",
            r"    \toprule",
            f"    {' & '.join(escape_latex(head) for head in self.heads)} \\\\",
            r"    \midrule",
            *(f"    {' & '.join(escape_latex(cell.text) or '--' for cell in row)} \\\\" for row in self.rows),
            r"    \bottomrule",
            r"  \end{tabular}",
            r"\end{table}",
        ]
        return "\n".join(lines) + "\n"


@dataclass(frozen=True)
class AnalysisFigure:
    """A figure by its key; `words` say what it shows, `is_map` that its cells are gone through by keyboard."""

    key: str
    words: str
    draw: Draw
    is_map: bool = False


@dataclass(frozen=True)
class AnalysisSection:
    """A part of an answer with its own head; empty ones say nothing."""

    title: str
    sentences: Sequence[str] = ()
    figure: AnalysisFigure | None = None
    table: AnalysisTable | None = None


@dataclass(frozen=True)
class AnalysisMenu:
    """A menu of the form: (value, words) of each choice, and which is chosen. `control`: select, number or several."""

    name: str
    title: str
    choices: Sequence[tuple[str, str]] = ()
    chosen: str = ""
    control: str = "select"
    help: str = ""


@dataclass(frozen=True)
class AnalysisPresentation:
    """What was asked in a sentence, what of it comes first, and the sections."""

    title: str
    sentences: Sequence[str]
    sections: Sequence[AnalysisSection]
    choices: Sequence[AnalysisMenu]
    left_out: Sequence[tuple[str, int, str]] = ()
    notes: Sequence[str] = ()
    read: Sequence[str] = field(default=())
    """The keys of the dimensions that were read, whose categories can be left out."""

    def said_of(self, key: str) -> list[str]:
        """What is said of a table, for its caption: of the whole answer, and of its own section."""
        section = next(each for each in self.sections if each.table and each.table.key == key)
        assert section.table is not None
        return [*self.sentences, *section.sentences, *filter(None, [section.table.caption])]

    @property
    def tables(self) -> dict[str, AnalysisTable]:
        return {each.table.key: each.table for each in self.sections if each.table}

    @property
    def figures(self) -> dict[str, AnalysisFigure]:
        return {each.figure.key: each.figure for each in self.sections if each.figure}


TESTS = {
    "exact": "exact permutation test",
    "t": "t approximation",
    "chi_square": "chi-square approximation",
    "asymptotic": "normal approximation",
    "fisher": "Fisher’s exact test of each cell",
    "normal": "normal approximation",
}
"""What stands beside a p-value: the test that it is from."""


def percent(share: float | None) -> str:
    """`45.1 %`; a dash for none."""
    return "–" if share is None else f"{share * 100:.1f}%"


def p_words(p: float | None) -> str:
    """`p = 0.013`, `p < 0.001`."""
    if p is None:
        return "no p-value"
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"
