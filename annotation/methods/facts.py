"""Facts of a study for its methods paragraph, checklist, and table."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date

from agreement import COEFFICIENTS, EXACT, bound
from shared.wording import plural, series
from taxonomy.kinds import HasKind

NO_HEADLINE = "no main round is finished"
"""Why a study has no number of its own yet."""


@dataclass(frozen=True)
class CoefficientFacts:
    """A coefficient over some units: its value with the 95% confidence interval, or why it is undefined."""

    units: int
    raters: Sequence[str]
    value: float | None
    low: float | None = None
    high: float | None = None
    undefined: str | None = None
    ci_method: str | None = None

    @property
    def words(self) -> str:
        """`0.812`, or `undefined`."""
        return "undefined" if self.value is None else decimals(self.value)

    @property
    def interval(self) -> str:
        """`[0.770, 0.850]`, or nothing."""
        return "" if self.low is None or self.high is None else f"[{decimals(self.low)}, {decimals(self.high)}]"

    @property
    def is_one_sided(self) -> bool:
        return self.ci_method == EXACT


@dataclass(frozen=True)
class DimensionFacts(HasKind):
    """A property that was rated, its primary coefficient and what came out, before discussion and after.

    `is_fixed`: the owner registered coefficient and threshold, on the day `fixed_on`; else they are the tool's default
    (`is_default`) or were copied from another study. `words` are (scale, word, that of the lower limit of the
    95% interval, None for the lowest) of the value; `left_out` counts excluded units by the code of the reason;
    `ci_method` names how the interval was computed. `n_used`: alpha of an order rests on so many units only, where
    labels that are no level of the scale (`off_scale`) leave others with fewer than two. `is_rated`: a rater gave a
    label on it. `raters` are those who did in any round, third raters apart. `registered` is the statistic
    that was registered, where the dimension is of another kind since: `kind_changes` are the versions of the taxonomy
    that changed it, each with the kind before and the new one.
    """

    key: str
    title: str
    kind: str
    n_categories: int
    is_conditional: bool
    coefficient: str
    metric: str
    before: CoefficientFacts
    by_round: Mapping[int, CoefficientFacts] = field(default_factory=dict)
    after: CoefficientFacts | None = None
    after_by_round: Mapping[int, CoefficientFacts] = field(default_factory=dict)
    is_fixed: bool = False
    is_default: bool = False
    threshold: float | None = None
    fixed_on: date | None = None
    is_fixed_before: bool = False
    reason: str = ""
    weights: str = ""
    words: Sequence[tuple[str, str, str | None]] = ()
    left_out: Sequence[tuple[str, int]] = ()
    n_used: int | None = None
    off_scale: Sequence[str] = ()
    warnings: Sequence[str] = ()
    ci_method: str | None = None
    is_rated: bool = True
    raters: Sequence[str] = ()
    registered: str = ""
    kind_changes: Sequence[tuple[int, str, str]] = ()

    @property
    def everyone(self) -> Sequence[str]:
        """Who labeled it in some round, compared or not."""
        return sorted({*self.raters, *self.before.raters}, key=lambda code: (len(code), code))

    @property
    def statistic(self) -> str:
        """The coefficient by name, with what it takes for near or far."""
        metric = METRICS.get(self.metric, self.metric)
        return COEFFICIENTS[self.coefficient].named(self.symbol, metric=metric, weights=self.weights)

    @property
    def symbol(self) -> str:
        """The coefficient as a paper prints it: `Cohen's κ`."""
        return COEFFICIENTS[self.coefficient].symbol

    @property
    def answers(self) -> str:
        """What could be answered: `one of 34 categories`."""
        return self.question_kind.described.format(
            categories=plural(self.n_categories, "category", "categories"),
            levels=plural(self.n_categories, "level"),
        )

    @property
    def scale(self) -> str:
        """The type of the variable."""
        if self.is_number and self.metric in ("interval", "ratio"):
            return self.metric
        sizes = [(self.is_set, ", several values"), (self.is_two_valued, ", two values")]
        return self.question_kind.level + "".join(words for is_so, words in sizes if is_so)

    @property
    def is_computed(self) -> bool:
        """Whether the coefficient is defined for dimensions of this kind."""
        return self.is_ordered or not COEFFICIENTS[self.coefficient].needs_order

    @property
    def standing(self) -> str:
        """Where the value stands to the threshold; empty where there is none."""
        value, low, high = self.before.value, self.before.low, self.before.high
        if self.threshold is None or value is None:
            return ""
        at = f"the threshold of {bound(self.threshold)}"
        if value >= self.threshold:
            partly = low is not None and low < self.threshold
            return f"reaches {at}{', but the 95% CI includes lower values' if partly else ''}"
        reached = high is not None and high >= self.threshold
        return f"is below {at}{', but the 95% CI includes it' if reached else ''}"


METRICS = {
    "masi": "MASI distance",
    "jaccard": "Jaccard distance",
    "tree": "distance over the tree of categories",
} | {name: f"{name} metric" for name in ("nominal", "ordinal", "interval", "ratio")}


@dataclass(frozen=True)
class GateFacts:
    """What a main round was opened on: the pilot, how many thresholds it had, and which it did not reach, by title."""

    pilot: int
    n: int
    short_of: Sequence[str] = ()
    reason: str = ""


@dataclass(frozen=True)
class Minimum:
    """What raters of a round had to reach on items with known labels, in words; who did, and who was let in and why."""

    words: str
    reached: Sequence[str]
    let_in: Sequence[tuple[str, str]] = ()


@dataclass(frozen=True)
class TryFacts:
    """What came of a try, the first or a later one, of these raters on items with known labels, by first answers.

    `n_skipped` of the items were skipped.
    """

    n_raters: int
    n_right: int
    n_items: int
    n_skipped: int = 0


@dataclass(frozen=True)
class RoundFacts:
    """A round: who labeled how many items under which version, what is outstanding, and where the labels came from.

    `raters` and `n_items` are those with a label, not a blank answer; `n_outstanding` counts assignments and free
    places of a pool without an answer, and `n_withdrawn` what was withdrawn unfinished as the round ended. An answer is
    what a rater submitted for an item. `unblinded` are the codes of those who answered there and could read answers of
    others before; `n_unblinded` counts their answers, without those of third raters.
    `is_imported`: the round came with a study's file from another server, so only that file states who was blind.
    """

    number: int
    kind: str
    version: int
    is_open: bool
    is_resolving: bool
    n_items: int
    raters: Sequence[str]
    n_answers: int = 0
    n_outstanding: int = 0
    n_from_sheets: int = 0
    n_skipped: int = 0
    n_withdrawn: int = 0
    unblinded: Sequence[str] = ()
    n_unblinded: int = 0
    is_imported: bool = False
    gate: GateFacts | None = None
    minimum: Minimum | None = None

    @property
    def n_blind(self) -> int:
        """Answers that raters gave themselves, blind as far as Concord or the file of an imported round knows."""
        return self.n_answers - self.n_from_sheets - self.n_unblinded


@dataclass(frozen=True)
class ReadBefore:
    """Of a round, who could read labels of others on how many of its items elsewhere, before they labeled them there.

    `by` are codes with how many items each, `resolved` of how many of these each had entered a resolution; `items` are
    the items together.
    """

    round: int
    by: Sequence[tuple[str, int]]
    resolved: Sequence[tuple[str, int]] = ()
    items: Sequence[int] = ()


@dataclass(frozen=True)
class SampleFacts:
    """A sample: how many issues were found, were in the frame, were drawn by which seed, and how it was screened.

    `out` has the reasons with how many issues each screened out; `stand` how many others were kept, not screened or
    left open, `coded` the same of those in coding rounds, each with its words. `per_stratum`: the fewest and the most
    that were drawn from one stratum. `n_kept_again` had been screened out and were kept in a control stretch.
    `is_of_each`: strata that would have given no issue gave one.
    """

    n_found: int | None
    n_frame: int | None
    size: int
    seed: int
    stratify_by: str = ""
    allocation: str = ""
    out: Sequence[tuple[str, int]] = ()
    stand: Sequence[tuple[str, int]] = ()
    coded: Sequence[tuple[str, int]] = ()
    per_stratum: tuple[int, int] | None = None
    n_kept_again: int = 0
    is_of_each: bool = False


@dataclass(frozen=True)
class ControlFacts:
    """A random sample of what a filter or screening (`by`) excluded, screened whole: how many were kept, the bound.

    `n_most` is the one-sided 95% bound of how many of the `n_frame` excluded issues were missed (exact for a simple
    draw), None for strata by `stratify_by` of equal size. The draw was restricted to `repositories` and by the `steps`
    of a filter, where it had any.
    """

    by: str
    size: int
    n_frame: int
    n_kept: int
    n_most: int | None
    repositories: Sequence[str] = ()
    steps: Sequence[str] = ()
    stratify_by: str = ""

    @property
    def is_census(self) -> bool:
        """All that was excluded was screened, so what was missed is known."""
        return self.size == self.n_frame


@dataclass(frozen=True)
class Turnover:
    """That a rater left an open round, and what became of their assignments; or joined it, or came back.

    `given` are the codes of those who took assignments over with how many; `n_waiting` is how many waited for someone.
    """

    what: str
    round: int
    rater: str
    n_unfinished: int = 0
    given: Sequence[tuple[str, int]] = ()
    n_waiting: int = 0


LEFT, JOINED, REJOINED = "left", "joined", "rejoined"


@dataclass(frozen=True)
class MigrationFacts:
    """To which version of the taxonomy agreed labels were migrated, and how many of them have no value there.

    `n_relabeled` agreed labels were given in relabeling rounds instead.
    """

    version: int
    n_labels: int
    n_without: int
    n_relabeled: int = 0


@dataclass(frozen=True)
class ScreeningFacts:
    """What raters did in screening rounds: who screened how many items in which rounds, and their agreement on it.

    The agreement is on in or out, before discussion; None where there is none to report. That of rounds that screened
    again what was screened out (`again_rounds`) is apart.
    """

    rounds: Sequence[int]
    raters: Sequence[str]
    n_items: int
    coefficient: str = ""
    agreement: CoefficientFacts | None = None
    again_rounds: Sequence[int] = ()
    again: CoefficientFacts | None = None


@dataclass(frozen=True)
class ScreenedByHand:
    """How many items people screened in or out by hand, outside of screening rounds.

    `by` are raters by code with how many items; `n_by_others` items are of `n_others` people without a code.
    """

    n_items: int
    by: Sequence[tuple[str, int]] = ()
    n_others: int = 0
    n_by_others: int = 0


IMPORTED, OVERRULED, ALONE = "imported", "overruled", "alone"
NO_DISAGREEMENT = (IMPORTED, OVERRULED, ALONE)
"""Final labels from sheets, and resolutions where raters agreed or fewer than two of them gave a label."""
MEETING, OTHER_MEETING = "meeting", "other_meeting"
"""Meetings that were stated: with a rater of the item among those who took part, and without one."""


@dataclass(frozen=True)
class ResolutionFacts:
    """How many resolutions were taken in one way, and by which raters, by code.

    `present` are the codes of those who took part in their meetings, with `n_others` people who have none.
    """

    method: str
    n: int
    by: Sequence[str] = ()
    present: Sequence[str] = ()
    n_others: int = 0


@dataclass(frozen=True)
class OtherResolutions:
    """How disagreements were resolved in rounds of another kind: relabeling or screening."""

    kind: str
    rounds: Sequence[int]
    resolved: Sequence[ResolutionFacts]


@dataclass(frozen=True)
class Facts:
    """Everything that is known of how a study's labels came about, as far as its reader may know it.

    `hidden` are the rounds that are hidden from its reader; nothing of them is in here. The reader rates in them,
    except in those of `hidden_unrated`. Nor is anything of `n_withheld` items that the reader labels again there,
    or, for who came by a reader link, that anybody does.
    `raters` labeled an item at
    least. `n_items` and `n_double` count labeled items once over all rounds; a double-coded one was labeled by at
    least two raters in some round. `n_by_hand` are those that no round took from a sample, and `n_rated_before` those
    that the same rater had labeled in an earlier round. `n_in_several_samples` issues were drawn in several samples.
    `headline` are the rounds whose agreement is the study's
    number, an owner's own set where they were fixed on a day; `headline_waiting` and `headline_hidden` are those of
    the set that are not finished, or that its reader may not see yet. `third` are codes of third raters with how many
    items each labeled, and `relabeled` are number, version and labeled items of relabeling rounds. `n_disputed` are
    disagreements of all rounds that are no longer open (None: not known), of which `n_unresolved` were left in closed
    ones. `n_training` are items with known labels that a person labeled, `tries` what came of the first try of each, of
    the second, and so on. `by_rater` are the codes of raters with how many items each labeled, and `turnover` is who
    left or joined an open round. `n_third_asked` are requests to third raters, `n_third_by_hand` those of a person, and
    `n_third_withdrawn` those withdrawn unanswered. `resolved_elsewhere` is what was resolved in relabeling and
    screening rounds, which `decided` does not count. It counts what stands: `n_reopened` places were reopened and not
    resolved again, and `n_moot` resolutions are of questions that do not apply now, or wait for another one. The parts
    of `n_matched` items were matched by hand. `read_before` has the rounds in which raters could have read labels of
    the same items elsewhere.
    `n_third_skipped` are skips of third raters.
    `n_otherwise` are submissions that were made on another snapshot of the issue than the one pinned to its item, for
    `n_items_otherwise` items; of `n_items_apart` of them raters of a round read different snapshots.
    Of `n_models_shown` items a person resolved something after a model had labeled them.
    `applies_chosen_on`: the rule for conditional dimensions was changed on that day, after labeling had begun. The
    study `is_copied` if it was duplicated from another one, with `copied_items`. `rated_elsewhere` are, by round, the
    items that a rater labeled whose issue the same rater had labeled before in a study that this one was duplicated
    from; None while a round there is open or being resolved. `n_labeled_out` are labeled items that
    are screened out: numbers include them if the study `keeps_out`.
    """

    study: str
    taxonomy: str
    software: str
    waves: Sequence[RoundFacts] = ()
    dimensions: Sequence[DimensionFacts] = ()
    raters: Sequence[str] = ()
    machines: Sequence[str] = ()
    has_guidelines: bool = False
    n_categories: int = 0
    n_defined: int = 0
    third: Sequence[tuple[str, int]] = ()
    relabeled: Sequence[tuple[int, int, int]] = ()
    n_items: int = 0
    n_double: int = 0
    n_by_hand: int = 0
    n_rated_before: int = 0
    read_before: Sequence[ReadBefore] = ()
    drawn: Sequence[SampleFacts] = ()
    n_in_several_samples: int = 0
    controls: Sequence[ControlFacts] = ()
    screened: ScreeningFacts | None = None
    by_hand: ScreenedByHand | None = None
    n_matched: int = 0
    n_otherwise: int = 0
    n_items_otherwise: int = 0
    n_items_apart: int = 0
    n_labeled_out: int = 0
    keeps_out: bool = False
    decided: Sequence[ResolutionFacts] = ()
    resolved_elsewhere: Sequence[OtherResolutions] = ()
    n_disputed: int | None = None
    n_unresolved: int = 0
    n_unanswered: int = 0
    n_resolvers_without_labels: int = 0
    n_reopened: int = 0
    n_moot: int = 0
    n_models_shown: int = 0
    n_changed: int = 0
    n_proposals: int = 0
    applies: str = "both"
    applies_chosen_on: date | None = None
    copied_items: int = 0
    rated_elsewhere: Mapping[int, Collection[int]] | None = field(default_factory=dict)
    is_copied: bool = False
    hidden: Sequence[int] = ()
    hidden_unrated: Sequence[int] = ()
    n_withheld: int = 0
    is_by_link: bool = False
    headline: Sequence[int] = ()
    headline_fixed_on: date | None = None
    headline_waiting: Sequence[int] = ()
    headline_hidden: Sequence[int] = ()
    n_training: int = 0
    by_rater: Sequence[tuple[str, int]] = ()
    turnover: Sequence[Turnover] = ()
    n_third_asked: int = 0
    n_third_by_hand: int = 0
    n_third_withdrawn: int = 0
    n_third_skipped: int = 0
    migrated: MigrationFacts | None = None
    tries: Sequence[TryFacts] = ()

    @property
    def no_headline(self) -> str:
        """Why there is no number of the study yet."""
        if self.headline_hidden:
            are = "is" if len(self.headline_hidden) == 1 else "are"
            return f"{round_numbers('round', self.headline_hidden)} of the headline {are} hidden from you"
        if self.headline_waiting:
            are = "is" if len(self.headline_waiting) == 1 else "are"
            return f"{round_numbers('round', self.headline_waiting)}, fixed as the headline, {are} not finished"
        return NO_HEADLINE

    @property
    def raters_by_round(self) -> int:
        """The most raters whose labels on a dimension were compared in a round."""
        return max((len(one.raters) for each in self.measured for one in each.by_round.values()), default=0)

    @property
    def has_several_raters(self) -> bool:
        """Whether two people or more gave labels, so that one could have seen the other's."""
        return len({*self.raters, *(code for code, _ in self.third)}) > 1

    @property
    def is_compared(self) -> bool:
        """Whether a unit of the headline has two labels on some dimension."""
        return any(each.before.units for each in self.measured)

    @property
    def measured(self) -> list[DimensionFacts]:
        """The dimensions on which agreement is measured: those of free text are none."""
        return [each for each in self.dimensions if each.has_coefficients]

    @property
    def unrated(self) -> list[DimensionFacts]:
        """The dimensions on which nobody gave a label."""
        return [each for each in self.dimensions if not each.is_rated]

    @property
    def headline_version(self) -> int:
        """The version of the taxonomy of the headline's rounds."""
        return max(wave.version for wave in self.waves if wave.number in self.headline)

    @property
    def labeled(self) -> list[RoundFacts]:
        """The rounds with a label."""
        return [wave for wave in self.waves if wave.n_items]

    @property
    def versions(self) -> list[int]:
        """The versions of the taxonomy that items were labeled under."""
        return sorted({wave.version for wave in self.labeled})

    @property
    def newest_version(self) -> int:
        """The version of the taxonomy whose dimensions are listed."""
        return max((wave.version for wave in self.waves), default=0)

    @property
    def had_no_disagreement(self) -> bool:
        """What two raters labeled was labeled alike, in rounds that are no longer open."""
        is_over = not any(wave.is_open for wave in self.labeled)
        return self.n_double > 0 and self.n_disputed == 0 and is_over and not self.n_withheld

    @property
    def by_version(self) -> dict[int, list[int]]:
        """The rounds with a label by version of the taxonomy."""
        return {version: [wave.number for wave in self.labeled if wave.version == version] for version in self.versions}

    @property
    def n_from_sheets(self) -> int:
        return sum(wave.n_from_sheets for wave in self.waves)

    @property
    def is_undated(self) -> bool:
        """Whether sheets brought labels of the headline: nobody knows whether they were given before discussion."""
        return any(wave.n_from_sheets for wave in self.waves if wave.number in self.headline)

    @property
    def n_answers(self) -> int:
        return sum(wave.n_answers for wave in self.waves)

    @property
    def kept_blind(self) -> list[int]:
        """The rounds in which this server kept raters blind."""
        return [wave.number for wave in self.waves if wave.n_blind > 0 and not wave.is_imported]

    @property
    def stated_blind(self) -> list[int]:
        """The rounds of which a study's file states that raters were blind."""
        return [wave.number for wave in self.waves if wave.n_blind > 0 and wave.is_imported]

    @property
    def is_start_stated(self) -> bool:
        """Only the file of an imported study states when labeling began."""
        return any(wave.is_imported for wave in self.waves)

    @property
    def unblinded(self) -> str:
        """Who could read answers before they gave theirs, in words: `R3 (round 1) and R4 (rounds 1 and 2)`."""
        rounds: dict[str, list[int]] = {}
        for wave in self.waves:
            for code in wave.unblinded:
                rounds.setdefault(code, []).append(wave.number)
        return series([f"{code} ({round_numbers('round', numbers)})" for code, numbers in rounds.items()])

    @property
    def n_rated_elsewhere(self) -> int:
        """How many items a rater had labeled before in a study that this one was duplicated from."""
        return len({item for items in (self.rated_elsewhere or {}).values() for item in items})

    def known_before(self, rounds: Collection[int]) -> tuple[int, bool]:
        """How many items of rounds a rater labeled who had given or could have read earlier labels, and if any did."""
        read = {item for each in self.read_before if each.round in rounds for item in each.items}
        given = {item for number, items in (self.rated_elsewhere or {}).items() if number in rounds for item in items}
        return len(read | given), bool(given)

    @property
    def pilots(self) -> list[int]:
        """The pilot rounds with a label."""
        return [wave.number for wave in self.labeled if wave.kind == "pilot"]

    def titles(self, some: Sequence[DimensionFacts]) -> str:
        """The titles of some dimensions; `every dimension` for all of several."""
        whole = len(some) > 2 and len(some) == len(self.dimensions) == len(self.measured)
        return "every dimension" if whole else series([each.title for each in some])

    @property
    def ci_methods(self) -> list[str]:
        """How the confidence intervals were computed."""
        return sorted({each.ci_method for each in self.measured if each.ci_method})

    @property
    def resolved(self) -> list[ResolutionFacts]:
        """The ways in which disagreements were resolved in Concord."""
        return [each for each in self.decided if each.method not in NO_DISAGREEMENT]

    def n_decided(self, method: str) -> int:
        return sum(each.n for each in self.decided if each.method == method)


def decimals(value: float, places: int = 3) -> str:
    """`0.812`, `−0.041`; never `−0.000`."""
    told = f"{value:.{places}f}"
    return (told if float(told) else told.removeprefix("-")).replace("-", "−")


def share(part: int, whole: int, one: str) -> str:
    """`528 of 529 items (99.8%)`; only all of them are 100%."""
    percent = min(100 * part / whole, 99.9) if part < whole else 100.0
    return f"{part:,} of {plural(whole, one)} ({percent:.{0 if part in (0, whole) else 1}f}%)"


def round_numbers(one: str, numbers: Sequence[int]) -> str:
    """`round 2`, `rounds 1 to 5`, `rounds 1 and 3`."""
    numbers = sorted(numbers)
    if len(numbers) > 2 and numbers[-1] - numbers[0] == len(numbers) - 1:
        return f"{one}s {numbers[0]} to {numbers[-1]}"
    return f"{one}{'s' if len(numbers) > 1 else ''} {series(numbers)}"


def day(given: date) -> str:
    """`3 May 2026`."""
    return f"{given.day} {given:%B %Y}"
