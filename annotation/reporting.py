"""The numbers of a study: from the database's rating patterns to the agreement entries of pages and API."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from annotation.access import Seat
from annotation.agreement import METRICS_BY_KIND, Patterns, one_coefficient, summary
from annotation.consensus import PENDING
from annotation.errors import Invalid
from annotation.models import Membership, Round
from annotation.queries.patterns import DOES_NOT_APPLY, PatternRow, Slice, Value, n_units, patterns
from annotation.queries.plans.standing import way
from annotation.queries.verdicts import code_order
from annotation.reporting_versions import Told
from taxonomy.migration import Route
from taxonomy.models import TaxonomyVersion
from taxonomy.queries import published_version
from taxonomy.tree import TreeCategory, TreeDimension

CHOICES = {
    "when": ("before", "after"),
    "parts": ("aligned", "single"),
    "pending": ("category", "left_out"),
    "applies": ("both", "either"),
    "level": ("leaf", "parent", "root"),
}
FALLBACK = "krippendorff_alpha"
"""Stands first where the study fixed nothing for a dimension."""


@dataclass(frozen=True)
class Asked:
    """What agreement was asked for: each round in its own version, or all in terms of `version`.

    Invalid tells what can't be asked.
    """

    dimension: str | None = None
    level: str = "leaf"
    metric: str | None = None
    resamples: int = 1000
    slice: Slice = field(default_factory=Slice)
    version: TaxonomyVersion | None = None

    @classmethod
    def read(cls, given: dict[str, str]) -> "Asked":
        """From the words of an address or command; blank ones are left at their defaults."""
        fields = {
            name: [f"Write {' or '.join(choices)}."]
            for name, choices in CHOICES.items()
            if given.get(name) and given[name] not in choices
        }
        metrics = sorted({metric for each in METRICS_BY_KIND.values() for metric in each})
        if given.get("metric") and given["metric"] not in metrics:
            fields["metric"] = [f"Write one of {', '.join(metrics)}."]
        if fields:
            raise Invalid("This agreement can't be asked for.", fields=fields)
        words = {name: given[name] for name in ("when", "parts", "pending", "applies") if given.get(name)}
        return cls(
            dimension=given.get("dimension") or None,
            level=given.get("level") or "leaf",
            metric=given.get("metric") or None,
            slice=Slice(**words),
        )


@dataclass(frozen=True)
class Counted:
    """The rating patterns of a dimension in one round, at the level asked for, and how many units were left out.

    `told` leads from the round's own version to `dimension`; `lost` counts the ratings that can't be told there, by
    category and reason.
    """

    round: Round
    told: Told
    rows: Sequence[PatternRow]
    n_left_out: int
    lost: Mapping[tuple[str, str], int] = field(default_factory=dict)

    @property
    def dimension(self) -> TreeDimension:
        return self.told.dimension


@dataclass(frozen=True)
class Across:
    """A dimension, as the version asked for or the newest one says, with its patterns in each round that has it.

    `astray` are the rounds from whose version no mapping leads to the one asked for.
    """

    dimension: TreeDimension
    counted: Sequence[Counted]
    astray: Sequence[Round] = ()

    def only(self, rounds: Sequence[Round]) -> "Across":
        """The same in some of the rounds."""
        wanted = {round_.pk for round_ in rounds}
        return Across(
            self.dimension,
            [each for each in self.counted if each.round.pk in wanted],
            [each for each in self.astray if each.pk in wanted],
        )

    @property
    def categories(self) -> dict[str, TreeCategory]:
        """The categories by key; those that only an older version has come last."""
        found: dict[str, TreeCategory] = dict(self.dimension.by_key)
        for each in sorted(self.counted, key=lambda each: -each.round.number):
            for key, category in each.told.own.by_key.items():
                found.setdefault(key, category)
        return found


def across(rounds: Sequence[Round], asked: Asked) -> list[Across]:
    """Patterns per dimension and round, in the order of the version asked for, else of the newest that has it.

    Raises Invalid for a dimension that none of the rounds has. Cost: one query per round and dimension, two where
    ratings are left out by choice; telling them in terms of a version costs none for each pattern.
    """
    dimensions = dimensions_of(rounds, asked.version)
    if asked.dimension is not None:
        if asked.dimension not in dimensions:
            raise no_such_dimension(asked.dimension)
        dimensions = {asked.dimension: dimensions[asked.dimension]}
    ways = {round_.pk: way(round_, asked.version) for round_ in rounds}
    astray = [round_ for round_ in rounds if ways[round_.pk] is None]
    return [
        Across(
            dimension,
            [each for round_ in rounds if (each := _counted(round_, ways[round_.pk], dimension, asked))],
            astray,
        )
        for dimension in dimensions.values()
    ]


def dimensions_of(rounds: Sequence[Round], version: TaxonomyVersion | None) -> dict[str, TreeDimension]:
    """The dimensions of these rounds by key: as `version` has them, and those it has not as the newest round does."""
    trees = [published_version(each.taxonomy_version_id) for each in sorted(rounds, key=lambda each: -each.number)]
    asked = {dimension.key for tree in trees for dimension in tree.dimensions}
    found: dict[str, TreeDimension] = {}
    for tree in [published_version(version.pk), *trees] if version else trees:
        for dimension in tree.dimensions:
            if dimension.key in asked:
                found.setdefault(dimension.key, dimension)
    return found


def told_in(round_: Round, route: Route | None, dimension: TreeDimension, asked: Asked) -> Told | None:
    """How a round's values on a dimension are told; None where the round has no such dimension, or no way there."""
    own = published_version(round_.taxonomy_version_id).by_key.get(dimension.key)
    if own is None or route is None or (route.is_empty and own.kind != dimension.kind):
        return None
    number = asked.version.number if asked.version else round_.taxonomy_version.number
    return Told(own, own if route.is_empty else dimension, route, number)


def no_such_dimension(key: str) -> Invalid:
    words = [f"There is no dimension “{key}” in these rounds."]
    return Invalid("This agreement can't be asked for.", fields={"dimension": words})


def _counted(round_: Round, route: Route | None, dimension: TreeDimension, asked: Asked) -> Counted | None:
    told = told_in(round_, route, dimension, asked)
    if told is None:
        return None
    tree, own = published_version(round_.taxonomy_version_id), told.own
    here = patterns(round_.pk, tree, own, asked.slice)
    n_left_out = 0
    if asked.slice.parts == "single" or asked.slice.pending == "left_out":
        whole = replace(asked.slice, parts="aligned", pending="category")
        n_left_out = n_units(patterns(round_.pk, tree, own, whole)) - n_units(here)
    rows, n_lost = told.rows(here)
    return Counted(round_, told, at_level(told.dimension, rows, asked.level), n_left_out + n_lost, told.lost(here))


def rater_codes(seat: Seat) -> dict[int, str]:
    """The codes of the study's raters by member id, R2 before R10."""
    members = list(Membership.objects.filter(study=seat.study, code__isnull=False))
    return {member.pk: member.code or "" for member in sorted(members, key=lambda each: code_order(each.code))}


def agreement(seat: Seat, rounds: Sequence[Round], asked: Asked, *, round_number: int | None) -> list[dict[str, Any]]:
    """One entry per dimension over these rounds together, in the order of the version asked for or of the newest.

    `rounds` must be such that the person may see them. A unit is a part of an item in a round; raters are told apart by
    their codes. Raises Invalid for a dimension that none of the rounds has, or a metric that does not suit it. Cost:
    one query per round and dimension (two where ratings are left out by choice), one for the raters.
    """
    codes = rater_codes(seat)
    return [entry(each, codes, asked, round_number=round_number) for each in across(rounds, asked)]


def entry(found: Across, codes: dict[int, str], asked: Asked, *, round_number: int | None) -> dict[str, Any]:
    """What the REST contract says of one dimension."""
    numbers = summary(
        _patterns_of(found, codes, asked),
        kind=found.dimension.kind,
        metric=_metric(found.dimension, asked),
        resamples=asked.resamples,
        left_out=sum(each.n_left_out for each in found.counted),
    )
    numbers["warnings"] += [left_astray(each, asked) for each in found.astray]
    return {
        "dimension": found.dimension.key,
        "round": round_number,
        "when": asked.slice.when,
        "version": asked.version.number if asked.version else None,
        **numbers,
        "unmapped": _unmapped(found),
    }


def left_astray(round_: Round, asked: Asked) -> str:
    """Says that no mapping leads from a round's version to the one asked for."""
    number = asked.version.number if asked.version else round_.taxonomy_version.number
    own = round_.taxonomy_version.number
    return f"Round {round_.number} is left out: no mapping leads from version {own} to version {number}."


def _unmapped(found: Across) -> list[dict[str, Any]]:
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


def _metric(dimension: TreeDimension, asked: Asked) -> str | None:
    if asked.metric is None or asked.metric in METRICS_BY_KIND[dimension.kind]:
        return asked.metric
    if asked.dimension is not None:
        raise Invalid(
            "This agreement can't be asked for.",
            fields={"metric": [f"It does not suit a {dimension.kind} dimension; leave it out."]},
        )
    return None


def _patterns_of(found: Across, codes: dict[int, str], asked: Asked) -> Patterns:
    rows = [row for each in found.counted for row in each.rows]
    return as_patterns(found.dimension, rows, codes, asked.level, keys=list(found.categories))


def as_patterns(
    dimension: TreeDimension,
    rows: Sequence[PatternRow],
    codes: dict[int, str],
    level: str = "leaf",
    *,
    keys: Sequence[str] = (),
) -> Patterns:
    """Pattern rows as the matrix of patterns: raters in the order of their codes, categories in that of the tree.

    `keys` are all categories that can occur, where they are more than those of the dimension.
    """
    present = {rater for row in rows for rater in row.raters}
    raters = [pk for pk in codes if pk in present]
    place = {pk: index for index, pk in enumerate(raters)}
    table = []
    for row in rows:
        values: list[Value | None] = [None] * len(raters)
        for rater, value in zip(row.raters, row.values, strict=True):
            if rater in place:
                values[place[rater]] = value
        table.append((values, row.n))
    used = {value for values, _ in table for value in values if value is not None}
    return Patterns.from_counts(
        table, raters=[codes[pk] for pk in raters], categories=_categories(dimension, used, level, keys)
    )


def _categories(dimension: TreeDimension, used: set[Value], level: str, keys: Sequence[str]) -> list[Any]:
    """The categories that were used, in order; all of them for an ordinal dimension, whose scale counts."""
    if not dimension.has_categories or dimension.kind == "multi":
        return sorted(used, key=lambda value: sorted(value) if isinstance(value, frozenset) else value)
    scale = {category.key for category in dimension.categories if category.selectable}
    counts = scale if dimension.kind == "ordinal" and level == "leaf" else set()
    found: list[Any] = [key for key in keys or dimension.by_key if key in used or key in counts]
    return found + [extra for extra in (PENDING, DOES_NOT_APPLY) if extra in used]


def at_level(dimension: TreeDimension, rows: Sequence[PatternRow], level: str) -> list[PatternRow]:
    """The same patterns with each category replaced by its parent or its root."""
    if level == "leaf" or not dimension.has_categories:
        return list(rows)
    place = {
        category.key: category.keys[0] if level == "root" else (category.parent or category.key)
        for category in dimension.categories
    }

    def lift(value: Value) -> Value:
        if isinstance(value, frozenset):
            return frozenset(place.get(each, each) for each in value)
        return place.get(value, value) if isinstance(value, str) else value

    return [PatternRow(row.raters, tuple(lift(value) for value in row.values), row.n) for row in rows]


def visible_rounds(seat: Seat, number: int | None = None) -> list[Round]:
    """The rounds whose ratings this person may see together: no drafts, no undone, blind or relabel rounds.

    With `number` that one round, which raises Blind where it is hidden.
    """
    rounds = Round.objects.filter(study=seat.study).select_related("taxonomy_version")
    if number is not None:
        found = list(rounds.filter(number=number))
        for round_ in found:
            seat.require_sight(round_)
        return found
    return [
        round_
        for round_ in rounds.exclude(state__in=[Round.State.DRAFT, Round.State.UNDONE])
        if round_.pk not in seat.blind_round_ids and round_.kind in (Round.Kind.PILOT, Round.Kind.MAIN)
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

    @property
    def n_raters(self) -> int:
        return len(self.raters)


def headline(seat: Seat, round_: Round) -> list[Headline]:
    """The primary coefficient of each dimension in a round, before discussion; else Krippendorff's alpha."""
    codes = rater_codes(seat)
    return [primary(seat, each, codes, Asked()) for each in across([round_], Asked())]


def primary(seat: Seat, found: Across, codes: dict[int, str], asked: Asked) -> Headline:
    """The primary coefficient of a dimension alone."""
    chosen = seat.study.primary.get(found.dimension.key, {})
    patterns_found = _patterns_of(found, codes, asked)
    coefficient = one_coefficient(
        patterns_found,
        chosen.get("coefficient", FALLBACK),
        kind=found.dimension.kind,
        metric=_metric(found.dimension, asked),
        resamples=asked.resamples,
    )
    return Headline(
        dimension=found.dimension.key,
        title=found.dimension.title,
        coefficient=coefficient.name,
        value=coefficient.value,
        se=coefficient.se,
        ci_low=coefficient.ci_low,
        ci_high=coefficient.ci_high,
        threshold=chosen.get("threshold"),
        undefined=coefficient.undefined,
        units=patterns_found.n_units,
        left_out=patterns_found.n_single + sum(each.n_left_out for each in found.counted),
        raters=tuple(patterns_found.raters[column] for column in patterns_found.active),
        fixed_at=chosen.get("fixed_at"),
    )


@dataclass(frozen=True)
class DimensionReport:
    """Everything the page of agreement says about a dimension.

    `headline` is before discussion, `entry` as asked, `after` the primary coefficient after discussion where that was
    asked for; `trend` has the primary coefficient before discussion for each round that has the dimension.
    """

    across: Across
    headline: Headline
    entry: dict[str, Any]
    after: Headline | None
    trend: dict[int, Headline]


def report(
    seat: Seat, rounds: Sequence[Round], chosen: Sequence[Round], asked: Asked, *, round_number: int | None
) -> list[DimensionReport]:
    """Agreement in the `chosen` rounds together, and over all `rounds` one by one; queries as `across`.

    After discussion is read beside what was before, for the chosen rounds.
    """
    codes = rater_codes(seat)
    everywhere = list({round_.pk: round_ for round_ in [*rounds, *chosen]}.values())
    before = replace(asked, slice=replace(asked.slice, when="before"))
    discussed = {each.dimension.key: each for each in across(chosen, asked)} if asked.slice.when == "after" else {}
    found = []
    for each in across(everywhere, before):
        here, after = each.only(chosen), discussed.get(each.dimension.key)
        if not here.counted:
            continue
        found.append(
            DimensionReport(
                across=here,
                headline=primary(seat, here, codes, before),
                entry=entry(after or here, codes, asked, round_number=round_number),
                after=primary(seat, after, codes, asked) if after else None,
                trend={
                    one.round.number: primary(seat, Across(each.dimension, [one]), codes, before)
                    for one in each.counted
                },
            )
        )
    if asked.dimension is not None and not found:
        raise no_such_dimension(asked.dimension)
    return found
