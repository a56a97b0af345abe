"""Table of agreement by dimension and round, as LaTeX with booktabs and as Markdown."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from agreement import bound
from annotation.core.latex import escape_latex
from annotation.methods.facts import CoefficientFacts, DimensionFacts, Facts
from annotation.methods.sentences import computed, computed_rows, few_units, matched, though, without
from shared.wording import for_markdown, series

HEADS = (
    "Dimension", "Coefficient", "Round", "Units", "Raters", "Value", "95% CI", "Threshold", "After discussion"
)  # fmt: skip
UNDER_HEADS = ("Round", "Units", "Raters", "Value", "95% CI", "After discussion")
"""The columns where dimension, coefficient and threshold stand above their rows."""


@dataclass(frozen=True)
class AgreementRow:
    """A line: one dimension in one round, or in those of the headline together (`round` None)."""

    dimension: DimensionFacts
    round: int | None
    number: CoefficientFacts
    after: CoefficientFacts | None

    @property
    def cells(self) -> list[str]:
        """In the order of HEADS; what is not there is empty."""
        threshold = self.dimension.threshold
        return [
            self.dimension.title,
            self.dimension.statistic,
            "headline" if self.round is None else str(self.round),
            f"{self.number.units:,}",
            str(len(self.number.raters)),
            self.number.words,
            self.number.interval,
            "" if threshold is None else f"{bound(threshold)}",
            "" if self.after is None else self.after.words,
        ]

    def under_head(self, columns: Sequence[str]) -> list[str]:
        """The cells of some columns."""
        told = dict(zip(HEADS, self.cells, strict=True))
        return [told[column] for column in columns]


def head_of(dimension: DimensionFacts) -> str:
    """What stands above a dimension's rows: `Symptom: Cohen's kappa, threshold 0.80`."""
    threshold = "no threshold" if dimension.threshold is None else f"threshold {bound(dimension.threshold)}"
    return f"{dimension.title}: {dimension.statistic}, {threshold}"


def under_heads(facts: Facts) -> list[str]:
    """The columns of rows that stand under the head of their dimension."""
    return [head for head in UNDER_HEADS if head in heads(facts)]


def heads(facts: Facts) -> list[str]:
    """The columns; the last one only where an answer was changed in discussion."""
    return list(HEADS if facts.n_changed else HEADS[:-1])


def rows(facts: Facts) -> list[AgreementRow]:
    """The dimensions in their order, round by round, and then in the headline where that is more than the one row.

    Rounds in which nothing was compared are left out.
    """
    found = []
    for each in facts.measured:
        having = {number: one for number, one in sorted(each.by_round.items()) if one.units}
        found += [AgreementRow(each, number, one, each.after_by_round.get(number)) for number, one in having.items()]
        is_shown = bool(each.before.units or not facts.n_withheld)  # what has no units here may have some for others
        if facts.headline and is_shown and (len(having) > 1 or list(having) != list(facts.headline)):
            found.append(AgreementRow(each, None, each.before, each.after))
    return found


def latex(facts: Facts) -> str:
    """A table for a document that uses booktabs; empty where there is nothing to compare."""
    found = rows(facts)
    if not found:
        less = f". {without(facts.n_withheld, by_link=facts.is_by_link)}" if facts.n_withheld else " yet."
        return f"% There is nothing to compare{less}\n"
    columns = under_heads(facts)
    lines = [
        r"\begin{table}",
        r"  \centering",
        f"  \\caption{{{_what(facts)} by dimension and round: {escape_latex(_caption(facts))}}}",
        r"  \label{tab:agreement}",
        f"  \\begin{{tabular}}{{{'lrrrlr'[: len(columns)]}}}",
        r"    \toprule",
        f"    {' & '.join(escape_latex(head) for head in columns)} \\\\",
    ]
    before: DimensionFacts | None = None
    for row in found:
        if row.dimension is not before:
            before = row.dimension
            head = escape_latex(head_of(before))
            lines += [r"    \midrule", f"    \\multicolumn{{{len(columns)}}}{{l}}{{\\emph{{{head}}}}} \\\\"]
        lines.append(f"    {' & '.join(escape_latex(cell) or '--' for cell in row.under_head(columns))} \\\\")
    return "\n".join([*lines, r"    \bottomrule", r"  \end{tabular}", r"\end{table}"]) + "\n"


def _what(facts: Facts) -> str:
    """What the table has: of labels from sheets nobody knows whether they are from before discussion."""
    known = facts.known_before([wave.number for wave in facts.waves])
    if facts.n_from_sheets:
        return f"Agreement{though(*known)}"
    return f"Agreement before discussion{though(*known) or ','}"


def _caption(facts: Facts) -> str:
    undefined = [
        f"{row.dimension.title}, {_name(row)}: {row.number.undefined}"
        for row in rows(facts)
        if row.number.value is None and row.number.undefined
    ]
    found = computed_rows(facts, _rows_by_method(rows(facts))) or computed(facts)
    found += few_units(row.number for row in rows(facts))
    said = " ".join([f"{facts.study}.", *(each.text for each in found)])
    if facts.n_withheld:
        said += f" {without(facts.n_withheld, by_link=facts.is_by_link)}"
    if facts.n_matched:
        said += f" {matched(facts.n_matched).text}"
    if facts.n_changed:
        said += " Agreement after discussion is no measure of reliability."
    return " ".join([said, *(["Undefined:", " ".join(undefined)] if undefined else [])])


def _rows_by_method(printed: Sequence[AgreementRow]) -> dict[str, list[str]]:
    """The rows of each interval method: a dimension's title, with its rounds where they differ in the method."""
    found: dict[str, dict[str, list[str]]] = {}
    for row in printed:
        if row.number.ci_method:
            found.setdefault(row.number.ci_method, {}).setdefault(row.dimension.title, []).append(_name(row))
    n_methods = Counter(title for titles in found.values() for title in titles)
    return {
        method: [f"{title} ({series(names)})" if n_methods[title] > 1 else title for title, names in titles.items()]
        for method, titles in found.items()
    }


def _name(row: AgreementRow) -> str:
    return "headline" if row.round is None else f"round {row.round}"


def markdown_table(facts: Facts) -> str:
    """The same as a table of Markdown."""
    columns = heads(facts)
    aligned = ["---", "---", *["---:"] * (len(columns) - 2)]
    lines = [columns, aligned, *([for_markdown(row.cells[0]), *row.cells[1 : len(columns)]] for row in rows(facts))]
    return "\n".join(_line(cells) for cells in lines) + "\n"


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(' '.join(cell.split()) for cell in cells)} |"
