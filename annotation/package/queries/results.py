"""Results of a study as documents of a package: agreement, and answers to analyses."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import combinations
from typing import Any

from agreement import SCALE_WEIGHTS, VARIABLES
from annotation.agreement_report.queries.across_rounds import dimension_patterns, rater_codes, visible_rounds
from annotation.agreement_report.queries.coefficients import entry
from annotation.agreement_report.queries.headline import headline_set
from annotation.agreement_report.queries.options import ask
from annotation.analysis.queries import AnalysisQuestion as Read
from annotation.analysis.queries import AnalysisResult, Words, answer, plain_answer
from annotation.analysis.queries.effort import MEASURES
from annotation.analysis.queries.labels import study_labels
from annotation.analysis.queries.presentation.blocks import AnalysisPresentation as Shown
from annotation.analysis.queries.presentation.kinds import KINDS
from annotation.analysis.queries.presentation.provenance import from_which
from annotation.analysis.queries.presentation.question import AnalysisQuery, AnalysisRequest
from annotation.analysis.queries.saved import hidden_from_author, saved_analyses
from annotation.calibration.calibration import Score
from annotation.calibration.queries.training import TrainingResult, results_of
from annotation.charts.specifications import PAGE, PRINT, on_paper
from annotation.core.access import Seat
from annotation.core.drafts import tells_of_draft
from annotation.core.errors import Invalid
from annotation.labels.registration import is_registered
from annotation.models import Analysis, Round
from taxonomy.kinds import KINDS as QUESTION_KINDS
from taxonomy.queries import published_version
from taxonomy.tree import VersionTree

WHENS = ("before", "after")
FIXED = ("coefficient", "threshold", "metric", "weights", "scale", "fixed_at")
MOST_PAIRS = 15
"""Cross tables that are in a package unasked; others are there if they were saved."""
HIDDEN_FROM_AUTHOR = (
    "The person who saved it rates in an open round, or owes an answer as a third rater. Create the package again when "
    "labeling has ended, or save the analysis again."
)
LEFT = ("words", "left_out_because", "unmapped")
"""What the pages say besides: words for values, and why units are missing."""
COEFFICIENT = ("value", "se", "ci_low", "ci_high", "ci_method", "ci_undefined", "p_threshold", "undefined")


def agreement_document(seat: Seat, step: Callable[[str], None]) -> dict[str, Any]:
    """results/agreement.json: each dimension over all pilot and main rounds, in each round, and in the headline set.

    Each before and after discussion; `headline` tells which entries are the study's number.
    Screening rounds stand there one by one.
    """
    together, headline = visible_rounds(seat), headline_set(seat)
    found: list[tuple[int | None, list[Round]]] = [(None, together)] if together else []
    found += [
        (each.number, [each]) for each in sorted([*together, *screening_rounds(seat)], key=lambda each: each.number)
    ]
    if headline.rounds and not any(headline.is_of(rounds) for _, rounds in found):
        found.append((None, list(headline.rounds)))
    entries: list[dict[str, Any]] = []
    for number, rounds in found:
        step(f"agreement of {'all rounds' if number is None else f'round {number}'}")
        for when in WHENS:
            entries += _entries(seat, rounds, when, number, is_headline=headline.is_of(rounds))
    fixed = {
        key: {name: each[name] for name in FIXED if each.get(name) is not None} | {"registered": is_registered(each)}
        for key, each in seat.study.primary.items()
    }
    return {
        "fixed": fixed,
        "entries": entries,
    }


def screening_rounds(seat: Seat) -> list[Round]:
    """The screening rounds that count and that this person may see."""
    rounds = Round.objects.filter(study=seat.study, kind=Round.Kind.SCREENING).select_related("taxonomy_version")
    shown = rounds.exclude(state__in=[Round.State.DRAFT, Round.State.UNDONE])
    return [each for each in shown if each.pk not in seat.hidden_round_ids]


def _entries(
    seat: Seat, rounds: Sequence[Round], when: str, number: int | None, *, is_headline: bool
) -> Iterator[dict[str, Any]]:
    codes, asked = rater_codes(seat), ask(seat, {"when": when})
    for each in dimension_patterns(rounds, asked):
        found = entry(replace(each, is_headline=is_headline), codes, asked, round_number=number).as_json()
        yield {
            "dimension": each.dimension.key,
            "kind": each.dimension.kind,
            "round": number,
            **{name: value for name, value in found.items() if name not in (*LEFT, "dimension", "round")},
            "coefficients": [
                {name: value for name, value in one.items() if name not in LEFT} for one in found["coefficients"]
            ],
        }


def training_document(rounds: Sequence[Round], known: Mapping[int, Mapping[int, Any]]) -> dict[str, Any]:
    """results/training.json: each rater's try on the training items of each round (known answers by round and item)."""
    return {"tries": [_try(each) for each in results_of(rounds, known)]}


def _try(each: TrainingResult) -> dict[str, Any]:
    tree = published_version(each.round.taxonomy_version_id)
    return {
        "round": each.round.number,
        "rater": each.rater.code,
        "n_items": each.n_items,
        "n_revised": each.n_revised,
        "first": _tried(each, tree),
        "after": _tried(each.after, tree) if each.after else None,
    }


def _tried(each: TrainingResult, tree: VersionTree) -> dict[str, Any]:
    return {
        "n_right": each.n_right,
        "dimensions": [_score(one, tree.by_key[one.dimension].kind) for one in each.scores],
    }


def _score(one: Score, kind: str) -> dict[str, Any]:
    found = {
        "dimension": one.dimension,
        "kind": kind,
        "n_known": one.n,
        "n_right": one.n_right,
        "n_answered": one.n_answered,
        "n_skipped": one.n_skipped,
        "n_not_asked": one.n_not_asked,
    }
    if one.coefficient is not None:
        variable = VARIABLES[QUESTION_KINDS[kind].variable]
        metric, weights = variable.metrics[0], SCALE_WEIGHTS[0] if variable.is_ordered else None
        found |= {"coefficient": one.coefficient.name, "value": one.coefficient.value}
        found |= {"metric": metric, "weights": weights}
    return found


def agreement_rows(entries: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """The coefficients alone, a row for each."""
    for each in entries:
        for one in each["coefficients"]:
            yield {
                **{name: each[name] for name in ("dimension", "round", "headline", "when", "metric", "weights")},
                "units": each["units"],
                "n_raters": each["raters"],
                "coefficient": one["name"],
                **{name: one[name] for name in COEFFICIENT},
            }


@dataclass
class Analyses:
    """What agreed labels say: results/analyses.json, and of the saved analyses figures and tables by name.

    Figures are specifications as wide as a page, tables are for LaTeX.
    """

    document: dict[str, Any] = field(default_factory=lambda: {"analyses": []})
    figures: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    tables: dict[str, str] = field(default_factory=dict)


def analyses(seat: Seat, step: Callable[[str], None], *, without: frozenset[str] = frozenset()) -> Analyses:
    """Answers to the analyses that were saved, as their pages ask them, and to those that every paper has.

    Of each the title, the words of its address, the question as it was read, and the answer, or why there is none.
    Questions about attributes `without` are left out, since they name people, and those with categories of a draft,
    since a package is for everybody. Each is answered once, but those of someone else from whom results are hidden not
    at all: the time that a question takes follows from the labels, and would tell who asked it what they are.
    """
    found = Analyses()
    published = saved_analyses(seat).exclude(tells_of_draft(Analysis, seat.study, None))
    saved, usual = list(published), list(_usual(seat))
    n_all = len(saved) + len(usual)
    for place, each in enumerate(saved, start=1):
        step(f"analysis {place} of {n_all}")
        told = {"number": each.number, "title": each.title, "kind": each.kind, "words": dict(each.question)}
        each.study = seat.study
        try:
            if each.created_by_id != seat.user.pk and hidden_from_author(each):
                raise Invalid("Not answered.", fields={"created_by": [HIDDEN_FROM_AUTHOR]})
            asked = AnalysisRequest(seat, AnalysisQuery.saved(each))
            shown = KINDS[each.kind].answer(asked)
            given = asked.answers[0] if asked.answers else answer(seat, each.kind, each.question)
        except Invalid as error:
            _tell(found, told, error, without)
            continue
        if _tell(found, told, given, without):
            _draw(found, each, asked, shown)
    for place, (title, kind, words) in enumerate(usual, start=len(saved) + 1):
        step(f"analysis {place} of {n_all}")
        told = {"number": None, "title": title, "kind": kind, "words": dict(words)}
        try:
            _tell(found, told, answer(seat, kind, words), without)
        except Invalid as error:
            _tell(found, told, error, without)
    return found


def _tell(found: Analyses, told: dict[str, Any], given: AnalysisResult | Invalid, without: frozenset[str]) -> bool:
    """Writes an answer, or why there is none; whether there is one that may be shown."""
    if isinstance(given, Invalid):
        sentences = [sentence for each in given.fields.values() for sentence in each]
        why = " ".join([given.message, *sentences])
        found.document["analyses"].append({**told, "question": None, "answer": None, "why_not": why})
        return False
    if _named(given.question) & without:
        return False
    told |= {"question": asdict(given.question), "answer": _finite(plain_answer(given))}
    found.document["analyses"].append(told)
    return True


def _draw(found: Analyses, saved: Analysis, asked: AnalysisRequest, shown: Shown) -> None:
    name = f"analysis-{saved.number}"
    found.figures |= {f"{name}-{key}": on_paper(one.draw(PRINT, PAGE)) for key, one in shown.figures.items()}
    for key, one in shown.tables.items():
        called = [f"{saved.title}."] if one.title == shown.title else [f"{saved.title}.", f"{one.title}."]
        caption = " ".join([*called, *shown.said_of(key), *from_which(asked)])
        found.tables[f"{name}-{key}"] = one.as_latex(caption)


def _named(question: Read) -> set[str]:
    """What a question asks about, as attributes are named."""
    return {each.removeprefix("attribute.").lower() for each in (*question.dimensions, question.by, question.mark)}


def _usual(seat: Seat) -> Iterator[tuple[str, str, Words]]:
    """Counts of each dimension, in all and by repository; cross tables of any two; a flow; marks; effort."""
    columns = study_labels(seat).columns
    titles = {key: each.title for key, each in columns.singles.items()}
    titles |= {key: each.title for key, each in columns.multis.items()}
    named = [key for key, each in columns.singles.items() if not each.is_two_valued]
    for key, title in titles.items():
        yield f"Counts of {title}", "counts", {"dimension": key}
        if "repository" in columns.attributes:
            yield f"Counts of {title} by repository", "counts", {"dimension": key, "by": "repository"}
    for rows, across_ in list(combinations(columns.singles, 2))[:MOST_PAIRS]:
        yield f"{titles[rows]} × {titles[across_]}", "crosstab", {"rows": rows, "columns": across_}
    steps = [*named, *columns.multis][:3]
    if len(steps) > 1:
        yield f"Flow of {', '.join(titles[key] for key in steps)}", "flow", {"dimensions": ",".join(steps)}
    for key, each in columns.singles.items():
        if each.is_two_valued:
            yield f"Share of {each.title}", "shares", {"mark": key}
    for measure, (title, *_) in MEASURES.items():
        yield title, "numbers", {"measure": measure}
        if named:
            yield f"{title} by {titles[named[0]]}", "numbers", {"measure": measure, "by": named[0]}


def _finite(value: Any) -> Any:
    """A document without what JSON can't say."""
    if isinstance(value, dict):
        return {key: _finite(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
