"""The methods paragraph: what was rated by whom, how independently, how far they agreed, what became of the rest."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from accounts.wording import counted, for_markdown, listed

from .facts import Dimension, Drawn, Facts, again, day, numbered, share
from .table import escaped, latex, markdown_table, rows

METHODS = {
    "discussion": "in discussion",
    "third_rater": "by a third rater",
    "majority": "by the majority of the raters",
    "owner": "by the owner of the study",
    "imported": "before the labels were imported",
}


@dataclass(frozen=True)
class Sentence:
    """A sentence; or, when it is missing, what has to be said in its place by those who know it."""

    text: str
    is_missing: bool = False

    @property
    def marked(self) -> str:
        return f"[missing: {self.text}]" if self.is_missing else self.text


def paragraph(facts: Facts) -> list[list[Sentence]]:
    """The sentences by subject; none of them claims what is not in the facts."""
    if not facts.waves:
        words = "no round is open to you yet, so nothing can be said of how labels came about"
        return [[Sentence(words, is_missing=True), *_hidden(facts)]]
    parts = [_rated, _chosen, _independent, _statistics, _found, _decided, _left_out, _computed]
    return [sentences for part in parts if (sentences := list(part(facts)))]


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
            f"\\textbf{{{escaped(sentence.marked)}}}" if sentence.is_missing else escaped(sentence.text)
            for sentence in part
        )
        for part in paragraph(facts)
    ]
    return "\n\n".join([*parts, latex(facts)])


def whole_markdown(facts: Facts) -> str:
    """The paragraph with the table below."""
    return as_markdown(paragraph(facts)) + ("\n" + markdown_table(facts) if rows(facts) else "")


def _hidden(facts: Facts) -> Iterable[Sentence]:
    if facts.hidden:
        which = numbered("round", facts.hidden)
        yield Sentence(f"{which}: hidden from you, so nothing of it is in here until it is over", is_missing=True)


def _rated(facts: Facts) -> Iterable[Sentence]:
    who = counted(len(facts.raters), "rater") if facts.raters else "Nobody"
    kinds = [
        counted(n, f"{kind} round")
        for kind in ("pilot", "main")
        if (n := sum(wave.kind == kind for wave in facts.waves))
    ]
    yield Sentence(
        f"{who}{f' ({listed(facts.raters)})' if facts.raters else ''} labelled {counted(facts.n_items, 'item')} in "
        f"{listed(kinds)} under {numbered('version', facts.versions)} of the taxonomy “{facts.taxonomy}”."
    )
    properties = "; ".join(f"{each.title} ({each.answers})" for each in facts.dimensions)
    if properties:
        yield Sentence(f"What was rated: {properties}.")
    yield Sentence(
        "The unit of analysis is an item in a round, or each of its parts where a rater found that it holds several."
    )
    if conditional := [each.title for each in facts.dimensions if each.is_conditional]:
        where = "both raters" if facts.applies == "both" else "at least one of two raters"
        answers = "" if facts.applies == "both" else "; “does not apply” then counts as the other’s answer"
        yield Sentence(
            f"{listed(conditional)} {'was' if len(conditional) == 1 else 'were'} asked only where an earlier answer "
            f"called for it, and compared where {where} came to it{answers}."
        )
    if facts.machines:
        are = "is a machine" if len(facts.machines) == 1 else "are machines"
        yield Sentence(f"{listed(facts.machines)} {are}, rating beside the people and counted in no number below.")
    yield from _hidden(facts)
    if live := [wave.number for wave in facts.waves if wave.is_open]:
        which = numbered("round", live)
        yield Sentence(f"{which}: still open, so these numbers change with every answer", is_missing=True)


def _chosen(facts: Facts) -> Iterable[Sentence]:
    for each in facts.drawn:
        yield Sentence(_drawn(each))
    if facts.n_by_hand:
        words = f"how {counted(facts.n_by_hand, 'item')} that came by name or from a sheet, not from a sample, "
        words += "were chosen" if facts.n_by_hand > 1 else "was chosen"
        yield Sentence(words, is_missing=True)
    if facts.n_items:
        were = "was" if facts.n_double == 1 else "were"
        yield Sentence(f"{share(facts.n_double, facts.n_items, 'item')} {were} given to two raters or more.")


def _drawn(each: Drawn) -> str:
    found = f", what a filter left of {each.n_found:,} stored issues," if each.n_found is not None else ""
    frame = f" from a frame of {each.n_frame:,}" if each.n_frame is not None else ""
    strata = ""
    if each.stratify_by:
        how = "equally many of each" if each.allocation == "equal" else "in proportion to its strata,"
        strata = f", {how} {each.stratify_by}"
    out = f"; {each.n_screened_out:,} of them were screened out" if each.n_screened_out else ""
    return f"{counted(each.size, 'issue')} were drawn at random (seed {each.seed}){frame}{found}{strata}{out}.".replace(
        ",,", ","
    )


def _independent(facts: Facts) -> Iterable[Sentence]:
    if facts.unblinded:
        yield Sentence(
            f"{facts.unblinded} could read answers of others before answering; these answers are excluded from "
            "agreement before discussion."
        )
    if facts.kept_blind:
        part = "" if not facts.n_from_sheets else " in Concord"
        part += f" in {numbered('round', facts.kept_blind)}" if facts.stated_blind else ""
        who = "The other raters" if facts.unblinded else "Raters"
        yield Sentence(
            f"{who} labelled{part} without seeing what others said, until the round was over; the software kept it so."
        )
    if facts.n_rated_before:
        yield Sentence(f"{again(facts.n_rated_before)} in an earlier round.")
    if facts.stated_blind:
        yield Sentence(facts.stated_blind)
    if facts.n_from_sheets:
        which = numbered("round", [wave.number for wave in facts.waves if wave.n_from_sheets])
        yield Sentence(f"whether raters worked independently in {which}, whose answers came from sheets", True)
    if facts.pilots:
        yield Sentence(f"Before the main rounds they labelled a pilot ({numbered('round', facts.pilots)}).")
    if facts.n_training:
        yield Sentence(f"They were trained on {counted(facts.n_training, 'item')} whose right answer was known.")
    if not facts.pilots and not facts.n_training:
        yield Sentence("how the raters were trained", is_missing=True)
    if len(facts.versions) > 1:
        yield Sentence(f"Between rounds the taxonomy was revised, from version {facts.versions[0]} to "
                       f"{facts.versions[-1]}.")  # fmt: skip


def _statistics(facts: Facts) -> Iterable[Sentence]:
    yield Sentence("Reliability is the agreement of the answers given before discussion.")
    alike: dict[tuple[object, ...], list[Dimension]] = {}
    for each in facts.dimensions:
        same = (each.is_fixed, each.statistic, each.threshold, each.fixed_on, each.is_fixed_before, each.reason)
        alike.setdefault(same, []).append(each)
    for those in alike.values():
        one, titles = those[0], facts.titles(those)
        if not one.is_fixed:
            yield Sentence(f"For {titles}, {one.statistic} is reported.")
            yield Sentence(f"a coefficient for {titles} that was fixed before labelling, and why it suits", True)
            continue
        when = f" on {day(one.fixed_on)}" if one.fixed_on else ""
        before = ", before labelling began" if one.is_fixed_before else ", after labelling had begun"
        threshold = f", with a threshold of {one.threshold:.2f}" if one.threshold is not None else ""
        yield Sentence(f"For {titles}, {one.statistic} was fixed{when}{before}{threshold}.")
        if one.reason:
            yield Sentence(f"The reason given: {one.reason.strip().rstrip('.')}.")
        else:
            yield Sentence(f"why {one.statistic} suits {titles}", is_missing=True)


def _found(facts: Facts) -> Iterable[Sentence]:
    for each in facts.dimensions:
        yield Sentence(_value(each))
    if not facts.dimensions or facts.n_answers == 0:
        return
    if not facts.n_changed:
        told = facts.n_from_sheets < facts.n_answers
        where = " in Concord" if facts.n_from_sheets else ""
        yield Sentence(
            f"No rater changed an answer{where} after seeing those of others."
            if told
            else "The sheets hold no answers from after discussion."
        )
    else:
        yield Sentence(
            f"{counted(facts.n_changed, 'answer')} {'was' if facts.n_changed == 1 else 'were'} changed in discussion; "
            "what is said of after discussion tells how far raters came together, not how reliable they are."
        )


def _value(each: Dimension) -> str:
    before = each.before
    rests = f"{counted(before.units, 'unit')}, {counted(len(before.raters), 'rater')}"
    if before.value is None:
        return f"{each.title}: undefined ({rests}), for: {(before.undefined or 'no reason is known').rstrip('.')}."
    interval = f"95 % interval {before.interval}; " if before.interval else ""
    said = f"{each.title}: {before.words} ({interval}{rests})"
    if each.standing:
        said += f", which {each.standing}"
    if len(each.by_round) > 1:
        waves = [f"{found.words} in round {number}" for number, found in sorted(each.by_round.items()) if found.units]
        said += f"; by round, {listed(waves)}" if len(waves) > 1 else ""
    if each.after is not None and each.after.value is not None and each.after.value != before.value:
        said += f"; after discussion, and not as a measure of reliability, {each.after.words}"
        said += f" ({each.after.interval})" if each.after.interval else ""
    return said + "."


def _decided(facts: Facts) -> Iterable[Sentence]:
    taken = [each for each in facts.decided if each.method != "imported"]
    if taken:
        ways = []
        for each in taken:
            by = [*each.by, *([f"{each.n_others} who did not rate"] if each.n_others else [])]
            who = f" (decided by {listed(by)})" if by else ""
            ways.append(f"{each.n:,} {METHODS.get(each.method, each.method)}{who}")
        n = sum(each.n for each in taken)
        were = "was" if n == 1 else "were"
        yield Sentence(f"{counted(n, 'disagreement')} {were} decided: {listed(ways)}.")
    if brought := facts.n_decided - sum(each.n for each in taken):
        yield Sentence(f"{counted(brought, 'final value')} came with the sheets, whether raters had differed or not.")
        yield Sentence("how the disagreements of the sheets were resolved", is_missing=True)
    elif not taken:
        yield Sentence("how disagreements were resolved; nothing is decided in Concord yet", is_missing=True)
    if waiting := [wave.number for wave in facts.waves if wave.is_resolving]:
        yield Sentence(f"the end of {numbered('round', waiting)}, where disagreements are still being decided", True)
    if facts.n_proposals:
        yield Sentence(
            f"Raters asked {counted(facts.n_proposals, 'time')} for a category that the taxonomy had not; until it was "
            "answered, that counts as a category of its own."
        )


def _left_out(facts: Facts) -> Iterable[Sentence]:
    for each in facts.dimensions:
        if n := sum(n for _, n in each.left_out):
            one = len(each.left_out) == 1
            why = "; ".join(reason if one else f"{some:,}: {reason}" for reason, some in each.left_out)
            yield Sentence(f"Left out of {each.title} {'is' if n == 1 else 'are'} {counted(n, 'unit')} ({why}).")
    if n := sum(wave.n_skipped for wave in facts.waves):
        yield Sentence(f"{counted(n, 'assignment')} {'was' if n == 1 else 'were'} skipped with a reason.")


def _computed(facts: Facts) -> Iterable[Sentence]:
    if not any(each.before.value is not None for each in facts.dimensions):
        return
    yield Sentence(
        f"All numbers were computed with {facts.software}; intervals are percentile intervals of a bootstrap over "
        f"units ({facts.resamples:,} resamples, seed {facts.seed})."
    )
