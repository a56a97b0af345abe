"""Sentences of the methods paragraph: a function for each, which states what it is given and nothing else.

Every sentence has one pattern, so a script can read it back. A number at the beginning of a sentence is spelled out up
to ninety-nine. Inside a sentence it is written in digits.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from agreement import CLUSTERED, COEFFICIENTS, EFFECTIVE, EXACT, FEWEST, bound, value_text
from annotation.methods.facts import (
    JOINED,
    LEFT,
    CoefficientFacts,
    ControlFacts,
    DimensionFacts,
    Facts,
    GateFacts,
    MigrationFacts,
    Minimum,
    OtherResolutions,
    ReadBefore,
    ResolutionFacts,
    RoundFacts,
    SampleFacts,
    ScreenedByHand,
    ScreeningFacts,
    TryFacts,
    Turnover,
    day,
    round_numbers,
    share,
)
from shared.wording import plural, series
from taxonomy.kinds import KINDS

# fmt: off
ONES = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine",
    "ten", "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
)
# fmt: on
TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
ROUND_KINDS = {"pilot": "pilot round", "main": "main round"}
EXCLUDED = {
    "one_sided": "only one label on the dimension counts before discussion",
    "planned_for_one": "only one rater was planned for the item",
    "skipped": "another rater skipped the item",
    "not_asked": "the dimension did not apply for another rater",
    "other_raters": "other raters labeled the unit",
    "parts": "the item has several parts",
    "pending": "a rater proposed a new category",
    "unmapped": "a label has no counterpart in the version compared",
    "": "there were fewer than two labels to compare",
}
"""Why a unit is not compared, by the codes of `annotation.agreement_report.queries.exclusions`."""
EXCLUDED_OF_SHEETS = {
    "one_sided": "only one label on the dimension counts",
    "planned_for_one": "the item has only one rater",
}
"""The same where labels came from sheets: nobody knows what was planned, and what was discussed before."""
CI_METHODS = {
    EXACT: "one-sided Clopper-Pearson bounds by the number of items, where all ratings agree (exact for percent "
    "agreement; for other coefficients, chance agreement is taken as known)",
    EFFECTIVE: "beta intervals by the effective number of units, after Korn and Graubard 1998",
    CLUSTERED: "beta intervals by the effective number of units, after Korn and Graubard 1998, with all parts of an "
    "item, in all rounds, as one cluster",
}
WAYS = {
    "meeting": "discussed in meetings, as reported in Concord",
    "other_meeting": "in meetings without a rater of the item, as reported in Concord ({present})",
    "discussion": "discussed in writing",
    "adjudicator": "by adjudication",
    "third_rater": "by a third rater",
    "majority": "by the majority of the raters",
    "owner": "by the owner of the study",
}
"""How disagreements were resolved, in the order in which it is reported."""


@dataclass(frozen=True)
class Sentence:
    """A sentence; or, when it is missing, what only the authors can add in its place."""

    text: str
    is_missing: bool = False

    @property
    def marked(self) -> str:
        return f"[missing: {self.text}]" if self.is_missing else self.text


BY_FIX = {
    "merged_fix": "whether a merged fix closed the issue",
    "fixes": "the number of fixes",
    "fix_lines": "the lines that fixes changed",
    "fix_files": "the files that fixes changed",
    "days_to_fix": "the time to the first fix",
    "fix_folder": "the folder of the first fix",
}
"""Strata by fix in words."""


def missing(text: str) -> Sentence:
    return Sentence(text, is_missing=True)


def spelled(n: int) -> str:
    """`Forty-four`, for the beginning of a sentence; digits from 100 on."""
    if n >= 100:
        return f"{n:,}"
    tens, ones = divmod(n, 10)
    words = ONES[n] if n < 20 else TENS[tens - 2] + (f"-{ONES[ones]}" if ones else "")
    return words.capitalize()


def opening(n: int, one: str, several: str = "") -> str:
    """`Two raters`, `One issue`, `In total, 120 issues`: a count that begins a sentence."""
    noun = one if n == 1 else several or one + "s"
    return f"In total, {n:,} {noun}" if n >= 100 else f"{spelled(n)} {noun}"


def was(n: int) -> str:
    return "was" if n == 1 else "were"


def statistic(name: str, number: CoefficientFacts, *, threshold: float | None = None) -> str:
    """The one pattern of a statistic: `Cohen's κ = 0.81, 95% CI [0.77, 0.85], n = 120 units, 2 raters`."""
    n = f"n = {plural(number.units, 'unit')}, {plural(len(number.raters), 'rater')}"
    assert number.value is not None
    value = value_text(number.value, threshold)
    if number.low is None or number.high is None:
        return f"{name} = {value}, {n}"
    low, high = (value_text(each, threshold) for each in (number.low, number.high))
    if number.is_one_sided:
        return f"{name} = {value}, one-sided 95% CI [{low}, {high}], {n}"
    return f"{name} = {value}, 95% CI [{low}, {high}], {n}"


def nothing_yet() -> Sentence:
    return missing("how labels came about; no round is open to you yet")


def hidden(rounds: Sequence[int]) -> Sentence:
    return missing(f"{round_numbers('round', rounds)}; you rate there, so this text excludes it until it is over")


def hidden_unrated(rounds: Sequence[int]) -> Sentence:
    it, them = ("it is", "it") if len(rounds) == 1 else ("they are", "them")
    return missing(f"{round_numbers('round', rounds)}; {it} hidden from you for now, so this text excludes {them}")


def withheld(n: int, *, by_link: bool = False) -> Sentence:
    """What the text leaves out for its reader, who labels these items again in a round that is open.

    The reader may be anyone when it is read `by_link`.
    """
    them = "it" if n == 1 else "them"
    if by_link:
        return missing(
            f"{plural(n, 'item')} labeled again in a round that is not closed; this text excludes {them} until that "
            "round is closed, and members see other numbers"
        )
    return missing(
        f"{plural(n, 'item')} that you label again in an open round; this text excludes {them} until that round is "
        f"over, and members who do not label {them} there see other numbers"
    )


def without(n: int, *, by_link: bool = False) -> str:
    """The same, to be added to a claim."""
    if by_link:
        return f"This excludes {plural(n, 'item')} labeled again in a round that is not closed."
    return f"This excludes {plural(n, 'item')} that you label again in an open round."


def drawn(each: SampleFacts) -> list[Sentence]:
    frame = f" from a frame of {plural(each.n_frame, 'issue')}" if each.n_frame is not None else ""
    found = [Sentence(f"{opening(each.size, 'issue')} {was(each.size)} drawn at random (seed {each.seed}){frame}.")]
    if each.size == each.n_frame:
        whole = f"{opening(each.size, 'issue')} {was(each.size)} selected, which is the whole frame"
        found = [Sentence(f"{whole}, in random order (seed {each.seed}).")]
    if each.n_found is not None:
        found.append(Sentence(f"The frame was filtered from {plural(each.n_found, 'stored issue')}."))
    if each.stratify_by:
        how = {"equal": "equal"}.get(each.allocation, "proportional")
        least, most = each.per_stratum or (0, 0)
        limit = f", as far as the strata allowed ({least:,} to {most:,} issues from each)"
        limit = limit if how == "equal" and most - least > 1 else ""
        by = BY_FIX.get(each.stratify_by, each.stratify_by)
        limit += ", and at least one issue of each stratum" if each.is_of_each else ""
        found.append(Sentence(f"The draw was stratified by {by} with {how} allocation{limit}."))
    if each.out:
        n, again = sum(n for _, n in each.out), each.n_kept_again
        reasons = "; ".join(f"{n:,} “{reason}”" for reason, n in each.out)
        told = f"{opening(n, 'drawn issue')} {was(n)} excluded at screening"
        told += f", without {again:,} that {was(again)} excluded first and kept when screened again" if again else ""
        found.append(Sentence(f"{told}: {reasons}."))
    elif each.n_kept_again:
        n = each.n_kept_again
        found.append(
            Sentence(
                f"No drawn issue was excluded at screening, without {n:,} that {was(n)} excluded first and kept when "
                "screened again."
            )
        )
    if each.stand:
        told = series([f"{n:,} {was(n)} {words}" for words, n in each.stand])
        found.append(Sentence(f"Of the other drawn issues, {told}."))
    if each.coded:
        told = series([f"{n:,} {words}" for words, n in each.coded])
        n = sum(n for _, n in each.coded)
        found.append(Sentence(f"Coding rounds contain {plural(n, 'drawn issue')}: {told}."))
    return found


def in_several_samples(n: int) -> Sentence:
    are, each = ("is", "counts") if n == 1 else ("are", "count")
    return Sentence(f"{opening(n, 'issue')} {are} in more than one of these samples and {each} in each.")


def control(each: ControlFacts) -> Sentence:
    """What a filter or screening missed at most, by a random sample of what it excluded, and of which issues of it."""
    where = f" in {series(each.repositories)}" if each.repositories else ""
    only = f" ({'; '.join(each.steps)})" if each.steps else ""
    what = f"{where}{only} that {each.by} excluded"
    if each.is_census:
        n = each.n_frame
        whole = f"The only issue{what} was" if n == 1 else f"All {n:,} issues{what} were"
        again = " again" if each.by == "screening" else ""
        return Sentence(f"{whole} screened{again}; {each.n_kept:,} ({each.n_kept / n:.1%}) {was(each.n_kept)} kept.")
    of = f"of the {plural(each.n_frame, 'issue')}{what}"
    kept = f"{each.n_kept:,} {was(each.n_kept)} kept on screening"
    by = BY_FIX.get(each.stratify_by, each.stratify_by)
    if each.n_most is None:
        return Sentence(
            f"Of {each.size:,} {of}, drawn at random with equal allocation by {by}, {kept}; no bound is given, because "
            "strata of equal size are no simple random sample."
        )
    most = f"at most {each.n_most:,} of the {each.n_frame:,} ({each.n_most / each.n_frame:.1%}) were missed"
    if each.stratify_by:
        return Sentence(
            f"Of {each.size:,} {of}, drawn at random with proportional allocation by {by}, {kept}; {most} (one-sided "
            "95% hypergeometric bound as of a simple random sample)."
        )
    return Sentence(
        f"Of a random sample of {each.size:,} {of}, {kept}; {most} (exact one-sided 95% hypergeometric bound)."
    )


def screened(each: ScreeningFacts) -> list[Sentence]:
    """Who screened how many items, and their agreement on it; its interval is left to the page of agreement."""
    who = f"{opening(len(each.raters), 'rater')} ({series(each.raters)})"
    found = [Sentence(f"{who} screened {plural(each.n_items, 'item')} in {round_numbers('round', each.rounds)}.")]
    first = [number for number in each.rounds if number not in each.again_rounds]
    for rounds, number in ((first, each.agreement), (each.again_rounds, each.again)):
        if number is None:
            continue
        where = f" in {round_numbers('round', rounds)}" if len(each.rounds) > 1 else ""
        where += ", where issues that had been screened out were screened again," if rounds is each.again_rounds else ""
        n = f"n = {plural(number.units, 'unit')}, {plural(len(number.raters), 'rater')}"
        symbol = COEFFICIENTS[each.coefficient].symbol
        told = f"{symbol} = {value_text(number.value, None)}" if number.value is not None else "undefined"
        comma = "" if where.endswith(",") else ","
        found.append(
            Sentence(f"Agreement on what was screened in or out{where}{comma} before discussion, was {told}, {n}.")
        )
    return found


def screened_by_hand(each: ScreenedByHand) -> Sentence:
    """How many items no round screened but people one by one, or all that a filter found, and who."""
    told = [f"{n:,} by {code}" for code, n in each.by]
    if each.n_others:
        told.append(f"{each.n_by_others:,} by {plural(each.n_others, 'person', 'people')} without a rater’s code")
    what = f"{opening(each.n_items, 'item')} {was(each.n_items)} screened by hand, outside of screening rounds"
    return Sentence(f"{what}: {series(told)}.")


def labeled_out(n: int, *, keeps: bool) -> Sentence:
    numbers = "all numbers include" if keeps else "no number includes"
    are, them = ("is", "it") if n == 1 else ("are", "them")
    return Sentence(f"{opening(n, 'labeled item')} {are} screened out; {numbers} {them}.")


def by_hand(n_items: int) -> Sentence:
    return missing(f"how the {plural(n_items, 'item')} that no round took from a sample {was(n_items)} chosen")


def taxonomy(title: str, versions: Sequence[int], dimensions: Sequence[DimensionFacts], newest: int) -> Sentence:
    """Which versions were used, with the dimensions of the newest one."""
    properties = "; ".join(f"{each.title}, {each.answers}" for each in dimensions)
    of = f" as of version {newest}" if list(versions) != [newest] else ""
    on = f" on {plural(len(dimensions), 'dimension')}{of} ({properties})" if dimensions else ""
    return Sentence(f"Items were labeled against {round_numbers('version', versions)} of the taxonomy “{title}”{on}.")


def unrated(titles: Sequence[str], *, is_part: bool = False) -> Sentence:
    if is_part:
        return Sentence(f"No label that this text includes is on {series(titles)}.")
    return Sentence(f"No label was given on {series(titles)}.")


def unit() -> Sentence:
    return Sentence("The unit of analysis was an item in a round, or each part of an item that raters divided.")


def conditional(
    titles: Sequence[str], applies: str, chosen_on: date | None = None, *, sheets: bool = False
) -> Sentence:
    """Where conditional dimensions were asked and compared; of labels from `sheets` nobody knows what was asked."""
    where = "both raters" if applies == "both" else "at least one of two raters"
    n = len(titles)
    it, applied = ("it", "applies") if n == 1 else ("them", "apply")
    also = "" if applies == "both" else ", “does not apply” being the other rater’s label"
    late = f"; this rule was chosen on {day(chosen_on)}, after labeling had begun" if chosen_on else ""
    asked = f"{series(titles)} {was(n)} asked only where an earlier answer called for {it}, and compared"
    if sheets:
        told = f"By the taxonomy, {series(titles)} {applied} only where an earlier label calls for {it}"
        asked = f"{told}; {'it was' if n == 1 else 'they were'} compared"
    return Sentence(f"{asked} where {where} reached {it}{also}{late}.")


def labeled(raters: Sequence[str], n_items: int, waves: Sequence[RoundFacts]) -> Sentence:
    """Who labeled how many items, in which rounds: those with labels alone."""
    rounds = []
    for kind, name in ROUND_KINDS.items():
        those = [wave for wave in waves if wave.kind == kind]
        if those:
            sizes = series([f"{wave.n_items:,}" for wave in those])
            noun = "item" if those[-1].n_items == 1 and len(those) == 1 else "items"
            rounds.append(f"{plural(len(those), name)} ({sizes} {noun})")
    return Sentence(
        f"{opening(len(raters), 'rater')} ({series(raters)}) labeled {plural(n_items, 'item')} in {series(rounds)}."
    )


MOST_NAMED = 8


def by_rater(those: Sequence[tuple[str, int]]) -> Sentence:
    """How many items each rater labeled; of many raters the fewest and the most."""
    if len(those) > MOST_NAMED:
        least, most = min(n for _, n in those), max(n for _, n in those)
        n = plural(most, "item") if least == most else f"{least:,} to {most:,} items"
        return Sentence(f"Each rater labeled {n}.")
    return Sentence(f"By rater, the numbers of items labeled were {series([f'{n:,} ({code})' for code, n in those])}.")


def turnover(each: Turnover) -> Sentence:
    """Who left an open round, with what became of their assignments, or came into it."""
    if each.what != LEFT:
        joined = "joined round {} after it had opened" if each.what == JOINED else "rejoined round {}"
        return Sentence(f"{each.rater} {joined.format(each.round)}.")
    left = plural(each.n_unfinished, "unfinished assignment") if each.n_unfinished else "no unfinished assignment"
    n_given = sum(n for _, n in each.given)
    became = []
    if n_given:
        to = ", ".join(f"{code} {n:,}" for code, n in each.given)
        became.append(f"{n_given:,} {was(n_given)} reassigned ({to})")
    if each.n_waiting:
        became.append(f"{each.n_waiting:,} waited for another rater")
    of = f", of which {' and '.join(became)}" if became else ""
    return Sentence(f"{each.rater} left round {each.round} with {left}{of}.")


def no_labels(*, is_part: bool = False) -> Sentence:
    none = "this text includes no labels of other items" if is_part else "there are no labels yet"
    return missing(f"who labeled what; {none}")


def outstanding(wave: RoundFacts) -> Sentence:
    """Of a round that is open, how much of what was asked for is not in; all of it may change."""
    n, whole = wave.n_outstanding, wave.n_outstanding + wave.n_answers + wave.n_skipped
    left = f"{n:,} of {plural(whole, 'assignment')} {'is' if n == 1 else 'are'} outstanding"
    return missing(f"the end of round {wave.number}, which is open; {left}, and the numbers above and below may change")


def double_coded(n_double: int, n_items: int) -> Sentence:
    return Sentence(f"Within a round, two or more raters labeled {share(n_double, n_items, 'item')}.")


def third(those: Sequence[tuple[str, int]]) -> Sentence:
    told = series([f"{code} labeled {plural(n, 'item')}" for code, n in those])
    return Sentence(
        f"As {'a third rater' if len(those) == 1 else 'third raters'}, {told}; agreement excludes these labels."
    )


def third_asked(n: int, n_by_hand: int, n_withdrawn: int) -> Sentence:
    """How many requests third raters got, by the study's rule or a person, and how many ended without an answer."""
    rule, people = "by the study’s rule for items on which raters disagree", "by the adjudicator or the owner"
    how = f"{n - n_by_hand:,} {rule} and {n_by_hand:,} {people}"
    if n_by_hand in (0, n):
        how = people if n_by_hand else rule
    left = f"; {n_withdrawn:,} {was(n_withdrawn)} withdrawn unanswered" if n_withdrawn else ""
    return Sentence(f"Third raters received {plural(n, 'request')} to label an item, {how}{left}.")


def migrated(each: MigrationFacts) -> Sentence:
    """In terms of which version the agreed labels are, and how many of them have no value there."""
    which = f"The {plural(each.n_labels, 'agreed label')}"
    if each.n_relabeled:
        which += f" that {was(each.n_labels)} not given in relabeling"
    of = f"{which} {was(each.n_labels)} migrated to version {each.version}"
    without = f"{each.n_without:,} of them {'has' if each.n_without == 1 else 'have'} no value in that version"
    if not each.n_without:
        without = "none of them lacks a value in that version"
    more = f"; relabeling gave {plural(each.n_relabeled, 'other agreed label')}" if each.n_relabeled else ""
    return Sentence(f"{of} of the taxonomy; {without}{more}.")


def relabeled(number: int, version: int, n_items: int) -> Sentence:
    return Sentence(
        f"{opening(n_items, 'item')} {was(n_items)} relabeled in round {number} under version {version} of the "
        "taxonomy; agreement excludes these labels."
    )


def model_raters(codes: Sequence[str]) -> Sentence:
    what = "is a model rater" if len(codes) == 1 else "are model raters"
    whose = "its labels are" if len(codes) == 1 else "their labels are"
    return Sentence(f"{series(codes)} {what}, and {whose} in none of these numbers.")


def models_shown(n: int) -> Sentence:
    """Of how many items labels of models could be seen by those who resolved something of them."""
    return Sentence(
        f"For {plural(n, 'item')}, those who entered resolutions could see labels of model raters before that."
    )


def blind(rounds: Sequence[int], *, every: bool, others: bool) -> Sentence:
    """That raters could not see each other's labels in `rounds`, which are named unless they are `every` round.

    `others`: it follows a sentence that names raters for whom it does not hold.
    """
    when = "a round was" if every else f"{round_numbers('round', rounds)} {was(len(rounds))}"
    whose = "its" if every or len(rounds) == 1 else "their"
    return Sentence(f"While {when} open, {whose} {'other ' if others else ''}raters could not see each other’s labels.")


def labeled_before(n: int) -> Sentence:
    """How many items a rater labeled again."""
    return Sentence(f"{opening(n, 'item')} had been labeled in an earlier round by at least one of the same raters.")


def read_before(each: ReadBefore) -> list[Sentence]:
    """Who could read labels of a round's items elsewhere before labeling them, and had entered resolutions there."""
    who = series([f"{code} ({plural(n, 'item')})" for code, n in each.by])
    found = [
        Sentence(
            f"Before labeling items in round {each.round}, {who} could read labels that others had given to these "
            "items in other rounds; the new labels count as before discussion of their own round."
        )
    ]
    if each.resolved:
        told = series([f"{code} for {plural(n, 'item')}" for code, n in each.resolved])
        found.append(Sentence(f"Resolutions had been entered there by {told}."))
    return found


def read_otherwise(n: int, whole: int, n_items: int, n_apart: int) -> list[Sentence]:
    """How many submissions were made on another text than the pinned one, and where raters read different texts."""
    of = f"{opening(n, 'submission')} of {whole:,} (for {plural(n_items, 'item')}) {was(n)} made"
    differ = "title, description, comments, status, or labels differ"
    found = [Sentence(f"{of} on another snapshot of the issue than the one pinned to the item now: {differ}.")]
    if n_apart:
        found.append(
            Sentence(
                f"For {plural(n_apart, 'item')}, raters of the same round read different snapshots; agreement "
                "includes their labels."
            )
        )
    return found


def unblinded(who: str) -> Sentence:
    return Sentence(
        f"{who} could see labels of other raters before labeling; the labels given after that are excluded from "
        "agreement before discussion."
    )


def copied(n_items: int) -> Sentence:
    """Of a duplicated study nobody knows here what its raters did with the items in the study that it is a copy of."""
    return missing(
        f"whether raters had seen or labeled the items before; the study was duplicated from another one with "
        f"{plural(n_items, 'item')}"
    )


def rated_elsewhere(n: int) -> Sentence:
    return Sentence(
        f"{opening(n, 'item')} had been labeled before, by at least one of the same raters, in a study that this one "
        "was duplicated from."
    )


def hidden_elsewhere() -> Sentence:
    return missing(
        "whether raters had labeled the items before in a study that this one was duplicated from; that is hidden "
        "until each round there is closed"
    )


def stated_blind(rounds: Sequence[int], *, others: bool) -> Sentence:
    """What the file of a study from another server states of who was blind."""
    over = "the round was" if len(rounds) == 1 else "each round was"
    who = "the other raters" if others else "raters"
    return Sentence(
        f"The file from which {round_numbers('round', rounds)} {was(len(rounds))} imported states that {who} could not "
        f"see each other’s labels until {over} over."
    )


def from_sheets(rounds: Sequence[int]) -> Sentence:
    return missing(
        f"whether raters worked independently in {round_numbers('round', rounds)}, imported from sheets, and labeled "
        "before any discussion"
    )


def training(n_items: int) -> Sentence:
    return Sentence(f"{opening(n_items, 'item')} with known labels {was(n_items)} labeled for training.")


NTH = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")


def tries(found: Sequence[TryFacts]) -> Sentence:
    """What came of tries on items with known labels; a skip is no submission."""
    told = [
        f"{each.n_right:,} of {plural(each.n_items - each.n_skipped, 'submission')} in the {_nth(n)} try "
        f"({plural(each.n_raters, 'rater')}{f', {each.n_skipped:,} skipped' if each.n_skipped else ''})"
        for n, each in enumerate(found, start=1)
    ]
    return Sentence(f"Before the feedback, every known label was right in {series(told)}.")


def _nth(n: int) -> str:
    return NTH[n - 1] if n <= len(NTH) else f"{n}th"


def no_training() -> Sentence:
    return missing("how raters were trained")


def fixed(
    titles: str, one: DimensionFacts, *, sheets: bool = False, stated: bool = False, copied: bool = False
) -> list[Sentence]:
    """When a coefficient was registered.

    With `sheets` some labels are from sheets, and nobody knows when they were given; `stated`: all is as the file of an
    imported study has it.
    """
    threshold = f" with a threshold of {bound(one.threshold)}" if one.threshold is not None else ""
    when = f" on {day(one.fixed_on)}" if one.fixed_on else ""
    done = "registered" if one.is_fixed_before else "chosen"
    before = "before labeling began" if one.is_fixed_before else "after labeling had begun"
    if one.is_fixed_before and sheets:
        before = "before labels were imported from sheets"
    before += " in this study" if copied else ""
    source = ", as the file of the imported study states" if stated else ""
    named = one.registered or one.statistic
    found = [Sentence(f"For {titles}, {named}{threshold} was {done}{when}, {before}{source}.")]
    found += changed(titles, one) if one.registered else []
    if one.is_fixed_before and sheets:
        found.append(missing(f"whether {titles} had been labeled in the sheets before that"))
    return found


def changed(titles: str, one: DimensionFacts) -> list[Sentence]:
    """Which versions of the taxonomy changed the kind of a dimension after registration, and what is computed since."""
    told = [
        f"version {number} of the taxonomy changed the answers to {titles} from {_answers(before)} to {_answers(after)}"
        for number, before, after in one.kind_changes
    ]
    instead = f"agreement is not computed as registered, but as {one.statistic} of the new answers"
    if not one.is_computed:
        instead = f"{one.symbol} as registered is not computed, because the answers have no order"
    return [
        Sentence(f"After that, {series(told)}."),
        Sentence(f"From version {one.kind_changes[0][0]} on, {instead}."),
    ]


def _answers(kind: str) -> str:
    """What a dimension of a kind takes: `one of the categories`."""
    return KINDS[kind].described.format(categories="the categories", levels="the levels")


def not_fixed(titles: str, one: DimensionFacts) -> list[Sentence]:
    threshold = f" with a threshold of {bound(one.threshold)}" if one.threshold is not None else ""
    source = ", the default of the software" if one.is_default else ""
    return [
        Sentence(f"For {titles}, {one.statistic}{threshold} is reported{source}; it was not registered beforehand."),
        missing(f"why {one.statistic} suits {titles}"),
    ]


def headline(rounds: Sequence[int], version: int, fixed_on: date | None, *, stated: bool = False) -> Sentence:
    """Which rounds the reported agreement is of, and who chose them; `stated`: an imported study's file states it."""
    which = round_numbers("round", rounds)
    if fixed_on is not None:
        were = "it was" if len(rounds) == 1 else "the first of them was"
        source = ", as the file of the imported study states" if stated else ""
        chosen = f"chosen by an owner of the study on {day(fixed_on)}, before {were} opened{source}"
    elif len(rounds) == 1:
        chosen = f"the only finished main round under version {version} of the taxonomy"
    else:
        chosen = f"all finished main rounds under version {version} of the taxonomy"
    return Sentence(f"Agreement is reported for {which}, {chosen}.")


def not_compared(*, undated: bool = False, is_part: bool = False) -> str:
    """Why there is no agreement; `undated`: labels came from sheets, and nobody knows when they were given.

    `is_part`: the text leaves out items that its reader has yet to label.
    """
    unit = "unit that this text includes" if is_part else "unit"
    return f"no {unit} has two labels that count{'' if undated else ' before discussion'}"


def no_headline(because: str) -> Sentence:
    return missing(f"the agreement of the study; {because}")


def reason(titles: str, one: DimensionFacts) -> Sentence:
    if not one.reason:
        return missing(f"why {one.statistic} suits {titles}")
    return Sentence(f"The reason given for {titles} was “{one.reason.strip().rstrip('.')}”.")


def agreement(
    each: DimensionFacts, *, when: str = "before", undated: bool = False, known: tuple[int, bool] = (0, False)
) -> Sentence:
    """Agreement on a dimension before or after discussion, in the rounds of the headline.

    `undated`: labels came from sheets, and nobody knows whether they were given before discussion. `known`: of how many
    items raters had given or could have read earlier labels, and whether they had given some.
    """
    told_when = "" if undated and when == "before" else f" {when} discussion"
    told_when += though(*known)
    number = each.before if when == "before" else each.after
    assert number is not None
    n = f"n = {plural(number.units, 'unit')}, {plural(len(number.raters), 'rater')}"
    if number.value is None:
        why = f": {number.undefined}" if number.undefined else "."
        return Sentence(f"{_capital(each.symbol)} on {each.title}{told_when} is undefined ({n}){why}")
    told = statistic(each.symbol, number, threshold=each.threshold if when == "before" else None)
    apart = ", which is no measure of reliability" if when == "after" else ""
    return Sentence(f"Agreement on {each.title}{told_when} was {told}{apart}.")


def though(n: int, is_given: bool) -> str:
    """What has to be said wherever labels count as before discussion that were given with others at hand."""
    had = "had given or could read" if is_given else "could read"
    return f", though raters {had} earlier labels of {plural(n, 'item')}," if n else ""


def _capital(symbol: str) -> str:
    return symbol[0].upper() + symbol[1:]


def nothing_compared(each: DimensionFacts, *, undated: bool = False, is_part: bool = False) -> Sentence:
    return missing(f"agreement on {each.title}; {not_compared(undated=undated, is_part=is_part)}")


def threshold(each: DimensionFacts) -> Sentence | None:
    """Where the value is to the threshold; none where there is no threshold or no value."""
    return Sentence(f"This {each.standing}.") if each.standing else None


def by_round(each: DimensionFacts, pilots: Sequence[int]) -> Sentence | None:
    """The values of rounds in which something was compared, where there are several; pilots by name."""
    found = [(number, one) for number, one in sorted(each.by_round.items()) if one.units]
    if len(found) < 2:
        return None
    told = series(
        [
            f"{'undefined' if one.value is None else value_text(one.value, None)} "
            f"({'pilot round' if number in pilots else 'round'} {number}, "
            f"n = {plural(one.units, 'unit')})"
            for number, one in found
        ]
    )
    return Sentence(f"By round, {each.symbol} on {each.title} was {told}.")


def excluded(each: DimensionFacts, because: str, n: int, *, undated: bool = False) -> Sentence:
    why = (EXCLUDED_OF_SHEETS if undated else {}).get(because) or EXCLUDED.get(because, because)
    return Sentence(f"For {each.title}, {plural(n, 'unit')} {was(n)} excluded because {why}.")


def used(each: DimensionFacts) -> Sentence:
    """On how many of the units an alpha of an order rests."""
    assert each.n_used is not None
    units, verb = plural(each.before.units, "unit"), "is" if len(each.off_scale) == 1 else "are"
    return Sentence(
        f"{_capital(each.symbol)} on {each.title} rests on {each.n_used:,} of these {units}, because "
        f"{series(each.off_scale)} {verb} no level of its scale."
    )


def matched(n: int) -> Sentence:
    """Whose parts were matched by a person who could see the labels; agreement depends on it, before discussion too."""
    return Sentence(
        f"The parts of {plural(n, 'item')} were matched by hand, by an adjudicator or owner who could see the labels; "
        "agreement compares the matched parts."
    )


def skipped(n: int, n_third: int) -> Sentence:
    """How many assignments raters skipped, third raters apart."""
    if not n:
        return Sentence(f"Third raters skipped {plural(n_third, 'assignment')}.")
    third = f", and third raters skipped {n_third:,}" if n_third else ""
    return Sentence(f"Raters skipped {plural(n, 'assignment')}{third}.")


def withdrawn(wave: RoundFacts) -> Sentence:
    n = wave.n_withdrawn
    return Sentence(f"In round {wave.number}, {plural(n, 'unfinished assignment')} {was(n)} withdrawn.")


def revised(n: int, whole: int) -> Sentence:
    return Sentence(
        f"{opening(n, 'submission')} of {whole:,} {was(n)} revised after raters could see each other’s labels."
    )


def computed(facts: Facts) -> list[Sentence]:
    """How the intervals were computed, and with which software: one sentence for each method."""
    if len(facts.ci_methods) == 1:
        return [
            Sentence(f"Confidence intervals are {CI_METHODS[each]} ({facts.software}).") for each in facts.ci_methods
        ]
    if facts.ci_methods:
        by_method = {
            method: [each.title for each in facts.measured if each.ci_method == method] for method in facts.ci_methods
        }
        return [
            Sentence(f"Confidence intervals for {series(titles)} are {CI_METHODS[method]} ({facts.software}).")
            for method, titles in by_method.items()
        ]
    some = any(each.before.units for each in facts.dimensions)
    return [Sentence(f"Agreement was computed with {facts.software}.")] if some else []


def few_units(numbers: Iterable[CoefficientFacts]) -> list[Sentence]:
    """Why values have no interval, where some have none."""
    bare = [each for each in numbers if each.value is not None and each.low is None]
    once = "; all parts of an item, in all rounds, count once" if any(each.units >= FEWEST for each in bare) else ""
    why = f"No confidence interval is given for fewer than {FEWEST} units, unless all ratings agree{once}."
    return [Sentence(why)] if bare else []


def computed_rows(facts: Facts, methods: Mapping[str, Sequence[str]]) -> list[Sentence]:
    """The same of a table, naming its rows (by dimension, and by round where needed) unless all are of one method."""
    return [
        Sentence(
            f"Confidence intervals{f' for {series(rows)}' if len(methods) > 1 else ''} are "
            f"{CI_METHODS[method]} ({facts.software})."
        )
        for method, rows in sorted(methods.items())
    ]


def present(those: ResolutionFacts) -> str:
    """Who took part in meetings: `R3 and 1 other person`."""
    others = [f"{plural(those.n_others, 'other person', 'other people')}"] if those.n_others else []
    return series([*those.present, *others])


CODING = " in pilot and main rounds"
"""Which disagreements a number counts, where others were resolved in rounds of another kind."""
OTHER_KINDS = {"relabel": "relabeling round", "screening": "screening round"}


def resolved(decided: Sequence[ResolutionFacts], *, scope: str = "") -> Sentence:
    """How many disagreements were resolved, and how; those from sheets apart."""
    n = sum(each.n for each in decided)
    return Sentence(f"{opening(n, 'disagreement')}{scope} {was(n)} resolved: {_ways(decided)}.")


def resolved_elsewhere(each: OtherResolutions) -> Sentence:
    n, where = sum(one.n for one in each.resolved), round_numbers(OTHER_KINDS[each.kind], each.rounds)
    return Sentence(f"In {where}, {plural(n, 'disagreement')} {was(n)} resolved: {_ways(each.resolved)}.")


def _ways(decided: Sequence[ResolutionFacts]) -> str:
    by_way = {each.method: each for each in decided if each.n}
    words = WAYS | ({"discussion": "in writing"} if "meeting" in by_way else {})
    return "; ".join(
        f"{by_way[way].n:,} {told.format(present=present(by_way[way]))}" for way, told in words.items() if way in by_way
    )


def overruled(n: int) -> Sentence:
    return Sentence(f"{opening(n, 'label')} on which raters agreed {was(n)} replaced by resolution.")


def alone(n: int) -> Sentence:
    return Sentence(
        f"{opening(n, 'other label')} {was(n)} given by resolution where fewer than two raters had given one."
    )


def reopened(n: int) -> Sentence:
    return Sentence(f"{opening(n, 'resolution')} {was(n)} reopened and not replaced.")


def moot(n: int) -> Sentence:
    """Resolutions that stand nowhere now: what they depend on is open again, or was resolved in another way."""
    does, its, wait = ("does", "its question does", "waits") if n == 1 else ("do", "their questions do", "wait")
    why = f"{its} not apply, or {wait} for answers or other resolutions"
    return Sentence(f"{opening(n, 'other resolution')} {does} not count now: {why}.")


def entered_by(codes: Sequence[str], n_others: int) -> Sentence:
    """Who entered resolutions: raters by code, people without a label of their own counted."""
    who = [*codes, *([f"{plural(n_others, 'person', 'people')} who did not label"] if n_others else [])]
    return Sentence(f"Resolutions were entered by {series(who)}.")


def unresolved(n: int) -> Sentence:
    return Sentence(f"{opening(n, 'disagreement')} {was(n)} left unresolved.")


def unanswered(n: int) -> Sentence:
    return Sentence(f"{opening(n, 'question')} that no rater had answered {was(n)} left open.")


def nothing_to_resolve(*, scope: str = "") -> Sentence:
    return Sentence(f"There was no disagreement to resolve{scope}.")


def not_resolved(*, scope: str = "", is_part: bool = False) -> Sentence:
    none = "none that this text includes is resolved in Concord" if is_part else "none is resolved in Concord yet"
    return missing(f"how disagreements{scope} were resolved; {none}")


def final_values(n: int) -> list[Sentence]:
    return [
        Sentence(f"{opening(n, 'final label')} {was(n)} imported from sheets."),
        missing("how disagreements in the sheets were resolved"),
    ]


def still_resolving(rounds: Sequence[int]) -> Sentence:
    are = "is" if len(rounds) == 1 else "are"
    return missing(f"the end of resolving disagreements in {round_numbers('round', rounds)}, which {are} not closed")


def proposals(n: int) -> Sentence:
    if n == 1:
        return Sentence("Raters made 1 proposal for a new category.")
    return Sentence(
        f"Raters made {n:,} proposals for new categories. In agreement, all proposals on a dimension are one category: "
        "two different proposals for a unit agree."
    )


def versions(by_version: Mapping[int, Sequence[int]]) -> Sentence:
    """Which rounds used which version, where there are several."""
    told = [
        f"{round_numbers('round', rounds)} used version {version}" for version, rounds in sorted(by_version.items())
    ]
    first = told[0][0].upper() + told[0][1:]
    return Sentence(f"{series([first, *told[1:]])} of the taxonomy.")


def minimum(number: int, each: Minimum) -> Sentence:
    """What raters had to reach on items with known labels before they got others in a round."""
    told = [f"{series(each.reached)} reached it"] if each.reached else []
    told += [f"{code} was let in for the stated reason “{why.strip().rstrip('.')}”" for code, why in each.let_in]
    return Sentence(
        f"In round {number}, raters had to reach a minimum on items with known labels before they were given others "
        f"({each.words}): {'; '.join(told)}."
    )


def gate(number: int, each: GateFacts) -> Sentence:
    """On which evidence of the pilot a main round was opened."""
    pilot = f"the pilot (round {each.pilot})"
    if not each.short_of:
        reached = "the threshold" if each.n == 1 else f"all {each.n} thresholds"
        return Sentence(f"Round {number} was opened after {pilot} had reached {reached}.")
    why = f" for the stated reason “{each.reason.strip().rstrip('.')}”" if each.reason else ""
    return Sentence(
        f"Round {number} was opened although {pilot} had not reached the threshold for {series(each.short_of)}{why}."
    )
