"""Kinds of analysis: the words of a question, the computation, and the answer as plain values.

A new kind is an entry of `KINDS` here, its page in `presentation/kinds.py`, and its URL in `api/analysis.py`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from annotation.analysis.combinations import combinations
from annotation.analysis.counts import OF as OF_COUNTS
from annotation.analysis.counts import counts
from annotation.analysis.crosstab import OF as OF_CROSSTAB
from annotation.analysis.crosstab import crosstab
from annotation.analysis.flow import FEWEST, MOST, flow
from annotation.analysis.marks import marks
from annotation.analysis.numbers import numbers
from annotation.analysis.profiles import profiles
from annotation.analysis.queries import plain_values
from annotation.analysis.queries.answers import AnalysisResult, Column, Compute, Found, answer_question
from annotation.analysis.queries.effort import MEASURES
from annotation.analysis.queries.labels import StudyLabels
from annotation.analysis.queries.plain_values import Plain, labels_of
from annotation.analysis.queries.questions import AnalysisQuestion, QuestionSpec, Words, read_question
from annotation.analysis.saturation import saturation
from annotation.core.access import Seat
from annotation.core.errors import UnfitLabels
from annotation.labels.columns import Ints, NumberColumn, SingleColumn


@dataclass(frozen=True)
class AnalysisKind:
    """One kind of analysis."""

    key: str
    asks: QuestionSpec
    compute: Compute
    plain: Callable[[AnalysisResult], Plain]


def _shares(
    question: AnalysisQuestion, columns: Mapping[str, Column], items: Ints, number: NumberColumn | None
) -> Found:
    mark = columns[question.mark]
    assert isinstance(mark, SingleColumn)
    column = columns[question.dimensions[0]] if question.dimensions else None
    try:
        return marks(mark, question.value or "true", column, columns.get(question.by))
    except KeyError as error:  # there is such a value, as `_check` found, but not among those that are left
        sentence = (
            f"“{question.value}” is folded into other categories. Fold less of {mark.title}, or ask for another value."
        )
        raise UnfitLabels("Analysis not valid.", fields={"value": [sentence]}) from error


def _crosstab(
    question: AnalysisQuestion, columns: Mapping[str, Column], items: Ints, number: NumberColumn | None
) -> Found:
    rows, across = (columns[key] for key in question.dimensions)
    return crosstab(rows, across, items)


def _numbers(
    question: AnalysisQuestion, columns: Mapping[str, Column], items: Ints, number: NumberColumn | None
) -> Found:
    assert number is not None
    of_item = question.measure in MEASURES
    return numbers(number, items, columns.get(question.by), of_item=of_item, cut=question.cut)


KINDS: dict[str, AnalysisKind] = {
    kind.key: kind
    for kind in (
        AnalysisKind(
            "counts",
            QuestionSpec(("dimension",), ("by", "of"), OF_COUNTS, "group"),
            lambda asked, columns, items, number: counts(
                columns[asked.dimensions[0]], columns.get(asked.by), of=asked.of
            ),
            plain_values.counts,
        ),
        AnalysisKind("shares", QuestionSpec(("mark",), ("value", "dimension", "by")), _shares, plain_values.shares),
        AnalysisKind(
            "crosstab",
            QuestionSpec(("rows", "columns"), ("of",), OF_CROSSTAB, "row"),
            _crosstab,
            plain_values.crosstab,
        ),
        AnalysisKind(
            "flow",
            QuestionSpec(("dimensions",), ("within",), fewest=FEWEST, most=MOST),
            lambda asked, columns, items, number: flow(
                [columns[key] for key in asked.dimensions], columns.get(asked.by)
            ),
            plain_values.flow,
        ),
        AnalysisKind("numbers", QuestionSpec(("measure",), ("by", "cut")), _numbers, plain_values.numbers),
        AnalysisKind(
            "profiles",
            QuestionSpec(("dimension",), ("by",), default_by="repository"),
            lambda asked, columns, items, number: profiles(columns[asked.dimensions[0]], columns[asked.by]),
            plain_values.profiles,
        ),
        AnalysisKind(
            "saturation",
            QuestionSpec(("dimension",)),
            lambda asked, columns, items, number: saturation(columns[asked.dimensions[0]], items),
            plain_values.saturation,
        ),
        AnalysisKind(
            "combinations",
            QuestionSpec(("dimensions",), ("least", "largest"), is_of_sets=True),
            lambda asked, columns, items, number: combinations(
                [columns[key] for key in asked.dimensions], least=asked.least, largest=asked.largest
            ),
            plain_values.combinations,
        ),
    )
}


def answer(seat: Seat, kind: str, words: Words, *, labels: StudyLabels | None = None) -> AnalysisResult:
    """What agreed labels say to a question of a kind, asked in the words of an address.

    Only labels that this person may see count; `labels` are those of the round and version asked for, if they are read.
    Raises Invalid for words that can't be read or name what there is not, KeyError for an unknown kind, and what
    `study_labels` raises. Cost: its queries, and one for a measure of effort.
    """
    found = KINDS[kind]
    question = read_question(kind, found.asks, words)
    return answer_question(seat, question, found.asks, found.compute, labels=labels)


def plain_answer(answer: AnalysisResult) -> Plain:
    """The answer as JSON takes it, None for what is undefined, with which labels it rests on."""
    return {**KINDS[answer.question.kind].plain(answer), "labels": labels_of(answer)}
