"""Answers of analyses: the requested columns, and the statistics over them."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from annotation.analysis.combinations import Combinations
from annotation.analysis.counts import Counts
from annotation.analysis.crosstab import Crosstab
from annotation.analysis.flow import Flow
from annotation.analysis.folding import FoldedCategories, FoldingRule, fold_column
from annotation.analysis.marks import MarkShares
from annotation.analysis.numbers import Numbers
from annotation.analysis.profiles import Profiles
from annotation.analysis.queries.effort import MEASURES, effort
from annotation.analysis.queries.labels import StudyLabels, study_labels
from annotation.analysis.queries.questions import AnalysisQuestion, QuestionSpec
from annotation.analysis.saturation import Saturation
from annotation.analysis.shares import AnalysisTooLarge, ExcludedParts, without_intervals
from annotation.core.access import Seat
from annotation.core.errors import Invalid, UnfitLabels
from annotation.labels.columns import Columns, Flags, Ints, MultiColumn, NumberColumn, SingleColumn, n_different
from annotation.labels.queries.label_columns import no_labels
from shared.wording import plural
from taxonomy.models import TaxonomyVersion

MOST_NAMED = 30
MOST_GROUPS = 100
"""Groups of numbers that are compared pair by pair."""
MOST_CELLS = 40_000
"""Cells of a cross table, or categories times groups: nobody reads more."""

Column = SingleColumn | MultiColumn
Found = Counts | MarkShares | Crosstab | Flow | Numbers | Profiles | Saturation | Combinations
Compute = Callable[[AnalysisQuestion, Mapping[str, Column], Ints, NumberColumn | None], Found]
"""Computes an answer from the columns that are asked for, the item of each part, and the numbers that are measured."""


@dataclass(frozen=True)
class PartSelection:
    """The parts that were looked at, and why others were not."""

    n_parts: int
    n_items: int
    left_out: tuple[ExcludedParts, ...]

    @property
    def dependence(self) -> str:
        """Why shares of these parts have no interval, where items have several."""
        return (
            f"{self.n_parts:,} parts are of {plural(self.n_items, 'item')}, so they are not independent, and shares "
            "have no confidence interval."
        )


@dataclass(frozen=True, eq=False)
class AnalysisResult:
    """What was found, with the question, the labels it rests on, and the columns as they were asked for.

    `columns` are by key, told at their level, without what was left out, and folded; `folded` says into what. `rows`
    are the places in `labels.columns` of the parts that were looked at.
    """

    question: AnalysisQuestion
    labels: StudyLabels
    selection: PartSelection
    rows: Ints
    columns: Mapping[str, Column]
    number: NumberColumn | None
    folded: Mapping[str, FoldedCategories]
    found: Found


def answer_question(
    seat: Seat, question: AnalysisQuestion, spec: QuestionSpec, compute: Compute, *, labels: StudyLabels | None = None
) -> AnalysisResult:
    """What agreed labels say to a question; `kinds.answer` explains."""
    if labels is None:
        labels = study_labels(seat, round_number=question.round, version=question.version)
    if not labels.rounds:
        labels = replace(labels, columns=_without_rounds(seat, labels))
    fields: dict[str, list[str]] = {}
    rows, selection = _selected(labels.columns, question, fields)
    _check(labels.columns, question, spec, fields)
    if fields:
        raise Invalid("Analysis not valid.", fields=fields)
    chosen = labels.columns if len(rows) == labels.columns.n_rows else labels.columns.taken(rows)
    columns, folded = _columns(chosen, question)
    number = _number(seat, chosen, question) if question.measure else None
    _check_size(columns, question, spec)
    try:
        found = compute(question, columns, chosen.items, number)
    except AnalysisTooLarge as error:
        raise UnfitLabels("Analysis not valid.", fields={error.word: [str(error)]}) from error
    if selection.n_items < selection.n_parts and has_shares_of_parts(found):
        found = without_intervals(found, f"{selection.dependence} Ask for items of a single part to have one.")
    return AnalysisResult(question, labels, selection, rows, columns, number, folded, found)


def has_shares_of_parts(found: Found) -> bool:
    """Whether an answer has shares whose intervals take parts as independent."""
    if isinstance(found, Numbers):
        return found.counted == "part" and found.cut is not None
    return isinstance(found, Counts | MarkShares | Flow | Profiles | Combinations)


def _without_rounds(seat: Seat, labels: StudyLabels) -> Columns:
    """Columns of nothing, so that before the first round, and for who is blind in all, questions are answered, too."""
    newest = TaxonomyVersion.objects.filter(taxonomy=seat.study.taxonomy).exclude(state=TaxonomyVersion.State.DRAFT)
    version = labels.told_in or newest.order_by("-number").first()
    return replace(no_labels(version), attributes=labels.columns.attributes) if version else labels.columns


# Which parts are looked at


def _selected(columns: Columns, question: AnalysisQuestion, fields: dict[str, list[str]]) -> tuple[Ints, PartSelection]:
    """The places of the parts that are looked at."""
    kept = np.ones(columns.n_rows, dtype=bool)
    left_out = []
    if question.parts == "single":
        kept &= ~columns.in_several_parts
        left_out.append(ExcludedParts("Their items have several parts.", int((~kept).sum())))
    wanted: dict[str, Flags] = {}
    for key, value in _pairs(columns, question.where, fields, "where", ""):
        column = columns.column(key)
        assert column is not None
        has = _having(column, column.categories.family(value))
        wanted[key] = wanted[key] | has if key in wanted else has
    for key, has in wanted.items():
        if n := int((kept & ~has).sum()):
            column = columns.column(key)
            assert column is not None
            left_out.append(ExcludedParts(f"{column.title}: other than requested.", n))
        kept &= has
    rows = np.flatnonzero(kept)
    n_items = n_different(columns.items if len(rows) == columns.n_rows else columns.items[rows])
    return rows, PartSelection(len(rows), n_items, tuple(each for each in left_out if each.n))


def _having(column: Column, codes: Iterable[int]) -> Flags:
    """N: whether a part has one of these categories."""
    if isinstance(column, SingleColumn):
        here: Flags = np.isin(column.codes, list(codes))
        return here
    found = np.zeros(len(column.state), dtype=bool)
    found[column.rows[np.isin(column.codes, list(codes))]] = True
    return found


def _pairs(
    columns: Columns, given: Sequence[str], fields: dict[str, list[str]], word: str, alone: str
) -> list[tuple[str, str]]:
    """Each `column:category` that is named; `alone` is the column of one that names none.

    A category may hold commas, by which the words were taken apart.
    """
    found = []
    whole = ",".join(given)
    for each in [whole] if _names(columns, whole, alone) else given:
        named = _names(columns, each, alone) or _names(columns, each.strip(), alone)
        if named is None:
            fields.setdefault(word, [_unknown_pair(columns, each, alone)])
        else:
            found.append(named)
    return found


def _names(columns: Columns, text: str, alone: str) -> tuple[str, str] | None:
    if alone and (column := columns.column(alone)) and text in column.categories.place:
        return alone, text
    key, _, value = text.partition(":")
    column = columns.column(key)
    return (key, value) if column is not None and value in column.categories.place else None


def _unknown_pair(columns: Columns, text: str, alone: str) -> str:
    key, colon, value = text.partition(":")
    column = columns.column(key)
    if colon and column is not None:
        return f"{column.title} has no category “{value[:80]}”. Known: {_listed(column.categories.keys)}."
    if colon:
        return _no_column(columns, key)
    if alone:
        return f"Category “{text[:80]}” not found in {alone}. Enter its key, or dimension:category."
    return "Enter dimension:category. Separate several with commas."


# Which columns are asked for


def _check(columns: Columns, question: AnalysisQuestion, spec: QuestionSpec, fields: dict[str, list[str]]) -> None:
    """Whether every column that is named is there, and of a kind that suits."""
    named = spec.dimension_words
    for place, key in enumerate(question.dimensions):
        word = named[min(place, len(named) - 1)]
        if columns.column(key) is None:
            fields.setdefault(word, [_no_column(columns, key)])
    by = spec.group
    if question.by and columns.column(question.by) is None:
        fields.setdefault(by, [_no_column(columns, question.by)])
    elif question.by and question.by in question.dimensions:
        fields.setdefault(by, ["Name another one than the dimension itself."])
    if spec.is_of_sets and len(question.dimensions) == 1 and not fields:
        _check_alone(columns, question.dimensions[0], fields)
    if question.mark:
        _check_mark(columns, question, fields)
    if question.measure and question.measure not in MEASURES and question.measure not in columns.numbers:
        known = [*MEASURES, *columns.numbers]
        fields["measure"] = [f"Unknown measure “{question.measure[:80]}”. Use one of {_listed(known)}."]
    for word, keys in (("level", question.levels), ("fold", question.folds)):
        for key in keys:
            if key and key not in (*question.dimensions, question.by, question.mark):
                fields.setdefault(word, [f"“{key[:80]}” is not part of this analysis."])
    for key, _ in _pairs(columns, question.left_out, fields, "left_out", _alone(question)):
        if key not in (*question.dimensions, question.by, question.mark):
            fields.setdefault(
                "left_out", [f"“{key[:80]}” is not part of this analysis. Use `where` to filter parts by it."]
            )


def _check_alone(columns: Columns, key: str, fields: dict[str, list[str]]) -> None:
    if key not in columns.multis:
        fields["dimensions"] = ["Name two dimensions, or one that can have several values."]


def _check_mark(columns: Columns, question: AnalysisQuestion, fields: dict[str, list[str]]) -> None:
    mark = columns.singles.get(question.mark) or columns.attributes.get(question.mark)
    if mark is None:
        marks_ = [key for key, each in columns.singles.items() if each.is_two_valued] or list(columns.singles)
        fields["mark"] = [f"Unknown mark “{question.mark[:80]}”. Use one of {_listed(marks_)}."]
    elif not question.value and not mark.is_two_valued:
        fields["value"] = [f"Name the category of {mark.title.lower()} that is the mark."]
    elif question.value and question.value not in mark.categories.place:
        known_values = _listed(mark.categories.keys)
        fields["value"] = [f"{mark.title} has no category “{question.value[:80]}”. Known: {known_values}."]


def _no_column(columns: Columns, key: str) -> str:
    if key in columns.numbers:
        return f"“{key}” is a number. Use it as a measure in an analysis of numbers."
    named = [*columns.singles, *columns.multis, *columns.attributes]
    return f"Unknown dimension or attribute “{key[:80]}”. Use one of {_listed(named)}."


def _listed(names: Sequence[str]) -> str:
    if not names:
        return "none"
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return f"{', '.join(names[:MOST_NAMED])}{more}"


def _alone(question: AnalysisQuestion) -> str:
    """The dimension that is meant where none is named with a category: the only one that is asked for."""
    return question.dimensions[0] if len(question.dimensions) == 1 else ""


def _columns(columns: Columns, question: AnalysisQuestion) -> tuple[dict[str, Column], dict[str, FoldedCategories]]:
    """The columns that are asked for. What holds for all holds for the dimensions alone, not for what they are in."""
    without: dict[str, set[str]] = {}
    for key, value in _pairs(columns, question.left_out, {}, "left_out", _alone(question)):
        without.setdefault(key, set()).add(value)
    found: dict[str, Column] = {}
    folded: dict[str, FoldedCategories] = {}
    for key in dict.fromkeys([*question.dimensions, question.by, question.mark]):
        column = columns.column(key)
        if column is None:
            continue
        is_asked = key in question.dimensions
        wanted = FoldingRule(
            question.levels.get(key, question.levels.get("", "leaf") if is_asked else "leaf"),
            question.folds.get(key, question.folds.get("", 0.0) if is_asked else 0.0),
            frozenset(without.get(key, ())),
        )
        found[key], folded[key] = fold_column(column, wanted)
    return found, folded


def _check_size(columns: Mapping[str, Column], question: AnalysisQuestion, spec: QuestionSpec) -> None:
    sizes = [len(columns[key].categories) for key in question.dimensions]
    groups = len(columns[question.by].categories) if question.by else 1
    pairs = [a * b for a, b in pairwise(sizes)]
    if question.measure and groups > MOST_GROUPS:
        sentence = f"There are {groups} groups. Fold them to at most {MOST_GROUPS}."
        raise UnfitLabels("Analysis not valid.", fields={spec.group: [sentence]})
    if not spec.is_of_sets and max([*pairs, *sizes, 1]) * groups > MOST_CELLS:
        sentence = f"The table would have more than {MOST_CELLS} cells. Fold rare categories, or choose a higher level."
        raise UnfitLabels("Analysis not valid.", fields={"fold": [sentence]})


def _number(seat: Seat, columns: Columns, question: AnalysisQuestion) -> NumberColumn:
    if question.measure in columns.numbers:
        return columns.numbers[question.measure]
    return effort(seat.study, question.measure, columns)
