"""Provenance notes of an analysis: excluded parts, and the labels and version it rests on."""

from collections.abc import Sequence

from annotation.analysis.queries import AnalysisResult as Told
from annotation.analysis.queries.answers import has_shares_of_parts
from annotation.analysis.queries.presentation.blocks import AnalysisPresentation
from annotation.analysis.queries.presentation.question import AnalysisRequest
from annotation.analysis.shares import ExcludedParts
from annotation.labels.columns import WHY_NONE
from shared.wording import plural, series

STATES = {-1: "~none", -2: "~open", -3: "~unmapped"}


def nothing(title: str, words: str = "", *, asked: AnalysisRequest | None = None) -> AnalysisPresentation:
    """Where there is nothing to ask yet, or nothing but what is hidden from who asks."""
    none = "No agreed labels besides hidden ones." if asked and asked.labeled.n_hidden else "No agreed labels yet."
    return AnalysisPresentation(title, [words or none], [], [])


def exclusion_lines(asked: AnalysisRequest, told: Told, found: Sequence[ExcludedParts]) -> list[tuple[str, int, str]]:
    """(why, how many parts, where their items stand, if that can be said) of what is left out."""
    out = [(each.why, each.n, "") for each in told.selection.left_out]
    out += [(each.why, each.n, _url(asked, told, each.why)) for each in found]
    waiting, hidden = asked.labeled.n_waiting, asked.labeled.n_hidden
    if waiting:
        out.append(("Items still being labeled.", waiting, ""))
    if hidden:
        out.append(("Items that are hidden until you have labeled them.", hidden, ""))
    return out


def _url(asked: AnalysisRequest, told: Told, why: str) -> str:
    for key, column in told.columns.items():
        for code, word in STATES.items():
            reason = WHY_NONE[code]
            if why == f"{column.title}: {reason[0].lower()}{reason[1:]}":
                return asked.items_url(told, (key, word))
    return ""


def from_which(asked: AnalysisRequest) -> list[str]:
    """From which labels an analysis comes: rounds, versions, what was told otherwise, in sentences."""
    labels = asked.labeled
    rounds = [each.number for each in labels.rounds]
    found = []
    if rounds:
        which = f"round {rounds[0]}" if len(rounds) == 1 else f"rounds {series(rounds)}"
        versions = sorted(set(labels.versions.values()))
        of = f"version {versions[0]}" if len(versions) == 1 else f"versions {series(versions)}"
        parts = f"{plural(labels.n_parts, 'part')} of {plural(labels.n_items, 'item')}"
        found.append(f"Agreed labels of {which}, mapped to {of} of the taxonomy: {parts}.")
        if n := labels.columns.n_rows - labels.n_parts:
            are = "has" if n == 1 else "have"
            found.append(f"{plural(n, 'further part')} {are} no agreed label; free text is not counted.")
    if n := labels.n_screened_out:
        found.append(f"{plural(n, 'item')} of them {'is' if n == 1 else 'are'} screened out and kept by the study.")
    for told in asked.answers[-1:]:
        if told.question.where or told.question.parts == "single":
            selected = told.selection
            found.append(
                f"The analysis includes {plural(selected.n_parts, 'part')} of {plural(selected.n_items, 'item')}."
            )
        if told.selection.n_items < told.selection.n_parts and has_shares_of_parts(told.found):
            found.append(told.selection.dependence)
        levels = asked.levels(told)
        words = {"parent": "by parent category", "root": "by top level"}
        found += [f"{told.columns[key].title} is reported {words[level]}." for key, level in levels.items()]
        for key, folded in told.folded.items():
            if folded.categories:
                n = len(folded.categories)
                rare = plural(n, "rare category", "rare categories")
                is_are = "is" if n == 1 else "are"
                parts = plural(folded.n, "part")
                found.append(f"For {told.columns[key].title.lower()}, {rare} {is_are} reported as others ({parts}).")
        if told.question.left_out:
            found.append(f"Excluded on request: {', '.join(told.question.left_out)}.")
    return found
