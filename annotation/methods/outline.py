"""Methods paragraph, by subject; `sentences` has the words of each sentence."""

from collections.abc import Iterable, Sequence

from annotation.core.latex import escape_latex
from annotation.methods import sentences
from annotation.methods.facts import ALONE, IMPORTED, OVERRULED, DimensionFacts, Facts
from annotation.methods.sentences import Sentence
from annotation.methods.table import latex, markdown_table, rows
from shared.wording import for_markdown


def paragraph(facts: Facts) -> list[list[Sentence]]:
    """The sentences by subject; none of them claims what is not in the facts."""
    if not facts.waves:
        return [[sentences.nothing_yet(), *_hidden(facts)]]
    parts = [_sampling, _taxonomy, _raters, _agreement, _disagreements, _versions]
    return [found for part in parts if (found := list(part(facts)))]


def as_text(found: Sequence[Sequence[Sentence]]) -> str:
    """One paragraph of plain text for each subject, a blank line between."""
    return "\n\n".join(" ".join(sentence.marked for sentence in part) for part in found) + "\n"


def as_markdown(found: Sequence[Sequence[Sentence]]) -> str:
    """The same where Markdown is read; what is missing in bold."""
    parts = []
    for part in found:
        told = [
            f"**{for_markdown(sentence.marked)}**" if sentence.is_missing else for_markdown(sentence.text)
            for sentence in part
        ]
        parts.append(" ".join(told))
    return "\n\n".join(parts) + "\n"


def as_latex(facts: Facts) -> str:
    """The paragraph and the table, to be included in a document that uses booktabs; what is missing in bold."""
    parts = [
        " ".join(
            f"\\textbf{{{escape_latex(sentence.marked)}}}" if sentence.is_missing else escape_latex(sentence.text)
            for sentence in part
        )
        for part in paragraph(facts)
    ]
    return "\n\n".join([*parts, latex(facts)])


def whole_markdown(facts: Facts) -> str:
    """The paragraph with the table below."""
    return as_markdown(paragraph(facts)) + ("\n" + markdown_table(facts) if rows(facts) else "")


def _hidden(facts: Facts) -> Iterable[Sentence]:
    if rated := [number for number in facts.hidden if number not in facts.hidden_unrated]:
        yield sentences.hidden(rated)
    if facts.hidden_unrated:
        yield sentences.hidden_unrated(facts.hidden_unrated)
    if facts.n_withheld:
        yield sentences.withheld(facts.n_withheld, by_link=facts.is_by_link)


def _sampling(facts: Facts) -> Iterable[Sentence]:
    for each in facts.drawn:
        yield from sentences.drawn(each)
    if facts.n_in_several_samples:
        yield sentences.in_several_samples(facts.n_in_several_samples)
    for control in facts.controls:
        yield sentences.control(control)
    if facts.screened is not None:
        yield from sentences.screened(facts.screened)
    if facts.by_hand is not None:
        yield sentences.screened_by_hand(facts.by_hand)
    if facts.n_labeled_out:
        yield sentences.labeled_out(facts.n_labeled_out, keeps=facts.keeps_out)
    if facts.n_by_hand:
        yield sentences.by_hand(facts.n_by_hand)


def _taxonomy(facts: Facts) -> Iterable[Sentence]:
    if not facts.labeled:
        return
    rated = [each for each in facts.dimensions if each.is_rated]
    yield sentences.taxonomy(facts.taxonomy, facts.versions, rated, facts.newest_version)
    if facts.unrated:
        yield sentences.unrated([each.title for each in facts.unrated], is_part=bool(facts.n_withheld))
    if conditional := [each.title for each in rated if each.is_conditional]:
        sheets = bool(facts.n_from_sheets)
        yield sentences.conditional(conditional, facts.applies, facts.applies_chosen_on, sheets=sheets)
    yield sentences.unit()


def _raters(facts: Facts) -> Iterable[Sentence]:
    if facts.labeled:
        yield sentences.labeled(facts.raters, facts.n_items, facts.labeled)
        if len(facts.by_rater) > 1:
            yield sentences.by_rater(facts.by_rater)
        yield sentences.double_coded(facts.n_double, facts.n_items)
        if facts.n_third_asked:
            yield sentences.third_asked(facts.n_third_asked, facts.n_third_by_hand, facts.n_third_withdrawn)
        if facts.third:
            yield sentences.third(facts.third)
    else:
        yield sentences.no_labels(is_part=bool(facts.n_withheld))
    if facts.machines:
        yield sentences.model_raters(facts.machines)
    yield from _hidden(facts)
    yield from (sentences.turnover(each) for each in facts.turnover)
    yield from (sentences.outstanding(wave) for wave in facts.waves if wave.is_open)
    yield from (sentences.withdrawn(wave) for wave in facts.waves if wave.n_withdrawn)
    n_skipped = sum(wave.n_skipped for wave in facts.waves)
    if n_skipped or facts.n_third_skipped:
        yield sentences.skipped(n_skipped, facts.n_third_skipped)
    yield from _independent(facts)
    if facts.n_otherwise:
        yield from sentences.read_otherwise(
            facts.n_otherwise, facts.n_answers, facts.n_items_otherwise, facts.n_items_apart
        )
    if facts.n_training:
        yield sentences.training(facts.n_training)
        if facts.tries:
            yield sentences.tries(facts.tries)
    elif not facts.pilots:
        yield sentences.no_training()


def _independent(facts: Facts) -> Iterable[Sentence]:
    if facts.unblinded:
        yield sentences.unblinded(facts.unblinded)
    if facts.kept_blind and facts.has_several_raters:
        every = set(facts.kept_blind) == {wave.number for wave in facts.labeled}
        yield sentences.blind(facts.kept_blind, every=every, others=bool(facts.unblinded))
    if facts.copied_items and facts.labeled:
        yield sentences.copied(facts.copied_items)
    if facts.rated_elsewhere is None and facts.labeled:
        yield sentences.hidden_elsewhere()
    elif facts.rated_elsewhere:
        yield sentences.rated_elsewhere(facts.n_rated_elsewhere)
    if facts.n_rated_before:
        yield sentences.labeled_before(facts.n_rated_before)
    for each in facts.read_before:
        yield from sentences.read_before(each)
    if facts.stated_blind and facts.has_several_raters:
        yield sentences.stated_blind(facts.stated_blind, others=bool(facts.unblinded))
    if sheets := [wave.number for wave in facts.waves if wave.n_from_sheets]:
        yield sentences.from_sheets(sheets)


def _agreement(facts: Facts) -> Iterable[Sentence]:
    if not facts.labeled:
        return
    if not facts.measured:
        return
    if facts.headline and not facts.is_compared:
        is_part = bool(facts.n_withheld)
        yield sentences.no_headline(sentences.not_compared(undated=facts.is_undated, is_part=is_part))
    elif facts.headline:
        stated = any(wave.is_imported for wave in facts.waves if wave.number in facts.headline)
        yield sentences.headline(facts.headline, facts.headline_version, facts.headline_fixed_on, stated=stated)
    else:
        yield sentences.no_headline(facts.no_headline)
    alike: dict[tuple[object, ...], list[DimensionFacts]] = {}
    for each in facts.measured:
        registered = (each.registered, tuple(each.kind_changes), each.fixed_on, each.is_fixed_before, each.reason)
        same = (each.is_fixed, each.statistic, each.threshold, *registered)
        alike.setdefault(same, []).append(each)
    for those in alike.values():
        one, titles = those[0], facts.titles(those)
        if one.is_fixed:
            sheets, stated = bool(facts.n_from_sheets), facts.is_start_stated
            yield from sentences.fixed(titles, one, sheets=sheets, stated=stated, copied=facts.is_copied)
            yield sentences.reason(titles, one)
        elif facts.headline and facts.is_compared:
            yield from sentences.not_fixed(titles, one)
        for each in those if facts.headline and facts.is_compared else ():
            yield from _found(facts, each)
    if facts.n_matched:
        yield sentences.matched(facts.n_matched)
    yield from sentences.computed(facts)
    yield from sentences.few_units(
        number for each in facts.measured if facts.headline for number in (each.before, each.after) if number
    )


def _found(facts: Facts, each: DimensionFacts) -> Iterable[Sentence]:
    """What came out for a dimension, and what is excluded from it."""
    if not each.before.units:
        yield sentences.nothing_compared(each, undated=facts.is_undated, is_part=bool(facts.n_withheld))
    else:
        yield sentences.agreement(each, undated=facts.is_undated, known=facts.known_before(facts.headline))
        if each.n_used is not None:
            yield sentences.used(each)
        yield from (told for told in (sentences.threshold(each), sentences.by_round(each, facts.pilots)) if told)
        if facts.n_changed and each.after is not None and each.after.value is not None:
            yield sentences.agreement(each, when="after")
    undated = facts.is_undated
    yield from (sentences.excluded(each, because, n, undated=undated) for because, n in each.left_out)


def _disagreements(facts: Facts) -> Iterable[Sentence]:
    if facts.n_changed:
        yield sentences.revised(facts.n_changed, facts.n_answers)
    scope = sentences.CODING if facts.resolved_elsewhere else ""
    if facts.resolved:
        yield sentences.resolved(facts.resolved, scope=scope)
    if n := facts.n_decided(OVERRULED):
        yield sentences.overruled(n)
    if n := facts.n_decided(ALONE):
        yield sentences.alone(n)
    if facts.n_reopened:
        yield sentences.reopened(facts.n_reopened)
    if facts.n_moot:
        yield sentences.moot(facts.n_moot)
    codes = sorted({code for each in facts.decided for code in each.by}, key=lambda code: (len(code), code))
    if codes or facts.n_resolvers_without_labels:
        yield sentences.entered_by(codes, facts.n_resolvers_without_labels)
    if facts.n_models_shown:
        yield sentences.models_shown(facts.n_models_shown)
    if n := facts.n_decided(IMPORTED):
        yield from sentences.final_values(n)
    elif facts.had_no_disagreement and not facts.resolved:
        yield sentences.nothing_to_resolve(scope=scope)
    elif not facts.resolved and facts.labeled:
        yield sentences.not_resolved(scope=scope, is_part=bool(facts.n_withheld))
    yield from (sentences.resolved_elsewhere(each) for each in facts.resolved_elsewhere)
    if facts.n_unresolved and (facts.resolved or facts.n_decided(IMPORTED)):
        yield sentences.unresolved(facts.n_unresolved)
    if facts.n_unanswered:
        yield sentences.unanswered(facts.n_unanswered)
    waiting = [wave.number for wave in facts.waves if wave.is_resolving]
    if waiting and not facts.had_no_disagreement:
        yield sentences.still_resolving(waiting)
    if facts.n_proposals:
        yield sentences.proposals(facts.n_proposals)


def _versions(facts: Facts) -> Iterable[Sentence]:
    if len(facts.by_version) > 1:
        yield sentences.versions(facts.by_version)
    yield from (sentences.relabeled(*each) for each in facts.relabeled)
    if facts.migrated is not None and facts.migrated.n_labels:
        yield sentences.migrated(facts.migrated)
    yield from (sentences.gate(wave.number, wave.gate) for wave in facts.waves if wave.gate)
    yield from (sentences.minimum(wave.number, wave.minimum) for wave in facts.waves if wave.minimum)
