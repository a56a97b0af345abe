"""Checklist of the ACM SIGSOFT Empirical Standards for studies with several raters, answered from facts.

The supplement on inter-rater reliability and agreement (github.com/acmsigsoft/EmpiricalStandards, supplements) lists
attributes in three levels and antipatterns. The questions here are in our own words.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from agreement import bound
from annotation.methods import sentences
from annotation.methods.facts import IMPORTED, MEETING, OTHER_MEETING, DimensionFacts, Facts, day, round_numbers
from shared.wording import for_markdown, plural, series

STANDARD = "https://www2.sigsoft.org/EmpiricalStandards/docs/supplements?supplement=InterRaterReliabilityAndAgreement"
ESSENTIAL, DESIRABLE, EXTRAORDINARY, ANTIPATTERN = "essential", "desirable", "extraordinary", "antipattern"
YES, PARTLY, MISSING, NOT_NEEDED = "yes", "partly", "missing", "not needed"


@dataclass(frozen=True)
class ChecklistItem:
    """A question of the standard: `answer` is yes, partly, missing or not needed.

    `evidence` is what the facts say; `mend` says how to come by what is missing, empty where nothing is.
    """

    key: str
    level: str
    asks: str
    answer: str
    evidence: str
    mend: str = ""


def checklist(facts: Facts) -> list[ChecklistItem]:
    """Every question in the order of the standard, essential ones first."""
    found = []
    for key, level, asks, answer in QUESTIONS:
        said, evidence, mend = answer(facts)
        if facts.n_withheld:
            evidence, mend = _in_part(facts, evidence, mend)
        found.append(ChecklistItem(key, level, asks, said, evidence, mend))
    return found


def _in_part(facts: Facts, evidence: str, mend: str) -> tuple[str, str]:
    """The same for a reader to whom items are hidden: what was not found may be there."""
    evidence = NOTHING_SHOWN if evidence == NOTHING else evidence
    return (
        f"{evidence} {sentences.without(facts.n_withheld, by_link=facts.is_by_link)}",
        "" if mend == OPEN_ROUND else mend,
    )


def checklist_as_document(facts: Facts) -> list[dict[str, Any]]:
    """The checklist as JSON has it."""
    return [asdict(check) for check in checklist(facts)]


def checklist_as_markdown(facts: Facts) -> str:
    """A list with a box for each question, ticked where the answer is yes or it is not needed."""
    lines = []
    for check in checklist(facts):
        box = "x" if check.answer in (YES, NOT_NEEDED) else " "
        mend = f" **How to fix:** {for_markdown(check.mend)}" if check.mend else ""
        answer = f"**{check.answer.capitalize()}.** {for_markdown(check.evidence)}{mend}"
        lines.append(f"- [{box}] *{check.level}*: {check.asks} {answer}")
    return "\n".join(lines) + "\n"


Said = tuple[str, str, str]
FINISH = "Finish a main round."
OPEN_ROUND = "Open a round and let raters label."
NOTHING = "Nothing has been labeled yet."
NOTHING_SHOWN = "No labels are shown."
FREE_TEXT = "All dimensions are free text, which has no coefficient."


def _properties(facts: Facts) -> Said:
    if not facts.dimensions:
        return MISSING, NOTHING, OPEN_ROUND
    rated = [each for each in facts.dimensions if each.is_rated]
    told = [f"{plural(len(rated), 'dimension')}: {'; '.join(f'{each.title} ({each.answers})' for each in rated)}."]
    told += (
        [sentences.unrated([each.title for each in facts.unrated], is_part=bool(facts.n_withheld)).text]
        if facts.unrated
        else []
    )
    return (YES, " ".join(told), "") if rated else (MISSING, NOTHING, OPEN_ROUND)


def _unit(facts: Facts) -> Said:
    if not facts.n_items:
        return MISSING, NOTHING, OPEN_ROUND
    told = [f"An item in a round, or each of its parts. {plural(facts.n_items, 'item')} in total."]
    told += [sentences.matched(facts.n_matched).text] if facts.n_matched else []
    return YES, " ".join(told), ""


def _raters(facts: Facts) -> Said:
    having = [each for each in facts.measured if each.before.raters]
    double = sentences.double_coded(facts.n_double, facts.n_items).text if facts.n_items else ""
    if facts.dimensions and not facts.measured and double:
        told = f"{plural(len(facts.raters), 'rater')} ({series(facts.raters)}). {double}"
        return (YES, told, "") if facts.n_double else (MISSING, told, "Assign each item to two raters or more.")
    if not having and not facts.headline and double:
        return MISSING, f"{_first(facts.no_headline)}. {double}", _finish(facts)
    if not having:
        none = f"{_first(sentences.not_compared(undated=facts.is_undated))}."
        return MISSING, f"{none} {double}".strip(), "Assign each item to two raters or more."
    by: dict[tuple[tuple[str, ...], tuple[str, ...]], list[DimensionFacts]] = {}
    for each in having:
        by.setdefault((tuple(each.everyone), tuple(each.before.raters)), []).append(each)
    headline = round_numbers("round", facts.headline)
    every = [
        f"{facts.titles(some)}: {plural(len(codes), 'rater')} ({series(codes)})"
        + (f", of whom {len(compared)} ({series(compared)}) were compared in {headline}" if codes != compared else "")
        for (codes, compared), some in by.items()
    ]
    told = f"{'; '.join(every)}. {double}"
    return YES, told[0].upper() + told[1:], ""


def _single(facts: Facts) -> Said:
    n = facts.n_items - facts.n_double
    if not facts.n_items:
        return MISSING, NOTHING, OPEN_ROUND
    if not n:
        return NOT_NEEDED, "Within a round, two or more raters labeled every item.", ""
    return (
        MISSING,
        f"{plural(n, 'item')} had a single rater in every round.",
        "State in the paper why that is enough: the judgment is not contested, or agreement on the others was high.",
    )


def _independent(facts: Facts) -> Said:
    if not facts.n_answers:
        return MISSING, NOTHING, OPEN_ROUND
    if not facts.has_several_raters:
        return NOT_NEEDED, "Labels are of one rater alone.", ""
    if facts.n_from_sheets == facts.n_answers:
        return (
            MISSING,
            f"All {plural(facts.n_answers, 'submission')} came from sheets, which do not show whether raters worked "
            "independently.",
            "Describe in the paper how raters worked independently while they filled in the sheets.",
        )
    told: list[str] = []
    mend: list[str] = []
    if facts.unblinded:
        told.append(sentences.unblinded(facts.unblinded).text)
        mend.append("Explain in the paper why they labeled anyway, and how their labels count.")
    if facts.kept_blind:
        told.append(sentences.blind(facts.kept_blind, every=False, others=bool(facts.unblinded)).text)
    if facts.n_rated_before:
        told.append(sentences.labeled_before(facts.n_rated_before).text)
    for read in facts.read_before:
        told += [each.text for each in sentences.read_before(read)]
    if facts.n_rated_before or facts.read_before:
        mend.append("Explain in the paper why items were labeled again, and which earlier labels raters had seen.")
    if facts.copied_items:
        told.append(f"The study was duplicated from another one with {plural(facts.copied_items, 'item')}.")
        mend.append("Explain in the paper whether raters had seen or labeled these items there.")
    if facts.rated_elsewhere is None:
        told.append(
            "Whether raters had labeled the items in the study that this one is a copy of is hidden until each round "
            "there is closed."
        )
        mend.append("Read this again when these rounds are closed.")
    elif facts.rated_elsewhere:
        told.append(sentences.rated_elsewhere(facts.n_rated_elsewhere).text)
        mend.append("Explain in the paper which labels raters knew from the other study.")
    if facts.stated_blind:
        told.append(sentences.stated_blind(facts.stated_blind, others=bool(facts.unblinded)).text)
        mend.append("Describe how raters worked independently on the other server.")
    if facts.n_from_sheets:
        told.append(f"{facts.n_from_sheets:,} of {plural(facts.n_answers, 'submission')} came from sheets.")
        mend.append("Describe in the paper how raters worked independently while they filled in the sheets.")
    return PARTLY if mend else YES, " ".join(told), " ".join(mend)


def _resolved(facts: Facts) -> Said:
    taken, imported = facts.resolved, facts.n_decided(IMPORTED)
    waiting = [wave.number for wave in facts.waves if wave.is_resolving]
    scope = sentences.CODING if facts.resolved_elsewhere else ""
    elsewhere = [sentences.resolved_elsewhere(each).text for each in facts.resolved_elsewhere]
    if facts.had_no_disagreement and not taken and not imported:
        told = [sentences.nothing_to_resolve(scope=scope).text, *elsewhere]
        return (YES if elsewhere else NOT_NEEDED), " ".join(told), ""
    none = f"No disagreement{scope} was resolved in Concord."
    if not taken and not imported and not waiting:
        return MISSING, " ".join([none, *elsewhere]), "Resolve them, or import a final column."
    told = [sentences.resolved(taken, scope=scope).text if taken else none, *elsewhere]
    told += [sentences.reopened(facts.n_reopened).text] if facts.n_reopened else []
    mend = []
    if imported:
        told.append(sentences.final_values(imported)[0].text)
        mend.append("Describe in the paper how the disagreements in the sheets were resolved.")
    if facts.n_unresolved:
        told.append(sentences.unresolved(facts.n_unresolved).text)
        mend.append("Explain in the paper what happened to the unresolved disagreements.")
    told += [sentences.unanswered(facts.n_unanswered).text] if facts.n_unanswered else []
    if waiting:
        told.append(f"Still being resolved: {round_numbers('round', waiting)}.")
        mend.append("Resolve the open disagreements and close the round.")
    return (PARTLY if mend else YES), " ".join(told), " ".join(mend)


def _scale(facts: Facts) -> Said:
    if not facts.dimensions:
        return MISSING, NOTHING, OPEN_ROUND
    return YES, "; ".join(f"{each.title}: {each.scale}" for each in facts.dimensions) + ".", ""


def _statistic(facts: Facts) -> Said:
    if not facts.measured:
        return _nothing_measured(facts)
    if not facts.headline:
        return MISSING, f"{_first(facts.no_headline)}.", _finish(facts)
    told = "; ".join(
        f"{each.title}: {each.statistic} {each.before.words}"
        + (f" ({each.before.interval})" if each.before.interval else "")
        for each in facts.measured
    )
    undefined = [each.title for each in facts.measured if each.before.value is None]
    if undefined:
        mend = f"{series(undefined)}: report why it is undefined, or rate more units twice."
        return (MISSING if len(undefined) == len(facts.measured) else PARTLY), f"{told}.", mend
    return YES, f"{told}.", ""


def _nothing_measured(facts: Facts) -> Said:
    return (NOT_NEEDED, FREE_TEXT, "") if facts.dimensions else (MISSING, NOTHING, OPEN_ROUND)


def _materials(facts: Facts) -> Said:
    if not facts.versions:
        return MISSING, NOTHING, OPEN_ROUND
    n, whole = facts.n_defined, facts.n_categories
    defined = f", with definitions of {n:,} of {whole:,} categories" if n else ""
    if n == whole:
        defined = ", with its definitions" if n else ""
    told = f"The rating scheme is {round_numbers('version', facts.versions)} of “{facts.taxonomy}”{defined}."
    told += " Concord lists the disagreements with the label of each rater." if facts.n_disputed else ""
    told += " The table has the values by dimension and round." if facts.is_compared else ""
    mends = ["Write definitions of the categories into the taxonomy."] if whole and not n else []
    if facts.has_guidelines:
        told += " The guidelines contain the decision rules."
    else:
        mends.append("Write the decision rules as the study’s guidelines, under Settings.")
    return (PARTLY if mends else YES), told, " ".join(mends)


def _justified(facts: Facts) -> Said:
    return _each_has(
        facts,
        lambda each: each.reason.strip().rstrip("."),
        "Give the reason for the coefficient, under Settings.",
    )


def _thresholds(facts: Facts) -> Said:
    def told(each: Any) -> str:
        if each.threshold is None:
            return ""
        words = [
            f"“{word}” on the scale of {SCALE_NAMES.get(scale, scale)}"
            + (f" (at least “{earned}”, 95%)" if earned else "")
            for scale, word, earned in each.words
        ]
        if not facts.headline:
            return f"threshold {bound(each.threshold)}, and {facts.no_headline}"
        value = f"{each.before.words} against {bound(each.threshold)}"
        return ", ".join([value, *([each.standing] if each.standing else []), *words])

    return _each_has(facts, told, "Register a threshold for each dimension, under Settings, before labeling begins.")


SCALE_NAMES = {"landis_koch": "Landis and Koch", "krippendorff": "Krippendorff"}


def _each_has(facts: Facts, told: Callable[[Any], str], mend: str) -> Said:
    if facts.dimensions and not facts.measured:
        return NOT_NEEDED, FREE_TEXT, ""
    found = [(each.title, told(each)) for each in facts.measured]
    having = [f"{title}: {words}" for title, words in found if words]
    lacking = [title for title, words in found if not words]
    if not having:
        return MISSING, "No reason is recorded for any dimension.", mend
    if lacking:
        return PARTLY, f"{'; '.join(having)}.", f"{series(lacking)}: {_lower(mend)}"
    return YES, f"{'; '.join(having)}.", ""


def _anomalies(facts: Facts) -> Said:
    if facts.dimensions and not facts.measured:
        return NOT_NEEDED, FREE_TEXT, ""
    having = [(each.title, warning) for each in facts.measured for warning in each.warnings]
    if not any(each.before.units for each in facts.measured):
        if facts.n_items and not facts.headline:
            return MISSING, f"{_first(facts.no_headline)}.", _finish(facts)
        return MISSING, "There are no values yet.", OPEN_ROUND
    if not having:
        return YES, "The values show none of the known anomalies.", ""
    told = " ".join(f"{title}: {warning}" for title, warning in having)
    return PARTLY, told, "Explain in the paper what each of these means for the results."


def _training(facts: Facts) -> Said:
    told = []
    if facts.pilots:
        told.append(f"A pilot was labeled ({round_numbers('round', facts.pilots)}).")
    if facts.n_training:
        told.append(sentences.training(facts.n_training).text)
        told += [sentences.tries(facts.tries).text] if facts.tries else []
    mend = "State in the paper how well the raters know the topic"
    if not told:
        return MISSING, "No pilot round and no calibration item was labeled.", f"{mend} and how they practiced."
    return PARTLY, " ".join(told), f"{mend}. Concord does not know."


def _discussed(facts: Facts) -> Said:
    """Only a discussion that Concord holds in writing, or a meeting that someone stated, counts as one."""
    known, scope = sum(each.n for each in facts.resolved), sentences.CODING if facts.resolved_elsewhere else ""
    those = f"{plural(known, 'resolved disagreement')}{scope}"
    if facts.had_no_disagreement and not known:
        return NOT_NEEDED, sentences.nothing_to_resolve(scope=scope).text, ""
    met, written = facts.n_decided(MEETING), facts.n_decided("discussion")
    apart = next((each for each in facts.resolved if each.method == OTHER_MEETING), None)
    if not known:
        none = f"No disagreement{scope} was resolved in Concord."
        return MISSING, none, "Describe how disagreements were discussed."
    ways = [f"{met:,} in meetings, as reported in Concord"] if met else []
    ways += [f"{written:,} in writing"] if written else []
    told = f"{met + written:,} of {those} {'was' if known == 1 else 'were'} discussed"
    told += f": {'; '.join(ways)}."
    told = told if ways else f"No discussion is recorded for {those}."
    if apart is not None:
        told = told if ways else "No discussion with a rater of the item is recorded."
        told += f" {apart.n:,} of {those} {'was' if known == 1 else 'were'} resolved in "
        told += f"meetings without a rater of the item, as reported in Concord ({sentences.present(apart)})."
    if met + written == known:
        return YES, told, ""
    which = "the others" if ways else "they"
    mend = f"Explain why {which} were not discussed, or state the meeting in which they were, under Resolve."
    return (PARTLY if ways else MISSING), told, mend


def _more_than_three(facts: Facts) -> Said:
    most = max((len(each.before.raters) for each in facts.measured), default=0)
    most = most if facts.headline else facts.raters_by_round
    rated = max((len(each.everyone) for each in facts.measured), default=0)
    where = f"in {round_numbers('round', facts.headline)}" if facts.headline else "in one round"
    told = f"Labels of at most {plural(most, 'rater')} were compared on a dimension {where}."
    told = told if most else "No labels of different raters were compared."
    told = f"At most {plural(rated, 'rater')} labeled a dimension. {told}" if rated > most else told
    is_so = max(rated, most) > 3
    return (YES, told, "") if is_so else (NOT_NEEDED, f"{told} The standard requires no study to have more.", "")


def _cycles(facts: Facts) -> Said:
    n = len(facts.labeled)
    again = [sentences.relabeled(*each).text for each in facts.relabeled]
    if n < 2:
        told = f"There is {'one' if n else 'no'} pilot or main round with labels."
        return NOT_NEEDED, " ".join([told, *again]), ""
    values = "; ".join(
        f"{each.title}: {series([found.words for _, found in sorted(each.by_round.items()) if found.units])}"
        for each in facts.measured
        if sum(bool(found.units) for found in each.by_round.values()) > 1
    )
    told = f"{plural(n, 'round')} under {round_numbers('version', facts.versions)}"
    told = " ".join([f"{told}; by round, {values}." if values else f"{told}.", *again])
    if len(facts.versions) < 2:
        return PARTLY, told, "The taxonomy did not change between rounds. Describe other changes, if any."
    return YES, told, ""


def _fixed(facts: Facts) -> Said:
    late = [each for each in facts.measured if not (each.is_fixed and each.is_fixed_before)]
    mend = "Report all coefficients of the agreement page in addition to the one you chose."
    if not facts.measured:
        return _nothing_measured(facts)
    fixed = [f"{each.title} on {day(each.fixed_on)}" for each in facts.measured if each.fixed_on and each not in late]
    before = "labels were imported from sheets" if facts.n_from_sheets else "labeling began"
    before += " in this study" if facts.is_copied else ""
    source = ", as the file of the imported study states" if facts.is_start_stated else ""
    told = (
        f"Registered before {before}{source}: {series(fixed)}."
        if fixed
        else "No coefficient was registered beforehand."
    )
    if defaults := [each for each in late if each.is_default]:
        told += f" Default of the software: {series([each.title for each in defaults])}."
    changed = [each for each in facts.measured if each.registered and each not in late]
    for each in changed:
        told += f" For {each.title}, {each.registered} was registered. "
        told += " ".join(sentence.text for sentence in sentences.changed(each.title, each))
    if late:
        return (PARTLY if fixed else MISSING), told, f"{facts.titles(late)}: {_lower(mend)}"
    if changed:
        return PARTLY, told, f"{facts.titles(changed)}: explain in the paper why the dimension changed after that."
    if facts.n_from_sheets:
        return PARTLY, told, "State in the paper whether labeling in the sheets had begun before that."
    if facts.is_start_stated:
        return PARTLY, told, "State in the paper that registration and labeling took place on another server."
    return YES, told, ""


def _below(facts: Facts) -> Said:
    below = [
        f"{each.title} ({each.before.words}, {each.standing})"
        for each in facts.measured
        if each.threshold is not None and each.before.value is not None and each.before.value < each.threshold
    ]
    if below:
        return PARTLY, f"{'; '.join(below)}.", "Do not call these reliable. Explain the consequence for the results."
    if not any(each.threshold is not None and each.before.value is not None for each in facts.measured):
        if facts.n_items and not facts.headline:
            return MISSING, f"{_first(facts.no_headline)}.", _finish(facts)
        if facts.dimensions and not facts.measured:
            return NOT_NEEDED, FREE_TEXT, ""
        return MISSING, "There is no value with a threshold.", "Fix a threshold before labeling begins."
    return YES, "No value is below its threshold.", ""


def _finish(facts: Facts) -> str:
    """How to come by the agreement of the study where there is none."""
    if facts.headline_hidden:
        it, are = ("it", "is") if len(facts.headline_hidden) == 1 else ("they", "are")
        which = f"{_first(round_numbers('round', facts.headline_hidden))} {are} finished"
        return f"{which}. Ask an owner of the study for the value, or wait until {it} {are} closed."
    return f"Finish {round_numbers('round', facts.headline_waiting)}." if facts.headline_waiting else FINISH


def _first(words: str) -> str:
    return words[0].upper() + words[1:]


def _lower(sentence: str) -> str:
    return sentence[0].lower() + sentence[1:]


Question = tuple[str, str, str, Callable[[Facts], Said]]
QUESTIONS: Sequence[Question] = (
    ("properties", ESSENTIAL, "Which properties were rated?", _properties),
    ("unit", ESSENTIAL, "What is the unit of analysis?", _unit),
    ("raters", ESSENTIAL, "How many raters rated each property?", _raters),
    ("single_rater", ESSENTIAL, "Where there was a single rater, why is that enough?", _single),
    ("independent", ESSENTIAL, "How did raters rate independently of each other?", _independent),
    ("resolved", ESSENTIAL, "How were disagreements resolved?", _resolved),
    ("scale", ESSENTIAL, "What is each variable’s scale of measurement?", _scale),
    ("statistic", ESSENTIAL, "Which agreement statistic is reported, and what is its value?", _statistic),
    (
        "materials",
        DESIRABLE,
        "Are coding scheme, decision rules, disagreements and per-wave values reported?",
        _materials,
    ),
    ("justified", DESIRABLE, "Why is the statistic appropriate?", _justified),
    ("thresholds", DESIRABLE, "Which threshold or interpretation is used?", _thresholds),
    ("anomalies", DESIRABLE, "Are anomalous values explained by the properties of the statistic?", _anomalies),
    ("training", DESIRABLE, "How were the raters trained, and what do they know about the topic?", _training),
    ("discussed", DESIRABLE, "Were disagreements discussed rather than voted on?", _discussed),
    ("more_raters", EXTRAORDINARY, "Were there more than three raters for a property?", _more_than_three),
    ("cycles", EXTRAORDINARY, "Was the scheme revised in cycles, with agreement reported for each?", _cycles),
    (
        "fixed",
        ANTIPATTERN,
        "Was the statistic chosen in advance (no cherry-picking)?",
        _fixed,
    ),
    ("below", ANTIPATTERN, "Is no value below its threshold called reliable?", _below),
)


def n_answered(found: Iterable[ChecklistItem]) -> int:
    """How many questions need nothing more."""
    return sum(check.answer in (YES, NOT_NEEDED) for check in found)
