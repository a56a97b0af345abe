"""What the page of agreement shows: numbers with bars and words, matrices, and the address behind each number."""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from typing import Any
from urllib.parse import urlencode

from django.urls import reverse

from annotation.agreement import SCALES, TITLES, benchmark
from annotation.consensus import PENDING
from annotation.models import Round
from annotation.queries.patterns import DOES_NOT_APPLY
from annotation.reporting import Across, DimensionReport, Headline
from taxonomy.tree import TreeCategory

MOST_CATEGORIES = 48
MOST_PAIRS = 3
MOST_CLASHES = 20
HEATS = 5
CERTAIN = 0.95

CHANCE = {
    "percent_agreement": "the share of pairs of ratings that are equal; nothing is taken off for chance",
    "cohen_kappa": "two raters; chance is each rater’s own habits",
    "weighted_kappa": "as Cohen’s, near misses count in part",
    "scott_pi": "two raters; chance is habits that both share",
    "fleiss_kappa": "any number of raters; chance is habits that all share",
    "conger_kappa": "any number of raters; chance is each rater’s own habits",
    "brennan_prediger": "chance is every category alike",
    "krippendorff_alpha": "any number of raters, gaps allowed; chance is all ratings shuffled",
    "gwet_ac1": "chance only where raters would guess; steady when one category prevails",
    "gwet_ac2": "as AC1, near misses count in part",
}
SCALE_WORDS = {"krippendorff": "Krippendorff’s scale", "landis_koch": "the scale of Landis and Koch"}
METRICS = {
    "nominal": "equal or not",
    "ordinal": "ranks",
    "interval": "squared differences",
    "ratio": "squared differences in proportion",
    "masi": "MASI distance between sets",
    "jaccard": "Jaccard distance between sets",
}


@dataclass(frozen=True)
class Bar:
    """An interval and its value on a scale from 0 to 1, and a threshold, as shares of the width."""

    low: str
    width: str
    value: str
    threshold: str


def bar(value: float | None, low: float | None, high: float | None, threshold: float | None = None) -> Bar | None:
    """A drawing of a value; what lies below 0 is drawn at 0. None where there is no value."""
    if value is None:
        return None
    start, end = (_clamped(edge if edge is not None else value) for edge in (low, high))
    place = "" if threshold is None else f"{_clamped(threshold) * 100:.1f}%"
    return Bar(f"{start * 100:.1f}%", f"{(end - start) * 100:.1f}%", f"{_clamped(value) * 100:.1f}%", place)


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
class Names:
    """Labels of an agreement entry in words."""

    across: Across

    def of(self, label: str) -> str:
        if label in FIXED:
            return FIXED[label]
        if label in self._categories:
            return self._categories[label].path
        if self.across.dimension.kind == "multi":
            return ", ".join(self.of(each) for each in label.split(" + "))
        return BOOLEANS.get(label, label) if self.across.dimension.kind == "boolean" else label

    def defined(self, label: str) -> list["Defined"]:
        """A label with its definition; each of its categories, when it is a set."""
        members = label.split(" + ") if self.across.dimension.kind == "multi" else [label]
        found = []
        for member in members:
            category = self._categories.get(member)
            found.append(
                Defined(
                    self.of(member),
                    category.definition if category else EXPLAINED.get(member, ""),
                    category.include if category else (),
                    category.exclude if category else (),
                )
            )
        return found

    @property
    def _categories(self) -> dict[str, TreeCategory]:
        return self.across.categories


FIXED = {PENDING: "none fits (proposal)", DOES_NOT_APPLY: "does not apply", "(none)": "none"}
EXPLAINED = {
    PENDING: "The rater found no category that fits and proposed one.",
    DOES_NOT_APPLY: "Under the rater’s own answers this was not to be asked.",
    "(none)": "The rater chose nothing.",
}
BOOLEANS = {"true": "yes", "false": "no"}


@dataclass(frozen=True)
class Defined:
    """A category with what belongs to it."""

    name: str
    definition: str
    include: Sequence[str]
    exclude: Sequence[str]


@dataclass(frozen=True)
class TalkAbout:
    """Two categories that raters take for each other, with the share of all differing pairs of ratings."""

    n: int
    share: float
    url: str
    sides: Sequence[Sequence[Defined]]


@dataclass(frozen=True)
class Cell:
    """A cell of the confusion matrix; heat 0 is none, `diagonal` is agreement."""

    n: int
    url: str
    heat: int
    is_diagonal: bool
    words: str


@dataclass(frozen=True)
class MatrixRow:
    """A row with the number of its category, which heads the category's column, too."""

    number: int
    name: str
    cells: Sequence[Cell | None]
    total: int


@dataclass(frozen=True)
class Matrix:
    """Who said what where the other said what; pooled over all pairs of raters when there are more than two."""

    raters: Sequence[str]
    rows: Sequence[MatrixRow]
    totals: Sequence[int]
    total: int
    n_hidden: int


@dataclass(frozen=True)
class Section:
    """Everything about one dimension."""

    key: str
    title: str
    kind: str
    position: int
    headline: Headline
    headline_bar: Bar | None
    after: Headline | None
    meaning: str
    scale: str
    rests_on: str
    fixed_on: datetime | None
    metric: str
    units: int
    units_url: str
    left_out: int
    left_out_url: str
    differ_url: str
    warnings: Sequence[str]
    coefficients: Sequence[Mapping[str, Any]]
    talk: Sequence[TalkAbout]
    matrix: Matrix | None
    clashes: Sequence[Mapping[str, Any]]
    categories: Sequence[Mapping[str, Any]]
    pairs: Sequence[Mapping[str, Any]]
    unmapped: Sequence[Mapping[str, Any]]


def section(report: DimensionReport, links: Links) -> Section:
    names, entry, head = Names(report.across), report.entry, report.headline
    key = report.across.dimension.key
    return Section(
        key=key,
        title=report.across.dimension.title,
        kind=report.across.dimension.kind,
        position=report.across.dimension.position,
        headline=head,
        headline_bar=bar(head.value, head.ci_low, head.ci_high, head.threshold),
        after=report.after,
        meaning=meaning(head),
        scale=scale_words(head),
        rests_on=_rests_on(report),
        fixed_on=datetime.fromisoformat(head.fixed_at) if head.fixed_at else None,
        metric=METRICS.get(entry["metric"], entry["metric"]),
        units=entry["units"],
        units_url=links.units(key),
        left_out=entry["left_out"],
        left_out_url=links.units(key, show="left_out"),
        differ_url=links.units(key, show="differ"),
        warnings=entry["warnings"],
        coefficients=[
            {
                **each,
                "title": TITLES[each["name"]],
                "chance": CHANCE[each["name"]],
                "bar": bar(each["value"], each["ci_low"], each["ci_high"]),
                "is_primary": each["name"] == head.coefficient,
            }
            for each in entry["coefficients"]
        ],
        talk=_talk(entry, names, links),
        matrix=_matrix(entry, _raters(entry), names, links),
        clashes=_clashes(entry, names, links),
        categories=[
            {
                **each,
                "name": names.of(each["category"]),
                "bar": bar(each["agreement"], 0.0, each["agreement"]),
                "url": links.units(key, a=each["category"]),
                "differ_url": links.units(key, a=each["category"], show="differ"),
            }
            for each in entry["by_category"]
        ],
        pairs=[
            {
                **each,
                "bar": bar(each["cohen_kappa"], 0.0, each["cohen_kappa"]),
                "url": links.units(key, raters=",".join(each["raters"])),
                "differ_url": links.units(key, raters=",".join(each["raters"]), show="differ"),
            }
            for each in entry["by_pair"]
        ],
        unmapped=[{**each, "name": names.of(each["category"])} for each in entry["unmapped"]],
    )


def _raters(entry: Mapping[str, Any]) -> list[str]:
    """The two raters of a matrix whose rows and columns are raters; none when there are more."""
    found = [code for each in entry["by_pair"] for code in each["raters"]]
    return found if entry["raters"] == 2 else []


def _rests_on(report: DimensionReport) -> str:
    rounds = [each.round for each in report.across.counted]
    having = [round_ for round_ in rounds if report.trend[round_.number].units]
    where = which_rounds(having or rounds)
    return f"rated by {_listed(report.headline.raters)} in {where}" if having else f"in {where}"


def meaning(head: Headline) -> str:
    """In words where the value and its interval stand to the threshold."""
    if head.value is None:
        return head.undefined or ""
    if head.threshold is None:
        return "No threshold was fixed."
    low = head.value if head.ci_low is None else head.ci_low
    high = head.value if head.ci_high is None else head.ci_high
    at = f"the threshold of {head.threshold:.2f}"
    if head.value >= head.threshold:
        return f"{at}, {'with its whole interval' if low >= head.threshold else 'but its interval begins below'}."
    return f"{at}, {'though its interval reaches it' if high >= head.threshold else 'with its whole interval'}."


def scale_words(head: Headline) -> str:
    """The scale's word for the value, and the one it has earned with 95 % certainty; empty where no scale suits."""
    if head.value is None or head.coefficient == "percent_agreement":
        return ""
    scale = "krippendorff" if head.coefficient == "krippendorff_alpha" else "landis_koch"
    classes = SCALES[scale]
    word = next((word for bound, word in classes if head.value >= bound), classes[-1][1])
    said = f"“{word}” on {SCALE_WORDS[scale]}"
    if not head.se:
        return said
    earned = next(word for word, probability in benchmark(head.value, head.se, scale) if probability >= CERTAIN)
    return said if earned == word else f"{said}, but only “{earned}” with 95 % certainty"


def which_rounds(rounds: Sequence[Round]) -> str:
    """`round 2 (version 3)`, or `rounds 1 to 5 (versions 1 and 2)`."""
    numbers = sorted({round_.number for round_ in rounds})
    versions = sorted({round_.taxonomy_version.number for round_ in rounds})
    one = len(numbers) > 2 and all(after - before == 1 for before, after in pairwise(numbers))
    named = f"{numbers[0]} to {numbers[-1]}" if one else _listed([str(number) for number in numbers])
    return (
        f"round{'s' if len(numbers) > 1 else ''} {named} "
        f"(version{'s' if len(versions) > 1 else ''} {_listed([str(number) for number in versions])})"
    )


def _listed(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def _talk(entry: Mapping[str, Any], names: Names, links: Links) -> list[TalkAbout]:
    differing: dict[tuple[str, str], int] = defaultdict(int)
    for each in entry["confusion"]:
        if each["a"] != each["b"]:
            a, b = sorted((each["a"], each["b"]))
            differing[a, b] += each["n"]
    whole = sum(differing.values())
    most = sorted(differing.items(), key=lambda each: (-each[1], each[0]))[:MOST_PAIRS]
    key = entry["dimension"]
    return [
        TalkAbout(n, n / whole, links.units(key, a=a, b=b), [names.defined(a), names.defined(b)])
        for (a, b), n in most
        if names.across.dimension.kind not in ("number", "text")
    ]


def _clashes(entry: Mapping[str, Any], names: Names, links: Links) -> list[dict[str, Any]]:
    """For numbers and texts, instead of a matrix: the differing pairs that occur most."""
    if names.across.dimension.kind not in ("number", "text"):
        return []
    differing = [each for each in entry["confusion"] if each["a"] != each["b"]]
    differing.sort(key=lambda each: -each["n"])
    return [
        {**each, "url": links.units(entry["dimension"], a=each["a"], b=each["b"])} for each in differing[:MOST_CLASHES]
    ]


def _matrix(entry: Mapping[str, Any], raters: Sequence[str], names: Names, links: Links) -> Matrix | None:
    """Of the categories that were used; where they are too many, of those that raters differ on most."""
    found = {(each["a"], each["b"]): each["n"] for each in entry["confusion"]}
    if not found or names.across.dimension.kind in ("number", "text"):
        return None
    order = _in_order(entry["confusion"], names)
    differing: dict[str, int] = defaultdict(int)
    for (a, b), n in found.items():
        if a != b:
            differing[a] += n
            differing[b] += n
    shown = set(sorted(order, key=lambda label: -differing[label])[:MOST_CATEGORIES])
    labels = [label for label in order if label in shown]
    most = max((n for (a, b), n in found.items() if a != b), default=0)
    who = {"raters": ",".join(raters)} if raters else {}
    rows = []
    for number, a in enumerate(labels, start=1):
        cells: list[Cell | None] = []
        for b in labels:
            n = found.get((a, b), 0)
            if not n:
                cells.append(None)
                continue
            heat = 0 if a == b else math.ceil(HEATS * n / max(most, HEATS))
            said = f"{names.of(a)} and {names.of(b)}: {n}"
            cells.append(Cell(n, links.units(entry["dimension"], a=a, b=b, **who), heat, a == b, said))
        rows.append(MatrixRow(number, names.of(a), cells, sum(n for (row, _), n in found.items() if row == a)))
    totals = [sum(n for (_, column), n in found.items() if column == b) for b in labels]
    return Matrix(raters, rows, totals, sum(found.values()), len(order) - len(labels))


def _in_order(confusion: Sequence[Mapping[str, Any]], names: Names) -> list[str]:
    used = dict.fromkeys(label for each in confusion for label in (each["a"], each["b"]))
    place = {key: index for index, key in enumerate(names.across.categories)}
    return sorted(used, key=lambda label: (place.get(label, len(place)), label in FIXED, label))


@dataclass(frozen=True)
class TrendCell:
    """The primary coefficient of a dimension in a round."""

    headline: Headline
    position: int
    bar: Bar | None
    url: str


@dataclass(frozen=True)
class TrendLine:
    """A round with the primary coefficient of each dimension, None where it has none."""

    round: Round
    is_chosen: bool
    cells: Sequence[TrendCell | None]


def trend(
    reports: Sequence[DimensionReport], rounds: Sequence[Round], chosen: Sequence[Round], links: Links
) -> list[TrendLine]:
    """Round by round, in their order."""
    lines = []
    for round_ in sorted(rounds, key=lambda each: each.number):
        cells: list[TrendCell | None] = []
        for each in reports:
            head = each.trend.get(round_.number)
            if head is None:
                cells.append(None)
                continue
            dimension = each.across.dimension
            drawn = bar(head.value, head.ci_low, head.ci_high, head.threshold)
            address = links.page(round=str(round_.number)) + f"#{dimension.key}"
            cells.append(TrendCell(head, dimension.position, drawn, address))
        lines.append(TrendLine(round_, len(chosen) == 1 and round_ in chosen, cells))
    return lines
