"""Tables of the agreement page: numbers with bars, words, and URLs to the items behind them."""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from django.urls import reverse

from agreement import COEFFICIENTS, ConfusionEntry, PairEntry
from annotation.agreement_report.queries.across_rounds import DimensionPatterns
from annotation.agreement_report.queries.coefficients import (
    AgreementEntry,
    DimensionReport,
    Headline,
    coefficients_to_print,
)
from annotation.agreement_report.queries.model_raters import ModelRaterEntry
from annotation.agreement_report.queries.raters import RatersEntry
from annotation.agreement_report.views.words import (
    FIXED,
    METRICS,
    CategoryDefinition,
    Names,
    about_coefficients,
    meaning,
    scale_words,
    threshold_words,
    which_rounds,
    word_of,
)
from annotation.labels.consensus import PENDING
from shared.wording import series
from taxonomy.kinds import HasKind

MOST_CATEGORIES = 48
MOST_PAIRS = 3
MOST_RATER_PAIRS = 500
"""In the table of a page; of more those with the lowest kappa. REST has all."""
MOST_CLASHES = 20
HEATS = 5
MOST_NAMED = 8
"""What a category has where two raters are compared."""


@dataclass(frozen=True)
class IntervalBar:
    """An interval and its value on a scale from 0 to 1, and a threshold, as shares of the width."""

    low: str
    width: str
    value: str
    threshold: str


def bar(
    value: float | None, low: float | None, high: float | None, threshold: float | None = None
) -> IntervalBar | None:
    """A drawing of a value; what lies below 0 is drawn at 0. None where there is no value."""
    if value is None:
        return None
    start, end = (_clamped(edge if edge is not None else value) for edge in (low, high))
    place = "" if threshold is None else f"{_clamped(threshold) * 100:.1f}%"
    return IntervalBar(f"{start * 100:.1f}%", f"{(end - start) * 100:.1f}%", f"{_clamped(value) * 100:.1f}%", place)


def _clamped(value: float) -> float:
    return min(max(value, 0.0), 1.0)


@dataclass(frozen=True)
class Links:
    """Addresses of the page and of the items behind its numbers, in the slice that is shown."""

    slug: str
    slice: Mapping[str, str]

    def units(self, dimension: str, **more: str) -> str:
        query = urlencode({**self.slice, "dimension": dimension, **more})
        return f"{reverse('agreement_items', args=[self.slug])}?{query}"

    def page(self, **changed: str) -> str:
        query = urlencode({name: value for name, value in {**self.slice, **changed}.items() if value})
        return f"{reverse('agreement', args=[self.slug])}{'?' if query else ''}{query}"


@dataclass(frozen=True)
class ConfusedPair:
    """Two categories that raters take for each other, with the share of all differing pairs of ratings.

    `gain` is what the dimension's own coefficient (`of`) would gain if they were one, None where that is undefined.
    """

    n: int
    share: float
    gain: float | None
    of: str
    url: str
    sides: Sequence[Sequence[CategoryDefinition]]


@dataclass(frozen=True)
class ConfusionCell:
    """A cell of the confusion matrix; heat 0 is none, `diagonal` is agreement."""

    n: int
    url: str
    heat: int
    is_diagonal: bool
    words: str


@dataclass(frozen=True)
class ConfusionRow:
    """A row with the number of its category, which heads the category's column, too."""

    number: int
    name: str
    cells: Sequence[ConfusionCell | None]
    total: int


@dataclass(frozen=True)
class ConfusionMatrix:
    """Who said what where the other said what; pooled over all pairs of raters when there are more than two."""

    raters: Sequence[str]
    rows: Sequence[ConfusionRow]
    totals: Sequence[int]
    total: int
    n_hidden: int


@dataclass(frozen=True)
class DimensionSection(HasKind):
    """Everything about one dimension."""

    key: str
    title: str
    kind: str
    position: int
    headline: Headline
    headline_bar: IntervalBar | None
    after: Headline | None
    meaning: str
    scale: str
    probability: str
    rests_on: str
    fixed_on: datetime | None
    metric: str
    units: int
    units_url: str
    left_out: int
    left_out_url: str
    left_out_because: Sequence[Mapping[str, Any]]
    differ_url: str
    warnings: Sequence[str]
    coefficients: Sequence[Mapping[str, Any]]
    about_coefficients: Sequence[str]
    is_of_two: bool
    talk: Sequence[ConfusedPair]
    matrix: ConfusionMatrix | None
    clashes: Sequence[Mapping[str, Any]]
    has_proposals: bool
    categories: Sequence[Mapping[str, Any]]
    pairs: Sequence[Mapping[str, Any]]
    n_pairs: int
    unmapped: Sequence[Mapping[str, Any]]
    machines: Sequence[Mapping[str, Any]]


def section(report: DimensionReport, links: Links, machines: Sequence[ModelRaterEntry] = ()) -> DimensionSection:
    names, entry, head = Names(report.across), report.entry, report.headline
    key = report.across.dimension.key
    return DimensionSection(
        key=key,
        title=report.across.dimension.title,
        kind=report.across.dimension.kind,
        position=report.across.dimension.position,
        headline=head,
        headline_bar=bar(head.value, head.ci_low, head.ci_high, head.threshold),
        after=report.after,
        meaning=meaning(head),
        scale=scale_words(head),
        probability=threshold_words(head),
        rests_on=_rests_on(report),
        fixed_on=datetime.fromisoformat(head.fixed_at) if head.fixed_at else None,
        metric=METRICS.get(entry.metric, entry.metric),
        units=entry.units,
        units_url=links.units(key),
        left_out=entry.left_out,
        left_out_url=links.units(key, show="left_out"),
        left_out_because=[
            {**each, "url": links.units(key, show="left_out", because=each["because"])}
            for each in entry.left_out_because
        ],
        differ_url=links.units(key, show="differ"),
        warnings=entry.warnings,
        coefficients=[
            {
                **each,
                "title": COEFFICIENTS[each["name"]].title,
                "chance": COEFFICIENTS[each["name"]].chance,
                "bar": bar(each["value"], each["ci_low"], each["ci_high"]),
                "is_primary": each["name"] == head.coefficient,
                "said": word_of(each),
            }
            for each in coefficients_to_print(entry.coefficients, entry.raters, head.coefficient)
        ],
        about_coefficients=about_coefficients(entry),
        is_of_two=entry.raters == 2,
        talk=_talk(entry, names, links),
        matrix=_matrix(entry, _raters(entry), names, links),
        clashes=_clashes(entry, names, links),
        has_proposals=any(each["category"] == PENDING for each in entry.by_category),
        categories=[
            {
                **each,
                "name": names.of(each["category"]),
                "bar": bar(each["positive"], 0.0, each["positive"]),
                "others": [
                    each["negative"],
                    *([each["prevalence"], each["bias"], each["pabak"]] if entry.raters == 2 else []),
                ],
                "url": links.units(key, a=each["category"]),
                "differ_url": links.units(key, a=each["category"], show="differ"),
            }
            for each in entry.by_category
        ],
        pairs=[
            {
                **each,
                "bar": bar(each["cohen_kappa"], 0.0, each["cohen_kappa"]),
                "url": links.units(key, pair=",".join(each["raters"])),
                "differ_url": links.units(key, pair=",".join(each["raters"]), show="differ"),
                "alone_url": links.page(raters=",".join(each["raters"])) + f"#{key}",
            }
            for each in _lowest(entry.by_pair)
        ],
        n_pairs=len(entry.by_pair),
        unmapped=[{**each, "name": names.of(each["category"])} for each in entry.unmapped],
        machines=[
            {
                **machine,
                "pairs": [
                    {
                        **each,
                        "bar": bar(each["cohen_kappa"], 0.0, each["cohen_kappa"]),
                        "url": links.units(key, pair=f"{each['rater']},{machine['machine']}"),
                        "differ_url": links.units(key, pair=f"{each['rater']},{machine['machine']}", show="differ"),
                    }
                    for each in machine["pairs"]
                ],
            }
            for machine in machines
        ],
    )


def _lowest(pairs: Sequence[PairEntry]) -> Sequence[PairEntry]:
    """Those that fit a page, in their order; of too many the ones with the lowest kappa, undefined ones last."""
    if len(pairs) <= MOST_RATER_PAIRS:
        return pairs
    return sorted(pairs, key=lambda each: math.inf if each["cohen_kappa"] is None else each["cohen_kappa"])[
        :MOST_RATER_PAIRS
    ]


def comparison_tables(
    found: RatersEntry, key: str, links: Links, of: DimensionPatterns
) -> dict[str, list[dict[str, Any]]]:
    """Raters beside the agreed labels, and beside themselves, with the addresses of the items behind.

    Those beside themselves are in the version in which labels of several versions are compared.
    """
    numbers = {each.round.taxonomy_version.number for each in of.counted}
    version = {"version": str(max(numbers))} if len(numbers) > 1 and "version" not in links.slice else {}
    return {
        "by_rater": [
            {
                **each,
                "url": links.units(key, rater=each["rater"]),
                "decided_url": links.units(key, rater=each["rater"], show="decided"),
            }
            for each in found["by_rater"]
        ],
        "intra_rater": [
            {**each, "url": links.units(key, rater=each["rater"], show="twice", **version)}
            for each in found["intra_rater"]
        ],
    }


def _raters(entry: AgreementEntry) -> list[str]:
    """The two raters of a matrix whose rows and columns are raters; none when there are more."""
    found = [code for each in entry.by_pair for code in each["raters"]]
    return found if entry.raters == 2 else []


def _rests_on(report: DimensionReport) -> str:
    rounds = [each.round for each in report.across.counted]
    having = [round_ for round_ in rounds if report.trend[round_.number].units]
    where = which_rounds(having or rounds)
    raters = report.headline.raters
    who = series(raters) if len(raters) <= MOST_NAMED else f"{len(raters)} raters, {raters[0]} to {raters[-1]},"
    return f"labeled by {who} in {where}" if having else f"in {where}"


def _talk(entry: AgreementEntry, names: Names, links: Links) -> list[ConfusedPair]:
    return [
        ConfusedPair(
            each["n"],
            each["share"],
            each["gain"],
            _called(entry, each["coefficient"]),
            links.units(entry.dimension, a=each["a"], b=each["b"]),
            [names.defined(each["a"]), names.defined(each["b"])],
        )
        for each in entry.confused_pairs[:MOST_PAIRS]
    ]


def _called(entry: AgreementEntry, coefficient: str) -> str:
    """A coefficient by its name, with the metric or weights that it rests on in this entry."""
    spec = COEFFICIENTS[coefficient]
    return spec.named(spec.title, metric=f"{entry.metric} metric", weights=entry.weights)


def _clashes(entry: AgreementEntry, names: Names, links: Links) -> list[dict[str, Any]]:
    """For numbers and texts, instead of a matrix: the differing pairs that occur most."""
    if not names.across.dimension.is_open:
        return []
    differing = [each for each in entry.confusion if each["a"] != each["b"]]
    differing.sort(key=lambda each: -each["n"])
    return [
        {**each, "url": links.units(entry.dimension, a=each["a"], b=each["b"])} for each in differing[:MOST_CLASHES]
    ]


def _matrix(entry: AgreementEntry, raters: Sequence[str], names: Names, links: Links) -> ConfusionMatrix | None:
    """Of the categories that were used; where they are too many, of those that raters differ on most."""
    found = {(each["a"], each["b"]): each["n"] for each in entry.confusion}
    if not found or names.across.dimension.is_open:
        return None
    order = _in_order(entry.confusion, names)
    differing: dict[str, int] = defaultdict(int)
    for (a, b), n in found.items():
        if a != b:
            differing[a] += n
            differing[b] += n
    shown = set(sorted(order, key=lambda label: -differing[label])[:MOST_CATEGORIES])
    labels = [label for label in order if label in shown]
    most = max((n for (a, b), n in found.items() if a != b), default=0)
    who = {"pair": ",".join(raters)} if raters else {}
    rows = []
    for number, a in enumerate(labels, start=1):
        cells: list[ConfusionCell | None] = []
        for b in labels:
            n = found.get((a, b), 0)
            if not n:
                cells.append(None)
                continue
            heat = 0 if a == b else math.ceil(HEATS * n / max(most, HEATS))
            said = f"{names.of(a)} and {names.of(b)}: {n}"
            cells.append(ConfusionCell(n, links.units(entry.dimension, a=a, b=b, **who), heat, a == b, said))
        rows.append(ConfusionRow(number, names.of(a), cells, sum(n for (row, _), n in found.items() if row == a)))
    totals = [sum(n for (_, column), n in found.items() if column == b) for b in labels]
    return ConfusionMatrix(raters, rows, totals, sum(found.values()), len(order) - len(labels))


def _in_order(confusion: Sequence[ConfusionEntry], names: Names) -> list[str]:
    used = dict.fromkeys(label for each in confusion for label in (each["a"], each["b"]))
    place = {key: index for index, key in enumerate(names.across.categories)}
    return sorted(used, key=lambda label: (place.get(label, len(place)), label in FIXED, label))
