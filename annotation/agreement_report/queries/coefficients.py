"""Coefficients of a study: agreement entries of pages and API, primary coefficient, trend."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any, TypedDict

from agreement import (
    COEFFICIENTS,
    CategoryEntry,
    CoefficientEntry,
    ConfusedPairEntry,
    ConfusionEntry,
    PairEntry,
    one_coefficient,
    share_reaching,
    summary,
)
from annotation.agreement_report.queries.across_rounds import (
    OFF_SCALE,
    AgreementQuery,
    DimensionPatterns,
    clusters_of,
    dimension_patterns,
    metric_for,
    no_such_dimension,
    patterns_of,
    rater_codes,
    weights_for,
)
from annotation.agreement_report.queries.coverage import Coverage, coverage
from annotation.agreement_report.queries.exclusions import BECAUSE
from annotation.agreement_report.queries.options import ask
from annotation.agreement_report.queries.patterns import Slice
from annotation.agreement_report.queries.raters import rater_entries
from annotation.core.access import Seat
from annotation.labels.queries.cached_statistics import cached
from annotation.labels.queries.screening import n_screened_out
from annotation.labels.registration import DEFAULT, has_coefficients, primary_of
from annotation.models import Round


def agreement(
    seat: Seat, rounds: Sequence[Round], asked: AgreementQuery, *, round_number: int | None, is_headline: bool = False
) -> list[dict[str, Any]]:
    """One entry per dimension over these rounds together, in the order of the version asked for or of the newest.

    `rounds` must be such that the person may see them. A unit is a part of an item in a round; raters are told apart by
    their codes. Raises Invalid for a dimension that none of the rounds has, or a metric that does not suit it. Cost:
    one query for the raters and one for what has come to count; where that is other than before, one more per round
    and dimension (two where ratings are left out by choice). `is_headline`: the rounds are the headline set.
    """
    codes = rater_codes(seat)
    found = [replace(each, is_headline=is_headline) for each in dimension_patterns(rounds, asked)]
    entries = [entry(each, codes, asked, round_number=round_number).as_json() for each in found]
    return _covered(rounds, found, asked, entries)


def coverage_of(rounds: Sequence[Round], found: Sequence[DimensionPatterns], asked: AgreementQuery) -> Coverage:
    """How many items of these rounds are compared at all; kept until answers come to count otherwise."""
    if not found or asked.slice.stratum:
        return coverage(rounds, asked.slice)
    standing = found[0].standing
    return cached("coverage", rounds, standing, asked.slice, lambda: coverage(rounds, asked.slice), classes=(Coverage,))


def _covered(
    rounds: Sequence[Round], found: Sequence[DimensionPatterns], asked: AgreementQuery, entries: list[dict[str, Any]]
) -> list[dict[str, Any]]:
    covered = asdict(coverage_of(rounds, found, asked))
    return [{**each, "coverage": covered} for each in entries]


def agreement_and_raters(
    seat: Seat, rounds: Sequence[Round], asked: AgreementQuery, *, round_number: int | None, is_headline: bool = False
) -> list[dict[str, Any]]:
    """The entries of `agreement` with each rater beside what was agreed on (`by_rater`); queries as there, and two."""
    codes = rater_codes(seat)
    found = [replace(each, is_headline=is_headline) for each in dimension_patterns(rounds, asked)]
    entries = [entry(each, codes, asked, round_number=round_number).as_json() for each in found]
    covered, of_raters = _covered(rounds, found, asked, entries), rater_entries(rounds, found, codes, asked)
    return [{**one, **raters} for one, raters in zip(covered, of_raters, strict=True)]


class LeftOutEntry(TypedDict):
    """The reason why `n` units are excluded, as a sentence and as `because`."""

    reason: str
    because: str
    n: int


class UnmappedEntry(TypedDict):
    """Ratings of a category that can't be mapped to the version asked for."""

    category: str
    version: int
    reason: str
    ratings: int


@dataclass(frozen=True)
class AgreementEntry:
    """The agreement on one dimension in some rounds, in one slice: its fields are those of the REST contract.

    The fields from `metric` to `warnings` are as in `agreement.summary`.
    """

    dimension: str
    round: int | None
    when: str
    applies: str
    version: int | None
    headline: bool
    rounds: list[int]
    metric: str
    weights: str | None
    units: int
    raters: int
    ratings: int
    left_out: int
    categories: int
    coefficients: list[CoefficientEntry]
    by_category: list[CategoryEntry]
    by_pair: list[PairEntry]
    confusion: list[ConfusionEntry]
    confused_pairs: list[ConfusedPairEntry]
    warnings: list[str]
    left_out_because: list[LeftOutEntry]
    unmapped: list[UnmappedEntry]

    def as_json(self) -> dict[str, Any]:
        return dict(vars(self))


def entry(
    found: DimensionPatterns, codes: dict[int, str], asked: AgreementQuery, *, round_number: int | None
) -> AgreementEntry:
    """The entry of one dimension; kept until answers come to count otherwise."""
    metric = metric_for(found.dimension, asked)
    question = (replace(asked, dimension=None, metric=metric), round_number, codes, is_own_question(asked))
    compute = partial(_entry, found, codes, asked, round_number)
    return found.kept("entry", question, compute, classes=(AgreementEntry,))


def _entry(
    found: DimensionPatterns, codes: dict[int, str], asked: AgreementQuery, round_number: int | None
) -> AgreementEntry:
    patterns_found = patterns_of(found, codes, asked)
    weights, unsuited = weights_for(found.dimension, asked, patterns_found)
    numbers = summary(
        patterns_found,
        kind=found.dimension.variable,
        metric=metric_for(found.dimension, asked),
        weights=weights,
        paths=found.paths,
        apart=OFF_SCALE,
        intervals=asked.resamples > 0,
        left_out=sum(each.n_left_out for each in found.counted),
        thresholds=asked.fixed.get(found.dimension.key, {}).get("threshold"),
        coefficient=asked.fixed.get(found.dimension.key, {}).get("coefficient", DEFAULT["coefficient"]),
        clusters=clusters_of(found, codes, patterns_found),
    )
    numbers["warnings"] += [unsuited] if unsuited else []
    if asked.keeps_out and (
        n := n_screened_out([each.round for each in found.counted], frozenset(asked.slice.without))
    ):
        words = "1 item that is" if n == 1 else f"{n:,} items that are"
        numbers["warnings"].append(f"{words} screened out can be among the units, because this study keeps such items.")
    numbers["warnings"] += [left_astray(each, asked) for each in found.astray]
    return AgreementEntry(
        dimension=found.dimension.key,
        round=round_number,
        when=asked.slice.when,
        applies=asked.slice.applies,
        version=asked.version.number if asked.version else None,
        headline=found.is_headline and is_own_question(asked),
        rounds=sorted(each.round.number for each in found.counted),
        **numbers,
        left_out_because=_because(found),
        unmapped=_unmapped(found),
    )


def coefficients_to_print(
    coefficients: Sequence[CoefficientEntry], n_raters: int, primary: str | None
) -> list[CoefficientEntry]:
    """The coefficients of an entry without those of two raters where there are more, unless one is the primary."""
    is_of_many = n_raters > 2
    return [
        each
        for each in coefficients
        if not is_of_many or not COEFFICIENTS[each["name"]].is_of_two or each["name"] == primary
    ]


def is_own_question(asked: AgreementQuery) -> bool:
    """Whether it is asked as the study itself does: before discussion, of everybody and everything."""
    part = replace(asked.slice, without=(), applies="both")
    is_whole = part == Slice() and asked.level == "leaf" and asked.version is None and not asked.raters
    return is_whole and asked.metric is None and asked.weights is None and asked.slice.applies == asked.applies_there


def _because(found: DimensionPatterns) -> list[LeftOutEntry]:
    """Why units are left out, the most frequent reason first: {reason, because, n}; the n add up to left_out."""
    counted: Counter[str] = Counter()
    for each in found.counted:
        counted.update(each.left_out_because)
    return [
        {"reason": BECAUSE[because], "because": because, "n": n}
        for because, n in sorted(counted.items(), key=lambda each: (-each[1], list(BECAUSE).index(each[0])))
    ]


def left_astray(round_: Round, asked: AgreementQuery) -> str:
    """Says that no mapping leads from a round's version to the one asked for."""
    number = asked.version.number if asked.version else round_.taxonomy_version.number
    own = round_.taxonomy_version.number
    return f"Round {round_.number} is excluded: no mapping leads from version {own} to version {number}."


def _unmapped(found: DimensionPatterns) -> list[UnmappedEntry]:
    """The ratings that can't be told in terms of the version asked for, by category, its version and the reason."""
    counted: dict[tuple[str, int, str], int] = {}
    for each in found.counted:
        for (category, reason), n in each.lost.items():
            place = (category, each.round.taxonomy_version.number, reason)
            counted[place] = counted.get(place, 0) + n
    return [
        {"category": category, "version": version, "reason": reason, "ratings": n}
        for (category, version, reason), n in sorted(counted.items(), key=lambda each: (-each[1], each[0]))
    ]


@dataclass(frozen=True)
class Headline:
    """The one number of a dimension: its primary coefficient before discussion."""

    dimension: str
    title: str
    coefficient: str
    value: float | None
    se: float | None
    ci_low: float | None
    ci_high: float | None
    threshold: float | None
    undefined: str | None
    units: int
    left_out: int
    raters: tuple[str, ...]
    fixed_at: str | None
    reason: str = ""
    is_default: bool = False
    reached_share: float | None = None
    ci_method: str | None = None
    ci_undefined: str | None = None

    @property
    def n_raters(self) -> int:
        return len(self.raters)


def of_rounds(seat: Seat, rounds: Sequence[Round], *, is_headline: bool = False) -> list[Headline]:
    """The primary coefficient of each dimension that has one, in these rounds together, before discussion."""
    codes, asked = rater_codes(seat), ask(seat, {})
    return [
        primary(seat, replace(each, is_headline=is_headline), codes, asked)
        for each in dimension_patterns(rounds, asked)
        if each.counted and has_coefficients(each.dimension.kind)
    ]


def primary(seat: Seat, found: DimensionPatterns, codes: dict[int, str], asked: AgreementQuery) -> Headline:
    """The primary coefficient of a dimension alone; kept until answers come to count otherwise."""
    metric = metric_for(found.dimension, asked)
    fixed = primary_of(seat.study.primary, found.dimension.key, found.dimension.kind)
    question = (replace(asked, dimension=None, metric=metric), fixed, codes)
    return found.kept("primary", question, lambda: _primary(seat, found, codes, asked), classes=(Headline,))


def _primary(seat: Seat, found: DimensionPatterns, codes: dict[int, str], asked: AgreementQuery) -> Headline:
    chosen = primary_of(seat.study.primary, found.dimension.key, found.dimension.kind)
    patterns_found = patterns_of(found, codes, asked)
    how: dict[str, Any] = {
        "kind": found.dimension.variable,
        "metric": metric_for(found.dimension, asked),
        "weights": weights_for(found.dimension, asked, patterns_found)[0],
        "paths": found.paths,
        "apart": OFF_SCALE,
        "clusters": clusters_of(found, codes, patterns_found),
    }
    name = chosen.get("coefficient", DEFAULT["coefficient"])
    coefficient = one_coefficient(patterns_found, name, intervals=asked.resamples > 0, **how)
    threshold, share = chosen.get("threshold"), None
    if threshold is not None and coefficient.ci_low is not None:
        share = share_reaching(patterns_found, name, threshold, resamples=asked.resamples, **how)
    return Headline(
        dimension=found.dimension.key,
        title=found.dimension.title,
        coefficient=coefficient.name,
        value=coefficient.value,
        se=coefficient.se,
        ci_low=coefficient.ci_low,
        ci_high=coefficient.ci_high,
        threshold=threshold,
        reached_share=share,
        ci_method=coefficient.ci_method,
        ci_undefined=coefficient.ci_undefined,
        undefined=coefficient.undefined,
        units=patterns_found.n_units,
        left_out=patterns_found.n_single + sum(each.n_left_out for each in found.counted),
        raters=tuple(patterns_found.raters[column] for column in patterns_found.active),
        fixed_at=chosen.get("fixed_at"),
        reason=chosen.get("reason", ""),
        is_default=chosen is DEFAULT,
    )


@dataclass(frozen=True)
class DimensionReport:
    """Everything the page of agreement says about a dimension.

    `headline` is before discussion, `entry` as asked, `after` the primary coefficient after discussion where that was
    asked for; `trend` has the primary coefficient before discussion for each round that has the dimension, and
    `trend_after` the same after discussion, where that was asked for.
    """

    across: DimensionPatterns
    headline: Headline
    entry: AgreementEntry
    after: Headline | None
    trend: dict[int, Headline]
    trend_after: dict[int, Headline]


def report(
    seat: Seat,
    rounds: Sequence[Round],
    chosen: Sequence[Round],
    asked: AgreementQuery,
    *,
    round_number: int | None,
    is_headline: bool = False,
) -> list[DimensionReport]:
    """Agreement in the `chosen` rounds together, and over all `rounds` one by one; queries as `dimension_patterns`.

    After discussion, where that is asked for, is read beside what was before.
    """
    codes = rater_codes(seat)
    everywhere = list({round_.pk: round_ for round_ in [*rounds, *chosen]}.values())
    before = replace(asked, slice=replace(asked.slice, when="before"))
    is_after = asked.slice.when == "after"
    discussed = {each.dimension.key: each for each in dimension_patterns(everywhere, asked)} if is_after else {}
    found = []
    for each in dimension_patterns(everywhere, before):
        here, everywhere_after = replace(each.only(chosen), is_headline=is_headline), discussed.get(each.dimension.key)
        if not here.counted:
            continue
        after = replace(everywhere_after.only(chosen), is_headline=is_headline) if everywhere_after else None
        found.append(
            DimensionReport(
                across=here,
                headline=primary(seat, here, codes, before),
                entry=entry(after or here, codes, asked, round_number=round_number),
                after=primary(seat, after, codes, asked) if after else None,
                trend=_by_round(seat, each, codes, before),
                trend_after=_by_round(seat, everywhere_after, codes, asked) if everywhere_after else {},
            )
        )
    if asked.dimension is not None and not found:
        raise no_such_dimension(asked.dimension)
    return found


def _by_round(
    seat: Seat, found: DimensionPatterns, codes: dict[int, str], asked: AgreementQuery
) -> dict[int, Headline]:
    return {one.round.number: primary(seat, found.only([one.round]), codes, asked) for one in found.counted}
